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
const TAKEN: [CapabilitySet; 7] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_CHROOT,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::MKNOD,
];

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
    let taken = CapabilitySet::from_bits_retain(TAKEN.iter().fold(0, |all, one| all | one.bits()));
    let mut held = capabilities(None)?;
    held.permitted.remove(taken);
    held.effective.remove(taken);
    held.inheritable.remove(taken);
    Ok(set_capabilities(None, held)?)
}
