//! A known overrun that somebody who may write accepts by a label: it stays an overrun, and the check passes.
//!
//! Only a pull request's own event counts, of a head in this repository that is what was checked out. What failed, also in a
//! canary of a job that is over its budget, what is unknown, and what could not be asked is never accepted.

use crate::commands::run::Checked;
use crate::console::{AppError, printable, say};
use crate::exit;
use crate::github::ShownOverrun;
use crate::github::accept_label::{ACCEPT_LABEL, LabelRefusal};
use crate::report::{self, Acceptance, JobReport, Policy, Report};
use crate::verdict::Verdict;

use super::publisher::Publisher;

impl Publisher<'_> {
    /// Asks whether the overruns of a report are accepted, and lets them pass if so. What the comment is to remember of them; `None`
    /// if there is nothing that a label can accept.
    pub(super) async fn accept_overrun(&self, checked: &mut Checked) -> Option<ShownOverrun> {
        let report = &checked.report;
        let is_overrun = checked.error.is_none()
            && report.failures.is_empty()
            && report.exit_code == exit::EXCEEDED
            && (report.jobs.iter()).any(|job| job.beside_its_overrun().is_some());
        if !is_overrun {
            return None;
        }
        if self.environment.event_name == "merge_group" {
            let note = format!(
                "In a merge queue no label `{ACCEPT_LABEL}` counts; an override in the base branch's spec does."
            );
            add_note(&mut checked.report, note);
            return None;
        }
        let (github, pull_request) = self.github.as_ref().zip(self.head.as_ref())?;
        if self.environment.event_name != "pull_request"
            || pull_request.is_from_fork(&self.environment.repository)
        {
            return None;
        }
        let head = &pull_request.head;
        let now = jiff::Timestamp::now();
        let overrun = ShownOverrun {
            head: head.sha.clone(),
            finished: now,
            ends: report::overrun_ends(report),
        };
        let newest = now.max(pull_request.updated_at);
        let number = pull_request.number;
        let answer = github.accept_label(number, &self.subject, &overrun, newest);
        let answer = answer.await;
        let is_head = match &report.commit {
            None => Ok(false),
            Some(commit) => github.is_of_head(commit, &head.sha).await,
        };
        let answer = answer.and_then(|accepted| match (accepted, &is_head) {
            (Some(_), Ok(false)) => {
                Err("what is checked out is not the head of the pull request".into())
            }
            (Some(_), Err(error)) => Err(error.clone().into()),
            (accepted, _) => Ok(accepted),
        });
        // What was accepted stays so for the next check of this head, which may find less.
        let mut remembered = matches!(is_head, Ok(true)).then_some(overrun);
        let does_not_count = format!("The label `{ACCEPT_LABEL}` does not count");
        let note = match answer {
            Ok(None) => {
                let mut passing = report.clone();
                let by = String::new();
                report::accept_overruns(&mut passing, &Acceptance { by, at: now }, self.strictness);
                if remembered.is_none() || self.comment.is_none() || passing.exit_code != 0 {
                    return remembered;
                }
                format!(
                    "To accept the overrun of this commit, somebody who may write puts the label `{ACCEPT_LABEL}` on and runs the check again."
                )
            }
            Ok(Some((acceptance, shown))) => {
                remembered = Some(shown);
                report::accept_overruns(&mut checked.report, &acceptance, self.strictness);
                let (by, at) = (&acceptance.by, report::words::minute(acceptance.at));
                let accepts = format!(
                    "The label `{ACCEPT_LABEL}` by {by}, of {at}, accepts the overrun; a new push needs it again."
                );
                const CRASHES: &str = "it accepts an overrun, not a training that crashes";
                let jobs = &checked.report.jobs;
                let is_accepted = jobs.iter().any(|job| job.policy.accepted.is_some());
                let is_crash = |job: &JobReport| job.beside_its_overrun() == Some(Verdict::Failed);
                match (is_accepted, jobs.iter().any(is_crash)) {
                    (true, false) => accepts,
                    (true, true) => {
                        format!("{accepts} For other jobs it does not count: {CRASHES}.")
                    }
                    (false, _) => format!("{does_not_count}: {CRASHES}."),
                }
            }
            Err(LabelRefusal::Because(_)) if self.comment.is_none() => {
                format!("{does_not_count}: with `comment: off` nothing shows what it accepts.")
            }
            Err(LabelRefusal::Because(why)) => format!(
                "{does_not_count}: {why}. Somebody who may write has to take it off, put it on again, and run the check again."
            ),
            Err(LabelRefusal::Unknown(error)) => {
                format!("{does_not_count}: {}.", AppError::from(error).in_a_line())
            }
        };
        add_note(&mut checked.report, note);
        remembered
    }
}

/// Says it in the log, and first of what is said of the policy.
fn add_note(report: &mut Report, note: String) {
    say(&format!("note: {}", printable(&note)));
    let policy = report.policy.get_or_insert_with(|| Policy::of("", None));
    policy.notes.insert(0, note);
}
