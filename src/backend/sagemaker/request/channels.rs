//! The channels of a request: manifests, prefixes, file systems, and the code of a container without network.

use aws_sdk_sagemaker::types;

use super::{Launch, Script};
use crate::backend::BackendError;
use crate::spec::{Channel, DataType, Distribution, FileSystem, FileSystemKind, InputMode, Words};

/// What SageMaker takes.
const CHANNELS: usize = 20;

/// Where a container without network finds the code: on a channel of this name.
const CODE_CHANNEL: &str = "code";

/// One channel and where its objects are.
#[derive(Debug, Clone)]
pub(in super::super) struct Input<'a> {
    channel: &'a Channel,
    source: ChannelSource,
    mode: InputMode,
}

/// Where objects come from.
#[derive(Debug, Clone, PartialEq)]
enum ChannelSource {
    /// The `s3://` address of a manifest.
    Manifest(String),
    /// An `s3://` prefix: every key that begins with it.
    Prefix(String),
    FileSystem(FileSystem),
}

impl<'a> Input<'a> {
    /// A channel as it is written, whole.
    pub(in super::super) fn whole(channel: &'a Channel) -> Self {
        match FileSystem::of_uri(&channel.uri) {
            Some(Ok(file_system)) => Self {
                channel,
                source: ChannelSource::FileSystem(file_system),
                // It is mounted, which SageMaker calls the mode of files.
                mode: InputMode::File,
            },
            _ if channel.data_type == DataType::Manifest => {
                Self::of_manifest(channel, channel.uri.clone())
            }
            _ => Self::of_prefix(channel, channel.uri.clone()),
        }
    }

    /// The objects below an `s3://` prefix in place of the channel's own, such as copies of a sample.
    pub(in super::super) fn of_prefix(channel: &'a Channel, uri: String) -> Self {
        Self {
            channel,
            source: ChannelSource::Prefix(uri),
            mode: channel.mode,
        }
    }

    /// The objects of a manifest. FastFile reads none, so such a channel comes in File mode, which starts more slowly.
    pub(in super::super) fn of_manifest(channel: &'a Channel, uri: String) -> Self {
        Self {
            channel,
            source: ChannelSource::Manifest(uri),
            mode: match channel.mode {
                InputMode::FastFile => InputMode::File,
                mode => mode,
            },
        }
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
pub(super) fn of(launch: &Launch<'_>) -> Result<Vec<types::Channel>, BackendError> {
    let groups = ChannelGroups::of(launch);
    let mut channels: Vec<types::Channel> = (launch.inputs.iter())
        .map(|input| channel(input, &groups))
        .collect();
    let Some(script) = launch.script else {
        return Ok(channels);
    };
    if !launch.job.training.sagemaker.network_isolation {
        return Ok(channels);
    }
    let field = format!("jobs.{}.training.channels", launch.job.name);
    let mut inputs = launch.inputs.iter();
    if inputs.any(|input| input.channel.name == CODE_CHANNEL) {
        return Err(BackendError::new(
            format!(
                "{field}.{CODE_CHANNEL}: with `network_isolation` the script itself comes on a channel of this name"
            ),
            "give the channel another name",
        ));
    }
    if channels.len() >= CHANNELS {
        return Err(BackendError::new(
            format!(
                "{field}: {} channels; SageMaker takes {CHANNELS}, and with `network_isolation` the script comes \
                 on one of them",
                channels.len()
            ),
            "put two channels under one prefix",
        ));
    }
    let source = s3_source(
        types::S3DataType::S3Prefix,
        &script.archive,
        Distribution::FullyReplicated,
        groups.of_all(),
    );
    channels.push(
        types::Channel::builder()
            .channel_name(CODE_CHANNEL)
            .data_source(source)
            .input_mode(types::TrainingInputMode::File)
            .build(),
    );
    Ok(channels)
}

/// The names of groups that a request's channels are for: SageMaker wants them on every channel or on none, our own included.
struct ChannelGroups<'a> {
    /// Of the configuration, where a channel names groups; none where no channel does, or where there are none.
    all: Vec<&'a str>,
}

impl<'a> ChannelGroups<'a> {
    fn of(launch: &Launch<'a>) -> Self {
        let mut inputs = launch.inputs.iter();
        let is_named = inputs.any(|input| !input.channel.groups.is_empty());
        let groups = launch.run.instance.groups().iter();
        Self {
            all: groups
                .filter(|_| is_named)
                .map(|group| group.name.as_str())
                .collect(),
        }
    }

    /// Of a channel that all machines need.
    fn of_all(&self) -> Option<Vec<String>> {
        self.named(|_| true)
    }

    fn of_channel(&self, channel: &Channel) -> Option<Vec<String>> {
        self.named(|group| {
            channel.groups.is_empty() || channel.groups.iter().any(|own| own == group)
        })
    }

    fn named(&self, is_meant: impl Fn(&str) -> bool) -> Option<Vec<String>> {
        let groups = self.all.iter().filter(|group| is_meant(group));
        let groups: Vec<String> = groups.map(|group| (*group).to_owned()).collect();
        // A list of none is refused.
        (!groups.is_empty()).then_some(groups)
    }
}

fn channel(input: &Input<'_>, groups: &ChannelGroups<'_>) -> types::Channel {
    let builder = types::Channel::builder()
        .channel_name(&input.channel.name)
        .set_content_type(input.channel.content_type.clone());
    let s3 = |kind, uri: &str| {
        let groups = groups.of_channel(input.channel);
        s3_source(kind, uri, input.channel.distribution, groups)
    };
    let builder = match &input.source {
        ChannelSource::Manifest(uri) => {
            builder.data_source(s3(types::S3DataType::ManifestFile, uri))
        }
        ChannelSource::Prefix(uri) => builder.data_source(s3(types::S3DataType::S3Prefix, uri)),
        ChannelSource::FileSystem(file_system) => {
            builder.data_source(file_system_source(file_system))
        }
    };
    let builder = match &input.source {
        ChannelSource::FileSystem(_) => builder,
        ChannelSource::Manifest(_) | ChannelSource::Prefix(_) => builder
            .compression_type(input.channel.compression.word().into())
            .record_wrapper_type(input.channel.record_wrapper.word().into()),
    };
    builder.input_mode(input.mode.word().into()).build()
}

fn s3_source(
    kind: types::S3DataType,
    uri: &str,
    distribution: Distribution,
    groups: Option<Vec<String>>,
) -> types::DataSource {
    let source = types::S3DataSource::builder()
        .s3_data_type(kind)
        .s3_uri(uri)
        .s3_data_distribution_type(distribution.word().into())
        .set_instance_group_names(groups)
        .build();
    types::DataSource::builder().s3_data_source(source).build()
}

fn file_system_source(file_system: &FileSystem) -> types::DataSource {
    let kind = match file_system.kind {
        FileSystemKind::Efs => types::FileSystemType::Efs,
        FileSystemKind::FsxLustre => types::FileSystemType::Fsxlustre,
    };
    let source = types::FileSystemDataSource::builder()
        .file_system_id(&file_system.id)
        .file_system_type(kind)
        // A canary must leave the data as it found it.
        .file_system_access_mode(types::FileSystemAccessMode::Ro)
        .directory_path(&file_system.directory)
        .build();
    types::DataSource::builder()
        .file_system_data_source(source)
        .build()
}
