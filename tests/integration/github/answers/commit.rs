//! Commits, what is between two of them, and their trees.

use serde_json::{Value, json};

use super::super::files::{Kind, Node};
use super::super::routes::Place;
use super::super::state::{Commit, Difference, User};
use super::user::simple_user;
use super::{BIRTH, encoded, node_id};

pub(in crate::github) fn file_of_a_listing(place: &Place, head: &str, file: &Difference) -> Value {
    let path = encoded(&file.path);
    let mut entry = json!({
        "sha": file.id,
        "filename": file.path,
        "status": file.status,
        "additions": 1,
        "deletions": 0,
        "changes": 1,
        "blob_url": format!("{}/blob/{head}/{path}", place.page()),
        "raw_url": format!("{}/raw/{head}/{path}", place.page()),
        "contents_url": format!("{}/contents/{path}?ref={head}", place.repository()),
    });
    if let Some(previous) = &file.previous {
        entry["previous_filename"] = json!(previous);
    }
    entry
}

fn parents(place: &Place, commit: &Commit, kind: &str) -> Value {
    let parents = commit.parents.iter().map(|parent| {
        json!({
            "sha": parent,
            "url": format!("{}/{kind}/{parent}", place.repository()),
            "html_url": format!("{}/commit/{parent}", place.page()),
        })
    });
    parents.collect()
}

pub(in crate::github) fn git_commit(place: &Place, commit: &Commit) -> Value {
    let Commit { id, tree, .. } = commit;
    let author = json!({"name": "Octo Cat", "email": "octocat@example.com", "date": BIRTH});
    json!({
        "sha": id,
        "node_id": node_id("C", id),
        "url": format!("{}/git/commits/{id}", place.repository()),
        "html_url": format!("{}/commit/{id}", place.page()),
        "author": author,
        "committer": author,
        "tree": {"sha": tree, "url": format!("{}/git/trees/{tree}", place.repository())},
        "message": "A change",
        "parents": parents(place, commit, "git/commits"),
        "verification": {"verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null},
    })
}

/// A commit as the comparison returns it.
fn commit(place: &Place, commit: &Commit) -> Value {
    let id = &commit.id;
    let inner = git_commit(place, commit);
    let url = format!("{}/commits/{id}", place.repository());
    let author = simple_user(place, &User::person("octocat"));
    json!({
        "sha": id,
        "node_id": inner["node_id"],
        "url": url,
        "html_url": inner["html_url"],
        "comments_url": format!("{url}/comments"),
        "commit": {
            "url": inner["url"],
            "author": inner["author"],
            "committer": inner["committer"],
            "message": inner["message"],
            "tree": inner["tree"],
            "comment_count": 0,
            "verification": inner["verification"],
        },
        "author": author,
        "committer": author,
        "parents": parents(place, commit, "commits"),
    })
}

pub(in crate::github) fn comparison(
    place: &Place,
    base: &Commit,
    head: &Commit,
    merge_base: &Commit,
    ahead: &[&Commit],
    behind: usize,
    files: &[Value],
) -> Value {
    let range = format!("{}...{}", base.id, head.id);
    let html = format!("{}/compare/{range}", place.page());
    let status = match (ahead.len(), behind) {
        (0, 0) => "identical",
        (0, _) => "behind",
        (_, 0) => "ahead",
        _ => "diverged",
    };
    let commits: Vec<Value> = ahead.iter().map(|one| commit(place, one)).collect();
    json!({
        "url": format!("{}/compare/{range}", place.repository()),
        "html_url": html,
        "permalink_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "base_commit": commit(place, base),
        "merge_base_commit": commit(place, merge_base),
        "status": status,
        "ahead_by": ahead.len(),
        "behind_by": behind,
        "total_commits": ahead.len(),
        "commits": commits,
        "files": files,
    })
}

pub(in crate::github) fn tree(
    place: &Place,
    id: &str,
    entries: &[(String, Node)],
    is_cut: bool,
) -> Value {
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
