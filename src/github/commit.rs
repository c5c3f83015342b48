//! A commit, from the API.

use serde::Deserialize;

use super::address::is_object_id;
use super::client::Github;
use super::error::GithubError;

/// A commit. The first parent of a merge, such as the one that GitHub checks out for a pull request, is the base's tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub sha: String,
    pub parents: Vec<String>,
    /// The id of its root tree.
    pub tree: String,
}

impl Github {
    /// A commit by its id.
    pub async fn commit(&self, sha: &str) -> Result<Commit, GithubError> {
        let sha = object_id(sha)?;
        let commit: CommitResponse = self.get_json(&format!("git/commits/{sha}")).await?;
        Ok(Commit {
            sha: object_id(&commit.sha)?.to_owned(),
            parents: commit
                .parents
                .into_iter()
                .map(|parent| parent.sha)
                .collect(),
            tree: commit.tree.sha,
        })
    }
}

/// Whether an event's id stands for no commit: it is all zeros for a new branch.
pub(super) fn is_no_commit(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|digit| digit == b'0')
}

/// Checks that a text is an object's id before it becomes part of a path.
pub(super) fn object_id(text: &str) -> Result<&str, GithubError> {
    match is_object_id(text) {
        true => Ok(text),
        false => Err(GithubError::Settings {
            what: "the commit",
            expected: "the whole id of a Git object, 40 or 64 hexadecimal digits",
        }),
    }
}

#[derive(Deserialize)]
struct CommitResponse {
    sha: String,
    parents: Vec<Named>,
    tree: Named,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) sha: String,
}
