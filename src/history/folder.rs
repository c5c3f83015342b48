//! A history in a folder.
//!
//! A record is written to a temporary file, made durable, and then hard-linked to its name, which never replaces a file: a
//! reader sees it whole or not at all, wherever its writer was interrupted. Nothing is read or written through symbolic
//! links: every folder is opened from its parent.

mod reader;

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, fsync, linkat, unlinkat};

use reader::RecordReader;

use super::entry::Entry;
use super::scope::{Scope, folder_of, job_of};
use super::{Damaged, HistoryError, Listing, ListingRequest, Placement};

const FOLDER: OFlag = OFlag::O_RDONLY
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);
const NEW: OFlag = OFlag::O_WRONLY
    .union(OFlag::O_CREAT)
    .union(OFlag::O_EXCL)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);
const NEW_OR_OLD: OFlag = OFlag::O_WRONLY
    .union(OFlag::O_CREAT)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_NONBLOCK)
    .union(OFlag::O_CLOEXEC);
/// Records reveal what a team's training costs.
const OF_FOLDERS: Mode = Mode::S_IRWXU;
/// The same; the type of a mode's bits differs between systems.
const BITS_OF_FOLDERS: u32 = 0o700;
const OF_FILES: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
/// An older temporary file has no writer any more.
const LONGEST_WRITE: Duration = Duration::from_secs(24 * 60 * 60);
const TEMPORARY: &str = ".tmp";

#[derive(Debug)]
pub(super) struct RecordFolder {
    root: PathBuf,
}

