//! Managed warm pools, what needs no call: which jobs may share machines, and what became of a job's machines.

use std::collections::BTreeSet;

use aws_sdk_sagemaker::operation::create_training_job::builders::CreateTrainingJobInputBuilder;
use aws_sdk_sagemaker::types;

use crate::units::Seconds;

/// What two jobs must have in common for the second to run on the machines of the first; image, data and hyperparameters may
/// differ.
/// <https://docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools.html#train-warm-pools-matching-criteria>
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MatchKey {
    role: Option<String>,
    /// Without the time for which machines are kept.
    resources: Option<types::ResourceConfig>,
    /// Subnets and security groups.
    network: Option<[BTreeSet<String>; 2]>,
    is_encrypted: bool,
    is_isolated: bool,
    /// The keys of the tags that a session is chained by; `None` where none is.
    chained_tags: Option<BTreeSet<String>>,
}

impl MatchKey {
    pub(super) fn of(request: &CreateTrainingJobInputBuilder) -> Self {
        let set = |texts: &[String]| texts.iter().cloned().collect();
        let mut resources = request.get_resource_config().clone();
        if let Some(resources) = &mut resources {
            resources.keep_alive_period_in_seconds = None;
        }
        let chaining = request.get_session_chaining_config().as_ref();
        let is_chained = chaining.and_then(|chaining| chaining.enable_session_tag_chaining());
        let tags = request.get_tags().iter().flatten();
        Self {
            role: request.get_role_arn().clone(),
            resources,
            network: (request.get_vpc_config().as_ref())
                .map(|network| [set(network.subnets()), set(network.security_group_ids())]),
            is_encrypted: request.get_enable_inter_container_traffic_encryption() == &Some(true),
            is_isolated: request.get_enable_network_isolation() == &Some(true),
            chained_tags: (is_chained == Some(true)).then(|| {
                tags.filter_map(|tag| tag.key().map(str::to_owned))
                    .collect()
            }),
        }
    }
}

/// What became of a job's machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PoolState {
    /// The job still has them, or they are being made ready.
    InUse,
    /// Kept, billed, and free for the next job.
    Available,
    /// Another job has them.
    Reused {
        by: String,
    },
    Terminated,
    /// A status that is not known here.
    Other,
}

/// A pool as the description of its last job shows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PoolStatus {
    pub(super) state: PoolState,
    /// For how long the machines were kept, each of them, and billed.
    pub(super) retained: Seconds,
}

impl PoolStatus {
    pub(super) fn of(status: &types::WarmPoolStatus) -> Self {
        let word = status.status().map_or("", |status| status.as_str());
        let retained = status.resource_retained_billable_time_in_seconds();
        Self {
            state: match word {
                "InUse" => PoolState::InUse,
                "Available" => PoolState::Available,
                "Reused" => PoolState::Reused {
                    by: status.reused_by_job().unwrap_or_default().to_owned(),
                },
                "Terminated" => PoolState::Terminated,
                _ => PoolState::Other,
            },
            retained: Seconds(f64::from(retained.unwrap_or(0).max(0))),
        }
    }

    /// Whether it shows what became of the machines.
    pub(super) fn is_settled(&self) -> bool {
        !matches!(self.state, PoolState::InUse | PoolState::Other)
    }

    /// Whether the machines may still be kept, and billed.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, PoolState::Reused { .. } | PoolState::Terminated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> CreateTrainingJobInputBuilder {
        CreateTrainingJobInputBuilder::default()
            .training_job_name("one")
            .role_arn("role")
            .resource_config(resources().build())
            .vpc_config(network("subnet-a", "sg-a"))
            .tags(types::Tag::builder().key("team").value("a").build())
    }

    fn resources() -> types::builders::ResourceConfigBuilder {
        types::ResourceConfig::builder()
            .instance_type(types::TrainingInstanceType::MlM5Xlarge)
            .instance_count(1)
            .volume_size_in_gb(30)
    }

    fn network(subnet: &str, group: &str) -> types::VpcConfig {
        types::VpcConfig::builder()
            .subnets(subnet)
            .security_group_ids(group)
            .build()
    }

    #[test]
    fn each_field_of_the_match_key_parts_pools_and_nothing_else_does() {
        let key = |request| MatchKey::of(&request);
        let chained = || {
            types::SessionChainingConfig::builder()
                .enable_session_tag_chaining(true)
                .build()
        };
        let other = [
            request().role_arn("other"),
            request().resource_config(resources().instance_count(2).build()),
            request().resource_config(
                resources()
                    .instance_type(types::TrainingInstanceType::MlM5Large)
                    .build(),
            ),
            request().resource_config(resources().volume_size_in_gb(31).build()),
            request().resource_config(resources().volume_kms_key_id("key").build()),
            request().vpc_config(network("subnet-b", "sg-a")),
            request().vpc_config(network("subnet-a", "sg-b")),
            request().set_vpc_config(None),
            request().enable_inter_container_traffic_encryption(true),
            request().enable_network_isolation(true),
            request().session_chaining_config(chained()),
        ];
        for (place, request_of_other) in other.into_iter().enumerate() {
            assert_ne!(key(request_of_other), key(request()), "{place}");
        }
        let same = [
            request().training_job_name("two"),
            request().enable_network_isolation(false),
            request().hyper_parameters("epochs", "2"),
            request().tags(types::Tag::builder().key("more").value("b").build()),
            request().resource_config(resources().keep_alive_period_in_seconds(60).build()),
        ];
        for request_of_same in same {
            assert_eq!(key(request_of_same), key(request()));
        }
        // The values of tags may differ where a session is chained, their keys may not.
        let tagged = |name: &str| {
            let tag = types::Tag::builder().key(name).value("x").build();
            key(request()
                .set_tags(Some(vec![tag]))
                .session_chaining_config(chained()))
        };
        assert_ne!(tagged("team"), tagged("run"));
    }
}
