//! The folders of local runs: one workspace for a run of the gate, a sandbox in it for each canary, removed when done.
//!
//! A workspace is locked while its gate lives, so that the next start recognizes the leftovers of a dead one and removes them.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::backend::rows::cannot_write;
use crate::backend::source::SourceFile;
use crate::outside_error::{OutsideError, OutsideResult};

/// How many new workspaces another gate may take for left ones, in the moment before they are locked.
const TRIES: usize = 5;
/// In the folder of a run, locked while its gate lives.
const LOCK: &str = "lock";
/// How a short name begins.
const SHORT_NAME: &str = "canary-gate-";

/// The folder of one run of the gate. Removed on drop.
#[derive(Debug)]
pub(super) struct Workspace {
    /// `.canary-gate`.
    state: PathBuf,
    folder: Sandbox,
    /// Held while this gate lives, and until the folder is gone.
    _lock: Flock<File>,
}

impl Workspace {
    /// Makes a fresh workspace below `state` (the spec's `.canary-gate`), after removing those of dead gates.
    pub(super) fn create(state: &Path) -> OutsideResult<Self> {
        let work = state.join("work");
        refuse_links(state)?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&work)
            .map_err(|source| cannot_write(&work, source))?;
        remove_dead(&work);
        let mut tries = 0;
        loop {
            tries += 1;
            let folder = tempfile::Builder::new()
                .prefix("gate-")
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir_in(&work)
                .map_err(|source| cannot_write(&work, source))?
                .keep();
            let folder = Sandbox { folder };
            match lock_new(&folder.folder) {
                Ok(lock) => {
                    return Ok(Self {
                        state: state.to_owned(),
                        folder,
                        _lock: lock,
                    });
                }
                Err(error) if tries < TRIES && is_taken(&error) => {}
                Err(source) => return Err(cannot_write(&folder.folder, source)),
            }
        }
    }

    /// A sandbox for one canary; `name` is unique in this workspace.
    pub(super) fn sandbox(&self, name: &str) -> OutsideResult<Sandbox> {
        // A canary before it may have put a link there.
        refuse_links(&self.state)?;
        let folder = self.folder.path(name);
        fs::create_dir(&folder).map_err(|source| cannot_write(&folder, source))?;
        Ok(Sandbox { folder })
    }
}

/// Fails where the gate's own folder leads elsewhere.
pub(super) fn refuse_links(state: &Path) -> OutsideResult<()> {
    let work = state.join("work");
    match [state, &work].into_iter().find(|it| it.is_symlink()) {
        None => Ok(()),
        Some(folder) => {
            let what = format!(
                "{} is a link; nothing is written through links",
                folder.display()
            );
            Err(OutsideError::of(what).help("remove the link"))
        }
    }
}

/// Locks a folder of this gate's own. Fails where another gate has taken it for a left one meanwhile.
fn lock_new(folder: &Path) -> io::Result<Flock<File>> {
    let path = folder.join(LOCK);
    let lock = lock(File::create_new(&path)?)?;
    path.symlink_metadata()?;
    Ok(lock)
}

/// Whether another gate holds the lock, or has removed the folder.
fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, WouldBlock};
    matches!(error.kind(), WouldBlock | NotFound)
}

