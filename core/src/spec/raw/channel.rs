//! One input channel as written.

use super::reader::{List, mapping};
use super::scalar::{Choice, Text, Words, WrittenSample};
use crate::spec::{
    Compression, DataType, Distribution, DrawOrder, DrawUnit, InputMode, RecordWrapper,
};

impl Words for DataType {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("S3Prefix", Self::Prefix),
        ("ManifestFile", Self::Manifest),
        ("AugmentedManifestFile", Self::AugmentedManifest),
    ];
}

impl Words for DrawUnit {
    const WORDS: &'static [(&'static str, Self)] = &[("folder", Self::Folder)];
}

impl Words for DrawOrder {
    const WORDS: &'static [(&'static str, Self)] =
        &[("random", Self::Random), ("last", Self::Last)];
}

impl Words for Compression {
    const WORDS: &'static [(&'static str, Self)] = &[("None", Self::None), ("Gzip", Self::Gzip)];
}

impl Words for RecordWrapper {
    const WORDS: &'static [(&'static str, Self)] =
        &[("None", Self::None), ("RecordIO", Self::RecordIo)];
}

mapping! {
    /// One input channel.
    pub(in crate::spec) struct RawChannel {
        /// The place of the data: an `s3://bucket/prefix/`; locally a path. With `sample: false` also a file system of
        /// SageMaker's, `fsx://fs-0123456789abcdef0/mount/path` or `efs://fs-0123456789abcdef0/path`.
        required uri: Text,
        /// What the `uri` is the address of: `S3Prefix` of objects, or a `ManifestFile` that lists them, of whose lines canaries
        /// get a share. Default: S3Prefix.
        optional data_type: Choice<DataType>,
        /// The input mode: how objects reach the script. Default: File.
        optional mode: Choice<InputMode>,
        /// The MIME type that the script receives, for instance `text/csv`.
        optional content_type: Text,
        /// The way in which objects are divided among several machines. Default: FullyReplicated.
        optional distribution: Choice<Distribution>,
        /// SageMaker: the compression of the objects, which SageMaker unpacks; mode Pipe only. Default: None.
        optional compression: Choice<Compression>,
        /// SageMaker: what SageMaker puts around each object, for algorithms that read RecordIO; mode Pipe only. Default: None.
        optional record_wrapper: Choice<RecordWrapper>,
        /// Whether canaries take a sample of the channel; if not, every canary reads all of it. With `rows` they take a sample of
        /// the rows of its object, or of each of a few: CSV, TSV, JSON lines, text, Parquet by row groups. Default: true.
        optional sample: WrittenSample,
        /// Patterns of files that every canary gets, beside the drawn ones, for instance `[labels.csv, "*.json"]`.
        optional always: List<Text>,
        /// Another channel: canaries get the files that have the stems of those that it draws, such as masks of images.
        optional draw_with: Text,
        /// `folder`: canaries have a share of every top folder, such as the classes of images, in place of one of the channel.
        optional by: Choice<DrawUnit>,
        /// Which files come first: `random` by the seed; `last` takes the last by name, such as the newest months. Default: random.
        optional order: Choice<DrawOrder>,
        /// The instance groups that get the channel. Default: all.
        optional groups: List<Text>,
    }
}
