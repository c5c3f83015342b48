//! The tracking issue of a check for drift.

use crate::commands::publish;
use crate::commands::run::Checked;
use crate::console::{AppError, printable, say};
use crate::github::{Github, Intent, PostText, Publication, PublicationOutcome};
use crate::report;

/// Makes the issue say what the report says, and closes it where no job drifts or what drifted was accepted. It stays as it is if a
/// job could not be checked, whose drift may go on. An error is reported and does not change how the check ends.
pub(super) async fn track(
    github: &Github,
    issue: &Publication,
    checked: &mut Checked,
    is_accepted: bool,
) {
    let report = &checked.report;
    let drift = report::drift_issue(report).filter(|_| !is_accepted);
    let is_all_checked = checked.affected > 0
        && report.failures.is_empty()
        && report.jobs.len() == checked.affected
        && report.jobs.iter().all(|job| job.drift.is_some());
    let over = report::drift_over(report);
    let (title, body, intent) = match &drift {
        Some(drift) => (Some(&*drift.title), &*drift.body, Intent::Verdict),
        None if is_accepted || is_all_checked => (None, &*over, Intent::Close),
        None => return,
    };
    let text = PostText {
        title,
        body,
        intent,
    };
    let tracked = match publish::posted(github, issue, &text).await {
        Err(error) => {
            let error = AppError::from(error).during("keeping the tracking issue");
            checked.report.failures.push(error.failure(None));
            return say(error.render(false).trim_end());
        }
        Ok(tracked) => tracked,
    };
    let how = match tracked.outcome {
        PublicationOutcome::Created => "opened",
        PublicationOutcome::Updated => "brought up to date",
        PublicationOutcome::Closed => "closed: the drift is over",
        PublicationOutcome::Unchanged => "up to date already",
        PublicationOutcome::Superseded => "left alone: a newer run has written already",
        PublicationOutcome::Nothing => return,
    };
    let url = tracked.url.as_deref().unwrap_or_default();
    say(&format!("tracking issue {how} {}", printable(url)));
}
