//! Labels of a pull request, who put them on, and who may write.

use serde_json::{Value, json};

use super::super::answers::{Answer, app, node_id, simple_user};
use super::super::state::{LabelEvent, Said, State, User};
use super::{Place, not_found, page, pull_number};

const COLOUR: &str = "d93f0b";

pub(super) fn list(state: &State, place: &Place, number: &str, said: &Said) -> Answer {
    let Some(number) = pull_number(state, number) else {
        return not_found();
    };
    let mut names: Vec<&str> = Vec::new();
    for event in state.labels.iter().filter(|event| event.number == number) {
        names.retain(|name| *name != event.name);
        if event.is_on {
            names.push(&event.name);
        }
    }
    let label = |name: &&str| {
        json!({
            "id": 208_045_946,
            "node_id": node_id("LA", 208_045_946),
            "url": format!("{}/labels/x", place.repository()),
            "name": name,
            "description": null,
            "color": COLOUR,
            "default": false,
        })
    };
    let all: Vec<Value> = names.iter().map(label).collect();
    page(place, said, &all)
}

pub(super) fn events(state: &State, place: &Place, number: &str, said: &Said) -> Answer {
    let Some(number) = pull_number(state, number) else {
        return not_found();
    };
    let mut ids = 12_000_000_001_u64..;
    let of_number = state.labels.iter().filter(|event| event.number == number);
    let all: Vec<Value> = of_number
        .map(|event| labeled(place, ids.next().expect("there are enough"), event))
        .collect();
    page(place, said, &all)
}

fn labeled(place: &Place, id: u64, event: &LabelEvent) -> Value {
    json!({
        "id": id,
        "node_id": node_id("LE", id),
        "url": format!("{}/issues/events/{id}", place.repository()),
        "actor": simple_user(place, &event.by),
        "event": if event.is_on { "labeled" } else { "unlabeled" },
        "commit_id": null,
        "commit_url": null,
        "created_at": event.at,
        "label": {"name": event.name, "color": COLOUR},
        "performed_via_github_app": app(place, &event.by),
    })
}

/// <https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user>
pub(super) fn permission(state: &State, place: &Place, login: &str) -> Answer {
    let Some(permission) = state.permissions.get(login) else {
        return not_found();
    };
    let mut user = simple_user(place, &User::person(login));
    user["role_name"] = json!(permission);
    Answer::json(
        200,
        &json!({"permission": permission, "role_name": permission, "user": user}),
    )
}
