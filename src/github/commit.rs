//! The commits of the repository: what they merge, their files, and what differs between two of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::address::is_object_id;
use super::service::GITHUB;
use super::{ForgeError, ForgeErrorKind, Github};
use crate::change::Change;
use crate::code::{PathKind, Tree, TreeFile, blob_id};

/// The most files of one tree that are read.
const MOST_FILES: usize = 500_000;
/// The most requests for one tree: a tree that GitHub cuts is read folder by folder. A workflow's token has 1,000 an hour for
/// the whole repository.
const MOST_REQUESTS: usize = 200;

impl Github {
    /// The parents of a commit. The first one of a merge, such as the one that GitHub checks out for a pull request, is the base's
    /// tip.
    pub async fn parents(&self, sha: &str) -> Result<Vec<String>, ForgeError> {
        let path = format!("git/commits/{}", object_id(sha)?);
        let commit: CommitResponse = self.get_fixed(&path).await?;
        Ok(commit.parents.into_iter().map(|one| one.sha).collect())
    }

    /// Whether a commit is a head itself, or a merge of it.
    pub async fn is_of_head(&self, commit: &str, head: &str) -> Result<bool, ForgeError> {
        Ok(commit == head || self.parents(commit).await?.iter().any(|one| one == head))
    }

    /// The commit that a tag or a branch names. No fork's commit has such a name, nor that of a pull request.
    pub async fn commit_of(&self, name: &str) -> Result<String, ForgeError> {
        use ForgeErrorKind::{NotFound, Unprocessable};
        let name = name.replace('/', "%2F");
        match self.commit_at(&format!("tags%2F{name}")).await {
            Err(error) if matches!(error.kind, NotFound | Unprocessable) => {
                self.commit_at(&format!("heads%2F{name}")).await
            }
            found => found,
        }
    }

    async fn commit_at(&self, reference: &str) -> Result<String, ForgeError> {
        let commit: Named = self.get_json(&format!("commits/{reference}")).await?;
        object_id(&commit.sha).map(str::to_owned)
    }

    /// Whether the default branch has a commit: by its id GitHub gives a fork's too.
    pub async fn is_on_default_branch(&self, sha: &str) -> Result<bool, ForgeError> {
        let tip = self.commit_at("HEAD").await?;
        match self.merge_base(&tip, sha).await {
            Err(error) if error.kind == ForgeErrorKind::NotFound => Ok(false),
            base => Ok(base?.eq_ignore_ascii_case(sha)),
        }
    }

    /// The best common ancestor of both.
    pub async fn merge_base(&self, base: &str, head: &str) -> Result<String, ForgeError> {
        let (base, head) = (object_id(base)?, object_id(head)?);
        let path = format!("compare/{base}...{head}?per_page=1&page=1");
        let compared: CommitComparison = self.get_fixed(&path).await?;
        Ok(compared.merge_base_commit.sha)
    }

    /// What differs between the files of two commits: everything where one is gone or too large to be listed. `here` is the
    /// checkout, which mostly has the same links: GitHub lists no link's text.
    pub async fn change(
        &self,
        (before, after): (&str, &str),
        between: String,
        here: &Tree,
    ) -> Result<Change, ForgeError> {
        let trees =
            async { Ok::<_, ForgeError>((self.tree(before).await?, self.tree(after).await?)) };
        let why = match trees.await {
            Ok((before, after)) => {
                let knowing = |tree: Arc<Tree>| Tree::clone(&tree).knowing_links_of(here);
                let paths = knowing(before).differing(&knowing(after));
                return Ok(Change::Paths { paths, between });
            }
            Err(error) => match error.kind {
                ForgeErrorKind::NotFound => "one was removed".to_owned(),
                ForgeErrorKind::Unreadable => error.to_string(),
                _ => return Err(error),
            },
        };
        let why = format!("GitHub cannot compare {before} with {after}: {why}");
        Ok(Change::Everything { why })
    }

