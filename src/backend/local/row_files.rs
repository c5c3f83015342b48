//! Rows of files on this machine: read by ranges, written into a sandbox.

use std::fs::{File, Metadata};
use std::io::{Error, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use futures_util::FutureExt;

use super::workspace::{cannot_write, make_folder};
use crate::backend::project_paths::ProjectPaths;
use crate::backend::{BackendError, rows};
use crate::canary::Objects;
use crate::rows::{
    Copied, CopyError, RangeSource, RowBlocks, RowSink, RowsProblem, copy_rows, inspect,
};
use crate::units::Bytes;

/// A file of a channel that is open for reading.
struct DiskFile {
    path: PathBuf,
    file: File,
}

impl DiskFile {
    /// Opens a file that lies where data may lie.
    fn open(paths: &ProjectPaths, path: &Path) -> Result<Self, Error> {
        let path = path.canonicalize()?;
        if paths.check(&path).is_err() || !path.metadata()?.is_file() {
            return Err(Error::other("it is not a file of the data any more"));
        }
        let file = File::open(&path)?;
        Ok(Self { path, file })
    }

    /// Its size, and what distinguishes this content of the file from another. Not the time of its last change: a hard link, as other
    /// canaries have it, is a change.
    fn listed(&self) -> Result<(u64, String), Error> {
        let read = |metadata: Metadata| {
            let version = format!(
                "{}-{}-{}-{}.{}",
                metadata.dev(),
                metadata.ino(),
                metadata.size(),
                metadata.mtime(),
                metadata.mtime_nsec()
            );
            (metadata.size(), version)
        };
        self.file.metadata().map(read)
    }
}

impl RangeSource for DiskFile {
    type Error = Error;

    async fn read(&mut self, range: Range<u64>) -> Result<Vec<u8>, Error> {
        let length = usize::try_from(range.end - range.start).map_err(Error::other)?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }
}

/// A file of a sandbox.
struct SandboxFile(File);

impl RowSink for SandboxFile {
    type Error = Error;

    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        self.0.write_all(&bytes)
    }
}

fn place(folder: &Path, key: &str) -> PathBuf {
    match folder.is_dir() {
        true => folder.join(key),
        false => folder.to_owned(),
    }
}

fn unreadable(path: &Path, source: Error) -> BackendError {
    BackendError::io(
        format!("{} cannot be read", path.display()),
        "keep the data unchanged and readable while the gate reads them",
        source,
    )
}

/// Looks at the files of a channel: a file, or a folder with `objects` in it.
pub(super) fn blocks(
    paths: &ProjectPaths,
    field: &str,
    channel: &Path,
    objects: &Objects,
) -> Result<RowBlocks, BackendError> {
    rows::check_names(field, objects)?;
    let look = |key: String| {
        let path = place(channel, &key);
        let mut file = DiskFile::open(paths, &path).map_err(|error| unreadable(&path, error))?;
        let (size, version) = file.listed().map_err(|error| unreadable(&path, error))?;
        inspect(&key, Bytes(size), version, &mut file)
            .now_or_never()
            .expect("a file on a disk is not waited for")
            .map_err(|error| rows::explained(field, &key, error, |error| unreadable(&path, error)))
    };
    let of_data = objects
        .iter()
        .filter(|object| !rows::is_beside_data(&object.key));
    let files = of_data.map(|object| look(object.key));
    rows::blocks_of(field, files.collect::<Result<_, _>>()?)
}

/// The names of the columns of a channel's first file; none where that is no table.
pub(super) fn columns(paths: &ProjectPaths, channel: &Path, objects: &Objects) -> Vec<String> {
    let mut of_data = objects
        .iter()
        .filter(|object| !rows::is_beside_data(&object.key));
    let first = of_data.next().and_then(|object| {
        let mut file = DiskFile::open(paths, &place(channel, &object.key)).ok()?;
        let looked = inspect(&object.key, object.bytes, String::new(), &mut file);
        looked.now_or_never()?.ok()
    });
    first.map_or(Vec::new(), |file| file.columns)
}

/// Writes the drawn rows of every file that has some into a folder, under the names of the files.
pub(super) fn copy(
    paths: &ProjectPaths,
    field: &str,
    channel: &Path,
    drawn: &RowBlocks,
    to: &Path,
) -> Result<Copied, BackendError> {
    make_folder(to)?;
    let mut all = Copied::default();
    for (index, blocks) in drawn.by_file() {
        let known = &drawn.files()[index];
        let path = place(channel, &known.key);
        let target = to.join(&known.key);
        if let Some(parent) = target.parent() {
            make_folder(parent)?;
        }
        let mut file = DiskFile::open(paths, &path).map_err(|error| unreadable(&path, error))?;
        let is_known = |file: &DiskFile| {
            let version = file.listed().map_err(CopyError::Io)?.1;
            match version == known.version {
                true => Ok(()),
                false => Err(CopyError::Rows(RowsProblem::Changed)),
            }
        };
        let explained =
            |error| rows::explained(field, &known.key, error, |error| unreadable(&path, error));
        is_known(&file).map_err(explained)?;
        let created = File::create_new(&target).map_err(|error| cannot_write(&target, error))?;
        let mut sink = SandboxFile(created);
        let copied = copy_rows(drawn, index, &blocks, &mut file, &mut sink)
            .now_or_never()
            .expect("a file on a disk is not waited for");
        // What was changed meanwhile may have looked wrong for that.
        is_known(&file).map_err(explained)?;
        let copied = copied.map_err(explained)?;
        tracing::debug!("{}: {} of rows copied", file.path.display(), copied.bytes);
        all.bytes = all.bytes + copied.bytes;
        all.left += copied.left;
    }
    rows::check_drawn(field, all.bytes.0)?;
    Ok(all)
}
