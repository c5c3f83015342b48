//! A known overrun that somebody who may write accepts by a label: it stays an overrun, and the check passes.
//!
//! Only a pull request's own event counts, of a head in this repository that is what was checked out. What failed, also in a
//! canary of a job that is over its budget, what is unknown, and what could not be asked is never accepted.

use crate::console::{AppError, printable, say};
use crate::exit::{self, Strictness};
use crate::github::accept_label::{ACCEPT_LABEL, CheckedHead, LabelAnswer};
use crate::github::client::Github;
use crate::github::environment::Environment;
use crate::github::pull_request::PullRequest;
use crate::measurement::Outcome;
use crate::report::{self, Acceptance, JobReport, Policy};
use crate::verdict::Verdict;

use super::checked::Checked;

/// The pull request whose own event started this check.
pub(super) struct AskedHead {
    pub(super) github: Github,
    pub(super) pull_request: PullRequest,
    pub(super) strictness: Strictness,
}

impl AskedHead {
    /// Asks whether the overruns of a report are accepted, and lets them pass if so.
    pub(super) async fn apply(&self, environment: &Environment, checked: &mut Checked) {
        let report = &checked.report;
        let is_overrun = checked.error.is_none()
            && report.failures.is_empty()
            && report.exit_code == exit::EXCEEDED
            && report
                .jobs
                .iter()
                .any(|job| job.beside_its_overrun().is_some());
        let PullRequest { head, .. } = &self.pull_request;
        let Environment {
            event_name,
            repository,
            workflow_ref,
            run_id,
            ..
        } = environment;
        if !is_overrun || event_name != "pull_request" || self.pull_request.is_from_fork(repository)
        {
            return;
        }
        let asked = CheckedHead {
            pull_request: self.pull_request.number,
            sha: &head.sha,
            branch: &head.branch,
            repository,
            workflow: workflow_ref.as_deref().map_or("", workflow_file),
            run: *run_id,
        };
        let answer = match self.github.accept_label(asked).await {
            Ok(LabelAnswer::Accepted(by)) => match self.is_checked_out(checked).await {
                Ok(true) => Ok(LabelAnswer::Accepted(by)),
                Ok(false) => Ok(LabelAnswer::Refused(
                    "what is checked out is not the head of the pull request".to_owned(),
                )),
                Err(error) => Err(error),
            },
            answer => answer.map_err(AppError::from),
        };
        let note = match answer {
            Ok(LabelAnswer::Absent) => return,
            Ok(LabelAnswer::Accepted(by)) => {
                let accepted = format!(
                    "The overrun is accepted by {}, by the label `{ACCEPT_LABEL}` of {}. The next push needs it again.",
                    by.login,
                    report::words::minute(by.at)
                );
                let acceptance = Acceptance {
                    by: by.login,
                    at: by.at,
                };
                report::accept_overruns(&mut checked.report, &acceptance, self.strictness);
                let jobs = &checked.report.jobs;
                let is_accepted = jobs.iter().any(|job| job.policy.accepted.is_some());
                let notes = is_accepted.then_some(accepted).into_iter();
                let notes: Vec<String> = notes.chain(crash_note(jobs)).collect();
                notes.join(" ")
            }
            Ok(LabelAnswer::Refused(why)) => format!(
                "The label `{ACCEPT_LABEL}` does not count: {why}. Take it off, put it on again, and run the check again."
            ),
            Err(error) => format!(
                "The label `{ACCEPT_LABEL}` does not count: {}. The job's token needs `actions: read`.",
                error.in_a_line()
            ),
        };
        say(&format!("note: {}", printable(&note)));
        let policy = checked
            .report
            .policy
            .get_or_insert_with(|| Policy::of("", None));
        policy.notes.insert(0, note);
    }

    /// Whether the measured commit is the head, or GitHub's merge of it.
    async fn is_checked_out(&self, checked: &Checked) -> Result<bool, AppError> {
        let head = &self.pull_request.head.sha;
        Ok(match &checked.report.commit {
            None => false,
            Some(commit) if commit == head => true,
            Some(commit) => self.github.commit(commit).await?.parents.contains(head),
        })
    }
}

/// That the label does not count for jobs over their budget whose training crashes; `None` if there are none.
fn crash_note(jobs: &[JobReport]) -> Option<String> {
    let is_over = |job: &&JobReport| job.beside_its_overrun() == Some(Verdict::Failed);
    let mut crashed = jobs.iter().filter(is_over);
    let first = crashed.next()?;
    let run = first.crashed_canary()?;
    let how = match &run.outcome {
        Outcome::OutOfMemory { of, .. } => format!("ran out of {}", of.words()),
        _ => "failed".to_owned(),
    };
    let more = match crashed.count() {
        0 => String::new(),
        1 => ", and so it is with 1 more job".to_owned(),
        count => format!(", and so it is with {count} more jobs"),
    };
    Some(format!(
        "The label `{ACCEPT_LABEL}` does not count for job `{}`: its {} canary {how}{more}. A label accepts an overrun, not a training that crashes: correct that, and the label counts for the rest.",
        first.name, run.fraction
    ))
}

/// `canary-gate.yml` of `example/models/.github/workflows/canary-gate.yml@refs/pull/7/merge`.
fn workflow_file(workflow_ref: &str) -> &str {
    let path = workflow_ref.split('@').next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::workflow_file;

    #[test]
    fn a_workflow_is_known_by_its_file() {
        assert_eq!(
            workflow_file("example/models/.github/workflows/gate.yml@refs/pull/7/merge"),
            "gate.yml"
        );
        assert_eq!(workflow_file(""), "");
    }
}
