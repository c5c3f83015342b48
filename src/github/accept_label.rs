//! The label by which somebody who may write accepts a known overrun of one head.
//!
//! Nothing of it comes from what the pull request says: GitHub's events name who put the label on and when, its collaborators
//! who may write, and its workflow runs when the check of the head began. What is not known is a refusal.

use jiff::Timestamp;
use serde::Deserialize;

use super::client::{Github, ListExtent};
use super::comments::GithubAccount;
use super::error::GithubError;
use super::order::encoded;

/// The label's name. GitHub takes names of another case for the same label.
pub const ACCEPT_LABEL: &str = "canary-gate: accept";

/// Pages of events that are read, 100 on each.
const PAGES: usize = 50;

/// The head whose overrun is to be accepted, and the check of it that is at work.
#[derive(Debug, Clone, Copy)]
pub struct CheckedHead<'a> {
    pub pull_request: u64,
    pub sha: &'a str,
    pub branch: &'a str,
    /// `owner/name`; the head is in it too.
    pub repository: &'a str,
    /// The file of the workflow, such as `canary-gate.yml`.
    pub workflow: &'a str,
    pub run: u64,
}

/// What the label says of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelAnswer {
    /// The pull request does not have it.
    Absent,
    Accepted(AcceptedBy),
    /// It does not count; why is a clause.
    Refused(String),
}

/// Who accepted, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedBy {
    pub login: String,
    pub at: Timestamp,
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
    actor: Option<GithubAccount>,
    created_at: Timestamp,
    label: Option<NamedLabel>,
    performed_via_github_app: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct CollaboratorPermission {
    permission: String,
    user: Option<GithubAccount>,
}

#[derive(Deserialize)]
struct WorkflowRuns {
    workflow_runs: Vec<WorkflowRun>,
}

/// One run of the workflow.
#[derive(Debug, Clone, Deserialize)]
struct WorkflowRun {
    id: u64,
    head_sha: String,
    created_at: Timestamp,
    /// Null for a fork that is gone.
    head_repository: Option<HeadRepository>,
    /// The open pull requests of its branch, which may be several; empty where GitHub names none.
    #[serde(default)]
    pull_requests: Vec<NumberedPullRequest>,
}

#[derive(Debug, Clone, Deserialize)]
struct NumberedPullRequest {
    number: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct HeadRepository {
    full_name: String,
}

impl Github {
    /// Whether the overrun of a head is accepted. The token needs `pull-requests: read` and `actions: read`.
    pub async fn accept_label(&self, head: CheckedHead<'_>) -> Result<LabelAnswer, GithubError> {
        let refused = |why: &str| Ok(LabelAnswer::Refused(why.to_owned()));
        if !self.has_label(head.pull_request).await? {
            return Ok(LabelAnswer::Absent);
        }
        let Some(put_on) = self.last_label_event(head.pull_request).await? else {
            return refused("the pull request has more events than are read");
        };
        let by = match put_on_by(&put_on) {
            Ok(by) => by,
            Err(why) => return refused(why),
        };
        if !self.may_write(&by).await? {
            return Ok(LabelAnswer::Refused(format!(
                "{} put it on and may not write to this repository",
                by.login
            )));
        }
        match self.began(head).await? {
            Some(began) if put_on.created_at > began => Ok(LabelAnswer::Accepted(AcceptedBy {
                login: by.login,
                at: put_on.created_at,
            })),
            Some(_) => refused("it was put on before the check of this commit began"),
            None => refused(
                "the workflow's runs do not show when the check of this commit began, or a newer commit was pushed",
            ),
        }
    }

    async fn has_label(&self, pull_request: u64) -> Result<bool, GithubError> {
        let path = format!("issues/{pull_request}/labels");
        let mut is_there = false;
        self.pages(&path, PAGES, |label: NamedLabel| {
            is_there |= is_ours(&label);
        })
        .await?;
        Ok(is_there)
    }

