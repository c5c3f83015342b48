//! What is known of a job once its preflight is over.

use std::collections::BTreeMap;

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
        self.of_quotas(instance, parallel).max(1)
    }

    /// How many canaries of a configuration the quotas of all its types have room for, at most so many.
    fn of_quotas(&self, instance: &InstanceConfiguration, most: u32) -> u32 {
        let machines = instance.machines_by_type().into_iter();
        let at_once = machines.filter_map(|(kind, count)| {
            let limit = self.quotas.get(kind)?;
            Some(quota::at_once(*limit, count, most))
        });
        at_once.min().unwrap_or(most)
    }

    /// Whether one canary of a configuration fits into its quotas, as far as they are known.
    pub(super) fn has_quota(&self, instance: &InstanceConfiguration) -> bool {
        self.of_quotas(instance, 1) > 0
    }

    /// How many machines of a type the account may use, as far as that is known.
    pub(super) fn machine_quotas(&self, kind: &InstanceType) -> MachineQuotas {
        MachineQuotas {
            training: self.quotas.get(kind).copied(),
            warm_pool: self.pool_quotas.get(kind).copied(),
        }
    }

    /// The variables of a canary with a probe, and what its container starts in place of its own entry point.
    pub(super) fn probe_parts(
        &self,
        instance: &InstanceConfiguration,
    ) -> (Vec<(String, String)>, Option<&probe::ContainerCommand>) {
        match &self.probe {
            ProbeWay::None => (Vec::new(), None),
            ProbeWay::Source { entry_point, .. } => {
                let script = instance.entry_point().unwrap_or(entry_point);
                (probe::environment(&mark(), Some(script)), None)
            }
            ProbeWay::Channel { command, .. } => (probe::environment(&mark(), None), Some(command)),
        }
    }

    /// The script of a configuration: groups may have one of their own, which the probe starts where it is started itself.
    pub(super) fn script_on(&self, instance: &InstanceConfiguration) -> Option<Script> {
        let script = self.script.clone()?;
        let own = instance.entry_point();
        Some(
            match own.filter(|_| !matches!(self.probe, ProbeWay::Source { .. })) {
                Some(own) => Script {
                    program: own.to_owned(),
                    ..script
                },
                None => script,
            },
        )
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
