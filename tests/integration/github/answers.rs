//! GitHub's answers, with every field that its description requires: files beside, in which `<name>` stands for a value.

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::REPOSITORY;
use super::files::{Kind, Node};
use super::pull::Pull;
use super::routes::Place;
use super::state::{Comment, Commit, Issue, User};

/// An answer before it is sent.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        let text = body.to_string();
        Self::text(status, "application/json; charset=utf-8", text.as_bytes())
    }

    pub(super) fn text(status: u16, kind: &str, body: &[u8]) -> Self {
        let answer = Self {
            status,
            headers: Vec::new(),
            body: body.to_vec(),
        };
        answer
            .header("content-type", kind)
            .header("x-github-request-id", "0400:1A2B:3C4D5E:6F7A8B:68B56CA1")
    }

    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Changes a body that is JSON.
    pub(super) fn body_json(&mut self, change: impl FnOnce(&mut Value)) {
        let mut body = serde_json::from_slice(&self.body).unwrap();
        change(&mut body);
        self.body = body.to_string().into_bytes();
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        response.body(Body::from(self.body)).unwrap()
    }
}

/// An error as GitHub writes it.
pub(super) fn failure(status: u16, message: &str) -> Answer {
    Answer::json(
        status,
        &json!({"message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string()}),
    )
}

pub(super) fn node_id(kind: &str, id: impl std::fmt::Display) -> String {
    format!("{kind}_kwDO{id}")
}

/// The answer of a file: each of these fields stands for `<its name>`, as a whole or as a part of a text.
fn filled(file: &str, place: &Place, mut fields: Value) -> Value {
    fields["api"] = json!(place.api);
    fields["web"] = json!(place.web);
    fields["repository"] = json!(place.repository());
    fields["page"] = json!(place.page());
    let mut answer = serde_json::from_str(file).unwrap();
    fill(&mut answer, &fields);
    answer
}

fn fill(part: &mut Value, fields: &Value) {
    match part {
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, fields)),
        Value::Object(items) => items.values_mut().for_each(|item| fill(item, fields)),
        Value::String(text) => {
            let name = text
                .strip_prefix('<')
                .and_then(|name| name.strip_suffix('>'));
            if let Some(value) = name.and_then(|name| fields.get(name)) {
                *part = value.clone();
                return;
            }
            for (name, value) in fields.as_object().unwrap() {
                let value = value.as_str().map_or(value.to_string(), str::to_owned);
                *text = text.replace(&format!("<{name}>"), &value);
            }
        }
        _ => {}
    }
}

/// Who writes.
pub(super) fn simple_user(place: &Place, user: &User) -> Value {
    let login = &user.login;
    let fields = json!({
        "login": login,
        "id": user.id,
        "encoded": login.replace('[', "%5B").replace(']', "%5D"),
        "slug": login.trim_end_matches("[bot]"),
        "type": if user.is_bot { "Bot" } else { "User" },
    });
    filled(include_str!("answers/user.json"), place, fields)
}

/// The app behind what a bot did; null for a person.
pub(super) fn app(place: &Place, user: &User) -> Value {
    if !user.is_bot {
        return Value::Null;
    }
    let owner = simple_user(place, &User::person("github"));
    let fields = json!({"slug": user.login.trim_end_matches("[bot]"), "owner": owner});
    filled(include_str!("answers/app.json"), place, fields)
}

fn association(user: &User) -> &'static str {
    if user.is_bot { "NONE" } else { "CONTRIBUTOR" }
}

pub(super) fn issue_comment(place: &Place, comment: &Comment) -> Value {
    let user = &comment.user;
    let fields = json!({
        "id": comment.id,
        "number": comment.number,
        "body": comment.body,
        "user": simple_user(place, user),
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "association": association(user),
        "app": app(place, user),
    });
    filled(include_str!("answers/comment.json"), place, fields)
}

pub(super) fn issue(place: &Place, issue: &Issue) -> Value {
    let is_open = issue.closed_as.is_none();
    let user = &issue.user;
    let fields = json!({
        "kind": "issues",
        "id": 3_100_000_000 + issue.number,
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": if is_open { "open" } else { "closed" },
        "closed_as": issue.closed_as,
        "closed_at": (!is_open).then_some(&issue.updated_at),
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "user": simple_user(place, user),
        "association": association(user),
        "app": app(place, user),
    });
    filled(include_str!("answers/issue.json"), place, fields)
}

