//! The status of a commit: what a ruleset can require of a head that no check of its own run reports on.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::Github;
use super::commit::object_id;
use super::error::GithubError;

/// GitHub's limit of a description, in characters.
/// <https://docs.github.com/en/rest/commits/statuses#create-a-commit-status>
const LONGEST_DESCRIPTION: usize = 140;

/// As GitHub writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusState {
    Pending,
    Success,
    /// The gate found a reason against the change.
    Failure,
    /// The gate could not check it.
    Error,
}

/// A status to set on a commit.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct NewStatus<'a> {
    #[serde(skip)]
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
        let mut body = json!(status);
        let description = status.description.chars().take(LONGEST_DESCRIPTION);
        body["description"] = description.collect::<String>().into();
        let path = format!("statuses/{}", object_id(status.sha)?);
        let _: StatusSet = self.post_json(&path, &body).await?;
        Ok(())
    }
}
