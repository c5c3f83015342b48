//! The request for one run of the gate.

use std::path::Path;

use crate::backend::{Reuse, RunPart};
use crate::change::Change;
use crate::exit::Strictness;
use crate::plan::Alternatives;
use crate::units::Usd;
use crate::workspace::{BaseCommit, RunOrigin};

/// What one run of the gate is asked for, on the command line or by an event of GitHub.
pub(crate) struct RunRequest<'a> {
    pub(crate) change: Change,
    /// Only these jobs; empty: all that the change affects.
    pub(crate) jobs: &'a [String],
    /// Whether canaries decide if the training takes more than before. Such checks are compared with each other, so each needs
    /// a narrow interval of the time, whatever the budget needs. Else canaries decide every budget line that can fail the
    /// check; without a written line a narrow interval of the time.
    pub(crate) is_drift: bool,
    pub(crate) part: RunPart,
    pub(crate) alternatives: Alternatives,
    pub(crate) reuse: Reuse,
    pub(crate) max_spend: Option<Usd>,
    pub(crate) max_spend_per_pull_request: Option<Usd>,
    pub(crate) origin: RunOrigin,
    /// The commit to compare with, if any.
    pub(crate) base: Option<BaseCommit>,
    pub(crate) strictness: Strictness,
    /// About the whole run.
    pub(crate) notes: Vec<String>,
    /// A file to write measurements to.
    pub(crate) measurements: Option<&'a Path>,
    pub(crate) pass_env: &'a [String],
}

impl<'a> RunRequest<'a> {
    /// A whole run that may reuse canaries, without limits of its own.
    pub(crate) fn new(change: Change, origin: RunOrigin, strictness: Strictness) -> Self {
        Self {
            change,
            jobs: &[],
            is_drift: false,
            part: RunPart::Whole,
            alternatives: Alternatives::Measure,
            reuse: Reuse::Young,
            max_spend: None,
            max_spend_per_pull_request: None,
            origin,
            base: None,
            strictness,
            notes: Vec::new(),
            measurements: None,
            pass_env: &[],
        }
    }

    /// A check for drift: every job is measured again, on its own instance.
    pub(crate) fn drift(origin: RunOrigin, strictness: Strictness) -> Self {
        let change = Change::Everything {
            why: "a check for drift looks at every job".to_owned(),
        };
        Self {
            is_drift: true,
            alternatives: Alternatives::Skip,
            reuse: Reuse::Never,
            ..Self::new(change, origin, strictness)
        }
    }
}
