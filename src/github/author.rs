//! Whose token this is; who wrote a comment or an issue, and whether that is us.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Forge, ForgeError};

/// The writer behind a workflow's own token.
const ACTIONS: &str = "github-actions[bot]";

/// An account as the REST API gives it, or GraphQL where that says whose token it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Author {
    /// Of an app, GraphQL's may lack the `[bot]` that it has elsewhere.
    #[serde(alias = "username")]
    pub login: String,
    /// Stays when the login changes, and no other account gets it; absent if the answer lacks it.
    #[serde(alias = "databaseId")]
    pub id: Option<u64>,
    /// Such as `User` or `Bot`; empty where GraphQL does not say it.
    #[serde(rename = "type", default)]
    pub kind: String,
}

impl Author {
    /// An app's account.
    fn bot(login: String) -> Self {
        Self {
            login,
            id: None,
            kind: "Bot".to_owned(),
        }
    }

    /// Whether the author of a post is this account: by their ids where both are known, else by their logins, exact to the letter.
    /// A person cannot be called `…[bot]`: their names hold no bracket.
    pub(super) fn is(&self, author: &Self) -> bool {
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

impl Forge {
    /// Learns from a check run that the token has just written as which app it writes. A person's token says nothing of that.
    pub(super) async fn writes_as(&self, written: &Value) {
        let slug = written["app"]["slug"].as_str();
        let app = slug.filter(|_| self.is_of_app);
        let mut known = self.identity.lock().await;
        *known = (known.take()).or_else(|| Some(Author::bot(format!("{}[bot]", app?))));
    }

    /// Whose posts are ours. The token of a workflow is not always its own: an app's and a person's write as another.
    pub(super) async fn identity(&self, notes: &mut Vec<String>) -> Result<Author, ForgeError> {
        #[derive(Deserialize)]
        struct Data {
            viewer: Author,
        }
        let mut known = self.identity.lock().await;
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        if let Some(path) = self.service.viewer {
            return Ok(known.insert(self.get_json(path).await?).clone());
        }
        let query = "query { viewer { login databaseId } }";
        Ok(match self.graphql::<Data>(query, &json!({})).await {
            Ok(Data { viewer }) => known.insert(viewer).clone(),
            Err(error) => {
                notes.push(format!(
                    "GitHub did not say whose token this is, so comments of {ACTIONS} count as the gate's: {error}"
                ));
                Author::bot(ACTIONS.to_owned())
            }
        })
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
            let account = |login: &str, id, kind: &str| Author {
                login: login.to_owned(),
                id,
                kind: kind.to_owned(),
            };
            let us = account("our-app", id, "");
            let author = account(login, their_id, kind);
            assert_eq!(us.is(&author), is_ours, "{us:?} {author:?}");
        }
    }
}