    /// The last event of the label; `None` where not all events could be read, or none is of the label.
    async fn last_label_event(&self, pull_request: u64) -> Result<Option<IssueEvent>, GithubError> {
        let path = format!("issues/{pull_request}/events");
        let mut last: Option<IssueEvent> = None;
        let extent = self
            .pages(&path, PAGES, |event: IssueEvent| {
                let is_of_label = event.label.as_ref().is_some_and(is_ours);
                let is_newer = last.as_ref().is_none_or(|last| event.id > last.id);
                if is_of_label && is_newer {
                    last = Some(event);
                }
            })
            .await?;
        Ok(last.filter(|_| extent == ListExtent::Whole))
    }

    async fn may_write(&self, person: &Person) -> Result<bool, GithubError> {
        let path = format!("collaborators/{}/permission", person.login);
        let known: CollaboratorPermission = match self.get_json(&path).await {
            Ok(known) => known,
            Err(GithubError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        // A name that was given up and taken by another is another person.
        let is_same = known.user.and_then(|user| user.id()) == Some(person.id);
        Ok(is_same && matches!(known.permission.as_str(), "admin" | "write"))
    }

    async fn began(&self, head: CheckedHead<'_>) -> Result<Option<Timestamp>, GithubError> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if head.workflow.is_empty() || !head.workflow.bytes().all(is_name) {
            return Ok(None);
        }
        let path = format!(
            "actions/workflows/{}/runs?branch={}&event=pull_request&per_page=100",
            head.workflow,
            encoded(head.branch)
        );
        let runs: WorkflowRuns = self.get_json(&path).await?;
        Ok(began(runs.workflow_runs, head))
    }
}

/// A person as the events name them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Person {
    login: String,
    id: u64,
}

fn is_ours(label: &NamedLabel) -> bool {
    label.name.eq_ignore_ascii_case(ACCEPT_LABEL)
}

/// Who put the label on, if it was a person.
fn put_on_by(event: &IssueEvent) -> Result<Person, &'static str> {
    if event.event != "labeled" {
        return Err("its last event is that it was taken off");
    }
    let is_by_app = (event.performed_via_github_app.as_ref()).is_some_and(|app| !app.is_null());
    let actor = event.actor.as_ref().filter(|actor| actor.is_person());
    match actor.filter(|_| !is_by_app) {
        Some(actor) => match (actor.login(), actor.id()) {
            (login, Some(id)) if is_login(login) => Ok(Person {
                login: login.to_owned(),
                id,
            }),
            _ => Err("GitHub does not say who put it on"),
        },
        None => Err("no person put it on"),
    }
}

/// Letters that a name may have, so that it is one segment of an address.
fn is_login(login: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=100).contains(&login.len()) && login.bytes().all(is_plain)
}

