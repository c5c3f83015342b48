//! From measurements to a job's part of the report: forecast every configuration, judge it, say why.

use crate::assess::base_comparison::{self, BaseComparison, BaseComparisonInput};
use crate::assess::extrapolated_rows;
use crate::exit::{self, Strictness};
use crate::forecast::scale_out::{DataLayout, Measured};
use crate::forecast::{self, Basis, Estimate, Forecast, Quantity};
use crate::gate::run_history::Base;
use crate::instance::{Capacity, InstanceConfiguration, InstanceType, Price};
use crate::measurement::{self, Measurement};
use crate::plan::PriceOf;
use crate::report::{
    self, BudgetRow, ClosestFit, Delta, Estimates, InstanceForecast, JobReport, LimitNeeded,
    OverrideInForce, PhaseEstimates, Recommendation, Report, Spend,
};
use crate::spec::{Budget, Job, LineKind};
use crate::units::{Fraction, Seconds, Usd};
use crate::verdict::{self, Contender, JudgedLine, LineVerdict, Pick, Verdict};

/// Capacities of machine types as the backend or the tables know them.
pub(crate) type CapacityOf<'a> = &'a dyn Fn(&InstanceType) -> Option<Capacity>;

/// What a job's part of the report is made from.
pub(crate) struct JobInput<'a> {
    pub(crate) name: &'a str,
    pub(crate) instance: &'a InstanceConfiguration,
    pub(crate) budget: &'a Budget,
    pub(crate) affected_by: &'a [String],
    /// In the order of the spec, each with why it was not measured, if so.
    pub(crate) alternatives: Vec<(&'a InstanceConfiguration, Option<String>)>,
    /// On `instance` and on the alternatives.
    pub(crate) measurements: &'a [Measurement],
    /// What the plan could have cost at most.
    pub(crate) worst_case: Option<Usd>,
    pub(crate) capacity_of: CapacityOf<'a>,
    pub(crate) price_of: PriceOf<'a>,
    /// How the data reach the hosts of the full run.
    pub(crate) layout: DataLayout,
    /// What the forecasts are compared with.
    pub(crate) base: Option<&'a Base>,
    /// Whether the team may use a machine type.
    pub(crate) is_allowed: &'a dyn Fn(&InstanceType) -> bool,
    /// What is to be said beside.
    pub(crate) notes: Vec<String>,
}

/// One configuration, forecast and judged.
struct Judged {
    row: InstanceForecast,
    lines: Vec<JudgedLine>,
    forecast: Forecast,
    /// Of one machine, by the tables or by the measurements.
    capacity: Option<Capacity>,
}

impl Judged {
    fn measured(&self) -> Measured<'_> {
        Measured {
            instance: &self.row.instance,
            forecast: &self.forecast,
            capacity: self.capacity.as_ref(),
        }
    }
}

