//! A pull request with its two sides.

use serde_json::{Value, json};

use super::super::REPOSITORY;
use super::super::pull::Pull;
use super::super::routes::Place;
use super::super::state::User;
use super::user::simple_user;
use super::{BIRTH, node_id};

fn repository(place: &Place, full_name: &str) -> Value {
    let (owner, name) = full_name.split_once('/').unwrap();
    let url = format!("{}/repos/{full_name}", place.api);
    let html = format!("{}/{full_name}", place.web);
    let is_fork = full_name != REPOSITORY;
    let mut repository = json!({
        "id": if is_fork { 700_000_002 } else { 700_000_001 },
        "node_id": node_id("R", full_name.len()),
        "name": name,
        "full_name": full_name,
        "owner": simple_user(place, &User::person(owner)),
        "private": false,
        "html_url": html,
        "description": "Models and how they are trained",
        "fork": is_fork,
        "url": url,
        "clone_url": format!("{html}.git"),
        "git_url": format!("{}/{full_name}.git", place.web.replace("http:", "git:")),
        "ssh_url": format!("git@example.com:{full_name}.git"),
        "svn_url": html,
        "mirror_url": null,
        "homepage": null,
        "language": "Python",
        "license": null,
        "default_branch": "main",
        "visibility": "public",
        "created_at": BIRTH,
        "updated_at": BIRTH,
        "pushed_at": BIRTH,
    });
    for name in [
        "contributors",
        "deployments",
        "downloads",
        "events",
        "forks",
        "hooks",
        "languages",
        "merges",
        "stargazers",
        "subscribers",
        "subscription",
        "tags",
        "teams",
    ] {
        repository[format!("{name}_url")] = json!(format!("{url}/{name}"));
    }
    for (name, template) in [
        ("archive", "{archive_format}{/ref}"),
        ("assignees", "assignees{/user}"),
        ("blobs", "git/blobs{/sha}"),
        ("branches", "branches{/branch}"),
        ("collaborators", "collaborators{/collaborator}"),
        ("comments", "comments{/number}"),
        ("commits", "commits{/sha}"),
        ("compare", "compare/{base}...{head}"),
        ("contents", "contents/{+path}"),
        ("git_commits", "git/commits{/sha}"),
        ("git_refs", "git/refs{/sha}"),
        ("git_tags", "git/tags{/sha}"),
        ("issue_comment", "issues/comments{/number}"),
        ("issue_events", "issues/events{/number}"),
        ("issues", "issues{/number}"),
        ("keys", "keys{/key_id}"),
        ("labels", "labels{/name}"),
        ("milestones", "milestones{/number}"),
        ("notifications", "notifications{?since,all,participating}"),
        ("pulls", "pulls{/number}"),
        ("releases", "releases{/id}"),
        ("statuses", "statuses/{sha}"),
        ("trees", "git/trees{/sha}"),
    ] {
        repository[format!("{name}_url")] = json!(format!("{url}/{template}"));
    }
    for name in [
        "has_downloads",
        "has_issues",
        "has_projects",
        "has_wiki",
        "allow_forking",
    ] {
        repository[name] = json!(true);
    }
    for name in [
        "has_pages",
        "has_discussions",
        "archived",
        "disabled",
        "is_template",
        "web_commit_signoff_required",
    ] {
        repository[name] = json!(false);
    }
    for name in [
        "forks",
        "forks_count",
        "open_issues",
        "open_issues_count",
        "stargazers_count",
        "watchers",
        "watchers_count",
        "size",
    ] {
        repository[name] = json!(0);
    }
    repository["topics"] = json!([]);
    repository
}

pub(in crate::github) fn pull_request(
    place: &Place,
    pull: &Pull,
    files: usize,
    comments: usize,
) -> Value {
    let number = pull.number;
    let url = format!("{}/pulls/{number}", place.repository());
    let issue = format!("{}/issues/{number}", place.repository());
    let html = format!("{}/pull/{number}", place.page());
    let statuses = format!("{}/statuses/{}", place.repository(), pull.head);
    let user = simple_user(place, &pull.user);
    let side = |branch: &str, sha: &str, name: Option<&str>| {
        let owner = name
            .and_then(|name| name.split('/').next())
            .unwrap_or("ghost");
        json!({
            "label": format!("{owner}:{branch}"),
            "ref": branch,
            "sha": sha,
            "user": simple_user(place, &User::person(owner)),
            "repo": name.map(|name| repository(place, name)),
        })
    };
    let mut answer = json!({
        "id": 1_900_000_000 + number,
        "node_id": node_id("PR", number),
        "number": number,
        "state": "open",
        "title": "Train on more features",
        "user": user,
        "author_association": "CONTRIBUTOR",
        "created_at": "2026-09-01T08:00:00Z",
        "updated_at": pull.updated_at,
        "closed_at": null,
        "mergeable": true,
        "rebaseable": true,
        "mergeable_state": "clean",
        "merge_commit_sha": pull.merge_commit,
        "comments": comments,
        "review_comments": 0,
        "commits": 1,
        "additions": files,
        "deletions": 0,
        "changed_files": pull.changed_files.unwrap_or_else(|| files.try_into().unwrap()),
        "url": url,
        "html_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "issue_url": issue,
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{}/pulls/comments{{/number}}", place.repository()),
        "comments_url": format!("{issue}/comments"),
        "statuses_url": statuses,
    });
    answer["body"] = json!(pull.body);
    for name in [
        "assignee",
        "milestone",
        "auto_merge",
        "active_lock_reason",
        "merged_at",
        "merged_by",
    ] {
        answer[name] = Value::Null;
    }
    for name in ["locked", "draft", "merged", "maintainer_can_modify"] {
        answer[name] = json!(false);
    }
    for name in [
        "labels",
        "assignees",
        "requested_reviewers",
        "requested_teams",
    ] {
        answer[name] = json!([]);
    }
    answer["base"] = side(&pull.base_branch, &pull.base, Some(REPOSITORY));
    answer["head"] = side(
        &pull.head_branch,
        &pull.head,
        pull.head_repository.as_deref(),
    );
    answer["_links"] = json!({
        "self": {"href": url},
        "html": {"href": html},
        "issue": {"href": issue},
        "comments": {"href": format!("{issue}/comments")},
        "review_comments": {"href": format!("{url}/comments")},
        "review_comment": {"href": format!("{}/pulls/comments{{/number}}", place.repository())},
        "commits": {"href": format!("{url}/commits")},
        "statuses": {"href": statuses},
    });
    answer
}
