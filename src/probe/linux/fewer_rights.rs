//! Starts a command without the rights by which root would get past a read-only mount.

use std::io;
use std::thread;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use super::error::ProbeError;

/// By these a mount is changed or left: remounted, taken off, entered through another process, opened by handle, or reached below
/// the file system.
const TAKEN: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SYS_MODULE)
    .union(CapabilitySet::SYS_RAWIO)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::MKNOD);

/// What `start` starts has fewer rights than this process, for good. A thread of its own gives them up, so this process keeps them.
pub(super) fn with_fewer_rights<T: Send>(
    start: impl FnOnce() -> Result<T, ProbeError> + Send,
) -> Result<T, ProbeError> {
    thread::scope(|scope| {
        let starter = scope.spawn(|| {
            give_up_rights().map_err(|error| {
                let what = "taking rights from the command is not allowed here";
                ProbeError::NotReadOnly(format!("{what} ({error})"))
            })?;
            start()
        });
        starter.join().expect("starting does not panic")
    })
}

/// Of this thread alone.
fn give_up_rights() -> io::Result<()> {
    set_no_new_privs(true)?;
    for right in TAKEN {
        match remove_capability_from_bounding_set(right) {
            // Without the right to take rights away, root could not be made less; another user has none to lose.
            Err(Errno::PERM) if !capabilities(None)?.permitted.contains(right) => {}
            done => done?,
        }
    }
    clear_ambient_capability_set()?;
    let mut held = capabilities(None)?;
    held.permitted.remove(TAKEN);
    held.effective.remove(TAKEN);
    held.inheritable.remove(TAKEN);
    Ok(set_capabilities(None, held)?)
}
