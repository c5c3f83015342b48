//! Which request gets which answer.

mod checks;
mod issues;
mod labels;

use serde_json::{Value, json};

use super::REPOSITORY;
use super::answers::{
    Answer, comparison, failure, git_commit, issue_comment, node_id, one_commit, pull_request, tree,
};
use super::files::{Kind, Node};
use super::state::{Said, State};

/// GitHub's own limit.
const LETTERS_OF_A_COMMENT: usize = 65_536;

/// The kind of an answer that is a file's own bytes.
const RAW: &str = "application/vnd.github.raw+json; charset=utf-8";

/// Where the server is, as its answers say it.
pub(super) struct Place<'a> {
    /// The web pages.
    pub(super) web: &'a str,
    /// The API.
    pub(super) api: &'a str,
}

impl Place<'_> {
    pub(super) fn repository(&self) -> String {
        format!("{}/repos/{REPOSITORY}", self.api)
    }

    pub(super) fn page(&self) -> String {
        format!("{}/{REPOSITORY}", self.web)
    }
}

pub(super) fn answer(state: &mut State, web: &str, api: &str, said: &Said) -> Answer {
    let place = Place { web, api };
    let (path, query) = said.path.split_once('?').unwrap_or((&said.path, ""));
    if path == "/graphql" {
        return graphql(state, said);
    }
    let below = |name: &str| path.strip_prefix(&format!("/repos/{name}/"));
    let Some(below) = below(REPOSITORY).or_else(|| below("example/policies")) else {
        return not_found();
    };
    let parts: Vec<String> = below.split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (said.method.as_str(), parts.as_slice()) {
        ("GET", ["issues", number, "comments"]) => list_comments(state, &place, number, said),
        ("POST", ["issues", number, "comments"]) => create_comment(state, &place, number, said),
        ("PATCH", ["issues", "comments", id]) => with_comment(state, id, |state, index| {
            update_comment(state, &place, index, said)
        }),
        ("DELETE", ["issues", "comments", id]) => with_comment(state, id, |state, index| {
            state.comments.remove(index);
            Answer::empty(204)
        }),
        ("GET", ["issues", number, "labels"]) => labels::list(state, &place, number, said),
        ("GET", ["issues", number, "events"]) => labels::events(state, &place, number, said),
        ("GET", ["collaborators", login, "permission"]) => labels::permission(state, &place, login),
        ("POST", ["statuses", sha]) => checks::set_status(state, &place, sha, said),
        ("GET", ["commits", sha, "status"]) => checks::combined(state, &place, sha),
        ("GET", ["commits", sha, "check-runs"]) => checks::list(state, &place, sha, query),
        ("GET", ["commits", name]) => match state.references.get(*name) {
            Some(sha) => Answer::json(200, &one_commit(&place, &state.commits[sha])),
            None => failure(422, &format!("No commit found for SHA: {name}")),
        },
        ("POST", ["check-runs"]) => checks::create(state, &place, said),
        ("PATCH", ["check-runs", id]) => checks::update(state, &place, id, said),
        ("GET", ["issues"]) => issues::list(state, &place, said, query),
        ("POST", ["issues"]) => issues::create(state, &place, said),
        ("PATCH", ["issues", number]) => issues::update(state, &place, number, said),
        ("GET", ["pulls", number]) => get_pull(state, &place, number),
        ("GET", ["compare", range]) => compare(state, &place, range),
        ("GET", ["git", "trees", id]) => get_tree(state, &place, id, query),
        ("GET", ["git", "commits", id]) => match state.commits.get(*id) {
            Some(commit) => Answer::json(200, &git_commit(&place, commit)),
            None => not_found(),
        },
        ("GET", ["git", "blobs", id]) => blob(state, id),
        _ => not_found(),
    }
}

fn not_found() -> Answer {
    failure(404, "Not Found")
}

fn decoded(segment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = segment.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last value of a query's name.
fn asked(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name);
    values.next_back().map(|(_, value)| decoded(value))
}

