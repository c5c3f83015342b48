//! A pull request of the fake.

use super::REPOSITORY;
use super::state::User;

/// What a test may change about a pull request.
#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    pub(crate) user: User,
    /// What its author wrote about it.
    pub(crate) body: Option<String>,
    pub(crate) base_branch: String,
    pub(crate) base: String,
    pub(crate) head_branch: String,
    pub(crate) head: String,
    /// Where the head is; none when the fork was deleted.
    pub(crate) head_repository: Option<String>,
    pub(crate) merge_commit: Option<String>,
    pub(crate) updated_at: String,
}

impl Pull {
    pub(super) fn new(number: u64, base: &str, head: &str) -> Self {
        Self {
            number,
            user: User::person("octocat"),
            body: None,
            base_branch: "main".to_owned(),
            base: base.to_owned(),
            head_branch: "feature".to_owned(),
            head: head.to_owned(),
            head_repository: Some(REPOSITORY.to_owned()),
            merge_commit: None,
            updated_at: "2026-09-01T09:00:00Z".to_owned(),
        }
    }
}
