//! The **spec**: which training jobs exist, what they may cost, and how their canaries run.
//!
//! What the user typed and what it means are two things: `raw` mirrors the YAML, [`Spec`] is the valid meaning, and
//! `read` is the one way from the first to the second. It makes all complaints at once (`SpecErrors`); what no code
//! serves yet is accepted and listed in [`Spec::not_yet`], never silently ignored.

mod backend_kind;
mod draw;
mod errors;
mod excerpt;
mod file_system;
mod metric;
mod overrides;
mod packing;
pub mod policy;
mod problems;
mod raw;
mod read;
mod rules;
mod secret_places;
mod settings;
mod training;
mod words;
mod yaml;

pub use backend_kind::{BackendKind, Traits};
pub use draw::{ChannelDraw, DrawOrder, DrawRule, DrawUnit};
pub use errors::{SpecErrors, SpecProblem};
pub use file_system::{FileSystem, FileSystemKind};
pub use metric::{PatternError, PrintedMetric};
pub use packing::{Compression, RecordWrapper};
pub use read::{SpecSource, read};
pub use secret_places::{holds_secrets, is_secret_name, is_secret_place};
pub use settings::{ChangedSetting, TrainingSettings};
pub use training::{
    ContainerWords, Framework, LocalTraining, NoImage, RegistryCredentials, SagemakerTraining,
    Training,
};
pub use yaml::MAX_SPEC_BYTES;

pub use crate::metric::LineKind;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instance::{InstanceConfiguration, InstanceType};
use crate::metric::{Amount, MemoryOf, Metric};
use crate::units::{Fraction, Percent, Seconds, Usd, UsdPerHour};

/// Whether an unknown outcome fails the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnInconclusive {
    Fail,
    Pass,
}

/// Whether a breach of a budget line fails the check or is only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Fail,
    Warn,
}

/// A valid spec. Paths in it are as written, relative to the spec's folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub backend: BackendKind,
    pub region: Option<String>,
    /// A directory or an `s3://` prefix; absent: `.canary-gate/`.
    pub history: Option<String>,
    /// Prices that win over the tables.
    pub prices: BTreeMap<InstanceType, UsdPerHour>,
    /// Globs over instance types; empty: all are allowed.
    pub allowed_instances: Vec<String>,
    pub strict: bool,
    pub on_inconclusive: OnInconclusive,
    /// The recording of the replay backend; `Some` with it.
    pub recording: Option<String>,
    /// In the order of the file; never empty; names are unique.
    pub jobs: Vec<Job>,
    pub overrides: Vec<Override>,
    /// What is valid but no code serves, in the order of the file.
    pub not_yet: Vec<NotYet>,
    /// Valid, but worth a second look: shown by `validate`, and by `run` on standard error.
    pub warnings: Vec<SpecWarning>,
    /// The first 16 hex digits of the SHA-256 of the file's bytes.
    pub hash: String,
    /// Where jobs, their instances and their written budget lines stand, by field: `jobs.churn.budget.cost`.
    pub places: BTreeMap<String, FilePosition>,
}

/// A place in the spec's file; both count from 1, columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePosition {
    pub line: u32,
    pub column: u32,
}

impl Spec {
    pub fn job(&self, name: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.name == name)
    }

    /// Where a field that [`Spec::places`] keeps stands.
    pub fn place(&self, field: &str) -> Option<FilePosition> {
        self.places.get(field).copied()
    }
}

/// Something in the spec that no code serves yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NotYet {
    /// The field, e.g. `jobs.churn.canary.warm_pool`.
    pub field: String,
    /// What is missing, in a few words, e.g. `managed warm pools`.
    pub what: String,
    pub effect: NotYetEffect,
}

/// What a key that nothing serves yet does to `plan` and `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotYetEffect {
    /// They end with 2 before any call: the instance, the design or the backend is concerned.
    Refuse,
    /// They go on without it, and the report says so.
    Ignore,
}

/// A doubt about a valid spec.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecWarning {
    pub field: String,
    pub message: String,
}

