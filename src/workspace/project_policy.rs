//! The policy that a project is judged by.

use std::collections::BTreeMap;

use crate::change::BaseSpec;
use crate::report::Policy;

/// The policy's source in a report, if the work tree's own policy applies.
const WORK_TREE: &str = "work tree";

/// The policy that a project is judged by, and the notes on it.
#[derive(Debug, Default)]
pub(crate) struct ProjectPolicy {
    /// `None` if the work tree's own policy applies.
    pub(crate) source: Option<Policy>,
    /// The base's spec; its `paths` count beside the project's own.
    pub(crate) base: Option<BaseSpec>,
    /// For the whole run.
    pub(crate) notes: Vec<String>,
    /// By job name.
    pub(crate) job_notes: BTreeMap<String, Vec<String>>,
    /// Why nothing can be judged under the base's policy; then nothing is run.
    pub(crate) undecidable: Option<String>,
}

impl ProjectPolicy {
    /// The source as a report names it.
    pub(crate) fn source(&self) -> Policy {
        self.source.clone().unwrap_or_else(|| Policy {
            source: WORK_TREE.to_owned(),
            sha: None,
        })
    }

    /// The notes on a job's policy: differences from the base, overrides in force, expired overrides.
    pub(crate) fn notes_of(&self, job: &str) -> &[String] {
        self.job_notes.get(job).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn add_note(&mut self, job: String, note: String) {
        self.job_notes.entry(job).or_default().push(note);
    }
}
