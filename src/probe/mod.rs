//! The **probe**: runs a command, samples its whole process tree twice a second, and tells in one JSON line what it used.
//!
//! It is what the local backend starts for each host, and what runs inside a training container. It starts no runtime,
//! reads none of the command's output, and leaves nothing behind: when [`run()`] returns, every process that the command
//! started has ended, the daemonised ones included.
//!
//! - The tree is found in `/proc` downwards from the probe, which is a child subreaper: nothing can leave it.
//! - Memory is what cannot be given back: anonymous and shared pages, never page cache or mapped files.
//! - A share (CPU, I/O wait, GPU) is one of the whole host, 0-100 %.
//!
//! [`run()`] changes its process (signal handlers, subreaper, perhaps a mount namespace), so a program calls it once,
//! and before it starts a thread.

mod cgroup;
mod command;
mod ending;
mod error;
mod gpu;
mod host;
mod memory;
mod orphans;
mod output;
mod procfs;
mod resident;
mod run;
mod sandbox;
mod shares;
mod signals;
mod spikes;
#[cfg(test)]
mod tests;
mod tree;
mod usage;

use std::ffi::OsString;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measurement::Usage;
use crate::units::{Bytes, Seconds};

pub use error::ProbeError;
pub use host::{host_capacity, host_kind};
pub use orphans::{adopt_orphans, end_orphans};
pub use run::run;

/// The version of [`ProbeReport`] written by this program. A reader refuses a newer one.
pub const SCHEMA_VERSION: u32 = 1;

/// What a marked line begins with: this, a space, the mark, a space, the JSON.
pub const MARKED_LINE: &str = "canary-gate-probe";

/// The variable that gives the mark. The command does not get it: who knows the mark can write such a line.
pub const MARK_VARIABLE: &str = "CANARY_GATE_MARK";

/// The time between SIGTERM and SIGKILL where none is asked for.
pub const DEFAULT_GRACE: Seconds = Seconds(10.0);

/// What to run, and within which limits. The command inherits stdin, stdout, stderr and environment of the probe.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeOptions {
    /// The program and its arguments; a program without `/` is looked for on PATH.
    pub command: Vec<OsString>,
    /// Where the JSON line goes; absent: stdout. Opened before the command starts, and never through a link.
    pub output: Option<PathBuf>,
    /// What the line on stdout is marked with, so that it can be found among the command's own; absent: it is JSON alone.
    pub mark: Option<String>,
    /// The command is ended when it runs longer; absent: never.
    pub max_runtime: Option<Seconds>,
    /// From SIGTERM to SIGKILL.
    pub grace: Seconds,
    /// A directory that the command shall find at `/opt/ml`.
    pub opt_ml: Option<PathBuf>,
    /// The command is ended when the process with this number, which started the probe, is gone; absent: it outlives it.
    pub end_with_parent: Option<i32>,
    pub current_dir: Option<PathBuf>,
    /// The command is ended, at once, when its tree holds more than this.
    pub memory_limit: Option<Bytes>,
    pub cgroup: CgroupUse,
    pub gpu: GpuSource,
}

impl ProbeOptions {
    /// The command without limits, measured as well as this host allows.
    pub fn new(command: Vec<OsString>) -> Self {
        Self {
            command,
            output: None,
            mark: None,
            max_runtime: None,
            grace: DEFAULT_GRACE,
            opt_ml: None,
            end_with_parent: None,
            current_dir: None,
            memory_limit: None,
            cgroup: CgroupUse::IfAllowed,
            gpu: GpuSource::NvidiaSmiOnPath,
        }
    }
}

/// Whether memory is read from a cgroup made for the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CgroupUse {
    IfAllowed,
    /// Always the sum over the process tree, for hosts where cgroups are somebody else's.
    Never,
}

/// Who is asked about GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GpuSource {
    /// `nvidia-smi`, where PATH has it.
    NvidiaSmiOnPath,
    /// A program that answers as `nvidia-smi` does.
    Program(PathBuf),
    Nobody,
}

/// What one command used, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    pub schema_version: u32,
    pub ending: Ending,
    /// From the start of the command to the end of its main process.
    pub wall_seconds: Seconds,
    /// User and system time of the whole tree.
    pub cpu_seconds: Seconds,
    pub usage: Usage,
    /// How often the whole tree was read, at 2 Hz.
    pub samples: u64,
    /// Absent where nothing was to appear at `/opt/ml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opt_ml: Option<OptMl>,
    /// Processes that outlived the command's main process, and were ended.
    pub survivors_ended: u32,
    /// Of the host, or of the container that the probe runs in; absent where `/proc/meminfo` cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_total: Option<Bytes>,
    /// The cores that CPU shares are shares of: those online that the probe may use, or the container's CPU quota.
    pub cores: f64,
    /// What a reader of the figures should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How the command ended. What the probe ended itself is told by its reason, whatever the command made of the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ending {
    Exited {
        code: i32,
    },
    /// By a signal that the probe did not send.
    Signaled {
        signal: i32,
    },
    /// It passed `max_runtime`.
    TimedOut,
    /// The probe was asked to stop, by this signal or because its parent was gone (15).
    Stopped {
        signal: i32,
    },
    /// The kernel's OOM killer ended it, or the probe did since the host was about to run out of memory.
    OutOfMemory,
    /// It passed `memory_limit`.
    MemoryLimit,
}

/// Whether the directory asked for appeared at `/opt/ml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OptMl {
    Mounted,
    /// The command ran without it.
    NotAllowed {
        reason: String,
    },
}

impl ProbeReport {
    /// The command's own code; 128 + signal as shells do; 124 at the time limit as `timeout` does; 137 out of memory.
    pub fn exit_code(&self) -> u8 {
        let code = match self.ending {
            Ending::Exited { code } => code,
            Ending::Signaled { signal } | Ending::Stopped { signal } => 128 + signal,
            Ending::TimedOut => 124,
            Ending::OutOfMemory | Ending::MemoryLimit => 137,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}
