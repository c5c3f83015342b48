//! `ModelTrainer(...)` of the SageMaker Python SDK, version 3, and what `train` hands it.
//! <https://sagemaker.readthedocs.io/en/stable/training/index.html>

use super::estimator;
use super::find::{Find, FindKind};
use super::launch::{FoundLaunch, LaunchReader};
use crate::commands::init::python::{PythonCall, PythonValue};
use crate::commands::init::read_file::ReadFile;

pub(super) const KIND: FindKind = FindKind {
    calls: &["ModelTrainer", "train"],
    look,
};

fn look(file: &ReadFile) -> Vec<Find> {
    let reader = LaunchReader { file };
    let calls = file.python().calls.iter();
    calls
        .filter(|call| call.name() == "ModelTrainer")
        .map(|call| Find::Launch(Box::new(launch(reader, call))))
        .collect()
}

fn launch(reader: LaunchReader<'_>, call: &PythonCall) -> FoundLaunch {
    let mut found = reader.begin(call);
    for (name, value) in reader.keywords(call) {
        setting(reader, &name, &value, &mut found);
    }
    let calls = reader.file.python().calls.iter();
    let trains = calls
        .filter(|later| later.name() == "train" && later.owner() == call.assigned_to.as_deref());
    for (name, value) in trains.flat_map(|later| later.keywords.clone()) {
        setting(reader, &name, &value, &mut found);
    }
    found
}

fn setting(reader: LaunchReader<'_>, name: &str, value: &PythonValue, found: &mut FoundLaunch) {
    let below = |keys: &[&str]| reader.said_below(value, keys);
    match name {
        "training_image" => estimator::image(reader, value, found),
        "algorithm_name" => found.algorithm = Some(reader.said(value)),
        "role" => found.role = Some(reader.said(value)),
        "base_job_name" => found.name = Some(reader.said(value)),
        "hyperparameters" => found.hyperparameters = reader.said_entries(value),
        "environment" => found.environment = reader.said_entries(value),
        "source_code" => {
            found.source_dir = below(&["source_dir"]);
            found.entry_point = below(&["entry_script"]);
            found.command = below(&["command"]);
        }
        "compute" => {
            found.instance_type = below(&["instance_type"]);
            found.instance_count = below(&["instance_count"]);
            found.volume_gb = below(&["volume_size_in_gb"]);
            found.spot = below(&["enable_managed_spot_training"]);
        }
        "networking" => {
            found.subnets = below(&["subnets"]);
            found.security_groups = below(&["security_group_ids"]);
        }
        "stopping_condition" => found.max_runtime = below(&["max_runtime_in_seconds"]),
        "output_data_config" => found.output = below(&["s3_output_path"]),
        "checkpoint_config" => found.checkpoints = below(&["s3_uri"]),
        "input_data_config" => {
            for input in reader.items(value) {
                let name = reader
                    .said_below(&input, &["channel_name"])
                    .and_then(|said| said.text);
                let nested = reader.below(&input, &["data_source", "s3_data_source", "s3_uri"]);
                let source = nested.or_else(|| reader.below(&input, &["data_source"]));
                if let (Some(name), Some(source)) = (name, source) {
                    found.channels.push((name, reader.said(&source)));
                }
            }
        }
        "distributed" => {
            let mut said = reader.said(value);
            said.written = format!("distributed={}", said.written);
            found.left_out.push(said);
        }
        _ => {}
    }
}