/// One page of a list, with links to the others as GitHub writes them.
fn page(place: &Place, said: &Said, all: &[Value]) -> Answer {
    let (path, query) = said.path.split_once('?').unwrap_or((&said.path, ""));
    let number = |name| asked(query, name).and_then(|text| text.parse::<usize>().ok());
    let per_page = number("per_page").unwrap_or(30).clamp(1, 100);
    let current = number("page").unwrap_or(1).max(1);
    let last = all.len().div_ceil(per_page).max(1);
    let items: Vec<&Value> = all
        .iter()
        .skip((current - 1) * per_page)
        .take(per_page)
        .collect();
    let answer = Answer::json(200, &json!(items));
    let link = |page: usize, name: &str| {
        format!(
            "<{}{path}?per_page={per_page}&page={page}>; rel=\"{name}\"",
            place.api
        )
    };
    let mut links = Vec::new();
    if current > 1 {
        links.extend([link(1, "first"), link(current - 1, "prev")]);
    }
    if current < last {
        links.extend([link(current + 1, "next"), link(last, "last")]);
    }
    match links.is_empty() {
        true => answer,
        false => answer.header("link", &links.join(", ")),
    }
}

fn graphql(state: &mut State, said: &Said) -> Answer {
    let query = said.body["query"].as_str().unwrap_or_default();
    let variables = &said.body["variables"];
    if query.contains("nodes(ids: $ids)") {
        return hidden_comments(state, &variables["ids"]);
    }
    if query.contains("minimizeComment(") && query.contains("classifier: OUTDATED") {
        return minimize(state, &variables["id"]);
    }
    if said.method != "POST" || !query.contains("viewer") {
        let error = json!({"message": "the fake only knows who is viewing"});
        return Answer::json(200, &json!({"errors": [error]}));
    }
    let mut viewer = json!({"login": state.viewer.login});
    if query.contains("databaseId") {
        viewer["databaseId"] = json!(state.viewer.id);
    }
    Answer::json(200, &json!({"data": {"viewer": viewer}}))
}

fn hidden_comments(state: &State, ids: &Value) -> Answer {
    let ids = ids.as_array().expect("GitHub takes a list");
    let node = |id: &Value| {
        let mut comments = state.comments.iter();
        let found = comments.find(|comment| *id == json!(node_id("IC", comment.id)));
        found.map_or(
            Value::Null,
            |comment| json!({"id": id, "isMinimized": comment.is_minimized}),
        )
    };
    let nodes: Vec<Value> = ids.iter().map(node).collect();
    Answer::json(200, &json!({"data": {"nodes": nodes}}))
}

fn minimize(state: &mut State, id: &Value) -> Answer {
    let mut comments = state.comments.iter_mut();
    let Some(comment) = comments.find(|comment| *id == json!(node_id("IC", comment.id))) else {
        let error = json!({"type": "NOT_FOUND", "message": "Could not resolve to a node"});
        return Answer::json(200, &json!({"data": null, "errors": [error]}));
    };
    comment.is_minimized = true;
    let hidden = json!({"minimizedComment": {"isMinimized": true}});
    Answer::json(200, &json!({"data": {"minimizeComment": hidden}}))
}

// Comments.

fn list_comments(state: &State, place: &Place, number: &str, said: &Said) -> Answer {
    let Some(number) = pull_number(state, number) else {
        return not_found();
    };
    let all = state
        .comments
        .iter()
        .filter(|comment| comment.number == number);
    let all: Vec<Value> = all.map(|comment| issue_comment(place, comment)).collect();
    page(place, said, &all)
}

