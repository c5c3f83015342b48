//! A **canary run**: a request for one small training run. Its result is a [`crate::measurement::Measurement`].

mod key;
mod objects;
mod settings;

pub use key::{
    CodeFile, Key, canary_key, code_key, data_key, listing_digest, machine_key, on_machine,
    without_probe,
};
pub use objects::{Objects, ObjectsBuilder, TooManyObjects};
pub use settings::{environment, hyperparameters};

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instance::InstanceConfiguration;
use crate::rows::RowBlocks;
use crate::spec::{FullShare, ScriptShare, SharePlace, Work};
use crate::units::{Bytes, Fraction, Seconds};

/// One object of a channel: a file, or an S3 key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct DataObject {
    /// The name below the channel's prefix, with `/` between folders.
    pub key: String,
    pub bytes: Bytes,
}

/// The objects of one channel. Cheap to clone: clones share the listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelData {
    pub name: String,
    /// False: whole in every canary.
    pub sampled: bool,
    pub objects: Objects,
    /// Where canaries get rows of the objects: the blocks of all of them, or of a canary's draw. `objects` is the whole listing
    /// then.
    pub rows: Option<RowBlocks>,
}

impl ChannelData {
    /// Where rows are drawn, of about all rows that are.
    pub fn bytes(&self) -> Bytes {
        match &self.rows {
            Some(rows) => rows.bytes(),
            None => self.objects.bytes(),
        }
    }

    /// What a draw counts: objects, or blocks of rows.
    pub fn len(&self) -> usize {
        match &self.rows {
            Some(rows) => rows.len(),
            None => self.objects.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

    /// N of the design: the count of objects, or of blocks of rows, of the smallest sampled channel; `None` if no channel is sampled.
    pub fn objects_total(&self) -> Option<usize> {
        self.sampled().map(ChannelData::len).min()
    }

    /// What N counts, for a sentence.
    pub fn noun(&self) -> &'static str {
        let smallest = self.sampled().min_by_key(|channel| channel.len());
        match smallest.and_then(|channel| channel.rows.as_ref()) {
            Some(_) => "block",
            None => "object",
        }
    }

    /// The bytes of all sampled channels: the data size of a full run.
    pub fn bytes_total(&self) -> Bytes {
        self.sampled().map(ChannelData::bytes).sum()
    }
}

/// How much work a run does per datum: the value of a hyperparameter such as a number of rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkLevel {
    /// The hyperparameter of the job that is set to the level in this run.
    pub hyperparameter: String,
    /// In (0, `full`].
    pub level: f64,
    /// The level of the full run.
    pub full: f64,
}

impl WorkLevel {
    /// The level of the full run.
    pub fn of_full_run(work: &Work) -> Self {
        Self::at(work, work.full)
    }

    /// The levels of canaries in ascending order; never empty.
    pub fn of_canaries(work: &Work) -> impl Iterator<Item = Self> {
        work.canary.iter().map(|level| Self::at(work, *level))
    }

    fn at(work: &Work, level: f64) -> Self {
        Self {
            hyperparameter: work.hyperparameter.clone(),
            level,
            full: work.full,
        }
    }

    /// The level as passed to the script: whole numbers without a decimal point.
    pub fn text(&self) -> String {
        self.level.to_string()
    }
}

impl fmt::Display for WorkLevel {
    /// `num_round 5`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.hyperparameter, self.text())
    }
}

/// The share of the data that a run's script is handed, to draw it itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedShare {
    pub place: SharePlace,
    /// `0.01`, or a number of examples; `None`: nothing is handed over.
    pub value: Option<String>,
}

impl HandedShare {
    /// For a canary of so many parts of [`crate::spec::FullShare::parts`].
    pub fn of_canary(share: &ScriptShare, parts: u64) -> Self {
        let value = match share.full {
            FullShare::Examples(_) => parts.to_string(),
            FullShare::One | FullShare::Omitted => {
                #[expect(clippy::cast_precision_loss, reason = "both are at most a million")]
                let part = parts as f64 / share.full.parts() as f64;
                part.to_string()
            }
        };
        Self {
            place: share.place.clone(),
            value: Some(value),
        }
    }

    pub fn of_full_run(share: &ScriptShare) -> Self {
        Self {
            place: share.place.clone(),
            value: share.full.text(),
        }
    }
}

impl fmt::Display for HandedShare {
    /// `data_fraction 0.01`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value.as_deref().unwrap_or("not set");
        write!(f, "{} {value}", self.place.name())
    }
}

/// A request for one canary run.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryRun {
    pub job: String,
    pub instance: InstanceConfiguration,
    /// The share of the data asked for, as the design lists it.
    pub fraction: Fraction,
    /// Absent unless the script draws its own share.
    pub share: Option<HandedShare>,
    /// Absent if the spec has no `work`.
    pub work: Option<WorkLevel>,
    /// From 0.
    pub replicate: u32,
    /// The data of every channel, sampled or whole, in the order of the spec.
    pub channels: Vec<ChannelData>,
    /// Sampled and total objects of the smallest sampled channel; where the script draws its share, parts of it
    /// ([`crate::spec::FullShare::parts`]).
    pub objects: u64,
    pub objects_total: u64,
    /// Bytes of the sampled channels in this run, and in the full run.
    pub bytes: Bytes,
    pub bytes_total: Bytes,
    /// The run is stopped after this time; absent for a full run without a limit.
    pub max_runtime: Option<Seconds>,
}

impl CanaryRun {
    /// Whether it holds all of the data and does all of the work.
    pub fn is_full(&self) -> bool {
        let work = self.work.as_ref();
        self.objects == self.objects_total && work.is_none_or(|work| work.level >= work.full)
    }

    /// Of the data, by bytes; by objects if all are empty.
    #[expect(
        clippy::cast_precision_loss,
        reason = "object counts are far below 2^53"
    )]
    pub fn data_share(&self) -> f64 {
        if self.bytes_total.0 > 0 {
            self.bytes.as_f64() / self.bytes_total.as_f64()
        } else {
            self.objects as f64 / self.objects_total.max(1) as f64
        }
    }

    /// The bytes of its sampled channels where the rows that were drawn really have so many.
    pub fn bytes_with_rows(&self, drawn: Bytes) -> Bytes {
        let of_channel = |channel: &ChannelData| match &channel.rows {
            Some(rows) if !rows.is_all() => Bytes(0),
            _ => channel.bytes(),
        };
        let sampled = self.channels.iter().filter(|channel| channel.sampled);
        sampled.map(of_channel).chain([drawn]).sum()
    }

    /// A short name for progress lines and logs: `3% #2`, with a work level `3% #2, num_round 5`, where another share of the data
    /// was drawn `1% (drew 7.7%) #1`.
    pub fn label(&self) -> String {
        let work = self.work.as_ref();
        let work = work.map_or(String::new(), |work| format!(", {work}"));
        let share = self.data_share();
        let drawn = match self.fraction.unlike(share) {
            true => format!(" (drew {})", Fraction(share)),
            false => String::new(),
        };
        format!("{}{drawn} #{}{work}", self.fraction, self.replicate + 1)
    }
}