/// GitHub lists a pull request among the issues.
pub(super) fn issue_of_a_pull_request(place: &Place, pull: &Pull) -> Value {
    let mut answer = issue(
        place,
        &Issue {
            number: pull.number,
            user: pull.user.clone(),
            title: "Train on more features".to_owned(),
            body: pull.body.clone().unwrap_or_default(),
            closed_as: None,
            created_at: "2026-09-01T08:00:00Z".to_owned(),
            updated_at: pull.updated_at.clone(),
        },
    );
    let html = format!("{}/pull/{}", place.page(), pull.number);
    answer["html_url"] = json!(html);
    answer["draft"] = json!(false);
    answer["pull_request"] = json!({
        "url": format!("{}/pulls/{}", place.repository(), pull.number),
        "html_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "merged_at": null,
    });
    answer
}

pub(super) fn repository(place: &Place, full_name: &str) -> Value {
    let (owner, name) = full_name.split_once('/').unwrap();
    let is_fork = full_name != REPOSITORY;
    let fields = json!({
        "id": if is_fork { 700_000_002 } else { 700_000_001 },
        "name": name,
        "full_name": full_name,
        "owner": simple_user(place, &User::person(owner)),
        "fork": is_fork,
    });
    filled(include_str!("answers/repository.json"), place, fields)
}

pub(super) fn pull_request(place: &Place, pull: &Pull, comments: usize) -> Value {
    let mut fields = json!({
        "id": 1_900_000_000 + pull.number,
        "number": pull.number,
        "user": simple_user(place, &pull.user),
        "updated_at": pull.updated_at,
        "merge": pull.merge_commit,
        "comments": comments,
        "body": pull.body,
    });
    let own = Some(REPOSITORY.to_owned());
    for (side, branch, sha, name) in [
        ("base", &pull.base_branch, &pull.base, &own),
        ("head", &pull.head_branch, &pull.head, &pull.head_repository),
    ] {
        let owner = name
            .as_ref()
            .map_or("ghost", |name| name.split('/').next().unwrap());
        let repository = name.as_ref().map(|name| repository(place, name));
        fields[format!("{side}_owner")] = json!(owner);
        fields[format!("{side}_ref")] = json!(branch);
        fields[format!("{side}_sha")] = json!(sha);
        fields[format!("{side}_user")] = simple_user(place, &User::person(owner));
        fields[format!("{side}_repo")] = json!(repository);
    }
    filled(include_str!("answers/pull_request.json"), place, fields)
}

/// A commit, as a file shows it.
fn commit(file: &str, place: &Place, commit: &Commit, parents: &str) -> Value {
    let parent = |parent: &String| {
        json!({
            "sha": parent,
            "url": format!("{}/{parents}/{parent}", place.repository()),
            "html_url": format!("{}/commit/{parent}", place.page()),
        })
    };
    let fields = json!({
        "id": commit.id,
        "tree": commit.tree,
        "parents": commit.parents.iter().map(parent).collect::<Vec<_>>(),
        "octocat": simple_user(place, &User::person("octocat")),
    });
    filled(file, place, fields)
}

pub(super) fn git_commit(place: &Place, one: &Commit) -> Value {
    let file = include_str!("answers/git_commit.json");
    commit(file, place, one, "git/commits")
}

pub(super) fn one_commit(place: &Place, one: &Commit) -> Value {
    let file = include_str!("answers/commit.json");
    commit(file, place, one, "commits")
}

pub(super) fn comparison(
    place: &Place,
    [base, head, merge_base]: [&Commit; 3],
    ahead: &[&Commit],
    behind: usize,
) -> Value {
    let status = match (ahead.len(), behind) {
        (0, 0) => "identical",
        (0, _) => "behind",
        (_, 0) => "ahead",
        _ => "diverged",
    };
    let fields = json!({
        "range": format!("{}...{}", base.id, head.id),
        "base": one_commit(place, base),
        "merge_base": one_commit(place, merge_base),
        "status": status,
        "ahead_by": ahead.len(),
        "behind_by": behind,
        "commits": ahead.iter().map(|one| one_commit(place, one)).collect::<Vec<_>>(),
    });
    filled(include_str!("answers/comparison.json"), place, fields)
}

pub(super) fn tree(place: &Place, id: &str, entries: &[(String, Node)], is_cut: bool) -> Value {
    let listed = entries.iter().map(|(path, node)| {
        let mut entry = json!({
            "path": path,
            "mode": node.kind.mode(),
            "type": node.kind.object(),
            "sha": node.id,
        });
        match node.kind {
            Kind::Submodule => {}
            Kind::Folder => {
                entry["url"] = json!(format!("{}/git/trees/{}", place.repository(), node.id));
            }
            _ => {
                entry["size"] = json!(node.size);
                entry["url"] = json!(format!("{}/git/blobs/{}", place.repository(), node.id));
            }
        }
        entry
    });
    json!({
        "sha": id,
        "url": format!("{}/git/trees/{id}", place.repository()),
        "tree": listed.collect::<Vec<Value>>(),
        "truncated": is_cut,
    })
}
