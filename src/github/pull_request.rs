//! A pull request as the API returns it.

use jiff::Timestamp;
use serde::Deserialize;

use super::client::Github;
use super::error::GithubError;

/// A pull request at the moment that it was asked for. Names of branches are its author's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    pub base: BranchTip,
    pub head: BranchTip,
    pub updated_at: Timestamp,
}

/// One side of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    /// The tip of the branch.
    pub sha: String,
    pub branch: String,
    /// Such as `example/models`; none when the fork was deleted.
    pub repository: Option<String>,
}

impl PullRequest {
    /// Whether the change comes from another repository than `own`, also one that is gone.
    pub fn is_from_fork(&self, own: &str) -> bool {
        let is_own = |head: &String| head.eq_ignore_ascii_case(own);
        !self.head.repository.as_ref().is_some_and(is_own)
    }
}

impl Github {
    /// A pull request by its number.
    pub async fn pull_request(&self, number: u64) -> Result<PullRequest, GithubError> {
        let response: PullRequestResponse = self.get_json(&format!("pulls/{number}")).await?;
        Ok(response.into())
    }
}

/// A pull request as answers and events hold it.
#[derive(Deserialize)]
pub(super) struct PullRequestResponse {
    number: u64,
    updated_at: Timestamp,
    base: BranchTipResponse,
    head: BranchTipResponse,
}

#[derive(Deserialize)]
struct BranchTipResponse {
    sha: String,
    #[serde(rename = "ref")]
    branch: String,
    repo: Option<ToldRepository>,
}

#[derive(Deserialize)]
struct ToldRepository {
    full_name: String,
}

impl From<PullRequestResponse> for PullRequest {
    fn from(response: PullRequestResponse) -> Self {
        Self {
            number: response.number,
            base: response.base.into(),
            head: response.head.into(),
            updated_at: response.updated_at,
        }
    }
}

impl From<BranchTipResponse> for BranchTip {
    fn from(response: BranchTipResponse) -> Self {
        Self {
            sha: response.sha,
            branch: response.branch,
            repository: response.repo.map(|repository| repository.full_name),
        }
    }
}
