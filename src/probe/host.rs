//! What this host has, in the same terms that the probe measures in.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::instance::Capacity;
use crate::units::Bytes;

use super::GpuSource;
use super::cgroup::Controller;
use super::memory::HostMemory;
use super::procfs::Reader;
use super::run::{cores, gpu_program};

/// Cores, memory and GPUs of this host, or of the container that the process runs in.
pub fn host_capacity() -> Capacity {
    let total = HostMemory::now(&mut Reader::default()).map_or(0, |memory| memory.total);
    let limit =
        Controller::of_this_process("memory").and_then(|controller| controller.memory_limit());
    let gpus = gpu_program(&GpuSource::NvidiaSmiOnPath)
        .map_or_else(Vec::new, |program| gpu_memories(&program));
    Capacity {
        vcpus: whole(cores()),
        memory: Bytes(limit.map_or(total, |limit| limit.min(total))),
        gpus: u32::try_from(gpus.len()).unwrap_or(u32::MAX),
        gpu_memory: gpus.into_iter().reduce(|sum, memory| sum + memory),
    }
}

/// The memory of each GPU; empty where there is none, or it does not answer.
fn gpu_memories(program: &Path) -> Vec<Bytes> {
    let output = Command::new(program)
        .args(["--query-gpu=memory.total", "--format=csv,noheader,nounits"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| line.trim().parse::<u64>().ok())
            .map(|mebibytes| Bytes(mebibytes.saturating_mul(Bytes::MIB)))
            .collect(),
        _ => Vec::new(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of cores is small and positive; a part of one counts as one"
)]
fn whole(cores: f64) -> u32 {
    cores.ceil().max(1.0) as u32
}
