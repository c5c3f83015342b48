//! What became of the machines of a job that asked for a managed warm pool.

use aws_sdk_sagemaker::types::{self, WarmPoolResourceStatus};

use crate::units::Seconds;

/// A pool as the description of its last job shows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PoolStatus {
    /// Absent where the answer has none.
    status: Option<WarmPoolResourceStatus>,
    /// The job that has the machines; absent without one.
    pub(super) reused_by: Option<String>,
    /// For how long the machines were kept, each of them, and billed.
    pub(super) retained: Seconds,
}

impl PoolStatus {
    pub(super) fn of(pool: &types::WarmPoolStatus) -> Self {
        let retained = pool.resource_retained_billable_time_in_seconds();
        Self {
            status: pool.status().cloned(),
            reused_by: pool.reused_by_job().map(str::to_owned),
            retained: Seconds(f64::from(retained.unwrap_or(0).max(0))),
        }
    }

    /// Whether the machines are kept, billed, and free for the next job.
    pub(super) fn is_free(&self) -> bool {
        self.status == Some(WarmPoolResourceStatus::Available)
    }

    /// Whether it shows what became of the machines: the job has them no more, and they are not being made ready.
    pub(super) fn is_settled(&self) -> bool {
        self.is_free() || !self.is_open()
    }

    /// Whether the machines may still be kept, and billed; also where its status is not known here.
    pub(super) fn is_open(&self) -> bool {
        !matches!(
            self.status,
            Some(WarmPoolResourceStatus::Reused | WarmPoolResourceStatus::Terminated)
        )
    }
}
