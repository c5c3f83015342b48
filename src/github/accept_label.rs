//! The label by which somebody who may write accepts a known overrun of one head.
//!
//! Nothing of it comes from what the pull request says: GitHub's events name who put the label on and when, its collaborators
//! who may write, and our own comment what a finished check of the head had shown by then. What is not known is a refusal.

use derive_more::From;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::address::is_name;
use super::last_verdict::verdict_in;
use super::posts::own;
use super::{Author, ForgeError, ForgeErrorKind, Github, MarkerKind, PostPlace, ShownOverrun};
use crate::report::Acceptance;

/// The label's name. GitHub takes names of another case for the same label.
pub const ACCEPT_LABEL: &str = "canary-gate: accept";

/// Pages of events that are read, 100 on each.
const PAGES: usize = 50;

/// Why the label does not count.
#[derive(Debug, Clone, PartialEq, From)]
pub enum LabelRefusal {
    /// The reason, as a clause that goes on a sentence about the label.
    #[from(&str)]
    Because(String),
    /// GitHub did not answer a question that decides it.
    #[from]
    Unknown(ForgeError),
}

#[derive(Deserialize)]
struct NamedLabel {
    name: String,
}

/// An event of a pull request; only of labels more than its kind is read.
#[derive(Deserialize)]
struct IssueEvent {
    id: u64,
    event: String,
    /// Null for an account that is gone.
    actor: Option<Author>,
    created_at: Timestamp,
    label: Option<NamedLabel>,
    performed_via_github_app: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct CollaboratorPermission {
    permission: String,
    user: Option<Author>,
}

impl Github {
    /// By whom an overrun of a pull request's head is accepted, and what they had seen; `None` without the label. `subject` is what
    /// the check's comment is known by. The token needs `pull-requests: read`.
    pub async fn accept_label(
        &self,
        pull_request: u64,
        subject: &str,
        overrun: &ShownOverrun,
        now: Timestamp,
    ) -> Result<Option<(Acceptance, ShownOverrun)>, LabelRefusal> {
        if !self.has_label(pull_request).await? {
            return Ok(None);
        }
        let put_on = self.last_label_event(pull_request).await?;
        let put_on = put_on.ok_or("GitHub does not say when it was put on")?;
        let (by, id) = put_on_by(&put_on)?;
        let at = put_on.created_at;
        if !self.may_write(&by, id).await? {
            let why = format!("{by} put it on and may not write to this repository");
            return Err(LabelRefusal::Because(why));
        }
        let shown = self.shown_overrun(pull_request, subject, now).await?;
        let shown = shown.filter(|shown| shown.head == overrun.head && shown.finished < at);
        let shown = shown.ok_or(
            "the gate's comment shows no check of this commit that had finished over its budget when it was put on",
        )?;
        match overrun.beyond(&shown) {
            Some(line) => Err(LabelRefusal::Because(format!(
                "what `{line}` may come to is more than the finished check showed when it was put on"
            ))),
            None => Ok(Some((Acceptance { by, at }, shown))),
        }
    }

    /// What the newest check that has finished showed, if it was an overrun.
    async fn shown_overrun(
        &self,
        pull_request: u64,
        subject: &str,
        now: Timestamp,
    ) -> Result<Option<ShownOverrun>, ForgeError> {
        let identity = self.identity(&mut Vec::new()).await?;
        let place = PostPlace::PullRequest(pull_request);
        let comments = self.posts(place, None).await?;
        let mut own = own(&comments, &identity, (MarkerKind::Report, subject), now);
        own.sort_by_key(|(comment, marker)| std::cmp::Reverse((marker.age(), comment.number())));
        // A check at work has no verdict but the last one, which it may keep below.
        let verdict = own
            .iter()
            .find_map(|(comment, _)| verdict_in(comment.body()));
        Ok(verdict.and_then(ShownOverrun::above))
    }

    async fn has_label(&self, pull_request: u64) -> Result<bool, ForgeError> {
        // GitHub lets an issue have 100 labels.
        let path = format!("issues/{pull_request}/labels?per_page=100");
        let labels: Vec<NamedLabel> = self.get_json(&path).await?;
        Ok(labels.iter().any(is_ours))
    }

    /// The last event of the label; `None` where none is of it.
    async fn last_label_event(&self, pull_request: u64) -> Result<Option<IssueEvent>, ForgeError> {
        let path = format!("issues/{pull_request}/events");
        let mut of_label = Vec::new();
        let is_of_label = |event: &IssueEvent| event.label.as_ref().is_some_and(is_ours);
        let keep = |event| of_label.extend(Some(event).filter(is_of_label));
        self.pages(&path, PAGES, keep).await?;
        Ok(of_label.into_iter().max_by_key(|event| event.id))
    }

    async fn may_write(&self, login: &str, id: u64) -> Result<bool, ForgeError> {
        let path = format!("collaborators/{login}/permission");
        let known: CollaboratorPermission = match self.get_json(&path).await {
            Ok(known) => known,
            Err(error) if error.kind == ForgeErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        // A name that was given up and taken by another is another person.
        let is_same = known.user.and_then(|user| user.id) == Some(id);
        Ok(is_same && matches!(known.permission.as_str(), "admin" | "write"))
    }
}

fn is_ours(label: &NamedLabel) -> bool {
    label.name.eq_ignore_ascii_case(ACCEPT_LABEL)
}

/// The login and the id of who put the label on, if it was a person.
fn put_on_by(event: &IssueEvent) -> Result<(String, u64), &'static str> {
    if event.event != "labeled" {
        return Err("its last event is that it was taken off");
    }
    // Neither a bot nor an organization, nor an app in a person's name.
    let is_person =
        |actor: &&Author| actor.kind == "User" && event.performed_via_github_app.is_none();
    let actor = event.actor.as_ref().filter(is_person);
    let actor = actor.ok_or("no person put it on")?;
    match actor.id {
        Some(id) if is_name(&actor.login, b"-_") => Ok((actor.login.clone(), id)),
        _ => Err("GitHub does not say who put it on"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(json: &serde_json::Value) -> Result<String, &'static str> {
        let mut event = serde_json::json!({
            "id": 1, "event": "labeled", "created_at": "2026-11-21T09:14:07Z",
            "actor": {"login": "alice", "id": 5, "type": "User"},
            "label": {"name": ACCEPT_LABEL}, "performed_via_github_app": null,
        });
        for (name, value) in json.as_object().unwrap() {
            event[name] = value.clone();
        }
        put_on_by(&serde_json::from_value(event).unwrap()).map(|(login, _)| login)
    }

    #[test]
    fn only_a_person_accepts() {
        use serde_json::json;
        assert_eq!(event(&json!({})).as_deref(), Ok("alice"));
        for refused in [
            json!({"event": "unlabeled"}),
            json!({"actor": null}),
            json!({"actor": {"login": "helper[bot]", "id": 5, "type": "Bot"}}),
            json!({"actor": {"login": "acme", "id": 5, "type": "Organization"}}),
            json!({"actor": {"login": "alice", "type": "User"}}),
            json!({"actor": {"login": "../../x", "id": 5, "type": "User"}}),
            json!({"performed_via_github_app": {"slug": "helper"}}),
        ] {
            assert!(event(&refused).is_err(), "{refused}");
        }
    }
}
