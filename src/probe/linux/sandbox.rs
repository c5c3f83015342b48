//! Keeps what this process holds from the training code, which runs as the same user: `PR_SET_DUMPABLE` of `prctl(2)`. And mounts a
//! directory at `/opt/ml`, and folders read-only, for the probe and its children only.
//!
//! Training scripts for SageMaker expect `/opt/ml`. The mounts are in a mount namespace of the probe's own, which needs root, or a
//! user namespace if unprivileged users may create one.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::stat::{Mode, SFlag, mknod};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getegid, geteuid};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount_bind_recursive, mount_change, mount_remount,
};

use super::TEMPORARY;
use super::error::shown;

/// Files that are closed, each by a mount, of which more would take seconds.
const MOST_CLOSED: usize = 2048;

/// The mount namespace of this process and its children, which the first mount enters. A failed mount is returned as its reason.
/// Mount before the process has a second thread.
#[derive(Default)]
pub(super) struct MountNamespace {
    is_entered: bool,
}

impl MountNamespace {
    pub(super) fn mount_opt_ml(&mut self, directory: &Path) -> Result<(), String> {
        let source = directory.canonicalize().ok().filter(|path| path.is_dir());
        let source = source.ok_or_else(|| format!("`{}` is not a folder", shown(directory)))?;
        if !Path::new("/opt").is_dir() {
            return Err("this host has no /opt; create it".to_owned());
        }
        self.enter()?;
        if Path::new("/opt/ml").is_dir() {
            let mounted = mount_bind_recursive(&source, Path::new("/opt/ml"));
            mounted.map_err(|error| refused("mounting at /opt/ml", error))
        } else {
            rebuild_opt(&source).map_err(|error| refused("mounting at /opt", error))
        }
    }

    /// Keeps what is written to the machine's temporary folders apart, below `own`. A note says where that is not allowed.
    pub(super) fn keep_temporary_apart(
        &mut self,
        own: &Path,
        shared: &[PathBuf],
    ) -> Option<String> {
        let folders = TEMPORARY.iter().zip(["tmp", "var-tmp"]);
        let refused = folders.filter_map(|(folder, below)| {
            let kept = self.keep_apart(folder.as_ref(), &own.join(below), shared);
            let error = kept
                .err()
                .filter(|error| error.kind() != io::ErrorKind::NotFound)?;
            Some((*folder, error))
        });
        let (folders, reasons): (Vec<_>, Vec<_>) = refused.unzip();
        let reason = reasons.first()?;
        Some(format!(
            "what canaries write to {} stays there and can make the next ones too fast ({reason}); let the script write below TMPDIR",
            folders.join(" and ")
        ))
    }

    /// Keeps what is written to a folder of the machine apart, below `own`, else in memory. What is `shared`, mounts and Unix sockets
    /// in it stay the machine's: an overlay shows no mount, and nothing connects to a socket through it.
    fn keep_apart(&mut self, folder: &Path, own: &Path, shared: &[PathBuf]) -> io::Result<()> {
        let folder = &*folder.canonicalize()?;
        if shared.iter().any(|shared| folder.starts_with(shared)) {
            return Err(io::Error::other("the checkout or the data are around it"));
        }
        self.enter().map_err(io::Error::other)?;
        let sockets = listed("net/unix", |line| Some(&line[line.find(" /")? + 1..]));
        let others = [mounts_in(folder)?, sockets.unwrap_or_default()].concat();
        // Still reached when another is mounted on it.
        let held = fs::File::open(folder)?;
        let old = Path::new("/proc/self/fd").join(held.as_raw_fd().to_string());
        // What a program keeps in memory counts as its memory.
        let is_memory = statfs(folder)?.filesystem_type() == TMPFS_MAGIC;
        if is_memory || overlay(folder, own).is_err() {
            fs::create_dir_all(own)?;
            let kind = Some("tmpfs");
            mount(kind, own, kind, MsFlags::empty(), None::<&str>)?;
            overlay(folder, own)?;
        }
        for path in shared.iter().chain(&others).filter(|path| *path != folder) {
            if let Ok(below) = path.strip_prefix(folder) {
                // Some mounts and sockets may be out of reach for this program.
                let _ = mount_bind_recursive(old.join(below), path);
            }
        }
        // Else a path from the working folder would lead past it.
        env::set_current_dir(env::current_dir()?)
    }

