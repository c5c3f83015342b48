//! What lies in a channel on this machine: the files below its path, none of them outside the checkout and the data roots.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::backend::project_paths::{Closed, PathHelp, ProjectPaths, Unresolved};
use crate::canary::{DataObject, Objects};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::{Channel, InputMode, Job, ON_THIS_MACHINE};
use crate::units::Bytes;

use super::channel::LocalChannel;

/// A smaller file is soon read, holes and all.
const LEAST_SPARSE: Bytes = Bytes(Bytes::GIB);

impl<'a> LocalChannel<'a> {
    /// The channel of a job. Its `uri` is read as [`ProjectPaths::resolve`] says.
    ///
    /// All links are resolved; what is private, or outside both the checkout and the data roots, is refused.
    pub(super) fn of(
        paths: &'a ProjectPaths,
        job: &Job,
        channel: &'a Channel,
    ) -> OutsideResult<Self> {
        let field = format!("jobs.{}.training.channels.{}", job.name, channel.name);
        if channel.mode == InputMode::Pipe {
            return Err(OutsideError::of(format!(
                "{field}.mode: the local backend does not serve Pipe mode yet"
            ))
            .help("use `mode: File` or `mode: FastFile`"));
        }
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
        let refused =
            |problem: Unresolved| problem.refused(&format!("{field}.uri"), &channel.uri, &help);
        Ok(Self {
            paths,
            channel,
            path: resolved.map_err(refused)?,
            field,
        })
    }

    /// Its objects, sorted by key; a path to a file is one object.
    pub(super) fn objects(&self) -> OutsideResult<Objects> {
        let mut objects = Vec::new();
        match self.path.is_file() {
            true => {
                let name = self.path.file_name().unwrap_or_default().to_string_lossy();
                let metadata = self.path.metadata();
                let metadata = metadata.map_err(|source| self.unreadable(&self.path, source))?;
                objects.push(self.object(name.into_owned(), &self.path, &metadata)?);
            }
            false => self.walk(&mut vec![self.path.clone()], "", &mut objects)?,
        }
        if objects.is_empty() {
            let (field, uri) = (&self.field, &self.channel.uri);
            return Err(
                OutsideError::of(format!("{field}: the folder `{uri}` holds no files"))
                    .help("put the partition files of the data there; a canary draws whole files"),
            );
        }
        Ok(objects.into_iter().collect())
    }

    /// Adds the files below the last folder of `trail`, the real folders on the way to it. Links are followed while they stay
    /// in the checkout and do not lead back into the trail.
    fn walk(
        &self,
        trail: &mut Vec<PathBuf>,
        prefix: &str,
        objects: &mut Vec<DataObject>,
    ) -> OutsideResult<()> {
        let Some(folder) = trail.last().cloned() else {
            return Ok(());
        };
        let failed = |source| self.unreadable(&folder, source);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else {
                let (field, folder) = (&self.field, folder.display());
                return Err(OutsideError::of(format!(
                    "{field}: a file name in {folder} is not UTF-8"
                ))
                .help("rename it; S3 keys are UTF-8"));
            };
            let path = entry.path();
            if self.paths.is_private(&path) {
                if name.starts_with(".env") {
                    tracing::warn!(
                        "{} is left out of the data: files of this name hold secrets",
                        path.display()
                    );
                }
                continue;
            }
            let failed = |source| self.unreadable(&path, source);
            // The folder is real, so only a link leads elsewhere.
            let real = match entry.file_type().map_err(failed)?.is_symlink() {
                true => self.open_target(&path, trail)?,
                false => path.clone(),
            };
            let metadata = real.metadata().map_err(failed)?;
            let key = format!("{prefix}{name}");
            if metadata.is_dir() {
                trail.push(real);
                self.walk(trail, &format!("{key}/"), objects)?;
                trail.pop();
            } else if metadata.is_file() {
                access(&real, AccessFlags::R_OK).map_err(|errno| failed(errno.into()))?;
                objects.push(self.object(key, &real, &metadata)?);
            }
        }
        Ok(())
    }

    /// A file as an object. Refuses one whose holes would take hours to read, for nothing is stored there. File systems that compress may
    /// store little of a file too.
    fn object(&self, key: String, path: &Path, metadata: &Metadata) -> OutsideResult<DataObject> {
        const STORED_UNIT: u64 = 512;
        let bytes = Bytes(metadata.len());
        let stored = Bytes(metadata.blocks() * STORED_UNIT);
        if bytes >= LEAST_SPARSE && stored.0 <= bytes.0 / 1000 {
            let (field, path) = (&self.field, path.display());
            return Err(OutsideError::of(format!(
                "{field}: {path} is {bytes}, of which only {stored} are stored: the rest is a hole"
            ))
            .help("cut the file to what it holds, such as by `truncate`"));
        }
        Ok(DataObject { key, bytes })
    }

    /// Where a link of the data leads: to something in the checkout that is not private and not on the way to it.
    fn open_target(&self, link: &Path, trail: &[PathBuf]) -> OutsideResult<PathBuf> {
        let named = format!("{}: {} is", self.field, link.display());
        let real = link.canonicalize().map_err(|source| {
            let help = "remove the link, or put the data there";
            OutsideError::io(format!("{named} a link that leads nowhere"), help, source)
        })?;
        if let Err(closed) = self.paths.check(&real) {
            let help = match closed {
                Closed::Outside => "replace it by the data itself",
                Closed::Private => "remove the link",
            };
            let what = format!("{named} {}", closed.link());
            return Err(OutsideError::of(what).help(help));
        }
        match trail.contains(&real) {
            true => Err(
                OutsideError::of(format!("{named} a link to a folder that contains it"))
                    .help("remove the link"),
            ),
            false => Ok(real),
        }
    }
}
