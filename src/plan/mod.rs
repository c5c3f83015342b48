//! The **plan**: which canary runs a job needs, what they may cost at worst, or why there are none.
//!
//! Pure: turns spec and listed data into runs, before money is spent. The fixed design has `replicates` runs of every
//! fraction at every work level. The adaptive design chooses its next run from what was measured and spent so far
//! ([`next`]).

mod adaptive;
mod design;
mod sampling;
mod spend;

pub use adaptive::{
    Aim, NARROW, Next, Reached, Rung, Situation, SpendingRule, StopReason, has_enough, next,
};
pub use design::{canary, level};
pub use spend::{Headroom, TIME_TO_STOP, worst_case};

use crate::canary::{CanaryRun, Dataset, WorkLevel};
use crate::forecast::FEWEST_RUNS;
use crate::grammar::count;
use crate::instance::{InstanceConfiguration, OfferOf};
use crate::spec::{BackendKind, Design, Distribution, Job};
use crate::units::{Fraction, Seconds, Usd, count_as_float};

/// The canary runs of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// On `instance`. The fixed design runs all of them in this order; the adaptive design chooses one at a time.
    pub runs: Vec<CanaryRun>,
    pub is_adaptive: bool,
    /// Their worst-case cost, which is the whole spend limit for the adaptive design; absent without a price.
    pub worst_case: Option<Usd>,
    /// The longest that all runs can take, those of alternatives included: `parallel` at a time in the fixed design, one
    /// after the other in the adaptive one.
    pub wall_clock: Seconds,
    /// One entry for each alternative, in the order of the spec.
    pub alternatives: Vec<PlannedAlternative>,
    /// Cautions, as sentences.
    pub notes: Vec<String>,
}

impl Plan {
    /// Each alternative, with the reason if it is not measured.
    pub fn outcomes(&self) -> Vec<(&InstanceConfiguration, Option<String>)> {
        self.alternatives
            .iter()
            .map(|alternative| {
                let why = alternative.runs.as_ref().err().map(ToString::to_string);
                (&alternative.instance, why)
            })
            .collect()
    }

    /// Marks the alternatives that were still to be measured as not measured.
    pub fn leave_out_alternatives(&mut self, why: &NotMeasured) {
        for alternative in &mut self.alternatives {
            if alternative.runs.is_ok() {
                alternative.runs = Err(why.clone());
            }
        }
    }

    /// The worst-case cost of all planned runs, including those of measured alternatives; `None` without a price.
    pub fn total_worst_case(&self) -> Option<Usd> {
        if self.is_adaptive {
            return self.worst_case;
        }
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

/// Why an alternative is not measured. This never fails a plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotMeasured {
    #[error("no price is known for it")]
    NoPrice,
    #[error("its quota allows no canary")]
    NoQuota,
    #[error("needs up to {0}")]
    TooExpensive(Usd),
    #[error("the rest of the spend limit of {0} does not cover a forecast")]
    NothingLeft(Usd),
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
    /// The data or the spec must be corrected.
    #[error("no channel of job `{job}` is sampled, so no canary can be smaller than the full run")]
    NothingSampled { job: String },
    #[error(
        "channel `{channel}` of job `{job}` has one object; a canary needs several to draw from"
    )]
    OneObject { job: String, channel: String },
    /// The outcome is unknown; it may be decided later, or with a higher limit.
    #[error("{0}")]
    Unknown(String),
}

/// Which alternatives are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternatives {
    Measure,
    /// The same but for instance groups.
    MeasureAllButGroups,
    Skip,
}

impl Alternatives {
    /// What a backend can measure of them.
    pub fn on(self, backend: BackendKind) -> Self {
        match self {
            Self::Measure if !backend.traits().runs_groups => Self::MeasureAllButGroups,
            asked => asked,
        }
    }
}

