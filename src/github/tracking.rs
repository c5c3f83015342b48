//! The tracking issue of a drift: one open issue for each spec while it lasts, closed when it is over, kept by
//! [`keeper`].
//!
//! A closed issue is never opened again, and never a new one for a word that is older than a closing.

use jiff::Timestamp;
use serde_json::json;

use super::client::Github;
use super::error::GithubError;
use super::identity::Identity;
use super::issue::{Issue, IssueMarker, title};
use super::keeper::{self, KeptItem, Word};
use super::marked;
use super::order::CLOCKS_DIFFER;

/// What a check found, in Markdown without the marker. What is longer than GitHub takes is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tracking {
    Drifted {
        title: String,
        body: String,
    },
    /// There is no drift, or none any more; the body is the last word of an open issue.
    Over {
        body: String,
    },
}

impl Github {
    /// Opens, updates or closes the tracking issue of the marker's spec.
    ///
    /// An issue whose marker is ahead of `now` by more than clocks differ is not ours. The token needs `issues: write`.
    pub async fn track(
        &self,
        marker: &IssueMarker,
        state: Tracking,
        now: Timestamp,
    ) -> Result<KeptItem, GithubError> {
        let finding = match state {
            Tracking::Drifted { title: text, body } => DriftFinding {
                marker,
                title: Some(title(&text)),
                body: marker.above(&body),
            },
            Tracking::Over { body } => DriftFinding {
                marker,
                title: None,
                body: marker.above(&body),
            },
        };
        keeper::keep(self, finding, now).await
    }
}

/// What a check found, on its way to the issue.
struct DriftFinding<'a> {
    marker: &'a IssueMarker,
    /// `None` where the issue is to be closed.
    title: Option<String>,
    /// With its marker.
    body: String,
}

impl Word for DriftFinding<'_> {
    type Item = Issue;

    const WHAT: &'static str = "issue";
    const CREATED: &'static str = "opened";
    const NOT_REMOVED: &'static str = "a second issue of ours could not be closed";

    fn marker(&self) -> &IssueMarker {
        self.marker
    }

    fn is_last(&self) -> bool {
        self.title.is_none()
    }

    async fn list(&self, github: &Github) -> Result<Vec<Issue>, GithubError> {
        github.open_issues().await
    }

    async fn create(&self, github: &Github) -> Result<Issue, GithubError> {
        let title = self.title.as_deref().unwrap_or_default();
        github.open_issue(title, &self.body).await
    }

    async fn update(&self, github: &Github, kept: &Issue) -> Result<Option<Issue>, GithubError> {
        if self.is_shown(kept) {
            return Ok(None);
        }
        let body = &self.body;
        let change = match &self.title {
            Some(title) => json!({"title": title, "body": body}),
            None => json!({"body": body, "state": "closed", "state_reason": "completed"}),
        };
        github.change_issue(kept, &change).await.map(Some)
    }

    async fn copy(
        &self,
        github: &Github,
        kept: &Issue,
        word: &Issue,
    ) -> Result<Issue, GithubError> {
        let change = json!({"title": word.title, "body": word.body});
        github.change_issue(kept, &change).await
    }

    fn is_shown(&self, written: &Issue) -> bool {
        let title = self.title.as_deref();
        title.is_some_and(|title| written.says(title, &self.body))
    }

    async fn remove(
        &self,
        github: &Github,
        duplicate: &Issue,
        kept: &Issue,
    ) -> Result<(), GithubError> {
        let marker = IssueMarker::of(&duplicate.body);
        let marker = marker.as_ref().unwrap_or(self.marker);
        github.close_duplicate(duplicate, marker, kept).await
    }

    /// A newer run that found the drift to be over must not be contradicted by an older one that ends late.
    async fn said_since(
        &self,
        github: &Github,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<Option<Issue>, GithubError> {
        let since = self.marker.order.time.saturating_sub(CLOCKS_DIFFER);
        let since = since.unwrap_or(self.marker.order.time);
        let closed = github.issues_closed_since(since).await?;
        let own = marked::own(&closed, identity, &self.marker.spec, now);
        let said = marked::newest(&own).filter(|(_, theirs)| theirs.order >= self.marker.order);
        Ok(said.map(|(issue, _)| (*issue).clone()))
    }
}
