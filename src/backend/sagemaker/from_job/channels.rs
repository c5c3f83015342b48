//! The channels of the job: data, file systems, and what the SDK brings its code on.

use serde_json::Value;

use super::{is_script, list, text, yaml_of};
use crate::grammar::{joined, only_where};
use crate::spec::page::FILL_IN;
use crate::spec::{FileSystem, yaml_text as yaml};

/// The channel on which the SDK v3 hands over the code.
pub(super) const CODE: &str = "code";
/// Its channel of scripts that start the code.
const DRIVERS: &str = "sm_drivers";

/// Where the job's code lies that comes as files on a channel. An archive does not: what starts the job unpacks it.
pub(super) fn source(job: &Value) -> Option<&str> {
    let mut channels = list(&job["InputDataConfig"]).iter();
    let code = channels.find(|channel| channel["ChannelName"] == CODE && !is_script(job))?;
    let data = &code["DataSource"]["S3DataSource"];
    let uri = text(&data["S3Uri"])?;
    let mut archives = [".tar.gz", ".tgz", ".zip"].iter();
    let is_archive = archives.any(|end| uri.ends_with(end));
    (can_be_named(data) && data_type(data) == "S3Prefix" && !is_archive).then_some(uri)
}

/// Whether a spec can name the data: a prefix, or a manifest.
fn can_be_named(data: &Value) -> bool {
    matches!(data_type(data), "S3Prefix" | "ManifestFile")
        && text(&data["S3Uri"]).is_some_and(|uri| uri.starts_with("s3://"))
}

fn data_type(data: &Value) -> &str {
    text(&data["S3DataType"]).unwrap_or("S3Prefix")
}

/// Whether there is data that a canary can sample.
pub(super) fn has_samples(job: &Value) -> bool {
    list(&job["InputDataConfig"]).iter().any(|channel| {
        let is_code = [CODE, DRIVERS].contains(&channel["ChannelName"].as_str().unwrap_or("train"));
        channel["DataSource"]["S3DataSource"].is_object() && !is_code
    })
}

/// The key `channels`, a channel a line; `None` where there is none.
pub(super) fn said(job: &Value) -> Option<String> {
    // Canary-gate brings the code itself.
    let is_code = is_script(job) || source(job).is_some();
    let mode = text(&job["AlgorithmSpecification"]["TrainingInputMode"]);
    let lines: String = (list(&job["InputDataConfig"]).iter())
        .filter(|channel| !(is_code && channel["ChannelName"] == CODE))
        .map(|channel| line(channel, mode))
        .collect();
    (!lines.is_empty()).then(|| format!(
        "      # Canaries get a sample of each channel; with `sample: false` a channel is whole in every canary.\n      channels:{lines}"
    ))
}

fn line(channel: &Value, job_mode: Option<&str>) -> String {
    let name = text(&channel["ChannelName"]).unwrap_or("train");
    let source = &channel["DataSource"];
    let (in_s3, in_files) = (&source["S3DataSource"], &source["FileSystemDataSource"]);
    let (keys, remarks) = match file_system(in_files) {
        _ if in_s3.is_object() => of_s3(name, channel, in_s3, job_mode),
        Some(uri) => (
            vec![("uri", yaml::text(&uri)), ("sample", "false".to_owned())],
            vec!["a file system is not listed, so canaries read all of it".to_owned()],
        ),
        None => {
            let place = text(&in_files["FileSystemType"]);
            let place = place.unwrap_or("neither S3 nor a file system");
            let why = format!("Left out, no spec can name its data ({place}): channel {name}");
            return format!("\n        # {}", yaml::remark(&why));
        }
    };
    let keys = keys.iter().map(|(key, value)| format!("{key}: {value}"));
    let keys = joined(keys, ", ");
    let remarks = only_where(!remarks.is_empty(), || {
        format!("    # {}", yaml::remark(&remarks.join("; ")))
    });
    let name = yaml::text(name);
    format!("\n        {name}: {{{keys}}}{remarks}")
}

/// The keys of a channel in S3 with their values, and remarks.
fn of_s3(
    name: &str,
    channel: &Value,
    data: &Value,
    job_mode: Option<&str>,
) -> (Vec<(&'static str, String)>, Vec<String>) {
    let (mut keys, mut remarks) = (Vec::new(), Vec::new());
    let mut key = |key, value: Option<&str>| {
        keys.extend(value.map(|value| (key, yaml::text(value))));
    };
    let (uri, kind) = (text(&data["S3Uri"]).unwrap_or_default(), data_type(data));
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
    let mode = text(&channel["InputMode"]).or(job_mode);
    match mode {
        Some(mode @ ("FastFile" | "Pipe")) => key("mode", Some(mode)),
        None | Some("File") => {}
        Some(other) => remarks.push(format!("the job's mode is {other}")),
    }
    key("content_type", text(&channel["ContentType"]));
    let distribution = text(&data["S3DataDistributionType"]);
    let sharded = distribution.filter(|kind| *kind == "ShardedByS3Key");
    key("distribution", sharded);
    let groups = yaml_of(&data["InstanceGroupNames"]);
    keys.extend(groups.map(|groups| ("groups", groups)));
    if matches!(name, CODE | DRIVERS) {
        keys.push(("sample", "false".to_owned()));
    }
    if name == DRIVERS {
        remarks.push("what the SDK packed to start the code, as it was in this job".to_owned());
    }
    (keys, remarks)
}

/// The address of a channel on EFS or FSx; `None` where a spec cannot name it.
fn file_system(data: &Value) -> Option<String> {
    let scheme = match text(&data["FileSystemType"])? {
        "EFS" => "efs",
        "FSxLustre" => "fsx",
        _ => return None,
    };
    let directory = data["DirectoryPath"].as_str().unwrap_or_default();
    let directory = directory.trim_start_matches('/');
    let uri = format!("{scheme}://{}/{directory}", text(&data["FileSystemId"])?);
    matches!(FileSystem::of_uri(&uri), Some(Ok(_))).then_some(uri)
}
