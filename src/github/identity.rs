//! Who wrote a comment or an issue, and whether that is us.

use serde::Deserialize;
use serde_json::json;

use super::client::Github;

/// The writer behind a workflow's own token.
const ACTIONS: &str = "github-actions[bot]";

/// Who wrote a comment, as the REST API says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub login: String,
    /// Stays when the login changes, and no other account gets it; absent if the answer lacks it.
    pub id: Option<u64>,
    pub is_bot: bool,
}

/// Whose comments and issues are ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// As GraphQL names the viewer; an app's may lack the `[bot]` that its login has elsewhere.
    pub login: String,
    /// GraphQL's `databaseId`, which is the REST API's `id`.
    pub id: Option<u64>,
}

/// An account as GitHub gives it.
#[derive(Deserialize)]
pub(super) struct GithubAccount {
    pub(super) login: String,
    pub(super) id: Option<u64>,
    #[serde(rename = "type")]
    kind: String,
}

impl GithubAccount {
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

impl Identity {
    /// By their ids where both are known, else by their logins, exact to the letter. A person cannot be called `…[bot]`:
    /// their names hold no bracket.
    pub(super) fn is(&self, author: &Author) -> bool {
        match self.id.zip(author.id) {
            Some((ours, theirs)) => ours == theirs,
            None => {
                author.login == self.login
                    || author.is_bot && author.login.strip_suffix("[bot]") == Some(&self.login)
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
        for (ours, theirs, is_bot, is_ours) in [
            (("our-app", None), ("our-app[bot]", None), true, true),
            (("our-app", None), ("our-app[bot]", None), false, false),
            (
                ("our-app", Some(41)),
                ("renamed[bot]", Some(41)),
                true,
                true,
            ),
            (
                ("our-app", Some(41)),
                ("our-app[bot]", Some(42)),
                true,
                false,
            ),
            (("our-app", Some(41)), ("our-app[bot]", None), true, true),
        ] {
            let us = Identity {
                login: ours.0.to_owned(),
                id: ours.1,
            };
            let author = Author {
                login: theirs.0.to_owned(),
                id: theirs.1,
                is_bot,
            };
            assert_eq!(us.is(&author), is_ours, "{us:?} {author:?}");
        }
    }
}
