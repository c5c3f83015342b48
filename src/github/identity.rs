//! Who wrote a comment or an issue, and whether that is us.

use serde::Deserialize;
use serde_json::json;

use super::client::Github;

/// The writer behind a workflow's own token.
const ACTIONS: &str = "github-actions[bot]";

/// An account as the REST API gives it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Author {
    pub login: String,
    /// Stays when the login changes, and no other account gets it; absent if the answer lacks it.
    pub id: Option<u64>,
    #[serde(rename = "type")]
    pub kind: String,
}

/// Whose comments and issues are ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// As GraphQL names the viewer; an app's may lack the `[bot]` that its login has elsewhere.
    pub login: String,
    /// GraphQL's `databaseId`, which is the REST API's `id`.
    pub id: Option<u64>,
}

impl Identity {
    /// By their ids where both are known, else by their logins, exact to the letter. A person cannot be called `…[bot]`:
    /// their names hold no bracket.
    pub(super) fn is(&self, author: &Author) -> bool {
        match self.id.zip(author.id) {
            Some((ours, theirs)) => ours == theirs,
            None => {
                author.login == self.login
                    || author.kind == "Bot"
                        && author.login.strip_suffix("[bot]") == Some(&self.login)
            }
        }
    }
}

/// Who wrote a comment of ours is who we are.
impl From<&Author> for Identity {
    fn from(author: &Author) -> Self {
        Self {
            login: author.login.clone(),
            id: author.id,
        }
    }
}

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_known_by_its_id_and_else_by_its_name() {
        for (id, login, their_id, kind, is_ours) in [
            (None, "our-app[bot]", None, "Bot", true),
            (None, "our-app[bot]", None, "User", false),
            (Some(41), "renamed[bot]", Some(41), "Bot", true),
            (Some(41), "our-app[bot]", Some(42), "Bot", false),
            (Some(41), "our-app[bot]", None, "Bot", true),
        ] {
            let us = Identity {
                login: "our-app".to_owned(),
                id,
            };
            let author = Author {
                login: login.to_owned(),
                id: their_id,
                kind: kind.to_owned(),
            };
            assert_eq!(us.is(&author), is_ours, "{us:?} {author:?}");
        }
    }
}
