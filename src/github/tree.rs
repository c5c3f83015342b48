//! The files of a commit, with their blob ids.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde::Deserialize;

use super::client::Github;
use super::commit::object_id;
use super::error::GithubError;
use crate::code::{PathKind, Tree, TreeFile};

/// The most files and folders of one tree that are read.
const MOST_ENTRIES: usize = 500_000;
/// The most requests for one tree: a tree that GitHub cuts is read folder by folder. A workflow's token has 1,000 an hour for
/// the whole repository.
const MOST_REQUESTS: usize = 200;

impl Github {
    /// All files below a tree, by the tree's id or a commit's. Each is read once.
    pub async fn tree(&self, sha: &str) -> Result<Tree, GithubError> {
        let known = |trees: &Mutex<BTreeMap<String, Tree>>| trees.lock().ok()?.get(sha).cloned();
        if let Some(tree) = known(&self.trees) {
            return Ok(tree);
        }
        let tree = self.read_tree(sha).await?;
        if let Ok(mut trees) = self.trees.lock() {
            trees.insert(sha.to_owned(), tree.clone());
        }
        Ok(tree)
    }

    async fn read_tree(&self, sha: &str) -> Result<Tree, GithubError> {
        let mut found = Vec::new();
        let mut entries = 0;
        // Folders to be read, with the path to them.
        let mut folders = vec![(object_id(sha)?.to_owned(), String::new())];
        let mut requests = 0;
        while let Some((folder, above)) = folders.pop() {
            if requests >= MOST_REQUESTS {
                return Err(too_large(sha, MOST_REQUESTS, "requests"));
            }
            requests += 1;
            let mut listed = self.listing(&folder, "?recursive=1").await?;
            let is_cut = listed.truncated;
            if is_cut {
                requests += 1;
                listed = self.listing(&folder, "").await?;
                if listed.truncated {
                    return Err(too_large(sha, listed.tree.len(), "entries in one folder"));
                }
            }
            entries += listed.tree.len();
            if entries > MOST_ENTRIES {
                return Err(too_large(sha, MOST_ENTRIES, "entries"));
            }
            for entry in listed.tree {
                let path = format!("{above}{}", entry.path);
                match entry.kind() {
                    Some(kind) => found.push(TreeFile {
                        path: path.into(),
                        blob: entry.sha,
                        kind,
                    }),
                    None if is_cut => {
                        folders.push((object_id(&entry.sha)?.to_owned(), format!("{path}/")));
                    }
                    None => {}
                }
            }
        }
        Ok(Tree::new(found, BTreeMap::new()))
    }

    /// The entries of one folder by the id of its tree or, for the root, of a commit.
    pub(super) async fn folder(&self, sha: &str) -> Result<Vec<TreeItem>, GithubError> {
        Ok(self.listing(object_id(sha)?, "").await?.tree)
    }

    async fn listing(&self, sha: &str, query: &str) -> Result<TreeResponse, GithubError> {
        self.get_json(&format!("git/trees/{sha}{query}")).await
    }
}

fn too_large(sha: &str, limit: usize, unit: &'static str) -> GithubError {
    let request = format!("GET git/trees/{sha}");
    GithubError::TooLarge {
        request,
        limit,
        unit,
    }
}

#[derive(Deserialize)]
struct TreeResponse {
    tree: Vec<TreeItem>,
    truncated: bool,
}

#[derive(Deserialize)]
pub(super) struct TreeItem {
    pub(super) path: String,
    pub(super) mode: String,
    pub(super) sha: String,
    /// Bytes; only of what is a blob.
    #[serde(default)]
    pub(super) size: Option<u64>,
}

impl TreeItem {
    /// None for a folder.
    pub(super) fn kind(&self) -> Option<PathKind> {
        PathKind::of_mode(&self.mode)
    }
}
