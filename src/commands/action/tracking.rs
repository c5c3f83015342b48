//! The tracking issue of a check for drift: opened, kept up to date, closed when the drift is over.

use crate::commands::run::Checked;
use crate::console::{AppError, printable, say};
use crate::github::client::Github;
use crate::github::last_verdict::LastVerdict;
use crate::github::marker::Marker;
use crate::github::posts::PostPlace;
use crate::github::publication::{
    Intent, OlderComments, Publication, PublicationOutcome, Published,
};
use crate::report;

/// Makes the issue of this marker say what the report says. It stays as it is if a job could not be checked, whose drift may go
/// on. An error is reported and does not change how the check ends.
pub(super) async fn track(github: &Github, marker: &Marker, checked: &mut Checked) {
    if let Some(issue) = report::drift_issue(&checked.report) {
        let title = Some(issue.title.as_str());
        publish(github, marker, (Intent::Show, title, &issue.body), checked).await;
    } else if is_all_checked(checked) {
        close(github, marker, checked).await;
    }
}

/// Closes the issue: there is no drift, or what drifted was accepted.
pub(super) async fn close(github: &Github, marker: &Marker, checked: &mut Checked) {
    let body = report::drift_over(&checked.report);
    publish(github, marker, (Intent::Close, None, &body), checked).await;
}

async fn publish(
    github: &Github,
    marker: &Marker,
    (intent, title, body): (Intent, Option<&str>, &str),
    checked: &mut Checked,
) {
    let publication = Publication {
        place: PostPlace::Issues,
        marker,
        title,
        body,
        intent,
        older: OlderComments::WriteOver,
        last_verdict: LastVerdict::Replaced,
    };
    match github.publish(&publication, jiff::Timestamp::now()).await {
        Ok(tracked) => print_outcome(&tracked),
        Err(error) => {
            let error = AppError::from(error).during("keeping the tracking issue");
            checked.report.failures.push(error.failure(None));
            say(error.render(false).trim_end());
        }
    }
}

fn is_all_checked(checked: &Checked) -> bool {
    let Checked {
        report, affected, ..
    } = checked;
    *affected > 0
        && report.failures.is_empty()
        && report.jobs.len() == *affected
        && report.jobs.iter().all(|job| job.drift.is_some())
}

fn print_outcome(tracked: &Published) {
    let outcome = match tracked.outcome {
        PublicationOutcome::Created => "opened",
        PublicationOutcome::Updated => "brought up to date",
        PublicationOutcome::Closed => "closed: the drift is over",
        PublicationOutcome::Unchanged => "up to date already",
        PublicationOutcome::Superseded => "left alone: a newer run has written already",
        PublicationOutcome::Nothing => return,
    };
    let url = tracked.url.as_deref().unwrap_or_default();
    say(&format!("tracking issue {outcome} {}", printable(url)));
    for note in &tracked.notes {
        say(&format!("note: {}", printable(note)));
    }
}
