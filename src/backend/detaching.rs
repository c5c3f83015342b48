//! Canaries that one process starts, and that another one collects.

use futures_util::future::LocalBoxFuture;

use super::{BackendError, BackendFuture, Watcher};
use crate::canary::CanaryRun;

/// The part of a run of the gate that a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPart {
    /// All of it: canaries are started, waited for and measured.
    Whole,
    /// Canaries are started, and go on when the process has ended well.
    Detach,
    /// Canaries that are there are measured; none is started or waited for.
    Collect,
}

/// What a backend can do whose canaries outlive the gate.
pub trait Detaching {
    /// Starts one canary, unless one that stands for it is there, and waits neither for it nor for room.
    ///
    /// It goes on when the backend finishes the run, unless that was cancelled or [`Self::stop_started`] was asked for.
    fn start<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> BackendFuture<'r, Started>;

    /// Stops what this process has started of the job, and removes what was placed for it. What cannot be stopped the end of the
    /// run tries to stop again.
    fn stop_started<'r>(&'r self, watcher: &'r Watcher<'r>) -> LocalBoxFuture<'r, ()>;

    /// What there is of one canary. Reads only.
    fn look<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> BackendFuture<'r, Standing>;
}

/// What became of a canary that was to be started.
#[derive(Debug)]
pub enum Started {
    /// It runs, and this run of the gate pays for it.
    Ours { training_job: String },
    /// Another run of the gate has started it.
    Theirs {
        training_job: String,
        /// It runs, and the run that waits for it may stop it.
        is_awaited: bool,
    },
    /// There is no room for it now.
    NoRoom(BackendError),
    /// A signal came first.
    HeldBack,
}

/// What there is of a canary that was to be collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Over {
        training_job: String,
    },
    Running {
        training_job: String,
    },
    /// With the name that its first attempt would have.
    Missing {
        training_job: String,
    },
}
