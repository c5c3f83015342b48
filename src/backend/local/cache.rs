//! Caches of the home folder that a canary may read, such as those of models.
//!
//! A spec names them, and who starts the gate opens the folders that they lie in. A canary finds each under its own home folder,
//! as a link; where it leads the probe mounts it read-only, for the canary and whatever it starts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::workspace::make_folder;
use crate::backend::BackendError;
use crate::backend::project_paths::ProjectPaths;
use crate::spec::Job;

/// What lies at the top of a cache and is a secret: Hugging Face keeps its token beside the models.
const SECRET_FILES: [&str; 8] = [
    "token",
    "stored_tokens",
    "credentials",
    "credentials.json",
    ".netrc",
    ".git-credentials",
    "kaggle.json",
    "auth.json",
];

/// A folder that canaries of a job may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cache {
    /// Below a home folder.
    below: PathBuf,
    /// All links resolved.
    pub(super) real: PathBuf,
}

impl Cache {
    /// Those of a job.
    ///
    /// # Errors
    ///
    /// Where one is not there, was not opened by who starts the gate, or has a secret at its top.
    pub(super) fn of_job(paths: &ProjectPaths, job: &Job) -> Result<Vec<Self>, BackendError> {
        let caches = job.training.local.caches.iter();
        caches.map(|below| Self::find(paths, job, below)).collect()
    }

    fn find(paths: &ProjectPaths, job: &Job, below: &str) -> Result<Self, BackendError> {
        let field = format!("jobs.{}.training.caches: `~/{below}`", job.name);
        let Some(home) = &paths.home else {
            return Err(BackendError::new(
                format!("{field} cannot be found, since HOME is not set"),
                "set HOME, or remove `caches`",
            ));
        };
        let real = home.join(below).canonicalize().map_err(|source| {
            BackendError::io(
                format!("{field} cannot be read"),
                "fill the cache first, or correct the path; it is below the home folder of who starts the gate",
                source,
            )
        })?;
        if !paths.caches.iter().any(|opened| real.starts_with(opened)) {
            return Err(BackendError::new(
                format!("{field} is not open to canaries: a spec alone opens no folder"),
                format!(
                    "where it may be read by the code of a change, start the gate with `--cache {}`",
                    real.display()
                ),
            ));
        }
        if !real.is_dir() || real == *home || home.starts_with(&real) {
            return Err(BackendError::new(
                format!("{field} is not a folder of a cache"),
                "name the folder that holds the models or the data",
            ));
        }
        for name in SECRET_FILES {
            if fs::symlink_metadata(real.join(name)).is_ok() {
                return Err(BackendError::new(
                    format!("{field} holds `{name}`, a file of secrets, which no canary gets"),
                    "name the folder that holds the models or the data alone, such as `~/.cache/huggingface/hub`",
                ));
            }
        }
        Ok(Self {
            below: below.into(),
            real,
        })
    }

    /// Links the cache into a canary's own home folder.
    pub(super) fn link_into(&self, home: &Path) -> Result<(), BackendError> {
        let link = home.join(&self.below);
        if let Some(parent) = link.parent() {
            make_folder(parent)?;
        }
        symlink(&self.real, &link).map_err(|source| {
            BackendError::io(
                format!("could not link {}", link.display()),
                "name each cache once, and none in another",
                source,
            )
        })
    }
}
