//! The **spec**: which training jobs exist, what they may cost, and how their canaries run.
//!
//! What the user typed and what it means are two things: `raw` mirrors the YAML, [`Spec`] is the valid meaning, and
//! `read` is the one way from the first to the second. It makes all complaints at once (`SpecErrors`).

mod backend_kind;
mod budget;
mod channel;
mod counts;
mod draw;
mod errors;
mod excerpt;
mod field;
mod file_system;
mod metric;
mod overrides;
mod packing;
pub mod page;
pub mod policy;
mod problems;
mod raw;
mod read;
mod secret_places;
mod settings;
mod share;
mod training;
mod warm_pool;
mod words;
mod yaml;
pub mod yaml_text;

pub use backend_kind::{BackendKind, Traits};
pub use budget::{Bound, Budget, BudgetLine, LineOrigin, OverrideInForce, StatedGrowth};
pub use channel::{Channel, ChannelSample, DataType, Distribution, InputMode, ON_THIS_MACHINE};
pub use counts::{CanaryCounts, CountsOf};
pub use draw::{ChannelDraw, DrawOrder, DrawRule, DrawUnit};
pub use errors::{SpecErrors, SpecProblem};
pub use file_system::{FileSystem, FileSystemKind};
pub use metric::{PatternError, PrintedMetric};
pub use packing::{Compression, RecordWrapper};
pub use raw::{DriftPolicy, Words};
pub use read::{SpecSource, read};
pub use secret_places::{holds_secrets, is_secret_name, is_secret_place};
pub use settings::{ChangedSetting, TrainingSettings};
pub use share::{FollowingCount, FullShare, ScriptShare, SharePlace};
pub use training::{
    ContainerWords, Framework, LauncherKind, LocalTraining, NO_CREDENTIALS, NoImage,
    SagemakerTraining, ScriptLauncher, Training,
};
pub use warm_pool::WarmPoolPolicy;
pub use yaml::MAX_SPEC_BYTES;

pub use crate::metric::LineKind;
use field::{FieldRule, fields};
use share::SampledBy;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instance::{InstanceConfiguration, InstanceType};
use crate::metric::Amount;
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

fields! {
    /// A valid spec. Paths in it are as written, relative to the spec's folder.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Spec {
        pub backend: BackendKind = FieldRule::HEAD.uncounted(),
        pub region: Option<String> = FieldRule::BASE.uncounted(),
        /// A directory or an `s3://` prefix; absent: `.canary-gate/`.
        pub history: Option<String> = FieldRule::BASE.uncounted(),
        /// Prices that win over the tables.
        pub prices: BTreeMap<InstanceType, UsdPerHour> = FieldRule::BASE.uncounted(),
        /// What full runs on spot capacity are judged by.
        pub spot_prices: BTreeMap<InstanceType, UsdPerHour> = FieldRule::BASE.uncounted().at("prices.spot"),
        /// Globs over instance types; empty: all are allowed.
        pub allowed_instances: Vec<String> = FieldRule::BASE.uncounted(),
        pub strict: bool = FieldRule::BASE.uncounted(),
        pub on_inconclusive: OnInconclusive = FieldRule::BASE.uncounted(),
        /// The recording of the replay backend; `Some` with it.
        pub recording: Option<String> = FieldRule::named("This check is judged by it.").uncounted(),
        /// In the order of the file; never empty; names are unique.
        pub jobs: Vec<Job> = FieldRule::HEAD.uncounted(),
        pub overrides: Vec<Override> = FieldRule::BASE.uncounted(),
        /// Valid, but worth a second look: shown by `validate`, and by `run` on standard error.
        pub warnings: Vec<SpecWarning> = FieldRule::HEAD.uncounted(),
        /// The first 16 hex digits of the SHA-256 of the file's bytes.
        pub hash: String = FieldRule::HEAD.uncounted(),
        /// Where jobs, their instances and their written budget lines stand, by field: `jobs.churn.budget.cost`.
        pub places: BTreeMap<String, FilePosition> = FieldRule::HEAD.uncounted(),
    }
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

/// A doubt about a valid spec.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecWarning {
    pub field: String,
    pub message: String,
}

