//! Comments, notes and issues as an API lists and writes them, and which of them are ours.
//!
//! All workflows of a repository write as one bot, and one of them may repeat what a pull request's author wrote. So a marker
//! counts only in what we wrote, and a marker from the future does not count: it would silence every run until then.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::marker::CLOCKS_DIFFER;
use super::{Author, Forge, ForgeError, ForgeErrorKind, Github, Marker, MarkerKind};

/// The most pages of a list that are read, 100 on each.
const PAGES: usize = 100;
/// GitHub's limit of a request for nodes.
const MOST_NODES: usize = 100;
/// Only GraphQL hides comments: <https://docs.github.com/en/graphql/reference/mutations#minimizecomment>
const HIDDEN: &str =
    "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { id isMinimized } } }";
const HIDE: &str = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }";

/// Where a post stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PostPlace {
    /// A comment on the pull request of this number.
    PullRequest(u64),
    /// An issue of the repository.
    Issues,
    /// A note on a merge request of GitLab's: the number of its project, and its own there.
    MergeRequest { project: u64, iid: u64 },
}

/// A comment or an issue.
#[derive(Debug, Clone, Deserialize)]
pub struct Post {
    id: u64,
    #[serde(rename = "number")]
    issue: Option<u64>,
    /// GraphQL's id; empty if the answer lacks it.
    #[serde(default)]
    pub node_id: String,
    /// `None` for an account that is gone.
    #[serde(rename = "user", alias = "author")]
    pub author: Option<Author>,
    /// `None` for a comment.
    pub title: Option<String>,
    pub(super) body: Option<String>,
    /// Where a person reads it; empty if the answer lacks it.
    #[serde(rename = "html_url", default)]
    pub url: String,
    /// A list of issues has pull requests too.
    pull_request: Option<serde::de::IgnoredAny>,
}

impl Post {
    /// A comment's id or an issue's number. Grows with time: of two, the smaller was there first.
    pub fn number(&self) -> u64 {
        self.issue.unwrap_or(self.id)
    }

    /// Its text; empty where it has none.
    pub fn body(&self) -> &str {
        self.body.as_deref().unwrap_or_default()
    }

    /// Whether it says this already; GitHub may return lines with another ending. Which run wrote an issue is not compared.
    pub(super) fn says(&self, title: Option<&str>, body: &str) -> bool {
        let unlike = usize::from(self.title.is_some());
        let ours = self.body().trim_end().lines().skip(unlike);
        self.title.as_deref() == title && ours.eq(body.trim_end().lines().skip(unlike))
    }
}

/// A post with its marker.
pub(super) type OwnPost<'a> = (&'a Post, Marker);

/// Our own about a spec as of `now`, oldest first.
pub(super) fn own<'a>(
    posts: &'a [Post],
    identity: &Author,
    (kind, spec): (MarkerKind, &str),
    now: Timestamp,
) -> Vec<OwnPost<'a>> {
    let mut own: Vec<OwnPost<'a>> = marked_by(posts, identity)
        .filter(|(_, marker)| marker.kind == kind && marker.spec == spec)
        .filter(|(_, marker)| marker.order.time.duration_since(now) <= CLOCKS_DIFFER)
        .collect();
    own.sort_by_key(|(post, _)| post.number());
    own.dedup_by_key(|(post, _)| post.number());
    own
}

/// Those that somebody wrote with a marker.
fn marked_by<'a>(posts: &'a [Post], author: &Author) -> impl Iterator<Item = OwnPost<'a>> {
    let is_theirs = |post: &&Post| {
        let by = post.author.as_ref();
        post.pull_request.is_none() && by.is_some_and(|by| author.is(by))
    };
    let posts = posts.iter().filter(is_theirs);
    posts.filter_map(|post| Some((post, Marker::of(post.body())?)))
}

/// The first of the newest.
pub(super) fn newest<'a, 'b>(own: &'b [OwnPost<'a>]) -> Option<&'b OwnPost<'a>> {
    own.iter().rev().max_by_key(|(_, marker)| marker.age())
}

impl PostPlace {
    /// The path to which a new post is sent, and at which all are listed.
    fn path(self) -> String {
        match self {
            Self::PullRequest(number) => format!("issues/{number}/comments"),
            Self::Issues => "issues".to_owned(),
            Self::MergeRequest { project, iid } => {
                format!("projects/{project}/merge_requests/{iid}/notes")
            }
        }
    }

