//! Rows of files on this machine: read by ranges, written into a sandbox.

use std::fs::{File, Metadata};
use std::io::Error;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use futures_util::FutureExt;

use super::object_path;
use crate::backend::files;
use crate::backend::project_paths::ProjectPaths;
use crate::backend::rows::{self, OpenFile};
use crate::canary::Objects;
use crate::outside_error::OutsideError;
use crate::rows::{Copied, RangeSource, RowBlocks, RowFile, RowsProblem, inspect};
use crate::spec::{Channel, Job};
use crate::units::Bytes;

/// No read of a disk is waited for.
const READY: &str = "a file on a disk is not waited for";

/// A channel on this machine: a file, or a folder.
pub(super) struct LocalChannel<'a> {
    paths: &'a ProjectPaths,
    field: String,
    path: PathBuf,
}

/// A file of a channel that is open for reading.
struct DiskFile<'a> {
    field: &'a str,
    key: String,
    path: PathBuf,
    file: File,
    /// As it was when it was opened, or listed.
    version: String,
}

/// What distinguishes this content of a file from another. Not the time of its last change: a hard link, as other canaries have it,
/// is a change.
fn version(file: &Metadata) -> String {
    format!(
        "{}-{}-{}-{}.{}",
        file.dev(),
        file.ino(),
        file.size(),
        file.mtime(),
        file.mtime_nsec()
    )
}

fn unreadable(path: &Path, source: Error) -> OutsideError {
    OutsideError::io(
        format!("{} cannot be read", path.display()),
        "keep the data unchanged and readable while the gate reads them",
        source,
    )
}

impl RangeSource for DiskFile<'_> {
    type Error = OutsideError;

    /// Fails where the file is no longer what it was.
    async fn read(&self, range: Range<u64>) -> Result<Vec<u8>, OutsideError> {
        let failed = |error| unreadable(&self.path, error);
        let length = usize::try_from(range.end - range.start).map_err(Error::other);
        let mut bytes = vec![0; length.map_err(failed)?];
        let read = self.file.read_exact_at(&mut bytes, range.start);
        if version(&self.file.metadata().map_err(failed)?) != self.version {
            return Err(rows::refused(self.field, &self.key, &RowsProblem::Changed));
        }
        read.map(|()| bytes).map_err(failed)
    }
}

impl<'a> LocalChannel<'a> {
    pub(super) fn of(
        paths: &'a ProjectPaths,
        job: &Job,
        channel: &Channel,
    ) -> Result<Self, OutsideError> {
        Ok(Self {
            paths,
            field: files::field(job, channel),
            path: files::channel_path(paths, job, channel)?,
        })
    }

    /// Opens a file that lies where data may lie.
    fn open(&self, key: &str) -> Result<OpenFile<DiskFile<'_>>, OutsideError> {
        let path = object_path(&self.path, key);
        let opened = || {
            let path = path.canonicalize()?;
            if self.paths.check(&path).is_err() || !path.metadata()?.is_file() {
                return Err(Error::other("it is not a file of the data any more"));
            }
            let file = File::open(&path)?;
            let metadata = file.metadata()?;
            Ok((file, metadata))
        };
        let (file, metadata) = opened().map_err(|error| unreadable(&path, error))?;
        let version = version(&metadata);
        Ok(OpenFile {
            bytes: Bytes(metadata.size()),
            version: version.clone(),
            source: DiskFile {
                field: &self.field,
                key: key.to_owned(),
                path,
                file,
                version,
            },
        })
    }

    /// Looks at the files of a channel.
    pub(super) fn blocks(&self, objects: &Objects) -> Result<RowBlocks, OutsideError> {
        rows::blocks(&self.field, objects, |_, object| self.open(&object.key))
            .now_or_never()
            .expect(READY)
    }

    /// The names of the columns of a channel's first file; none where that is no table.
    pub(super) fn columns(&self, objects: &Objects) -> Vec<String> {
        let mut keys = objects.iter().map(|object| &object.key);
        let first = keys.find(|key| !rows::is_beside_data(key)).and_then(|key| {
            let file = self.open(key).ok()?;
            let looked = inspect(key, file.bytes, file.version, &file.source);
            looked.now_or_never()?.ok()
        });
        first.map_or(Vec::new(), |file| file.columns)
    }

    /// Writes the drawn rows of every file that has some into a folder, under the names of the files.
    pub(super) fn copy(&self, drawn: &RowBlocks, to: &Path) -> Result<Copied, OutsideError> {
        let open = |known: &RowFile| {
            let mut source = self.open(&known.key)?.source;
            source.version.clone_from(&known.version);
            Ok(source)
        };
        rows::copy(&self.field, drawn, open, |_, file| to.join(&file.key))
            .now_or_never()
            .expect(READY)
    }
}
