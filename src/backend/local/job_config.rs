//! What a training instance has beside the contract: `init-config.json`, `trainingjobconfig.json`, and a list of its files for each
//! channel. The keys and words are those that a script of an instance recorded
//! (github.com/shiftan/simple_sagemaker, examples/single_task/expected_output); what a local run has nothing of is left out.

use serde_json::{Value, json};

use crate::spec::{Channel, Distribution};

use super::cluster::ChannelShare;
use super::container::Container;

/// Of nobody.
const ACCOUNT: &str = "000000000000";

impl Container<'_> {
    pub(super) fn arn(&self) -> String {
        format!(
            "arn:aws:sagemaker:{}:{ACCOUNT}:training-job/{}",
            self.region,
            self.run_name.to_lowercase()
        )
    }

    pub(super) fn init_config(&self) -> Value {
        let channels = self.channels.iter().map(|ChannelShare { channel, .. }| {
            let config = json!({
                "s3DataSource": {
                    "s3DataType": "S3_PREFIX",
                    "s3Uri": channel.uri,
                    "s3DataDistributionType": distribution(channel),
                    "attributeNames": null,
                },
                "fileSystemDataSource": null,
                "compressionType": "NONE",
                "recordWrapper": "NONE",
                "shuffleConfig": null,
                "inputMode": "FILE",
                "sharded": channel.distribution == Distribution::ShardedByS3Key,
            });
            (channel.name.clone(), config)
        });
        json!({
            "inputMode": "FILE",
            "channels": channels.collect::<serde_json::Map<_, _>>(),
            "checkpointChannel": null,
            "hostConfig": {
                "clusterSize": self.cluster.hosts.len(),
                "hostNumber": self.host.number,
            },
            "enableAdditionalPlatformLoggingForCustomer": false,
            "jobRunInfo": {"jobRunNumber": 1},
        })
    }

    /// The request, the same on every host.
    pub(super) fn training_job_config(&self) -> Value {
        let training = &self.job.training;
        let channels = training.channels.iter().map(|channel| {
            let mut source = json!({
                "S3DataType": "S3_PREFIX",
                "S3Uri": channel.uri,
                "S3DataDistributionType": distribution(channel),
            });
            if !channel.groups.is_empty() && self.cluster.has_named_groups() {
                source["InstanceGroupNames"] = json!(channel.groups);
            }
            json!({
                "ChannelName": channel.name,
                "DataSource": {"S3DataSource": source},
                "CompressionType": "NONE",
                "RecordWrapperType": "NONE",
            })
        });
        let metrics = training.metrics.iter();
        let metrics = metrics.map(|(name, regex)| json!({"Name": name, "Regex": regex}));
        let mut config = json!({
            "EnableInterContainerTrafficEncryption": false,
            "EnableNetworkIsolation": false,
            "EnableManagedSpotTraining": false,
            "HyperParameters": self.hyperparameters(),
            "InputDataConfig": channels.collect::<Vec<_>>(),
            "ResourceConfig": self.resources(),
            "TrainingJobName": self.run_name,
            "AlgorithmSpecification": {
                "MetricDefinitions": metrics.collect::<Vec<_>>(),
                "TrainingInputMode": "File",
            },
            "TrainingJobArn": self.arn(),
        });
        if let Some(limit) = self.max_runtime {
            config["StoppingCondition"] = json!({"MaxRuntimeInSeconds": limit.0.ceil()});
        }
        config
    }

    fn resources(&self) -> Value {
        if !self.cluster.has_named_groups() {
            return json!({"InstanceCount": self.cluster.hosts.len(), "InstanceType": "local"});
        }
        let groups = self.cluster.groups.iter().map(|group| {
            json!({
                "InstanceGroupName": group.name,
                "InstanceCount": group.hosts.len(),
                "InstanceType": "local",
            })
        });
        json!({"InstanceGroups": groups.collect::<Vec<_>>()})
    }
}

fn distribution(channel: &Channel) -> &'static str {
    match channel.distribution {
        Distribution::FullyReplicated => "FULLY_REPLICATED",
        Distribution::ShardedByS3Key => "SHARDED_BY_S3_KEY",
    }
}

/// What lies beside the folder of a channel as `<channel>-manifest`: the channel's place, and the address of each object that the host got.
pub(super) fn manifest(ChannelShare { channel, data }: &ChannelShare<'_>) -> String {
    let place = channel.uri.trim_end_matches('/');
    let mut text = format!("{place}\n");
    for object in data.objects.iter() {
        // A channel may be a single file.
        let is_place = std::path::Path::new(place).ends_with(&object.key);
        text.push_str(place);
        if !is_place {
            text.push('/');
            text.push_str(&object.key);
        }
        text.push('\n');
    }
    text
}
