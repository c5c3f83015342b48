//! The canaries of a report: their table, what they cost, and those that failed.

use super::document::Title::{Numbers, Words};
use super::document::{Block, Table, TitledTexts};
use super::words::{self, Quantity, grouped};
use super::{JobReport, Label, Prose, Report};
use crate::measurement::{Abscissa, Measurement, Start, Usage, Utilization};
use crate::metric::MemoryOf;
use crate::units::{Percent, Seconds, Usd, sum};

/// Ways to start that are named in one line.
const STARTS_SHOWN: usize = 3;

/// The canary runs, in the order of the plan; those of one size in one line.
pub(super) fn canary_runs(report: &Report) -> Option<Table> {
    Table::of_jobs(report, |job| {
        let lines = by_size(&job.measurements);
        // A column of ones says nothing.
        let are_several = lines.len() < job.measurements.len();
        let lines = lines.into_iter();
        lines.map(|runs| cells(job, &runs, are_several)).collect()
    })
}

/// Runs on one configuration with the same data, work and outcome.
fn by_size(runs: &[Measurement]) -> Vec<Vec<&Measurement>> {
    let kind = |run: &Measurement| {
        let (instance, outcome) = (run.instance.to_string(), run.how_it_ended());
        [instance, data(run), work(run), outcome]
    };
    let runs = runs.iter().map(|run| (kind(run), run));
    let sizes = grouped(runs, |(one, _), (other, _)| one == other).into_iter();
    let sizes = sizes.map(|size| size.into_iter().map(|(_, run)| run).collect());
    sizes.collect()
}

/// The cells of a line for runs of one size. Memory is the highest peak of these runs.
fn cells(job: &JobReport, runs: &[&Measurement], is_counted: bool) -> TitledTexts {
    let first = runs[0];
    let mut forecasts = job.forecasts.iter();
    let forecast = forecasts.find(|forecast| first.is_on(&forecast.instance));
    // The law is that of the full work.
    let law = forecast.filter(|_| first.work_share() >= 1.0 && first.is_completed());
    let law = law.and_then(|forecast| forecast.law.time.as_ref());
    let reached = forecast.and_then(|forecast| forecast.reached);
    let reached = reached.filter(|_| first.ended_early);
    let ended = reached.map(|share| format!("ended at {share} of its steps"));
    let by_law = law.map(|law| Quantity::Time.figure(law.at(first.data_share())));
    let highest = |of: MemoryOf| {
        let known = runs.iter().filter(|run| run.usage.peak(of).is_some());
        let amount = |run: &Measurement| {
            let peak = run.usage.peak(of);
            let percent = peak.and_then(|peak| peak.percent).map(|percent| percent.0);
            let bytes = || Some(peak?.bytes?.as_f64());
            percent.or_else(bytes).unwrap_or(0.0)
        };
        let highest = known.max_by(|one, other| amount(one).total_cmp(&amount(other)))?;
        peak(&highest.usage, of)
    };
    let mean = |of: fn(&Usage) -> Option<&Utilization>| {
        let means = runs.iter().filter_map(|run| Some(of(&run.usage)?.mean.0));
        spread(means, Quantity::Percent)
    };
    let times = runs.iter().filter_map(|run| Some(run.training_seconds?.0));
    let steps = runs.iter().filter_map(|run| Some(run.step_seconds?.0));
    let starts = runs.iter().filter_map(|run| match (run.reused, run.start) {
        (Some(reused), _) => Some(format!("{} ago", words::age(reused.age_days))),
        (None, Some(Start::Cold)) => Some("cold".to_owned()),
        (None, Some(Start::Warm)) => Some("warm".to_owned()),
        (None, None) => None,
    });
    let mut starts = words::distinct(starts);
    starts.truncate(STARTS_SHOWN);
    let saved = sum(runs.iter().map(|run| run.reused?.saved_usd));
    let saved = saved.map_or(String::new(), |Usd(usd)| Quantity::Money.figure(usd));
    let count = is_counted.then(|| runs.len().to_string());
    let of_gpus = || mean(|usage| usage.gpu_memory_percent.as_ref());
    vec![
        Numbers("Runs").over(count.unwrap_or_default()),
        Words("Instance").over(first.instance.to_string()),
        Numbers("Data").over(data(first)),
        Numbers("Work").over(work(first)),
        Numbers("Time").over(spread(times, Quantity::Time)),
        Numbers("By law").over(by_law.unwrap_or_default()),
        Numbers("Memory").over(highest(MemoryOf::Machine).unwrap_or_default()),
        Numbers("CPU").over(mean(|usage| usage.cpu_percent.as_ref())),
        Numbers("GPU").over(mean(|usage| usage.gpu_percent.as_ref())),
        Numbers("GPU mem").over(highest(MemoryOf::Gpu).unwrap_or_else(of_gpus)),
        Numbers("Step").over(spread(steps, Quantity::StepTime)),
        Words("Start").over(starts.join(", ")),
        Numbers("Saved").over(saved),
        Words("Outcome").over(ended.unwrap_or_else(|| first.how_it_ended())),
    ]
}

