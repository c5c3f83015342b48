//! One input channel: where its objects are, how the script gets them, and what a canary gets of them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::draw::{ChannelDraw, DrawKeys};
use super::field::FieldRule;
use super::keys::{List, Map, mapping};
use super::kind::{Definitions, Kind, Refined, Text, words};
use super::limits::{self, s3_uri_problem};
use super::reader::{At, Reader, quoted, rules};
use super::share::SampledBy;
use super::yaml::Node;
use super::{FileSystem, RunPlace, file_system};

const NO_SHARE: &str = "a canary cannot take a share of a file system's files";
const WRITE_WHOLE: &str =
    "write `sample: false`, so that every canary gets them all, or put the data into S3";

/// What another draw means.
pub(super) const DRAWS: &str = "It is how the data of a canary are drawn.";

words! {
    /// How a channel's objects reach the script.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum InputMode {
        #[default]
        "File" File,
        "FastFile" FastFile,
        "Pipe" Pipe,
    }

    /// How objects are divided among several machines.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum Distribution {
        #[default]
        "FullyReplicated" FullyReplicated,
        "ShardedByS3Key" ShardedByS3Key,
    }

    /// What the address of a channel in S3 names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum DataType {
        /// All objects whose keys begin so.
        #[default]
        "S3Prefix" Prefix,
        /// A file that lists objects: `[{"prefix": "s3://bucket/images/"}, "cats/01.jpg"]`.
        "ManifestFile" Manifest,
        /// A file of JSON lines, each with the address of an object and its labels. It is refused.
        "AugmentedManifestFile" AugmentedManifest,
    }
}

/// What a canary gets of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, derive_more::Display)]
pub enum ChannelSample {
    /// All of it.
    #[display("whole")]
    Whole,
    /// A draw of its objects.
    #[default]
    #[display("by objects")]
    Objects,
    /// A draw of the rows of its one object, or of each of a few.
    #[display("rows")]
    Rows,
}

impl Channel {
    /// Whether what is written below `output` would be read as data of this channel.
    pub(super) fn holds(&self, output: &str) -> bool {
        let output = format!("{}/", output.trim_end_matches('/'));
        self.uri.starts_with("s3://") && output.starts_with(self.uri.as_str())
    }
}

impl ChannelSample {
    /// Whether a canary gets a share.
    pub fn is_drawn(self) -> bool {
        self != Self::Whole
    }
}

impl Kind for ChannelSample {
    type Value = Self;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        let words = [
            (json!(true), Self::Objects),
            (json!(false), Self::Whole),
            (json!("rows"), Self::Rows),
        ];
        reader.one_of(&words, node, at)
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "enum": [true, false, "rows"] })
    }
}

/// How the `uri` of local data outside the checkout begins.
pub const ON_THIS_MACHINE: &str = "file://";

mapping! {
    /// One input channel.
    pub struct Channel named "Channel" {
        beside name: String => FieldRule::HEAD;
        /// The place of the data: an `s3://bucket/prefix/`; locally a path. With `sample: false` also a file system of
        /// SageMaker's, `fsx://fs-0123456789abcdef0/mount/path` or `efs://fs-0123456789abcdef0/path`.
        needed uri: Text as String => FieldRule::UNCOMPARED;
        /// What the `uri` is the address of: `S3Prefix` of objects, or a `ManifestFile` that lists them, of whose lines canaries
        /// get a share. Default: S3Prefix.
        plain data_type: DataType => FieldRule::HEAD;
        /// The input mode: how objects reach the script. Default: File.
        plain mode: InputMode => FieldRule::HEAD.setting();
        /// The MIME type that the script receives, for instance `text/csv`.
        optional content_type: Text as String => FieldRule::HEAD;
        /// The way in which objects are divided among several machines. Default: FullyReplicated.
        plain distribution: Distribution => FieldRule::HEAD.setting();
        /// Whether canaries take a sample of the channel; if not, every canary reads all of it. With `rows` they take a sample of
        /// the rows of its object, or of each of a few: CSV, TSV, JSON lines, text, Parquet by row groups. Default: true.
        plain sample: ChannelSample => FieldRule::named(DRAWS).setting();
        with draw: DrawKeys as ChannelDraw => FieldRule::named(DRAWS).setting();
        /// The instance groups that get the channel. Default: all.
        plain groups: List<Text> as Vec<String> => FieldRule::HEAD;
    }
}

