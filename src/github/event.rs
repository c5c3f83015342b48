//! The event that started the workflow.
//!
//! Its file contains text of the pull request; only the fields named here are read. Source: "Webhook events and payloads" in
//! GitHub's documentation.

use serde::Deserialize;

use super::commit::is_no_commit;
use super::{ForgeError, PullRequest};

/// In bytes; GitHub limits events to 25 MB.
pub const LARGEST_EVENT: u64 = 32 << 20;

/// What started the workflow.
#[derive(Debug, Clone, PartialEq)]
pub enum GithubEvent {
    PullRequest(Box<PullRequest>),
    /// `before` is absent if the branch is new.
    Push {
        before: Option<String>,
        after: String,
    },
    /// A push that leaves nothing to measure; why is a clause such as `the branch feature was deleted`.
    NothingToMeasure {
        why: String,
    },
    /// A merge queue's run.
    MergeGroup(MergeGroup),
    /// Started by a person or a program, who may name a pull request.
    Dispatch,
    /// Started without a change.
    Schedule,
    /// Any other event; whose code it would run is unknown.
    Other,
}

#[derive(Deserialize)]
struct RawEvent {
    r#ref: Option<String>,
    deleted: Option<bool>,
    pull_request: Option<PullRequest>,
    before: Option<String>,
    after: Option<String>,
    merge_group: Option<MergeGroup>,
}

/// What a merge queue adds to its base.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MergeGroup {
    #[serde(rename = "base_sha")]
    pub base: String,
    /// The base with the change merged.
    #[serde(rename = "head_sha")]
    pub head: String,
    base_ref: String,
}

impl MergeGroup {
    /// The target branch.
    pub fn branch(&self) -> &str {
        let prefix = self.base_ref.strip_prefix("refs/heads/");
        prefix.unwrap_or(&self.base_ref)
    }
}

impl GithubEvent {
    /// Reads an event of this name.
    pub fn read(name: &str, json: &[u8]) -> Result<Self, ForgeError> {
        let lacks = |field: &str| ForgeError::event(format!("the event `{name}` lacks `{field}`"));
        let raw = || {
            let raw = serde_json::from_slice::<RawEvent>(json);
            raw.map_err(|why| {
                ForgeError::event(format!("the event is not valid JSON of GitHub: {why}"))
            })
        };
        match name {
            "pull_request" | "pull_request_review" | "pull_request_review_comment" => {
                let pull_request = raw()?.pull_request.ok_or_else(|| lacks("pull_request"))?;
                Ok(Self::PullRequest(Box::new(pull_request)))
            }
            "push" => {
                let raw = raw()?;
                if let Some(why) = nothing_to_measure(&raw) {
                    return Ok(Self::NothingToMeasure { why });
                }
                Ok(Self::Push {
                    before: raw.before.filter(|before| !is_no_commit(before)),
                    after: raw.after.ok_or_else(|| lacks("after"))?,
                })
            }
            "merge_group" => {
                let group = raw()?.merge_group;
                Ok(Self::MergeGroup(group.ok_or_else(|| lacks("merge_group"))?))
            }
            "workflow_dispatch" | "repository_dispatch" => Ok(Self::Dispatch),
            "schedule" => Ok(Self::Schedule),
            _ => Ok(Self::Other),
        }
    }
}

/// Why a push leaves nothing to measure: it deleted a branch, or it is of a tag.
fn nothing_to_measure(push: &RawEvent) -> Option<String> {
    let name = push.r#ref.as_deref().unwrap_or_default();
    if let Some(tag) = name.strip_prefix("refs/tags/") {
        return Some(format!(
            "the tag {tag} was pushed, and a tag changes no code"
        ));
    }
    let is_gone = push.deleted == Some(true) || push.after.as_deref().is_some_and(is_no_commit);
    is_gone.then(|| {
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
        format!("the branch {branch} was deleted")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_its_own_part_says_so() {
        let error = GithubEvent::read("pull_request", b"{}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the event `pull_request` lacks `pull_request`"
        );
        assert!(GithubEvent::read("merge_group", b"[").is_err());
        assert_eq!(
            GithubEvent::read("schedule", b"[").unwrap(),
            GithubEvent::Schedule
        );
        assert_eq!(
            GithubEvent::read("workflow_run", b"[").unwrap(),
            GithubEvent::Other
        );
    }
}
