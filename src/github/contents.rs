//! A file of the repository at a commit.

use super::client::Github;
use super::error::GithubError;
use crate::code::{PathKind, blob_id};

/// The most folders that a path may name.
const MOST_FOLDERS: usize = 20;

impl Github {
    /// The content of a file at a commit; the path is from the root. `None` if there is no file there, or a folder or a submodule.
    /// A symbolic link is an error, since links are not followed, and so is a file of more than `limit` bytes.
    ///
    /// The path is looked up tree by tree, since the contents endpoint silently follows links.
    pub async fn file_at(
        &self,
        path: &str,
        sha: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, GithubError> {
        let names: Vec<&str> = path.split('/').take(MOST_FOLDERS + 2).collect();
        let Some((name, folders)) = names
            .split_last()
            .filter(|(_, above)| above.len() <= MOST_FOLDERS)
        else {
            return Ok(None);
        };
        let mut tree = sha.to_owned();
        for folder in folders {
            let entries = self.folder(&tree).await?;
            let below = entries
                .into_iter()
                .find(|entry| entry.path == *folder && entry.kind().is_none());
            match below {
                Some(entry) => tree = entry.sha,
                None => return Ok(None),
            }
        }
        let entries = self.folder(&tree).await?;
        let Some(file) = entries.into_iter().find(|entry| entry.path == *name) else {
            return Ok(None);
        };
        match file.kind() {
            Some(PathKind::File | PathKind::Executable) => {}
            Some(PathKind::Link) => {
                return Err(GithubError::Link {
                    path: path.to_owned(),
                });
            }
            _ => return Ok(None),
        }
        self.blob(&file.sha, file.size, limit).await.map(Some)
    }

    /// A blob by its id, verified against it.
    async fn blob(
        &self,
        id: &str,
        size: Option<u64>,
        limit: usize,
    ) -> Result<Vec<u8>, GithubError> {
        let path = format!("git/blobs/{}", super::commit::object_id(id)?);
        let request = format!("GET {path}");
        let is_known_too_large =
            size.is_some_and(|size| usize::try_from(size).is_ok_and(|size| size > limit));
        if is_known_too_large {
            return Err(GithubError::TooLarge {
                request,
                limit,
                unit: "bytes",
            });
        }
        let content = self.get_raw(&path, limit).await?;
        // Only SHA-1 is verified; a repository with SHA-256 has ids of 64 digits.
        if id.len() == 40 && blob_id(id, &content) != id {
            let reason = "it is not the content with that id".to_owned();
            return Err(GithubError::Malformed { request, reason });
        }
        Ok(content)
    }
}
