//! The status of a commit: what a ruleset can require of a head that no check of its own run reports on.

use serde::Deserialize;
use serde_json::json;

use super::client::Github;
use super::commit::object_id;
use super::error::GithubError;

/// GitHub's limit of a description, in characters.
/// <https://docs.github.com/en/rest/commits/statuses#create-a-commit-status>
const LONGEST_DESCRIPTION: usize = 140;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusState {
    Pending,
    Success,
    /// The gate found a reason against the change.
    Failure,
    /// The gate could not check it.
    Error,
}

impl StatusState {
    /// As GitHub writes it.
    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Error => "error",
        }
    }
}

/// A status to set on a commit.
#[derive(Debug, Clone, Copy)]
pub struct NewStatus<'a> {
    pub sha: &'a str,
    /// The name that a ruleset requires it by.
    pub context: &'a str,
    pub state: StatusState,
    /// Cut where GitHub would refuse it.
    pub description: &'a str,
    /// The page of the workflow run.
    pub target_url: &'a str,
}

#[derive(Deserialize)]
struct StatusSet {}

impl Github {
    /// Sets a commit's status; of one context the last counts.
    pub async fn set_status(&self, status: &NewStatus<'_>) -> Result<(), GithubError> {
        let description: String = status
            .description
            .chars()
            .take(LONGEST_DESCRIPTION)
            .collect();
        let body = json!({
            "state": status.state.name(),
            "context": status.context,
            "description": description,
            "target_url": status.target_url,
        });
        let path = format!("statuses/{}", object_id(status.sha)?);
        let _: StatusSet = self.post_json(&path, &body).await?;
        Ok(())
    }
}
