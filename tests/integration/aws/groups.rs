//! Instance groups: the hosts of a job, which are in no order of groups, and what the service refuses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::fault::Refusal;
use super::job::Job;

/// SageMaker's name for the one group of machines of one type.
const ONE_GROUP: &str = "homogeneousCluster";

/// Equal machines of a job.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) instance_type: String,
    pub(crate) count: usize,
}

/// The groups of a request's resources, in its order; one where it has none.
pub(super) fn of(resources: &Value) -> Vec<Group> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let count = |value: &Value| {
        let count = value.as_u64().unwrap_or(1);
        usize::try_from(count).expect("a few machines")
    };
    match resources["InstanceGroups"].as_array() {
        Some(groups) => (groups.iter())
            .map(|group| Group {
                name: text(&group["InstanceGroupName"]),
                instance_type: text(&group["InstanceType"]),
                count: count(&group["InstanceCount"]),
            })
            .collect(),
        None => vec![Group {
            name: ONE_GROUP.to_owned(),
            instance_type: text(&resources["InstanceType"]),
            count: count(&resources["InstanceCount"]),
        }],
    }
}

/// How many machines of each type a request asks for.
pub(super) fn machines(input: &Value) -> BTreeMap<String, u64> {
    let mut machines = BTreeMap::new();
    for group in of(&input["ResourceConfig"]) {
        *machines.entry(group.instance_type).or_default() += super::size(group.count);
    }
    machines
}

impl Job {
    pub(crate) fn groups(&self) -> Vec<Group> {
        of(&self.input["ResourceConfig"])
    }

    /// The group of a host. From job to job another host is of the first group.
    pub(crate) fn group_of(&self, host: &str) -> Option<Group> {
        let groups = self.groups();
        let mut slots: Vec<&Group> = groups
            .iter()
            .flat_map(|group| std::iter::repeat_n(group, group.count))
            .collect();
        let turn = self.number % slots.len().max(1);
        slots.rotate_left(turn);
        let number: usize = host.strip_prefix("algo-")?.parse().ok()?;
        slots
            .get(number.checked_sub(1)?)
            .map(|group| (*group).clone())
    }

    /// The hosts of a group, sorted as strings.
    pub(super) fn hosts_of(&self, group: &str) -> Vec<String> {
        let mut hosts = self.hosts();
        hosts.retain(|host| self.group_of(host).is_some_and(|own| own.name == group));
        hosts.sort();
        hosts
    }

    /// How many machines of a type it has.
    pub(super) fn machines_of(&self, instance_type: &str) -> u64 {
        let machines = machines(&self.input);
        machines.get(instance_type).copied().unwrap_or(0)
    }
}

/// The files of `resourceconfig.json` that tell a host who it is.
pub(super) fn resource_config(job: &Job, host: &str) -> Value {
    let own = job.group_of(host).expect("a host of the job");
    let mut hosts = job.hosts();
    hosts.sort();
    let groups = job.groups().into_iter().map(|group| {
        json!({
            "hosts": job.hosts_of(&group.name),
            "instance_group_name": group.name,
            "instance_type": group.instance_type,
        })
    });
    json!({
        "current_group_name": own.name,
        "current_host": host,
        "current_instance_group": own.name,
        "current_instance_type": own.instance_type,
        "hosts": hosts,
        "instance_groups": groups.collect::<Vec<_>>(),
        "network_interface_name": "eth0",
    })
}

/// What SageMaker refuses of groups.
pub(super) fn check(input: &Value) -> Result<(), Refusal> {
    let resources = &input["ResourceConfig"];
    let named_by_channels = channels(input)?;
    if !resources["InstanceGroups"].is_array() {
        return match named_by_channels.first() {
            None => Ok(()),
            Some(name) => Err(Refusal::validation(format!(
                "InstanceGroupNames [{name}] cannot be specified without InstanceGroups"
            ))),
        };
    }
    if !resources["InstanceType"].is_null() || !resources["InstanceCount"].is_null() {
        return Err(Refusal::validation(
            "InstanceType or InstanceCount cannot be specified with InstanceGroups",
        ));
    }
    let names: Vec<String> = of(resources).into_iter().map(|group| group.name).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    if distinct.len() < names.len() {
        return Err(Refusal::validation(format!(
            "InstanceGroupName must be unique among InstanceGroups: [{}]",
            names.join(", ")
        )));
    }
    if input["EnableManagedSpotTraining"] == true {
        return Err(Refusal::validation(
            "EnableManagedSpotTraining cannot be specified with InstanceGroups",
        ));
    }
    match named_by_channels.iter().find(|name| !names.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Refusal::validation(format!(
            "Instance group {name} of InputDataConfig is not among InstanceGroups [{}]",
            names.join(", ")
        ))),
    }
}

/// The groups that channels name; all channels do, or none.
fn channels(input: &Value) -> Result<Vec<String>, Refusal> {
    let channels = input["InputDataConfig"].as_array().into_iter().flatten();
    let (mut with, mut without, mut named) = (Vec::new(), Vec::new(), Vec::new());
    for channel in channels {
        let name = channel["ChannelName"].as_str().unwrap_or_default();
        match channel["DataSource"]["S3DataSource"]["InstanceGroupNames"].as_array() {
            Some(groups) if !groups.is_empty() => {
                with.push(name);
                named.extend(groups.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => without.push(name),
        }
    }
    if !with.is_empty() && !without.is_empty() {
        return Err(Refusal::validation(format!(
            "Some channels have assigned instance groups: [{}] while others not: [{}]",
            with.join(", "),
            without.join(", ")
        )));
    }
    Ok(named)
}
