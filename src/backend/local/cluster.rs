//! The hosts of one run: their names, their groups, and what each gets of the data.

use std::iter::repeat_n;

use crate::canary::ChannelData;
use crate::grammar::only_where;
use crate::instance::InstanceConfiguration;
use crate::spec::{Channel, Job};

/// SageMaker's name for the one group of a homogeneous cluster.
const ONE_GROUP: &str = "homogeneousCluster";

/// The hosts of a run, and the groups that they form.
#[derive(Debug)]
pub(super) struct Cluster<'a> {
    /// Sorted by name as strings, as SageMaker lists them: algo-10 before algo-2.
    pub(super) hosts: Vec<ClusterHost<'a>>,
    /// The names, in the order of the spec; one where the configuration has none.
    pub(super) groups: Vec<String>,
    /// Whether the spec names its groups.
    pub(super) has_named_groups: bool,
    /// The script that starts all groups, where it is not the job's own.
    pub(super) entry_point: Option<String>,
}

#[derive(Debug)]
pub(super) struct ClusterHost<'a> {
    /// `algo-1`, `algo-2`, ...
    pub(super) name: String,
    pub(super) group: String,
    /// Its name for a sentence, `algo-2 of group data`; empty for a single host.
    pub(super) label: String,
    /// The channels that reach it, with its share of each.
    pub(super) channels: Vec<ChannelShare<'a>>,
}

/// What one host gets of a channel.
#[derive(Debug)]
pub(super) struct ChannelShare<'a> {
    pub(super) channel: &'a Channel,
    pub(super) data: ChannelData,
}

impl<'a> Cluster<'a> {
    /// Its hosts have no data yet.
    pub(super) fn of(configuration: &InstanceConfiguration) -> Self {
        let groups = configuration.groups().iter();
        let mut counts = Vec::from_iter(groups.map(|group| (group.name.as_str(), group.count)));
        let has_named_groups = !counts.is_empty();
        if !has_named_groups {
            counts.push((ONE_GROUP, configuration.total_count()));
        }
        let is_single = configuration.total_count() == 1;
        // SageMaker promises no order, so none is offered: the last group comes first. A script that counts on an order of groups fails
        // here as it may there.
        let groups = counts.iter().rev();
        let groups = groups.flat_map(|(name, count)| repeat_n(*name, *count as usize));
        let mut hosts: Vec<ClusterHost<'a>> = (1_u32..)
            .zip(groups)
            .map(|(number, group)| ClusterHost {
                name: format!("algo-{number}"),
                group: group.to_owned(),
                label: match has_named_groups {
                    _ if is_single => String::new(),
                    true => format!("algo-{number} of group {group}"),
                    false => format!("algo-{number}"),
                },
                channels: Vec::new(),
            })
            .collect();
        hosts.sort_by(|one, other| one.name.cmp(&other.name));
        let groups = counts.iter().map(|(name, _)| (*name).to_owned());
        Self {
            groups: groups.collect(),
            hosts,
            has_named_groups,
            entry_point: configuration.entry_point().map(str::to_owned),
        }
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.hosts.iter().map(|host| host.name.as_str()).collect()
    }

    /// The names of a group's hosts, sorted as strings.
    pub(super) fn members(&self, group: &str) -> Vec<&str> {
        let members = self.hosts.iter().filter(|host| host.group == group);
        members.map(|host| host.name.as_str()).collect()
    }

    /// Gives each host what it gets of the channels that reach its group: everything, or its share of whole objects in turn.
    /// `data` are those of a run, in the order of the spec.
    pub(super) fn with_data(mut self, job: &'a Job, data: &[ChannelData]) -> Self {
        for (channel, data) in job.training.channels.iter().zip(data) {
            // A cluster without groups has all channels, though they name groups for another configuration.
            let reaches_all = channel.groups.is_empty() || !self.has_named_groups;
            let reached = self.hosts.iter_mut();
            let reached =
                reached.filter(|host| reaches_all || channel.groups.contains(&host.group));
            let reached = Vec::from_iter(reached);
            let count = reached.len();
            for (place, host) in reached.into_iter().enumerate() {
                let data = data.on_host(channel.distribution, place, count);
                host.channels.push(ChannelShare { channel, data });
            }
        }
        self
    }
}

impl ClusterHost<'_> {
    /// The words before what one of several hosts says; none for a single one.
    pub(super) fn prefix(&self, end: &str) -> String {
        only_where(!self.label.is_empty(), || format!("{}{end}", self.label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(configuration: &str) -> Cluster<'static> {
        Cluster::of(&configuration.parse().unwrap())
    }

    #[test]
    fn hosts_are_numbered_in_no_order_of_groups() {
        let cluster = cluster("data: 2x local + dnn: 1x local + eval: 1x local");
        let hosts: Vec<_> = cluster.hosts.iter().map(|host| &host.label).collect();
        assert_eq!(
            hosts,
            [
                "algo-1 of group eval",
                "algo-2 of group dnn",
                "algo-3 of group data",
                "algo-4 of group data"
            ]
        );
        let groups: Vec<_> = cluster
            .groups
            .iter()
            .map(|group| cluster.members(group).join(" "))
            .collect();
        assert_eq!(groups, ["algo-3 algo-4", "algo-2", "algo-1"]);
    }

    #[test]
    fn equal_machines_are_one_group_without_a_name_of_the_spec() {
        let cluster = cluster("11x local");
        assert_eq!(cluster.names()[..3], ["algo-1", "algo-10", "algo-11"]);
        assert_eq!(cluster.groups, ["homogeneousCluster"]);
        assert_eq!(cluster.hosts[1].label, "algo-10");
    }
}
