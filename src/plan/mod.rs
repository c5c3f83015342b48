//! The **plan**: which canary runs a job needs, what they may cost at worst, and why there are none.
//!
//! Pure: spec and listed data go in; runs come out, before anything is spent. The fixed design asks once for every
//! fraction at every work level, `replicates` times.

mod sampling;
mod spend;

pub use spend::{Headroom, worst_case};

use crate::canary::{CanaryRun, Dataset, WorkLevel};
use crate::forecast::{FEWEST_RUNS, FEWEST_SIZES};
use crate::instance::{InstanceConfiguration, Price};
use crate::spec::{Design, Job};
use crate::units::{Fraction, Seconds, Usd};

/// Below this many objects a canary of a few per cent cannot be drawn; only large shares help.
const FEW_OBJECTS: usize = 10;
/// Below this many objects the smallest shares are coarse.
const SOME_OBJECTS: usize = 100;
/// With few objects at least one size must reach this share.
const LARGE_SHARE: f64 = 0.2;

/// What is asked for one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// On `instance`, in the order they run.
    pub runs: Vec<CanaryRun>,
    /// What they cost at worst; absent without a price.
    pub worst_case: Option<Usd>,
    /// The longest that all runs can take, those of alternatives included, `parallel` at a time.
    pub wall_clock: Seconds,
    /// One entry for each alternative, in the order of the spec.
    pub alternatives: Vec<PlannedAlternative>,
    /// What a reader should know, as sentences.
    pub notes: Vec<String>,
}

impl Plan {
    /// Each alternative, and why it is not measured, if so.
    pub fn outcomes(&self) -> Vec<(&InstanceConfiguration, Option<String>)> {
        self.alternatives
            .iter()
            .map(|alternative| {
                let why = alternative.runs.as_ref().err().map(ToString::to_string);
                (&alternative.instance, why)
            })
            .collect()
    }

    /// Gives up the alternatives that were still to be measured.
    pub fn leave_out_alternatives(&mut self, why: &NotMeasured) {
        for alternative in &mut self.alternatives {
            if alternative.runs.is_ok() {
                alternative.runs = Err(why.clone());
            }
        }
    }

    /// What all planned runs cost at worst, those of measured alternatives included; absent without a price.
    pub fn total_worst_case(&self) -> Option<Usd> {
        self.alternatives
            .iter()
            .filter(|alternative| alternative.runs.is_ok())
            .filter_map(|alternative| alternative.worst_case)
            .chain(self.worst_case)
            .reduce(|sum, amount| sum + amount)
    }
}

/// An alternative with its runs, or why it is not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedAlternative {
    pub instance: InstanceConfiguration,
    pub runs: Result<Vec<CanaryRun>, NotMeasured>,
    pub worst_case: Option<Usd>,
}

/// Why an alternative is not measured; it never causes a refusal.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotMeasured {
    #[error("needs up to {0}")]
    TooDear(Usd),
    #[error("not yet")]
    NotYet,
    #[error("skipped by --only-instance")]
    Skipped,
    #[error("the training code failed on the job's instance")]
    CodeFailed,
    #[error("it could not be run; standard error says why")]
    CouldNotRun,
}

/// Why a job cannot be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A person must mend the data or the spec.
    #[error("no channel of job `{job}` is sampled, so no canary can be smaller than the full run")]
    NothingSampled { job: String },
    #[error(
        "channel `{channel}` of job `{job}` has one object; a canary needs several to draw from"
    )]
    OneObject { job: String, channel: String },
    /// The outcome is unknown: tomorrow, or with a higher limit, it may be told.
    #[error("{0}")]
    Unknown(String),
}

/// Which alternatives are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternatives {
    Measure,
    Skip,
}

/// Prices of instance configurations as the caller knows them; `None` where there is none.
pub type PriceOf<'a> = &'a dyn Fn(&InstanceConfiguration) -> Option<Price>;

