//! One job as written: its training, its instances and its canaries.

use schemars::JsonSchema;

use super::budget::{RawBudget, RawDrift};
use super::reader::{Either, List, Map, mapping};
use super::scalar::{AnyText, Choice, Count, Quantity, Text, Words};
use crate::spec::training::RawTraining;
use crate::units::{Fraction, Seconds, Usd};

mapping! {
    /// One training job.
    pub(in crate::spec) struct RawJob {
        /// What triggers the job: patterns over paths relative to the spec's folder; `!` excludes, a leading `/` is the
        /// checkout root. Default: every file.
        optional paths: List<Text>,
        /// The full run.
        required training: RawTraining,
        /// What the team will train on; the budget is judged on it.
        required instance: Instance,
        /// Other instances to compare; they never change the exit code.
        optional alternatives: List<Instance>,
        /// Lets canaries do less work per datum too.
        optional work: RawWork,
        /// How canaries run and what they may cost.
        optional canary: Canary,
        /// What the full run may take.
        optional budget: RawBudget,
        /// When a scheduled check calls a change drift.
        optional drift: RawDrift,
    }
}

/// Machines as people say them, or named groups of them.
pub(in crate::spec) type Instance = Either<Machines, Groups>;

/// `ml.m5.2xlarge`, `6x ml.m5.4xlarge`, `local`, `2x local`.
#[derive(Debug)]
pub(in crate::spec) struct Machines(pub(in crate::spec) String);

impl super::FromNode for Machines {
    fn from_node(
        node: &crate::spec::yaml::Node,
        at: &crate::spec::problems::At,
        findings: &mut crate::spec::problems::Findings,
    ) -> Option<Self> {
        Text::from_node(node, at, findings).map(|text| Self(text.0))
    }
}

impl JsonSchema for Machines {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Machines".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^\s*([1-9][0-9]*x\s+)?(local|ml\.[a-zA-Z0-9-]+\.[a-zA-Z0-9-]+)\s*$",
            "examples": ["ml.m5.2xlarge", "6x ml.m5.4xlarge", "local", "2x local"],
        })
    }
}

mapping! {
    /// Named groups of different machines; every group is billed for the whole job.
    pub(in crate::spec) struct Groups {
        /// The machines of each group, by its name, for instance `data: 2x ml.c5.9xlarge`.
        required groups: Map<Machines>,
        /// The script that starts all groups, when it differs from the job's own.
        optional entry_point: Text,
    }
}

mapping! {
    /// A hyperparameter that says how much work one datum is, such as a number of rounds.
    pub(in crate::spec) struct RawWork {
        /// Its name under `training.hyperparameters`.
        required hyperparameter: Text,
        /// Its value in the full run, as under `training.hyperparameters`.
        required full: f64,
        /// Its values in canaries, rising; every fraction of the data is run at each.
        required canary: List<f64>,
    }
}

/// How canary runs are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::spec) enum DesignKind {
    Adaptive,
    Fixed,
}

impl Words for DesignKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("adaptive", Self::Adaptive), ("fixed", Self::Fixed)];
}

mapping! {
    /// How canaries run and what they may cost.
    pub(in crate::spec) struct Canary {
        /// How canary runs are chosen: `fixed` runs every fraction `replicates` times, and is meant where `replicates` is
        /// written. Default: adaptive.
        optional design: Choice<DesignKind>,
        /// The shares of the data, rising. Default: 1%, 2%, 3%, 5%, 10%, 20%, 50%; fixed: 1%, 2%, 3%.
        optional fractions: List<Quantity<Fraction>>,
        /// How often the fixed design runs each fraction. Default: fixed: 3.
        optional replicates: Count,
        /// What the canaries of one check may cost. Default: 5 USD.
        optional spend_limit: Quantity<Usd>,
        /// When a canary is stopped. Default: 1h.
        optional max_runtime: Quantity<Seconds>,
        /// How many canaries run at once. Default: 3; locally: 1.
        optional parallel: Count,
        /// How long a machine is kept for the next canary, at most 1h. Default: not at all.
        optional warm_pool: Quantity<Seconds>,
        /// How old a measurement may be to be used again. Default: 14d.
        optional reuse: Quantity<Seconds>,
        /// Chooses which objects are sampled. Default: 1.
        optional seed: u64,
        /// Whether to sample memory and load inside the container: `true` in script mode, or the command of a plain
        /// image. Default: false.
        optional probe: Probe,
    }
}

/// A switch, or the command of a plain image.
pub(in crate::spec) type Probe = Either<bool, ProbeCommand>;

mapping! {
    /// The command to run under the sampler.
    pub(in crate::spec) struct ProbeCommand {
        /// The command of the image, for instance `[train]`.
        required command: List<AnyText>,
    }
}