/// A job's part of the report.
pub(crate) fn job_report(input: &JobInput<'_>) -> JobReport {
    let main = judge_configuration(input.instance, input, true);
    let (verdict, reason) = job_outcome(input, &main);
    let alternatives: Vec<Result<Judged, (&InstanceConfiguration, &str)>> = input
        .alternatives
        .iter()
        .map(|(instance, not_measured)| match not_measured {
            None => Ok(judge_configuration(instance, input, false)),
            Some(why) => Err((*instance, why.as_str())),
        })
        .collect();
    let measured: Vec<Measured> = [Ok(&main)]
        .into_iter()
        .chain(alternatives.iter().map(Result::as_ref))
        .filter_map(|judged| judged.ok().map(Judged::measured))
        .collect();
    let unmeasured: Vec<Option<(InstanceForecast, Vec<String>)>> = alternatives
        .iter()
        .map(|alternative| {
            let (instance, why) = alternative.as_ref().err()?;
            Some(extrapolated_rows::row(instance, why, &measured, input))
        })
        .collect();
    let recommendation = recommendation(&main, alternatives.iter().flatten(), input);
    let advice = extrapolated_rows::where_memory_fits(&measured, &main.lines, input);
    let mut notes = input.notes.clone();
    notes.extend(main.forecast.notes.iter().cloned());
    for line in &main.lines {
        let is_increase = matches!(
            line.line.kind,
            LineKind::CostIncrease | LineKind::TimeIncrease
        );
        // That there is no base is said once, by who knows why.
        if is_increase && line.verdict == LineVerdict::NotApplicable {
            continue;
        }
        if let Some(reason) = &line.reason {
            notes.push(format!("{}: {reason}.", line.line.kind.words()));
        }
    }
    // A time that is missing has its reason told also where no line asks for it.
    let asked = |line: &JudgedLine| matches!(line.line.kind, LineKind::Time | LineKind::Cost);
    if let Err(reason) = &main.forecast.time_seconds
        && !main.lines.iter().any(asked)
    {
        notes.push(format!("time: {reason}."));
    }
    let full_run = main
        .row
        .estimates
        .cost_usd
        .map(|estimate| Usd(estimate.point));
    let mut forecasts = vec![InstanceForecast {
        verdict,
        ..main.row
    }];
    for (alternative, unmeasured) in alternatives.into_iter().zip(unmeasured) {
        match (alternative, unmeasured) {
            (Ok(judged), _) => forecasts.push(judged.row),
            (Err(_), Some((row, cautions))) => {
                forecasts.push(row);
                notes.extend(cautions);
            }
            (Err(_), None) => {}
        }
    }
    JobReport {
        name: input.name.to_owned(),
        verdict,
        reason,
        affected_by: input.affected_by.to_vec(),
        instance: input.instance.clone(),
        baseline: input
            .base
            .map(|base| base_comparison::named(base, input.instance)),
        recommendation,
        forecasts,
        measurements: input.measurements.to_vec(),
        advice: advice.into_iter().collect(),
        notes: once_each(notes),
        drift: None,
        spend: spend(input.measurements, input.worst_case, full_run),
    }
}

/// What would fit, of the configurations that were measured and forecast.
fn recommendation<'a>(
    main: &'a Judged,
    alternatives: impl Iterator<Item = &'a Judged>,
    input: &JobInput<'_>,
) -> Option<Recommendation> {
    let has_runs = |judged: &&Judged| {
        let mut runs = input.measurements.iter();
        runs.any(|run| run.instance == judged.row.instance)
    };
    let judged: Vec<&Judged> = [main]
        .into_iter()
        .chain(alternatives)
        .filter(has_runs)
        .collect();
    let contenders: Vec<Contender<'_>> = judged
        .iter()
        .map(|judged| Contender {
            verdict: judged.row.verdict,
            lines: &judged.lines,
            forecast: &judged.forecast,
        })
        .collect();
    let found = verdict::recommend(&contenders, input.budget.certainty)?;
    let name = |place: usize| judged[place].row.instance.to_string();
    let best = |pick: &Option<Pick>| pick.as_ref().map(|pick| name(pick.best));
    let ties = |pick: &Option<Pick>| {
        let ties = pick.iter().flat_map(|pick| &pick.ties);
        ties.map(|&place| name(place)).collect()
    };
    let closest = found.closest.as_ref().map(|closest| ClosestFit {
        instance: name(closest.place),
        if_limits: closest
            .raises
            .iter()
            .map(|raise| LimitNeeded {
                line: raise.line.kind,
                bound: raise.line.bound,
                limit: raise.limit,
            })
            .collect(),
    });
    Some(Recommendation {
        cheapest: best(&found.cheapest),
        cheapest_ties: ties(&found.cheapest),
        fastest: best(&found.fastest),
        fastest_ties: ties(&found.fastest),
        closest,
        certainty: Some(input.budget.certainty.0),
    })
}

/// The report over all jobs: the worst verdict, and the code of the worst that has one.
pub(crate) fn report(
    jobs: Vec<JobReport>,
    notes: Vec<String>,
    strictness: Strictness,
    now: jiff::Timestamp,
) -> Report {
    let verdicts: Vec<Verdict> = jobs.iter().map(|job| job.verdict).collect();
    Report {
        schema_version: report::SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        generated_at: now,
        run_url: None,
        commit: None,
        spec_hash: None,
        policy: None,
        verdict: verdict::worst(verdicts.iter().copied()),
        exit_code: exit::code_of_all(verdicts, strictness),
        jobs,
        notes,
        failures: Vec::new(),
    }
}

