//! Trying a canary again that SageMaker itself broke off, or had no machine for.

use super::adoption;
use super::description::{JobDescription, JobState};
use super::failure::FailureClass;
use super::find::Found;
use crate::canary::CanaryRun;
use crate::units::Seconds;

/// How often SageMaker's own error is answered by another attempt.
const MOST_RETRIES: u32 = 1;
/// A machine that did not come for so long will hardly come at once.
const LONGEST_WAIT: Seconds = Seconds(1800.0);
/// A try with less time than this left is not worth its start.
const SHORTEST_TRY: Seconds = Seconds(60.0);

/// The tries at one canary, and what those that SageMaker broke off have taken.
#[derive(Debug, Clone)]
pub(super) struct Retries {
    limit: Option<Seconds>,
    tries: u32,
    /// Billed for tries that gave nothing.
    pub(super) lost: Seconds,
}

impl Retries {
    pub(super) fn of(run: &CanaryRun) -> Self {
        Self {
            limit: run.max_runtime,
            tries: 0,
            lost: Seconds(0.0),
        }
    }

    /// Whether to try again after this end: only after an error of SageMaker's own or where it had no machine, and within the time that was set aside for
    /// the canary.
    pub(super) fn try_again(&mut self, found: &Found, ended: &JobDescription) -> bool {
        let JobState::Failed {
            reason: Some(reason),
        } = &ended.state
        else {
            return false;
        };
        let class = FailureClass::of(reason);
        // What has waited for an hour is not asked for again.
        let now = jiff::Timestamp::now();
        let has_waited =
            (ended.created_at).is_none_or(|created| adoption::age(created, now) >= LONGEST_WAIT);
        let may_pass = match class {
            FailureClass::Internal => true,
            FailureClass::Capacity => !has_waited,
            _ => false,
        };
        if !found.is_new || !may_pass {
            return false;
        }
        let lost = self.lost + ended.billable_seconds.unwrap_or(Seconds(0.0));
        let is_worth_it = self
            .limit
            .is_none_or(|limit| limit.0 - lost.0 >= SHORTEST_TRY.0);
        if self.tries >= MOST_RETRIES || !is_worth_it {
            return false;
        }
        self.tries += 1;
        self.lost = lost;
        true
    }

    /// The run with what is left of its time.
    pub(super) fn shortened(&self, run: &CanaryRun) -> CanaryRun {
        CanaryRun {
            max_runtime: run
                .max_runtime
                .map(|limit| Seconds((limit.0 - self.lost.0).max(1.0))),
            ..run.clone()
        }
    }
}
