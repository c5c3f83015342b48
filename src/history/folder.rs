//! A history in a folder.
//!
//! A record is written to a temporary file, made durable, and then given its name, which never replaces a file: a
//! reader sees it whole or not at all, wherever its writer was interrupted. Nothing is read or written through symbolic
//! links: a commit can bring them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::scope::{Scope, job_of};
use super::{FoundPath, LARGEST_RECORD, LINK, Placement, reading};
use crate::outside_error::{OutsideError, OutsideResult};

/// Records reveal what a team's training costs.
const OF_FOLDERS: u32 = 0o700;
const OF_FILES: u32 = 0o600;

#[derive(Debug)]
pub(super) struct RecordFolder {
    pub(super) root: PathBuf,
}

impl RecordFolder {
    pub(super) fn place(&self, path: &str) -> String {
        self.at(path).display().to_string()
    }

    /// Joined with nothing, a path would end with `/`, which follows a link.
    fn at(&self, path: &str) -> PathBuf {
        match path {
            "" => self.root.clone(),
            path => self.root.join(path),
        }
    }

    /// What lies below folders of the history; `None` where the history is not there.
    pub(super) fn list(&self, folders: &[String]) -> OutsideResult<Option<Vec<FoundPath>>> {
        match self.root.symlink_metadata() {
            Ok(root) if root.is_dir() => {}
            Ok(_) => return Err(self.no_folder("")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.cannot_read("", error)),
        }
        let mut found = Vec::new();
        for path in folders {
            match self.link_to(path) {
                Some(link) => found.push((link, Some(LINK))),
                None => self.list_below(path, &mut found)?,
            }
        }
        Ok(Some(found))
    }