    fn path_of(self, post: &Post) -> String {
        match self {
            Self::PullRequest(_) => format!("issues/comments/{}", post.number()),
            _ => format!("{}/{}", self.path(), post.number()),
        }
    }
}

impl Forge {
    /// All posts of a place; of issues the open ones, or those that were closed, or changed after that, since then.
    pub(super) async fn posts(
        &self,
        place: PostPlace,
        closed_since: Option<Timestamp>,
    ) -> Result<Vec<Post>, ForgeError> {
        // GitHub knows whole seconds.
        let since = closed_since.and_then(|since| Timestamp::from_second(since.as_second()).ok());
        // Oldest first: a new one comes last and shifts nothing.
        let sorted = "sort=created&direction=asc";
        let path = match (place, since) {
            (PostPlace::PullRequest(_), _) => place.path(),
            (PostPlace::MergeRequest { .. }, _) => format!("{}?sort=asc", place.path()),
            (PostPlace::Issues, None) => format!("issues?state=open&{sorted}"),
            (PostPlace::Issues, Some(since)) => {
                format!("issues?state=closed&{sorted}&since={since}")
            }
        };
        let mut posts = Vec::new();
        // Other people's may be many and long.
        let keep =
            |post: Post| posts.extend(Some(post).filter(|one| Marker::of(one.body()).is_some()));
        // Ours may be on a page that is not read; a new one each time would be worse than none.
        self.pages(&path, PAGES, keep).await?;
        Ok(posts)
    }

    /// What our comments on a pull request are about.
    pub async fn subjects(&self, pull_request: u64) -> Result<BTreeSet<String>, ForgeError> {
        let identity = self.identity(&mut Vec::new()).await?;
        let posts = self
            .posts(PostPlace::PullRequest(pull_request), None)
            .await?;
        let own = marked_by(&posts, &identity);
        Ok(own.map(|(_, marker)| marker.spec).collect())
    }

    /// Writes a post, over another if one is given; with a reason it is closed, which only an issue can be.
    pub(super) async fn write_post(
        &self,
        place: PostPlace,
        over: Option<&Post>,
        (title, body): (Option<&str>, &str),
        closed_as: Option<&str>,
    ) -> Result<Post, ForgeError> {
        let mut written = json!({"body": body});
        if let Some(title) = title {
            written["title"] = json!(title);
        }
        if let Some(reason) = closed_as {
            written["state"] = json!("closed");
            written["state_reason"] = json!(reason);
        }
        let (method, path) = match over {
            Some(post) => (self.service.change, place.path_of(post)),
            None => ("POST", place.path()),
        };
        self.send_json(method, &path, Some(&written)).await
    }

    /// Deletes a duplicate of a comment; closes one of an issue. It may be gone already.
    pub(super) async fn remove_duplicate(
        &self,
        place: PostPlace,
        (duplicate, marker): &OwnPost<'_>,
        kept: &Post,
    ) -> Result<(), ForgeError> {
        let result = match place {
            PostPlace::Issues => {
                let why = format!(
                    "A duplicate of #{}: two runs opened one at the same time.",
                    kept.number()
                );
                let body = marker.above(&why);
                let closed_as = Some("not_planned");
                let closed = self.write_post(place, Some(duplicate), (None, &body), closed_as);
                closed.await.map(drop)
            }
            _ => self.delete(&place.path_of(duplicate)).await,
        };
        match result {
            Err(error) if error.kind == ForgeErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

impl Github {
    /// Hides these comments as outdated, if they are not hidden yet. The token needs `pull-requests: write`.
    pub(super) async fn hide(&self, comments: &[OwnPost<'_>]) -> Result<(), ForgeError> {
        let ids = comments.iter().map(|(comment, _)| comment.node_id.as_str());
        let ids: Vec<&str> = ids.filter(|id| !id.is_empty()).collect();
        for ids in ids.chunks(MOST_NODES) {
            let known: Value = self.graphql(HIDDEN, &json!({"ids": ids})).await?;
            // Null for a comment that is gone.
            let nodes = known["nodes"].as_array().into_iter().flatten();
            for comment in nodes.filter(|comment| comment["isMinimized"] == false) {
                let _: Value = self.graphql(HIDE, &json!({"id": comment["id"]})).await?;
            }
        }
        Ok(())
    }
}
