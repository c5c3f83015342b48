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

#[derive(Deserialize)]
struct StatusSet {}

impl Github {
    /// Sets a commit's status under a name that a ruleset may require; of one name the last counts. `page` is that of the run.
    pub async fn set_status(
        &self,
        (sha, name): (&str, &str),
        state: StatusState,
        description: &str,
        page: &str,
    ) -> Result<(), GithubError> {
        let description = description.chars().take(LONGEST_DESCRIPTION);
        let description: String = description.collect();
        let body = json!({
            "context": name, "state": state, "description": description, "target_url": page,
        });
        let path = format!("statuses/{}", object_id(sha)?);
        let _: StatusSet = self.post_json(&path, &body).await?;
        Ok(())
    }
}
