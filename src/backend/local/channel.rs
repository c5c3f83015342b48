//! A channel on this machine, a file or a folder: what lies in it, none of it outside the checkout and the data roots, the key of
//! that, and what a sandbox gets of it.

use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Read};
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use digest_io::IoWrapper;
use futures_util::FutureExt;
use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{UtimensatFlags::FollowSymlink, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::{AccessFlags, access};
use sha2::{Digest, Sha256};

use super::workspace::make_folder;
use crate::backend::project_paths::{Closed, PathHelp, ProjectPaths, Unresolved};
use crate::backend::rows::{self, OpenFile, cannot_write};
use crate::canary::{ChannelData, DataObject, Objects};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::rows::{Copied, RangeSource, RowBlocks, RowFile, RowsProblem};
use crate::spec::{Channel, ChannelSample, InputMode, Job, ON_THIS_MACHINE};
use crate::units::Bytes;

/// A smaller file is soon read, holes and all.
const LEAST_SPARSE: Bytes = Bytes(Bytes::GIB);
/// How a file begins that stands for one in Git LFS, and how long it is:
/// <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const POINTER_SIZES: RangeInclusive<Bytes> = Bytes(100)..=Bytes(1024);
/// No read of a disk is waited for.
const READY: &str = "a file on a disk is not waited for";
/// Objects up to this size are copied, so that a script may write to them; larger ones are linked.
const COPIED_UP_TO: u64 = 1 << 20;
/// Read at a time.
const CHUNK: usize = 1 << 18;

/// A channel whose objects are files.
pub(super) struct LocalChannel<'a> {
    paths: &'a ProjectPaths,
    pub(super) channel: &'a Channel,
    /// Where the spec names it.
    pub(super) field: String,
    /// All links resolved.
    pub(super) path: PathBuf,
}

/// A file of a channel that is open for reading.
pub(super) struct DiskFile<'a> {
    field: &'a str,
    key: String,
    path: PathBuf,
    pub(super) file: File,
    /// As it was when it was opened, or listed.
    version: String,
}

/// A large file of the data that a sandbox holds a link to: training code may not write to it. A link cannot keep it from doing so,
/// but a change does not go unnoticed.
#[derive(Debug)]
pub(super) struct LinkedFile {
    pub(super) path: PathBuf,
    /// As it was when it was linked. Some file systems number a file anew, so its number says nothing after hours.
    state: String,
}

/// Size, mode and time of the last change of content. Not of the last change of all: a hard link, as other canaries have it, is one.
fn state(file: &Metadata) -> String {
    let (size, mode) = (file.size(), file.mode());
    let (seconds, nanoseconds) = (file.mtime(), file.mtime_nsec());
    format!("{size}-{mode:o}-{seconds}.{nanoseconds}")
}

/// What distinguishes this content of a file from another, and its mode.
fn version(file: &Metadata) -> String {
    format!("{}-{}-{}", file.dev(), file.ino(), state(file))
}

fn unreadable(field: &str, path: &Path, source: io::Error) -> OutsideError {
    let help = match source.kind() {
        io::ErrorKind::PermissionDenied => "make it readable for the user that runs the gate",
        _ => "keep the data unchanged and readable while the gate reads them",
    };
    let what = format!("{field}: {} cannot be read", path.display());
    OutsideError::io(what, help, source)
}

impl RangeSource for DiskFile<'_> {
    type Error = OutsideError;

    /// Fails where the file is no longer what it was.
    async fn read(&self, range: Range<u64>) -> OutsideResult<Vec<u8>> {
        let failed = |error| unreadable(self.field, &self.path, error);
        let length = usize::try_from(range.end - range.start).map_err(io::Error::other);
        let mut bytes = vec![0; length.map_err(failed)?];
        let read = self.file.read_exact_at(&mut bytes, range.start);
        if version(&self.file.metadata().map_err(failed)?) != self.version {
            return Err(rows::refused(self.field, &self.key, &RowsProblem::Changed));
        }
        read.map(|()| bytes).map_err(failed)
    }
}

