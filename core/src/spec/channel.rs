//! One input channel: where its objects are, how the script gets them, and what a canary gets of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::{FieldRule, fields};
use super::{ChannelDraw, Compression, RecordWrapper};

/// What another draw means.
pub(super) const DRAWS: &str = "It is how the data of a canary are drawn.";

/// How a channel's objects reach the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InputMode {
    File,
    FastFile,
    Pipe,
}

/// How objects are divided among several machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Distribution {
    #[default]
    FullyReplicated,
    ShardedByS3Key,
}

fields! {
    /// One input channel.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Channel {
        pub name: String = FieldRule::HEAD,
        /// An `s3://` prefix or, with [`FileSystem::of_uri`](super::FileSystem::of_uri), a directory of a file system; a path locally.
        pub uri: String = FieldRule::UNCOMPARED,
        /// What `uri` is the address of, in S3.
        pub data_type: DataType = FieldRule::HEAD,
        pub mode: InputMode = FieldRule::HEAD.setting(),
        pub content_type: Option<String> = FieldRule::HEAD,
        pub distribution: Distribution = FieldRule::HEAD.setting(),
        pub compression: Compression = FieldRule::HEAD.setting(),
        pub record_wrapper: RecordWrapper = FieldRule::HEAD.setting(),
        pub sample: ChannelSample = FieldRule::named(DRAWS).setting(),
        /// Which of its objects a canary gets, where it is sampled.
        pub draw: ChannelDraw = FieldRule::named(DRAWS).setting(),
        /// The instance groups that get it; empty: all.
        pub groups: Vec<String> = FieldRule::HEAD,
    }
}

/// What the address of a channel in S3 names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataType {
    /// All objects whose keys begin so.
    #[default]
    Prefix,
    /// A file that lists objects: `[{"prefix": "s3://bucket/images/"}, "cats/01.jpg"]`.
    Manifest,
    /// A file of JSON lines, each with the address of an object and its labels. It is refused.
    AugmentedManifest,
}

/// What a canary gets of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelSample {
    /// All of it.
    Whole,
    /// A draw of its objects.
    Objects,
    /// A draw of the rows of its one object, or of each of a few.
    Rows,
}

impl ChannelSample {
    /// As a sentence says it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Objects => "by objects",
            Self::Rows => "rows",
        }
    }

    /// Whether a canary gets a share.
    pub fn is_drawn(self) -> bool {
        self != Self::Whole
    }
}

/// How the `uri` of local data outside the checkout begins.
pub const ON_THIS_MACHINE: &str = "file://";
