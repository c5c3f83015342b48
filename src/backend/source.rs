//! Which files are a job's source: those that git knows below `source_dir`, else below the spec's folder; never `.git`,
//! `.env*`, the gate's own folder, or the data of a channel.

use std::fs;
use std::path::{Path, PathBuf};

use crate::backend::BackendError;
use crate::spec::Job;

use super::place::{Place, Unresolved};

/// A job's source: a folder and its files, relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) folder: PathBuf,
    pub(super) files: Vec<PathBuf>,
}

/// Finds the source of a job.
///
/// Channel data is left out: a script that would read it past its channel would train on everything and make the
/// canary a full run.
pub(super) fn find(place: &Place, job: &Job) -> Result<Source, BackendError> {
    let field = format!("jobs.{}.training.source_dir", job.name);
    let folder = match &job.training.source_dir {
        None => place.spec_folder.clone(),
        Some(written) => place.resolve(written).map_err(|problem| match problem {
            Unresolved::Missing(path, source) => BackendError::io(
                format!("{field}: `{written}` cannot be read: {}", path.display()),
                "correct the path; it is relative to the spec's folder",
                source,
            ),
            Unresolved::Outside(path) => BackendError::new(
                format!(
                    "{field}: `{written}` leads outside the checkout, to {}",
                    path.display()
                ),
                "keep the source inside the checkout",
            ),
        })?,
    };
    if !folder.is_dir() {
        return Err(BackendError::new(
            format!("{field}: {} is not a folder", folder.display()),
            "name the folder that holds the script",
        ));
    }
    let data: Vec<PathBuf> = job
        .training
        .channels
        .iter()
        .filter_map(|channel| place.resolve(&channel.uri).ok())
        .collect();
    let known = match &place.known_files {
        Some(files) => files
            .iter()
            .filter_map(|file| {
                place
                    .checkout
                    .join(file)
                    .strip_prefix(&folder)
                    .ok()
                    .map(Path::to_owned)
            })
            .collect(),
        None => walk(&folder)?,
    };
    let mut files = Vec::new();
    for file in known {
        let path = folder.join(&file);
        // A channel that is the source folder itself is no reason to copy nothing.
        let is_data = data
            .iter()
            .any(|data| *data != folder && path.starts_with(data));
        if is_data || is_private(&file) {
            continue;
        }
        match path.canonicalize() {
            Ok(real) if !real.starts_with(&place.checkout) => tracing::warn!(
                "{} is a link that leaves the checkout; it is left out of the source",
                path.display()
            ),
            Ok(real) if real.is_dir() => {
                // git knows a link to a folder, or a submodule, as one path.
                if path.is_symlink() {
                    files.extend(walk(&real)?.into_iter().map(|below| file.join(below)));
                }
            }
            Ok(real) => {
                if real.is_file() {
                    files.push(file);
                }
            }
            Err(error) if path.is_symlink() => tracing::warn!(
                "{} is a link that leads nowhere ({error}); it is left out of the source",
                path.display()
            ),
            Err(source) => {
                return Err(BackendError::io(
                    format!("{} cannot be read", path.display()),
                    "make it readable for the user that runs the gate",
                    source,
                ));
            }
        }
    }
    if files.is_empty() {
        return Err(BackendError::new(
            format!(
                "{field}: {} holds no source files that git knows",
                folder.display()
            ),
            "is the folder ignored by git, or the data of a channel? Track its files, or name another folder",
        ));
    }
    Ok(Source { folder, files })
}

/// What is never handed to training code.
fn is_private(file: &Path) -> bool {
    file.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        part == ".git" || part == ".canary-gate" || part.starts_with(".env")
    })
}

/// Without git: every file below `folder`, relative to it, sorted.
fn walk(folder: &Path) -> Result<Vec<PathBuf>, BackendError> {
    let mut files = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(below) = pending.pop() {
        let path = folder.join(&below);
        let entries = fs::read_dir(&path).map_err(|source| {
            BackendError::io(
                format!("{} cannot be read", path.display()),
                "make it readable for the user that runs the gate",
                source,
            )
        })?;
        for entry in entries.flatten() {
            let below = below.join(entry.file_name());
            if is_private(&below) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(below),
                _ => files.push(below),
            }
        }
    }
    files.sort();
    Ok(files)
}
