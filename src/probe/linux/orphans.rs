//! The processes of a killed probe: they become children of the gate, which ends them.

use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::Signal;

use super::tree::{Look, ProcessTree, kill_groups, send};

/// The most passes over the tree; a process that survives them is stuck in the kernel.
const PASSES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// Makes this process adopt the orphans of its children. Call it once, before the first probe. Returns the processes that
/// are below this one already, which [`end_orphans`] has to keep: a shell may have started them before it `exec`ed this
/// program.
///
/// # Errors
///
/// If the kernel has no child subreapers.
pub fn adopt_orphans() -> std::io::Result<Vec<i32>> {
    prctl::set_child_subreaper(true)?;
    let here = ProcessTree::below_this_process().processes(Look::Thorough);
    Ok(here.iter().map(|process| process.pid).collect())
}

/// Kills every process below this one except `kept` and their descendants. Needs [`adopt_orphans`].
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
