//! The warm pools that a plan's canaries run in.

use super::lanes::{ConfigurationRuns, Lanes};
use crate::instance::InstanceConfiguration;
use crate::units::Seconds;

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

/// The pools of the chosen lanes.
pub(super) fn pools(all: &[ConfigurationRuns], chosen: &[Lanes]) -> Vec<WarmPool> {
    let pool = |(one, lanes): (&ConfigurationRuns, &Lanes)| {
        Some(WarmPool {
            instance: one.instance.clone(),
            keep_alive: lanes.keep_alive?,
            lanes: lanes.count,
        })
    };
    all.iter().zip(chosen).filter_map(pool).collect()
}