/// Plans a job's design over its listed data.
///
/// The fixed design on `instance` must fit the spend limit as a whole; else it is an error. Alternatives follow in the order of
/// the spec, as long as they fit the remaining limit. The adaptive design is checked against the limit run by run ([`next`]),
/// so its plan is only what it may choose from.
pub fn plan(
    job: &Job,
    dataset: &Dataset,
    offer_of: OfferOf<'_>,
    alternatives: Alternatives,
) -> Result<Plan, PlanError> {
    let mut notes = Vec::new();
    let runs = design::runs(job, dataset, &mut notes)?;
    let is_adaptive = matches!(job.canary.design, Design::Adaptive { .. });
    let mut headroom = Headroom::new(job.canary.spend_limit);
    let offer = offer_of(&job.instance);
    let worst = if is_adaptive {
        // Every size once; it repeats a size only for levels of work, or if there are too few sizes.
        let once = worst_case(&runs, &offer);
        once.map(|once| {
            if runs.len() >= FEWEST_RUNS && job.work.is_none() && once < job.canary.spend_limit {
                once
            } else {
                job.canary.spend_limit
            }
        })
    } else {
        worst_case(&runs, &offer)
    };
    if let Some(worst) = worst
        && !headroom.take(worst)
    {
        return Err(PlanError::Unknown(format!(
            "the canaries may cost up to {worst}, above the spend limit of {}; raise canary.spend_limit, lower canary.max_runtime or request fewer runs",
            job.canary.spend_limit
        )));
    }
    let alternatives: Vec<PlannedAlternative> = job
        .alternatives
        .iter()
        .map(|instance| {
            let alternative = plan_alternative(instance, &runs, alternatives);
            if is_adaptive {
                return alternative;
            }
            alternative.within(&mut headroom, offer_of)
        })
        .collect();
    let hosts = u64::from(job.instance.total_count());
    let is_sharded = job
        .training
        .channels
        .iter()
        .any(|channel| channel.sample && channel.distribution == Distribution::ShardedByS3Key);
    if let Some(smallest) = runs.first()
        && is_sharded
        && smallest.objects < hosts
    {
        notes.push(format!(
            "The smallest canary has {} for {hosts} machines, so some of them get no sharded data; larger fractions give better forecasts.",
            count(usize::try_from(smallest.objects).unwrap_or(usize::MAX), "object"),
        ));
    }
    if job.canary.parallel > 1 && job.instance.is_local() && !is_adaptive {
        notes.push(format!(
            "{} canaries share this machine at a time, which inflates their times.",
            job.canary.parallel
        ));
    }
    let at_a_time = if is_adaptive { 1 } else { job.canary.parallel };
    Ok(Plan {
        wall_clock: alternatives
            .iter()
            .filter_map(|alternative| alternative.runs.as_ref().ok())
            .map(|runs| longest(runs, at_a_time))
            .chain([longest(&runs, at_a_time)])
            .sum(),
        runs,
        is_adaptive,
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

/// The same runs on another configuration, unless that is not measured.
fn plan_alternative(
    instance: &InstanceConfiguration,
    runs: &[CanaryRun],
    alternatives: Alternatives,
) -> PlannedAlternative {
    let runs = if alternatives == Alternatives::Skip {
        Err(NotMeasured::Skipped)
    } else if alternatives == Alternatives::MeasureAllButGroups
        && matches!(instance, InstanceConfiguration::Heterogeneous { .. })
    {
        Err(NotMeasured::NotYet)
    } else {
        Ok(runs
            .iter()
            .map(|run| CanaryRun {
                instance: instance.clone(),
                ..run.clone()
            })
            .collect())
    };
    PlannedAlternative {
        instance: instance.clone(),
        runs,
        worst_case: None,
    }
}

impl PlannedAlternative {
    /// Reserves the worst-case cost of its runs; marks it as not measured if that does not fit.
    fn within(mut self, headroom: &mut Headroom, offer_of: OfferOf<'_>) -> Self {
        if let Ok(runs) = &self.runs {
            self.worst_case = worst_case(runs, &offer_of(&self.instance));
            if let Some(worst) = self.worst_case
                && !headroom.take(worst)
            {
                self.runs = Err(NotMeasured::TooExpensive(worst));
            }
        }
        self
    }
}

/// The longest that `runs` can take, `parallel` at a time.
fn longest(runs: &[CanaryRun], parallel: u32) -> Seconds {
    let rounds = runs.len().div_ceil(parallel.max(1) as usize);
    let slowest = runs
        .iter()
        .filter_map(|run| run.max_runtime)
        .fold(0.0, |longest: f64, limit| longest.max(limit.0));
    Seconds(slowest) * count_as_float(rounds)
}

#[cfg(test)]
mod tests;