/// Forecasts one configuration from its measurements and holds it against the budget.
fn judge_configuration(
    instance: &InstanceConfiguration,
    input: &JobInput<'_>,
    is_judged: bool,
) -> Judged {
    let mut measurements: Vec<Measurement> = input
        .measurements
        .iter()
        .filter(|measurement| measurement.instance == *instance)
        .cloned()
        .collect();
    let other_memory = measurement::keep_one_memory_source(&mut measurements);
    let capacity = instance
        .single_type()
        .and_then(|kind| (input.capacity_of)(kind));
    // Where nobody knows the machine, its memory is what the measurements say; of its GPUs they say nothing.
    let measured = capacity
        .is_none()
        .then(|| measured_capacity(&measurements))
        .flatten();
    let price = (input.price_of)(instance).or_else(|| measured_price(&measurements));
    let by_shard = input
        .layout
        .by_heaviest_shard(&measurements, instance.total_count());
    let known_capacity = capacity.clone().or(measured);
    let mut forecast = forecast::forecast(&Basis {
        instance,
        measurements: by_shard.as_deref().unwrap_or(&measurements),
        capacity: known_capacity.as_ref(),
        price: price.as_ref(),
    });
    if let Some((source, forgotten)) = other_memory {
        forecast.notes.push(format!(
            "memory is forecast from canaries measured in one way ({source}); that of {forgotten} other{} is left out",
            if forgotten == 1 { "" } else { "s" }
        ));
    }
    if by_shard.is_some() {
        forecast.notes.push(format!(
            "the data of {instance} are in shards: the canaries are compared with the full run by the heaviest host's shard"
        ));
    }
    let versus = input.base.and_then(|base| {
        base_comparison::versus(&BaseComparisonInput {
            base,
            instance,
            is_judged,
            measurements: &measurements,
            price: price.as_ref(),
            capacity_of: input.capacity_of,
            price_of: input.price_of,
            layout: &input.layout,
            certainty: input.budget.certainty,
        })
    });
    let (against, delta) = match versus {
        Some(BaseComparison {
            against,
            delta,
            notes,
        }) => {
            forecast.notes.extend(notes);
            (Some(against), delta)
        }
        None => (None, Delta::default()),
    };
    let lines = verdict::judge(input.budget, &forecast, capacity.as_ref(), against.as_ref());
    let row_verdict = match measurements.iter().any(Measurement::has_failed) {
        true => verdict::job_verdict(&lines).min(Verdict::Failed),
        false => verdict::job_verdict(&lines),
    };
    let certainty = input.budget.certainty;
    Judged {
        row: InstanceForecast {
            instance: instance.clone(),
            groups: Vec::new(),
            verdict: row_verdict,
            not_measured: None,
            estimated_from: None,
            estimates: estimates(&forecast, certainty),
            phases: phases(&forecast, certainty),
            delta,
            law: forecast.law.clone(),
            price,
            budget: budget_rows(&lines),
        },
        lines,
        forecast,
        capacity: known_capacity,
    }
}

/// The lines as a report shows them.
pub(crate) fn budget_rows(lines: &[JudgedLine]) -> Vec<BudgetRow> {
    let deciding = verdict::deciding(lines);
    (0..)
        .zip(lines)
        .map(|(index, line)| BudgetRow {
            decides: deciding == Some(index),
            line: line.line.kind,
            limit: line.line.limit,
            bound: line.line.bound,
            level: line.line.level,
            chance_of_breach: line.chance_of_breach,
            verdict: line.verdict,
            existing_breach: line.existing_breach,
            overridden: line.line.overridden.as_ref().map(|agreed| OverrideInForce {
                written_limit: agreed.written,
                until: agreed.until.to_string(),
                reason: agreed.reason.clone(),
            }),
        })
        .collect()
}

/// The verdict of a job and its one sentence. A failed canary outranks all but a budget exceeded.
fn job_outcome(input: &JobInput<'_>, main: &Judged) -> (Verdict, String) {
    let failed = input
        .measurements
        .iter()
        .find(|measurement| measurement.instance == *input.instance && measurement.has_failed());
    if let Some(failed) = failed
        && main.row.verdict == Verdict::Failed
    {
        return (
            Verdict::Failed,
            format!(
                "the training code failed in the {} canary: {}",
                failed.fraction, failed.outcome
            ),
        );
    }
    let mut reason = verdict::reason(
        &main.lines,
        &main.forecast,
        input.instance,
        input.budget.certainty,
    );
    if let Some(failed) = failed {
        reason.push_str(&format!(
            "; and the training code failed in the {} canary: {}",
            failed.fraction, failed.outcome
        ));
    }
    (main.row.verdict, reason)
}

