//! The **spec**: which training jobs exist, what they may cost, and how their canaries run.
//!
//! Each part of the spec is declared once, by `mapping!`: its keys, what each takes and means, and whose it is. What is written
//! is read straight into that, each key's place is kept, and checks that never stop at their first complaint make all of
//! them at once ([`SpecErrors`]).

mod budget;
mod canary;
mod channel;
mod counts;
pub mod cure;
mod draw;
mod editor;
mod errors;
mod field;
mod file_system;
mod instances;
mod job;
mod keys;
mod kind;
mod limits;
mod metric;
mod organization;
mod overrides;
pub mod page;
mod paths;
pub mod policy;
mod read;
mod reader;
mod run_place;
mod secret_places;
mod settings;
mod share;
mod training;
mod yaml;
pub mod yaml_text;
use run_place::RunPlace;

pub use budget::{
    Bound, Budget, BudgetLine, DriftPolicy, LineOrigin, OverrideInForce, StatedGrowth,
};
pub use canary::{CanaryPolicy, Design, ProbePolicy, ProgressShare, WarmPoolPolicy};
pub use channel::{
    Channel, ChannelSample, Compression, DataType, Distribution, InputMode, ON_THIS_MACHINE,
    RecordWrapper,
};
pub use counts::{CanaryCounts, CountsOf};
pub use draw::{ChannelDraw, DrawOrder, DrawRule, DrawUnit};
pub use errors::{SpecErrors, SpecFile, SpecProblem};
pub use file_system::{FileSystem, FileSystemKind};
pub use job::{Job, Ranking};
pub use kind::Words;
pub use metric::{PatternError, PrintedMetric};
pub use overrides::Override;
pub use read::{OrganizationPolicy, json_schema, read, read_policy};
pub use run_place::Traits;
pub use secret_places::{holds_secrets, is_secret_name, is_secret_place};
pub use settings::{ChangedSetting, TrainingSettings};
pub use share::{FollowingCount, FullShare, ScriptShare, SharePlace, Work};
pub use training::{
    BackendKind, ContainerWords, Framework, LocalTraining, NO_CREDENTIALS, NoImage,
    SagemakerTraining, ScriptLauncher, Training,
};
pub use yaml::MAX_SPEC_BYTES;

pub use crate::metric::LineKind;
use field::{FieldRule, fields};
use kind::words;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instance::InstanceType;
use crate::units::UsdPerHour;

words! {
    /// Whether an unknown outcome fails the check.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum OnInconclusive {
        #[default]
        "fail" Fail,
        "pass" Pass,
    }

    /// Whether a breach of a budget line fails the check or is only shown.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Level {
        "fail" Fail,
        "warn" Warn,
    }
}

fields! {
    /// A valid spec. Paths in it are as written, relative to the spec's folder.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Spec {
        pub backend: BackendKind = FieldRule::HEAD.uncounted(),
        /// The address of the organization's policy, `OWNER/REPOSITORY/PATH@REF`.
        pub extends: Option<String> = FieldRule::BASE.uncounted(),
        /// What that policy says; absent of a spec as it stands.
        pub policy: Option<Arc<OrganizationPolicy>> = FieldRule::BASE.uncounted(),
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
        pub warnings: Vec<SpecProblem> = FieldRule::HEAD.uncounted(),
        /// The first 16 hex digits of the SHA-256 of the file's bytes.
        pub hash: String = FieldRule::HEAD.uncounted(),
        pub file: SpecFile = FieldRule::HEAD.uncounted(),
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
