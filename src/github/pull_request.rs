//! A pull request as the API tells it.

use jiff::Timestamp;
use serde::Deserialize;

use super::client::Github;
use super::error::GithubError;

/// A pull request at the moment that it was asked for. Names of branches are its author's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    pub base: Side,
    pub head: Side,
    /// Of an open one the merge that GitHub tried, of a merged one the merge itself; none while GitHub has not tried.
    pub merge_commit_sha: Option<String>,
    /// How many files it changes, as GitHub counts them.
    pub changed_files: Option<u64>,
    pub is_open: bool,
    pub updated_at: Timestamp,
}

/// One side of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The tip of the branch.
    pub sha: String,
    pub branch: String,
    /// Such as `example/models`; none when the fork was deleted.
    pub repository: Option<String>,
}

impl PullRequest {
    /// Whether the change comes from another repository, also one that is gone.
    pub fn is_from_fork(&self) -> bool {
        self.head.repository.is_none() || self.head.repository != self.base.repository
    }
}

impl Github {
    /// A pull request by its number.
    pub async fn pull_request(&self, number: u64) -> Result<PullRequest, GithubError> {
        let told: Told = self.get_json(&format!("pulls/{number}")).await?;
        Ok(PullRequest {
            number: told.number,
            base: told.base.into(),
            head: told.head.into(),
            merge_commit_sha: told.merge_commit_sha,
            changed_files: told.changed_files,
            is_open: told.state == "open",
            updated_at: told.updated_at,
        })
    }
}

#[derive(Deserialize)]
struct Told {
    number: u64,
    state: String,
    updated_at: Timestamp,
    merge_commit_sha: Option<String>,
    changed_files: Option<u64>,
    base: ToldSide,
    head: ToldSide,
}

#[derive(Deserialize)]
struct ToldSide {
    sha: String,
    #[serde(rename = "ref")]
    branch: String,
    repo: Option<ToldRepository>,
}

#[derive(Deserialize)]
struct ToldRepository {
    full_name: String,
}

impl From<ToldSide> for Side {
    fn from(told: ToldSide) -> Self {
        Self {
            sha: told.sha,
            branch: told.branch,
            repository: told.repo.map(|repository| repository.full_name),
        }
    }
}
