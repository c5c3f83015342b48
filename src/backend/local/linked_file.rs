//! Large files of the data, which a sandbox holds links to: training code may not write to them. A link cannot keep it from
//! doing so, but it does not go unnoticed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::backend::BackendError;

use super::file_digest::{self, FileDigest};

/// A file of the data that a sandbox holds a link to, as it was when it was linked.
#[derive(Debug)]
pub(super) struct LinkedFile {
    path: PathBuf,
    bytes: u64,
    mode: u32,
    modified: (i64, i64),
    /// What a program cannot set: the time of the last change of content, mode, times or links. Absent before
    /// [`LinkedFile::watch`].
    changed: Option<(i64, i64)>,
}

impl LinkedFile {
    pub(super) fn of(path: PathBuf, metadata: &Metadata) -> Self {
        Self {
            path,
            bytes: metadata.len(),
            mode: metadata.mode(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: None,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// From here on a change is noticed. Called when all links are made, for a link is a change.
    pub(super) fn watch(&mut self) {
        self.changed = self.path.metadata().ok().map(|file| changed(&file));
    }

    /// Fails if the file is not as it was: `known` is what it held when the data were listed.
    ///
    /// Another canary that linked it meanwhile changed it too, so the content decides.
    pub(super) fn check(
        &self,
        known: Option<&FileDigest>,
        is_over: &AtomicBool,
    ) -> Result<(), BackendError> {
        let is_as_it_was = self.path.metadata().is_ok_and(|file| {
            file.len() == self.bytes
                && file.mode() == self.mode
                && (file.mtime(), file.mtime_nsec()) == self.modified
                && (Some(changed(&file)) == self.changed || self.holds(known, is_over))
        });
        if is_as_it_was {
            return Ok(());
        }
        Err(BackendError::new(
            format!(
                "the data file {} was changed while a canary used it",
                self.path.display()
            ),
            "let the training code write to SM_MODEL_DIR or SM_OUTPUT_DATA_DIR, never to its channels; then restore the file",
        ))
    }

    fn holds(&self, known: Option<&FileDigest>, is_over: &AtomicBool) -> bool {
        known.is_some_and(|known| {
            file_digest::of(&self.path, is_over).is_ok_and(|found| found == *known)
        })
    }
}

fn changed(file: &Metadata) -> (i64, i64) {
    (file.ctime(), file.ctime_nsec())
}