impl LinkedFile {
    /// Fails if the file is not as it was.
    pub(super) fn check(&self) -> OutsideResult<()> {
        match self.path.metadata() {
            Ok(file) if state(&file) == self.state => Ok(()),
            _ => Err(OutsideError::of(format!(
                    "the data file {} was changed while a canary used it",
                    self.path.display()
                )).help("let the training code write to SM_MODEL_DIR or SM_OUTPUT_DATA_DIR, never to its channels; then restore the file")),
        }
    }
}

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

    fn unreadable(&self, path: &Path, source: io::Error) -> OutsideError {
        unreadable(&self.field, path, source)
    }

    /// Its objects, sorted by key; a path to a file is one object.
    fn objects(&self) -> OutsideResult<Objects> {
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

    /// A file as an object. Refuses one whose holes would take hours to read, for nothing is stored there (file systems that compress may
    /// store little of a file too), and what Git LFS leaves in the place of a file.
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
        if POINTER_SIZES.contains(&bytes) {
            let mut beginning = Vec::new();
            let read = File::open(path).and_then(|file| {
                file.take(LFS_POINTER.len() as u64)
                    .read_to_end(&mut beginning)
            });
            read.map_err(|source| self.unreadable(path, source))?;
            if beginning == LFS_POINTER {
                let (field, path) = (&self.field, path.display());
                return Err(OutsideError::of(format!(
                    "{field}: {path} is a pointer of Git LFS, not the file itself"
                ))
                .help("get the files: `git lfs pull`; with actions/checkout `lfs: true`"));
            }
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

    /// What lies in it, and its blocks where rows are drawn.
    pub(super) fn list(&self) -> OutsideResult<ChannelData> {
        let Self { channel, .. } = self;
        let objects = self.objects()?;
        let (rows, tables) = match channel.sample {
            ChannelSample::Whole => (None, Vec::new()),
            ChannelSample::Objects => (None, self.tables(&objects)),
            ChannelSample::Rows => (Some(self.blocks(&objects)?), Vec::new()),
        };
        Ok(ChannelData {
            rows,
            looked_at: tables,
            ..ChannelData::new(&channel.name, channel.sample.is_drawn(), objects)
        })
    }

    /// Where an object really lies, and what it is; fails unless it is a file where data may lie.
    fn real(&self, key: &str) -> OutsideResult<(PathBuf, Metadata)> {
        let path = object_path(&self.path, key);
        let real = || {
            let real = path.canonicalize()?;
            let metadata = real.metadata()?;
            match self.paths.check(&real).is_ok() && metadata.is_file() {
                true => Ok((real, metadata)),
                false => Err(io::Error::other("it is not a file of the data any more")),
            }
        };
        real().map_err(|error| self.unreadable(&path, error))
    }

    pub(super) fn open(&self, key: &str) -> OutsideResult<OpenFile<DiskFile<'_>>> {
        let (path, _) = self.real(key)?;
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(|error| self.unreadable(&path, error))?;
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

    /// Looks at its files.
    fn blocks(&self, objects: &Objects) -> OutsideResult<RowBlocks> {
        rows::blocks(&self.field, objects, |_, object| self.open(&object.key))
            .now_or_never()
            .expect(READY)
    }

    /// Key, size and SHA-256 of the content of every object, in one digest. A file system does not report whether a content changed, and
    /// a modification time says nothing after a checkout, so every file is read. Once this future is dropped, no further file is. What
    /// is written to meanwhile counts as it was read.
    ///
    /// # Errors
    ///
    /// Where a file that was listed cannot be read.
    pub(super) async fn digest(&self, objects: &Objects) -> OutsideResult<[u8; 32]> {
        let mut whole = Sha256::new();
        for object in objects.iter() {
            let (field, channel) = (self.field.clone(), self.path.clone());
            let key = object.key.clone();
            // In another thread: where a file system hangs, signals are noticed all the same.
            let read = move || digest_of(&field, &object_path(&channel, &key));
            let reading = tokio::task::spawn_blocking(read).await;
            let (bytes, sha256) = reading.expect("reading does not panic")?;
            whole.update((object.key.len() as u64).to_be_bytes());
            whole.update(&object.key);
            whole.update(bytes.to_be_bytes());
            whole.update(sha256);
        }
        Ok(whole.finalize().into())
    }

    /// Writes the drawn rows of every file that has some into a folder, under the names of the files.
    pub(super) fn copy(&self, drawn: &RowBlocks, to: &Path) -> OutsideResult<Copied> {
        let open = |known: &RowFile| {
            let mut source = self.open(&known.key)?.source;
            source.version.clone_from(&known.version);
            Ok(source)
        };
        rows::copy(&self.field, drawn, open, |_, file| to.join(&file.key))
            .now_or_never()
            .expect(READY)
    }

    /// Puts objects into a folder: small ones copied, large ones linked. Returns those that are linked.
    pub(super) fn place(&self, objects: &Objects, to: &Path) -> OutsideResult<Vec<LinkedFile>> {
        make_folder(to)?;
        let mut linked = Vec::new();
        for object in objects.iter() {
            let target = to.join(&object.key);
            target.parent().map_or(Ok(()), make_folder)?;
            let (path, metadata) = self.real(&object.key)?;
            if metadata.len() != object.bytes.0 {
                let what = format!(
                    "the data file {} has changed since it was listed",
                    path.display()
                );
                let help = "keep the data unchanged while canaries run, and run the gate again";
                return Err(OutsideError::of(what).help(help));
            }
            if object.bytes.0 <= COPIED_UP_TO {
                fs::copy(&path, &target).map_err(|error| cannot_write(&target, error))?;
                // Not every file system takes them.
                let _ = keep_times(&metadata, &target);
                continue;
            }
            if fs::hard_link(&path, &target).is_err() {
                // Another file system, or a file of somebody else.
                symlink(&path, &target).map_err(|error| cannot_write(&target, error))?;
            }
            let state = state(&metadata);
            linked.push(LinkedFile { path, state });
        }
        Ok(linked)
    }
}

/// Scripts tell by these whether a cache is older than its data. The copy is not opened: its mode may let nobody read it.
fn keep_times(of: &Metadata, copy: &Path) -> nix::Result<()> {
    let accessed = TimeSpec::new(of.atime(), of.atime_nsec());
    let modified = TimeSpec::new(of.mtime(), of.mtime_nsec());
    utimensat(AT_FDCWD, copy, &accessed, &modified, FollowSymlink)
}

/// Where an object of a channel lies, which is a folder or the one file.
fn object_path(channel: &Path, key: &str) -> PathBuf {
    match channel.is_file() {
        true => channel.to_owned(),
        false => channel.join(key),
    }
}

/// Reads a file to its end, as far as it is there: how long it is, and what it holds.
fn digest_of(field: &str, path: &Path) -> OutsideResult<(u64, [u8; 32])> {
    let read = || {
        // A pipe in its place would never be opened.
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file any more"));
        }
        let mut file = BufReader::with_capacity(CHUNK, File::open(path)?);
        let mut hash = IoWrapper(Sha256::new());
        let bytes = io::copy(&mut file, &mut hash)?;
        Ok((bytes, hash.0.finalize().into()))
    };
    read().map_err(|source| unreadable(field, path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_since_it_was_listed_counts_as_it_is_read_or_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let read = || digest_of("train", &path);
        fs::write(&path, "longer than it was").unwrap();
        assert_eq!(read().unwrap().0, 18);
        fs::remove_file(&path).unwrap();
        let wrong = format!("train: {} cannot be read", path.display());
        assert_eq!(read().unwrap_err().what, wrong);
        fs::create_dir(&path).unwrap();
        let error = read().unwrap_err();
        let help = "keep the data unchanged and readable while the gate reads them";
        assert_eq!((&*error.what, &*error.help), (&*wrong, help));
    }
}