    /// Keeps folders as they are, whatever name they are reached by, and what is mounted in them too: what is written to them lands
    /// below `writes` where overlays are allowed, else nothing is. An overlay would not show a mount in its folder.
    pub(super) fn make_read_only(
        &mut self,
        folders: &[PathBuf],
        writes: Option<&Path>,
    ) -> Result<(), String> {
        for (index, folder) in folders.iter().enumerate() {
            self.enter()?;
            let own = writes.map(|writes| writes.join(index.to_string()));
            let what = format!("mounting `{}` read-only", shown(folder));
            let mounts = mounts_in(folder).map_err(|error| refused(&what, error))?;
            let own = own.filter(|_| mounts.iter().all(|mount| mount == folder));
            if own.is_some_and(|own| overlay(folder, &own).is_ok()) {
                continue;
            }
            read_only(folder).map_err(|error| refused(&what, error))?;
        }
        Ok(())
    }

    /// Covers the files of a list, as far as they are there, such that no user can open them, root neither: nobody opens a socket.
    /// Returns those that can be opened all the same, where mounts are not allowed or the files are too many.
    pub(super) fn close(&mut self, list: &Path) -> io::Result<Vec<PathBuf>> {
        let (files, cover) = (fs::read(list)?, list.with_extension("cover"));
        let may_mount =
            mknod(&cover, SFlag::S_IFSOCK, Mode::S_IRWXU, 0).is_ok() && self.enter().is_ok();
        let mut left = if may_mount { MOST_CLOSED } else { 0 };
        let stays_open = |file: &PathBuf| {
            let is_closed = left > 0 && mount_bind_recursive(&cover, file).is_ok();
            left -= usize::from(is_closed);
            !is_closed && file.is_file()
        };
        let files = files.split(|byte| *byte == 0).map(OsStr::from_bytes);
        Ok(files.map(PathBuf::from).filter(stays_open).collect())
    }

    fn enter(&mut self) -> Result<(), String> {
        if !self.is_entered {
            enter_namespace()?;
            self.is_entered = true;
        }
        Ok(())
    }
}

fn read_only(folder: &Path) -> io::Result<()> {
    mount_bind_recursive(folder, folder)?;
    let mounts = mounts_in(folder)?;
    // A name that the list spells otherwise would stay writable.
    let own = mounts.iter().find(|mount| *mount == folder);
    own.ok_or_else(|| io::Error::other("its mount is not in the list of mounts"))?;
    (mounts.iter()).try_for_each(|mount| remount_read_only(mount))
}

/// Where something is mounted at a folder and below it: `/proc/PID/mountinfo`, `proc_pid_mountinfo(5)`.
fn mounts_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut places = listed("mountinfo", |line| line.split(' ').nth(4))?;
    places.retain(|place| place.starts_with(folder));
    Ok(places)
}

/// The paths in the lines of a list of the kernel about this process.
fn listed(name: &str, place: fn(&str) -> Option<&str>) -> io::Result<Vec<PathBuf>> {
    let listed = fs::read(Path::new("/proc/self").join(name))?;
    let listed = String::from_utf8_lossy(&listed);
    let places = listed.lines().filter_map(place).map(|place| {
        let place = place.replace("\\040", " ").replace("\\011", "\t");
        PathBuf::from(place.replace("\\012", "\n").replace("\\134", "\\"))
    });
    Ok(places.collect())
}

fn remount_read_only(folder: &Path) -> io::Result<()> {
    // In a user namespace the flags that a mount has may not be taken off.
    let has = statvfs(folder)?.flags();
    let kept = [
        (FsFlags::ST_NOSUID, MountFlags::NOSUID),
        (FsFlags::ST_NODEV, MountFlags::NODEV),
        (FsFlags::ST_NOEXEC, MountFlags::NOEXEC),
        (FsFlags::ST_NOATIME, MountFlags::NOATIME),
        (FsFlags::ST_NODIRATIME, MountFlags::NODIRATIME),
        (FsFlags::ST_RELATIME, MountFlags::RELATIME),
    ];
    let kept = kept.into_iter().filter(|(flag, _)| has.contains(*flag));
    let read_only = MountFlags::BIND | MountFlags::RDONLY;
    let flags = kept.fold(read_only, |all, (_, flag)| all | flag);
    Ok(mount_remount(folder, flags, "")?)
}

