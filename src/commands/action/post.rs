//! One text of ours on GitHub: the comment on a pull request, or the tracking issue of a check for drift.

use jiff::Timestamp;

use crate::commands::run::Checked;
use crate::console::{AppError, printable, say};
use crate::github::client::Github;
use crate::github::error::GithubError;
use crate::github::last_verdict::LastVerdict;
use crate::github::marker::{Marker, MarkerKind, MarkerState, Order};
use crate::github::posts::PostPlace;
use crate::github::publication::{
    Intent, OlderComments, Publication, PublicationOutcome, Published,
};
use crate::report;

/// Where the text stands, and what it is known by.
pub(super) struct OwnText {
    pub(super) github: Github,
    pub(super) place: PostPlace,
    /// The spec, and the jobs where the step looks at some only.
    pub(super) subject: String,
    pub(super) order: Order,
    pub(super) older: OlderComments,
}

impl OwnText {
    /// The hidden first line.
    pub(super) fn marker(&self, state: MarkerState) -> Marker {
        Marker {
            kind: match self.place {
                PostPlace::PullRequest(_) => MarkerKind::Report,
                PostPlace::Issues => MarkerKind::Drift,
            },
            spec: self.subject.clone(),
            order: self.order,
            state,
        }
    }

    /// Makes a text stand there; the last verdict is folded below it while the run is at work. What went wrong without harm is said.
    pub(super) async fn publish(
        &self,
        (title, body): (Option<&str>, &str),
        intent: Intent,
        last_verdict: LastVerdict,
    ) -> Result<Published, GithubError> {
        let state = match last_verdict {
            LastVerdict::Folded => MarkerState::Running,
            LastVerdict::Replaced | LastVerdict::GivenBack => MarkerState::Final,
        };
        let publication = Publication {
            place: self.place,
            marker: &self.marker(state),
            title,
            body,
            intent,
            older: self.older,
            last_verdict,
        };
        let published = self.github.publish(&publication, Timestamp::now()).await?;
        for note in &published.notes {
            say(&format!("note: {}", printable(note)));
        }
        Ok(published)
    }

    /// Makes the issue say what the report says, and closes it where no job drifts or what drifted was accepted. It stays as it is if
    /// a job could not be checked, whose drift may go on. An error is reported and does not change how the check ends.
    pub(super) async fn track(&self, checked: &mut Checked, is_accepted: bool) {
        let report = &checked.report;
        let drift = report::drift_issue(report).filter(|_| !is_accepted);
        let is_all_checked = checked.affected > 0
            && report.failures.is_empty()
            && report.jobs.len() == checked.affected
            && report.jobs.iter().all(|job| job.drift.is_some());
        let over = report::drift_over(report);
        let (text, intent) = match &drift {
            Some(drift) => ((Some(&*drift.title), &*drift.body), Intent::Show),
            None if is_accepted || is_all_checked => ((None, &*over), Intent::Close),
            None => return,
        };
        let outcome = match self.publish(text, intent, LastVerdict::Replaced).await {
            Err(error) => {
                let error = AppError::from(error).during("keeping the tracking issue");
                checked.report.failures.push(error.failure(None));
                return say(error.render(false).trim_end());
            }
            Ok(tracked) => tracked,
        };
        let how = match outcome.outcome {
            PublicationOutcome::Created => "opened",
            PublicationOutcome::Updated => "brought up to date",
            PublicationOutcome::Closed => "closed: the drift is over",
            PublicationOutcome::Unchanged => "up to date already",
            PublicationOutcome::Superseded => "left alone: a newer run has written already",
            PublicationOutcome::Nothing => return,
        };
        let url = outcome.url.as_deref().unwrap_or_default();
        say(&format!("tracking issue {how} {}", printable(url)));
    }
}
