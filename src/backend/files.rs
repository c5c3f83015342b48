//! What lies in a channel on this machine: the files below its path, none of them outside the checkout and the data roots.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::canary::{DataObject, Objects};
use crate::outside_error::OutsideError;
use crate::spec::{Channel, InputMode, Job, ON_THIS_MACHINE};
use crate::units::Bytes;

use super::project_paths::{Closed, PathHelp, ProjectPaths};

/// A smaller file is soon read, holes and all.
const LEAST_SPARSE: Bytes = Bytes(Bytes::GIB);

/// Where a channel's `uri` lies: below the spec's folder, or below the checkout root with a leading `/`.
///
/// All links are resolved; what lies outside the checkout or is private is refused.
pub(super) fn channel_path(
    paths: &ProjectPaths,
    job: &Job,
    channel: &Channel,
) -> Result<PathBuf, OutsideError> {
    let field = format!("jobs.{}.training.channels.{}.uri", job.name, channel.name);
    let help = PathHelp {
        what: "the data ",
        missing: "put the data there, or correct the path; it is relative to the spec's folder, a leading `/` is the checkout root",
        outside: match channel.uri.starts_with(ON_THIS_MACHINE) {
            true => {
                "where it may be read by the code of a change, start the gate with `--data-root DIR`, DIR being a folder that it lies in"
            }
            false => {
                "keep the data inside the checkout; or, where it is yours, write `uri: file:///PATH` and start the gate with `--data-root DIR`"
            }
        },
        private: "name a folder of data, none in `.git`, `.canary-gate` or the history, and none named `.env`",
    };
    let resolved = paths.resolve(&channel.uri);
    resolved.map_err(|problem| problem.refused(&field, &channel.uri, &help))
}

/// Where the spec names a channel.
pub(super) fn field(job: &Job, channel: &Channel) -> String {
    format!("jobs.{}.training.channels.{}", job.name, channel.name)
}

/// The objects of one channel, sorted by key; a path to a file is one object.
pub(super) fn list_channel(
    paths: &ProjectPaths,
    job: &Job,
    channel: &Channel,
) -> Result<Objects, OutsideError> {
    let field = field(job, channel);
    if channel.mode == InputMode::Pipe {
        return Err(OutsideError::new(
            format!("{field}.mode: the local backend does not serve Pipe mode yet"),
            "use `mode: File` or `mode: FastFile`",
        ));
    }
    let path = channel_path(paths, job, channel)?;
    let mut objects = Vec::new();
    if path.is_file() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let metadata = path.metadata();
        let metadata = metadata.map_err(|source| unreadable(&field, &path, source))?;
        refuse_sparse(&path, &metadata, &field)?;
        objects.push(DataObject {
            key: name.into_owned(),
            bytes: Bytes(metadata.len()),
        });
    } else {
        let mut trail = vec![path.clone()];
        walk(paths, &mut trail, "", &field, &mut objects)?;
    }
    if objects.is_empty() {
        return Err(OutsideError::new(
            format!("{field}: the folder `{}` holds no files", channel.uri),
            "put the partition files of the data there; a canary draws whole files",
        ));
    }
    Ok(objects.into_iter().collect())
}

/// Adds the files below the last folder of `trail`, the real folders on the way to it. Links are followed while they stay
/// in the checkout and do not lead back into the trail.
fn walk(
    paths: &ProjectPaths,
    trail: &mut Vec<PathBuf>,
    prefix: &str,
    field: &str,
    objects: &mut Vec<DataObject>,
) -> Result<(), OutsideError> {
    let unreadable = |path: &Path, source| unreadable(field, path, source);
    let Some(folder) = trail.last().cloned() else {
        return Ok(());
    };
    let folder = folder.as_path();
    for entry in fs::read_dir(folder).map_err(|source| unreadable(folder, source))? {
        let entry = entry.map_err(|source| unreadable(folder, source))?;
        let Ok(name) = entry.file_name().into_string() else {
            return Err(OutsideError::new(
                format!("{field}: a file name in {} is not UTF-8", folder.display()),
                "rename it; S3 keys are UTF-8",
            ));
        };
        let key = format!("{prefix}{name}");
        let path = entry.path();
        if paths.is_private(&path) {
            if name.starts_with(".env") {
                tracing::warn!(
                    "{} is left out of the data: files of this name hold secrets",
                    path.display()
                );
            }
            continue;
        }
        let kind = entry
            .file_type()
            .map_err(|source| unreadable(&path, source))?;
        // The folder is real, so only a link leads elsewhere.
        let real = if kind.is_symlink() {
            open_target(paths, &path, trail, field)?
        } else {
            path.clone()
        };
        let metadata = real
            .metadata()
            .map_err(|source| unreadable(&path, source))?;
        if metadata.is_dir() {
            trail.push(real);
            walk(paths, trail, &format!("{key}/"), field, objects)?;
            trail.pop();
        } else if metadata.is_file() {
            access(&real, AccessFlags::R_OK).map_err(|errno| unreadable(&path, errno.into()))?;
            refuse_sparse(&real, &metadata, field)?;
            let bytes = Bytes(metadata.len());
            objects.push(DataObject { key, bytes });
        }
    }
    Ok(())
}

/// A file whose holes would take hours to read, for nothing is stored there. File systems that compress may store little of a file too.
fn refuse_sparse(path: &Path, metadata: &Metadata, field: &str) -> Result<(), OutsideError> {
    const STORED_UNIT: u64 = 512;
    let (size, stored) = (metadata.len(), metadata.blocks() * STORED_UNIT);
    if size < LEAST_SPARSE.0 || stored > size / 1000 {
        return Ok(());
    }
    Err(OutsideError::new(
        format!(
            "{field}: {} is {}, of which only {} are stored: the rest is a hole",
            path.display(),
            Bytes(size),
            Bytes(stored)
        ),
        "cut the file to what it holds, such as by `truncate`",
    ))
}

/// Where a link of the data leads: to something in the checkout that is not private and not on the way to it.
fn open_target(
    paths: &ProjectPaths,
    link: &Path,
    trail: &[PathBuf],
    field: &str,
) -> Result<PathBuf, OutsideError> {
    let real = link.canonicalize().map_err(|source| {
        OutsideError::io(
            format!("{field}: {} is a link that leads nowhere", link.display()),
            "remove the link, or put the data there",
            source,
        )
    })?;
    if let Err(closed) = paths.check(&real) {
        return Err(OutsideError::new(
            format!("{field}: {} is {}", link.display(), closed.link()),
            match closed {
                Closed::Outside => "replace it by the data itself",
                Closed::Private => "remove the link",
            },
        ));
    }
    if trail.contains(&real) {
        return Err(OutsideError::new(
            format!(
                "{field}: {} is a link to a folder that contains it",
                link.display()
            ),
            "remove the link",
        ));
    }
    Ok(real)
}

fn unreadable(field: &str, path: &Path, source: std::io::Error) -> OutsideError {
    OutsideError::io(
        format!("{field}: {} cannot be read", path.display()),
        "make it readable for the user that runs the gate",
        source,
    )
}
