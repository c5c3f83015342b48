//! A comment under a pull request.

use serde_json::{Value, json};

use super::super::routes::Place;
use super::super::state::Comment;
use super::node_id;
use super::user::{app, simple_user};

pub(in crate::github) fn issue_comment(place: &Place, comment: &Comment) -> Value {
    let Comment { id, number, .. } = comment;
    let is_bot = comment.user.is_bot;
    json!({
        "id": id,
        "node_id": node_id("IC", id),
        "url": format!("{}/issues/comments/{id}", place.repository()),
        "html_url": format!("{}/pull/{number}#issuecomment-{id}", place.page()),
        "issue_url": format!("{}/issues/{number}", place.repository()),
        "body": comment.body,
        "user": simple_user(place, &comment.user),
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "author_association": if is_bot { "NONE" } else { "CONTRIBUTOR" },
        "performed_via_github_app": if is_bot { app(place, &comment.user) } else { Value::Null },
        "reactions": {
            "url": format!("{}/issues/comments/{id}/reactions", place.repository()),
            "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0,
        },
    })
}
