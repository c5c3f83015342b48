//! Whose policy a project is held against.

use std::collections::BTreeMap;

use crate::change::BaseSpec;
use crate::report::Policy;

/// What is said of a work tree whose own policy counts.
const WORK_TREE: &str = "work tree";

/// Whose policy a project is held against, and what is to be said of it.
#[derive(Debug, Default)]
pub(crate) struct ProjectPolicy {
    /// Absent where the work tree's own counts.
    pub(crate) source: Option<Policy>,
    /// The base's spec, whose paths count beside the project's own.
    pub(crate) base: Option<BaseSpec>,
    /// On the whole run.
    pub(crate) notes: Vec<String>,
    /// By the job's name.
    pub(crate) job_notes: BTreeMap<String, Vec<String>>,
    /// Why nothing can be judged under the base's policy; then nothing is run.
    pub(crate) undecidable: Option<String>,
}

impl ProjectPolicy {
    /// As the report names it.
    pub(crate) fn source(&self) -> Policy {
        self.source.clone().unwrap_or_else(|| Policy {
            source: WORK_TREE.to_owned(),
            sha: None,
        })
    }

    /// What is to be said of a job's policy: what differs from the base, overrides in force and expired ones.
    pub(crate) fn notes_of(&self, job: &str) -> &[String] {
        self.job_notes.get(job).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn add_note(&mut self, job: String, note: String) {
        self.job_notes.entry(job).or_default().push(note);
    }
}
