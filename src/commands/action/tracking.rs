//! The tracking issue of a check for drift: opened, kept up to date, closed when the drift is over.

use crate::console::{AppError, printable, say};
use crate::github::client::Github;
use crate::github::issue::IssueMarker;
use crate::github::keeper::{KeeperChange, KeptItem};
use crate::github::tracking::Tracking;
use crate::report::{self, Report};

use super::checked::Checked;

/// Makes the issue of this marker say what the report says; `asked` is how many jobs were to be checked. An error is reported
/// and does not change how the check ends.
pub(super) async fn track(
    github: &Github,
    marker: &IssueMarker,
    asked: usize,
    checked: &mut Checked,
) {
    if let Some(state) = state(&checked.report, asked) {
        keep(github, marker, state, checked).await;
    }
}

/// Closes the issue: what drifted was accepted.
pub(super) async fn close(github: &Github, marker: &IssueMarker, checked: &mut Checked) {
    let body = report::drift_over(&checked.report);
    keep(github, marker, Tracking::Over { body }, checked).await;
}

async fn keep(github: &Github, marker: &IssueMarker, state: Tracking, checked: &mut Checked) {
    match github.track(marker, state, jiff::Timestamp::now()).await {
        Ok(tracked) => print_change(&tracked),
        Err(error) => {
            let error = AppError::from(error).during("keeping the tracking issue");
            checked.report.failures.push(error.failure(None));
            say(error.render(false).trim_end());
        }
    }
}

/// What the issue is to say: a drift of any job, or that there is none. `None` if a job could not be checked: its drift may
/// go on.
fn state(report: &Report, asked: usize) -> Option<Tracking> {
    if let Some(issue) = report::drift_issue(report) {
        return Some(Tracking::Drifted {
            title: issue.title,
            body: issue.body,
        });
    }
    let are_checked = asked > 0
        && report.failures.is_empty()
        && report.jobs.len() == asked
        && report.jobs.iter().all(|job| job.drift.is_some());
    are_checked.then(|| Tracking::Over {
        body: report::drift_over(report),
    })
}

fn print_change(tracked: &KeptItem) {
    let change = match tracked.change {
        KeeperChange::Created => "opened",
        KeeperChange::Updated => "brought up to date",
        KeeperChange::Closed => "closed: the drift is over",
        KeeperChange::Unchanged => "up to date already",
        KeeperChange::Superseded => "left alone: a newer run has written already",
        KeeperChange::Nothing => return,
    };
    let url = tracked.url.as_deref().unwrap_or_default();
    say(&format!("tracking issue {change} {}", printable(url)));
    for note in &tracked.notes {
        say(&format!("note: {}", printable(note)));
    }
}