/// Plans the fixed design of a job over its listed data.
///
/// The whole design on `instance` is held against the spend limit first: over it, nothing is launched. Alternatives
/// come after, in the order of the spec, while they fit into what is left.
pub fn plan(
    job: &Job,
    dataset: &Dataset,
    price_of: PriceOf<'_>,
    alternatives: Alternatives,
) -> Result<Plan, PlanError> {
    let total = sampled_objects(job, dataset)?;
    let mut notes = Vec::new();
    let runs = design_runs(job, dataset, total, &job.instance, &mut notes)?;
    let mut headroom = Headroom::new(job.canary.spend_limit);
    let price = price_of(&job.instance);
    let worst = worst_case(&runs, price.as_ref());
    if let Some(worst) = worst
        && !headroom.take(worst)
    {
        return Err(PlanError::Unknown(format!(
            "the canaries may cost up to {worst}, above the spend limit of {}; raise canary.spend_limit, lower canary.max_runtime or ask for fewer runs",
            job.canary.spend_limit
        )));
    }
    let alternatives: Vec<PlannedAlternative> = job
        .alternatives
        .iter()
        .map(|instance| plan_alternative(instance, &runs, price_of, alternatives, &mut headroom))
        .collect();
    if job.canary.parallel > 1 && job.instance.is_local() {
        notes.push(format!(
            "{} canaries share this machine at a time, which inflates their times.",
            job.canary.parallel
        ));
    }
    Ok(Plan {
        wall_clock: alternatives
            .iter()
            .filter_map(|alternative| alternative.runs.as_ref().ok())
            .map(|runs| longest(runs, job.canary.parallel))
            .chain([longest(&runs, job.canary.parallel)])
            .sum(),
        runs,
        worst_case: worst,
        alternatives,
        notes,
    })
}

/// The full run as one run: every object of every channel.
pub fn full_run(job: &Job, dataset: &Dataset) -> CanaryRun {
    let total = dataset.objects_total().unwrap_or(0) as u64;
    CanaryRun {
        job: job.name.clone(),
        instance: job.instance.clone(),
        fraction: Fraction(1.0),
        work: job.work.as_ref().map(WorkLevel::of_full_run),
        replicate: 0,
        channels: dataset.channels.clone(),
        objects: total,
        objects_total: total,
        bytes: dataset.bytes_total(),
        bytes_total: dataset.bytes_total(),
        max_runtime: job.training.max_runtime,
    }
}

/// N: the objects of the sampled channel with the fewest.
fn sampled_objects(job: &Job, dataset: &Dataset) -> Result<usize, PlanError> {
    let smallest = dataset
        .sampled()
        .min_by_key(|channel| channel.objects.len())
        .ok_or_else(|| PlanError::NothingSampled {
            job: job.name.clone(),
        })?;
    match smallest.objects.len() {
        0 | 1 => Err(PlanError::OneObject {
            job: job.name.clone(),
            channel: smallest.name.clone(),
        }),
        total => Ok(total),
    }
}