fn create_comment(state: &mut State, place: &Place, number: &str, said: &Said) -> Answer {
    let Some(number) = pull_number(state, number) else {
        return not_found();
    };
    let body = match body_of_comment(said) {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let viewer = state.viewer.clone();
    let id = state.comment(number, viewer, &body);
    let written = state
        .comments
        .iter()
        .find(|comment| comment.id == id)
        .unwrap();
    let address = format!("{}/issues/comments/{id}", place.repository());
    Answer::json(201, &issue_comment(place, written)).header("location", &address)
}

fn update_comment(state: &mut State, place: &Place, index: usize, said: &Said) -> Answer {
    let body = match body_of_comment(said) {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let now = state.now();
    let comment = &mut state.comments[index];
    comment.body = body;
    comment.updated_at = now;
    Answer::json(200, &issue_comment(place, comment))
}

fn body_of_comment(said: &Said) -> Result<String, Answer> {
    let body = said.body["body"].as_str().unwrap_or_default();
    if body.trim().is_empty() {
        return Err(failure(422, "Validation Failed"));
    }
    if body.chars().count() > LETTERS_OF_A_COMMENT {
        let message = "Body is too long (maximum is 65536 characters)";
        return Err(failure(422, message));
    }
    Ok(body.to_owned())
}

fn with_comment(
    state: &mut State,
    id: &str,
    act: impl FnOnce(&mut State, usize) -> Answer,
) -> Answer {
    let index = state
        .comments
        .iter()
        .position(|comment| comment.id.to_string() == id);
    match index {
        Some(index) => act(state, index),
        None => not_found(),
    }
}

fn pull_number(state: &State, number: &str) -> Option<u64> {
    let number = number.parse().ok()?;
    state.pulls.contains_key(&number).then_some(number)
}

// Pull requests and what they change.

fn get_pull(state: &State, place: &Place, number: &str) -> Answer {
    let Some(pull) = pull_number(state, number).map(|number| &state.pulls[&number]) else {
        return not_found();
    };
    let comments = state
        .comments
        .iter()
        .filter(|comment| comment.number == pull.number);
    Answer::json(200, &pull_request(place, pull, comments.count()))
}

fn compare(state: &State, place: &Place, range: &str) -> Answer {
    let commits = range
        .split_once("...")
        .and_then(|(base, head)| Some((state.commit_at(base)?, state.commit_at(head)?)));
    let Some((base, head)) = commits else {
        return not_found();
    };
    let Some(merge_base) = state.merge_base(&base.id, &head.id) else {
        let message = format!("No common ancestor between {} and {}.", base.id, head.id);
        return failure(404, &message);
    };
    let of_base = state.ancestors(&base.id);
    let of_head = state.ancestors(&head.id);
    let ahead: Vec<&str> = of_head
        .iter()
        .copied()
        .filter(|id| !of_base.contains(id))
        .collect();
    let behind = of_base.iter().filter(|id| !of_head.contains(id)).count();
    let commits = ahead
        .iter()
        .map(|id| &state.commits[*id])
        .collect::<Vec<_>>();
    Answer::json(
        200,
        &comparison(place, [base, head, merge_base], &commits, behind),
    )
}

// Git's objects.

fn get_tree(state: &State, place: &Place, id: &str, query: &str) -> Answer {
    let id = match state.commit_at(id) {
        Some(commit) => commit.tree.clone(),
        None => id.to_owned(),
    };
    if !state.trees.contains_key(&id) {
        return not_found();
    }
    let is_recursive = asked(query, "recursive").is_some();
    let mut entries = Vec::new();
    walk(state, &id, "", is_recursive, &mut entries);
    let is_cut = is_recursive && entries.len() > state.tree_limit;
    if is_cut {
        entries.truncate(state.tree_limit);
    }
    Answer::json(200, &tree(place, &id, &entries, is_cut))
}

fn blob(state: &State, id: &str) -> Answer {
    let mut files = state
        .commits
        .values()
        .flat_map(|commit| commit.files.0.values());
    match files.find(|file| file.kind != Kind::Submodule && file.id() == id) {
        Some(file) => Answer::text(200, RAW, &file.content),
        None => not_found(),
    }
}

fn walk(state: &State, id: &str, above: &str, deep: bool, found: &mut Vec<(String, Node)>) {
    for node in &state.trees[id] {
        let path = format!("{above}{}", node.name);
        found.push((path.clone(), node.clone()));
        if deep && node.kind == Kind::Folder {
            walk(state, &node.id, &format!("{path}/"), deep, found);
        }
    }
}
