//! Estimators of the SageMaker Python SDK, version 2: `PyTorch(...)`, `Estimator(...)`, and what `fit` hands them.
//! <https://sagemaker.readthedocs.io/en/v2/api/training/estimators.html>

use super::find::{Find, FindKind};
use super::launch::{FoundLaunch, LaunchReader, SaidSetting};
use crate::commands::init::python::{PythonCall, PythonLiteral, PythonValue};
use crate::commands::init::read_file::ReadFile;

pub(super) const KIND: FindKind = FindKind {
    calls: &[
        "PyTorch",
        "TensorFlow",
        "SKLearn",
        "XGBoost",
        "HuggingFace",
        "Estimator",
        "fit",
        "set_hyperparameters",
    ],
    look,
};

/// The spec's name of the framework of an estimator; `None` where a spec names its image.
fn framework(class: &str) -> Option<Option<&'static str>> {
    match class {
        "PyTorch" => Some(Some("pytorch")),
        "TensorFlow" => Some(Some("tensorflow")),
        "SKLearn" => Some(Some("sklearn")),
        "XGBoost" => Some(Some("xgboost")),
        "HuggingFace" | "Estimator" => Some(None),
        _ => None,
    }
}

fn look(file: &ReadFile) -> Vec<Find> {
    let reader = LaunchReader { file };
    let calls = file.python().calls.iter();
    calls
        .filter_map(|call| {
            let framework = framework(call.name())?;
            let keywords = reader.keywords(call);
            // A class of this name of somebody else's has no role.
            let is_estimator = keywords.iter().any(|(name, _)| {
                matches!(
                    name.as_str(),
                    "role" | "instance_type" | "train_instance_type"
                )
            });
            is_estimator.then(|| Find::Launch(Box::new(launch(reader, call, framework, &keywords))))
        })
        .collect()
}

