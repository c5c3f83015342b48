//! From measurements to a job's part of the report: forecast every configuration, judge it, say why.

use crate::assess::base_comparison::{self, BaseComparisonInput};
use crate::assess::input::{JobInput, measured_price};
use crate::assess::row::{self, Judged};
use crate::assess::{advice, memory_fits, other_counts, unfinished, versus_twin};
use crate::forecast::Forecast;
use crate::forecast::scale_out::Measured;
use crate::grammar::{distinct, only_where};
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{Measurement, newest_data};
use crate::metric::{MemoryOf, Metric};
use crate::report::{Delta, InstanceForecast, JobReport, Spend};
use crate::spec::{LineKind, LineOrigin, Words};
use crate::units::{Seconds, Usd, sum};
use crate::verdict::{self, Contender, JudgedLine, LineVerdict, Reason, Recommendation, Verdict};

/// A job's part of the report.
pub fn job_report(input: &JobInput<'_>) -> JobReport {
    let Some((measurements, notes)) = newest_data::of_each_configuration(input.measurements) else {
        return of_one_data(input);
    };
    let report = of_one_data(&JobInput {
        measurements: &measurements,
        notes: input.notes.iter().cloned().chain(notes).collect(),
        ..input.clone()
    });
    // What was paid for is shown and counted, whatever its data.
    let full_run = report.spend.full_run_usd;
    JobReport {
        measurements: input.measurements.to_vec(),
        spend: spend(input.measurements, input.worst_case, full_run),
        ..report
    }
}

/// The same where all runs of a configuration are of the same data.
fn of_one_data(input: &JobInput<'_>) -> JobReport {
    let sources = other_counts::all_measured(input);
    let alternatives = input.alternatives.iter();
    let alternatives = alternatives.map(|(instance, why)| (*instance, why.as_deref()));
    let all: Vec<Judged> = std::iter::once((input.instance, None))
        .chain(alternatives)
        .enumerate()
        .map(|(place, (instance, not_run))| {
            judge_configuration(instance, not_run, &sources, input, place == 0)
        })
        .collect();
    let main = &all[0];
    let (verdict, reason) = job_outcome(input, main);
    let measured = all.iter().map(|one| (!one.is_by_law).then_some(&one.here));
    let measured: Vec<Option<&Measured>> = measured.collect();
    let certainty = input.budget.certainty;
    let versus_twin = versus_twin::of_each(&measured, &input.layout, certainty);
    let measured: Vec<&Measured> = measured.into_iter().flatten().collect();
    let recommendation = recommendation(&all, input);
    let where_memory_fits =
        MemoryOf::ALL.map(|of| memory_fits::where_memory_fits(of, &measured, &main.lines, input));
    let mut notes = input.notes.clone();
    notes.extend(main.here.forecast.notes.iter().cloned());
    if let Some(growth) = input.budget.growth {
        let counts = match main.here.forecast.grows_at_most(growth) {
            true => "counts: growth that no canary could show is not asked about",
            false => "does not count: the canaries grow faster, or none did all of the work",
        };
        notes.push(format!("`budget.growth: {}` {counts}.", growth.word()));
    }
    if input.instance.single_type().is_some() {
        notes.extend(input.layout.cautions(input.instance.total_count()));
    }
    notes.extend(main.lines.iter().filter_map(|line| {
        let is_said = match line.row.verdict {
            // The gate has noted why there is no base.
            LineVerdict::NotApplicable => !line.row.line.is_increase(),
            // A doubt in the growth is noted of the quantity, once for time and cost.
            verdict => verdict != LineVerdict::AtRisk,
        };
        // That nothing completed is the headline.
        let reason = line.reason.as_ref().filter(|_| is_said);
        let reason = reason.filter(|it| !nothing_completed(&main.here.forecast, it))?;
        Some(format!("{}: {reason}.", line.row.line.words()))
    }));
    if main.lines.iter().any(is_of_cached_memory) {
        notes.push(CACHED.to_owned());
    }
    // The reader learns why the time is missing even if no line asks for it.
    let of_time = [Metric::Time, Metric::Cost].map(LineKind::Absolute);
    let asked = |line: &JudgedLine| of_time.contains(&line.row.line);
    if let Err(reason) = &main.here.forecast[Metric::Time]
        && !main.lines.iter().any(asked)
        && main.here.forecast.largest_share.is_some()
    {
        notes.push(format!("time: {reason}."));
    }
    let ways_out = input.measurements.iter();
    // That of an unread sample stands in the reason.
    let ways_out = ways_out.filter(|run| !run.is_unread());
    let ways_out = ways_out.filter_map(|run| run.way_out.clone());
    let full_run = main.row.estimates[Metric::Cost].map(|estimate| Usd(estimate.point));
    let warnings = main.here.forecast.warnings.clone();
    let of_machines = advice::all(&main.here, input);
    let of_counts = other_counts::advice(&all, certainty);
    let by_law = all.iter().filter(|one| one.is_by_law);
    notes.extend(by_law.flat_map(|Judged { row, here, .. }| {
        let notes = here.forecast.notes.iter();
        notes.map(move |note| format!("{}: {note}", row.instance))
    }));
    notes.extend(other_counts::assumed_note(&all));
    let rows = all.into_iter().zip(versus_twin);
    let rows =
        rows.map(|(Judged { row, .. }, versus_twin)| InstanceForecast { versus_twin, ..row });
    let mut forecasts = Vec::from_iter(rows);
    forecasts[0].verdict = verdict;
    let advice = ways_out.chain(where_memory_fits.into_iter().flatten());
    JobReport {
        name: input.name.to_owned(),
        verdict,
        reason,
        affected_by: input.affected_by.to_vec(),
        instance: input.instance.clone(),
        baseline: (input.base).map(|base| base_comparison::named(base, input.instance)),
        recommendation,
        ranking: input.job.and_then(|job| job.ranking),
        forecasts,
        measurements: input.measurements.to_vec(),
        advice: distinct(advice.chain(of_counts).chain(of_machines)),
        warnings,
        notes: distinct(notes),
        spend: spend(input.measurements, input.worst_case, full_run),
        ..JobReport::default()
    }
}

