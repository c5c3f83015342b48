//! The channels of the job: data, file systems, and what the SDK brings its code on.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;
use aws_sdk_sagemaker::types::{Channel, FileSystemDataSource, S3DataSource};

use super::is_script;
use crate::spec::FileSystem;
use crate::spec::page::FILL_IN;
use crate::spec::yaml_text as yaml;

/// The channel on which the SDK v3 hands over the code.
pub(super) const CODE: &str = "code";
/// Its channel of scripts that start the code.
const DRIVERS: &str = "sm_drivers";

/// Where the job's code lies that comes as files on a channel. An archive does not: what starts the job unpacks it.
pub(super) fn source(job: &DescribeTrainingJobOutput) -> Option<&str> {
    if is_script(job) {
        return None;
    }
    let mut channels = job.input_data_config().iter();
    let code = channels.find(|channel| channel.channel_name() == Some(CODE))?;
    let data = code.data_source()?.s3_data_source()?;
    let uri = data.s3_uri()?;
    let mut archives = [".tar.gz", ".tgz", ".zip"].iter();
    let is_archive = archives.any(|end| uri.ends_with(end));
    (can_be_named(data) && data_type(data) == "S3Prefix" && !is_archive).then_some(uri)
}

/// Whether a spec can name the data: a prefix, or a manifest.
fn can_be_named(data: &S3DataSource) -> bool {
    matches!(data_type(data), "S3Prefix" | "ManifestFile")
        && data.s3_uri().is_some_and(|uri| uri.starts_with("s3://"))
}

fn data_type(data: &S3DataSource) -> &str {
    data.s3_data_type().map_or("S3Prefix", |kind| kind.as_str())
}

/// Whether there is data that a canary can sample.
pub(super) fn has_samples(job: &DescribeTrainingJobOutput) -> bool {
    job.input_data_config().iter().any(|channel| {
        let source = channel.data_source();
        let is_in_s3 = source.is_some_and(|source| source.s3_data_source().is_some());
        is_in_s3 && !matches!(channel.channel_name(), Some(CODE | DRIVERS))
    })
}

/// The key `channels`, a channel a line; nothing where there is none.
pub(super) fn said(job: &DescribeTrainingJobOutput) -> String {
    // Canary-gate brings the code itself.
    let is_code = is_script(job) || source(job).is_some();
    let algorithm = job.algorithm_specification();
    let mode = algorithm.and_then(|algorithm| algorithm.training_input_mode());
    let mode = mode.map(|mode| mode.as_str());
    let channels = job.input_data_config().iter();
    let lines: String = channels
        .filter(|channel| !(is_code && channel.channel_name() == Some(CODE)))
        .map(|channel| line(channel, mode))
        .collect();
    match lines.is_empty() {
        true => lines,
        false => format!(
            "      # Canaries get a sample of each channel; with `sample: false` a channel is whole in every canary.\n      channels:\n{lines}"
        ),
    }
}

fn line(channel: &Channel, job_mode: Option<&str>) -> String {
    let name = channel.channel_name().filter(|name| !name.is_empty());
    let name = name.unwrap_or("train");
    let source = channel.data_source();
    let in_s3 = source.and_then(|source| source.s3_data_source());
    let in_files = source.and_then(|source| source.file_system_data_source());
    let files = in_files.and_then(file_system);
    let (keys, remarks) = match (in_s3, files) {
        (Some(data), _) => of_s3(name, channel, data, job_mode),
        (None, Some(uri)) => (
            vec![("uri", yaml::text(&uri)), ("sample", "false".to_owned())],
            vec!["a file system is not listed, so canaries read all of it".to_owned()],
        ),
        (None, None) => {
            let place = in_files.and_then(|it| it.file_system_type());
            let place = place.map_or("neither S3 nor a file system", |it| it.as_str());
            let why = format!("Left out, no spec can name its data ({place}): channel {name}");
            return format!("        # {}\n", yaml::remark(&why));
        }
    };
    let keys: Vec<String> = (keys.iter())
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    let remarks = match remarks.is_empty() {
        true => String::new(),
        false => format!("    # {}", yaml::remark(&remarks.join("; "))),
    };
    let name = yaml::text(name);
    format!("        {name}: {{{}}}{remarks}\n", keys.join(", "))
}

/// The keys of a channel in S3 with their values, and remarks.
fn of_s3(
    name: &str,
    channel: &Channel,
    data: &S3DataSource,
    job_mode: Option<&str>,
) -> (Vec<(&'static str, String)>, Vec<String>) {
    let (mut keys, mut remarks) = (Vec::new(), Vec::new());
    let mut key = |key, value: Option<&str>| {
        let value = value.filter(|value| !value.is_empty());
        keys.extend(value.map(|value| (key, yaml::text(value))));
    };
    let (uri, kind) = (data.s3_uri().unwrap_or_default(), data_type(data));
    if can_be_named(data) {
        key("uri", Some(uri));
        key("data_type", Some(kind).filter(|kind| *kind != "S3Prefix"));
    } else {
        let bucket = (uri.strip_prefix("s3://")).and_then(|rest| rest.split('/').next());
        let bucket = bucket.unwrap_or("my-bucket");
        key("uri", Some(&format!("s3://{bucket}/{FILL_IN}/")));
        remarks.push(format!(
            "the job reads the {kind} {uri}; a spec names the folder of the objects"
        ));
    }
    let mode = channel.input_mode().map(|mode| mode.as_str()).or(job_mode);
    match mode {
        Some(mode @ ("FastFile" | "Pipe")) => key("mode", Some(mode)),
        None | Some("File") => {}
        Some(other) => remarks.push(format!("the job's mode is {other}")),
    }
    key("content_type", channel.content_type());
    let distribution = data.s3_data_distribution_type().map(|kind| kind.as_str());
    let sharded = distribution.filter(|kind| *kind == "ShardedByS3Key");
    key("distribution", sharded);
    let compression = channel.compression_type().map(|kind| kind.as_str());
    let wrapper = channel.record_wrapper_type().map(|kind| kind.as_str());
    for (name, kind) in [("compression", compression), ("record_wrapper", wrapper)] {
        match kind.filter(|kind| *kind != "None") {
            None => {}
            Some(kind @ ("Gzip" | "RecordIO")) if mode == Some("Pipe") => key(name, Some(kind)),
            Some(kind) => remarks.push(format!(
                "the job says {kind}, which has a meaning in mode Pipe only"
            )),
        }
    }
    if !data.instance_group_names().is_empty() {
        keys.push(("groups", yaml::list(data.instance_group_names())));
    }
    if matches!(name, CODE | DRIVERS) {
        keys.push(("sample", "false".to_owned()));
    }
    if name == DRIVERS {
        remarks.push("what the SDK packed to start the code, as it was in this job".to_owned());
    }
    if channel.shuffle_config().is_some() {
        remarks.push("a spec cannot say, and canaries go without: ShuffleConfig".to_owned());
    }
    (keys, remarks)
}

/// The address of a channel on EFS or FSx; `None` where a spec cannot name it.
fn file_system(data: &FileSystemDataSource) -> Option<String> {
    let scheme = match data.file_system_type()?.as_str() {
        "EFS" => "efs",
        "FSxLustre" => "fsx",
        _ => return None,
    };
    let directory = data.directory_path().unwrap_or_default();
    let directory = directory.trim_start_matches('/');
    let uri = format!("{scheme}://{}/{directory}", data.file_system_id()?);
    matches!(FileSystem::of_uri(&uri), Some(Ok(_))).then_some(uri)
}
