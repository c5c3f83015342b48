//! Who wrote a comment or an issue, and whether that is us.

use serde::Deserialize;

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