/// The measured configurations that would fit the budget.
fn recommendation(all: &[Judged], input: &JobInput<'_>) -> Option<Recommendation> {
    let contenders: Vec<Contender<'_>> = (all.iter())
        .filter(|judged| !judged.measurements.is_empty())
        .map(|judged| Contender {
            verdict: judged.row.verdict,
            lines: &judged.lines,
            measured: &judged.here,
        })
        .collect();
    verdict::recommend(&contenders, input.budget.certainty)
}

/// Forecasts one configuration from its measurements, or by those of `sources` where none was run on it, and judges it by the budget.
fn judge_configuration(
    instance: &InstanceConfiguration,
    not_run: Option<&str>,
    sources: &[Measured],
    input: &JobInput<'_>,
    is_judged: bool,
) -> Judged {
    let mut all = input.measurements.iter();
    // A canary of its own says more of it than any law of others.
    let is_by_law = not_run.is_some() && !all.any(|run| run.is_on(instance) && run.is_completed());
    let (mut here, others) = match is_by_law {
        true => Measured::by_law(instance, sources, input.runs()),
        false => Measured::with_other_counts(instance, input.runs()),
    };
    let certainty = input.budget.certainty;
    let time_by_share = match (&here.forecast[Metric::Time], others.scale_out) {
        (Ok(_), None) => here.time_by_share(&input.layout, certainty),
        _ => Vec::new(),
    };
    let forecast = &mut here.forecast;
    let offer = (input.offer_of)(instance).or_price(|| measured_price(&here.measurements));
    let base = input.base.filter(|_| !is_by_law);
    let comparison = base.map(|base| BaseComparisonInput {
        base,
        offer: &offer,
        is_judged,
        runs: input.runs(),
        compared_on: others.whole.as_ref().unwrap_or(instance),
        certainty,
    });
    let (against, delta) = match comparison.as_ref().map(base_comparison::versus) {
        Some(Ok(found)) => {
            forecast.notes.extend(found.notes);
            (Some(found.against), found.delta)
        }
        without => {
            let why = without.filter(|_| is_judged).and_then(Result::err);
            forecast.notes.extend(why.flatten());
            (None, Delta::default())
        }
    };
    let mut lines = verdict::judge(input.budget, forecast, &offer, against.as_ref());
    // Without a canary only what has a forecast is judged, and nothing is within.
    let open = [LineVerdict::Unknown, LineVerdict::NotApplicable];
    lines.retain(|line| !(is_by_law && open.contains(&line.row.verdict)));
    let scale_out = others.scale_out.filter(|_| forecast[Metric::Time].is_ok());
    let is_unmeasured = here.measurements.is_empty() && scale_out.is_some();
    let none_on_all = input.none_on_all.as_deref().filter(|_| is_judged);
    let none_on_all = none_on_all.unwrap_or("no canary ran on it");
    let job = (input.job).filter(|_| is_judged && here.measurements.is_empty());
    if job.is_some_and(|job| job.counts()[0].further.contains(&instance.total_count())) {
        let why = format!("was not measured on {instance}: {none_on_all}");
        lines = Vec::from_iter(lines.into_iter().map(|line| line.unseen(&*why)));
    }
    let on_others = input.measurements.iter();
    // A canary that failed on fewer machines is one of the job's, though nothing follows from it.
    let is_alone = is_judged && here.measurements.is_empty() && others.all.is_empty();
    let is_on_fewer = |run: &Measurement| {
        let kind = run.instance.single_type();
        let is_alike = kind.is_some() && kind == instance.single_type();
        is_alike && run.instance.total_count() < instance.total_count()
    };
    let on_others = on_others.filter(|run| {
        others.all.iter().any(|other| run.is_on(other)) || is_alone && is_on_fewer(run)
    });
    let measurements = here.measurements.iter().chain(on_others);
    let measurements: Vec<Measurement> = measurements.cloned().collect();
    let worst_of = |is_so: fn(&Measurement) -> bool, verdict| match measurements.iter().any(is_so) {
        true => verdict,
        false => Verdict::NotJudged,
    };
    let mut row = row::of(&offer, forecast, &lines, certainty);
    if is_by_law {
        row.groups = row::groups(&Offer::unknown(instance));
        row.price = row.price.filter(|_| forecast[Metric::Cost].is_ok());
    }
    let row_verdict = match row.verdict {
        breach @ (Verdict::Exceeded | Verdict::AtRisk) if is_by_law => breach,
        _ if is_by_law => Verdict::NotJudged,
        // Of a job without a budget too: what it would take is not known.
        verdict => verdict
            .min(worst_of(Measurement::has_failed, Verdict::Failed))
            .min(worst_of(Measurement::is_unread, Verdict::Unknown)),
    };
    Judged {
        row: InstanceForecast {
            verdict: row_verdict,
            not_measured: not_run
                .or_else(|| is_unmeasured.then_some(none_on_all))
                .map(str::to_owned),
            estimated_from: others.source.filter(|_| is_unmeasured || is_by_law),
            scale_out,
            efficiency: other_counts::efficiency(instance, sources, input),
            delta,
            time_by_share,
            ..row
        },
        lines,
        here,
        measurements,
        is_by_law,
    }
}

