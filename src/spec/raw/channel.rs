//! One input channel as written.

use super::reader::{List, mapping};
use super::scalar::{Choice, Text, WrittenSample};
use crate::spec::{Distribution, InputMode};

mapping! {
    /// One input channel.
    pub(in crate::spec) struct RawChannel {
        /// The place of the data: an `s3://bucket/prefix/`; locally a path. With `sample: false` also a file system of
        /// SageMaker's, `fsx://fs-0123456789abcdef0/mount/path` or `efs://fs-0123456789abcdef0/path`.
        required uri: Text,
        /// The input mode: how objects reach the script. Default: File.
        optional mode: Choice<InputMode>,
        /// The MIME type that the script receives, for instance `text/csv`.
        optional content_type: Text,
        /// The way in which objects are divided among several machines. Default: FullyReplicated.
        optional distribution: Choice<Distribution>,
        /// Whether canaries take a sample of the channel; if not, every canary reads all of it, as where the job has `share`.
        /// With `rows` they take a sample of the rows of its object, or of each of a few: CSV, TSV, JSON lines, text, Parquet by
        /// row groups, tar by members; the names of the objects say which. Default: true.
        optional sample: WrittenSample,
        /// The instance groups that get the channel. Default: all.
        optional groups: List<Text>,
    }
}
