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
mod secret_places;
mod settings;
mod share;
mod training;
mod yaml;
pub mod yaml_text;

pub use budget::{
    Bound, Budget, BudgetLine, DriftPolicy, LineOrigin, OverrideInForce, StatedGrowth,
};
pub use canary::{CanaryPolicy, Design, ProbePolicy, ProgressShare, WarmPoolPolicy};
pub use channel::{Channel, ChannelSample, DataType, Distribution, InputMode, ON_THIS_MACHINE};
pub use counts::{CanaryCounts, CountsOf};
pub use draw::{ChannelDraw, DrawOrder, DrawRule, DrawUnit};
pub use errors::{SpecErrors, SpecFile, SpecProblem};
pub use file_system::{FileSystem, FileSystemKind};
pub use job::{Job, Ranking};
pub use kind::Words;
pub use metric::{PatternError, PrintedMetric};
pub use overrides::Override;
pub use read::{FormatVersion, OrganizationPolicy, Prices, json_schema, read, read_policy};
pub use secret_places::{holds_secrets, is_secret_name, is_secret_place};
pub use settings::{ChangedSetting, TrainingSettings};
pub use share::{FollowingCount, FullShare, ScriptShare, SharePlace, Work};
pub use training::{
    BackendKind, ContainerWords, Framework, LocalTraining, NoImage, SagemakerTraining,
    ScriptLauncher, Training, Traits,
};
pub use yaml::MAX_SPEC_BYTES;

pub use crate::metric::LineKind;
use field::{FieldRule, fields};
use instances::InstancePatterns;
use keys::{List, mapping};
use kind::{Text, words};
use paths::ProjectPath;
use read::{ChosenBackend, Extends, Jobs, Region};
use training::RunPlace;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

mapping! {
    /// A canary-gate spec: which training jobs exist, what they may cost, and how their canaries run.
    pub struct Spec named "Spec" {
        /// The version of this format: 1.
        needed version: FormatVersion;
        /// The backend: where canaries run.
        needed backend: ChosenBackend as BackendKind => FieldRule::HEAD.uncounted();
        /// An organization's policy at GitHub, `OWNER/REPOSITORY/PATH@REF`: it fills in what is not written, and no value is looser.
        optional extends: Extends as String => FieldRule::BASE.uncounted();
        // What that policy says; absent of a spec as it stands.
        beside policy: Option<Arc<OrganizationPolicy>>;
        /// The AWS region. Default: AWS_REGION, else us-east-1 for prices.
        optional region: Region as String => FieldRule::BASE.uncounted();
        /// The directory or `s3://bucket/prefix/` in which records are kept. Default: `.canary-gate/`.
        optional history: Text as String => FieldRule::BASE.uncounted();
        /// Prices of one machine for an hour, by instance type, for instance `local: 1.20 USD/h`, in place of the built-in ones.
        /// The full run of a job with `training.spot` is judged by those below `spot`, such as `spot: {ml.m5.xlarge: 0.08 USD/h}`,
        /// else at the price on demand.
        plain prices: Prices => FieldRule::EACH;
        /// Patterns of the allowed instance types, for instance `ml.m5.*`. Every type must match one. Default: all are allowed.
        plain allowed_instances: InstancePatterns as Vec<String> => FieldRule::BASE.uncounted();
        /// Whether a job that is at risk of exceeding its budget fails the check. Default: false.
        plain strict: bool => FieldRule::BASE.uncounted();
        /// Whether an unknown outcome fails the check. Default: fail.
        plain on_inconclusive: OnInconclusive => FieldRule::BASE.uncounted();
        /// The file of recorded runs that `backend: replay` takes for canary runs: a table (.csv) or JSON lines, as `canary-gate
        /// run --measurements FILE` writes them; a path relative to the spec's folder.
        optional recording: ProjectPath as String =>
            FieldRule::named("This check is judged by it.").uncounted();
        /// The training jobs, by name. A name has 1 to 63 letters, digits and inner hyphens; with `backend: replay` it is the
        /// recording's, and may have underscores.
        needed jobs: Jobs as Vec<Job>;
        /// Known overruns that are agreed to, each with a ceiling, a reason and an expiry date.
        plain overrides: List<Override> as Vec<Override>;
        // Valid, but worth a second look: shown by `validate`, and by `run` on standard error.
        beside warnings: Vec<SpecProblem>;
        // The first 16 hex digits of the SHA-256 of the file's bytes.
        beside hash: String;
        beside file: SpecFile;
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