/// What the job prints of its progress, by its last canary that printed any, or why that is of no use; nothing of several jobs.
pub(super) fn progress(jobs: &[&JobReport]) -> Option<Block> {
    let [job] = jobs else { return None };
    let runs = job.measurements.iter().rev();
    let mut printed = runs.filter_map(|run| run.progress.as_ref());
    let (progress, mut earlier) = (printed.next()?, printed);
    let format = &progress.format;
    // A run that was ended in its first pass takes that for all; the earlier ones saw more.
    let is_of_all = earlier.all(|one| one.total.is_some());
    let total = progress.total.filter(|_| is_of_all);
    let said = match (progress.spoilt(), total) {
        (Some(why), _) => format!("The job's progress ({format}) is of no use: {why}"),
        (None, Some(total)) => format!("The job prints its progress ({format}, {total} in all)"),
        (None, None) => format!("The job prints its progress ({format}, without a total)"),
    };
    Some(Block::line(Label::NOTE, Prose::literal(said)))
}

/// `4m 12s`, of several `4m 02s–4m 12s`; empty without a value.
fn spread(values: impl Iterator<Item = f64>, unit: Quantity) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let ([least, ..], [.., most]) = (values.as_slice(), values.as_slice()) else {
        return String::new();
    };
    let (least, most) = (unit.figure(*least), unit.figure(*most));
    match least == most {
        true => most,
        false => format!("{least}–{most}"),
    }
}

/// `1% (0.41 GiB)`, where another share was drawn `1% (really 7.7%, 20.0 KiB)`.
fn data(run: &Measurement) -> String {
    if run.abscissa() == Abscissa::Work {
        return "all".to_owned();
    }
    let drawn = words::share(run.data_share());
    let (share, really) = match run.fraction.unlike(run.data_share()) {
        true => (run.fraction.to_string(), Some(format!("really {drawn}"))),
        false => (drawn, None),
    };
    let bytes = run.bytes.map(|bytes| bytes.to_string());
    let beside: Vec<String> = really.into_iter().chain(bytes).collect();
    match beside.is_empty() {
        true => share,
        false => format!("{share} ({})", beside.join(", ")),
    }
}

/// The level, beside that of the full run: `5 of 50`.
fn work(run: &Measurement) -> String {
    match (run.work, run.work_total) {
        (Some(work), Some(total)) => format!("{work} of {total}"),
        _ => String::new(),
    }
}

/// `41%`, or `12.3 GiB` where the whole is not known.
fn peak(usage: &Usage, of: MemoryOf) -> Option<String> {
    let memory = usage.peak(of)?;
    let figure = match (memory.percent, memory.bytes) {
        (Some(Percent(percent)), _) => Quantity::Percent.figure(percent),
        (None, Some(bytes)) => bytes.to_string(),
        (None, None) => return None,
    };
    let at_least = if memory.is_lower_bound() { "≥ " } else { "" };
    Some(format!("{at_least}{figure}"))
}

