//! What is left when a probe itself was killed: its tree becomes the gate's, which ends it.

use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::Signal;

use super::tree::{Look, ProcessTree, kill_groups, send};

/// Passes over the tree until it must be empty; a process that cannot be killed is in the kernel's hands.
const PASSES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// From here on the orphans of this process's children become its own, and can be found. Called once, before the first
/// probe. Gives back what is below this process already, which is none of its business: a shell may have `exec`ed it.
///
/// # Errors
///
/// Where the kernel has no child subreapers.
pub fn adopt_orphans() -> std::io::Result<Vec<i32>> {
    prctl::set_child_subreaper(true)?;
    let here = ProcessTree::below_this_process().processes(Look::Thorough);
    Ok(here.iter().map(|process| process.pid).collect())
}

/// Ends every process below this one with SIGKILL, but for `kept` and what is below them. Needs [`adopt_orphans`].
pub fn end_orphans(kept: &[i32]) {
    let mut tree = ProcessTree::below_this_process();
    for pid in kept {
        tree.exclude(*pid);
    }
    for _ in 0..PASSES {
        let members = tree.members(Look::Thorough);
        if members.is_empty() {
            return;
        }
        kill_groups(&members);
        for process in &members {
            send(process.pid, Signal::SIGKILL);
        }
        std::thread::sleep(PAUSE);
    }
    tracing::warn!("some processes of the training code could not be ended");
}
