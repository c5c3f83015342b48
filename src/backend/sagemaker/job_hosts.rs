//! The hosts of a training job: which instance group each is of, what its machine has, and what it is given of the data.
//!
//! `algo-1`, `algo-2`, ... are in no order of groups, and no call of AWS says which is which. The probe's line does, or what is left
//! over. A host that neither places has no group.

use super::metrics::{Host, Sources};
use crate::canary::CanaryRun;
use crate::grammar::list;
use crate::instance::{InstanceConfiguration, InstanceGroup, tables};
use crate::spec::{Channel, Job};
use crate::units::Bytes;

/// The hosts of one training job, by number, without what they used, and a sentence where the group of one is not known. `said` has the
/// group that the probe of each named.
pub(super) fn place(
    job: &Job,
    run: &CanaryRun,
    names: &[String],
    said: &[Option<&str>],
) -> (Vec<Host>, Option<String>) {
    let groups = run.instance.groups();
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
    let kind = |group: Option<&'_ InstanceGroup>| match &run.instance {
        InstanceConfiguration::Homogeneous(instance_type, _) => tables::capacity(instance_type),
        InstanceConfiguration::Heterogeneous { .. } => tables::capacity(&group?.instance_type),
    };
    let hosts = names.iter().zip(&placed).zip(bytes(job, run, &placed));
    let hosts = hosts.map(|((name, group), bytes)| Host {
        name: name.clone(),
        group: group.map(|group| group.name.clone()),
        capacity: kind(*group),
        bytes,
        sources: Sources::default(),
    });
    let hosts = Vec::from_iter(hosts);
    let unknown = hosts.iter().filter(|host| host.group.is_none());
    let unknown = Vec::from_iter(unknown.map(|host| &host.name));
    let is_unknown = !groups.is_empty() && !unknown.is_empty();
    let caution = is_unknown.then(|| {
        format!(
            "the instance group of {} is not known: no probe reported one of the spec's, and SageMaker numbers hosts in no order of groups; CPU and GPU by CloudWatch, which need it, are left out; where `canary.probe` runs each host reports its group",
            list(&unknown)
        )
    });
    (hosts, caution)
}

/// The bytes of the sampled channels on each host. Which object SageMaker gives to which host is not said anywhere; they are
/// taken to be dealt in turn among the hosts of the groups that a channel names. A host without a known group stands in one
/// of the places that are left, so that the heaviest load is right whichever it is.
fn bytes(job: &Job, run: &CanaryRun, placed: &[Option<&InstanceGroup>]) -> Vec<Bytes> {
    let mut bytes = vec![Bytes(0); placed.len()];
    let mut left = left_over(run.instance.groups(), placed).into_iter();
    let groups = placed.iter().map(|group| group.or_else(|| left.next()));
    let groups = Vec::from_iter(groups);
    for (channel, data) in job.training.channels.iter().zip(&run.channels) {
        if !channel.sample.is_drawn() {
            continue;
        }
        let hosts = groups.iter().enumerate();
        let reached = hosts.filter(|(_, group)| reaches(channel, **group));
        let reached = Vec::from_iter(reached.map(|(host, _)| host));
        for (place, host) in reached.iter().enumerate() {
            let own = data.on_host(channel.distribution, place, reached.len());
            bytes[*host] = bytes[*host] + own.bytes();
        }
    }
    bytes
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

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "data: 2x ml.c5.xlarge + dnn: 1x ml.g5.xlarge";

    #[test]
    fn a_host_is_of_the_group_that_its_probe_names_or_that_is_left_over() {
        // Groups, what each host's probe named, the groups that are known of it, and what is said where one is not.
        let nobody = "the instance group of algo-1, algo-2 and algo-3 is not known: no probe";
        for (instance, said, known, caution) in [
            (GROUPS, ["dnn", "data", "data"], "dnn data data", ""),
            (GROUPS, ["", "dnn", ""], "data dnn data", ""),
            (GROUPS, ["data", "", "data"], "data dnn data", ""),
            (GROUPS, ["", "", ""], "? ? ?", nobody),
            (GROUPS, ["other", "", ""], "? ? ?", nobody),
            // More hosts than the group has are none of it.
            (GROUPS, ["dnn", "dnn", ""], "? ? ?", nobody),
            // Equal machines are in no group of the spec.
            (
                "3x ml.m5.large",
                ["homogeneousCluster", "", ""],
                "? ? ?",
                "",
            ),
        ] {
            let said = said.map(|said| Some(said).filter(|said| !said.is_empty()));
            let (hosts, said) = placed(instance, &said);
            let group = |host: &Host| host.group.clone().unwrap_or_else(|| "?".to_owned());
            assert_eq!(Vec::from_iter(hosts.iter().map(group)).join(" "), known);
            match said {
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

    /// The hosts of a canary on these machines, whose probes named these groups.
    fn placed(instance: &str, said: &[Option<&str>]) -> (Vec<Host>, Option<String>) {
        use crate::canary::{ChannelData, DataObject, Objects};
        use crate::units::Fraction;
        let job = crate::spec::read("canary-gate.yml", SPEC.as_bytes(), &[])
            .unwrap()
            .jobs
            .remove(0);
        let channel = |name: &str, sampled, sizes: &[u64]| {
            let object = |bytes: &u64| DataObject {
                key: format!("{bytes}"),
                bytes: Bytes(*bytes),
            };
            let objects: Objects = sizes.iter().map(object).collect();
            ChannelData {
                always: objects.select([3]),
                ..ChannelData::new(name, sampled, objects)
            }
        };
        let run = CanaryRun {
            job: "sums".to_owned(),
            instance: instance.parse().unwrap(),
            fraction: Fraction(0.1),
            share: None,
            work: None,
            replicate: 0,
            channels: vec![
                // Every canary gets the last.
                channel("train", true, &[1, 20, 300, 7_000_000]),
                channel("all", true, &[4000]),
                channel("whole", false, &[50_000]),
            ],
            objects: 4,
            objects_total: 40,
            bytes: Bytes(4321),
            bytes_total: Bytes(43_210),
            max_runtime: None,
            ends_early: false,
        };
        let names = (1..=said.len()).map(|number| format!("algo-{number}"));
        place(&job, &run, &Vec::from_iter(names), said)
    }

    #[test]
    fn a_host_has_the_channels_that_reach_its_group() {
        let of = |instance: &str, said: &[Option<&str>]| {
            let (hosts, _) = placed(instance, said);
            Vec::from_iter(hosts.into_iter().map(|host| host.bytes.0))
        };
        let known = [Some("data"), Some("dnn"), Some("data")];
        assert_eq!(of(GROUPS, &known), [4301, 4000, 4020]);
        // Whichever is which, the heaviest load stays.
        assert_eq!(of(GROUPS, &[None, None, None]), [4301, 4020, 4000]);
        assert_eq!(of("2x ml.m5.large", &[None, None]), [4301, 4020]);
    }
}
