//! The capacity of this host, in the units of the probe.

use std::collections::BTreeSet;
use std::fs;
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

/// The kind of this host on one line, which distinguishes measurements of different machines: processor, cores, memory and GPUs, as
/// in `AMD EPYC 9R14, 16 cores, 32 GiB, 0 GPUs`. What /proc does not name is missing: the processor, and models, as in `1 GPUs, Tesla T4`.
pub fn host_kind(capacity: &Capacity) -> String {
    let cpus = procfs::file("/proc/cpuinfo").unwrap_or_default();
    let cpus = String::from_utf8_lossy(&cpus);
    let model = field(&cpus, "model name").map(|model| format!("{model}, "));
    let gpus = gpu_models("/proc/driver/nvidia/gpus".as_ref());
    let gpus: String = gpus.iter().map(|model| format!(", {model}")).collect();
    format!(
        "{}{} cores, {} GiB, {} GPUs{}",
        model.unwrap_or_default(),
        capacity.vcpus,
        // Rounded, since the kernel reserves a part that differs from boot to boot.
        (capacity.memory.0 + Bytes::GIB / 2) / Bytes::GIB,
        capacity.gpus,
        gpus
    )
}

/// The first `name: value` of a file in /proc.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

/// The models of GPUs as NVIDIA's driver names them, in a folder with one for each.
fn gpu_models(folder: &Path) -> BTreeSet<String> {
    let gpus = fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = gpus.filter_map(|gpu| fs::read_to_string(gpu.path().join("information")).ok());
    let model = |text: String| Some(field(&text, "Model")?.to_owned());
    texts.filter_map(model).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_of_gpus_are_named_as_the_driver_has_them() {
        let folder = tempfile::tempdir().unwrap();
        for (bus, model) in [
            ("01", "Tesla T4"),
            ("02", "NVIDIA A10G"),
            ("03", "Tesla T4"),
        ] {
            let gpu = folder.path().join(bus);
            fs::create_dir(&gpu).unwrap();
            let text = format!("Model: \t\t {model}\nIRQ:   \t\t 11\nGPU UUID: \t GPU-{bus}\n");
            fs::write(gpu.join("information"), text).unwrap();
        }
        let named = Vec::from_iter(gpu_models(folder.path()));
        assert_eq!(named, ["NVIDIA A10G", "Tesla T4"]);
        assert!(gpu_models("/no/such".as_ref()).is_empty());
    }
}
