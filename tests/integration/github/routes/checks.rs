//! Statuses and check runs of commits, which must be there.
//! <https://docs.github.com/en/rest/commits/statuses>, <https://docs.github.com/en/rest/checks/runs>

use serde_json::{Value, json};

use super::super::REPOSITORY;
use super::super::answers::{Answer, app, failure, node_id, repository};
use super::super::state::{CommitCheck, Said, State, User};
use super::{LETTERS_OF_A_COMMENT, Place, asked, not_found};

const AT: &str = "2026-11-21T09:14:07Z";

pub(super) fn set_status(state: &mut State, place: &Place, sha: &str, said: &Said) -> Answer {
    if !state.commits.contains_key(sha) {
        return failure(422, &format!("No commit found for SHA: {sha}"));
    }
    let description = said.body["description"].as_str().unwrap_or_default();
    if description.chars().count() > 140 {
        return failure(422, "Validation Failed");
    }
    let (id, sha, said) = (1, sha.to_owned(), said.body.clone());
    let set = CommitCheck { id, sha, said };
    let answer = status(place, &set);
    state.statuses.push(set);
    Answer::json(201, &answer)
}

fn status(place: &Place, CommitCheck { sha, said, .. }: &CommitCheck) -> Value {
    let mut answer = json!({
        "url": format!("{}/statuses/{sha}", place.repository()), "avatar_url": null, "id": 1, "node_id": "SC_1",
        "created_at": AT, "updated_at": AT, "creator": null,
    });
    for name in ["state", "description", "target_url", "context"] {
        answer[name] = said[name].clone();
    }
    answer
}

/// The newest of each name.
pub(super) fn combined(state: &State, place: &Place, sha: &str) -> Answer {
    let mut newest: Vec<&CommitCheck> = Vec::new();
    for set in state.statuses.iter().rev().filter(|set| set.sha == sha) {
        if newest
            .iter()
            .all(|known| known.said["context"] != set.said["context"])
        {
            newest.push(set);
        }
    }
    let statuses: Vec<Value> = newest.into_iter().map(|set| status(place, set)).collect();
    let url = format!("{}/commits/{sha}", place.repository());
    Answer::json(
        200,
        &json!({
            "state": "pending", "statuses": statuses, "sha": sha, "total_count": statuses.len(),
            "repository": repository(place, REPOSITORY), "commit_url": url, "url": format!("{url}/status"),
        }),
    )
}

pub(super) fn list(state: &State, place: &Place, sha: &str, query: &str) -> Answer {
    let name = asked(query, "check_name");
    let runs = state.check_runs.iter().rev();
    let runs = runs.filter(|run| run.sha == sha && name.as_deref() == run.said["name"].as_str());
    let runs: Vec<Value> = runs.map(|run| check_run(place, run)).collect();
    Answer::json(200, &json!({"total_count": runs.len(), "check_runs": runs}))
}

fn is_too_long(said: &Value) -> bool {
    let output = &said["output"];
    let summary = output["summary"].as_str().unwrap_or_default();
    let annotations = output["annotations"].as_array().map_or(0, Vec::len);
    summary.chars().count() >= LETTERS_OF_A_COMMENT || annotations > 50
}

pub(super) fn create(state: &mut State, place: &Place, said: &Said) -> Answer {
    let sha = said.body["head_sha"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if !state.commits.contains_key(&sha) || is_too_long(&said.body) {
        return failure(422, "Validation Failed");
    }
    let id = 4_000_000_001 + state.check_runs.len() as u64;
    let run = CommitCheck {
        id,
        sha,
        said: said.body.clone(),
    };
    let answer = check_run(place, &run);
    state.check_runs.push(run);
    Answer::json(201, &answer)
}

pub(super) fn update(state: &mut State, place: &Place, id: &str, said: &Said) -> Answer {
    let mut runs = state.check_runs.iter_mut();
    let Some(run) = runs.find(|run| run.id.to_string() == id) else {
        return not_found();
    };
    let is_opened = said.body["status"] == "in_progress" && !run.said["conclusion"].is_null();
    if is_opened || is_too_long(&said.body) {
        return failure(422, "Validation Failed");
    }
    let annotations = |said: &Value| {
        said["output"]["annotations"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let mut all = annotations(&run.said);
    all.extend(annotations(&said.body));
    for (name, value) in said.body.as_object().expect("GitHub takes an object") {
        run.said[name] = value.clone();
    }
    run.said["output"]["annotations"] = all.into();
    Answer::json(200, &check_run(place, run))
}

fn check_run(place: &Place, CommitCheck { id, sha, said }: &CommitCheck) -> Value {
    let url = format!("{}/check-runs/{id}", place.repository());
    let is_open = said["conclusion"].is_null();
    let output = &said["output"];
    let count = output["annotations"].as_array().map_or(0, Vec::len);
    json!({
        "id": id, "node_id": node_id("CR", id), "head_sha": sha, "name": said["name"], "external_id": said["external_id"],
        "url": url, "html_url": format!("{}/runs/{id}", place.page()), "details_url": said["details_url"],
        "status": said["status"], "conclusion": said["conclusion"],
        "started_at": AT, "completed_at": (!is_open).then_some(AT),
        "output": {
            "title": output["title"], "summary": output["summary"], "text": null,
            "annotations_count": count, "annotations_url": format!("{url}/annotations"),
        },
        "check_suite": {"id": 5}, "app": app(place, &User::actions()), "pull_requests": [],
    })
}
