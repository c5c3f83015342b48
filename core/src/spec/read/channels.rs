//! Input channels: where the data lies and how canaries take a share of it.

use super::{Instances, S3Address, SpecReader, group_names, limits};
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, Located, quoted};
use crate::spec::raw::{self, Plain};
use crate::spec::{
    Channel, ChannelSample, Compression, DataType, Distribution, FileSystem, InputMode,
    RecordWrapper, SampledBy,
};

impl SpecReader<'_> {
    pub(in crate::spec) fn channels(
        &mut self,
        channels: Located<raw::Map<raw::RawChannel>>,
        instances: Option<&Instances>,
        in_vpc: bool,
        sampling: SampledBy,
    ) -> Vec<Channel> {
        let at = channels.at;
        let count = channels.value.names.len();
        if sampling == SampledBy::Gate && count < *limits::CHANNELS.start() {
            self.findings.wrong(&at, "there is no channel to train on");
        }
        self.at_most_many(&at, "channels", count, *limits::CHANNELS.end());
        self.check_groups(&channels.value, &at, instances);
        self.check_partners(&channels.value, sampling);
        let entries = channels.value.entries.into_iter();
        let channels: Vec<Channel> = entries
            .filter_map(|entry| self.channel(entry.name, entry.value.value, in_vpc, sampling))
            .collect();
        if sampling == SampledBy::Gate
            && !channels.is_empty()
            && channels.iter().all(|channel| !channel.sample.is_drawn())
        {
            let in_file_system = |channel: &Channel| FileSystem::of_uri(&channel.uri).is_some();
            let help = if channels.iter().all(in_file_system) {
                "put the data that grows into S3: a canary takes its share from there; or write `work`, so that canaries do less of it"
            } else {
                "remove `sample: false` from the channel that grows with the data; or write `work`, so that canaries do less of it"
            };
            let message = "no channel is sampled, so a canary would be a full run";
            self.findings.wrong_with_help(&at, message, help);
        }
        channels
    }

    fn channel(
        &mut self,
        name: Located<String>,
        raw: raw::RawChannel,
        in_vpc: bool,
        sampling: SampledBy,
    ) -> Option<Channel> {
        if !limits::is_channel_name(&name.value) {
            self.findings.wrong(
                &name.at,
                "a channel's name is 1 to 64 letters, digits, dots, hyphens and underscores",
            );
        }
        let mode = (raw.mode.as_ref()).map_or(InputMode::File, |mode| mode.value.0);
        let uri = raw.uri.as_ref()?;
        let file_system = FileSystem::of_uri(&uri.value.0);
        if self.is_on(RunPlace::This) {
            if uri.value.0.starts_with("s3:") || file_system.is_some() {
                self.findings.wrong_with_help(
                    &uri.at,
                    format!("{} is not a path", quoted(&uri.value.0)),
                    format!(
                        "{} reads files: write a folder's path, or choose `backend: sagemaker`",
                        self.backend_words()
                    ),
                );
            } else {
                self.data_path(uri);
            }
        } else if let Some(file_system) = file_system {
            self.file_system(&raw, uri, file_system.err(), in_vpc);
        } else if self.is_on(RunPlace::Cloud) || uri.value.0.starts_with("s3:") {
            self.findings.form::<S3Address>(&uri.at, &uri.value.0);
            if mode == InputMode::FastFile && !uri.value.0.ends_with('/') {
                self.findings.warn(
                    &uri.at,
                    "FastFile reads whole folders: end the address with `/`",
                );
            }
        } else {
            self.data_path(uri);
        }
        if let Some(written) = &raw.mode
            && self.is_on(RunPlace::This)
        {
            match mode {
                InputMode::File => {}
                InputMode::FastFile => {
                    let message = format!("{} reads it as `File`", self.backend_words());
                    self.findings.warn(&written.at, message);
                }
                InputMode::Pipe => {
                    let message = format!("{} has no pipe mode", self.backend_words());
                    (self.findings).wrong_with_help(&written.at, message, "write `mode: File`");
                }
            }
        }
        if let Some(content_type) = &raw.content_type {
            let (at, text) = (&content_type.at, &content_type.value.0);
            self.at_most(at, "a content type", text, limits::CONTENT_TYPE);
        }
        self.check_packing(&raw, mode);
        if let Some(kind) = &raw.data_type {
            self.check_data_type(kind, mode, FileSystem::of_uri(&uri.value.0).is_some());
        }
        self.check_rows(&raw);
        let sample = raw.sample.map(Plain::plain);
        let sample = sample.unwrap_or_else(|| sampling.default_sample());
        let draw = self.draw(raw.always, raw.draw_with, raw.by, raw.order, sample);
        Some(Channel {
            name: name.value,
            uri: raw.uri?.plain(),
            data_type: raw.data_type.map(Plain::plain).unwrap_or_default(),
            mode,
            content_type: raw.content_type.map(Plain::plain),
            distribution: raw.distribution.map(Plain::plain).unwrap_or_default(),
            compression: raw.compression.map(Plain::plain).unwrap_or_default(),
            record_wrapper: raw.record_wrapper.map(Plain::plain).unwrap_or_default(),
            sample,
            draw,
            groups: raw.groups.map_or(Vec::new(), Plain::plain),
        })
    }

    /// SageMaker unpacks and wraps what it pipes, and nothing else.
    fn check_packing(&mut self, raw: &raw::RawChannel, mode: InputMode) {
        let packed = [
            (raw.compression.as_ref())
                .map(|packed| (&packed.at, packed.value.0 != Compression::None)),
            (raw.record_wrapper.as_ref())
                .map(|packed| (&packed.at, packed.value.0 != RecordWrapper::None)),
        ];
        for (at, is_packed) in packed.into_iter().flatten() {
            if self.is_on(RunPlace::This) {
                self.no_effect(at);
            } else if is_packed && mode != InputMode::Pipe {
                self.findings.wrong_with_help(
                    at,
                    "SageMaker unpacks and wraps what it pipes only",
                    "write `mode: Pipe`, or remove the key: in another mode the script gets the objects as they are",
                );
            }
        }
    }

    /// What lists objects can be drawn from line by line, and what describes them too cannot.
    fn check_data_type(
        &mut self,
        kind: &Located<raw::Choice<DataType>>,
        mode: InputMode,
        is_file_system: bool,
    ) {
        let problem = match kind.value.0 {
            DataType::Prefix => None,
            _ if self.is_on(RunPlace::This) || is_file_system => Some((
                "a manifest lists objects in S3".to_owned(),
                "remove `data_type`, and let `uri` name the folder of the data",
            )),
            DataType::AugmentedManifest => Some((
                "an augmented manifest cannot be sampled: SageMaker streams it with attribute names, which a spec cannot say".to_owned(),
                "name the objects' prefix as `uri` and their labels under `always`, or list the objects in a `ManifestFile`; or write `share` if the script can draw its own share",
            )),
            DataType::Manifest if mode == InputMode::FastFile => Some((
                "FastFile reads whole folders, not manifests".to_owned(),
                "write `mode: File`",
            )),
            DataType::Manifest => None,
        };
        if let Some((message, help)) = problem {
            self.findings.wrong_with_help(&kind.at, message, help);
        }
    }

    /// A canary's rows are a file of its own, which no machine gets a part of.
    fn check_rows(&mut self, raw: &raw::RawChannel) {
        let (sample, distribution) = (raw.sample.as_ref(), raw.distribution.as_ref());
        if let Some(sharded) =
            distribution.filter(|choice| choice.value.0 == Distribution::ShardedByS3Key)
            && sample.is_some_and(|sample| sample.value.0 == ChannelSample::Rows)
        {
            self.findings.wrong_with_help(
                &sharded.at,
                "`ShardedByS3Key` divides whole objects among machines, and `sample: rows` is for one object or a few",
                "remove `distribution`, or split the data into objects and write `sample: true`",
            );
        }
    }

    /// A directory of a file system: whole in every canary, mounted on every machine, and reached through a VPC.
    fn file_system(
        &mut self,
        raw: &raw::RawChannel,
        uri: &Located<raw::Text>,
        problem: Option<&str>,
        in_vpc: bool,
    ) {
        if let Some(problem) = problem {
            self.findings.wrong_with_help(
                &uri.at,
                format!("{} {problem}", quoted(&uri.value.0)),
                "write `fsx://fs-0123456789abcdef0/mount/path` or `efs://fs-0123456789abcdef0/path`",
            );
        }
        let sample = raw.sample.as_ref();
        if sample.is_none_or(|sample| sample.value.0.is_drawn()) {
            self.findings.wrong_with_help(
                sample.map_or(&uri.at, |sample| &sample.at),
                "a canary cannot take a share of a file system's files",
                "write `sample: false`, so that every canary gets them all, or put the data into S3",
            );
        }
        if let Some(groups) = &raw.groups {
            self.findings.wrong_with_help(
                &groups.at,
                "a file system is mounted on the machines of all groups",
                "remove `groups` from all channels, or put the data into S3",
            );
        }
        if let Some(mode) = &raw.mode
            && mode.value.0 != InputMode::File
        {
            self.findings.wrong_with_help(
                &mode.at,
                "a file system is read in mode File only",
                "remove `mode`",
            );
        }
        if let Some(distribution) = &raw.distribution
            && distribution.value.0 != Distribution::FullyReplicated
        {
            self.findings.wrong_with_help(
                &distribution.at,
                "a file system is whole on every machine",
                "remove `distribution`",
            );
        }
        if !in_vpc {
            self.findings.wrong_with_help(
                &uri.at,
                "a file system is reached through a VPC",
                "write `subnets` and `security_groups` under `training`",
            );
        }
    }

    /// SageMaker wants groups on every channel or on none, and each must exist.
    fn check_groups(
        &mut self,
        channels: &raw::Map<raw::RawChannel>,
        at: &At,
        instances: Option<&Instances>,
    ) {
        let with_groups = channels
            .entries
            .iter()
            .filter(|entry| entry.value.value.groups.is_some());
        let count = with_groups.clone().count();
        if count > 0 && count < channels.entries.len() {
            self.findings
                .wrong(at, "`groups` must stand on every channel or on none");
        }
        if instances.is_none() {
            return;
        }
        let clusters = group_names(instances);
        for groups in with_groups
            .clone()
            .filter_map(|entry| entry.value.value.groups.as_ref())
        {
            if clusters.is_empty() {
                self.findings.wrong(
                    &groups.at,
                    "neither `instance` nor `alternatives` has instance groups",
                );
                continue;
            }
            self.at_most_of(Some(groups), "groups", limits::GROUPS);
            for group in &groups.value.0 {
                let name = group.value.0.as_str();
                if let Some(cluster) = clusters.iter().find(|cluster| !cluster.contains(&name)) {
                    let known = cluster.iter().copied();
                    (self.findings).unknown(
                        &group.at,
                        name,
                        "names no instance group",
                        known,
                        None,
                    );
                }
            }
        }
        if count == 0 {
            return;
        }
        let named: Vec<&str> = with_groups
            .filter_map(|entry| entry.value.value.groups.as_ref())
            .flat_map(|groups| groups.value.0.iter().map(|group| group.value.0.as_str()))
            .collect();
        let all = clusters.iter().flatten().copied();
        let mut unreached: Vec<&str> = all.filter(|group| !named.contains(group)).collect();
        unreached.sort_unstable();
        unreached.dedup();
        for group in unreached {
            self.findings.warn(
                at,
                format!(
                    "no channel names the instance group {}, so its machines get no data; where they need some, add it to the `groups` of a channel",
                    quoted(group)
                ),
            );
        }
    }
}
