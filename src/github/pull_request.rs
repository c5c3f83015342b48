//! A pull request as the API returns it.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use super::{ForgeError, Github};

/// A pull request at the moment that it was asked for. Names of branches are its author's own text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PullRequest {
    pub number: u64,
    pub base: BranchTip,
    pub head: BranchTip,
    pub updated_at: Timestamp,
}

/// One side of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BranchTip {
    /// The tip of the branch.
    pub sha: String,
    #[serde(rename = "ref")]
    pub branch: String,
    /// Such as `example/models`; none when the fork was deleted.
    #[serde(rename = "repo", default, deserialize_with = "full_name")]
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
    pub async fn pull_request(&self, number: u64) -> Result<PullRequest, ForgeError> {
        self.get_json(&format!("pulls/{number}")).await
    }
}

/// The name of a repository, which is null for a fork that was deleted.
fn full_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Repository {
        full_name: String,
    }
    let found = Option::<Repository>::deserialize(deserializer)?;
    Ok(found.map(|repository| repository.full_name))
}
