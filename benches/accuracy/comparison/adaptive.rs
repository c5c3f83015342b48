//! Which recorded runs an adaptive gate takes as its canaries.

use canary_gate::measurement::Measurement;
use canary_gate::units::Seconds;

use super::workload::Workload;

/// The canaries of one workload, in the order in which they were run.
pub(crate) struct AdaptiveResult {
    pub(crate) canaries: Vec<Measurement>,
}

impl AdaptiveResult {
    /// What they took together.
    pub(crate) fn seconds(&self) -> f64 {
        let times = self.canaries.iter().filter_map(|run| run.training_seconds);
        times.map(|Seconds(seconds)| seconds).sum()
    }
}

/// Two runs at the smallest size, and then the largest one that leaves nothing over `budget_seconds`.
///
/// Each recorded run is used once.
pub(crate) fn adaptive(workload: &Workload, budget_seconds: f64) -> AdaptiveResult {
    let (first, others) = workload
        .partial
        .split_at_checked(2)
        .unwrap_or((&workload.partial, &[]));
    let left = budget_seconds - first.iter().map(|run| run.seconds).sum::<f64>();
    let largest = others.iter().rev().find(|run| run.seconds <= left);
    AdaptiveResult {
        canaries: first
            .iter()
            .chain(largest)
            .map(|run| run.measurement.clone())
            .collect(),
    }
}
