//! The channels of a request: manifests, prefixes, file systems, and the code of a container without network.

use aws_sdk_sagemaker::types;

use super::{Launch, Script};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::{Channel, ChannelSample, DataType, FileSystem, FileSystemKind, InputMode, Words};

/// Where a container without network finds the code: on a channel of this name.
const CODE_CHANNEL: &str = "code";

/// A channel that every canary gets whole, in File mode.
pub(in super::super) fn whole_channel(name: &str, uri: String) -> Channel {
    Channel {
        name: name.to_owned(),
        uri,
        sample: ChannelSample::Whole,
        ..Channel::default()
    }
}

/// Where the toolkit finds the archive: in S3, or where a container without network has it from a channel.
pub(super) fn code_directory(launch: &Launch<'_>, script: &Script) -> String {
    if launch.job.training.sagemaker.network_isolation {
        let file = script.archive.rsplit('/').next().unwrap_or_default();
        format!("/opt/ml/input/data/{CODE_CHANNEL}/{file}")
    } else {
        script.archive.clone()
    }
}

/// All channels of a job, and the code where it has no other way in.
pub(super) fn of(launch: &Launch<'_>) -> OutsideResult<Vec<types::Channel>> {
    let mut inputs = launch.inputs.to_vec();
    let is_isolated = launch.job.training.sagemaker.network_isolation;
    if let Some(script) = launch.script.filter(|_| is_isolated) {
        if inputs.iter().any(|input| input.name == CODE_CHANNEL) {
            return Err(OutsideError::of(format!(
                "jobs.{}.training.channels.{CODE_CHANNEL}: with `network_isolation` the script itself comes on a channel of this name",
                launch.job.name
            ))
            .help("give the channel another name"));
        }
        inputs.push(whole_channel(CODE_CHANNEL, script.archive.clone()));
    }
    // SageMaker wants groups on every channel or on none, our own included.
    let is_named = inputs.iter().any(|input| !input.groups.is_empty());
    let groups = launch.run.instance.groups().iter().filter(|_| is_named);
    let groups: Vec<String> = groups.map(|group| group.name.clone()).collect();
    let channels = inputs.iter().map(|input| channel(input, &groups));
    Ok(channels.collect())
}

/// `all` are the groups of the configuration, where any channel names some.
fn channel(input: &Channel, all: &[String]) -> types::Channel {
    let builder = types::Channel::builder()
        .channel_name(&input.name)
        .set_content_type(input.content_type.clone());
    if let Some(Ok(file_system)) = FileSystem::of_uri(&input.uri) {
        return builder
            .data_source(file_system_source(&file_system))
            // It is mounted, which SageMaker calls the mode of files.
            .input_mode(types::TrainingInputMode::File)
            .build();
    }
    let kind = match input.data_type {
        DataType::Manifest => types::S3DataType::ManifestFile,
        _ => types::S3DataType::S3Prefix,
    };
    let mode = match (input.data_type, input.mode) {
        // FastFile reads no manifest, so such a channel comes in File mode, which starts more slowly.
        (DataType::Manifest, InputMode::FastFile) => InputMode::File,
        (_, mode) => mode,
    };
    let is_meant = |group: &&String| input.groups.is_empty() || input.groups.contains(group);
    let groups: Vec<String> = all.iter().filter(is_meant).cloned().collect();
    let source = types::S3DataSource::builder()
        .s3_data_type(kind)
        .s3_uri(&input.uri);
    let source = source.s3_data_distribution_type(input.distribution.word().into());
    // A list of none is refused.
    let source = source.set_instance_group_names((!groups.is_empty()).then_some(groups));
    let source = types::DataSource::builder().s3_data_source(source.build());
    let builder = builder.data_source(source.build());
    builder.input_mode(mode.word().into()).build()
}

fn file_system_source(file_system: &FileSystem) -> types::DataSource {
    let kind = match file_system.kind {
        FileSystemKind::Efs => types::FileSystemType::Efs,
        FileSystemKind::FsxLustre => types::FileSystemType::Fsxlustre,
    };
    let source = types::FileSystemDataSource::builder().file_system_id(&file_system.id);
    // A canary must leave the data as it found it.
    let source = source.file_system_access_mode(types::FileSystemAccessMode::Ro);
    let source = source
        .file_system_type(kind)
        .directory_path(&file_system.directory);
    let builder = types::DataSource::builder();
    builder.file_system_data_source(source.build()).build()
}
