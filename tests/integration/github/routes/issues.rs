//! Issues: pull requests are among them, and whoever changes one may change a part of it.

use serde_json::Value;

use super::super::answers::{Answer, failure, issue, issue_of_a_pull_request};
use super::super::state::{Said, State};
use super::{LETTERS_OF_A_COMMENT, Place, asked, not_found, page};

/// GitHub's own limit.
const LETTERS_OF_A_TITLE: usize = 256;

pub(super) fn list(state: &State, place: &Place, said: &Said, query: &str) -> Answer {
    let wanted = asked(query, "state").unwrap_or_else(|| "open".to_owned());
    let since = asked(query, "since").unwrap_or_default();
    let creator = asked(query, "creator");
    let is_wanted = |login: &str, is_open: bool, updated_at: &str| {
        let is_in_state = wanted == "all" || (wanted == "open") == is_open;
        is_in_state
            && creator.as_ref().is_none_or(|creator| creator == login)
            && *updated_at >= *since
    };
    let issues = state.issues.iter().filter(|issue| {
        let login = &issue.user.login;
        is_wanted(login, issue.closed_as.is_none(), &issue.updated_at)
    });
    // Every pull request of the fake is open.
    let pulls = state
        .pulls
        .values()
        .filter(|pull| is_wanted(&pull.user.login, true, &pull.updated_at));
    let mut all: Vec<(u64, Value)> = issues
        .map(|one| (one.number, issue(place, one)))
        .chain(pulls.map(|pull| (pull.number, issue_of_a_pull_request(place, pull))))
        .collect();
    all.sort_by_key(|(number, _)| *number);
    if asked(query, "direction").is_none_or(|direction| direction == "desc") {
        all.reverse();
    }
    let all: Vec<Value> = all.into_iter().map(|(_, value)| value).collect();
    page(place, said, &all)
}

pub(super) fn create(state: &mut State, place: &Place, said: &Said) -> Answer {
    let title = said.body["title"].as_str().unwrap_or_default();
    let body = said.body["body"].as_str().unwrap_or_default();
    if let Some(refusal) = refusal(title, body) {
        return refusal;
    }
    let viewer = state.viewer.clone();
    let number = state.issue(viewer, title, body);
    let written = state.issues.last().expect("it was opened");
    let address = format!("{}/issues/{number}", place.repository());
    Answer::json(201, &issue(place, written)).header("location", &address)
}

pub(super) fn update(state: &mut State, place: &Place, number: &str, said: &Said) -> Answer {
    let now = state.now();
    let mut issues = state.issues.iter_mut();
    let Some(written) = issues.find(|issue| issue.number.to_string() == number) else {
        return not_found();
    };
    let text = |name: &str| said.body[name].as_str().map(str::to_owned);
    let title = text("title").unwrap_or_else(|| written.title.clone());
    let body = text("body").unwrap_or_else(|| written.body.clone());
    if let Some(refusal) = refusal(&title, &body) {
        return refusal;
    }
    written.title = title;
    written.body = body;
    match text("state").as_deref() {
        Some("closed") => {
            let reason = text("state_reason");
            written.closed_as = reason.or_else(|| Some("completed".to_owned()));
        }
        Some("open") => written.closed_as = None,
        _ => {}
    }
    written.updated_at = now;
    Answer::json(200, &issue(place, written))
}

fn refusal(title: &str, body: &str) -> Option<Answer> {
    let is_too_long = |text: &str, limit| text.chars().count() > limit;
    if title.trim().is_empty() {
        return Some(failure(422, "Validation Failed"));
    }
    if is_too_long(title, LETTERS_OF_A_TITLE) {
        return Some(failure(
            422,
            "title is too long (maximum is 256 characters)",
        ));
    }
    let message = "body is too long (maximum is 65536 characters)";
    is_too_long(body, LETTERS_OF_A_COMMENT).then(|| failure(422, message))
}
