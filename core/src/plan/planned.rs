//! What is planned for a job: the runs of each configuration, or why it has none.

use super::{LadderSize, Limit, PoolPlan};
use crate::canary::CanaryRun;
use crate::forecast::FEWEST_RUNS;
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{Measurement, Outcome};
use crate::units::{Usd, sum};
use crate::verdict::Reason;

/// The canary runs of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// `instance` first, whose runs are planned, then the alternatives in the order of the spec.
    pub all: Vec<PlannedConfiguration>,
    /// Why no canary runs on all machines of `instance`, though one was to.
    pub none_on_all: Option<NotMeasured>,
    /// What is kept of machines in the cloud; `None` on this machine.
    pub pools: Option<PoolPlan>,
    /// Cautions, as sentences.
    pub notes: Vec<String>,
}

/// `instance`, or an alternative, with its runs, or why it is not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedConfiguration {
    pub instance: InstanceConfiguration,
    /// The machines that the design runs on: `instance`, or fewer of its machines.
    pub base: InstanceConfiguration,
    /// One canary on each further count of its machines.
    pub counts: Vec<CanaryRun>,
    /// Its canaries on `base` are those of a configuration before it; `runs` is what it needs besides.
    pub follows: bool,
    pub runs: Result<PlannedRuns, NotMeasured>,
    /// Of its runs' machines.
    pub offer: Offer,
    /// The most that its runs can count against the limit, in the adaptive design at most `slice`; absent where nothing counts.
    pub worst_case: Option<Usd>,
    /// The part of the spend limit that it may spend. The limit is divided before the first canary, so that what runs on one does not
    /// depend on what the others cost. In the fixed design an alternative has its worst case and `instance` the rest; in the adaptive
    /// one `instance` has three fifths, and the alternatives the rest in equal parts.
    pub slice: Usd,
}

impl PlannedConfiguration {
    /// The machines of `runs`.
    pub fn runs_on(&self) -> &InstanceConfiguration {
        match self.follows {
            true => &self.instance,
            false => &self.base,
        }
    }

    /// Whether its adaptive design goes on without the only run on `base` that failed, that of the smallest size: data so small
    /// may lack a class, or be shorter than a window. Not where another of that size ran, where the script did not end by itself
    /// or its error has a known cause, nor on a ladder that is too short to be left by one: each size is run once at most.
    pub fn passes_over(&self, on_base: &[Measurement]) -> bool {
        let mut failed = on_base.iter().filter(|run| run.has_crashed());
        let (Ok(PlannedRuns::Ladder(sizes)), Some(first), None) =
            (&self.runs, failed.next(), failed.next())
        else {
            return false;
        };
        let of_its_size = on_base.iter().filter(|run| run.fraction == first.fraction);
        sizes.len() > FEWEST_RUNS
            && sizes[0].fraction == first.fraction
            && of_its_size.count() == 1
            && first.way_out.is_none()
            // A shell reports higher codes for a process that a signal ended.
            && matches!(first.outcome, Outcome::Failed { exit_code: Some(1..=127), .. })
    }
}

/// What a design runs on one configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum PlannedRuns {
    /// The fixed design: all of them, in this order.
    Fixed(Vec<CanaryRun>),
    /// The adaptive design: sizes to choose from, rising; each run is drawn when it is chosen ([`super::canary`]).
    Ladder(Vec<LadderSize>),
}

impl PlannedRuns {
    /// The same on other machines.
    pub(super) fn on(&self, instance: &InstanceConfiguration) -> Self {
        let elsewhere = |run: &CanaryRun| CanaryRun {
            instance: instance.clone(),
            ..run.clone()
        };
        match self {
            Self::Fixed(runs) => Self::Fixed(runs.iter().map(elsewhere).collect()),
            Self::Ladder(sizes) => Self::Ladder(sizes.clone()),
        }
    }

    /// The number of objects of the smallest run; `None` without runs.
    pub(super) fn fewest_objects(&self) -> Option<u64> {
        match self {
            Self::Fixed(runs) => runs.first().map(|run| run.objects),
            Self::Ladder(sizes) => sizes.first().map(|size| size.objects),
        }
    }
}

impl Plan {
    /// The configuration `instance`, which the budget is judged on.
    pub fn own(&self) -> &PlannedConfiguration {
        &self.all[0]
    }

    /// The runs of the design on `instance`.
    pub fn runs(&self) -> &PlannedRuns {
        let runs = self.own().runs.as_ref();
        runs.expect("a plan is made only with runs on `instance`")
    }

    pub fn is_adaptive(&self) -> bool {
        matches!(self.runs(), PlannedRuns::Ladder(_))
    }

    /// Each alternative, with the reason if it is not measured.
    pub fn outcomes(&self) -> Vec<(&InstanceConfiguration, Option<String>)> {
        let why = |one: &PlannedConfiguration| one.runs.as_ref().err().map(ToString::to_string);
        let alternatives = self.all[1..].iter();
        alternatives.map(|one| (&one.instance, why(one))).collect()
    }

    /// The worst-case cost of all planned runs, including those of measured alternatives; `None` where a price is missing. In the adaptive
    /// design one that was given up later counts too, for it may have run.
    pub fn total_worst_case(&self) -> Option<Usd> {
        let counts = |one: &&PlannedConfiguration| {
            one.worst_case.is_some() && (self.is_adaptive() || one.runs.is_ok())
        };
        let counted = || self.all.iter().filter(counts);
        let worst = sum(counted().map(|one| one.worst_case));
        worst.filter(|_| !counted().any(|one| one.offer.counts_time()))
    }
}

/// Why an alternative is not measured, or nothing on all machines of `instance`. This never fails a plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotMeasured {
    #[error("no price is known for it")]
    NoPrice,
    #[error("its quota allows no canary")]
    NoQuota,
    /// An amount in words.
    #[error("needs up to {0}")]
    TooExpensive(String),
    #[error("its part of {0} does not cover a forecast")]
    NothingLeft(Limit),
    #[error("skipped by --only-instance")]
    Skipped,
    #[error("the training code failed on the job's instance")]
    CodeFailed,
    #[error("it could not be run; standard error says why")]
    CouldNotRun,
    #[error("its canaries still run; collect again")]
    StillRuns,
    #[error("its canaries were not started")]
    NotStarted,
    #[error(
        "no canary has two objects for each of {0} machines within half of `canary.max_share`; raise that, or give more and smaller objects"
    )]
    TooFewObjects(u32),
    #[error("its canary could have passed {0}; raise that")]
    PastTheLimit(Limit),
    #[error("no canary on fewer of its machines completed")]
    NoneOnFewer,
}

/// Why a job cannot be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// No canary can be drawn: the data or the spec must be corrected.
    #[error("{}", .0.why)]
    NoCanaries(Reason),
    /// The design, on these data, is no forecast. The spec must be corrected: an unknown outcome might pass.
    #[error("{}", .0.why)]
    NoForecast(Reason),
    /// The outcome is unknown; it may be decided later, or with a higher limit.
    #[error("{0}")]
    Unknown(Reason),
}
