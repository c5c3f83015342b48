//! The probe's functions on systems other than Linux, where it cannot measure. A call of them touches nothing.

use std::io;
use std::thread;

use super::{ProbeError, ProbeOptions, ProbeReport};
use crate::instance::Capacity;
use crate::units::Bytes;

/// Runs nothing.
///
/// # Errors
///
/// Always.
pub fn run(_: &ProbeOptions) -> Result<ProbeReport, ProbeError> {
    Err(ProbeError::NotLinux)
}

/// Adopts nothing.
///
/// # Errors
///
/// Always: there are no child subreapers.
pub fn adopt_orphans() -> io::Result<Vec<i32>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Ends nothing, for nothing was started.
pub fn end_orphans(_: &[i32]) {}

/// There is no `/proc` whose files could be closed to others.
pub fn keep_private() {}

/// Cores only: no canary runs here, so nothing is compared with the memory.
pub fn host_capacity() -> Capacity {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    Capacity {
        vcpus: u32::try_from(cores).unwrap_or(u32::MAX),
        memory: Bytes(0),
        gpus: 0,
        gpu_memory: None,
    }
}

/// It is not known how long something waited for a CPU.
pub fn cpu_pressure() -> Option<std::time::Duration> {
    None
}

/// The kind of this host on one line.
pub fn host_kind(capacity: &Capacity) -> String {
    format!("{}, {} cores", std::env::consts::OS, capacity.vcpus)
}