/// Channels by their names.
pub(super) enum Channels {}

impl Refined for Channels {
    type Of = Map<Channel>;
    type Value = Vec<Channel>;

    fn refine(read: Vec<(String, Channel)>, _: &At, _: &mut Reader<'_>) -> Option<Vec<Channel>> {
        let named = read.into_iter();
        let named = named.map(|(name, channel)| Channel { name, ..channel });
        Some(named.collect())
    }
}

impl Reader<'_> {
    /// Checks the channels below `at`, and gives each its sample.
    pub(super) fn channels(
        &mut self,
        at: &At,
        channels: &mut Vec<Channel>,
        in_vpc: bool,
        sampling: SampledBy,
    ) {
        let count = channels.len();
        if sampling == SampledBy::Gate && count < *limits::CHANNELS.start() && !self.is_wrong(at) {
            self.wrong(at, "there is no channel to train on");
        }
        self.too_many(at, "channels", count, *limits::CHANNELS.end());
        for channel in &mut *channels {
            let is_written = self.is_written(&at.key(&channel.name).key("sample"));
            if sampling == SampledBy::Script && !is_written {
                channel.sample = ChannelSample::Whole;
            }
        }
        self.check_groups(at, channels);
        self.check_partners(at, channels);
        for channel in &*channels {
            self.check_channel(&at.key(&channel.name), channel, in_vpc);
        }
        channels.retain(|channel| !channel.uri.is_empty());
        let is_undrawn = !channels.is_empty() && channels.iter().all(|it| !it.sample.is_drawn());
        let in_file_system = |channel: &Channel| FileSystem::of_uri(&channel.uri).is_some();
        let way = match channels.iter().all(in_file_system) {
            true => "put the data that grows into S3: a canary takes its share from there",
            false => "remove `sample: false` from the channel that grows with the data",
        };
        rules! { self, at;
            refuse "" if sampling == SampledBy::Gate && is_undrawn =>
                "no channel is sampled, so a canary would be a full run",
                format!("{way}; or write `work`, so that canaries do less of it");
        }
    }

    fn check_channel(&mut self, at: &At, channel: &Channel, in_vpc: bool) {
        if !limits::is_channel_name(&channel.name) {
            let message = "a channel's name is 1 to 64 letters, digits, dots, hyphens and underscores, and not `.` or `..`";
            self.wrong(&at.own_name(), message);
        }
        let Channel { uri, mode, .. } = channel;
        if uri.is_empty() {
            return;
        }
        let uri_at = at.key("uri");
        let file_system = FileSystem::of_uri(uri);
        let is_here = self.is_on(RunPlace::This);
        let is_s3 = uri.starts_with("s3:");
        match &file_system {
            Some(file_system) if !is_here => {
                let problem = file_system.as_ref().err();
                self.form(&uri_at, uri, problem.map(|what| (*what, file_system::HELP)));
                self.check_file_system(at, channel, in_vpc);
            }
            None if !is_here && (is_s3 || self.is_on(RunPlace::Cloud)) => {
                self.form(&uri_at, uri, s3_uri_problem(uri));
            }
            None if !is_s3 => self.data_path(&uri_at, uri),
            _ => {
                let help = format!(
                    "{} reads files: write a folder's path, or choose `backend: sagemaker`",
                    self.backend_words()
                );
                self.refuse(&uri_at, format!("{} is not a path", quoted(uri)), help);
            }
        }
        let content_type = channel.content_type.as_deref().unwrap_or_default();
        let (what, most) = ("a content type", limits::CONTENT_TYPE);
        self.too_long(&at.key("content_type"), what, content_type, most);
        let is_manifest = channel.data_type == DataType::Manifest;
        let lists_objects = channel.data_type != DataType::Prefix;
        let is_in_s3 = !is_here && file_system.is_none();
        rules! { self, at;
            warn "uri" if is_s3 && !is_here && *mode == InputMode::FastFile && !uri.ends_with('/') =>
                "FastFile reads whole folders: end the address with `/`";
            warn "mode" if is_here && *mode == InputMode::FastFile =>
                format!("{} reads it as `File`", self.backend_words());
            refuse "mode" if is_here && *mode == InputMode::Pipe =>
                format!("{} has no pipe mode", self.backend_words()), "write `mode: File`";
            refuse "data_type" if lists_objects && !is_in_s3 =>
                "a manifest lists objects in S3", "remove `data_type`, and let `uri` name the folder of the data";
            // What lists objects can be drawn from line by line, and what describes them too cannot.
            refuse "data_type" if lists_objects && !is_manifest && is_in_s3 =>
                "an augmented manifest cannot be sampled: SageMaker streams it with attribute names, which a spec cannot say",
                "name the objects' prefix as `uri` and their labels under `always`, or list the objects in a `ManifestFile`; or write `share` if the script can draw its own share";
            refuse "data_type" if is_manifest && is_in_s3 && *mode == InputMode::FastFile =>
                "FastFile reads whole folders, not manifests", "write `mode: File`";
            // A canary's rows are a file of its own, which no machine gets a part of.
            refuse "distribution" if channel.distribution == Distribution::ShardedByS3Key && channel.sample == ChannelSample::Rows =>
                "`ShardedByS3Key` divides whole objects among machines, and `sample: rows` is for one object or a few",
                "remove `distribution`, or split the data into objects and write `sample: true`";
        }
        self.check_draw(at, channel);
    }

    /// A directory of a file system: whole in every canary, mounted on every machine, and reached through a VPC.
    fn check_file_system(&mut self, at: &At, channel: &Channel, in_vpc: bool) {
        let is_said = self.is_written(&at.key("sample"));
        rules! { self, at;
            refuse "sample" if is_said && channel.sample.is_drawn() => NO_SHARE, WRITE_WHOLE;
            refuse "uri" if !is_said => NO_SHARE, WRITE_WHOLE;
            refuse "groups" if self.is_written(&at.key("groups")) =>
                "a file system is mounted on the machines of all groups",
                "remove `groups` from all channels, or put the data into S3";
            refuse "mode" if channel.mode != InputMode::File =>
                "a file system is read in mode File only", "remove `mode`";
            refuse "distribution" if channel.distribution != Distribution::FullyReplicated =>
                "a file system is whole on every machine", "remove `distribution`";
            refuse "uri" if !in_vpc =>
                "a file system is reached through a VPC", "write `subnets` and `security_groups` under `training`";
        }
    }

    /// SageMaker wants groups on every channel or on none, and each must exist.
    fn check_groups(&mut self, at: &At, channels: &[Channel]) {
        let groups_at = |channel: &Channel| at.key(&channel.name).key("groups");
        let has_some = |it: &&Channel| self.has(&groups_at(it)) || !it.groups.is_empty();
        let with_groups: Vec<&Channel> = channels.iter().filter(has_some).collect();
        let count = with_groups.len();
        if count > 0 && count < channels.len() {
            self.wrong(at, "`groups` must stand on every channel or on none");
        }
        if self.instances.is_empty() || count == 0 {
            return;
        }
        let clusters = self.clusters();
        for channel in &with_groups {
            let at = groups_at(channel);
            if clusters.is_empty() {
                let message = "neither `instance` nor `alternatives` has instance groups";
                self.wrong(&at, message);
                continue;
            }
            self.too_many(&at, "groups", channel.groups.len(), limits::GROUPS);
            self.known_groups(&at, &channel.groups, &clusters);
        }
        let named: Vec<&String> = with_groups.iter().flat_map(|it| &it.groups).collect();
        let all: BTreeSet<&String> = clusters.iter().flatten().collect();
        for group in all.into_iter().filter(|group| !named.contains(group)) {
            let group = quoted(group);
            self.warn(at, format!("no channel names the instance group {group}, so its machines get no data; where they need some, add it to the `groups` of a channel"));
        }
    }

    /// Each of the groups in a list must be in every configuration that has groups.
    pub(super) fn known_groups(&mut self, at: &At, groups: &[String], clusters: &[Vec<String>]) {
        for (index, name) in groups.iter().enumerate() {
            let mut lacking = clusters.iter().filter(|cluster| !cluster.contains(name));
            if let Some(cluster) = lacking.next() {
                let (at, what) = (at.item(index), "names no instance group");
                self.unknown(&at, name, what, cluster.iter().map(String::as_str), None);
            }
        }
    }
}
