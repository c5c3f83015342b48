//! One configuration of a job, and what is known of its canaries.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::LabInput;
use crate::backend::EndedPool;
use crate::canary::CanaryRun;
use crate::console::AppError;
use crate::console::progress::Earlier;
use crate::gate::batch::CanaryFate;
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::Measurement;
use crate::plan::{
    self, Account, Limit, NotMeasured, Plan, PlannedConfiguration, PlannedRuns, StopReason,
};
use crate::units::Usd;
use crate::verdict::Reason;

/// `instance`, or an alternative.
pub(super) struct Configuration {
    pub(super) planned: PlannedConfiguration,
    /// The offer as the full run buys it.
    pub(super) full_run_offer: Offer,
    pub(super) account: Account,
    /// False where no further canary may start.
    pub(super) is_wanted: Cell<bool>,
}

impl Configuration {
    /// `instance` first, then the alternatives.
    pub(super) fn all(input: &LabInput<'_>, plan: &Plan) -> Vec<Self> {
        let (job, project) = (input.job, input.runner.project);
        let limit = input.account.left();
        let configuration = |one: &PlannedConfiguration| Self {
            full_run_offer: project.offer_to(job, &one.instance),
            account: {
                let of = match one.offer.counts_time() {
                    true => Limit::MachineTime,
                    false => input.account.limit(),
                };
                Account::below(Some(input.account), limit.map(|_| one.slice), of)
            },
            planned: one.clone(),
            is_wanted: Cell::new(true),
        };
        plan.all.iter().map(configuration).collect()
    }

    /// Whether the design runs on fewer machines than the full run has.
    pub(super) fn is_on_fewer(&self) -> bool {
        self.planned.base != self.planned.instance
    }
}

/// How far a configuration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ConfigurationStage {
    #[default]
    Waiting,
    /// Between two batches.
    Idle,
    /// Canaries run, or its machines are being ended.
    Busy,
    /// What canaries used may still be collected.
    Ended,
}

/// How much of a fixed design was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AskedRuns {
    #[default]
    Nothing,
    TheFewest,
    All,
}

/// Canaries that run at once.
pub(super) struct CanaryBatch {
    pub(super) number: usize,
    pub(super) kind: BatchKind,
    pub(super) runs: Vec<CanaryRun>,
    pub(super) earlier: Earlier,
    /// The canaries whose machines are free, by their place.
    pub(super) free: BTreeMap<usize, Measurement>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum BatchKind {
    Fixed,
    /// Of the adaptive design.
    Round,
    /// One canary on a further count of machines.
    Count,
}

/// What is known of a configuration's canaries.
#[derive(Default)]
pub(super) struct ConfigurationState {
    pub(super) stage: ConfigurationStage,
    /// In the order in which they were planned; of those that are late, what is known.
    pub(super) measured: Vec<Measurement>,
    /// Under way.
    pub(super) batch: Option<CanaryBatch>,
    /// Where the first of a batch stands in `measured` of which it is still collected what its canaries used, by number.
    pub(super) late: BTreeMap<usize, usize>,
    pub(super) asked: AskedRuns,
    /// The most that the fewest canaries of a fixed design can cost that no earlier run has measured, where the pull request has a
    /// limit.
    pub(super) worst_of_the_fewest: Usd,
    /// Further counts whose canary was refused.
    pub(super) left_out: Vec<InstanceConfiguration>,
    /// Whether a canary has completed.
    pub(super) is_proved: bool,
    /// Why the adaptive design ended.
    pub(super) done: Option<StopReason>,
    /// Why an alternative is not measured.
    pub(super) why_not: Option<NotMeasured>,
    /// Why nothing more can be run today.
    pub(super) broke_off: Option<Reason>,
    /// Canaries that nobody waits for, and those without money or room.
    pub(super) standing: Vec<(CanaryRun, CanaryFate)>,
    /// The error that the job's own failed with.
    pub(super) failure: Option<AppError>,
    pub(super) ended_pools: Vec<EndedPool>,
    pub(super) notes: Vec<String>,
}

impl ConfigurationState {
    /// Before the first canary. Fails where the history cannot be read.
    pub(super) async fn new(input: &LabInput<'_>, one: &Configuration) -> Result<Self, AppError> {
        Ok(Self {
            stage: match one.planned.runs {
                Ok(_) => ConfigurationStage::Waiting,
                Err(_) => ConfigurationStage::Ended,
            },
            worst_of_the_fewest: worst_of_the_fewest(input, one).await?,
            ..Self::default()
        })
    }

    /// The next canaries, after which so many are to come; `None` where nobody knows that yet.
    pub(super) fn batch(
        &self,
        kind: BatchKind,
        runs: Vec<CanaryRun>,
        to_come: Option<usize>,
    ) -> CanaryBatch {
        CanaryBatch {
            number: 0,
            kind,
            runs,
            earlier: Earlier {
                runs: self.measured.len(),
                to_come,
            },
            free: BTreeMap::new(),
        }
    }

    /// Takes what was measured, from a place on, for what was known of it.
    pub(super) fn revise(&mut self, from: usize, measurements: Vec<Measurement>) {
        let known = &mut self.measured[from..];
        // One whose points could not be had is missing here, and stays as it is known.
        for measured in measurements {
            if let Some(known) = known.iter_mut().find(|known| known.is_same_run(&measured)) {
                *known = measured;
            }
        }
    }
}

/// Nothing is paid for a forecast that cannot be made.
async fn worst_of_the_fewest(input: &LabInput<'_>, one: &Configuration) -> Result<Usd, AppError> {
    let mut worst = Usd(0.0);
    let is_limited = one.account.is_of_pull_request();
    let (true, Ok(PlannedRuns::Fixed(runs))) = (is_limited, &one.planned.runs) else {
        return Ok(worst);
    };
    for run in &runs[..plan::fewest(runs)] {
        if let Some(records) = input.records
            && records.found(run).await?.is_some()
        {
            continue;
        }
        let offer = input.runner.project.offer(&run.instance);
        let of_run = plan::worst_case(std::slice::from_ref(run), &offer);
        // Its machines may be kept after it, which is set aside with it.
        let kept = input.ready.room(&run.instance).keep_alive;
        let kept = offer.cost(kept.unwrap_or_default());
        worst = worst + of_run.unwrap_or_default() + kept.unwrap_or_default();
    }
    // The account takes no more.
    let most = one.account.left().unwrap_or(worst);
    Ok(if worst < most { worst } else { most })
}