impl RecordFolder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn place(&self, path: &str) -> String {
        self.root.join(path).display().to_string()
    }

    /// All wanted records below folders of the history, unordered; `None` where the history is not there.
    pub(super) fn list(
        &self,
        folders: &[String],
        wanted: ListingRequest<'_>,
    ) -> Result<Option<Listing>, HistoryError> {
        let Some(root) = self.open_root()? else {
            return Ok(None);
        };
        let mut listing = Listing::default();
        for path in folders {
            let mut above = None;
            for (name, path) in steps(path) {
                above = self.enter(above.as_ref().unwrap_or(&root), name, path, &mut listing)?;
                if above.is_none() {
                    break;
                }
            }
            if let Some(folder) = above {
                self.list_below(folder, path, wanted, &mut listing)?;
            }
        }
        Ok(Some(listing))
    }

    fn list_below(
        &self,
        mut folder: Dir,
        path: &str,
        wanted: ListingRequest<'_>,
        listing: &mut Listing,
    ) -> Result<(), HistoryError> {
        for name in self.names(&mut folder, path)? {
            let path = format!("{path}/{name}");
            // Other folders are not part of the history.
            let is_folder = match Scope::split(&format!("{path}/")) {
                None => false,
                Some((_, "")) => true,
                Some((_, rest)) => job_of(rest.trim_end_matches('/')).is_some(),
            };
            if !is_folder {
                listing.add(&path, wanted, |path| self.place(path));
            } else if let Some(below) = self.enter(&folder, &name, &path, listing)? {
                self.list_below(below, &path, wanted, listing)?;
            }
        }
        Ok(())
    }

    /// A subfolder; `None` if it is missing or not a folder. A link is reported as damaged.
    fn enter(
        &self,
        above: &Dir,
        name: &str,
        path: &str,
        listing: &mut Listing,
    ) -> Result<Option<Dir>, HistoryError> {
        match Dir::openat(above, name, FOLDER, Mode::empty()) {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ELOOP | Errno::ENOTDIR) => {
                if is_link(above, name) {
                    listing.damaged.push(Damaged {
                        place: self.place(path),
                        why: reader::LINK.to_owned(),
                    });
                }
                Ok(None)
            }
            Err(error) => Err(self.cannot("read", path, error)),
        }
    }

    /// All names in a folder. A name that is not UTF-8 is converted with replacement characters; it is not a record's.
    fn names(&self, folder: &mut Dir, path: &str) -> Result<Vec<String>, HistoryError> {
        folder
            .iter()
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .filter(|name| !matches!(name.as_deref(), Ok("." | "..")))
            .collect::<nix::Result<_>>()
            .map_err(|error| self.cannot("read", path, error))
    }

    fn open_root(&self) -> Result<Option<Dir>, HistoryError> {
        match Dir::open(&self.root, FOLDER, Mode::empty()) {
            Ok(root) => Ok(Some(root)),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ELOOP | Errno::ENOTDIR) => Err(self.no_folder(&self.root)),
            Err(error) => Err(self.cannot("read", "", error)),
        }
    }

    pub(super) fn reader(&self) -> RecordReader<'_> {
        RecordReader::of(&self.root)
    }

    /// Writes a record under its name, whole or not at all, and never over another.
    pub(super) fn keep(&self, entry: &Entry, content: &[u8]) -> Result<Placement, HistoryError> {
        let mut folder = self.make_folder_of(entry)?;
        let name = entry.file_name();
        let temporary = temporary_name(entry);
        let cannot = |error: io::Error| self.cannot_write(&entry.path(), error);
        let file = match openat(&folder, temporary.as_str(), NEW, OF_FILES) {
            Ok(file) => file,
            Err(Errno::EEXIST) => return Ok(Placement::NameTaken),
            Err(error) => return Err(cannot(error.into())),
        };
        let mut file = File::from(file);
        let written = file
            .write_all(content)
            .and_then(|()| file.sync_all())
            .and_then(|()| {
                linkat(
                    &folder,
                    temporary.as_str(),
                    &folder,
                    name.as_str(),
                    AtFlags::empty(),
                )
                .map_err(io::Error::from)
            });
        // If this fails, a later writer removes it.
        let _ = unlinkat(&folder, temporary.as_str(), UnlinkatFlags::NoRemoveDir);
        match written {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(Placement::NameTaken);
            }
            Err(error) => return Err(cannot(error)),
        }
        make_durable(&folder).map_err(|error| cannot(error.into()))?;
        remove_leftovers(&mut folder, entry);
        Ok(Placement::Whole)
    }

    /// Fails unless an entry can be written: writes a temporary file beside it, and removes that.
    pub(super) fn try_out(&self, entry: &Entry) -> Result<(), HistoryError> {
        let folder = self.make_folder_of(entry)?;
        let temporary = temporary_name(entry);
        let cannot = |error: Errno| self.cannot_write(&entry.path(), error.into());
        openat(&folder, temporary.as_str(), NEW, OF_FILES).map_err(cannot)?;
        unlinkat(&folder, temporary.as_str(), UnlinkatFlags::NoRemoveDir).map_err(cannot)
    }

    /// The folder of an entry, created if missing.
    fn make_folder_of(&self, entry: &Entry) -> Result<Dir, HistoryError> {
        let mut folder = self.make_root()?;
        let path = format!("{}/{}", entry.scope, folder_of(&entry.job));
        for (name, path) in steps(&path) {
            match mkdirat(&folder, name, OF_FOLDERS) {
                Ok(()) => {
                    make_durable(&folder).map_err(|error| self.cannot_write(path, error.into()))?;
                }
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(self.cannot_write(path, error.into())),
            }
            folder =
                Dir::openat(&folder, name, FOLDER, Mode::empty()).map_err(|error| match error {
                    Errno::ELOOP | Errno::ENOTDIR => self.no_folder(&self.root.join(path)),
                    error => self.cannot_write(path, error.into()),
                })?;
        }
        Ok(folder)
    }

    /// The root, created if missing, with a `.gitignore`: a checkout must not contain its own history.
    fn make_root(&self) -> Result<Dir, HistoryError> {
        let root = match self.open_root()? {
            Some(root) => root,
            None => {
                DirBuilder::new()
                    .recursive(true)
                    .mode(BITS_OF_FOLDERS)
                    .create(&self.root)
                    .map_err(|error| self.cannot_write("", error))?;
                self.open_root()?
                    .ok_or_else(|| self.cannot_write("", io::ErrorKind::NotFound.into()))?
            }
        };
        self.write_gitignore(&root)
            .map_err(|error| self.cannot_write(".gitignore", error))?;
        Ok(root)
    }

    /// Writes `.gitignore` if it is missing, or empty after a crash.
    fn write_gitignore(&self, root: &Dir) -> io::Result<()> {
        match openat(root, ".gitignore", NEW_OR_OLD, OF_FILES) {
            Ok(file) => {
                let mut file = File::from(file);
                if file.metadata()?.len() == 0 {
                    file.write_all(b"*\n")?;
                }
                Ok(())
            }
            // An existing file stays as it is, and a link is not followed.
            Err(Errno::ELOOP | Errno::ENXIO | Errno::EISDIR | Errno::EACCES) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn no_folder(&self, path: &Path) -> HistoryError {
        let is_link = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_symlink());
        if is_link {
            HistoryError::new(
                format!(
                    "{} is a link; a history is not read or written through links",
                    path.display()
                ),
                "remove the link, or let `history` name the folder itself",
            )
        } else {
            HistoryError::new(
                format!("{} is not a folder", path.display()),
                "let `history` name a folder",
            )
        }
    }

    fn cannot(&self, doing: &str, path: &str, error: Errno) -> HistoryError {
        HistoryError {
            source: Some(error.into()),
            ..HistoryError::new(
                format!("could not {doing} {}", self.place(path)),
                "is the history readable for the user that runs the gate?",
            )
        }
    }

    fn cannot_write(&self, path: &str, source: io::Error) -> HistoryError {
        let help = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space on its disk"
            }
            // The errors of file systems without hard links.
            io::ErrorKind::Unsupported
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem => {
                "let `history` name a folder that the user of the gate can write to, on a file system with hard links"
            }
            _ => "check the path and its disk",
        };
        HistoryError {
            source: Some(source),
            ..HistoryError::new(format!("could not write {}", self.place(path)), help)
        }
    }
}

