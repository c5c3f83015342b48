//! A training job that was paid and gives no result: its bill all the same.

use super::collect::Collected;
use super::description::{JobDescription, JobState};
use super::find::Found;
use super::result;
use super::retries::Retries;
use crate::canary::CanaryRun;
use crate::measurement::{Measurement, Outcome};

/// The newest training job of a canary under way.
pub(super) struct LastJob {
    pub(super) found: Found,
    /// Absent while it is not over, and where it was lost.
    pub(super) ended: Option<Box<JobDescription>>,
    /// What was billed for the tries before it.
    pub(super) retries: Retries,
}

impl LastJob {
    /// What is known of its bill; `None` where another run pays for it, or nothing was billed.
    pub(super) fn without_result(&self, run: &CanaryRun) -> Option<Measurement> {
        if !self.found.is_own {
            return None;
        }
        let Some(description) = &self.ended else {
            return Some(result::without_bill(run, &self.found));
        };
        let has_failed = matches!(description.state, JobState::Failed { .. });
        let has_bill = description.started_at.is_some() || description.billable_seconds.is_some();
        if has_failed && !has_bill && self.retries.lost.0 <= 0.0 {
            return None;
        }
        Some(result::measurement(
            run,
            &self.found,
            description,
            Outcome::Stopped,
            Collected::default(),
            &self.retries,
            jiff::Timestamp::now(),
        ))
    }
}
