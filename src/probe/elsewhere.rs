//! The probe's functions on systems other than Linux, where it cannot measure. A call of them touches nothing.

use std::ffi::OsStr;
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

/// Whatever is there, nothing is started.
pub fn is_on_path(_: &OsStr, _: Option<&OsStr>) -> bool {
    true
}

/// It is not known how long something waited for a CPU.
pub fn cpu_pressure() -> Option<std::time::Duration> {
    None
}

/// The kind of this host on one line.
pub fn host_kind(capacity: &Capacity) -> String {
    format!("{}, {} cores", std::env::consts::OS, capacity.vcpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_run_and_the_refusal_says_where_it_can_be() {
        keep_private();
        end_orphans(&[]);
        assert!(is_on_path("torchrun".as_ref(), None));
        assert_eq!((cpu_pressure(), adopt_orphans().ok()), (None, None));
        assert!(host_kind(&host_capacity()).ends_with(" cores"));
        let _ = run as fn(&ProbeOptions) -> Result<ProbeReport, ProbeError>;
        assert_eq!(
            ProbeError::NotLinux
                .to_string()
                .replace(std::env::consts::OS, "macos"),
            "a command can be measured on Linux only, and this is macos: memory and CPU are read from Linux's /proc; \
             measure in a Linux container or on a Linux machine"
        );
    }
}