/// Every fraction at every work level, `replicates` times; fractions that would draw equally many objects as a smaller
/// one are dropped. The level has no part in the drawing: the same replicate of a fraction has the same objects at each.
fn design_runs(
    job: &Job,
    dataset: &Dataset,
    total: usize,
    instance: &InstanceConfiguration,
    notes: &mut Vec<String>,
) -> Result<Vec<CanaryRun>, PlanError> {
    let (fractions, replicates) = match &job.canary.design {
        Design::Fixed {
            fractions,
            replicates,
        } => (fractions, *replicates),
        Design::Adaptive { .. } => {
            return Err(PlanError::Unknown(
                "the adaptive design is not served yet".to_owned(),
            ));
        }
    };
    let sizes = sampling::sizes(fractions, total);
    let levels: Vec<Option<WorkLevel>> = match &job.work {
        Some(work) => WorkLevel::of_canaries(work).map(Some).collect(),
        None => vec![None],
    };
    let runs = sizes.len() * levels.len() * replicates as usize;
    if sizes.len() < FEWEST_SIZES || runs < FEWEST_RUNS {
        return Err(PlanError::Unknown(format!(
            "the design gives {} on {}; a forecast needs at least {FEWEST_RUNS} runs on {FEWEST_SIZES} sizes",
            count(runs, "run"),
            count(sizes.len(), "size"),
        )));
    }
    let largest = sizes.last().map_or(0.0, |size| share(size.objects, total));
    if total < FEW_OBJECTS && largest < LARGE_SHARE {
        return Err(PlanError::Unknown(format!(
            "the data has only {total} objects and no canary holds 20% of them; split the data into 100 objects or ask for larger fractions",
        )));
    }
    if total < SOME_OBJECTS {
        notes.push(format!(
            "The data has only {total} objects, so canaries are coarse: the smallest holds {}. 100 or more give better forecasts.",
            Fraction(share(sizes[0].objects, total)),
        ));
    }
    if sizes.len() < fractions.len() {
        notes.push(format!(
            "{} of {} fractions would draw as many objects as a smaller one and are left out.",
            fractions.len() - sizes.len(),
            fractions.len(),
        ));
    }
    let bytes_total = dataset.bytes_total();
    Ok(sizes
        .iter()
        .flat_map(|size| levels.iter().map(move |level| (size, level)))
        .flat_map(|(size, level)| (0..replicates).map(move |replicate| (size, level, replicate)))
        .map(|(size, level, replicate)| {
            let channels = sampling::draw(dataset, size.objects, total, job.canary.seed, replicate);
            let bytes = channels
                .iter()
                .filter(|channel| channel.sampled)
                .map(crate::canary::ChannelData::bytes)
                .sum();
            CanaryRun {
                job: job.name.clone(),
                instance: instance.clone(),
                fraction: size.fraction,
                work: level.clone(),
                replicate,
                channels,
                objects: size.objects as u64,
                objects_total: total as u64,
                bytes,
                bytes_total,
                max_runtime: Some(job.canary.max_runtime),
            }
        })
        .collect())
}

/// The same runs on another configuration, if they still fit into what is left.
fn plan_alternative(
    instance: &InstanceConfiguration,
    runs: &[CanaryRun],
    price_of: PriceOf<'_>,
    alternatives: Alternatives,
    headroom: &mut Headroom,
) -> PlannedAlternative {
    let refused = |why, worst_case| PlannedAlternative {
        instance: instance.clone(),
        runs: Err(why),
        worst_case,
    };
    if alternatives == Alternatives::Skip {
        return refused(NotMeasured::Skipped, None);
    }
    if matches!(instance, InstanceConfiguration::Heterogeneous { .. }) {
        return refused(NotMeasured::NotYet, None);
    }
    let runs: Vec<CanaryRun> = runs
        .iter()
        .map(|run| CanaryRun {
            instance: instance.clone(),
            ..run.clone()
        })
        .collect();
    let worst = worst_case(&runs, price_of(instance).as_ref());
    if let Some(worst) = worst
        && !headroom.take(worst)
    {
        return refused(NotMeasured::TooDear(worst), Some(worst));
    }
    PlannedAlternative {
        instance: instance.clone(),
        runs: Ok(runs),
        worst_case: worst,
    }
}

/// The longest that `runs` can take, `parallel` at a time.
fn longest(runs: &[CanaryRun], parallel: u32) -> Seconds {
    let rounds = runs.len().div_ceil(parallel.max(1) as usize);
    let slowest = runs
        .iter()
        .filter_map(|run| run.max_runtime)
        .fold(0.0, |longest: f64, limit| longest.max(limit.0));
    Seconds(slowest) * units_of(rounds)
}

fn share(objects: usize, total: usize) -> f64 {
    units_of(objects) / units_of(total)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "object and run counts are far below 2^53"
)]
fn units_of(count: usize) -> f64 {
    count as f64
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