/// A job whose canaries could not be planned: its outcome is unknown, for `reason`.
pub(crate) fn unknown_report(
    job: &Job,
    affected_by: &[String],
    reason: &str,
    notes: Vec<String>,
) -> JobReport {
    JobReport {
        name: job.name.clone(),
        verdict: Verdict::Unknown,
        reason: reason.to_owned(),
        affected_by: affected_by.to_vec(),
        instance: job.instance.clone(),
        baseline: None,
        recommendation: None,
        forecasts: vec![InstanceForecast {
            verdict: Verdict::Unknown,
            ..extrapolated_rows::nothing_known(&job.instance, reason)
        }],
        measurements: Vec::new(),
        advice: Vec::new(),
        notes,
        drift: None,
        spend: Spend::default(),
    }
}

/// What was paid when it was measured.
pub(crate) fn measured_price(measurements: &[Measurement]) -> Option<Price> {
    measurements
        .iter()
        .rev()
        .find_map(|measurement| measurement.price.clone())
}

/// Where no table knows the machine, a measurement that holds both bytes and percent tells its memory.
fn measured_capacity(measurements: &[Measurement]) -> Option<Capacity> {
    measurements.iter().find_map(|measurement| {
        let memory = measurement.usage.memory.as_ref()?;
        let (bytes, percent) = (memory.bytes?, memory.percent?);
        (percent.0 > 0.0).then(|| Capacity {
            vcpus: 0,
            memory: crate::units::Bytes::from_f64(bytes.as_f64() / percent.as_fraction().0),
            gpus: 0,
            gpu_memory: None,
        })
    })
}

fn estimate(quantity: &Quantity, certainty: Fraction) -> Option<Estimate> {
    quantity
        .as_ref()
        .ok()
        .map(|predictive| Estimate::of(predictive, certainty))
}

pub(crate) fn estimates(forecast: &Forecast, certainty: Fraction) -> Estimates {
    Estimates {
        time_seconds: estimate(&forecast.time_seconds, certainty),
        cost_usd: estimate(&forecast.cost_usd, certainty),
        memory_percent: estimate(&forecast.memory_percent, certainty),
        memory_bytes: estimate(&forecast.memory_bytes, certainty),
        cpu_percent: estimate(&forecast.cpu_percent, certainty),
        gpu_percent: estimate(&forecast.gpu_percent, certainty),
        gpu_memory_percent: estimate(&forecast.gpu_memory_percent, certainty),
        io_wait_percent: estimate(&forecast.io_wait_percent, certainty),
        step_seconds: estimate(&forecast.step_seconds, certainty),
        cost_per_step_usd: estimate(&forecast.cost_per_step_usd, certainty),
    }
}

fn phases(forecast: &Forecast, certainty: Fraction) -> PhaseEstimates {
    let phase = |predictive: &Option<forecast::Predictive>| {
        predictive
            .as_ref()
            .map(|predictive| Estimate::of(predictive, certainty))
    };
    PhaseEstimates {
        startup: phase(&forecast.phases.startup),
        download: phase(&forecast.phases.download),
        training: phase(&forecast.phases.training),
        upload: phase(&forecast.phases.upload),
    }
}

/// What the measurements of one run of the gate took.
fn spend(measurements: &[Measurement], worst_case: Option<Usd>, full_run: Option<Usd>) -> Spend {
    Spend {
        canary_usd: measurements
            .iter()
            .filter_map(|measurement| measurement.cost)
            .reduce(|sum, cost| sum + cost),
        canary_seconds: measurements
            .iter()
            .filter(|measurement| measurement.reused.is_none())
            .filter_map(|measurement| {
                measurement
                    .billable_seconds
                    .or(measurement.training_seconds)
            })
            // The sum of no numbers is a negative zero.
            .fold(Seconds(0.0), |sum, time| sum + time),
        saved_usd: measurements
            .iter()
            .filter_map(|measurement| measurement.reused?.saved_usd)
            .reduce(|sum, saved| sum + saved),
        worst_case_usd: worst_case,
        full_run_usd: full_run,
    }
}

fn once_each(notes: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(notes.len());
    for note in notes {
        if !kept.contains(&note) {
            kept.push(note);
        }
    }
    kept
}
