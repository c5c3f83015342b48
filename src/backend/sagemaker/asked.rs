//! What a training job was asked to be, in the terms in which two jobs can be compared: our own request, and a job that is there.

use std::collections::BTreeMap;

use aws_sdk_sagemaker::operation::create_training_job::CreateTrainingJobInput;
use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;
use aws_sdk_sagemaker::types;

use crate::probe::MARK_VARIABLE;

/// What decides how long a job takes, what it costs and whose it is. What the service fills in by itself is in neither side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AskedJob {
    /// Or the algorithm that has one.
    image: Option<String>,
    /// `ContainerEntrypoint` and `ContainerArguments`.
    command: Vec<String>,
    /// Types with their counts, those of groups with their names, and whether they are spot capacity.
    machines: (Vec<AskedMachines>, bool),
    data: Vec<AskedChannel>,
    hyperparameters: BTreeMap<String, String>,
    /// Without the probe's mark, which is another one each time.
    environment: BTreeMap<String, String>,
    role: Option<String>,
    output: Option<String>,
    /// Traffic between the machines.
    is_encrypted: bool,
}

/// Name of the group, which is empty where there is none, type and count.
type AskedMachines = (String, String, i32);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct AskedChannel {
    name: String,
    /// Of S3: the address; of a file system: its id and directory.
    place: String,
    kind: String,
    distribution: String,
    mode: String,
    content_type: Option<String>,
    compression: String,
    wrapper: String,
    /// The groups that get it; none: all.
    groups: Vec<String>,
}

impl AskedJob {
    pub(super) fn of_request(request: &CreateTrainingJobInput) -> Self {
        Self::of(&Parts {
            algorithm: request.algorithm_specification(),
            resources: request.resource_config(),
            channels: request.input_data_config(),
            hyperparameters: request.hyper_parameters(),
            environment: request.environment(),
            role: request.role_arn(),
            output: request.output_data_config(),
            is_spot: request.enable_managed_spot_training(),
            is_encrypted: request.enable_inter_container_traffic_encryption(),
        })
    }

    pub(super) fn of_description(job: &DescribeTrainingJobOutput) -> Self {
        Self::of(&Parts {
            algorithm: job.algorithm_specification(),
            resources: job.resource_config(),
            channels: job.input_data_config(),
            hyperparameters: job.hyper_parameters(),
            environment: job.environment(),
            role: job.role_arn(),
            output: job.output_data_config(),
            is_spot: job.enable_managed_spot_training(),
            is_encrypted: job.enable_inter_container_traffic_encryption(),
        })
    }

    fn of(parts: &Parts<'_>) -> Self {
        let algorithm = parts.algorithm;
        let words = |words: &[String]| words.to_vec();
        let mut data: Vec<AskedChannel> = parts.channels.iter().map(AskedChannel::of).collect();
        data.sort_unstable();
        let mut environment = sorted(parts.environment);
        environment.remove(MARK_VARIABLE);
        Self {
            image: algorithm
                .and_then(|algorithm| algorithm.training_image().or(algorithm.algorithm_name()))
                .map(str::to_owned),
            command: algorithm.map_or_else(Vec::new, |algorithm| {
                let mut all = words(algorithm.container_entrypoint());
                all.extend(words(algorithm.container_arguments()));
                all
            }),
            machines: (
                parts.resources.map_or_else(Vec::new, machines),
                parts.is_spot.unwrap_or(false),
            ),
            data,
            hyperparameters: sorted(parts.hyperparameters),
            environment,
            role: parts.role.map(str::to_owned),
            output: parts
                .output
                .and_then(types::OutputDataConfig::s3_output_path)
                .map(|path| path.trim_end_matches('/').to_owned()),
            is_encrypted: parts.is_encrypted.unwrap_or(false),
        }
    }

    /// In what `other` differs, as words that end the sentence "it differs in ...".
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        [
            (self.image == other.image, "its image"),
            (self.command == other.command, "its command"),
            (self.machines == other.machines, "its machines"),
            (self.data == other.data, "its data"),
            (
                self.hyperparameters == other.hyperparameters,
                "its hyperparameters",
            ),
            (self.environment == other.environment, "its environment"),
            (self.role == other.role, "its role"),
            (self.output == other.output, "its output"),
            (self.is_encrypted == other.is_encrypted, "its encryption"),
        ]
        .into_iter()
        .filter_map(|(is_same, what)| (!is_same).then_some(what))
        .collect()
    }
}

/// A request and a description have these in common, and no type.
struct Parts<'a> {
    algorithm: Option<&'a types::AlgorithmSpecification>,
    resources: Option<&'a types::ResourceConfig>,
    channels: &'a [types::Channel],
    hyperparameters: Option<&'a std::collections::HashMap<String, String>>,
    environment: Option<&'a std::collections::HashMap<String, String>>,
    role: Option<&'a str>,
    output: Option<&'a types::OutputDataConfig>,
    is_spot: Option<bool>,
    is_encrypted: Option<bool>,
}

