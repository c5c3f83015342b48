//! Keeps what this process holds from the training code, which runs as the same user: `PR_SET_DUMPABLE` of `prctl(2)`.

use nix::sys::prctl;

/// From here on no other process of this user may trace this one, or read its memory, environment and descriptors in `/proc`.
/// Programs that it starts are open again until they call this too. A process with CAP_SYS_PTRACE, such as most of root's, still
/// may.
pub fn keep_private() {
    // It fails for a value that is no bool only.
    let _ = prctl::set_dumpable(false);
}

/// Does what needs the files in `/proc/self` that belong to root while the process is private.
pub(super) fn with_own_files<T>(deed: impl FnOnce() -> T) -> T {
    let was_open = prctl::get_dumpable().unwrap_or(true);
    let _ = prctl::set_dumpable(true);
    let done = deed();
    let _ = prctl::set_dumpable(was_open);
    done
}
