//! **Training**: the full run, and what each backend makes of it.
//!
//! `common` holds what every backend understands. Each backend has a file of its own with its keys, their checks and its
//! [`Traits`]; this file is the register of them, the one place in the spec that asks which backend is meant.

mod common;
mod local;
mod replay;
mod sagemaker;

pub use common::Training;
pub use local::LocalTraining;
pub use sagemaker::SagemakerTraining;

pub(super) use common::RawTraining;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problems::At;
use super::raw::Words;
use super::read::SpecReader;
use crate::units::Seconds;

/// Where canaries run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    Sagemaker,
    Local,
    Replay,
}

impl Words for BackendKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("sagemaker", Self::Sagemaker),
        ("local", Self::Local),
        ("replay", Self::Replay),
    ];
}

impl BackendKind {
    /// The register: what the spec knows of each backend.
    fn entry(self) -> &'static BackendEntry {
        match self {
            Self::Sagemaker => &sagemaker::ENTRY,
            Self::Local => &local::ENTRY,
            Self::Replay => &replay::ENTRY,
        }
    }

    /// What the program asks of a backend before one is made.
    pub fn traits(self) -> &'static Traits {
        &self.entry().traits
    }

    /// What the backend makes of a spec.
    pub(super) fn rules(self) -> &'static Rules {
        &self.entry().rules
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::WORDS.iter().find(|(_, kind)| kind == self);
        f.write_str(word.map_or("unknown", |(word, _)| word))
    }
}

/// All that the spec knows of a backend.
struct BackendEntry {
    traits: Traits,
    rules: Rules,
}

/// What the program asks of a backend before one is made.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each asked for by itself"
)]
pub struct Traits {
    /// Canaries go on when the gate is gone, so a run keeps an id by which they are found and swept.
    pub outlives_the_gate: bool,
    /// Canaries are processes of this machine: they see its environment, and run the code as it lies here.
    pub runs_here: bool,
    /// Recorded runs are handed out. Nothing is run, so nothing is kept for later runs either.
    pub replays: bool,
    /// No canary is launched on machines without a price.
    pub needs_price: bool,
    /// A canary's time to start comes on top of its time limit.
    pub start_up_unknown: bool,
    /// A service is asked, so that `validate`, which calls nothing, does not open a job.
    pub is_remote: bool,
    /// A job without `source_dir` runs what its image brings along, which the spec names.
    pub image_brings_code: bool,
    /// Canaries can be measured on instance groups.
    pub runs_groups: bool,
}

impl Traits {
    /// For backends to start from.
    const NONE: Self = Self {
        outlives_the_gate: false,
        runs_here: false,
        replays: false,
        needs_price: false,
        start_up_unknown: false,
        is_remote: false,
        image_brings_code: false,
        runs_groups: false,
    };
}

/// What a backend makes of a spec.
pub(super) struct Rules {
    /// Checks the keys of `training` that the backend must have, cannot have or ignores.
    pub(super) check: fn(&mut SpecReader<'_>, &RawTraining, &At),
    pub(super) data: DataRule,
    pub(super) machines: MachineRule,
    pub(super) groups: GroupRule,
    pub(super) recording: RecordingRule,
    pub(super) probe: ProbeRule,
    /// Whether a job's name may have underscores.
    pub(super) names_have_underscores: bool,
    /// Where nothing is written.
    pub(super) parallel: u32,
    /// When a full run is stopped that says nothing of it.
    pub(super) max_runtime: fn(&RawTraining) -> Option<Seconds>,
    /// Whether training is bound by SageMaker's own limits: 28 days, and values as long as it promises to take.
    pub(super) limits: LimitRule,
    /// Whether warm pools are meant for this backend.
    pub(super) has_warm_pools: bool,
}

impl Rules {
    /// For backends to start from, and where the backend could not be read: nothing that depends on it is checked.
    pub(super) const ANY: Self = Self {
        check: |_, _, _| {},
        data: DataRule::Any,
        machines: MachineRule::Any,
        groups: GroupRule::NotYet,
        recording: RecordingRule::Ignored,
        probe: ProbeRule::Ignored,
        names_have_underscores: false,
        parallel: 1,
        max_runtime: |_| None,
        limits: LimitRule::None,
        has_warm_pools: false,
    };
}

/// Where the objects of channels lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataRule {
    /// On this machine.
    Files,
    /// In S3, or in a file system of AWS.
    Cloud,
    Any,
}

/// Which machines a backend has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MachineRule {
    /// `local`, which all canaries share.
    This,
    /// SageMaker's instance types.
    Cloud,
    Any,
}

/// Whether canaries run on instance groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupRule {
    Served,
    NotYet,
    None,
}

/// What becomes of the key `recording`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordingRule {
    Needed,
    Refused,
    Ignored,
}

/// What becomes of the key `canary.probe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeRule {
    Served,
    /// Every canary has the probe.
    Always,
    Ignored,
}

/// Whose limits a training has to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitRule {
    Sagemaker,
    None,
}
