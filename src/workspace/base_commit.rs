//! The commit that a change is compared with, and what the jobs were known by there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::canary::{CodeFile, Key};
use crate::change::PathGlobs;
use crate::cli::{ChangeArguments, SpecArguments};
use crate::console::AppError;
use crate::git::{GitError, TreeEntry};
use crate::github::tree::{Kind, TreeFile};
use crate::instance::InstanceConfiguration;
use crate::spec::{Job, Spec};
use crate::workspace::base_policy::{self, BaseFile};
use crate::workspace::checkout::Checkout;
use crate::workspace::code_files::{CodeSelection, key_of_files};
use crate::workspace::project::{Project, without_dots};

/// The commit that a change is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseCommit {
    /// As a reader knows it, such as `origin/main`; on a pull request the base's branch.
    pub(crate) name: String,
    /// In full.
    pub(crate) sha: String,
    /// The key of each job's code as a run on this very commit makes it, by the job's name.
    pub(crate) code: BTreeMap<String, Key>,
    /// What each job trains on there, by the job's name.
    pub(crate) instances: BTreeMap<String, InstanceConfiguration>,
    /// Why a job of its spec has no key, in a few words.
    pub(crate) unknown: BTreeMap<String, String>,
}

/// A path of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) file: CodeFile,
    /// Not so of a symbolic link and of a submodule: what is behind it is not in the commit's own listing.
    pub(crate) is_file: bool,
}

impl From<TreeEntry> for Listed {
    fn from(entry: TreeEntry) -> Self {
        Self {
            file: CodeFile {
                path: entry.path,
                blob: entry.id,
            },
            is_file: entry.is_file,
        }
    }
}

impl From<TreeFile> for Listed {
    fn from(file: TreeFile) -> Self {
        Self {
            is_file: matches!(file.kind, Kind::File | Kind::Executable),
            file: CodeFile {
                path: file.path,
                blob: file.blob,
            },
        }
    }
}

impl BaseCommit {
    /// The branch, as the records of its own runs name it.
    pub(crate) fn branch(&self) -> &str {
        self.name.strip_prefix("origin/").unwrap_or(&self.name)
    }

    /// Where the head left `--base`, or origin's HEAD; `None` without git and where the two have nothing in common.
    ///
    /// # Errors
    ///
    /// Where git does not know a reference that was named.
    pub(crate) fn of_git(
        project: &Project,
        spec: &SpecArguments,
        change: &ChangeArguments,
    ) -> Result<Option<Self>, AppError> {
        let Some(checkout) = project.checkout.as_ref().and_then(Checkout::git) else {
            return Ok(None);
        };
        let Some(name) = change.base.clone().or_else(|| checkout.default_base()) else {
            return Ok(None);
        };
        let head = change.head.as_deref().unwrap_or("HEAD");
        let sha = match checkout.merge_base(&name, head) {
            Ok(sha) => sha,
            Err(GitError::NoMergeBase { .. }) => return Ok(None),
            // A checkout before its first commit has come from nowhere.
            Err(GitError::UnknownReference { .. }) if checkout.commit().is_none() => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let files = base_policy::files_at(checkout, &sha, base_policy::places(project, spec))?;
        let tree = checkout.tree(&sha)?.into_iter().map(Listed::from);
        let tree: Vec<Listed> = tree.collect();
        Ok(Some(Self::of(&name, sha, files, Ok(&tree))))
    }

    /// A commit by what it has where its spec may be, and by all that it holds, or why that cannot be told.
    pub(crate) fn of(
        name: &str,
        sha: String,
        files: Vec<BaseFile>,
        tree: Result<&[Listed], &str>,
    ) -> Self {
        let mut base = Self {
            name: name.to_owned(),
            sha,
            code: BTreeMap::new(),
            instances: BTreeMap::new(),
            unknown: BTreeMap::new(),
        };
        let found = files
            .into_iter()
            .find_map(|file| Some((file.place, file.bytes?)));
        // A spec that cannot be read has had no run.
        let Some((place, Ok(bytes))) = found else {
            return base;
        };
        let Ok(spec) = base_policy::read(&place, &bytes) else {
            return base;
        };
        let folder = base_policy::folder_of(&place);
        for job in &spec.jobs {
            let instance = job.instance.clone();
            base.instances.insert(job.name.clone(), instance);
            let key = tree
                .map_err(str::to_owned)
                .and_then(|tree| key_in(tree, &spec, job, &folder));
            match key {
                Ok(key) => drop(base.code.insert(job.name.clone(), key)),
                Err(why) => drop(base.unknown.insert(job.name.clone(), why)),
            }
        }
        base
    }
}

/// The key of a job's code as a checkout of exactly this commit would have it, or why it cannot be told. `folder` is what the
/// spec's paths are relative to.
///
/// Files count by git's own id of them. Where a checkout changes what it writes (line ends, large files kept elsewhere) a run
/// there knows its code by another key.
fn key_in(tree: &[Listed], spec: &Spec, job: &Job, folder: &str) -> Result<Key, String> {
    let source = job.training.source_dir.as_ref();
    let source = source.map(|written| source_folder(written, folder));
    if let Some(source) = &source
        && let Some(link) = tree
            .iter()
            .find(|listed| !listed.is_file && source.starts_with(&listed.file.path))
    {
        return Err(behind(&link.file.path));
    }
    let selection = CodeSelection {
        globs: vec![PathGlobs::new(&job.paths, folder)],
        sources: source.into_iter().collect(),
    };
    let mut files = Vec::new();
    for Listed { file, is_file } in tree {
        // A folder of its own, such as a submodule, matches as a file in it would.
        let inside = || selection.takes(&format!("{}/", file.path));
        match is_file {
            true if selection.takes(&file.path) => files.push(file.clone()),
            false if selection.takes(&file.path) || inside() => return Err(behind(&file.path)),
            _ => {}
        }
    }
    key_of_files(spec.backend, job, &files)
        .ok_or_else(|| "no file of its code is in that commit".to_owned())
}

fn behind(path: &str) -> String {
    format!("{path} leads elsewhere there, and only a checkout can follow it")
}

/// The folder of a `source_dir`, relative to the checkout root, by its text alone.
fn source_folder(written: &str, folder: &str) -> PathBuf {
    let whole = match written.strip_prefix('/') {
        Some(rooted) => PathBuf::from(rooted.trim_start_matches('/')),
        None => Path::new(folder).join(written),
    };
    without_dots(&whole)
}

#[cfg(test)]
mod tests;