    fn list_below(&self, folder: &str, found: &mut Vec<FoundPath>) -> OutsideResult<()> {
        let cannot = |error| self.cannot_read(folder, error);
        let entries = match fs::read_dir(self.root.join(folder)) {
            Ok(entries) => entries,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Ok(()),
                _ => return Err(cannot(error)),
            },
        };
        for entry in entries {
            let entry = entry.map_err(cannot)?;
            // A name that is not UTF-8 is not a record's.
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            // Other folders are not part of the history.
            let is_folder = match Scope::split(&format!("{path}/")) {
                None => false,
                Some((_, "")) => true,
                Some((_, rest)) => job_of(rest.trim_end_matches('/')).is_some(),
            };
            match entry.file_type().map_err(cannot)? {
                _ if !is_folder => found.push((path, None)),
                kind if kind.is_symlink() => found.push((path, Some(LINK))),
                _ => self.list_below(&path, found)?,
            }
        }
        Ok(())
    }

    /// The first link on the way to a path of the history, as a path of it: the empty one is the history itself.
    fn link_to(&self, path: &str) -> Option<String> {
        let ends = path.match_indices('/').map(|(end, _)| end);
        let mut steps = [0].into_iter().chain(ends).chain([path.len()]);
        let link = steps.find(|end| self.at(&path[..*end]).is_symlink())?;
        Some(path[..link].to_owned())
    }

    /// The bytes of a record, or why they cannot be read.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if self.link_to(path).is_some() {
            return Err(LINK.to_owned());
        }
        let cannot = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "it was removed after it was listed".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        // Without waiting for a writer if it is a pipe.
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK);
        let file = options.open(self.root.join(path)).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if !metadata.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        let most = u64::try_from(LARGEST_RECORD).unwrap_or(u64::MAX);
        if metadata.len() > most {
            return Err(reading::too_large());
        }
        let mut content = Vec::new();
        // The file may grow while it is read.
        let mut file = file.take(most + 1);
        file.read_to_end(&mut content).map_err(cannot)?;
        Ok(content)
    }

    /// Writes a record under its name, whole or not at all, and never over another.
    pub(super) fn put(&self, path: &str, content: &[u8]) -> OutsideResult<Placement> {
        let cannot = |error| self.cannot_write(path, error);
        let record = self.make_folder_of(path)?;
        let folder = record.parent().unwrap_or(&self.root);
        let mut file = temporary().tempfile_in(folder).map_err(cannot)?;
        let written = file
            .write_all(content)
            .and_then(|()| file.as_file().sync_all());
        written.map_err(cannot)?;
        match file.persist_noclobber(&record).map_err(|kept| kept.error) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(Placement::NameTaken);
            }
            kept => drop(kept.map_err(cannot)?),
        }
        make_durable(folder).map_err(cannot)?;
        Ok(Placement::Whole)
    }

    /// Fails unless a record can be written: makes a temporary file beside it, which is removed again.
    pub(super) fn try_out(&self, path: &str) -> OutsideResult<()> {
        let record = self.make_folder_of(path)?;
        let made = temporary().tempfile_in(record.parent().unwrap_or(&self.root));
        made.map(drop)
            .map_err(|error| self.cannot_write(path, error))
    }

    /// Makes the folder of a record where it is missing, and in that of the history a `.gitignore`: a checkout must not contain its
    /// own history. Returns where the record lies.
    fn make_folder_of(&self, path: &str) -> OutsideResult<PathBuf> {
        let cannot = |error| self.cannot_write(path, error);
        let record = self.root.join(path);
        let folder = record.parent().unwrap_or(&self.root);
        let (above, _) = path.rsplit_once('/').unwrap_or_default();
        if let Some(link) = self.link_to(above) {
            return Err(self.no_folder(&link));
        }
        if !folder.is_dir() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(OF_FOLDERS);
            builder.create(folder).map_err(cannot)?;
            // A power failure must not take what was made durable in them.
            let made = folder.ancestors().skip(1);
            for above in made.take_while(|above| above.starts_with(&self.root)) {
                make_durable(above).map_err(cannot)?;
            }
        }
        let ignored = self.write_gitignore();
        ignored.map_err(|error| self.cannot_write(".gitignore", error))?;
        Ok(record)
    }

    /// Writes `.gitignore` if it is missing, or empty after a crash.
    fn write_gitignore(&self) -> io::Result<()> {
        let path = self.root.join(".gitignore");
        match path.symlink_metadata() {
            Ok(known) if !known.is_file() || known.len() > 0 => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(_) | Err(_) => {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(false);
                options.mode(OF_FILES).custom_flags(O_NOFOLLOW | O_NONBLOCK);
                options.open(path)?.write_all(b"*\n")
            }
        }
    }

    fn no_folder(&self, path: &str) -> OutsideError {
        let place = self.place(path);
        match self.at(path).is_symlink() {
            true => OutsideError::of(format!(
                "{place} is a link; a history is not read or written through links"
            ))
            .help("remove the link, or let `history` name the folder itself"),
            false => OutsideError::of(format!("{place} is not a folder"))
                .help("let `history` name a folder"),
        }
    }

    fn cannot_read(&self, path: &str, source: io::Error) -> OutsideError {
        let help = "is the history readable for the user that runs the gate?";
        self.cannot("read", path, help, source)
    }

    fn cannot_write(&self, path: &str, source: io::Error) -> OutsideError {
        let help = match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "let `history` name a folder that the user of the gate can write to"
            }
            _ => "check the path and its disk",
        };
        self.cannot("write", path, help, source)
    }

    fn cannot(&self, verb: &str, path: &str, help: &str, source: io::Error) -> OutsideError {
        let what = format!("could not {verb} {}", self.place(path));
        OutsideError::io(what, help, source)
    }
}

/// Keeps what was made in a folder through a power failure. Some file systems cannot sync a folder, and need not.
fn make_durable(folder: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, Unsupported};
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if !matches!(error.kind(), InvalidInput | Unsupported) => Err(error),
        _ => Ok(()),
    }
}

/// Hidden, so that it is not mistaken for a record, and for its owner alone.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".record-").suffix(".tmp");
    builder
}

#[cfg(test)]
mod tests;
