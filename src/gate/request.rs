//! The request for one run of the gate.

use std::path::Path;

use crate::backend::RunPart;
use crate::change::AffectedJob;
use crate::gate::pull_request_limit::PullRequestLimit;
use crate::plan::{Account, Alternatives, KeptMachines};
use crate::units::Usd;
use crate::workspace::base_commit::BaseCommit;
use crate::workspace::run_origin::RunOrigin;

/// The request for one run of the gate.
pub(crate) struct GateRequest<'a> {
    pub(crate) affected: &'a [AffectedJob<'a>],
    pub(crate) alternatives: Alternatives,
    /// Whether canaries and training jobs of earlier runs may be reused.
    pub(crate) reuse: Reuse,
    pub(crate) purpose: Purpose,
    pub(crate) part: RunPart,
    /// The most that canaries of all jobs may cost together; `None`: each job's own limit alone.
    pub(crate) max_spend: Option<Usd>,
    /// The most that canaries of all checks of the pull request may cost together, those before this one included; `None`: no
    /// such limit.
    pub(crate) max_spend_per_pull_request: Option<Usd>,
    /// Which part of the history the run writes and reads.
    pub(crate) origin: RunOrigin,
    /// The commit to compare with, if any.
    pub(crate) base: Option<BaseCommit>,
    /// A file to write measurements to.
    pub(crate) measurements: Option<&'a Path>,
    /// Names of variables of the caller that a local canary gets.
    pub(crate) pass_env: &'a [String],
}

/// What the canaries of a run decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Every budget line that can fail the check; without a written line a narrow interval of the time.
    Budget,
    /// Whether the training takes more than before. Drift checks are compared with each other, so each needs a narrow interval
    /// of the time, whatever the budget needs.
    Drift,
}

/// Whether canaries of earlier runs may be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Canaries younger than the spec's `canary.reuse` are.
    Young,
    /// Everything is measured again.
    Never,
}

/// What the canaries of a job may spend.
#[derive(Clone, Copy)]
pub(crate) struct JobMoney<'a> {
    pub(crate) account: &'a Account,
    pub(crate) kept: &'a KeptMachines,
    pub(crate) pull_request: &'a PullRequestLimit,
}
