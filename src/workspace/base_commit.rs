//! The commit that a change is compared with, and the keys of its jobs' code.

use std::collections::BTreeMap;
use std::path::Path;

use crate::canary::Key;
use crate::cli::{ChangeArguments, SpecArguments};
use crate::code::{CodeSelection, CodeTree, Tree};
use crate::console::AppResult;
use crate::git::GitError;
use crate::instance::InstanceConfiguration;
use crate::workspace::base_policy::{self, BaseFile};
use crate::workspace::code_files::key_of_code;
use crate::workspace::{Checkout, Project, written_spec};

/// The commit that a change is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseCommit {
    /// The name to show, such as `origin/main`; on a pull request the base's branch.
    pub(crate) name: String,
    /// The full commit id.
    pub(crate) sha: String,
    /// The code key that a run on this commit computes, by job name; none where it is unknown.
    pub(crate) code: BTreeMap<String, Key>,
    /// The instance of each job at this commit, by job name.
    pub(crate) instances: BTreeMap<String, InstanceConfiguration>,
}

impl BaseCommit {
    /// The branch as the records of its runs name it.
    pub(crate) fn branch(&self) -> &str {
        self.name.strip_prefix("origin/").unwrap_or(&self.name)
    }

    /// The merge base with `--base`, else with origin's HEAD; `None` without git or without a merge base.
    ///
    /// # Errors
    ///
    /// Git does not know a named reference.
    pub(crate) fn of_git(
        project: &Project,
        spec: &SpecArguments,
        change: &ChangeArguments,
    ) -> AppResult<Option<Self>> {
        let Some(checkout) = project.checkout.as_ref().and_then(Checkout::git) else {
            return Ok(None);
        };
        let Some(name) = change.base.clone().or_else(|| checkout.default_base()) else {
            return Ok(None);
        };
        let sha = match checkout.merge_base(&name) {
            Ok(sha) => sha,
            Err(GitError::NoMergeBase { .. }) => return Ok(None),
            // A checkout without a commit has no merge base.
            Err(GitError::UnknownReference { .. }) if checkout.commit().is_none() => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let files = base_policy::spec_files(checkout, &sha, &sha, project, spec)?;
        let tree = checkout.tree(&sha)?;
        Ok(Some(Self::of(&name, sha, files, &tree)))
    }

    /// Reads the spec of a commit and computes its jobs' keys. `tree` is every path of the commit.
    pub(crate) fn of(name: &str, sha: String, files: Vec<BaseFile>, tree: &Tree) -> Self {
        let mut base = Self {
            name: name.to_owned(),
            sha,
            code: BTreeMap::new(),
            instances: BTreeMap::new(),
        };
        // An unreadable spec cannot have been run.
        let Some((place, Ok(spec))) = base_policy::spec_of(files) else {
            return base;
        };
        let folder = written_spec::folder_of(Path::new(&place)).to_string_lossy();
        for job in &spec.jobs {
            let name = &job.name;
            base.instances.insert(name.clone(), job.instance.clone());
            // Files count by their git blob id. A checkout that rewrites files (line ends, large file storage) has another key.
            let code = CodeTree::of(tree, CodeSelection::of(job, &place, &folder, None));
            let key = code.map(|code| key_of_code(spec.backend, job, &code));
            (base.code).extend(key.ok().flatten().map(|key| (name.clone(), key)));
        }
        base
    }
}

#[cfg(test)]
mod tests;
