//! The warm pools that a plan's canaries run in.

use super::PlannedAlternative;
use crate::instance::{InstanceConfiguration, Offer};
use crate::spec::{Job, WarmPoolPolicy};
use crate::units::{Seconds, Usd, count_as_float};

/// Machines that are kept from one canary of a configuration to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmPool {
    /// Never of groups.
    pub instance: InstanceConfiguration,
    /// From 1 second to an hour.
    pub keep_alive: Seconds,
    /// How many canaries run at once, each on machines of its own; at least 1.
    pub lanes: u32,
}

/// What machines may cost that are kept after each of so many runs.
pub(super) fn longest_idle(job: &Job, runs: usize, offer: &Offer) -> Usd {
    match job.canary.warm_pool {
        WarmPoolPolicy::KeepAlive(keep_alive) => offer
            .cost(keep_alive * count_as_float(runs))
            .unwrap_or_default(),
        WarmPoolPolicy::Auto | WarmPoolPolicy::Off => Usd(0.0),
    }
}

/// The pools that the spec asks for by a time: one lane for each configuration that is measured.
pub(super) fn pools(job: &Job, alternatives: &[PlannedAlternative]) -> Vec<WarmPool> {
    let WarmPoolPolicy::KeepAlive(keep_alive) = job.canary.warm_pool else {
        return Vec::new();
    };
    let measured = alternatives
        .iter()
        .filter(|alternative| alternative.runs.is_ok())
        .map(|alternative| &alternative.instance);
    [&job.instance]
        .into_iter()
        .chain(measured)
        .filter(|instance| {
            matches!(instance, InstanceConfiguration::Homogeneous { .. }) && !instance.is_local()
        })
        .map(|instance| WarmPool {
            instance: instance.clone(),
            keep_alive,
            lanes: 1,
        })
        .collect()
}
