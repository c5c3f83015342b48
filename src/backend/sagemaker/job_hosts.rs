//! The hosts of a training job: which instance group each is of, what its machine has, and what it is given of the data.
//!
//! `algo-1`, `algo-2`, ... are in no order of groups, and no call of AWS says which is which. The probe's line does, or what is left
//! over. A host that neither places has no group.

use crate::canary::CanaryRun;
use crate::grammar::list;
use crate::instance::{Capacity, InstanceConfiguration, InstanceGroup, tables};
use crate::spec::{Channel, Distribution, Job};
use crate::units::Bytes;

/// The hosts of one training job, by number.
#[derive(Debug, Clone)]
pub(super) struct JobHosts<'a> {
    instance: &'a InstanceConfiguration,
    names: &'a [String],
    /// The group of each; `None` where it is not known, and where there are no groups.
    placed: Vec<Option<&'a InstanceGroup>>,
    /// What a host reported that is no group of the configuration.
    of_no_group: Option<String>,
}

/// SageMaker's, of a group; what a host reports is not to be trusted.
const LONGEST_NAME: usize = 64;

impl<'a> JobHosts<'a> {
    /// `said` has the group that the probe of each host named.
    pub(super) fn of(
        instance: &'a InstanceConfiguration,
        names: &'a [String],
        said: &[Option<&str>],
    ) -> Self {
        let groups = instance.groups();
        Self {
            instance,
            names,
            placed: place(groups, said),
            of_no_group: (said.iter().flatten())
                .find(|said| groups.iter().all(|group| group.name != **said))
                .map(|said| said.chars().take(LONGEST_NAME).collect()),
        }
    }

    /// The group of the host at a place.
    pub(super) fn group(&self, host: usize) -> Option<&'a InstanceGroup> {
        *self.placed.get(host)?
    }

    /// What the machine of a host has; `None` where its group or its type is not known.
    pub(super) fn capacity(&self, host: usize) -> Option<Capacity> {
        tables::capacity(match self.instance {
            InstanceConfiguration::Homogeneous { instance_type, .. } => instance_type,
            InstanceConfiguration::Heterogeneous { .. } => &self.group(host)?.instance_type,
        })
    }

    pub(super) fn has_gpus(&self, host: usize) -> bool {
        self.capacity(host)
            .is_some_and(|capacity| capacity.gpus > 0)
    }

    /// A sentence where the group of a host is not known.
    pub(super) fn caution(&self) -> Option<String> {
        if self.instance.groups().is_empty() {
            return None;
        }
        let hosts = self.names.iter().zip(&self.placed);
        let unknown: Vec<String> = hosts
            .filter(|(_, place)| place.is_none())
            .map(|(name, _)| name.clone())
            .collect();
        (!unknown.is_empty()).then(|| {
            let (why, way_out) = match &self.of_no_group {
                None => (
                    "no probe reported it".to_owned(),
                    "where `canary.probe` runs each host reports its group",
                ),
                Some(said) => (
                    format!("a host reported `{said}`, and the spec has no such group"),
                    "compare `groups` of the spec with those of the training job",
                ),
            };
            format!(
                "the instance group of {} is not known: {why}, and SageMaker numbers hosts in no order of groups; CPU and GPU by CloudWatch, which need it, are left out; {way_out}",
                list(&unknown)
            )
        })
    }

    /// The bytes of the sampled channels on each host. Which object SageMaker gives to which host is not said anywhere; they are
    /// taken to be dealt in turn among the hosts of the groups that a channel names. A host without a known group stands in one
    /// of the places that are left, so that the heaviest load is right whichever it is.
    pub(super) fn bytes(&self, job: &Job, run: &CanaryRun) -> Vec<Bytes> {
        let mut bytes = vec![Bytes(0); self.names.len()];
        let mut left = left_over(self.instance.groups(), &self.placed).into_iter();
        let groups = self
            .placed
            .iter()
            .map(|group| group.or_else(|| left.next()));
        let groups = Vec::from_iter(groups);
        for (channel, data) in job.training.channels.iter().zip(&run.channels) {
            if !channel.sample.is_drawn() {
                continue;
            }
            let hosts = groups.iter().enumerate();
            let reached = hosts.filter(|(_, group)| reaches(channel, **group));
            let reached = Vec::from_iter(reached.map(|(host, _)| host));
            match channel.distribution {
                Distribution::FullyReplicated => {
                    let all = data.bytes();
                    for host in reached {
                        bytes[host] = bytes[host] + all;
                    }
                }
                Distribution::ShardedByS3Key => {
                    for (size, host) in data.objects.sizes().zip(reached.iter().cycle()) {
                        bytes[*host] = bytes[*host] + size;
                    }
                }
            }
        }
        bytes
    }
}

/// A cluster without groups has all channels, though they name groups for another configuration.
fn reaches(channel: &Channel, group: Option<&InstanceGroup>) -> bool {
    group.is_none_or(|group| channel.groups.is_empty() || channel.groups.contains(&group.name))
}

/// The groups of the hosts that are not placed, one for each.
fn left_over<'a>(
    groups: &'a [InstanceGroup],
    placed: &[Option<&InstanceGroup>],
) -> Vec<&'a InstanceGroup> {
    let free = groups.iter().flat_map(|group| {
        let slots = (group.count as usize).saturating_sub(hosts_of(group, placed));
        std::iter::repeat_n(group, slots)
    });
    free.collect()
}

