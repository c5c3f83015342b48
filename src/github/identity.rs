//! Whose token this is.

use serde::Deserialize;
use serde_json::json;

use super::{Author, Forge, ForgeError};

/// The writer behind a workflow's own token.
const ACTIONS: &str = "github-actions[bot]";

/// The app that an answer names as the writer of a check run.
#[derive(Deserialize)]
pub(super) struct WritingApp {
    slug: String,
}

impl Forge {
    /// Learns from what the token has just written as which app it writes. A person's token says nothing of that.
    pub(super) async fn writes_as(&self, app: Option<WritingApp>) {
        let app = app.filter(|_| self.is_of_app).map(|app| Author {
            login: format!("{}[bot]", app.slug),
            id: None,
            kind: "Bot".to_owned(),
        });
        let mut known = self.identity.lock().await;
        *known = known.take().or(app);
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
                Author {
                    login: ACTIONS.to_owned(),
                    id: None,
                    kind: "Bot".to_owned(),
                }
            }
        })
    }
}
