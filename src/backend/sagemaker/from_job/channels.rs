//! The channels of the job: data, file systems, and what the SDK brings its code on.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;
use aws_sdk_sagemaker::types::{Channel, FileSystemDataSource, S3DataSource};

use super::is_script;
use crate::spec::FileSystem;
use crate::spec::page::{FILL_IN, SpecPage};
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
    let is_archive = [".tar.gz", ".tgz", ".zip"]
        .iter()
        .any(|end| uri.ends_with(end));
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

pub(super) fn write(page: &mut SpecPage, job: &DescribeTrainingJobOutput) {
    // Canary-gate brings the code itself.
    let is_code = is_script(job) || source(job).is_some();
    let channels = || {
        let all = job.input_data_config().iter();
        all.filter(|channel| !(is_code && channel.channel_name() == Some(CODE)))
    };
    if channels().next().is_none() {
        return;
    }
    page.remark(3, "Canaries get a sample of each channel; with `sample: false` a channel is whole in every canary.");
    page.line(3, "channels:");
    let algorithm = job.algorithm_specification();
    let job_mode = algorithm.and_then(|algorithm| algorithm.training_input_mode());
    let job_mode = job_mode.map(|mode| mode.as_str());
    for channel in channels() {
        write_channel(page, channel, job_mode);
    }
}

/// Whether there is data that a canary can sample.
pub(super) fn has_samples(job: &DescribeTrainingJobOutput) -> bool {
    job.input_data_config().iter().any(|channel| {
        let source = channel.data_source();
        let is_in_s3 = source.is_some_and(|source| source.s3_data_source().is_some());
        is_in_s3 && !matches!(channel.channel_name(), Some(CODE | DRIVERS))
    })
}

fn write_channel(page: &mut SpecPage, channel: &Channel, job_mode: Option<&str>) {
    let name = channel
        .channel_name()
        .filter(|name| !name.is_empty())
        .unwrap_or("train");
    let source = channel.data_source();
    if let Some(file_system) = source.and_then(|source| source.file_system_data_source()) {
        write_file_system(page, name, file_system);
        return;
    }
    let Some(data) = source.and_then(|source| source.s3_data_source()) else {
        let why = "Left out, since its data lies neither in S3 nor in a file system: channel";
        return page.remark(4, &format!("{why} {name}"));
    };
    if name == DRIVERS {
        page.remark(
            4,
            "What the SDK packed to start the code, with its command, requirements and distribution as they were in this job.",
        );
    }
    page.line(4, &format!("{}:", yaml::text(name)));
    let uri = data.s3_uri().unwrap_or_default();
    let kind = data_type(data);
    if can_be_named(data) {
        page.text(5, "uri", Some(uri));
        let other = Some(kind).filter(|kind| *kind != "S3Prefix");
        page.text(5, "data_type", other);
    } else {
        let instead = "a spec names the folder of the objects.";
        page.remark(5, &format!("The job reads the {kind} {uri}; {instead}"));
        let bucket = (uri.strip_prefix("s3://")).and_then(|rest| rest.split('/').next());
        let uri = format!("s3://{}/{FILL_IN}/", bucket.unwrap_or("my-bucket"));
        page.text(5, "uri", Some(&uri));
    }
    let mode = channel.input_mode().map(|mode| mode.as_str()).or(job_mode);
    match mode {
        Some(mode @ ("FastFile" | "Pipe")) => page.text(5, "mode", Some(mode)),
        None | Some("File") => {}
        Some(other) => page.remark(5, &format!("The job's mode is {other}.")),
    }
    page.text(5, "content_type", channel.content_type());
    if let Some("ShardedByS3Key") = data.s3_data_distribution_type().map(|kind| kind.as_str()) {
        page.line(5, "distribution: ShardedByS3Key");
    }
    page.list(5, "groups", data.instance_group_names());
    if matches!(name, CODE | DRIVERS) {
        page.line(5, "sample: false");
    }
    if channel.shuffle_config().is_some() {
        let unsaid = "A spec cannot say, and canaries go without: ShuffleConfig";
        page.remark(5, unsaid);
    }
    let compression = channel.compression_type().map(|kind| kind.as_str());
    let wrapper = channel.record_wrapper_type().map(|kind| kind.as_str());
    for (key, kind) in [("compression", compression), ("record_wrapper", wrapper)] {
        match kind.filter(|kind| *kind != "None") {
            None => {}
            Some(kind @ ("Gzip" | "RecordIO")) if mode == Some("Pipe") => {
                page.text(5, key, Some(kind));
            }
            Some(kind) => page.remark(
                5,
                &format!("The job says {kind}, which has a meaning in mode Pipe only."),
            ),
        }
    }
}

/// A channel on EFS or FSx, which every canary reads whole.
fn write_file_system(page: &mut SpecPage, name: &str, data: &FileSystemDataSource) {
    let kind = (data.file_system_type()).map_or("unknown", |kind| kind.as_str());
    let scheme = match kind {
        "EFS" => "efs",
        "FSxLustre" => "fsx",
        other => {
            let why = "Left out, since a spec cannot name its file system,";
            return page.remark(4, &format!("{why} {other}: channel {name}"));
        }
    };
    let directory = data.directory_path().unwrap_or_default();
    let directory = directory.trim_start_matches('/');
    let uri = format!(
        "{scheme}://{}/{directory}",
        data.file_system_id().unwrap_or_default()
    );
    if !matches!(FileSystem::of_uri(&uri), Some(Ok(_))) {
        let why = "Left out, since a spec cannot name its place,";
        return page.remark(4, &format!("{why} {uri}: channel {name}"));
    }
    page.line(4, &format!("{}:", yaml::text(name)));
    page.text(5, "uri", Some(&uri));
    let whole = "sample: false    # a file system is not listed, so canaries read all of it";
    page.line(5, whole);
}
