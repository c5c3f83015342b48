//! The process that started the probe, and with which the command ends.

use std::io;

use nix::sys::prctl;
use nix::unistd::{Pid, getppid};

use super::signals::PARENT_SIGNAL;

/// The process that started the probe.
pub(super) struct Parent(Pid);

impl Parent {
    /// From here on the probe is woken when the thread that started it ends. The parent may live on, as runtimes end idle
    /// threads; [`Parent::is_gone`] checks.
    pub(super) fn watch(parent: i32) -> io::Result<Self> {
        prctl::set_pdeathsig(PARENT_SIGNAL)?;
        Ok(Self(Pid::from_raw(parent)))
    }

    /// Whether the parent has ended, also before the watch began: then this process has another parent.
    pub(super) fn is_gone(&self) -> bool {
        getppid() != self.0
    }
}