/// One training job: what triggers it, the full run, and its budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// 1-63 letters, digits and inner hyphens; underscores as well where it is replayed.
    pub name: String,
    /// Globs over paths relative to the spec's folder; `!` excludes, a leading `/` is the checkout root. Empty: `**`.
    pub paths: Vec<String>,
    pub training: Training,
    /// What the team will train on; the budget is judged on it.
    pub instance: InstanceConfiguration,
    pub alternatives: Vec<InstanceConfiguration>,
    /// The script draws its own share of the data; no channel is sampled then.
    pub share: Option<ScriptShare>,
    /// A count of examples that goes with what is drawn of a channel.
    pub following: Option<FollowingCount>,
    pub work: Option<Work>,
    pub canary: CanaryPolicy,
    pub budget: Budget,
    pub drift: DriftPolicy,
}

impl Job {
    /// Whether canaries hold all of the data, and differ in their work alone.
    pub fn differs_in_work_alone(&self) -> bool {
        let mut channels = self.training.channels.iter();
        self.work.is_some()
            && self.share.is_none()
            && !channels.any(|channel| channel.sample.is_drawn())
    }
}

/// How a channel's objects reach the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InputMode {
    File,
    FastFile,
    Pipe,
}

/// How objects are divided among several machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Distribution {
    FullyReplicated,
    ShardedByS3Key,
}

/// One input channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    pub name: String,
    /// An `s3://` prefix or, with [`FileSystem::of_uri`], a directory of a file system; a path locally.
    pub uri: String,
    /// What `uri` is the address of, in S3.
    pub data_type: DataType,
    pub mode: InputMode,
    pub content_type: Option<String>,
    pub distribution: Distribution,
    pub compression: Compression,
    pub record_wrapper: RecordWrapper,
    pub sample: ChannelSample,
    /// Which of its objects a canary gets, where it is sampled.
    pub draw: ChannelDraw,
    /// The instance groups that get it; empty: all.
    pub groups: Vec<String>,
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
    /// Whether a canary gets a share.
    pub fn is_drawn(self) -> bool {
        self != Self::Whole
    }
}

/// How the `uri` of local data outside the checkout begins.
pub const ON_THIS_MACHINE: &str = "file://";

/// Who draws the share of the data that a canary holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::spec) enum SampledBy {
    /// Objects of channels.
    Gate,
    /// The same where a channel is sampled; where none is, canaries differ in their work alone.
    GateIfAny,
    /// By the share that it is handed.
    Script,
}

impl SampledBy {
    /// What a canary gets of a channel that does not say.
    fn default_sample(self) -> ChannelSample {
        match self {
            Self::Gate | Self::GateIfAny => ChannelSample::Objects,
            Self::Script => ChannelSample::Whole,
        }
    }
}

/// The script is handed its share of the data, and draws it itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptShare {
    pub place: SharePlace,
    pub full: FullShare,
}

/// Where a script is handed its share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharePlace {
    /// Of this name; it need not be one of `training.hyperparameters`.
    Hyperparameter(String),
    /// The variable of this name.
    Environment(String),
}

impl SharePlace {
    pub fn name(&self) -> &str {
        match self {
            Self::Hyperparameter(name) | Self::Environment(name) => name,
        }
    }

    /// Its key in the spec.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hyperparameter(_) => "hyperparameter",
            Self::Environment(_) => "environment",
        }
    }
}

/// A count of examples that the script is handed, in proportion to what is drawn of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowingCount {
    pub place: SharePlace,
    /// In the full run.
    pub full: u64,
    /// The channel's name; it is sampled.
    pub channel: String,
}

impl fmt::Display for FollowingCount {
    /// `{hyperparameter: num_training_samples, full: 50000, follows: train}`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, name) = (self.place.kind(), self.place.name());
        write!(
            f,
            "{{{place}: {name}, full: {}, follows: {}}}",
            self.full, self.channel
        )
    }
}

impl fmt::Display for ScriptShare {
    /// `{hyperparameter: max_train_samples, full: 120000}`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.kind();
        let full = self.full.text().unwrap_or_else(|| "omit".to_owned());
        write!(f, "{{{place}: {}, full: {full}}}", self.place.name())
    }
}

