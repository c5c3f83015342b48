//! The policy that a project is judged by.

use crate::change::BaseSpec;
use crate::report::{JobPolicy, JobReport, Policy};
use crate::spec::Spec;
use crate::spec::policy::PolicyChanges;
use crate::verdict::Reason;

/// The policy's source in a report, if the work tree's own policy applies.
const WORK_TREE: &str = "work tree";

/// The policy that a project is judged by, and the notes on it.
#[derive(Debug, Default)]
pub(crate) struct ProjectPolicy {
    /// `None` if the work tree's own policy applies.
    pub(crate) source: Option<Policy>,
    /// The base's spec; its `paths` count beside the project's own.
    pub(crate) base: Option<BaseSpec>,
    /// Differences from the base, overrides in force, expired overrides.
    pub(crate) changes: PolicyChanges,
    /// Why nothing can be judged under the base's policy; then nothing is run.
    pub(crate) undecidable: Option<Reason>,
    /// Whether that is another backend than the base's, which neither a flag nor an input makes a pass.
    pub(crate) has_other_backend: bool,
}

impl ProjectPolicy {
    /// The source as a report names it.
    pub(crate) fn source(&self, spec: &Spec) -> Policy {
        let known = self.source.clone();
        Policy {
            extends: spec.policy.as_ref().map(|policy| policy.file.name.clone()),
            ..known.unwrap_or_else(|| Policy::of(WORK_TREE, None))
        }
    }

    /// Whether a change says nothing of policy that concerns the whole run.
    pub(crate) fn is_as_on_the_base(&self) -> bool {
        self.changes.notes.is_empty()
            && self.changes.removed_jobs.is_empty()
            && self.undecidable.is_none()
    }

    /// The same with all differences that concern the whole run.
    pub(crate) fn reported(&self, spec: &Spec) -> Policy {
        Policy {
            notes: self.changes.notes.clone(),
            removed_jobs: self.changes.removed_jobs.clone(),
            ..self.source(spec)
        }
    }

    /// A job's policy as a report has it.
    pub(crate) fn reported_of(&self, job: &JobReport) -> JobPolicy {
        let uncompared = self.changes.uncompared_notes.get(&job.name);
        let uncompared = uncompared.filter(|_| job.baseline.is_none());
        let notes = self.notes_of(&job.name).iter();
        let notes = notes.chain(uncompared.into_iter().flatten());
        JobPolicy {
            notes: notes.cloned().collect(),
            renamed_from: self.changes.renamed_from.get(&job.name).cloned(),
            accepted: None,
        }
    }

    /// The notes on a job's policy.
    pub(crate) fn notes_of(&self, job: &str) -> &[String] {
        self.changes.job_notes.get(job).map_or(&[], Vec::as_slice)
    }
}
