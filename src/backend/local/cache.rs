//! Caches of the home folder that a canary may read, such as those of models.
//!
//! A spec names them, and who starts the gate opens the folders that they lie in. A canary finds each under its own home folder,
//! as a link; where it leads the probe keeps it as it is: below an overlay, else read-only, for the canary and whatever it starts.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::workspace::make_folder;
use crate::backend::project_paths::ProjectPaths;
use crate::canary::{DataObject, Objects, listing_digest};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::{Job, is_secret_name, is_secret_place};
use crate::units::Bytes;

/// How many levels of a cache are searched for secrets, and of how many entries at most.
const SEARCHED_LEVELS: usize = 3;
const SEARCHED_ENTRIES: usize = 20_000;

/// A folder that canaries of a job may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cache {
    /// Below a home folder.
    pub(super) below: PathBuf,
    /// All links resolved.
    pub(super) real: PathBuf,
}

impl Cache {
    /// Those of a job.
    ///
    /// # Errors
    ///
    /// Where one is not there, was not opened by who starts the gate, or has a secret near its top.
    pub(super) fn of_job(paths: &ProjectPaths, job: &Job) -> OutsideResult<Vec<Self>> {
        let caches = job.training.local.caches.iter();
        caches.map(|below| Self::find(paths, job, below)).collect()
    }

    fn find(paths: &ProjectPaths, job: &Job, below: &str) -> OutsideResult<Self> {
        let field = format!("jobs.{}.training.caches: `~/{below}`", job.name);
        let refused = |why: &str, help: &str| OutsideError::of(format!("{field} {why}")).help(help);
        let home = paths.home.as_ref().ok_or_else(|| {
            let why = "cannot be found, since HOME is not set";
            refused(why, "set HOME, or remove `caches`")
        })?;
        let real = home.join(below).canonicalize().map_err(|source| {
            OutsideError::io(
                format!("{field} cannot be read"),
                "fill the cache first, or correct the path; it is below the home folder of who starts the gate",
                source,
            )
        })?;
        let real_home = home.canonicalize().ok();
        if is_secret_place(&real, real_home.as_deref()) {
            let why = "a place of secrets, which no canary gets";
            return Err(refused(
                &format!("leads to {}, {why}", real.display()),
                "name the folder that holds the models or the data alone",
            ));
        }
        let homes = [Some(home), real_home.as_ref()];
        let mut homes = homes.into_iter().flatten();
        if !real.is_dir()
            || homes.any(|home| home.starts_with(&real) || real == home.join(".cache"))
        {
            return Err(refused(
                "is not a folder of a cache",
                "name the folder that holds the models or the data",
            ));
        }
        search(&real, SEARCHED_ENTRIES).map_err(|(why, help)| refused(&why, help))?;
        if !paths.caches.iter().any(|opened| real.starts_with(opened)) {
            let real = real.display();
            let help = format!(
                "where it may be read by the code of a change, start the gate with `--cache {real}`"
            );
            let why = "is not open to canaries: a spec alone opens no folder";
            return Err(refused(why, &help));
        }
        let below = below.into();
        Ok(Self { below, real })
    }

    /// What stands for its content: name, size and time of every file and link in it.
    pub(super) fn digest(&self) -> [u8; 32] {
        let entries = WalkDir::new(&self.real).sort_by_file_name();
        let files = entries.into_iter().flatten().filter_map(|entry| {
            let about = entry.metadata().ok().filter(|about| !about.is_dir())?;
            let path = entry.path().strip_prefix(&self.real).ok()?.display();
            Some(DataObject {
                key: format!("{path} {}.{}", about.mtime(), about.mtime_nsec()),
                bytes: Bytes(about.len()),
            })
        });
        let below = self.below.to_string_lossy();
        listing_digest(&below, &Objects::listed(files.collect(), None))
    }

    /// Links the cache into a canary's own home folder.
    pub(super) fn link_into(&self, home: &Path) -> OutsideResult<()> {
        let link = home.join(&self.below);
        link.parent().map_or(Ok(()), make_folder)?;
        symlink(&self.real, &link).map_err(|source| {
            OutsideError::io(
                format!("could not link {}", link.display()),
                "name each cache once, and none in another",
                source,
            )
        })
    }
}

/// Looks for secrets in the upper levels of a cache, at so many entries at most; links are not followed. Fails with why the cache is
/// not free of them, and what helps.
fn search(cache: &Path, at_most: usize) -> Result<(), (String, &'static str)> {
    let levels = WalkDir::new(cache).min_depth(1).max_depth(SEARCHED_LEVELS);
    for (before, entry) in levels.into_iter().flatten().enumerate() {
        if is_secret_name(&entry.file_name().to_string_lossy()) {
            let secret = entry.path().strip_prefix(cache).unwrap_or(entry.path());
            let secret = secret.display();
            return Err((
                format!("holds `{secret}`, which by its name is a secret; no canary gets it"),
                "name the folder that holds the models or the data alone, such as `~/.cache/huggingface/hub`",
            ));
        }
        if before == at_most {
            return Err((
                format!(
                    "has more than {at_most} entries in its first three levels, too many to search for secrets"
                ),
                "name a folder within it, such as `~/.cache/huggingface/hub`",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_cache_that_is_not_searched_to_its_end_is_not_free_of_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path();
        for name in ["a", "b", "c"] {
            fs::write(cache.join(name), "").unwrap();
        }
        assert_eq!(search(cache, 3), Ok(()));
        assert!(search(cache, 2).unwrap_err().0.contains("more than 2"));
        fs::write(cache.join("token"), "hf_x").unwrap();
        assert!(search(cache, 4).unwrap_err().0.contains("holds `token`"));
    }
}