/// What the full run is handed as its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullShare {
    /// `1.0`; canaries get a part of it, such as `0.01`.
    One,
    /// Nothing; canaries as with [`FullShare::One`].
    Omitted,
    /// The number of all examples; canaries get a smaller one.
    Examples(u64),
}

impl FullShare {
    /// The parts of which a canary draws some: examples, or millionths.
    pub fn parts(self) -> u64 {
        match self {
            Self::One | Self::Omitted => 1_000_000,
            Self::Examples(examples) => examples,
        }
    }

    /// What the full run is handed; `None`: nothing.
    pub fn text(self) -> Option<String> {
        match self {
            Self::One => Some("1.0".to_owned()),
            Self::Omitted => None,
            Self::Examples(examples) => Some(examples.to_string()),
        }
    }
}

/// Canaries do less work per datum too: a hyperparameter whose full value and canary levels are given.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// One of `training.hyperparameters`, whose value there is `full`.
    pub hyperparameter: String,
    /// More than 0.
    pub full: f64,
    /// Never empty; rising, more than 0, at most `full`.
    pub canary: Vec<f64>,
}

/// Which canary runs are asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Design {
    /// Every fraction, `replicates` times. Fractions rise strictly.
    Fixed {
        fractions: Vec<Fraction>,
        replicates: u32,
    },
    /// Chosen run by run; fractions rise strictly.
    Adaptive { fractions: Vec<Fraction> },
}

/// How canaries run and what they may cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryPolicy {
    pub design: Design,
    pub spend_limit: Usd,
    /// Of the forecast full run, for all canaries of the job together; more than 0.
    pub max_share: Percent,
    /// A full run that takes less is not worth a canary, and the report says so.
    pub skip_below: Seconds,
    pub max_runtime: Seconds,
    pub parallel: u32,
    pub warm_pool: Option<Seconds>,
    /// Whether canaries on the job's instance take the capacity of its training plan.
    pub training_plan: bool,
    pub reuse: Seconds,
    pub seed: u64,
    pub probe: ProbePolicy,
}

/// Whether to sample inside the container, where the backend starts one.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbePolicy {
    Off,
    /// Where the job has an entry point.
    ScriptMode,
    /// The command of a plain image.
    Command(Vec<String>),
}

/// Whether the limit is an upper or a lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    Max,
    Min,
}

/// One line of a budget. `limit` is in the unit of the line's estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetLine {
    pub kind: LineKind,
    pub bound: Bound,
    pub limit: Amount,
    pub level: Level,
    /// Of an increase: what it must pass too, in the unit of what increases. Absent of other lines.
    pub at_least: Option<Amount>,
    pub origin: LineOrigin,
    /// Where an override is in force: then `limit` is its ceiling.
    pub overridden: Option<OverrideInForce>,
}

/// A known overrun that was agreed to and counts today.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverrideInForce {
    /// The limit that the budget names, in the unit of the line's estimate.
    pub written_limit: f64,
    /// The last day on which the override counts, UTC, such as `2026-12-31`.
    #[schemars(with = "String")]
    pub until: jiff::civil::Date,
    pub reason: String,
}

impl BudgetLine {
    /// The limit of the implicit lines of memory, a share of the machine's or of the GPU's.
    pub const ALL_MEMORY: Percent = Percent(100.0);

    /// That no more of a memory is used than there is.
    fn all_of(of: MemoryOf) -> Self {
        Self::implicit(Metric::share_of(of), Self::ALL_MEMORY)
    }

    /// A line that always holds, without being written.
    pub fn implicit(metric: Metric, limit: impl Into<Amount>) -> Self {
        Self {
            kind: metric.into(),
            bound: Bound::Max,
            limit: limit.into(),
            level: Level::Fail,
            at_least: None,
            origin: LineOrigin::Implicit,
            overridden: None,
        }
    }
}

/// Whether a person wrote the line or it always holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOrigin {
    Written,
    /// Memory within the machine and its GPUs, time within `training.max_runtime`.
    Implicit,
}

/// What a job may cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The written lines in the order of [`LineKind::ALL`], those about what the script prints in the order of the file, then the implicit ones that no written line covers.
    pub lines: Vec<BudgetLine>,
    /// Certainty c, in (0.5, 1): within means P(over) <= 1 - c.
    pub certainty: Fraction,
    /// What a line counts that the base was over already.
    pub existing_breach: Level,
}

