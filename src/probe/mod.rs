//! The **probe**: runs a command, samples its whole process tree twice a second, and prints its usage as one JSON line.
//!
//! The local backend starts a probe for each host, and a probe runs inside each training container. It starts no async
//! runtime, does not read the command's output, and leaves nothing behind: when [`run()`] returns, every process that the
//! command started has ended, including daemons.
//!
//! - The tree is everything below the probe in `/proc`. The probe is a child subreaper, so no process can leave the tree.
//! - Under a launcher that starts several processes on a host ([`ProbeOptions::launched`]) the launcher's whole tree counts.
//! - Memory is what cannot be reclaimed: anonymous and shared pages, never page cache or mapped files.
//! - A share (CPU, I/O wait, GPU) is a percentage of the whole host, 0-100 %.
//!
//! It needs Linux. Elsewhere the same functions exist and [`run()`] refuses (`elsewhere.rs`), so that all else of the program
//! builds and runs there.
//!
//! [`run()`] changes its process (signal handlers, subreaper, possibly a mount namespace), so a program calls it once and
//! before it starts a thread.

#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(
    target_os = "linux",
    expect(dead_code, unreachable_pub, reason = "built, so that it stays right")
)]
mod elsewhere;
mod error;
mod gate_socket;
mod impossible;
#[cfg(target_os = "linux")]
mod linux;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use nix::sys::signal::{SigSet, Signal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::measurement::Usage;
use crate::units::{Bytes, Seconds};

pub use error::ProbeError;
pub use gate_socket::GateSocket;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

pub use system::{
    adopt_orphans, cpu_pressure, end_orphans, host_capacity, host_kind, keep_private, run,
};

/// The folders that the programs of a machine leave files in for each other.
pub const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// The most opened files of a channel that are named.
pub const MOST_NAMED: usize = 200;

/// The name of a watched checkout, or of its files that count for nothing, which no channel can have.
pub const CHECKOUT: &str = ".";

/// Fails where the system has nothing to measure by.
pub fn check_system() -> Result<(), ProbeError> {
    match cfg!(target_os = "linux") {
        true => Ok(()),
        false => Err(ProbeError::NotLinux),
    }
}

/// Makes a write beyond the limit of a file's size, `ulimit -f`, an error that is said, and no signal that ends this process. Threads
/// started later are the same; programs that it starts are not.
pub fn survive_the_file_limit() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // Where it cannot be blocked the system ends the process and says why itself.
    let _ = signals.thread_block();
}

/// The version of [`ProbeReport`] that this program writes. A reader refuses a newer one.
pub const SCHEMA_VERSION: u32 = 1;

/// The start of a marked line; a space, the mark, a space and the JSON follow.
pub const MARKED_LINE: &str = "canary-gate-probe";

/// The variable that holds the mark. The command does not get it: a program that knows the mark could forge the line.
pub const MARK_VARIABLE: &str = "CANARY_GATE_MARK";

/// What to run, and within which limits. The command inherits stdout and stderr of the probe, and stdin and environment too
/// unless the gate sends them.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ProbeOptions {
    // Opened before the command starts, and never through a link.
    /// Write the JSON line to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Start the line on standard output with `canary-gate-probe` and this text, which marks it among the command's own lines.
    #[arg(
        long,
        value_name = "NONCE",
        env = MARK_VARIABLE,
        hide_env_values = true
    )]
    pub mark: Option<String>,
    // The socket is a `GateSocket`. The command's own standard input is empty then.
    /// Speak with the gate through standard input, a socket: get the command's environment, give the JSON line.
    #[arg(long, hide = true, conflicts_with = "output")]
    pub gate_socket: bool,
    /// Stop the command after this time, e.g. `1h`.
    #[arg(long, value_name = "DURATION")]
    pub max_runtime: Option<Seconds>,
    /// The time between SIGTERM and SIGKILL when the command is stopped.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub grace: Seconds,
    /// A folder that the command sees as /opt/ml, if mount namespaces are allowed.
    #[arg(long, value_name = "DIR")]
    pub opt_ml: Option<PathBuf>,
    /// A folder that the command may read and not write; repeatable. Without mount namespaces nothing is run.
    #[arg(long, value_name = "DIR")]
    pub read_only: Vec<PathBuf>,
    /// A folder for what the command writes to read-only folders, /tmp and /var/tmp, where overlays are allowed.
    #[arg(long, hide = true, value_name = "DIR")]
    pub writes: Option<PathBuf>,
    /// A folder in /tmp or /var/tmp that the command writes to like others; repeatable.
    #[arg(long, hide = true, value_name = "DIR")]
    pub shared: Vec<PathBuf>,
    /// A list of files that the command may not open. Where mount namespaces are not allowed, the line says which it opened.
    #[arg(long, hide = true, value_name = "FILE")]
    pub closed: Option<PathBuf>,
    // Watched in place of channels, and named [`CHECKOUT`] among them.
    /// A checkout, of which the line is to say the files that the command opens.
    #[arg(long, hide = true, value_name = "DIR", conflicts_with = "opt_ml")]
    pub watched: Option<PathBuf>,
    /// Stop the command when the process with this number, which started the probe, ends.
    #[arg(long, value_name = "PID")]
    pub end_with_parent: Option<i32>,
    // Memory is that of the probe's own cgroup, which in a container is the container's. What is not the command's is looked at,
    // and never ended.
    /// Measure all processes of the launcher that started the probe, such as torchrun or mpirun, and the container's memory.
    #[arg(long, hide = true)]
    pub launched: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// What one command used, and how it ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    pub schema_version: u32,
    pub ending: Ending,
    /// From the start of the command to the end of its main process; where the probe ended it or memory ran out, to the end of its last process.
    pub wall_seconds: Seconds,
    /// User and system time of the whole tree.
    pub cpu_seconds: Seconds,
    pub usage: Usage,
    /// How often the whole tree was read, at 2 Hz.
    pub samples: u64,
    /// Absent if no directory was requested at `/opt/ml`.
    pub opt_ml: Option<OptMl>,
    /// In a training job's container; absent elsewhere.
    pub container_host: Option<ContainerHost>,
    /// By channel, which of its files the command or what it started opened, the first [`MOST_NAMED`]. Without channels of which it
    /// is not known: they are no folders of files, they could not be watched, or a launcher started others before the probe.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files_opened: BTreeMap<String, BTreeSet<String>>,
    /// Processes that outlived the command's main process, and were ended.
    pub survivors_ended: u32,
    /// The busiest of these, where they worked on or had taken most of the CPU time: the command did not wait for its work.
    pub left_running: Option<String>,
    /// Of the host, or of the container that the probe runs in; absent if `/proc/meminfo` cannot be read.
    pub memory_total: Option<Bytes>,
    /// The number of cores that is 100 % CPU: the online cores that the probe may use, or the container's CPU quota.
    pub cores: f64,
    /// Cautions about the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A host of a training job, by its container's `resourceconfig.json`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContainerHost {
    /// `algo-1`, `algo-2`, ...
    pub name: String,
    /// Of machines of one type: `homogeneousCluster`. Absent where the file names none.
    pub group: Option<String>,
}

/// How the command ended. If the probe ended it, the variant is the reason, however the command handled the signal.
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
    /// It exceeded `max_runtime`.
    TimedOut,
    /// The probe was asked to stop, by this signal or because its parent had ended (15).
    Stopped {
        signal: i32,
    },
    /// The kernel's OOM killer ended it, or the probe did because the host was about to run out of memory.
    OutOfMemory,
}

/// Whether the requested directory was mounted at `/opt/ml`.
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
            Ending::OutOfMemory => 137,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}