fields! {
    /// One training job: what triggers it, the full run, and its budget.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Job {
        /// 1-63 letters, digits and inner hyphens; underscores as well where it is replayed.
        pub name: String = FieldRule::HEAD.uncounted(),
        /// Globs over paths relative to the spec's folder; `!` excludes, a leading `/` is the checkout root. Empty: `**`.
        pub paths: Vec<String> = FieldRule::HEAD.uncounted(),
        pub training: Training = FieldRule::EACH,
        /// What the team will train on; the budget is judged on it.
        pub instance: InstanceConfiguration = FieldRule::HEAD.uncounted(),
        pub alternatives: Vec<InstanceConfiguration> = FieldRule::HEAD.uncounted(),
        /// Those of `alternatives` that a range of counts names.
        pub ranged: Vec<InstanceConfiguration> = FieldRule::HEAD.uncounted(),
        /// The script draws its own share of the data; no channel is sampled then.
        pub share: Option<ScriptShare> = FieldRule::named(channel::DRAWS),
        /// A count of examples that goes with what is drawn of a channel.
        pub following: Option<FollowingCount> = FieldRule::named(channel::DRAWS).at("share"),
        pub work: Option<Work> = FieldRule::UNCOMPARED,
        pub canary: CanaryPolicy = FieldRule::EACH,
        pub budget: Budget = FieldRule::BASE.uncounted(),
        pub drift: DriftPolicy = FieldRule::EACH,
    }
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

/// Canaries do less work per datum too: a hyperparameter whose full value and canary levels are given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Work {
    /// One of `training.hyperparameters`, whose value there is `full`.
    pub hyperparameter: String,
    /// More than 0.
    pub full: f64,
    /// Never empty; rising, more than 0, at most `full`.
    pub canary: Vec<f64>,
}

impl fmt::Display for Work {
    /// `epochs 10 (canaries: 1, 2)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<String> = self.canary.iter().map(ToString::to_string).collect();
        let levels = levels.join(", ");
        write!(
            f,
            "{} {} (canaries: {levels})",
            self.hyperparameter, self.full
        )
    }
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

impl Design {
    /// The sizes of the adaptive design where none are written.
    pub const LADDER: [Fraction; 7] = [
        Fraction(0.01),
        Fraction(0.02),
        Fraction(0.03),
        Fraction(0.05),
        Fraction(0.1),
        Fraction(0.2),
        Fraction(0.5),
    ];

    /// The adaptive one as it is by default.
    pub fn adaptive() -> Self {
        Self::Adaptive {
            fractions: Self::LADDER.to_vec(),
        }
    }
}

fields! {
    /// How canaries run and what they may cost.
    #[derive(Debug, Clone, PartialEq)]
    pub struct CanaryPolicy {
        pub design: Design = FieldRule::BASE.uncounted(),
        pub counts: CanaryCounts = FieldRule::BASE.uncounted(),
        pub spend_limit: Usd = FieldRule::BASE.uncounted(),
        /// Of the forecast full run, for all canaries of the job together; more than 0.
        pub max_share: Percent = FieldRule::BASE.uncounted(),
        /// A full run that takes less is not worth a canary, and the report says so.
        pub skip_below: Seconds = FieldRule::HEAD.uncounted(),
        pub max_runtime: Seconds = FieldRule::BASE.uncounted(),
        pub parallel: u32 = FieldRule::BASE.uncounted(),
        pub warm_pool: WarmPoolPolicy = FieldRule::BASE.uncounted(),
        /// Whether canaries on the job's instance take the capacity of its training plan.
        pub training_plan: bool = FieldRule::BASE.uncounted(),
        /// Whether the script may join sampled tables.
        pub joined: bool = FieldRule::BASE.uncounted(),
        pub reuse: Seconds = FieldRule::BASE.uncounted(),
        pub seed: u64 = FieldRule::HEAD,
        pub probe: ProbePolicy = FieldRule::BASE,
    }
}

impl CanaryPolicy {
    /// Of [`Self::max_share`].
    pub const DEFAULT_MAX_SHARE: Percent = Percent(25.0);
}

/// Whether to sample inside the container, where the backend starts one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ProbePolicy {
    Off,
    /// Where the job has an entry point.
    ScriptMode,
    /// The command of a plain image.
    Command(Vec<String>),
}

impl ProbePolicy {
    /// As a spec says it.
    fn words(&self) -> String {
        match self {
            Self::Off => "false".to_owned(),
            Self::ScriptMode => "true".to_owned(),
            Self::Command(words) => words.join(" "),
        }
    }
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
        let committed = include_str!("../../../schema/spec.v1.json");
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
