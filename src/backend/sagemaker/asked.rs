//! What a training job was asked to be, in the terms in which two jobs can be compared: our own request, and a job that is there.

use std::collections::BTreeMap;
use std::fmt::Debug;

use aws_sdk_sagemaker::operation::create_training_job::CreateTrainingJobInput;
use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;
use aws_sdk_sagemaker::types;

use crate::probe::MARK_VARIABLE;

/// What decides how long a job takes, what it costs and whose it is, each by the words that end the sentence "it differs in ...".
/// What the service fills in by itself is in neither side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AskedJob(Vec<(&'static str, String)>);

impl AskedJob {
    /// As its description would have it.
    pub(super) fn of_request(request: &CreateTrainingJobInput) -> Self {
        let asked = request.clone();
        let description = DescribeTrainingJobOutput::builder()
            .set_algorithm_specification(asked.algorithm_specification)
            .set_resource_config(asked.resource_config)
            .set_input_data_config(asked.input_data_config)
            .set_hyper_parameters(asked.hyper_parameters)
            .set_environment(asked.environment)
            .set_role_arn(asked.role_arn)
            .set_output_data_config(asked.output_data_config)
            .set_enable_managed_spot_training(asked.enable_managed_spot_training)
            .set_enable_inter_container_traffic_encryption(
                asked.enable_inter_container_traffic_encryption,
            );
        Self::of_description(&description.build())
    }

    pub(super) fn of_description(job: &DescribeTrainingJobOutput) -> Self {
        let algorithm = job.algorithm_specification();
        let image = algorithm.and_then(|it| it.training_image().or(it.algorithm_name()));
        let command =
            algorithm.map(|it| [it.container_entrypoint(), it.container_arguments()].concat());
        let mut data: Vec<_> = job.input_data_config().iter().map(channel).collect();
        data.sort_unstable();
        // The probe's mark is another one each time.
        let mut environment = sorted(job.environment());
        environment.remove(MARK_VARIABLE);
        let output = job.output_data_config().and_then(|it| it.s3_output_path());
        let output = output.map(|path| path.trim_end_matches('/'));
        let is_spot = job.enable_managed_spot_training() == Some(true);
        let machines = (job.resource_config().map(machines), is_spot);
        let is_encrypted = job.enable_inter_container_traffic_encryption() == Some(true);
        Self(vec![
            ("its image", said(&image)),
            ("its command", said(&command.unwrap_or_default())),
            ("its machines", said(&machines)),
            ("its data", said(&data)),
            ("its hyperparameters", said(&sorted(job.hyper_parameters()))),
            ("its environment", said(&environment)),
            ("its role", said(&job.role_arn())),
            ("its output", said(&output)),
            ("its encryption", said(&is_encrypted)),
        ])
    }

    /// In what `other` differs, as words that end the sentence "it differs in ...".
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let own = self.0.iter().filter(|part| !other.0.contains(part));
        own.map(|(what, _)| *what).collect()
    }
}

fn said(value: &impl Debug) -> String {
    format!("{value:?}")
}

fn sorted(pairs: Option<&std::collections::HashMap<String, String>>) -> BTreeMap<&str, &str> {
    let pairs = pairs.into_iter().flatten();
    let pairs = pairs.map(|(key, value)| (key.as_str(), value.as_str()));
    pairs.collect()
}

/// Every type that the job may run on with its count, those of groups with their names.
fn machines(resources: &types::ResourceConfig) -> Vec<String> {
    let asked = (resources.instance_type()).map(|kind| (None, kind, resources.instance_count()));
    let selected = resources.selected_instance_type();
    let selected = selected.map(|kind| (None, kind, resources.selected_instance_count()));
    let groups = resources.instance_groups().iter().filter_map(|group| {
        let (name, kind) = (group.instance_group_name(), group.instance_type()?);
        Some((name, kind, group.instance_count()))
    });
    let all = asked.into_iter().chain(selected).chain(groups);
    let mut all: Vec<String> = all.map(|machines| said(&machines)).collect();
    all.sort_unstable();
    all
}

/// What is not said is what the service takes by itself; what no canary asks for it may fill in.
fn channel(channel: &types::Channel) -> String {
    let mut channel = channel.clone();
    let (mode, packing) = (&mut channel.input_mode, &mut channel.compression_type);
    mode.get_or_insert(types::TrainingInputMode::File);
    packing.get_or_insert(types::CompressionType::None);
    let wrapper = &mut channel.record_wrapper_type;
    wrapper.get_or_insert(types::RecordWrapper::None);
    let source = channel.data_source.as_mut();
    if let Some(s3) = source.and_then(|source| source.s3_data_source.as_mut()) {
        (s3.s3_data_distribution_type).get_or_insert(types::S3DataDistribution::FullyReplicated);
        let groups = s3.instance_group_names.get_or_insert_default();
        groups.sort_unstable();
        (s3.attribute_names, s3.model_access_config) = (None, None);
        s3.hub_access_config = None;
    }
    said(&channel)
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
