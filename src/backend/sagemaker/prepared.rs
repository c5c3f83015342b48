//! What is known of a job once its preflight is over.

use std::collections::{BTreeMap, BTreeSet};

use super::metrics::probe;
use super::quota;
use super::request::{Input, Script};
use crate::canary::Key;
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::plan::MachineQuotas;
use crate::spec::Channel;

/// A job whose preflight is over.
#[derive(Debug, Clone)]
pub(super) struct PreparedJob {
    pub(super) code: Key,
    pub(super) data: Key,
    /// In script mode.
    pub(super) script: Option<Script>,
    /// The files of the source as they are, where the job takes them on a channel.
    pub(super) source: Option<Box<Channel>>,
    pub(super) probe: ProbeWay,
    /// Whether the spec asks for a probe that cannot be sent.
    pub(super) lacks_probe: bool,
    /// FastFile channels with an object that S3 does not copy: all canaries read them in File mode.
    pub(super) too_large_to_copy: BTreeSet<String>,
    /// How many canaries at a time the quota allows, by instance type; absent where the quota is unknown.
    pub(super) quotas: BTreeMap<InstanceType, u32>,
    /// How many machines of a type may be kept in warm pools; absent where the quota is unknown.
    pub(super) pool_quotas: BTreeMap<InstanceType, u32>,
}

/// How the probe gets into the container.
#[derive(Debug, Clone)]
pub(super) enum ProbeWay {
    None,
    /// Beside the source.
    Source {
        /// The user's own.
        entry_point: String,
        /// Whether the image installs packages before it starts that.
        has_requirements: bool,
    },
    /// Through a channel, around a plain image's command.
    Channel {
        channel: Box<Channel>,
        command: probe::ContainerCommand,
    },
}

impl PreparedJob {
    /// How many canaries of a configuration run at a time; at least 1.
    pub(super) fn at_once(&self, instance: &InstanceConfiguration, parallel: u32) -> u32 {
        instance
            .single_type()
            .and_then(|kind| self.quotas.get(kind))
            .map_or(parallel, |limit| {
                quota::at_once(*limit, instance.total_count(), parallel)
            })
            .max(1)
    }

    /// The quota of a configuration's type; `None` where it is not known.
    pub(super) fn quota_of(&self, instance: &InstanceConfiguration) -> Option<u32> {
        self.quotas.get(instance.single_type()?).copied()
    }

    /// Whether one canary of a configuration fits into its quota, as far as that is known.
    pub(super) fn has_quota(&self, instance: &InstanceConfiguration) -> bool {
        instance
            .single_type()
            .and_then(|kind| self.quotas.get(kind))
            .is_none_or(|limit| quota::at_once(*limit, instance.total_count(), 1) > 0)
    }

    /// How many machines of a type the account may use, as far as that is known.
    pub(super) fn machine_quotas(&self, kind: &InstanceType) -> MachineQuotas {
        MachineQuotas {
            training: self.quotas.get(kind).copied(),
            warm_pool: self.pool_quotas.get(kind).copied(),
        }
    }

    pub(super) fn is_too_large_to_copy(&self, channel: &Channel) -> bool {
        self.too_large_to_copy.contains(&channel.name)
    }

    /// The variables of a canary with a probe, and what its container starts in place of its own entry point.
    pub(super) fn probe_parts(&self) -> (Vec<(String, String)>, Option<&probe::ContainerCommand>) {
        match &self.probe {
            ProbeWay::None => (Vec::new(), None),
            ProbeWay::Source { entry_point, .. } => {
                (probe::environment(&mark(), Some(entry_point)), None)
            }
            ProbeWay::Channel { command, .. } => (probe::environment(&mark(), None), Some(command)),
        }
    }

    /// The channel that brings the source.
    pub(super) fn source_input(&self) -> Option<Input<'_>> {
        self.source.as_deref().map(Input::whole)
    }

    /// The channel that brings the probe.
    pub(super) fn probe_input(&self) -> Option<Input<'_>> {
        match &self.probe {
            ProbeWay::Channel { channel, .. } => Some(Input::whole(channel)),
            _ => None,
        }
    }
}

/// Not to be guessed by a script before it runs.
fn mark() -> String {
    use std::hash::{BuildHasher, Hasher};
    // Keyed by the system's own randomness, another each time.
    let half = || std::hash::RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}