fn launch(
    reader: LaunchReader<'_>,
    call: &PythonCall,
    framework: Option<&'static str>,
    keywords: &[(String, PythonValue)],
) -> FoundLaunch {
    let mut found = reader.begin(call);
    for (name, value) in keywords {
        let said = || reader.said(value);
        match name.as_str() {
            // Version 1 of the SDK had other names.
            "instance_type" | "train_instance_type" => found.instance_type = Some(said()),
            "instance_count" | "train_instance_count" => found.instance_count = Some(said()),
            "volume_size" | "train_volume_size" => found.volume_gb = Some(said()),
            "max_run" | "train_max_run" => found.max_runtime = Some(said()),
            "use_spot_instances" | "train_use_spot_instances" => found.spot = Some(said()),
            "framework_version" => found.framework = framework.map(|name| (name, said())),
            "image_uri" | "image_name" => image(reader, value, &mut found),
            "role" => found.role = Some(said()),
            "entry_point" => found.entry_point = Some(said()),
            "source_dir" => found.source_dir = Some(said()),
            "hyperparameters" => found.hyperparameters = reader.said_entries(value),
            "environment" => found.environment = reader.said_entries(value),
            "output_path" => found.output = Some(said()),
            "checkpoint_s3_uri" => found.checkpoints = Some(said()),
            "subnets" => found.subnets = Some(said()),
            "security_group_ids" => found.security_groups = Some(said()),
            "base_job_name" => found.name = Some(said()),
            "distribution"
            | "distributions"
            | "transformers_version"
            | "pytorch_version"
            | "tensorflow_version" => {
                let mut said = said();
                said.written = format!("{name}={}", said.written);
                found.left_out.push(said);
            }
            _ => {}
        }
    }
    let Some(estimator) = &call.assigned_to else {
        return found;
    };
    let calls = &reader.file.python().calls;
    let of_it = |call: &&PythonCall| {
        call.owner() == Some(estimator) && call.line >= found_line(reader, estimator, call)
    };
    for later in calls.iter().filter(of_it) {
        match later.name() {
            "set_hyperparameters" => {
                let more = reader.keywords(later).into_iter();
                found
                    .hyperparameters
                    .extend(more.map(|(name, value)| (name, reader.said(&value))));
            }
            "fit" => {
                let mut keywords = later.keywords.iter();
                let inputs = keywords
                    .find(|(name, _)| name == "inputs")
                    .map(|(_, value)| value);
                if let Some(inputs) = inputs.or(later.arguments.first())
                    && found.channels.is_empty()
                {
                    channels(reader, inputs, &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

/// The line of the last estimator of this name above a call: several in one notebook may have one name.
fn found_line(reader: LaunchReader<'_>, estimator: &str, call: &PythonCall) -> u32 {
    let calls = reader.file.python().calls.iter();
    let made = calls
        .filter(|made| made.assigned_to.as_deref() == Some(estimator) && made.line <= call.line);
    made.map(|made| made.line).max().unwrap_or(0)
}

/// An address, or `image_uris.retrieve("xgboost", region, "1.7-1")`.
pub(super) fn image(reader: LaunchReader<'_>, value: &PythonValue, found: &mut FoundLaunch) {
    let resolved = reader.file.python().resolved(value);
    let PythonLiteral::Call(call) = &resolved.literal else {
        found.image = Some(reader.said(value));
        return;
    };
    let of = |name: &str, place: usize| {
        let mut keywords = call.keywords.iter();
        let named = keywords.find(|(known, _)| known == name);
        named.map(|(_, value)| value).or(call.arguments.get(place))
    };
    let framework = of("framework", 0).and_then(|value| reader.said(value).text);
    let known = match framework.as_deref() {
        Some("xgboost") => Some("xgboost"),
        Some("pytorch") => Some("pytorch"),
        Some("tensorflow") => Some("tensorflow"),
        Some("sklearn") => Some("sklearn"),
        _ => None,
    };
    match (known, of("version", 2)) {
        (Some(name), Some(version)) if matches!(call.name(), "retrieve" | "get_image_uri") => {
            found.framework = Some((name, reader.said(version)));
        }
        _ => found.image = Some(reader.said(value)),
    }
}

/// `{"train": "s3://..."}`, `TrainingInput("s3://...")`, or one address, whose channel is `training`.
fn channels(reader: LaunchReader<'_>, inputs: &PythonValue, found: &mut FoundLaunch) {
    let resolved = reader.file.python().resolved(inputs);
    let PythonLiteral::Table(_) = resolved.literal else {
        found
            .channels
            .push(("training".to_owned(), input(reader, inputs)));
        return;
    };
    let entries = reader.entries(inputs).into_iter();
    found.channels = entries
        .map(|(name, value)| (name, input(reader, &value)))
        .collect();
}

/// The address of one input.
fn input(reader: LaunchReader<'_>, value: &PythonValue) -> SaidSetting {
    let resolved = reader.file.python().resolved(value);
    match &resolved.literal {
        PythonLiteral::Call(call) if matches!(call.name(), "TrainingInput" | "s3_input") => {
            let mut keywords = call.keywords.iter();
            let named = keywords.find(|(name, _)| name == "s3_data");
            let address = named.map(|(_, value)| value).or(call.arguments.first());
            reader.said(address.unwrap_or(value))
        }
        _ => reader.said(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch_in(source: &str) -> FoundLaunch {
        let file = ReadFile::whole("launch.py", source);
        let found = look(&file).into_iter().find_map(|find| match find {
            Find::Launch(launch) => Some(*launch),
            _ => None,
        });
        found.unwrap()
    }

    #[test]
    fn an_estimator_and_its_fit_are_one_launch() {
        let found = launch_in(
            "bucket = 'b-1'\ne = PyTorch(entry_point='train.py', framework_version='2.1', role=role, instance_type='ml.g5.xlarge')\ne.set_hyperparameters(lr=0.1)\ne.fit({'train': TrainingInput(f's3://{bucket}/x', content_type='text/csv')})\n",
        );
        assert_eq!(found.framework.unwrap().1.text.as_deref(), Some("2.1"));
        assert_eq!(found.role.unwrap().text, None);
        assert_eq!(found.hyperparameters[0].0, "lr");
        assert_eq!(found.channels[0].1.text.as_deref(), Some("s3://b-1/x"));
    }

    #[test]
    fn the_image_of_a_framework_is_its_name_and_version() {
        let found = launch_in(
            "c = sagemaker.image_uris.retrieve('xgboost', region, '1.7-1')\ne = sagemaker.estimator.Estimator(image_uri=c, role=r)\n",
        );
        assert_eq!(found.framework.map(|(name, _)| name), Some("xgboost"));
        assert!(found.image.is_none());
    }

    #[test]
    fn a_class_of_the_same_name_is_no_estimator() {
        let file = ReadFile::whole("a.py", "e = Estimator(alpha=1)\n");
        assert!(look(&file).is_empty());
    }
}