fn hosts_of(group: &InstanceGroup, placed: &[Option<&InstanceGroup>]) -> usize {
    let own = placed.iter().flatten().filter(|at| at.name == group.name);
    own.count()
}

fn place<'a>(groups: &'a [InstanceGroup], said: &[Option<&str>]) -> Vec<Option<&'a InstanceGroup>> {
    let named = |name: &str| groups.iter().find(|group| group.name == name);
    let named = Vec::from_iter(said.iter().map(|said| said.and_then(named)));
    // A group that more hosts claim than it has is believed of none.
    let is_true = |group: &&InstanceGroup| hosts_of(group, &named) <= group.count as usize;
    let mut placed = Vec::from_iter(named.iter().map(|group| group.filter(is_true)));
    // Where one group alone has hosts left, they are its own.
    let left = left_over(groups, &placed);
    let unknown = placed.iter().filter(|at| at.is_none()).count();
    if left.len() == unknown
        && let [first, others @ ..] = left.as_slice()
        && others.iter().all(|group| group.name == first.name)
    {
        for at in &mut placed {
            at.get_or_insert(*first);
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "data: 2x ml.c5.xlarge + dnn: 1x ml.g5.xlarge";

    #[test]
    fn a_host_is_of_the_group_that_its_probe_names_or_that_is_left_over() {
        // Groups, what each host's probe named, the groups that are known of it, and what is said where one is not.
        let nobody = "the instance group of algo-1, algo-2 and algo-3 is not known: no probe reported it, and";
        for (instance, said, known, caution) in [
            (GROUPS, ["dnn", "data", "data"], "dnn data data", ""),
            (GROUPS, ["", "dnn", ""], "data dnn data", ""),
            (GROUPS, ["data", "", "data"], "data dnn data", ""),
            (GROUPS, ["", "", ""], "? ? ?", nobody),
            (
                GROUPS,
                ["other", "", ""],
                "? ? ?",
                "a host reported `other`, and the spec has no such group, and",
            ),
            // More hosts than the group has are none of it.
            (GROUPS, ["dnn", "dnn", ""], "? ? ?", "no probe reported it"),
            // Equal machines are in no group of the spec.
            (
                "3x ml.m5.large",
                ["homogeneousCluster", "", ""],
                "? ? ?",
                "",
            ),
        ] {
            let instance = instance.parse().unwrap();
            let names = ["algo-1", "algo-2", "algo-3"].map(str::to_owned);
            let said = said.map(|said| Some(said).filter(|said| !said.is_empty()));
            let hosts = JobHosts::of(&instance, &names, &said);
            let group = |host| hosts.group(host).map_or("?", |group| &group.name);
            assert_eq!([0, 1, 2].map(group).join(" "), known);
            match hosts.caution() {
                None => assert_eq!(caution, ""),
                Some(said) => assert!(!caution.is_empty() && said.contains(caution), "{said}"),
            }
        }
    }

    const SPEC: &str = "\
version: 1
backend: local
jobs:
  sums:
    training:
      command: [sh, train.sh]
      channels:
        train: {uri: data, distribution: ShardedByS3Key, groups: [data]}
        all: {uri: all, groups: [data, dnn]}
        whole: {uri: whole, sample: false, groups: [data, dnn]}
    instance: {groups: {data: 2x local, dnn: 1x local}}
";

    #[test]
    fn a_host_has_the_channels_that_reach_its_group() {
        use crate::canary::{ChannelData, DataObject, Objects};
        use crate::units::Fraction;
        let source = crate::spec::SpecSource {
            name: "canary-gate.yml",
            bytes: SPEC.as_bytes(),
        };
        let job = crate::spec::read(source, &[]).unwrap().jobs.remove(0);
        let channel = |name: &str, sampled, sizes: &[u64]| {
            let object = |bytes: &u64| DataObject {
                key: format!("{bytes}"),
                bytes: Bytes(*bytes),
            };
            ChannelData::new(name, sampled, sizes.iter().map(object).collect::<Objects>())
        };
        let run = CanaryRun {
            job: "sums".to_owned(),
            instance: GROUPS.parse().unwrap(),
            fraction: Fraction(0.1),
            share: None,
            work: None,
            replicate: 0,
            channels: vec![
                channel("train", true, &[1, 20, 300]),
                channel("all", true, &[4000]),
                channel("whole", false, &[50_000]),
            ],
            objects: 4,
            objects_total: 40,
            bytes: Bytes(4321),
            bytes_total: Bytes(43_210),
            max_runtime: None,
        };
        let of = |instance: &str, said: &[Option<&str>]| {
            let instance = instance.parse().unwrap();
            let names = vec![String::new(); said.len()];
            let bytes = JobHosts::of(&instance, &names, said).bytes(&job, &run);
            Vec::from_iter(bytes.into_iter().map(|Bytes(bytes)| bytes))
        };
        let known = [Some("data"), Some("dnn"), Some("data")];
        assert_eq!(of(GROUPS, &known), [4301, 4000, 4020]);
        // Whichever is which, the heaviest load stays.
        assert_eq!(of(GROUPS, &[None, None, None]), [4301, 4020, 4000]);
        assert_eq!(of("2x ml.m5.large", &[None, None]), [4301, 4020]);
    }
}
