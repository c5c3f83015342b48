//! The files that a change touches, by the API.
//!
//! GitHub's listings are cut, a comparison at 300 files and a pull request at 3,000, and do not say so. Where one may have
//! been cut the two trees are compared instead.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::client::{Github, Listing};
use super::commit::{Named, object_id};
use super::error::GithubError;
use super::pull_request::PullRequest;
use super::tree::Tree;

/// Files that GitHub gives of a comparison at most.
/// <https://docs.github.com/en/rest/commits/commits#compare-two-commits>
const MOST_OF_A_COMPARISON: usize = 300;
/// Files that GitHub gives of a pull request at most.
/// <https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files>
const MOST_OF_A_PULL_REQUEST: usize = 3_000;
/// The pages that these are on.
const PAGES: usize = 30;

/// What a change touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// The paths that differ, from the repository's root; a file that was renamed under both names.
    Files(BTreeSet<String>),
    /// It cannot be told, so every file counts as changed.
    Everything { why: String },
}

impl Github {
    /// What a pull request changes since it left its base.
    pub async fn changed_files_of_pull_request(
        &self,
        pull_request: &PullRequest,
    ) -> Result<Changes, GithubError> {
        let path = format!("pulls/{}/files", pull_request.number);
        let mut paths = BTreeSet::new();
        let mut files = 0_usize;
        let listing = self
            .pages(&path, PAGES, |file: File| {
                files += 1;
                file.add_to(&mut paths);
            })
            .await?;
        let says_more = pull_request
            .changed_files
            .is_some_and(|count| usize::try_from(count).map_or(true, |count| count > files));
        if listing == Listing::Whole && files < MOST_OF_A_PULL_REQUEST && !says_more {
            return Ok(Changes::Files(paths));
        }
        let (base, head) = (&pull_request.base.sha, &pull_request.head.sha);
        match self.comparison(base, head).await {
            Ok(comparison) => self.compared_trees(&comparison.merge_base(), head).await,
            Err(error) => unrelated(base, head, error),
        }
    }

    /// What the head has changed since it left the base.
    pub async fn changed_files_between(
        &self,
        base: &str,
        head: &str,
    ) -> Result<Changes, GithubError> {
        // A push that makes a branch has no commit before it.
        if !base.is_empty() && base.bytes().all(|digit| digit == b'0') {
            let why = "there is no commit to compare with: the branch is new".to_owned();
            return Ok(Changes::Everything { why });
        }
        let comparison = match self.comparison(base, head).await {
            Ok(comparison) => comparison,
            Err(error) => return unrelated(base, head, error),
        };
        match &comparison.files {
            Some(files) if files.len() < MOST_OF_A_COMPARISON => {
                let mut paths = BTreeSet::new();
                files
                    .iter()
                    .cloned()
                    .for_each(|file| file.add_to(&mut paths));
                Ok(Changes::Files(paths))
            }
            _ => self.compared_trees(&comparison.merge_base(), head).await,
        }
    }

    /// Of a comparison its first page, on which the files are; its commits are of no interest.
    async fn comparison(&self, base: &str, head: &str) -> Result<Comparison, GithubError> {
        let (base, head) = (object_id(base)?, object_id(head)?);
        self.get_json(&format!("compare/{base}...{head}?per_page=1&page=1"))
            .await
    }

    async fn compared_trees(&self, before: &str, after: &str) -> Result<Changes, GithubError> {
        let trees = async {
            let before = self.tree(before).await?;
            let after = self.tree(after).await?;
            Ok((before, after))
        };
        match trees.await {
            Ok((before, after)) => Ok(Changes::Files(differing(&before, &after))),
            Err(error @ GithubError::TooLarge { .. }) => {
                let why = format!("the change is too large to be listed: {error}");
                Ok(Changes::Everything { why })
            }
            Err(error) => Err(error),
        }
    }
}

/// GitHub answers 404 for commits that have nothing in common, and for one that it has forgotten.
fn unrelated(base: &str, head: &str, error: GithubError) -> Result<Changes, GithubError> {
    match error {
        GithubError::NotFound { .. } => Ok(Changes::Everything {
            why: format!(
                "GitHub cannot compare {base} with {head}: they have no common past, or one is gone"
            ),
        }),
        error => Err(error),
    }
}

/// The paths that are not the same in both.
fn differing(before: &Tree, after: &Tree) -> BTreeSet<String> {
    let by_path = |tree: &'_ Tree| -> BTreeMap<String, (String, super::tree::Kind)> {
        let files = tree.files.iter();
        files
            .map(|file| (file.path.clone(), (file.blob.clone(), file.kind)))
            .collect()
    };
    let (before, after) = (by_path(before), by_path(after));
    let changed = after
        .iter()
        .filter(|(path, file)| before.get(*path) != Some(file));
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    changed.map(|(path, _)| path).chain(gone).cloned().collect()
}

#[derive(Clone, Deserialize)]
struct File {
    filename: String,
    previous_filename: Option<String>,
}

impl File {
    fn add_to(self, paths: &mut BTreeSet<String>) {
        paths.insert(self.filename);
        paths.extend(self.previous_filename);
    }
}

#[derive(Deserialize)]
struct Comparison {
    merge_base_commit: Named,
    files: Option<Vec<File>>,
}

impl Comparison {
    fn merge_base(&self) -> String {
        self.merge_base_commit.sha.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Kind, TreeFile};
    use super::*;

    fn tree(files: &[(&str, &str, Kind)]) -> Tree {
        let files = files.iter().map(|(path, blob, kind)| TreeFile {
            path: (*path).to_owned(),
            blob: (*blob).to_owned(),
            kind: *kind,
        });
        Tree {
            files: files.collect(),
        }
    }

    #[test]
    fn trees_differ_by_content_by_kind_and_by_what_only_one_has() {
        let before = tree(&[
            ("same", "1", Kind::File),
            ("edited", "1", Kind::File),
            ("made-executable", "1", Kind::File),
            ("old-name", "2", Kind::File),
        ]);
        let after = tree(&[
            ("same", "1", Kind::File),
            ("edited", "3", Kind::File),
            ("made-executable", "1", Kind::Executable),
            ("new-name", "2", Kind::File),
        ]);
        let expected = ["edited", "made-executable", "new-name", "old-name"];
        assert_eq!(
            differing(&before, &after),
            expected.map(str::to_owned).into()
        );
        assert_eq!(differing(&after, &after), BTreeSet::new());
    }
}
