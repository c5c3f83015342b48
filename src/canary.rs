//! A **canary run**: one small training run, asked for. What it gave is a [`crate::measurement::Measurement`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instance::InstanceConfiguration;
use crate::units::{Bytes, Fraction, Seconds};

/// One object of a channel: a file, or an S3 key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct DataObject {
    /// The name below the channel's prefix, with `/` between folders.
    pub key: String,
    pub bytes: Bytes,
}

/// The objects of one channel, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelData {
    pub name: String,
    /// False: whole in every canary.
    pub sampled: bool,
    pub objects: Vec<DataObject>,
}

impl ChannelData {
    pub fn bytes(&self) -> Bytes {
        self.objects.iter().map(|object| object.bytes).sum()
    }
}

/// All channels of a job, listed, in the order of the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    pub channels: Vec<ChannelData>,
}

impl Dataset {
    pub fn sampled(&self) -> impl Iterator<Item = &ChannelData> {
        self.channels.iter().filter(|channel| channel.sampled)
    }

    /// N of the design: the objects of the sampled channel that has the fewest; `None` when no channel is sampled.
    pub fn objects_total(&self) -> Option<usize> {
        self.sampled().map(|channel| channel.objects.len()).min()
    }

    /// The bytes of all sampled channels: the abscissa of a full run.
    pub fn bytes_total(&self) -> Bytes {
        self.sampled().map(ChannelData::bytes).sum()
    }
}

/// One canary run, asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryRun {
    pub job: String,
    pub instance: InstanceConfiguration,
    /// The share of the data asked for, as the design lists it.
    pub fraction: Fraction,
    /// From 0.
    pub replicate: u32,
    /// What every channel gets, sampled or whole, in the order of the spec.
    pub channels: Vec<ChannelData>,
    /// Objects in the sampled channel that has the fewest, and how many it has in all.
    pub objects: u64,
    pub objects_total: u64,
    /// Bytes of the sampled channels in this run, and in the full run.
    pub bytes: Bytes,
    pub bytes_total: Bytes,
    /// The run is ended after this; absent for a full run without a limit.
    pub max_runtime: Option<Seconds>,
}

impl CanaryRun {
    /// Whether it holds all of the data.
    pub fn is_full(&self) -> bool {
        self.objects == self.objects_total
    }

    /// A short name for progress lines and logs: `3% #2`.
    pub fn label(&self) -> String {
        format!("{} #{}", self.fraction, self.replicate + 1)
    }
}