fn sorted(pairs: Option<&std::collections::HashMap<String, String>>) -> BTreeMap<String, String> {
    let pairs = pairs.into_iter().flatten();
    pairs
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Every type that the job may run on.
fn machines(resources: &types::ResourceConfig) -> Vec<AskedMachines> {
    let of_group = |name: &str, kind: Option<&types::TrainingInstanceType>, count: Option<i32>| {
        (
            name.to_owned(),
            kind.map_or_else(String::new, |kind| kind.as_str().to_owned()),
            count.unwrap_or_default(),
        )
    };
    let one = |kind, count| of_group("", kind, count);
    let plain = resources
        .instance_type()
        .map(|kind| one(Some(kind), resources.instance_count()));
    let groups = resources.instance_groups().iter();
    let groups = groups.map(|group| {
        let name = group.instance_group_name().unwrap_or_default();
        of_group(name, group.instance_type(), group.instance_count())
    });
    let selected = resources
        .selected_instance_type()
        .map(|kind| one(Some(kind), resources.selected_instance_count()));
    let mut all: Vec<AskedMachines> = plain.into_iter().chain(groups).chain(selected).collect();
    all.sort_unstable();
    all
}

impl AskedChannel {
    fn of(channel: &types::Channel) -> Self {
        let source = channel.data_source();
        let s3 = source.and_then(types::DataSource::s3_data_source);
        let file_system = source.and_then(types::DataSource::file_system_data_source);
        let place = match (s3, file_system) {
            (Some(s3), _) => s3.s3_uri().unwrap_or_default().to_owned(),
            (None, Some(file_system)) => format!(
                "{}:{}",
                file_system.file_system_id().unwrap_or_default(),
                file_system.directory_path().unwrap_or_default()
            ),
            (None, None) => String::new(),
        };
        let mut groups = s3.map_or_else(Vec::new, |s3| s3.instance_group_names().to_vec());
        groups.sort_unstable();
        // What is not said is what the service takes by itself.
        Self {
            name: channel.channel_name().unwrap_or_default().to_owned(),
            place,
            kind: s3
                .and_then(types::S3DataSource::s3_data_type)
                .map_or("", types::S3DataType::as_str)
                .to_owned(),
            distribution: s3
                .and_then(types::S3DataSource::s3_data_distribution_type)
                .map_or("FullyReplicated", types::S3DataDistribution::as_str)
                .to_owned(),
            mode: channel
                .input_mode()
                .map_or("File", types::TrainingInputMode::as_str)
                .to_owned(),
            content_type: channel.content_type().map(str::to_owned),
            compression: channel
                .compression_type()
                .map_or("None", types::CompressionType::as_str)
                .to_owned(),
            wrapper: channel
                .record_wrapper_type()
                .map_or("None", types::RecordWrapper::as_str)
                .to_owned(),
            groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(groups: &[(&str, &str, i32)], channel_groups: &[&str]) -> AskedJob {
        let groups = groups.iter().map(|(name, kind, count)| {
            types::InstanceGroup::builder()
                .instance_group_name(*name)
                .instance_type(types::TrainingInstanceType::from(*kind))
                .instance_count(*count)
                .build()
        });
        let resources =
            types::ResourceConfig::builder().set_instance_groups(Some(groups.collect()));
        let names = channel_groups.iter().map(|name| (*name).to_owned());
        let s3 = types::S3DataSource::builder()
            .s3_uri("s3://data/train/")
            .set_instance_group_names(Some(names.collect()))
            .build();
        let source = types::DataSource::builder().s3_data_source(s3).build();
        let channel = types::Channel::builder()
            .channel_name("train")
            .data_source(source);
        let request = CreateTrainingJobInput::builder()
            .resource_config(resources.build())
            .input_data_config(channel.build());
        AskedJob::of_request(&request.build().unwrap())
    }

    #[test]
    fn other_groups_are_another_job() {
        const DATA: (&str, &str, i32) = ("data", "ml.c5.xlarge", 2);
        const DNN: (&str, &str, i32) = ("dnn", "ml.g5.xlarge", 1);
        let job = asked(&[DATA, DNN], &["data", "dnn"]);
        assert_eq!(
            job.differences(&asked(&[DNN, DATA], &["dnn", "data"])),
            [""; 0]
        );
        let swapped = [("dnn", "ml.c5.xlarge", 2), ("data", "ml.g5.xlarge", 1)];
        for other in [&[DATA][..], &[DATA, ("dnn", "ml.g5.xlarge", 2)], &swapped] {
            assert_eq!(
                job.differences(&asked(other, &["data", "dnn"])),
                ["its machines"]
            );
        }
        assert_eq!(
            job.differences(&asked(&[DATA, DNN], &["data"])),
            ["its data"]
        );
    }
}
