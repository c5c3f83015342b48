//! An issue, and a pull request as one.

use serde_json::{Value, json};

use super::super::pull::Pull;
use super::super::routes::Place;
use super::super::state::{Issue, User};
use super::node_id;
use super::user::{app, simple_user};

pub(in crate::github) fn issue(place: &Place, issue: &Issue) -> Value {
    let html = format!("{}/issues/{}", place.page(), issue.number);
    let mut answer = common(place, issue.number, &issue.user, &html);
    let is_open = issue.closed_as.is_none();
    answer["title"] = json!(issue.title);
    answer["body"] = json!(issue.body);
    answer["state"] = json!(if is_open { "open" } else { "closed" });
    answer["state_reason"] = json!(issue.closed_as);
    answer["created_at"] = json!(issue.created_at);
    answer["updated_at"] = json!(issue.updated_at);
    answer["closed_at"] = if is_open {
        Value::Null
    } else {
        json!(issue.updated_at)
    };
    answer
}

/// GitHub lists a pull request among the issues.
pub(in crate::github) fn issue_of_a_pull_request(place: &Place, pull: &Pull) -> Value {
    let html = format!("{}/pull/{}", place.page(), pull.number);
    let mut answer = common(place, pull.number, &pull.user, &html);
    answer["title"] = json!("Train on more features");
    answer["body"] = json!(pull.body);
    answer["state"] = json!("open");
    answer["created_at"] = json!("2026-09-01T08:00:00Z");
    answer["updated_at"] = json!(pull.updated_at);
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

fn common(place: &Place, number: u64, user: &User, html: &str) -> Value {
    let url = format!("{}/issues/{number}", place.repository());
    json!({
        "id": 3_100_000_000 + number,
        "node_id": node_id("I", number),
        "url": url,
        "repository_url": place.repository(),
        "labels_url": format!("{url}/labels{{/name}}"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "timeline_url": format!("{url}/timeline"),
        "html_url": html,
        "number": number,
        "user": simple_user(place, user),
        "labels": [],
        "assignee": null,
        "assignees": [],
        "milestone": null,
        "locked": false,
        "active_lock_reason": null,
        "state_reason": null,
        "closed_at": null,
        "comments": 0,
        "author_association": if user.is_bot { "NONE" } else { "CONTRIBUTOR" },
        "performed_via_github_app": if user.is_bot { app(place, user) } else { Value::Null },
        "reactions": {
            "url": format!("{url}/reactions"),
            "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0,
        },
    })
}