/// The verdict of a job and its reason. A failed canary outranks all but an exceeded budget.
fn job_outcome(input: &JobInput<'_>, main: &Judged) -> (Verdict, Reason) {
    let mut runs = main.measurements.iter();
    let failed = runs.find(|run| run.has_failed()).map(|run| {
        let (ending, share) = (run.outcome.ending(), run.fraction);
        let said = format!("the training code {ending} in the {share} canary");
        (said, on_fewer(run, input.instance))
    });
    if let Some((said, on)) = &failed
        && main.row.verdict == Verdict::Failed
    {
        return (Verdict::Failed, Reason::new(format!("{said}{on}")));
    }
    let is_open = matches!(main.row.verdict, Verdict::Unknown | Verdict::NotJudged);
    let is_unread = main.measurements.iter().any(Measurement::is_unread);
    let unfinished = (is_open && (is_unread || main.here.forecast[Metric::Time].is_err()))
        .then(|| {
            // What ended on the job's own machines says more than what ended on fewer.
            let mut runs = main.measurements.clone();
            runs.sort_by_key(|run| run.is_on(input.instance));
            unfinished::cause(&runs, input.job.map(|job| job.canary.max_runtime))
        })
        .flatten();
    let (forecast, certainty) = (&main.here.forecast, input.budget.certainty);
    let by_lines = || verdict::reason(&main.lines, forecast, input.instance, certainty);
    let mut reason = unfinished.unwrap_or_else(|| Reason::new(by_lines()));
    let lacks_price = |line: &JudgedLine| {
        let is_cost = matches!(line.row.line, LineKind::Absolute(Metric::Cost));
        is_cost && line.row.verdict == LineVerdict::Unknown && main.here.offer.price().is_none()
    };
    if main.lines.iter().any(lacks_price) && reason.advice.is_none() {
        reason = reason.advising(match input.instance.is_local() {
            true => "write its price under prices in the spec",
            false => "write its price under prices in the spec, or run `canary-gate prices update`",
        });
    }
    if let Some((said, _)) = failed {
        reason.why.push_str(&format!("; and {said}"));
    }
    if main.lines.iter().any(is_about_memory) {
        match &input.lacks_probe {
            Some(why) => {
                (reason.why).push_str(&format!("; the canaries ran without the probe: {why}"));
            }
            None => {
                let lines = main.lines.iter().filter(|line| is_about_memory(line));
                let mut metrics = lines.filter_map(|line| line.row.line.metric());
                if metrics.any(|metric| main.row.is_lower_bound(metric)) {
                    reason = reason.advising("canary.probe would measure it");
                }
            }
        }
    }
    (main.row.verdict, reason)
}

