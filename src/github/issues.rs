//! The issues of the repository as the API gives them.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Github, ListExtent};
use super::comments::GithubAccount;
use super::error::GithubError;
use super::identity::Author;
use super::issue::{Issue, IssueMarker};

/// The most pages of issues that are read, 100 on each.
const PAGES: usize = 100;

impl Github {
    /// All open issues; only of those that begin with a marker the body.
    pub(super) async fn open_issues(&self) -> Result<Vec<Issue>, GithubError> {
        // Oldest first: what is opened meanwhile comes last, and shifts nothing.
        self.issues("issues?state=open&sort=created&direction=asc")
            .await
    }

    /// The same of those that were closed, or changed after that, since then.
    pub(super) async fn issues_closed_since(
        &self,
        since: Timestamp,
    ) -> Result<Vec<Issue>, GithubError> {
        // GitHub knows whole seconds.
        let since = Timestamp::from_second(since.as_second()).unwrap_or(since);
        self.issues(&format!(
            "issues?state=closed&sort=created&direction=asc&since={since}"
        ))
        .await
    }

    async fn issues(&self, path: &str) -> Result<Vec<Issue>, GithubError> {
        let mut issues = Vec::new();
        let listing = self
            .pages(path, PAGES, |ListedIssue(issue)| issues.extend(issue))
            .await?;
        match listing {
            ListExtent::Whole => Ok(issues),
            // Ours may be among those that were not read; a new one each time would be worse than none.
            ListExtent::Cut => Err(GithubError::TooLarge {
                request: format!("GET {path}"),
                limit: PAGES * 100,
                unit: "issues",
            }),
        }
    }

    pub(super) async fn open_issue(&self, title: &str, body: &str) -> Result<Issue, GithubError> {
        let asked = json!({"title": title, "body": body});
        let Written(issue) = self.post_json("issues", &asked).await?;
        Ok(issue)
    }

    pub(super) async fn change_issue(
        &self,
        issue: &Issue,
        change: &Value,
    ) -> Result<Issue, GithubError> {
        let path = format!("issues/{}", issue.number);
        let Written(issue) = self.patch_json(&path, change).await?;
        Ok(issue)
    }

    /// Closes one of ours that another of ours stands for. What is gone already is closed.
    pub(super) async fn close_duplicate(
        &self,
        duplicate: &Issue,
        marker: &IssueMarker,
        kept: &Issue,
    ) -> Result<(), GithubError> {
        let text = format!(
            "A duplicate of #{}: two runs opened one at the same time.",
            kept.number
        );
        let body = marker.above(&text);
        let closed = json!({
            "body": body, "state": "closed", "state_reason": "duplicate", "duplicate_issue_id": kept.id,
        });
        let result = match self.change_issue(duplicate, &closed).await {
            // A GitHub Enterprise Server may be too old for that reason.
            Err(GithubError::Unprocessable { .. }) => {
                let closed =
                    json!({"body": body, "state": "closed", "state_reason": "not_planned"});
                self.change_issue(duplicate, &closed).await
            }
            result => result,
        };
        match result {
            Ok(_) | Err(GithubError::NotFound { .. } | GithubError::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// An item of a list of issues, which holds pull requests too: those are none.
#[derive(Deserialize)]
#[serde(from = "IssueResponse")]
struct ListedIssue(Option<Issue>);

impl From<IssueResponse> for ListedIssue {
    fn from(answered: IssueResponse) -> Self {
        Self(answered.pull_request.is_none().then(|| answered.into()))
    }
}

/// The issue that was written.
#[derive(Deserialize)]
#[serde(from = "IssueResponse")]
struct Written(Issue);

impl From<IssueResponse> for Written {
    fn from(answered: IssueResponse) -> Self {
        Self(answered.into())
    }
}

/// An issue as GitHub gives it.
#[derive(Deserialize)]
struct IssueResponse {
    number: u64,
    id: u64,
    /// Null for an account that is gone.
    user: Option<GithubAccount>,
    title: String,
    body: Option<String>,
    html_url: String,
    /// Only a pull request has it.
    pull_request: Option<serde::de::IgnoredAny>,
}

/// A body without a marker is dropped at once: other people's may be many and long.
impl From<IssueResponse> for Issue {
    fn from(answered: IssueResponse) -> Self {
        let body = answered.body.unwrap_or_default();
        Self {
            number: answered.number,
            id: answered.id,
            author: answered.user.map(Author::from),
            title: answered.title,
            body: if IssueMarker::of(&body).is_some() {
                body
            } else {
                String::new()
            },
            url: answered.html_url,
        }
    }
}
