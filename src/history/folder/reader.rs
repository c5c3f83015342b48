//! [`RecordReader`]: records of a folder, one after another.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

use super::FOLDER;
use crate::history::entry::Entry;
use crate::history::scope::{Scope, folder_of};
use crate::history::{LARGEST_RECORD, reading};

/// Without waiting for a writer if it is a pipe.
const READ: OFlag = OFlag::O_RDONLY
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_NONBLOCK)
    .union(OFlag::O_CLOEXEC);
pub(super) const LINK: &str = "it is a link, and links are not followed";

/// Reads records one after another; keeps the last folder open, which the next record usually shares.
pub(in crate::history) struct RecordReader<'a> {
    root: &'a Path,
    folder: Option<(Scope, String, Dir)>,
}

impl<'a> RecordReader<'a> {
    pub(super) fn of(root: &'a Path) -> Self {
        Self { root, folder: None }
    }

    /// The bytes of a record, or why they cannot be read.
    pub(in crate::history) fn read(&mut self, entry: &Entry) -> Result<Vec<u8>, String> {
        let is_open =
            |(scope, job, _): &(Scope, String, Dir)| *scope == entry.scope && *job == entry.job;
        if !self.folder.as_ref().is_some_and(is_open) {
            self.folder = None;
            let folder = self.open_folder_of(entry).map_err(unreadable)?;
            self.folder = Some((entry.scope, entry.job.clone(), folder));
        }
        let (_, _, folder) = self.folder.as_ref().expect("it was opened above");
        let file =
            openat(folder, entry.file_name().as_str(), READ, Mode::empty()).map_err(unreadable)?;
        let file = File::from(file);
        let cannot = |error: io::Error| format!("it cannot be read: {error}");
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
        file.take(most + 1)
            .read_to_end(&mut content)
            .map_err(cannot)?;
        Ok(content)
    }

    fn open_folder_of(&self, entry: &Entry) -> nix::Result<Dir> {
        let mut folder = Dir::open(self.root, FOLDER, Mode::empty())?;
        let path = format!("{}/{}", entry.scope, folder_of(&entry.job));
        for name in path.split('/') {
            folder = Dir::openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok(folder)
    }
}

fn unreadable(error: Errno) -> String {
    match error {
        Errno::ELOOP | Errno::ENOTDIR => LINK.to_owned(),
        Errno::ENOENT => "it was removed after it was listed".to_owned(),
        error => format!("it cannot be read: {}", error.desc()),
    }
}
