//! Who wrote a comment or an issue, and whether that is us.

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
