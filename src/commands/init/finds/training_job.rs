//! `create_training_job(...)` of boto3, and `TrainingJob.create(...)` of sagemaker-core.
//! <https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html>

use super::find::{Find, FindKind};
use super::launch::{FoundLaunch, LaunchReader};
use crate::commands::init::python::{PythonCall, PythonValue};
use crate::commands::init::read_file::ReadFile;

pub(super) const KIND: FindKind = FindKind {
    calls: &["create_training_job", "create"],
    look,
};

fn look(file: &ReadFile) -> Vec<Find> {
    let reader = LaunchReader { file };
    let is_job = |call: &&PythonCall| {
        let owner = call.owner().and_then(|owner| owner.rsplit('.').next());
        call.name() == "create_training_job" || owner == Some("TrainingJob")
    };
    let calls = file.python().calls.iter().filter(is_job);
    calls
        .map(|call| {
            let mut found = reader.begin(call);
            for (name, value) in reader.keywords(call) {
                setting(reader, &camel(&name), &value, &mut found);
            }
            Find::Launch(Box::new(found))
        })
        .collect()
}

/// sagemaker-core has the names of the API in another form: `resource_config` for `ResourceConfig`.
fn camel(name: &str) -> String {
    let parts = name.split('_').map(|part| {
        let mut letters = part.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    parts.collect()
}

fn setting(reader: LaunchReader<'_>, name: &str, value: &PythonValue, found: &mut FoundLaunch) {
    // Each key in the form of boto3, then in that of sagemaker-core.
    let below = |keys: [&str; 2]| {
        let [api, core] = keys;
        reader
            .said_below(value, &[api])
            .or_else(|| reader.said_below(value, &[core]))
    };
    match name {
        "TrainingJobName" => found.name = Some(reader.said(value)),
        "RoleArn" => found.role = Some(reader.said(value)),
        "HyperParameters" => {
            for (name, said) in reader.said_entries(value) {
                match name.as_str() {
                    "sagemaker_program" => found.entry_point = Some(said),
                    "sagemaker_submit_directory" => {
                        let mut said = said;
                        said.written = format!("sagemaker_submit_directory: {}", said.written);
                        found.left_out.push(said);
                    }
                    _ => found.hyperparameters.push((name, said)),
                }
            }
        }
        "Environment" => found.environment = reader.said_entries(value),
        "AlgorithmSpecification" => {
            found.image = below(["TrainingImage", "training_image"]);
            found.algorithm = below(["AlgorithmName", "algorithm_name"]);
        }
        "ResourceConfig" => {
            found.instance_type = below(["InstanceType", "instance_type"]);
            found.instance_count = below(["InstanceCount", "instance_count"]);
            found.volume_gb = below(["VolumeSizeInGB", "volume_size_in_gb"]);
        }
        "StoppingCondition" => {
            found.max_runtime = below(["MaxRuntimeInSeconds", "max_runtime_in_seconds"]);
        }
        "OutputDataConfig" => found.output = below(["S3OutputPath", "s3_output_path"]),
        "CheckpointConfig" => found.checkpoints = below(["S3Uri", "s3_uri"]),
        "EnableManagedSpotTraining" => found.spot = Some(reader.said(value)),
        "VpcConfig" => {
            found.subnets = below(["Subnets", "subnets"]);
            found.security_groups = below(["SecurityGroupIds", "security_group_ids"]);
        }
        "InputDataConfig" => {
            for channel in reader.items(value) {
                let api = (["ChannelName"], ["DataSource", "S3DataSource", "S3Uri"]);
                let core = (
                    ["channel_name"],
                    ["data_source", "s3_data_source", "s3_uri"],
                );
                for (name, address) in [api, core] {
                    let name = reader
                        .said_below(&channel, &name)
                        .and_then(|said| said.text);
                    let address = reader.said_below(&channel, &address);
                    found.channels.extend(name.zip(address));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_in_a_table_is_read() {
        let file = ReadFile::whole(
            "a.py",
            "params = {'TrainingJobName': name, 'RoleArn': 'arn:aws:iam::123456789012:role/R', 'ResourceConfig': {'InstanceType': 'ml.m5.large', 'InstanceCount': 1, 'VolumeSizeInGB': 50}, 'InputDataConfig': [{'ChannelName': 'train', 'DataSource': {'S3DataSource': {'S3Uri': 's3://b-1/x'}}}]}\nboto3.client('sagemaker').create_training_job(**params)\n",
        );
        let found = look(&file);
        let [Find::Launch(found)] = found.as_slice() else {
            panic!("not one launch");
        };
        assert_eq!(
            found.instance_type.as_ref().unwrap().text.as_deref(),
            Some("ml.m5.large")
        );
        assert_eq!(found.channels[0].1.text.as_deref(), Some("s3://b-1/x"));
        assert_eq!(found.name.as_ref().unwrap().text, None);
    }
}