/// `5 runs, 1.12 USD, 1.8% of one full run`: what the check itself took, over these jobs. At the end what was not paid for again:
/// `3 of them are from earlier runs (the newest 2 days old), which saved 0.80 USD`.
pub(super) fn spend(jobs: &[&JobReport]) -> String {
    let runs: usize = jobs.iter().map(|job| job.measurements.len()).sum();
    let mut parts = vec![words::count(runs, "run")];
    let reused = reused(jobs);
    if let Some((count, said)) = &reused
        && *count == runs
    {
        let all = if runs > 1 { "all " } else { "" };
        return format!("{}, {all}{said}", parts[0]);
    }
    let time: Seconds = jobs.iter().map(|job| job.spend.canary_seconds).sum();
    let paid: Option<Usd> = jobs.iter().map(|job| job.spend.canary_usd).sum();
    parts.push(match paid {
        Some(Usd(usd)) => Quantity::Money.figure(usd),
        None => Quantity::Time.figure(time.0),
    });
    let kept = sum(jobs.iter().map(|job| job.spend.idle_usd));
    let idle: Seconds = jobs.iter().filter_map(|job| job.spend.idle_seconds).sum();
    let idle = Quantity::Time.figure(idle.0);
    parts.extend(kept.map(|Usd(kept)| {
        let kept = Quantity::Money.figure(kept);
        format!("{kept} of it for machines kept warm for {idle}")
    }));
    let full = match jobs.len() {
        1 => "one full run",
        _ => "one full run of each job",
    };
    let full_usd: Option<Usd> = jobs.iter().map(|job| job.spend.full_run_usd).sum();
    if let Some((Usd(paid), Usd(full_usd))) = paid.zip(full_usd).filter(|(_, full)| full.0 > 0.0) {
        parts.push(format!("{} of {full}", words::share(paid / full_usd)));
    }
    let reused = reused.map_or(String::new(), |(count, said)| {
        let are = if count == 1 { "is" } else { "are" };
        format!("; {count} of them {are} {said}")
    });
    parts.join(", ") + &reused
}

/// How many of the runs were not paid for again, and `from earlier runs (the newest 2 days old), which saved 0.80 USD`; `None` where
/// all were run now.
fn reused(jobs: &[&JobReport]) -> Option<(usize, String)> {
    let runs = jobs.iter().flat_map(|job| &job.measurements);
    let ages: Vec<f64> = runs.filter_map(|run| Some(run.reused?.age_days)).collect();
    let newest = words::age(ages.iter().copied().min_by(f64::total_cmp)?);
    let saved = sum(jobs.iter().map(|job| job.spend.saved_usd));
    let saved = saved.map_or(String::new(), |Usd(usd)| {
        format!(", which saved {}", Quantity::Money.figure(usd))
    });
    let said = match ages.len() {
        1 => format!("from an earlier run ({newest} old){saved}"),
        _ => format!("from earlier runs (the newest {newest} old){saved}"),
    };
    Some((ages.len(), said))
}

/// The failures of the job's canaries, at most `most` kinds, each once: what happened, how often, and where all of the log is, if that
/// is on this machine. Last lines are hostile text.
pub(super) fn failures(job: &JobReport, most: usize) -> Vec<(Label, Prose)> {
    let crashed = job.measurements.iter().enumerate();
    let crashed = crashed.filter(|(_, run)| run.has_crashed() || run.passed_over);
    let kinds = grouped(crashed, |(_, one), (_, other)| {
        one.is_on(&other.instance) && one.outcome == other.outcome
    });
    let mut lines = Vec::new();
    for kind in kinds.into_iter().take(most) {
        let (place, run) = kind[0];
        let share = words::share(run.data_share());
        let on = words::only_where(!run.instance.is_local(), || format!(" on {}", run.instance));
        let (ending, abscissa) = (run.outcome.ending(), run.abscissa());
        let over = words::only_where(
            run.passed_over,
            || ", and was passed over, since larger ones completed",
        );
        let what = Prose::literal(match kind.len() {
            1 => {
                let before = job.measurements[..place].iter();
                let number = before.filter(|before| before.is_on(&run.instance)).count() + 1;
                format!("Canary {number}{on} {ending}, with {share} of the {abscissa}{over}")
            }
            count => {
                format!("{count} canaries{on} {ending}, the first with {share} of the {abscissa}")
            }
        });
        let text = match run.outcome.last_line() {
            Some(line) => Prose::fill("{}: {}", [what, Prose::log_line(line)]),
            None => what,
        };
        lines.push((Label::FAILED_RUNS, text));
        // A runner of CI is gone with its files.
        let log = run.log.as_deref().filter(|_| run.instance.is_local());
        lines.extend(log.map(|path| (Label::LOG, Prose::name(path))));
    }
    lines
}
