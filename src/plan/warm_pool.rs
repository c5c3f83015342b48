//! The warm pools that a plan's canaries run in.

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

/// What machines may cost that are kept after each of so many runs, where the spec asks for that.
pub(super) fn longest_idle(
    job: &Job,
    instance: &InstanceConfiguration,
    runs: usize,
    offer: &Offer,
) -> Usd {
    let is_kept = matches!(instance, InstanceConfiguration::Homogeneous { .. });
    match job.canary.warm_pool {
        WarmPoolPolicy::KeepAlive(keep_alive) if is_kept => offer
            .cost(keep_alive * count_as_float(runs))
            .unwrap_or_default(),
        _ => Usd(0.0),
    }
}
