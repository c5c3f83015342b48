//! A **canary run**: a request for one small training run. Its result is a [`crate::measurement::Measurement`].

mod draw;
mod key;
mod objects;
mod settings;

pub use draw::partners;
pub use key::{
    Key, canary_key, code_key, data_key, listing_digest, machine_key, on_machine, without_probe,
};
pub use objects::Objects;
pub use settings::{environment, hyperparameters};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grammar::only_where;
use crate::instance::InstanceConfiguration;
use crate::rows::{RowBlocks, RowFile};
use crate::spec::{
    Distribution, DrawRule, FollowingCount, FullShare, Job, ScriptShare, SharePlace, Work,
};
use crate::units::{Bytes, Fraction, Seconds, count_as_float};

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
    /// How its objects are drawn, where it is sampled.
    pub rule: DrawRule,
    /// All that a run gets.
    pub objects: Objects,
    /// Of `objects`, those that every canary gets.
    pub always: Objects,
    /// Where canaries get rows of the objects: the blocks of all of them, or of a canary's draw. `objects` is the whole listing
    /// then.
    pub rows: Option<RowBlocks>,
    /// Where files are drawn, those that are tables, of each kind one or two.
    pub looked_at: Vec<RowFile>,
}

impl ChannelData {
    /// The tables that are known of which canaries get a part.
    pub fn tables(&self) -> impl Iterator<Item = &RowFile> {
        let files = self.rows.iter().flat_map(|rows| rows.files.iter());
        let is_whole = |file: &RowFile| self.always.iter().any(|object| object.key == file.key);
        (files.chain(&self.looked_at)).filter(move |file| !is_whole(file))
    }

    /// A channel without objects that every canary gets.
    pub fn new(name: &str, sampled: bool, objects: Objects) -> Self {
        Self {
            name: name.to_owned(),
            sampled,
            rule: DrawRule::default(),
            always: objects.select([]),
            rows: None,
            looked_at: Vec::new(),
            objects,
        }
    }

    /// The same channel with some of its objects.
    #[must_use]
    pub fn with(&self, objects: Objects) -> Self {
        Self {
            always: self.always.in_both(&objects),
            objects,
            ..self.clone()
        }
    }

    /// What the host at a place among those that it reaches gets: everything, or its share of whole objects in turn.
    #[must_use]
    pub fn on_host(&self, distribution: Distribution, place: usize, hosts: usize) -> Self {
        match distribution {
            Distribution::FullyReplicated => self.clone(),
            Distribution::ShardedByS3Key => {
                let own = (place..self.objects.len()).step_by(hosts);
                self.with(self.objects.select(own))
            }
        }
    }

    /// What counts as its size: what every canary gets is no part of a share. Where rows are drawn, of about all rows that are.
    pub fn bytes(&self) -> Bytes {
        match &self.rows {
            Some(rows) => rows.bytes(),
            None => Bytes(self.objects.bytes().0 - self.always.bytes().0),
        }
    }

    /// The share of the whole listing that is drawn, by bytes; by objects if all are empty.
    fn drawn_share(&self) -> f64 {
        if let Some(rows) = &self.rows {
            return rows.bytes().as_f64() / rows.whole().bytes().as_f64().max(1.0);
        }
        let whole = self.objects.whole();
        let bytes = whole.bytes().as_f64() - self.always.bytes().as_f64();
        if bytes > 0.0 {
            self.bytes().as_f64() / bytes
        } else {
            let count = whole.len() - self.always.len();
            count_as_float(self.drawn()) / count_as_float(count.max(1))
        }
    }

    /// The number of its objects, or of its blocks of rows, that are drawn, or in a run were.
    pub fn drawn(&self) -> usize {
        match &self.rows {
            Some(rows) => rows.len(),
            None => self.objects.len() - self.always.len(),
        }
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

    /// The channel whose objects, or blocks of rows, are counted: the smallest of those that are drawn by themselves; `None` if there
    /// is none.
    pub fn smallest(&self) -> Option<&ChannelData> {
        let sampled = self.sampled();
        let drawn = sampled.filter(|channel| matches!(channel.rule, DrawRule::Share { .. }));
        drawn.min_by_key(|channel| channel.drawn())
    }

    /// What N counts, for a sentence.
    pub fn noun(&self) -> &'static str {
        match self.smallest().and_then(|channel| channel.rows.as_ref()) {
            Some(_) => "block",
            None => "object",
        }
    }

    /// N of the design: the object count of the smallest sampled channel; `None` if no channel is sampled.
    pub fn objects_total(&self) -> Option<usize> {
        self.smallest().map(ChannelData::drawn)
    }

    /// The bytes of all sampled channels, without what every canary gets: the data size of a full run.
    pub fn bytes_total(&self) -> Bytes {
        self.sampled().map(ChannelData::bytes).sum()
    }
}

