//! A known overrun that somebody who may write accepts by a label: it stays an overrun, and the check passes.
//!
//! Only a pull request's own event counts, of a head in this repository that is what was checked out. What failed, also in a
//! canary of a job that is over its budget, what is unknown, and what could not be asked is never accepted.

use crate::commands::run::Checked;
use crate::console::{AppError, printable, say};
use crate::exit::{self, Strictness};
use crate::github::accept_label::{ACCEPT_LABEL, LabelAnswer};
use crate::github::client::Github;
use crate::github::environment::Environment;
use crate::github::pull_request::PullRequest;
use crate::github::shown_overrun::ShownOverrun;
use crate::measurement::Outcome;
use crate::report::{self, JobReport, Policy};
use crate::verdict::Verdict;

/// The pull request whose own event started this check.
pub(super) struct LabelRequest {
    pub(super) github: Github,
    pub(super) pull_request: PullRequest,
    pub(super) strictness: Strictness,
    /// What the check's comment is known by.
    pub(super) subject: String,
}

impl LabelRequest {
    /// Asks whether the overruns of a report are accepted, and lets them pass if so. What the comment is to remember of them; `None`
    /// if there is nothing that a label can accept.
    pub(super) async fn apply(
        &self,
        environment: &Environment,
        checked: &mut Checked,
    ) -> Option<ShownOverrun> {
        let report = &checked.report;
        let PullRequest { head, .. } = &self.pull_request;
        let now = jiff::Timestamp::now();
        let overrun = ShownOverrun {
            head: head.sha.clone(),
            finished: now,
            ends: report::overrun_ends(report),
        };
        let is_overrun = checked.error.is_none()
            && report.failures.is_empty()
            && report.exit_code == exit::EXCEEDED
            && (report.jobs.iter()).any(|job| job.beside_its_overrun().is_some());
        if !is_overrun
            || environment.event_name != "pull_request"
            || self.pull_request.is_from_fork(&environment.repository)
        {
            return None;
        }
        let newest = now.max(self.pull_request.updated_at);
        let number = self.pull_request.number;
        let answer = (self.github)
            .accept_label(number, &self.subject, &overrun, newest)
            .await;
        let is_head = match &report.commit {
            None => Ok(false),
            Some(commit) => self.github.is_of_head(commit, &head.sha).await,
        };
        let answer = match (answer, &is_head) {
            (Ok(LabelAnswer::Accepted(..)), Ok(false)) => Ok(LabelAnswer::Refused(
                "what is checked out is not the head of the pull request".to_owned(),
            )),
            (Ok(LabelAnswer::Accepted(..)), Err(error)) => Err(error.clone()),
            (answer, _) => answer,
        };
        // What was accepted stays so for the next check of this head, which may find less.
        let mut remembered = matches!(is_head, Ok(true)).then_some(overrun);
        let note = match answer {
            Ok(LabelAnswer::Absent) => return remembered,
            Ok(LabelAnswer::Accepted(acceptance, shown)) => {
                remembered = Some(shown);
                let accepted = format!(
                    "The label `{ACCEPT_LABEL}` by {}, of {}, accepts the overrun; a new push needs it again.",
                    acceptance.by,
                    report::words::minute(acceptance.at)
                );
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
                "The label `{ACCEPT_LABEL}` does not count: {}.",
                AppError::from(error).in_a_line()
            ),
        };
        say(&format!("note: {}", printable(&note)));
        let policy = checked
            .report
            .policy
            .get_or_insert_with(|| Policy::of("", None));
        policy.notes.insert(0, note);
        remembered
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