/// Locks a file that is open to be written: over NFS, a lock of anything else holds on one machine only.
fn lock(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

/// Removes workspaces whose gate is gone: those that are not locked, and those whose lock a canary took away; and short
/// names of folders that are gone.
fn remove_dead(work: &Path) {
    for entry in fs::read_dir(work).into_iter().flatten().flatten() {
        let folder = entry.path();
        // Empty until its gate makes the lock; a gate that has just made it makes another one.
        if fs::remove_dir(&folder).is_ok() {
            continue;
        }
        let file = OpenOptions::new().write(true).open(folder.join(LOCK));
        match file.map(lock) {
            Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Whether its gate lives is not known, so it is left.
            Ok(Err(error)) => tracing::warn!("could not lock {}: {error}", folder.display()),
            // Held until the folder is gone, so that a gate that is about to lock it notices.
            _held => remove(&folder),
        }
    }
    let temporary = fs::read_dir(env::temp_dir());
    for entry in temporary.into_iter().flatten().flatten() {
        let path = entry.path();
        // Another checkout's folders may be out of sight.
        let folder = fs::read_link(&path).ok().filter(|to| to.starts_with(work));
        if folder.is_some_and(|folder| !folder.exists()) {
            let _ = fs::remove_file(path);
        }
    }
}

/// A leftover folder costs nothing but space, so a failure here is said and not fatal.
fn remove(folder: &Path) {
    let removed = fs::remove_dir_all(folder).or_else(|_| {
        // A canary may have taken the permissions off a folder of its own.
        open_up(folder);
        fs::remove_dir_all(folder)
    });
    if let Err(error) = removed
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!("could not remove {}: {error}", folder.display());
    }
}

/// Gives the owner all rights on a folder and those below it.
fn open_up(folder: &Path) {
    // What cannot be opened cannot be removed either, and is said then.
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// The folder of one canary, or of all, or a short name of one. Removed on drop.
#[derive(Debug)]
pub(super) struct Sandbox {
    pub(super) folder: PathBuf,
}

impl Sandbox {
    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.folder.join(below)
    }

    /// A link to a folder among the machine's temporary files, else the folder itself: the path of a Unix socket has at most 108
    /// bytes, `unix(7)`.
    pub(super) fn short_name(folder: &Path) -> Self {
        let link = tempfile::Builder::new()
            .prefix(SHORT_NAME)
            .make(|name| symlink(folder, name));
        let kept = link.ok().and_then(|link| link.into_temp_path().keep().ok());
        Self {
            folder: kept.unwrap_or_else(|| folder.to_owned()),
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

pub(super) fn make_folder(folder: &Path) -> OutsideResult<()> {
    fs::create_dir_all(folder).map_err(|source| cannot_write(folder, source))
}

/// The beginning of a plain file that training code may have written. A link could lead anywhere, a pipe would block,
/// and a script may write much.
pub(super) fn first_bytes(path: &Path, most: u64) -> Option<String> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a new file.
pub(super) fn write_file(path: &Path, content: impl AsRef<[u8]>) -> OutsideResult<()> {
    File::create_new(path)
        .and_then(|mut file| file.write_all(content.as_ref()))
        .map_err(|source| cannot_write(path, source))
}

/// Copies `files` into `to`, each as it was read for the job's key. A link is copied as the file it leads to.
pub(super) fn copy_source(files: &[SourceFile], to: &Path) -> OutsideResult<()> {
    make_folder(to)?;
    for file in files {
        let target = to.join(&file.name);
        target.parent().map_or(Ok(()), make_folder)?;
        let failed = |error| cannot_write(&target, error);
        let mut copy = File::create_new(&target).map_err(failed)?;
        file.read(|part| copy.write_all(part).map_err(failed))?;
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        let mode = fs::Permissions::from_mode(mode);
        copy.set_permissions(mode).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_gate_removes_what_no_gate_holds() {
        let state = tempfile::tempdir().unwrap();
        let live = Workspace::create(state.path()).unwrap();
        let work = state.path().join("work");
        for dead in ["empty", "unlocked/left", "free"] {
            make_folder(&work.join(dead)).unwrap();
        }
        write_file(&work.join("free/lock"), "").unwrap();
        let folders = ["free", live.folder.folder.to_str().unwrap()];
        let short = folders.map(|folder| Sandbox::short_name(&work.join(folder)));
        remove_dead(&work);
        assert_eq!(short.map(|short| short.folder.is_symlink()), [false, true]);
        let left = fs::read_dir(&work)
            .unwrap()
            .map(|left| left.unwrap().path());
        assert_eq!(left.collect::<Vec<_>>(), [&*live.folder.folder]);
    }
}
