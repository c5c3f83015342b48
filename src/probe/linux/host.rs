//! The capacity of this host, in the units of the probe.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::thread::sched_getaffinity;

use crate::instance::Capacity;
use crate::units::Bytes;

use super::cgroup::Controller;
use super::gpu::{NVIDIA_SMI, printing};
use super::memory::HostMemory;
use super::{command, procfs};

const LONGEST_ANSWER: Duration = Duration::from_secs(5);

/// Cores, memory and GPUs of this host, or of the container that the process runs in.
pub fn host_capacity() -> Capacity {
    let controller = Controller::of_this_process("memory");
    let memory = memory_total(controller.as_ref());
    let tool = command::locate_tool(NVIDIA_SMI);
    let gpus = tool.map_or_else(Vec::new, |program| gpu_memories(&program));
    let are_alike = gpus.windows(2).all(|pair| pair[0] == pair[1]);
    Capacity {
        vcpus: whole(cores()),
        memory: memory.unwrap_or_default(),
        gpus: u32::try_from(gpus.len()).unwrap_or(u32::MAX),
        gpu_memory: gpus.first().copied().filter(|_| are_alike),
    }
}

/// The kind of this host on one line, which distinguishes measurements of different machines: processor, cores and memory, as
/// in `AMD EPYC 9R14, 16 cores, 32 GiB, 0 GPUs`. The processor is missing if /proc does not name it.
pub fn host_kind(capacity: &Capacity) -> String {
    let model = procfs::file("/proc/cpuinfo").ok().and_then(|text| {
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    format!(
        "{}{} cores, {} GiB, {} GPUs",
        model.map_or(String::new(), |model| format!("{model}, ")),
        capacity.vcpus,
        // Rounded, since the kernel reserves a part that differs from boot to boot.
        (capacity.memory.0 + Bytes::GIB / 2) / Bytes::GIB,
        capacity.gpus
    )
}

/// The memory of each GPU; empty without GPUs or an answer.
fn gpu_memories(program: &Path) -> Vec<Bytes> {
    const QUERY: [&str; 2] = ["--query-gpu=memory.total", "--format=csv,noheader,nounits"];
    let Ok(mut child) = printing(program, &QUERY).spawn() else {
        return Vec::new();
    };
    // A hung driver never answers.
    let deadline = Instant::now() + LONGEST_ANSWER;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                // Fails if it has just ended by itself.
                let _ = child.kill();
                let _ = child.wait();
                return Vec::new();
            }
        }
    };
    let answer = child.stdout.take().filter(|_| status.success());
    let answer = answer.and_then(|stdout| io::read_to_string(stdout).ok());
    (answer.unwrap_or_default().lines())
        .filter_map(|line| line.trim().parse::<u64>().ok())
        .map(|mebibytes| Bytes(mebibytes.saturating_mul(Bytes::MIB)))
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of cores is small and positive; a part of one counts as one"
)]
fn whole(cores: f64) -> u32 {
    cores.ceil().max(1.0) as u32
}

/// The host's memory, or its container's limit.
pub(super) fn memory_total(controller: Option<&Controller>) -> Option<Bytes> {
    let total = HostMemory::now()?.total;
    let limit = controller.and_then(Controller::memory_limit);
    Some(limit.map_or(total, |limit| total.min(limit)))
}

/// The cores that this process may use, as `SM_NUM_CPUS` counts them, or the container's CPU quota if that is less.
pub(super) fn cores() -> f64 {
    let usable = f64::from(sched_getaffinity(None).map_or(1, |set| set.count().max(1)));
    Controller::of_this_process("cpu")
        .and_then(|controller| controller.cpu_quota())
        .map_or(usable, |quota| quota.min(usable))
}