/// Mounts a folder over itself, with its changes in `own`: <https://docs.kernel.org/filesystems/overlayfs.html>.
fn overlay(folder: &Path, own: &Path) -> io::Result<()> {
    let [upper, work] = ["upper", "work"].map(|name| own.join(name));
    let mut options = "userxattr".to_owned();
    for (name, layer) in [("lower", folder), ("upper", &upper), ("work", &work)] {
        fs::create_dir_all(layer)?;
        // These divide layers and options.
        let layer = layer.to_str();
        let layer = layer.filter(|layer| !layer.contains([':', ',', '\\']));
        options += &format!(",{name}dir={}", layer.ok_or(Errno::EINVAL)?);
    }
    let (kind, flags) = (Some("overlay"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV);
    // The upper layer's mode is that of the whole.
    fs::set_permissions(&upper, fs::metadata(folder)?.permissions())?;
    Ok(mount(kind, folder, kind, flags, Some(&*options))?)
}

fn refused(action: &str, error: impl std::fmt::Display) -> String {
    format!("{action} is not allowed here ({error})")
}

fn enter_namespace() -> Result<(), String> {
    let (user, group) = (geteuid(), getegid());
    let as_root = user.is_root() && unshare(CloneFlags::CLONE_NEWNS).is_ok();
    if !as_root {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).map_err(|error| match error {
            Errno::EINVAL => "a user namespace needs a process with one thread".to_owned(),
            _ => refused("a user and mount namespace", error)
                + "; allow one (Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0), or run as root",
        })?;
        // In this order, user_namespaces(7): without `deny` an unprivileged process may not map its group.
        let files = [
            ("setgroups", "deny".to_owned()),
            ("uid_map", format!("{user} {user} 1")),
            ("gid_map", format!("{group} {group} 1")),
        ];
        // These files belong to root while the process is private.
        let was_open = prctl::get_dumpable().unwrap_or(true);
        let _ = prctl::set_dumpable(true);
        let mut files = files.into_iter();
        let mapped =
            files.try_for_each(|(file, text)| fs::write(format!("/proc/self/{file}"), text));
        let _ = prctl::set_dumpable(was_open);
        mapped.map_err(|error| refused("mapping users in a namespace", error))?;
    }
    // Later mounts must not be visible outside.
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", private).map_err(|error| refused("making mounts private", error))
}

/// Mounts a new /opt over the old one, with the old entries and `ml`.
fn rebuild_opt(source: &Path) -> io::Result<()> {
    // Opened first: the old /opt cannot be reached by its name once it is covered.
    let old = fs::File::open("/opt")?;
    let entries: Vec<fs::DirEntry> = fs::read_dir("/opt")?.collect::<io::Result<_>>()?;
    // The directory may lie in /opt itself, so it is held, too.
    let held_source = fs::File::open(source)?;
    let (kind, options) = (Some("tmpfs"), Some("mode=755"));
    mount(kind, "/opt", kind, MsFlags::empty(), options)?;
    let held = [old.as_raw_fd(), held_source.as_raw_fd()];
    let [old, source] = held.map(|held| format!("/proc/self/fd/{held}"));
    let built = fill_opt(&entries, &old, &source);
    if built.is_err() {
        // The old /opt is better than a partial new one.
        let _ = umount2("/opt", MntFlags::MNT_DETACH);
    }
    built
}

fn fill_opt(entries: &[fs::DirEntry], old: &str, source: &str) -> io::Result<()> {
    // An existing `ml` is left out: a file could not be mounted on.
    for entry in entries.iter().filter(|entry| entry.file_name() != "ml") {
        let original = Path::new(old).join(entry.file_name());
        let copy = Path::new("/opt").join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&original)?, &copy)?;
            continue;
        }
        if kind.is_dir() {
            fs::create_dir(&copy)?;
        } else {
            fs::File::create_new(&copy)?;
        }
        mount_bind_recursive(&original, &copy)?;
    }
    let target = Path::new("/opt/ml");
    fs::create_dir(target)?;
    Ok(mount_bind_recursive(Path::new(source), target)?)
}

/// From here on no other process of this user may trace this one, or read its memory, environment and descriptors in `/proc`.
/// Programs that it starts are open again until they call this too. A process with CAP_SYS_PTRACE, such as most of root's, still
/// may.
pub fn keep_private() {
    // It fails for a value that is no bool only.
    let _ = prctl::set_dumpable(false);
}