    /// The content of a file at a commit; the path is from the root. `None` if there is no file there, or a folder or a submodule.
    /// A symbolic link is an error, since links are not followed, and so is a file of more than `limit` bytes.
    pub async fn file_at(
        &self,
        path: &str,
        sha: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, ForgeError> {
        let tree = self.tree(sha).await?;
        let blob = match tree.get(Path::new(path)) {
            Some(file) if file.kind.is_file() => object_id(&file.blob)?,
            Some(file) if file.kind == PathKind::Link => return Err(ForgeError::link(path)),
            _ => return Ok(None),
        };
        let request = format!("git/blobs/{blob}");
        let content = self.get_raw(&request, limit).await?;
        // Only SHA-1 is verified; a repository with SHA-256 has ids of 64 digits.
        if blob.len() == 40 && blob_id(blob, &content) != blob {
            let why = "it is not the content with that id";
            return Err(GITHUB.malformed(&format!("GET {request}"), why));
        }
        Ok(Some(content))
    }

    /// All files of a commit. Each is read once.
    pub async fn tree(&self, sha: &str) -> Result<Arc<Tree>, ForgeError> {
        let mut trees = self.trees.lock().await;
        if let Some(tree) = trees.get(sha) {
            return Ok(tree.clone());
        }
        let tree = Arc::new(self.read_tree(sha).await?);
        trees.insert(sha.to_owned(), tree.clone());
        Ok(tree)
    }

    async fn read_tree(&self, sha: &str) -> Result<Tree, ForgeError> {
        let mut found = Vec::new();
        let mut requests = 0;
        // Folders to be read, with the path to them.
        let mut folders = vec![(object_id(sha)?.to_owned(), String::new())];
        while let Some((folder, above)) = folders.pop() {
            requests += 1;
            let mut listed = self.listing(&folder, "?recursive=1").await?;
            let is_cut = listed.truncated;
            if is_cut {
                requests += 1;
                listed = self.listing(&folder, "").await?;
            }
            for entry in listed.tree {
                let path = format!("{above}{}", entry.path);
                match PathKind::of_mode(&entry.mode) {
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
            let is_left = requests >= MOST_REQUESTS && !folders.is_empty();
            let bounds = [
                (found.len() > MOST_FILES, MOST_FILES, "files"),
                (is_left, MOST_REQUESTS, "requests"),
                (listed.truncated, found.len(), "files"),
            ];
            if let Some((_, limit, unit)) = bounds.into_iter().find(|(is_over, ..)| *is_over) {
                let request = format!("GET git/trees/{sha}");
                return Err(GITHUB.too_large(&request, limit, unit));
            }
        }
        Ok(Tree::new(found, BTreeMap::new()))
    }

    async fn listing(&self, sha: &str, query: &str) -> Result<TreeResponse, ForgeError> {
        self.get_json(&format!("git/trees/{sha}{query}")).await
    }
}

/// Whether an event's id stands for no commit: it is all zeros for a new branch.
pub(super) fn is_no_commit(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|digit| digit == b'0')
}

/// Checks that a text is an object's id before it becomes part of a path.
pub(super) fn object_id(text: &str) -> Result<&str, ForgeError> {
    let expected = "the whole id of a Git object, 40 or 64 hexadecimal digits";
    match is_object_id(text) {
        true => Ok(text),
        false => Err(ForgeError::settings("the commit", expected)),
    }
}

#[derive(Deserialize)]
struct CommitResponse {
    parents: Vec<Named>,
}

#[derive(Deserialize)]
struct CommitComparison {
    merge_base_commit: Named,
}

#[derive(Deserialize)]
struct Named {
    sha: String,
}

#[derive(Deserialize)]
struct TreeResponse {
    tree: Vec<TreeItem>,
    truncated: bool,
}

/// An entry of a folder: a file, a link or a submodule by its mode, else a folder.
#[derive(Deserialize)]
struct TreeItem {
    path: String,
    mode: String,
    sha: String,
}
