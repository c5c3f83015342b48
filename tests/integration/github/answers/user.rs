//! Who writes, and the app behind a bot.

use serde_json::{Value, json};

use super::super::routes::Place;
use super::super::state::User;
use super::{BIRTH, node_id};

pub(in crate::github) fn simple_user(place: &Place, user: &User) -> Value {
    let login = &user.login;
    let url = format!(
        "{}/users/{}",
        place.api,
        login.replace('[', "%5B").replace(']', "%5D")
    );
    json!({
        "login": login,
        "id": user.id,
        "node_id": node_id("U", user.id),
        "avatar_url": format!("{}/avatars/u/{}?v=4", place.web, user.id),
        "gravatar_id": "",
        "url": url,
        "html_url": format!("{}/{}", place.web, login.trim_end_matches("[bot]")),
        "followers_url": format!("{url}/followers"),
        "following_url": format!("{url}/following{{/other_user}}"),
        "gists_url": format!("{url}/gists{{/gist_id}}"),
        "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{url}/subscriptions"),
        "organizations_url": format!("{url}/orgs"),
        "repos_url": format!("{url}/repos"),
        "events_url": format!("{url}/events{{/privacy}}"),
        "received_events_url": format!("{url}/received_events"),
        "type": if user.is_bot { "Bot" } else { "User" },
        "site_admin": false,
    })
}

/// The app behind a bot's comment.
pub(in crate::github) fn app(place: &Place, user: &User) -> Value {
    let slug = user.login.trim_end_matches("[bot]");
    json!({
        "id": 15_368,
        "client_id": "Iv1.05c79e9ad1f6bdfa",
        "slug": slug,
        "node_id": node_id("A", 15_368),
        "owner": simple_user(place, &User::person("github")),
        "name": slug,
        "description": "Automate your workflow from idea to production",
        "external_url": format!("{}/features/{slug}", place.web),
        "html_url": format!("{}/apps/{slug}", place.web),
        "created_at": BIRTH,
        "updated_at": BIRTH,
        "permissions": {"issues": "write", "metadata": "read"},
        "events": ["pull_request"],
    })
}
