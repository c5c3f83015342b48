//! SageMaker's container contract for the first host of a training job: the folders and files below `/opt/ml`, the variables,
//! the words that start the script.
//!
//! Source: the SageMaker developer guide, "How Amazon SageMaker AI provides training information", and the training
//! toolkit (sagemaker-training), whose variables and call of the script this follows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::job::Job;
use super::{Core, REGION, groups, inputs};

/// Only the first host is run.
const HOST: &str = "algo-1";

/// The words to start, as the toolkit or the image's own entry point has them.
pub(super) fn command(job: &Job, root: &Path) -> Option<Vec<String>> {
    let hyperparameters = script_hyperparameters(job);
    let arguments = hyperparameters.iter().flat_map(|(name, value)| {
        let dashes = if name.chars().count() == 1 { "-" } else { "--" };
        [format!("{dashes}{name}"), plain(value)]
    });
    if let Some(program) = job.hyperparameter("sagemaker_program") {
        let program = plain(&decoded(program));
        let mut words = if program.ends_with(".py") {
            vec!["python3".to_owned(), program]
        } else {
            vec![
                "sh".to_owned(),
                "-c".to_owned(),
                format!("exec ./{program} \"$@\""),
                program,
            ]
        };
        words.extend(arguments);
        return Some(words);
    }
    let algorithm = &job.input["AlgorithmSpecification"];
    let words: Vec<String> = ["ContainerEntrypoint", "ContainerArguments"]
        .iter()
        .flat_map(|key| algorithm[*key].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .map(|word| word.replace("/opt/ml", &root.to_string_lossy()))
        .collect();
    (!words.is_empty()).then_some(words)
}

/// The user's hyperparameters, sorted by name, without SageMaker's own.
fn script_hyperparameters(job: &Job) -> BTreeMap<String, Value> {
    let pairs = job.input["HyperParameters"].as_object();
    pairs
        .into_iter()
        .flatten()
        .filter(|(name, _)| !name.starts_with("sagemaker_"))
        .map(|(name, value)| (name.clone(), decoded(value.as_str().unwrap_or_default())))
        .collect()
}

/// A hyperparameter's text as the toolkit reads it: JSON where it is JSON.
fn decoded(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

/// A value as an argument.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

/// Makes the folders and fills them: code, data, configuration. The error is what the container would fail with.
pub(super) fn lay_out(core: &Core, job: &Job, root: &Path) -> Result<(), String> {
    for folder in [
        "code",
        "input/config",
        "input/data",
        "model",
        "output/data",
        "output/intermediate",
        "checkpoints",
    ] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    if let Some(archive) = job.hyperparameter("sagemaker_submit_directory") {
        let uri = plain(&decoded(archive));
        let (bucket, key) = inputs::split(&uri)?;
        let bytes = core.s3.get(bucket, key);
        let bytes = bytes.ok_or(format!(
            "framework error: An error occurred (404) when calling the HeadObject operation: Not Found ({uri})"
        ))?;
        tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..]))
            .unpack(root.join("code"))
            .map_err(|error| format!("cannot unpack {uri}: {error}"))?;
    }
    for channel in &job.channels {
        let folder = root.join("input/data").join(&channel.name);
        fs::create_dir_all(&folder).unwrap();
        for file in &channel.files {
            let path = folder.join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let content = core.s3.get(&file.bucket, &file.key);
            fs::write(path, content.unwrap_or_default()).unwrap();
        }
        if let Some(manifest) = &channel.manifest {
            let name = format!("input/data/{}-manifest", channel.name);
            fs::write(root.join(name), manifest).unwrap();
        }
    }
    let hyperparameters = job.input.get("HyperParameters").cloned();
    for (name, content) in [
        (
            "hyperparameters.json",
            hyperparameters.unwrap_or_else(|| json!({})),
        ),
        ("inputdataconfig.json", input_data_config(job)),
        ("resourceconfig.json", groups::resource_config(job, HOST)),
    ] {
        fs::write(root.join("input/config").join(name), content.to_string()).unwrap();
    }
    Ok(())
}

fn input_data_config(job: &Job) -> Value {
    let channels: BTreeMap<_, _> = job
        .channels
        .iter()
        .map(|channel| {
            let config = &channel.config;
            let source = &config["DataSource"]["S3DataSource"];
            let or = |value: &Value, default: &str| json!(value.as_str().unwrap_or(default));
            let mut said = json!({
                "TrainingInputMode": or(&config["InputMode"], "File"),
                "S3DistributionType": or(&source["S3DataDistributionType"], "FullyReplicated"),
                "RecordWrapperType": or(&config["RecordWrapperType"], "None"),
            });
            if let Some(content_type) = config.get("ContentType") {
                said["ContentType"] = content_type.clone();
            }
            (channel.name.clone(), said)
        })
        .collect();
    json!(channels)
}

/// What scripts of tests read of what the platform and the toolkit set, and the job's own Environment.
pub(super) fn variables(job: &Job, root: &Path) -> BTreeMap<String, String> {
    let path = |below: &str| root.join(below).to_string_lossy().into_owned();
    let program = job.hyperparameter("sagemaker_program").unwrap_or_default();
    let program = plain(&decoded(program));
    let module = Path::new(&program).file_stem().unwrap_or_default();
    let fixed = [
        ("HOME", path("")),
        ("SAGEMAKER_BASE_DIR", path("")),
        ("TRAINING_JOB_NAME", job.name.clone()),
        ("AWS_REGION", REGION.to_owned()),
        ("SM_INPUT_DIR", path("input")),
        ("SM_INPUT_CONFIG_DIR", path("input/config")),
        ("SM_MODEL_DIR", path("model")),
        ("SM_OUTPUT_DATA_DIR", path("output/data")),
        ("SM_HOSTS", json!(job.hosts()).to_string()),
        ("SM_CURRENT_HOST", HOST.to_owned()),
        ("SM_MODULE_NAME", module.to_string_lossy().into_owned()),
        ("SM_USER_ENTRY_POINT", program.clone()),
    ];
    let fixed = fixed.map(|(name, value)| (name.to_owned(), value));
    let channels = job.channels.iter().map(|channel| {
        let name = format!("SM_CHANNEL_{}", channel.name.to_uppercase());
        (name, path(&format!("input/data/{}", channel.name)))
    });
    let own = job.input["Environment"].as_object().into_iter().flatten();
    let own = own.map(|(name, value)| {
        let value = value.as_str().unwrap_or_default();
        (name.clone(), value.to_owned())
    });
    fixed.into_iter().chain(channels).chain(own).collect()
}
