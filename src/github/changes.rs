//! The files that a change touches, from the API.
//!
//! GitHub silently cuts a comparison at 300 files. If one may have been cut, the two trees are compared instead. The path of a
//! submodule ends with `/`, if it is known to be one.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::client::Github;
use super::commit::{Named, is_no_commit, object_id};
use super::error::GithubError;

/// The most files in GitHub's answer to a comparison.
/// <https://docs.github.com/en/rest/commits/commits#compare-two-commits>
const MOST_OF_A_COMPARISON: usize = 300;
/// The largest list of submodules that is read, in bytes.
const MOST_OF_SUBMODULES: usize = 1 << 20;

/// The files that a change touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// The paths that differ, from the repository's root; a renamed file under both names. The path of a submodule ends with
    /// `/`, except for one in GitHub's comparison that still exists: only the checkout can distinguish it from a file.
    Files(BTreeSet<String>),
    /// Unknown, so every file counts as changed.
    Everything { why: String },
}

impl Github {
    /// What a merge adds to its first parent. Both commits are known, so no merge base is needed.
    pub async fn changed_files_of_merge(
        &self,
        first_parent: &str,
        merge: &str,
    ) -> Result<Changes, GithubError> {
        match self.comparison(first_parent, merge).await {
            Ok(comparison) => self.listed(comparison, merge).await,
            Err(error) if is_about_size(&error) => self.compared_trees(first_parent, merge).await,
            Err(error) => everything(first_parent, merge, error),
        }
    }

    /// What the head changed since its merge base with `base`.
    pub async fn changed_files_between(
        &self,
        base: &str,
        head: &str,
    ) -> Result<Changes, GithubError> {
        // A push that creates a branch has no commit before it.
        if is_no_commit(base) {
            let why = "there is no commit to compare with: the branch is new".to_owned();
            return Ok(Changes::Everything { why });
        }
        match self.comparison(base, head).await {
            Ok(comparison) => self.listed(comparison, head).await,
            Err(error) => everything(base, head, error),
        }
    }

    /// The best common ancestor of both.
    pub async fn merge_base(&self, base: &str, head: &str) -> Result<String, GithubError> {
        Ok(self.comparison(base, head).await?.merge_base_commit.sha)
    }

    /// The files of a comparison, or those of the trees if it may have been cut.
    async fn listed(
        &self,
        comparison: CommitComparison,
        head: &str,
    ) -> Result<Changes, GithubError> {
        let merge_base = comparison.merge_base_commit.sha;
        let Some(files) = comparison.files else {
            return self.compared_trees(&merge_base, head).await;
        };
        if files.len() >= MOST_OF_A_COMPARISON {
            return self.compared_trees(&merge_base, head).await;
        }
        let mut paths = BTreeSet::new();
        let mut gone = BTreeSet::new();
        for file in files {
            if file.status == "removed" {
                gone.insert(file.filename);
            } else {
                paths.insert(file.filename);
            }
            gone.extend(file.previous_filename);
        }
        if !gone.is_empty() {
            let submodules = self.submodules(&merge_base).await?;
            paths.extend(
                gone.into_iter()
                    .map(|path| match submodules.contains(&path) {
                        true => format!("{path}/"),
                        false => path,
                    }),
            );
        }
        Ok(Changes::Files(paths))
    }

    /// The paths of a commit's submodules in its `.gitmodules`; empty if that cannot be read.
    async fn submodules(&self, commit: &str) -> Result<BTreeSet<String>, GithubError> {
        let file = self
            .file_at(".gitmodules", commit, MOST_OF_SUBMODULES)
            .await;
        let content = match file {
            Ok(content) => content.unwrap_or_default(),
            Err(GithubError::TooLarge { .. } | GithubError::Link { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(submodules_of(&String::from_utf8_lossy(&content)))
    }

    /// The first page of a comparison, which has the files; further pages have only commits.
    async fn comparison(&self, base: &str, head: &str) -> Result<CommitComparison, GithubError> {
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
            Ok((before, after)) => {
                let paths = before.differing(&after).into_iter();
                let names = paths.map(|path| path.to_string_lossy().into_owned());
                Ok(Changes::Files(names.collect()))
            }
            Err(error @ GithubError::TooLarge { .. }) => {
                let why = format!("the change is too large to be listed: {error}");
                Ok(Changes::Everything { why })
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether a listing may have failed for its size: GitHub answers 422 or 500 if it takes too long.
fn is_about_size(error: &GithubError) -> bool {
    matches!(
        error,
        GithubError::TooLarge { .. }
            | GithubError::Unprocessable { .. }
            | GithubError::ServerTrouble { .. }
    )
}

/// The changes if two commits cannot be compared: GitHub answers 404 if they have no common ancestor or one was removed.
fn everything(base: &str, head: &str, error: GithubError) -> Result<Changes, GithubError> {
    let why = match error {
        GithubError::NotFound { .. } => format!(
            "GitHub cannot compare {base} with {head}: they have no common ancestor, or one was removed"
        ),
        error if is_about_size(&error) => {
            format!("GitHub cannot compare {base} with {head}: {error}")
        }
        error => return Err(error),
    };
    Ok(Changes::Everything { why })
}

/// The values of `path = …`.
fn submodules_of(gitmodules: &str) -> BTreeSet<String> {
    let values = gitmodules
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(key, _)| key.trim() == "path")
        .map(|(_, value)| value.trim().trim_matches('"').to_owned());
    values.collect()
}

#[derive(Deserialize)]
struct File {
    filename: String,
    status: String,
    previous_filename: Option<String>,
}

#[derive(Deserialize)]
struct CommitComparison {
    merge_base_commit: Named,
    files: Option<Vec<File>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodules_are_where_gitmodules_says() {
        let text = "[submodule \"a\"]\n\tpath = vendor/a\n\turl = ../a=b\n[submodule \"b\"]\n\tpath=\"deep/b c\"\n";
        let expected = ["deep/b c", "vendor/a"].map(str::to_owned);
        assert_eq!(submodules_of(text), expected.into());
    }
}
