//! Steps of a workflow on the fake GitHub: what is done to it, and what is seen of it.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Case;
use crate::action::workflow::{NUMBER, Step, Workflow};
use crate::aws::FakeAws;
use crate::github::{CommitCheck, FakeGithub, Fault, Files, User};
use crate::project::{Finished, Project};

/// What is done to the pull request and to the fake. A folder of the case's project stands for the files of a commit.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Deed {
    /// Opens the pull request from the files of one folder to those of another.
    Between(String, String),
    Push(String),
    /// The branch's head becomes another commit, and what is checked out stays.
    Move(String),
    /// The base gets other files, and the pull request is brought up to date with it.
    Rebase(String, String),
    /// A later run of the workflow on a later event, or that of the first event once more.
    Later,
    Earlier,
    Input(String, String),
    Variable(String, String),
    Event(String, Value),
    /// The repository of the pull request's head; null where it was deleted.
    Fork(Option<String>),
    /// The commit that is checked out: `base`, `head`, or one with the files of a folder.
    Checkout(String),
    /// `HEAD`, `tags/NAME` or `heads/NAME` of `example/policies`, or several of them: a new commit with the files of a folder.
    Policies(String, String),
    /// The base's commit is gone.
    LoseBase,
    /// Puts the label on, or takes it off: who, and when.
    Label(bool, String, String),
    Permit(String, String),
    Comment(String, String),
    /// So many of ours, of earlier runs.
    OlderComments(usize),
    /// A check run of another that failed: its name, and what it is known by.
    Check(String, String),
    LoseComments,
    Refuse(Refusal),
    Relent,
    /// So many labels of another name, each an event.
    OtherLabels(usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refusal {
    method: String,
    path: String,
    #[serde(default)]
    after: u64,
    is: Fault,
}

/// All files below a folder.
fn files(folder: &Path) -> Files {
    fn add(files: Files, root: &Path, folder: &Path) -> Files {
        let entries = folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries.fold(files, |files, path| {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            match path.read_link() {
                Ok(target) => files.with_link(name, target.to_str().unwrap()),
                Err(_) if path.is_dir() => add(files, root, &path),
                Err(_) => files.with(name, std::fs::read(&path).unwrap()),
            }
        })
    }
    add(Files::new(), folder, folder)
}

fn user(login: &str) -> User {
    match login.ends_with("[bot]") {
        true => User::bot(login),
        false => User::person(login),
    }
}

/// Everything that is seen of a workflow and of its last step.
pub(super) fn seen(workflow: &Workflow, step: Option<&Step>) -> Value {
    let github = &workflow.github;
    let comments = github.comments(NUMBER).into_iter();
    let comment = |one: crate::github::Comment| json!({"id": one.id, "body": one.body, "is_hidden": one.is_minimized});
    let issues = github.issues().into_iter();
    let issue = |one: crate::github::Issue| json!({"title": one.title, "closed_as": one.closed_as});
    let checks = |all: Vec<CommitCheck>| {
        let with_sha = |mut one: CommitCheck| {
            one.said["sha"] = one.sha.into();
            one.said
        };
        all.into_iter().map(with_sha).collect::<Vec<_>>()
    };
    let asked = github.requests().into_iter();
    json!({
        "comments": comments.map(comment).collect::<Vec<_>>(),
        "issues": issues.map(issue).collect::<Vec<_>>(),
        "statuses": checks(github.statuses()),
        "checks": checks(github.check_runs()),
        "sent": github.requests().iter().filter(|said| said.path.contains("/check-runs") && said.method != "GET").map(|said| &said.body).collect::<Vec<_>>(),
        "asked": asked.map(|said| format!("{} {}", said.method, said.path)).collect::<Vec<_>>(),
        "written": github.requests().iter().filter_map(|said| said.body["body"].as_str()).collect::<Vec<_>>(),
        "base": workflow.base(),
        "head": workflow.head(),
        "merge": workflow.merge(),
        "outputs": step.map(|step| &step.outputs),
        "state": step.map(|step| &step.state),
        "summary": step.map(|step| step.summary.trim()),
    })
}

impl Case {
    pub(super) fn deed(&mut self, deed: &str) {
        let deed: Deed =
            serde_saphyr::from_str(deed).unwrap_or_else(|error| panic!("{deed}: {error}"));
        let files = |folder: &str| files(&self.project.path(folder));
        if let Deed::Between(base, head) = &deed {
            self.workflow = Some(Workflow::between(&files(base), &files(head)));
            return;
        }
        let mut workflow = self.workflow.take().expect("a pull request is open");
        let github: &FakeGithub = &workflow.github;
        match deed {
            Deed::Between(..) => {}
            Deed::Push(head) => workflow.push(&files(&head)),
            Deed::Move(head) => {
                let head = github.commit(&[workflow.head()], &files(&head));
                github.open_pull_request(NUMBER, workflow.base(), &head);
            }
            Deed::Rebase(base, head) => workflow.rebase(&files(&base), &files(&head)),
            Deed::Later => workflow.later(),
            Deed::Earlier => workflow.earlier(),
            Deed::Input(name, value) => workflow = workflow.input(&name, &value),
            Deed::Variable(name, value) => workflow = workflow.variable(&name, &value),
            Deed::Event(name, event) => workflow = workflow.event(&name, event),
            Deed::Fork(repository) => {
                github.change_pull_request(NUMBER, |pull| pull.head_repository = repository);
            }
            Deed::Checkout(what) => {
                let commit = match what.as_str() {
                    "base" => workflow.base().to_owned(),
                    "head" => workflow.head().to_owned(),
                    folder => github.commit(&[workflow.base()], &files(folder)),
                };
                workflow.project.write(".git/HEAD", &format!("{commit}\n"));
            }
            Deed::Policies(names, folder) => {
                let commit = github.commit(&[], &files(&folder));
                let names = names.split(' ').map(|name| (name.to_owned(), commit.clone()));
                github.state().references.extend(names);
            }
            Deed::LoseBase => {
                github.state().commits.remove(workflow.base());
            }
            Deed::Label(is_on, login, at) => {
                github.label(NUMBER, "canary-gate: accept", is_on, &user(&login), &at);
            }
            Deed::Permit(login, permission) => github.permit(&login, &permission),
            Deed::Comment(login, body) => {
                github.comment(NUMBER, &user(&login), &body);
            }
            Deed::OlderComments(count) => (0..count).for_each(|run| {
                let order = format!("2026-11-20T09:14:07Z/{run}/1");
                let body = format!("<!-- canary-gate v1 spec=canary-gate.yml order={order} -->\nolder");
                github.comment(NUMBER, &User::actions(), &body);
            }),
            Deed::Check(name, known_by) => github.state().check_runs.push(CommitCheck {
                id: 1,
                sha: workflow.head().to_owned(),
                said: json!({"name": name, "external_id": known_by, "status": "completed", "conclusion": "failure"}),
            }),
            Deed::LoseComments => github.state().comments.clear(),
            Deed::Refuse(refusal) => {
                let fault = github.fail(&refusal.method, &refusal.path);
                fault.after(refusal.after).with(refusal.is);
            }
            Deed::Relent => github.recover(),
            Deed::OtherLabels(count) => {
                let at = "2100-01-01T09:20:00Z";
                (0..count).for_each(|_| github.label(NUMBER, "other", true, &user("alice"), at));
            }
        }
        self.workflow = Some(workflow);
    }

    /// The step of the workflow, its post step (`post`), or one on the main branch (`EVENT FOLDER [INPUT=VALUE]...`).
    pub(super) fn action(&mut self, words: &[&str]) -> Finished {
        let workflow = self.workflow.as_mut().expect("a pull request is open");
        let step = match words {
            [] => workflow.run(),
            ["post"] => return workflow.post_step(self.step.as_ref().expect("a step before it")),
            [event, folder, inputs @ ..] => {
                let inputs = inputs.iter().filter_map(|input| input.split_once('='));
                let inputs: Vec<(&str, &str)> = inputs.collect();
                workflow.on_main(event, &files(&self.project.path(folder)), &inputs)
            }
            _ => panic!("{words:?}"),
        };
        let finished = step.finished.clone();
        self.step = Some(step);
        finished
    }
}

fn on_github() -> (Project, Option<FakeAws>) {
    (Project::empty(), None)
}

super::files!(on_github; "action/" accept_label, check_run, drift, events, forks, many_specs, organization, pull_request, trouble);
