//! Git: the checkout, the changed files, the files that count. Runs the `git` command and only reads, but for a list of
//! what the gate wrote.

mod error;
pub(crate) mod own_files;
mod process;
mod work_tree;

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

pub use error::GitError;

/// A git checkout.
#[derive(Debug, Clone)]
pub struct GitCheckout {
    root: PathBuf,
}

/// A path of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// From the root.
    pub path: String,
    /// The blob id of its content.
    pub id: String,
    /// False for a symbolic link and a submodule.
    pub is_file: bool,
}

/// The new side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head<'a> {
    /// The files on disk, including uncommitted and untracked ones.
    WorkTree,
    Reference(&'a str),
}

impl GitCheckout {
    /// The checkout that contains `folder`; `None` without a checkout or without git.
    ///
    /// # Errors
    ///
    /// If git refuses the checkout, for example because another user owns it.
    pub fn find(folder: &Path) -> Result<Option<Self>, GitError> {
        let Ok(output) = process::run(folder, ["rev-parse", "--show-toplevel"]) else {
            return Ok(None);
        };
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            // A bare repository has no work tree.
            let is_none = said.contains("not a git repository")
                || said.contains("must be run in a work tree");
            return if is_none {
                Ok(None)
            } else {
                Err(GitError::Refused { said })
            };
        }
        let root = String::from_utf8_lossy(&output.stdout)
            .trim_end_matches('\n')
            .to_owned();
        Ok(PathBuf::from(root)
            .canonicalize()
            .ok()
            .map(|root| Self { root }))
    }

    /// The checkout's folder, all links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The checked-out commit, in full; `None` before the first.
    pub fn commit(&self) -> Option<String> {
        self.resolve("HEAD").ok()
    }

    /// The branch that is checked out; `None` on a detached HEAD.
    pub fn branch(&self) -> Option<String> {
        process::text(&self.root, ["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()
    }

    /// The target of origin's HEAD, e.g. `origin/main`; `None` without such a remote.
    pub fn default_base(&self) -> Option<String> {
        let named = process::text(
            &self.root,
            ["symbolic-ref", "--short", "refs/remotes/origin/HEAD"],
        )
        .ok();
        named
            .into_iter()
            .chain(["origin/main".to_owned(), "origin/master".to_owned()])
            .find(|reference| self.resolve(reference).is_ok())
    }

    /// The paths that differ between `head` and its merge base with `base`, relative to the root, sorted. The path of a
    /// submodule ends with `/`.
    pub fn changed_files(&self, base: &str, head: Head<'_>) -> Result<Vec<String>, GitError> {
        let head_name = match head {
            Head::WorkTree => "HEAD",
            Head::Reference(reference) => reference,
        };
        let head_commit = self.resolve(head_name)?;
        let fork = self.merge_base(base, head_name)?;
        let mut changed = match head {
            Head::WorkTree => {
                let mut changed = work_tree::changed_since(&self.root, &fork)?;
                changed.extend(self.untracked()?);
                changed
            }
            Head::Reference(_) => {
                let arguments = ["diff", "--name-only", "--no-renames", "--no-ext-diff"];
                let commits = ["--ignore-submodules=none", "-z", &fork, &head_commit, "--"];
                process::paths(&self.root, arguments.into_iter().chain(commits))?
            }
        };
        // A submodule changes as one path, but globs match it as a folder.
        for path in &mut changed {
            if self.root.join(&*path).is_dir() {
                path.push('/');
            }
        }
        changed.sort();
        changed.dedup();
        Ok(changed)
    }

    /// The best common ancestor of both.
    pub fn merge_base(&self, base: &str, head: &str) -> Result<String, GitError> {
        let (base_commit, head_commit) = (self.resolve(base)?, self.resolve(head)?);
        process::text(&self.root, ["merge-base", &base_commit, &head_commit]).map_err(|_| {
            GitError::NoMergeBase {
                base: base.to_owned(),
                head: head.to_owned(),
            }
        })
    }

    /// All entries of a commit except folders, sorted by path.
    pub fn tree(&self, commit: &str) -> Result<Vec<TreeEntry>, GitError> {
        let commit = self.resolve(commit)?;
        let listed = process::paths(&self.root, ["ls-tree", "-r", "-z", "--full-tree", &commit])?;
        // `100644 blob 3f9c…<TAB>path`
        let entry = |line: &String| {
            let (about, path) = line.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, _, id) = (about.next()?, about.next()?, about.next()?);
            Some(TreeEntry {
                path: path.to_owned(),
                id: id.to_owned(),
                is_file: matches!(mode, "100644" | "100755" | "100664"),
            })
        };
        Ok(listed.iter().filter_map(entry).collect())
    }

    /// The tracked paths, including files missing from the work tree; a submodule is one path.
    pub fn tracked(&self) -> Result<Vec<String>, GitError> {
        process::paths(&self.root, ["ls-files", "--cached", "--full-name", "-z"])
    }

    /// The paths that git neither tracks nor ignores, without what the gate itself wrote.
    fn untracked(&self) -> Result<Vec<String>, GitError> {
        let own = own_files::list(&self.root);
        let without_own = own.map(|list| {
            let mut option = OsString::from("--exclude-from=");
            option.push(list);
            option
        });
        let arguments = [
            "ls-files",
            "--others",
            "--exclude-standard",
            "--full-name",
            "-z",
        ];
        let arguments = arguments.map(OsString::from).into_iter();
        process::paths(&self.root, arguments.chain(without_own))
    }

    /// All files that are tracked, or untracked and not ignored; relative to the root, sorted. Without tracked files that are
    /// missing from the work tree.
    pub fn files(&self) -> Result<Vec<String>, GitError> {
        // With the tracked files of submodules, but without their untracked ones.
        let mut files = process::paths(
            &self.root,
            [
                "ls-files",
                "--cached",
                "--recurse-submodules",
                "--full-name",
                "-z",
            ],
        )?;
        files.extend(self.untracked()?);
        files.retain(|file| self.root.join(file).symlink_metadata().is_ok());
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The blob id of each of `files` in the work tree, in their order, without paths that are not files, such as a submodule
    /// or a link to a folder.
    pub fn blobs(&self, files: &[String]) -> Result<Vec<(String, String)>, GitError> {
        // A name with a line end cannot be passed on standard input; such files are hashed one by one.
        let (asked, odd): (Vec<&String>, Vec<&String>) = files
            .iter()
            .filter(|file| self.root.join(file).is_file())
            .partition(|file| !file.contains('\n'));
        let list = asked.iter().map(|file| format!("{file}\n")).collect();
        // Without filters: they are programs that a checkout could configure.
        let ids = process::answer(
            &self.root,
            ["hash-object", "--no-filters", "--stdin-paths"],
            list,
        )?;
        let ids = String::from_utf8_lossy(&ids);
        let mut blobs: Vec<(String, String)> = asked
            .into_iter()
            .cloned()
            .zip(ids.lines().map(str::to_owned))
            .collect();
        for file in odd {
            let id = process::text(
                &self.root,
                ["hash-object", "--no-filters", "--", file.as_str()],
            )?;
            blobs.push((file.clone(), id));
        }
        Ok(blobs)
    }

    /// The first `limit` bytes of a file in a commit; `path` is relative to the root. `None` if there is no such file; a link
    /// is an error, since links are not followed.
    pub fn file_at(
        &self,
        commit: &str,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let commit = self.resolve(commit)?;
        let listed = process::bytes(
            &self.root,
            [
                "--literal-pathspecs",
                "ls-tree",
                "-z",
                "--full-tree",
                &commit,
                "--",
                path,
            ],
        )?;
        let listed = String::from_utf8_lossy(&listed);
        // `100644 blob 3f9c…<TAB>path`; a folder is listed as itself.
        let mut entries = listed
            .split('\0')
            .filter_map(|entry| entry.split_once('\t'));
        let Some((kind, _)) = entries.find(|(_, name)| *name == path) else {
            return Ok(None);
        };
        let Some((_, id)) = ["100644 blob ", "100755 blob "]
            .iter()
            .find_map(|plain| kind.split_once(plain))
        else {
            return match kind.starts_with("120000 ") {
                true => Err(GitError::Link(path.to_owned())),
                false => Ok(None),
            };
        };
        let mut child = process::command(&self.root, ["cat-file", "blob", id])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(GitError::NotStarted)?;
        let mut content = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        // The rest is not read: the pipe closes at the end of this statement.
        let read = child
            .stdout
            .take()
            .map(|stdout| stdout.take(most).read_to_end(&mut content));
        let output = child.wait_with_output().map_err(GitError::NotStarted)?;
        let is_cut = content.len() >= limit;
        match read {
            Some(Ok(_)) if output.status.success() || is_cut => Ok(Some(content)),
            _ => Err(GitError::Failed {
                command: "cat-file".to_owned(),
                said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
        }
    }

    /// The full commit id behind a reference.
    pub fn resolve(&self, reference: &str) -> Result<String, GitError> {
        check_reference(reference)?;
        self.refuse_ambiguous(reference)?;
        process::text(
            &self.root,
            [
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &format!("{reference}^{{commit}}"),
            ],
        )
        .map_err(|error| match error {
            GitError::Failed { .. } => GitError::UnknownReference {
                reference: reference.to_owned(),
                said: "it is not in this clone".to_owned(),
                branches: self.newest_branches(),
            },
            other => other,
        })
    }

    /// A few branches to name in an error.
    fn newest_branches(&self) -> Vec<String> {
        let listed = process::text(
            &self.root,
            [
                "for-each-ref",
                "--format=%(refname)",
                "--sort=-committerdate",
                "--count=8",
                "refs/heads",
                "refs/remotes",
            ],
        );
        let names = listed.unwrap_or_default();
        let short = |name: &str| {
            let name = name.trim_start_matches("refs/heads/");
            name.trim_start_matches("refs/remotes/").to_owned()
        };
        let is_branch = |name: &&str| !name.ends_with("/HEAD");
        names.lines().filter(is_branch).map(short).collect()
    }

    /// Refuses a name of both a branch and a tag. git would prefer the tag, so anybody who may push a tag could choose what a
    /// change is compared with. See gitrevisions(7) for the places.
    fn refuse_ambiguous(&self, reference: &str) -> Result<(), GitError> {
        let end = reference
            .find(['^', '~', '@', ':'])
            .unwrap_or(reference.len());
        let name = &reference[..end];
        let is_commit = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if name.is_empty() || name == "HEAD" || is_commit {
            return Ok(());
        }
        let places = ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let places = places.map(|place| format!("{place}{name}"));
        let mut arguments = vec!["for-each-ref", "--format=%(refname)", "--"];
        arguments.extend(places.iter().map(String::as_str));
        let listed = process::text(&self.root, arguments)?;
        // A pattern also matches references below it.
        let names: Vec<String> = listed
            .lines()
            .filter(|found| places.iter().any(|place| place == found))
            .map(str::to_owned)
            .collect();
        match names.len() {
            0 | 1 => Ok(()),
            _ => Err(GitError::Ambiguous {
                reference: reference.to_owned(),
                names,
            }),
        }
    }
}

/// Checks the form of a reference, so that git cannot take it for an option or an expression.
fn check_reference(reference: &str) -> Result<(), GitError> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "^:?*[\\".contains(c);
    let valid = !reference.is_empty()
        && reference.len() <= 255
        && !reference.starts_with('-')
        && !reference.contains("..")
        && !reference.contains("@{")
        && !reference.contains(odd);
    // HEAD~2 and HEAD^ are useful at a terminal, and a caret suffix is harmless.
    let without_suffix = reference.trim_end_matches('^');
    if valid
        || (!without_suffix.is_empty()
            && without_suffix.len() < reference.len()
            && check_reference(without_suffix).is_ok())
    {
        Ok(())
    } else {
        Err(GitError::NotAReference(reference.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_checked_by_form() {
        for reference in [
            "main",
            "origin/main",
            "v1.2",
            "3f9c2e1",
            "HEAD~2",
            "HEAD^",
            "feature/a-b_c",
        ] {
            assert!(check_reference(reference).is_ok(), "{reference}");
        }
        for reference in [
            "",
            "--output=/etc/passwd",
            "a..b",
            "main:file",
            "a b",
            "@{-1}",
            "a\nb",
            "^",
            "^main",
        ] {
            assert!(check_reference(reference).is_err(), "{reference:?}");
        }
    }
}