/// When the check of this head began: the first of the newest runs of its branch that are all of it. `None` if this run is not
/// among them: the branch has another head by now.
///
/// A head that the branch had before counts from when it came back, for somebody may have seen another one in between. A run that may
/// be of another pull request of the branch dates nothing: nobody saw this one's check by it.
fn began(mut runs: Vec<WorkflowRun>, head: CheckedHead<'_>) -> Option<Timestamp> {
    runs.retain(|run| {
        let of = run.head_repository.as_ref();
        of.is_some_and(|of| of.full_name.eq_ignore_ascii_case(head.repository))
    });
    runs.sort_by_key(|run| std::cmp::Reverse((run.created_at, run.id)));
    let newest = runs.iter().take_while(|run| run.head_sha == head.sha);
    let newest: Vec<&WorkflowRun> = newest.collect();
    let is_among = newest.iter().any(|run| run.id == head.run);
    let is_ours = |run: &&&WorkflowRun| {
        let mut pull_requests = run.pull_requests.iter();
        run.id == head.run || pull_requests.all(|of| of.number == head.pull_request)
    };
    let first = newest.iter().rfind(is_ours).filter(|_| is_among)?;
    Some(first.created_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: CheckedHead<'_> = CheckedHead {
        pull_request: 7,
        sha: "h1",
        branch: "feature",
        repository: "example/models",
        workflow: "gate.yml",
        run: 3,
    };

    fn run(id: u64, head: &str, minute: i64, repository: &str) -> WorkflowRun {
        WorkflowRun {
            id,
            head_sha: head.to_owned(),
            created_at: Timestamp::from_second(60 * minute).unwrap(),
            head_repository: Some(HeadRepository {
                full_name: repository.to_owned(),
            }),
            pull_requests: Vec::new(),
        }
    }

    fn minute_of(runs: &[(u64, &str, i64)]) -> Option<i64> {
        let runs = runs
            .iter()
            .map(|(id, head, minute)| run(*id, head, *minute, "example/models"));
        began(runs.collect(), HEAD).map(|at| at.as_second() / 60)
    }

    #[test]
    fn a_check_began_with_the_first_run_since_the_head_is_there() {
        assert_eq!(minute_of(&[(3, "h1", 9)]), Some(9));
        // In whatever order they are listed; a label starts another run.
        assert_eq!(
            minute_of(&[(2, "h1", 5), (3, "h1", 9), (1, "h0", 1)]),
            Some(5)
        );
        // Pushed back by force.
        assert_eq!(
            minute_of(&[(3, "h1", 9), (2, "h0", 5), (1, "h1", 1)]),
            Some(9)
        );
        // Pushed to since.
        assert_eq!(minute_of(&[(4, "h2", 9), (3, "h1", 5)]), None);
        // This run is not known.
        assert_eq!(minute_of(&[(2, "h1", 5)]), None);
        assert_eq!(minute_of(&[]), None);
    }

    #[test]
    fn a_fork_with_a_branch_of_that_name_does_not_date_the_head_back() {
        let runs = vec![
            run(3, "h1", 9, "example/models"),
            run(2, "h1", 1, "mallory/models"),
            WorkflowRun {
                head_repository: None,
                ..run(1, "h1", 0, "")
            },
        ];
        assert_eq!(began(runs, HEAD).map(|at| at.as_second() / 60), Some(9));
    }

    #[test]
    fn another_pull_request_of_the_branch_does_not_date_the_head_back() {
        let of = |numbers: &[u64], run: WorkflowRun| WorkflowRun {
            pull_requests: (numbers.iter())
                .map(|&number| NumberedPullRequest { number })
                .collect(),
            ..run
        };
        let minute = |runs: Vec<WorkflowRun>| began(runs, HEAD).map(|at| at.as_second() / 60);
        let earlier = |head, numbers| of(numbers, run(2, head, 5, "example/models"));
        let this = |numbers| of(numbers, run(3, "h1", 9, "example/models"));
        assert_eq!(minute(vec![this(&[7]), earlier("h1", &[7])]), Some(5));
        assert_eq!(minute(vec![this(&[7]), earlier("h1", &[8])]), Some(9));
        // GitHub names every open one of the branch: whose run it was is not known, but of this one.
        assert_eq!(minute(vec![this(&[7, 8]), earlier("h1", &[7, 8])]), Some(9));
        // What the branch had in between counts, no matter whose check it was.
        let first = of(&[7], run(1, "h1", 1, "example/models"));
        assert_eq!(
            minute(vec![this(&[7]), earlier("h0", &[8]), first]),
            Some(9)
        );
    }

    fn event(json: &serde_json::Value) -> Result<String, &'static str> {
        let mut event = serde_json::json!({
            "id": 1, "event": "labeled", "created_at": "2026-11-21T09:14:07Z",
            "actor": {"login": "alice", "id": 5, "type": "User"},
            "label": {"name": ACCEPT_LABEL}, "performed_via_github_app": null,
        });
        for (name, value) in json.as_object().unwrap() {
            event[name] = value.clone();
        }
        put_on_by(&serde_json::from_value(event).unwrap()).map(|person| person.login)
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