/// Some file systems cannot sync a folder, and need not.
fn make_durable(folder: &Dir) -> nix::Result<()> {
    match fsync(folder) {
        Err(Errno::EINVAL | Errno::ENOTSUP) => Ok(()),
        done => done,
    }
}

/// Each component of a path, and the path up to it.
fn steps(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = path.match_indices('/').map(|(end, _)| end);
    let mut start = 0;
    ends.chain([path.len()]).map(move |end| {
        let name = &path[start..end];
        start = end + 1;
        (name, &path[..end])
    })
}

fn status(folder: &Dir, name: &str) -> Option<FileStat> {
    fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()
}

fn is_link(folder: &Dir, name: &str) -> bool {
    status(folder, name).is_some_and(|status| is(&status, SFlag::S_IFLNK))
}

fn is(status: &FileStat, kind: SFlag) -> bool {
    status.st_mode & SFlag::S_IFMT.bits() == kind.bits()
}

/// Hidden, so that it is not mistaken for a record.
fn temporary_name(entry: &Entry) -> String {
    format!(".{}{TEMPORARY}", entry.stem())
}

/// Removes temporary files of writers that were interrupted long ago. Failure has no consequence.
fn remove_leftovers(folder: &mut Dir, entry: &Entry) {
    let names: Vec<String> = folder
        .iter()
        .filter_map(|found| Some(found.ok()?.file_name().to_str().ok()?.to_owned()))
        .collect();
    for name in names {
        let stem = name
            .strip_prefix('.')
            .and_then(|name| name.strip_suffix(TEMPORARY));
        let is_ours = |stem: &str| {
            Entry::in_folder(entry.scope, entry.job.clone(), &format!("{stem}.json")).is_some()
        };
        if !stem.is_some_and(is_ours) {
            continue;
        }
        let is_old = |status: &FileStat| {
            let since = u64::try_from(status.st_mtime).unwrap_or(0);
            let written = SystemTime::UNIX_EPOCH + Duration::from_secs(since);
            let age = SystemTime::now().duration_since(written);
            is(status, SFlag::S_IFREG) && age.is_ok_and(|age| age > LONGEST_WRITE)
        };
        if status(folder, &name).as_ref().is_some_and(is_old) {
            let _ = unlinkat(&*folder, name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

#[cfg(test)]
mod tests;
