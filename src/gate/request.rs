//! What a command asks of the gate.

use std::path::Path;

use crate::change::AffectedJob;
use crate::plan::Alternatives;
use crate::workspace::base_commit::BaseCommit;
use crate::workspace::run_origin::RunOrigin;

/// One run of the gate, asked for.
pub(crate) struct GateRequest<'a> {
    pub(crate) affected: &'a [AffectedJob<'a>],
    pub(crate) alternatives: Alternatives,
    /// Whether earlier runs' canaries and training jobs may stand for those of this one.
    pub(crate) reuse: Reuse,
    pub(crate) purpose: Purpose,
    /// Whose run this is to the history.
    pub(crate) origin: RunOrigin,
    /// The commit to compare with; `None` where there is none.
    pub(crate) base: Option<BaseCommit>,
    /// A file that measurements are kept in beside the gate's own.
    pub(crate) measurements: Option<&'a Path>,
    /// What a local canary may see of the caller's environment.
    pub(crate) pass_env: &'a [String],
}

/// What the canaries of a run are to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Every budget line that can fail the check; without a written one, the time narrowly.
    Budget,
    /// Whether the training takes more than before. Checks are compared with each other, whatever a budget needs to know, so
    /// each measures the time narrowly.
    Drift,
}

/// Whether canaries of earlier runs may stand for those of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Those that are younger than the spec's `canary.reuse`.
    Young,
    /// None: everything is measured anew.
    Never,
}
