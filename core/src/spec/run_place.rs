//! What sets one backend apart from another.

/// Where a backend runs canaries: what differs in a spec from backend to backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunPlace {
    /// This machine, as of `local`: all canaries share it and read its files.
    This,
    /// SageMaker's instance types, with its limits; data lie in S3 or in a file system of AWS.
    Cloud,
    /// Nowhere: recorded runs stand for them, of any program's jobs.
    Recorded,
    /// The backend could not be read: nothing that depends on it is checked.
    Unknown,
}

/// What the program asks of a backend before one is made.
#[derive(Debug, Clone, Copy)]
pub struct Traits {
    /// A service runs the canaries. `validate`, which calls none, therefore opens no job. Canaries go on when the gate is gone, so a
    /// run keeps an id by which they are found and swept. No canary is launched on machines without a price. A job without
    /// `source_dir` runs the code that its image holds.
    pub is_remote: bool,
    /// Canaries are processes of this machine: they see its environment, and run the code as it lies here.
    pub runs_here: bool,
    /// Recorded runs are handed out. Nothing is run, so nothing is kept for later runs either.
    pub replays: bool,
}
