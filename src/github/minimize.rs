//! Comments that are hidden as outdated, which only GraphQL can do.
//! <https://docs.github.com/en/graphql/reference/mutations#minimizecomment>

use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Github;
use super::error::GithubError;

/// GitHub's limit of a request for nodes.
const MOST: usize = 100;

const HIDDEN: &str =
    "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { id isMinimized } } }";
const HIDE: &str = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }";

#[derive(Deserialize)]
struct Nodes {
    /// Null for a comment that is gone.
    nodes: Vec<Option<HiddenComment>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HiddenComment {
    id: String,
    is_minimized: bool,
}

impl Github {
    /// Hides these comments, those that are not hidden yet; of many the newest. The token needs `pull-requests: write`.
    pub(super) async fn minimize_as_outdated(&self, ids: &[&str]) -> Result<(), GithubError> {
        let ids = &ids[ids.len().saturating_sub(MOST)..];
        if ids.is_empty() {
            return Ok(());
        }
        let known: Nodes = self.graphql(HIDDEN, &json!({"ids": ids})).await?;
        let shown = known.nodes.into_iter().flatten();
        for comment in shown.filter(|comment| !comment.is_minimized) {
            let _: Value = self.graphql(HIDE, &json!({"id": comment.id})).await?;
        }
        Ok(())
    }
}