impl Budget {
    /// Where none is written: 95 % certain, a 90 % interval.
    pub const DEFAULT_CERTAINTY: Fraction = Fraction(0.95);

    /// That memory fits the machine and its GPUs, and nothing else: what holds where there is no spec.
    pub fn unwritten() -> Self {
        Self {
            lines: MemoryOf::ALL.map(BudgetLine::all_of).to_vec(),
            certainty: Self::DEFAULT_CERTAINTY,
            existing_breach: Level::Warn,
        }
    }

    /// The share of a memory that its strictest line which can fail the check allows.
    pub fn memory_allowed(&self, of: MemoryOf) -> Fraction {
        let percent = self
            .lines
            .iter()
            .filter(|line| line.kind == Metric::share_of(of).into() && line.bound == Bound::Max)
            .filter(|line| line.level == Level::Fail)
            .map(|line| line.limit.number)
            .fold(BudgetLine::ALL_MEMORY.0, f64::min);
        Percent(percent).as_fraction()
    }

    pub fn written(&self) -> impl Iterator<Item = &BudgetLine> {
        self.lines
            .iter()
            .filter(|line| line.origin == LineOrigin::Written)
    }

    /// The written line of a kind, of which there is at most one.
    pub fn written_line(&self, kind: LineKind) -> Option<&BudgetLine> {
        self.written().find(|line| line.kind == kind)
    }

    /// Puts the implicit lines behind the written ones: memory within the machine and its GPUs, and time within the full run's own
    /// `max_runtime`. One is left out where a written line is as tight and as strict.
    pub fn renew_implicit_lines(&mut self, max_runtime: Option<Seconds>) {
        self.lines.retain(|line| line.origin == LineOrigin::Written);
        let time = max_runtime.map(|limit| BudgetLine::implicit(Metric::Time, limit));
        for implicit in MemoryOf::ALL
            .map(BudgetLine::all_of)
            .into_iter()
            .chain(time)
        {
            let is_covered = self.lines.iter().any(|line| {
                line.kind == implicit.kind
                    && line.bound == Bound::Max
                    && line.level == Level::Fail
                    && line.limit <= implicit.limit
            });
            if !is_covered {
                self.lines.push(implicit);
            }
        }
    }
}

/// The increase that a scheduled check reports as drift.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftPolicy {
    pub max: Percent,
    pub at_least: Usd,
}

/// A known overrun, agreed to, with ceiling, reason and expiry.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    pub job: String,
    pub budget: LineKind,
    pub up_to: Amount,
    pub until: jiff::civil::Date,
    pub reason: String,
}

/// What an override does on a given day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideState {
    /// Its line is judged at `up_to`.
    InForce,
    /// Its last day has passed; the written limit counts.
    Expired,
    /// It is no wider than the written limit, which counts.
    NoWider,
    /// Its line is not there.
    NoLine,
}

/// The JSON Schema of a spec, draft 2020-12, made from the types it is read with.
pub fn json_schema() -> serde_json::Value {
    raw::json_schema()
}

/// A commented spec for the local backend to start from; it passes [`read()`].
pub fn init_template() -> &'static str {
    include_str!("../../templates/init.yml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_the_one_made_from_the_types() {
        let made = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
        let committed = include_str!("../../schema/spec.v1.json");
        assert!(
            made == committed,
            "write it again: canary-gate schema spec > schema/spec.v1.json\n{made}"
        );
    }

    #[test]
    fn the_schema_names_its_draft_and_refuses_unknown_keys_everywhere() {
        let schema = json_schema();
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert_eq!(schema["additionalProperties"], false);
        let definitions = schema["$defs"].as_object().unwrap();
        assert!(definitions.len() > 10);
        for (name, definition) in definitions {
            assert_eq!(definition["additionalProperties"], false, "{name}");
        }
        // Every budget line of the types is a key of the schema.
        for kind in LineKind::ALL {
            let line = &definitions["Budget"]["properties"][kind.fixed_key()];
            assert!(line["description"].is_string(), "{kind}");
        }
    }
}