/// Where a canary ran on fewer machines than the full run, which a script may not be made for.
fn on_fewer(run: &Measurement, instance: &InstanceConfiguration) -> String {
    let (fewer, all) = (&run.instance, instance.total_count());
    only_where(!run.is_on(instance), || {
        format!(" on {fewer} (`canary.counts: [{all}]` runs all on {instance})")
    })
}

/// Whether a line is unknown only since no canary completed.
fn nothing_completed(forecast: &Forecast, reason: &str) -> bool {
    let of_time = forecast[Metric::Time].as_ref().err();
    forecast.largest_share.is_none() && of_time.is_some_and(|unknown| unknown.0 == reason)
}

/// Whether a line is written, and of the memory of the machine or of its GPUs.
fn is_about_memory(line: &JudgedLine) -> bool {
    line.origin == LineOrigin::Written && line.row.line.memory_of().is_some()
}

/// What the driver sees of a GPU is more than what is needed where an allocator keeps what it had once.
const CACHED: &str = "GPU memory includes PyTorch's cache; the real need may be lower";

/// Whether GPU memory is over its line, or may be, by its forecast and not since it ran out.
fn is_of_cached_memory(line: &JudgedLine) -> bool {
    let over = [LineVerdict::Exceeded, LineVerdict::AtRisk];
    over.contains(&line.row.verdict)
        && line.row.line == LineKind::Absolute(Metric::GpuMemory)
        && line.reason.is_none()
}

/// The time and money of one run's canaries.
fn spend(measurements: &[Measurement], worst_case: Option<Usd>, full_run: Option<Usd>) -> Spend {
    let own = measurements.iter().filter(|run| run.reused.is_none());
    let time = |run: &Measurement| run.billable_seconds.or(run.training_seconds);
    // A sum over some of them is not what they were billed.
    let is_known = (own.clone()).all(|run| run.cost.is_some() || time(run).is_none());
    let billed = own.filter_map(time);
    let all = measurements.iter();
    // Of a reused canary what is idle too, where an earlier start of this run left its machines.
    let billed_usd = all.clone().flat_map(|run| [run.cost, run.idle_usd]);
    Spend {
        canary_usd: sum(billed_usd).filter(|_| is_known),
        // The sum of no numbers is a negative zero.
        canary_seconds: billed.fold(Seconds(0.0), |sum, time| sum + time),
        idle_usd: sum(all.clone().map(|run| run.idle_usd)),
        idle_seconds: sum(all.clone().map(|run| run.idle_seconds)),
        saved_usd: sum(all.map(|run| run.reused?.saved_usd)),
        worst_case_usd: worst_case,
        full_run_usd: full_run,
    }
}