/// How much work a run does per datum: the value of a hyperparameter such as a number of rounds.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display("{hyperparameter} {}", self.text())]
pub struct WorkLevel {
    /// The hyperparameter of the job that is set to the level in this run.
    pub hyperparameter: String,
    /// The value of the hyperparameter in the canary, in (0, `full`].
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

    /// The share of the full run's work, in (0, 1].
    pub fn share(&self) -> Fraction {
        Fraction(self.level / self.full)
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

/// The share of the data that a run's script is handed, to draw it itself.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{} {}", self.place.name(), self.value.as_deref().unwrap_or("not set"))]
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

    /// For a run that has this share of the channel.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is not negative, and not above it"
    )]
    fn following(count: &FollowingCount, share: f64) -> Self {
        let examples = (count.full as f64 * share).round() as u64;
        Self {
            place: count.place.clone(),
            value: Some(examples.clamp(1, count.full).to_string()),
        }
    }

    pub fn of_full_run(share: &ScriptShare) -> Self {
        Self {
            place: share.place.clone(),
            value: share.full.text(),
        }
    }
}

/// A request for one canary run.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryRun {
    pub job: String,
    pub instance: InstanceConfiguration,
    /// The share of the data asked for, as the design lists it; of the full run's work where canaries differ in that alone.
    pub fraction: Fraction,
    /// Absent unless the script draws its own share.
    pub share: Option<HandedShare>,
    /// Absent if the spec has no `work`.
    pub work: Option<WorkLevel>,
    /// The number among the runs of this size, from 0.
    pub replicate: u32,
    /// The data of every channel, sampled or whole, in the order of the spec.
    pub channels: Vec<ChannelData>,
    /// Sampled and total objects of the smallest sampled channel; where the script draws its share, parts of it
    /// ([`crate::spec::FullShare::parts`]); 0 where no data are sampled.
    pub objects: u64,
    pub objects_total: u64,
    /// Bytes of the sampled channels in this run, and in the full run.
    pub bytes: Bytes,
    pub bytes_total: Bytes,
    /// The run is stopped after this time; absent for a full run without a limit.
    pub max_runtime: Option<Seconds>,
    /// Whether it is the full run, which the design ends after that time to read its progress.
    pub ends_early: bool,
}

impl CanaryRun {
    /// The share, or the number of examples, that the script is handed.
    pub fn handed(&self, job: &Job) -> Option<HandedShare> {
        let following = || {
            let following = job.following.as_ref()?;
            let mut channels = self.channels.iter();
            let channel = channels.find(|channel| channel.name == following.channel)?;
            Some(HandedShare::following(following, channel.drawn_share()))
        };
        self.share.clone().or_else(following)
    }

    /// Whether it holds all of the data and does all of the work.
    pub fn is_full(&self) -> bool {
        let work = self.work.as_ref();
        self.objects == self.objects_total && work.is_none_or(|work| work.level >= work.full)
    }

    /// Whether it holds all of the data, and differs from the full run in its work alone.
    pub fn differs_in_work_alone(&self) -> bool {
        let mut channels = self.channels.iter();
        self.work.is_some() && self.share.is_none() && !channels.any(|channel| channel.sampled)
    }

    /// Of the full run's work per datum; 1 where canaries differ in their work alone, which is their share then.
    pub fn work_share(&self) -> f64 {
        match &self.work {
            Some(work) if !self.differs_in_work_alone() => work.level / work.full,
            _ => 1.0,
        }
    }

    /// Of the data, by bytes; by objects if all are empty. Of the work where canaries differ in that alone.
    #[expect(
        clippy::cast_precision_loss,
        reason = "object counts are far below 2^53"
    )]
    pub fn data_share(&self) -> f64 {
        if self.differs_in_work_alone() {
            self.fraction.0
        } else if self.bytes_total.0 > 0 {
            self.bytes.as_f64() / self.bytes_total.as_f64()
        } else {
            self.objects as f64 / self.objects_total.max(1) as f64
        }
    }

    /// Of the blocks that are drawn from its channels: about the bytes of their rows.
    pub fn bytes_of_blocks(&self) -> Bytes {
        let rows = self
            .channels
            .iter()
            .filter_map(|channel| channel.rows.as_ref());
        let drawn = rows.filter(|rows| !rows.is_all());
        drawn.map(RowBlocks::bytes).sum()
    }

    /// A short name for progress lines and logs: `3% #2`, with a work level `3% #2, num_round 5`, where another share of the data
    /// was drawn `1% (really 7.7%) #1`.
    pub fn label(&self) -> String {
        let work = self.work.as_ref();
        let work = work.map_or(String::new(), |work| format!(", {work}"));
        let share = self.data_share();
        let is_unlike = self.fraction.unlike(share);
        let drawn = only_where(is_unlike, || format!(" (really {})", Fraction(share)));
        format!("{}{drawn} #{}{work}", self.fraction, self.replicate + 1)
    }
}
