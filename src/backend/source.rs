//! Which files are a job's source: those that git knows below `source_dir`, else below the spec's folder; never `.git`,
//! `.env*`, the gate's own folders, or the data of a channel.

use std::fs;
use std::path::{Path, PathBuf};

use crate::backend::BackendError;
use crate::spec::Job;

use super::project_paths::{ProjectPaths, Unresolved};

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
pub(super) fn find(paths: &ProjectPaths, job: &Job) -> Result<Source, BackendError> {
    let field = format!("jobs.{}.training.source_dir", job.name);
    let folder = match &job.training.source_dir {
        None => paths.spec_folder.clone(),
        Some(written) => paths.resolve(written).map_err(|problem| match problem {
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
            Unresolved::Private(path) => BackendError::new(
                format!(
                    "{field}: `{written}` leads to {}, which is private: git's, the gate's own, or a file of secrets",
                    path.display()
                ),
                "name the folder that holds the script",
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
        .filter_map(|channel| paths.resolve(&channel.uri).ok())
        .collect();
    let mut files = Vec::new();
    let mut pending = below(paths, &folder)?;
    // Links may lead round in a circle.
    let mut behind_links: Vec<PathBuf> = Vec::new();
    let mut next = 0;
    while let Some(file) = pending.get(next).cloned() {
        next += 1;
        let path = folder.join(&file);
        // A channel that is the source folder itself is no reason to copy nothing.
        let is_data = data
            .iter()
            .any(|data| *data != folder && path.starts_with(data));
        if is_data || paths.is_private(&path) {
            continue;
        }
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if path.is_symlink() => {
                tracing::warn!(
                    "{} is a link that leads nowhere ({error}); it is left out of the source",
                    path.display()
                );
                continue;
            }
            Err(source) => {
                return Err(BackendError::io(
                    format!("{} cannot be read", path.display()),
                    "make it readable for the user that runs the gate",
                    source,
                ));
            }
        };
        // A link is as private as what it leads to.
        if let Err(closed) = paths.check(&real) {
            tracing::warn!(
                "{} is {}; it is left out of the source",
                path.display(),
                closed.link()
            );
            continue;
        }
        if real.is_file() {
            files.push(file);
        } else if real.is_dir() && path.is_symlink() && !behind_links.contains(&real) {
            // git knows a link to a folder, or a submodule, as one path.
            let names = below(paths, &real)?;
            pending.extend(names.into_iter().map(|name| file.join(name)));
            behind_links.push(real);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(BackendError::new(
            format!(
                "{field}: {} holds no source files that git knows",
                folder.display()
            ),
            "track its files with git, or name another folder; files that git ignores and data of channels are left out",
        ));
    }
    Ok(Source { folder, files })
}

/// The files below `folder` that git knows, relative to it; without git all of them.
fn below(paths: &ProjectPaths, folder: &Path) -> Result<Vec<PathBuf>, BackendError> {
    let Some(files) = &paths.known_files else {
        return walk(paths, folder);
    };
    let inside = files.iter().filter_map(|file| {
        let path = paths.checkout.join(file);
        Some(path.strip_prefix(folder).ok()?.to_owned())
    });
    Ok(inside.collect())
}

/// Without git: every file below `folder`, relative to it, sorted.
fn walk(paths: &ProjectPaths, folder: &Path) -> Result<Vec<PathBuf>, BackendError> {
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
            if paths.is_private(&entry.path()) {
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
