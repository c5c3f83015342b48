//! The comments of a pull request as the API gives them, and whose the token is.

use serde::Deserialize;
use serde_json::json;

use super::client::{Github, ListExtent};
use super::comment::{Comment, Marker};
use super::error::GithubError;
use super::identity::{Author, Identity};

/// Whom a workflow's own token writes as.
const ACTIONS: &str = "github-actions[bot]";

/// The most pages of comments that are read, 100 on each.
const PAGES: usize = 100;

impl Github {
    /// Whose comments are ours. The token of a workflow is not always its own: an app's and a person's write as another.
    pub(super) async fn identity(&self, notes: &mut Vec<String>) -> Identity {
        #[derive(Deserialize)]
        struct Data {
            viewer: Viewer,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Viewer {
            login: String,
            database_id: Option<u64>,
        }
        let query = "query { viewer { login databaseId } }";
        match self.graphql::<Data>(query, &json!({})).await {
            Ok(Data { viewer }) => Identity {
                login: viewer.login,
                id: viewer.database_id,
            },
            Err(error) => {
                notes.push(format!(
                    "GitHub did not say whose token this is, so comments of {ACTIONS} count as the gate's: {error}"
                ));
                Identity {
                    login: ACTIONS.to_owned(),
                    id: None,
                }
            }
        }
    }

    /// All comments of a pull request; only of those that begin with a marker the body.
    pub(super) async fn comments(&self, pull_request: u64) -> Result<Vec<Comment>, GithubError> {
        let path = format!("issues/{pull_request}/comments");
        let mut comments = Vec::new();
        let listing = self
            .pages(&path, PAGES, |ListedComment(comment)| {
                comments.push(comment);
            })
            .await?;
        match listing {
            ListExtent::Whole => Ok(comments),
            // Ours may be among those that were not read; a new one each time would be worse than none.
            ListExtent::Cut => Err(GithubError::TooLarge {
                request: format!("GET {path}"),
                limit: PAGES * 100,
                unit: "comments",
            }),
        }
    }

    pub(super) async fn write_over(
        &self,
        comment: &Comment,
        text: &str,
    ) -> Result<Comment, GithubError> {
        let path = format!("issues/comments/{}", comment.id);
        let ListedComment(written) = self.patch_json(&path, &json!({ "body": text })).await?;
        Ok(written)
    }

    pub(super) async fn delete_comment(&self, comment: &Comment) -> Result<(), GithubError> {
        let path = format!("issues/comments/{}", comment.id);
        match self.delete(&path).await {
            // Somebody else was faster.
            Err(GithubError::NotFound { .. }) => Ok(()),
            result => result,
        }
    }
}

/// A comment as GitHub gives it. A body without a marker is dropped at once: other people's may be many and long.
#[derive(Deserialize)]
#[serde(from = "CommentResponse")]
pub(super) struct ListedComment(pub(super) Comment);

#[derive(Deserialize)]
struct CommentResponse {
    id: u64,
    /// Null for an account that is gone.
    user: Option<GithubAccount>,
    body: Option<String>,
    html_url: String,
    #[serde(default)]
    node_id: String,
}

/// An account as GitHub gives it.
#[derive(Deserialize)]
pub(super) struct GithubAccount {
    login: String,
    id: Option<u64>,
    #[serde(rename = "type")]
    kind: String,
}

impl GithubAccount {
    pub(super) fn login(&self) -> &str {
        &self.login
    }

    pub(super) fn id(&self) -> Option<u64> {
        self.id
    }

    /// Neither a bot nor an organization.
    pub(super) fn is_person(&self) -> bool {
        self.kind == "User"
    }
}

impl From<GithubAccount> for Author {
    fn from(user: GithubAccount) -> Self {
        Self {
            is_bot: user.kind == "Bot",
            id: user.id,
            login: user.login,
        }
    }
}

impl From<CommentResponse> for ListedComment {
    fn from(answered: CommentResponse) -> Self {
        let body = answered.body.unwrap_or_default();
        Self(Comment {
            id: answered.id,
            author: answered.user.map(Author::from),
            body: if Marker::of(&body).is_some() {
                body
            } else {
                String::new()
            },
            url: answered.html_url,
            node_id: answered.node_id,
        })
    }
}
