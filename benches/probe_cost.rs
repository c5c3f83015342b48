//! What the probe itself costs while it watches ten processes that hold 4 GiB together.
//!
//! `cargo bench --bench probe_cost` prints the CPU time and the memory of the probe's own process, with memory read from
//! a cgroup (where one is allowed) and from the process tree. The aim: 1 % of one core, 10 MB. It asserts nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench starts processes and reads /proc"
)]

use std::ffi::OsString;
use std::process::Command;
use std::{env, fs};

use canary_gate::probe::{ProbeOptions, run};
use canary_gate_core::units::Seconds;

/// Ten processes with 410 MiB each, for 20 seconds. They are started, not forked with their memory: nothing is shared.
const TREE: &str = r#"
import subprocess, sys
hold = "import time; held = bytearray(b'x') * (410 << 20); time.sleep(20)"
children = [subprocess.Popen([sys.executable, "-c", hold]) for _ in range(10)]
[child.wait() for child in children]
"#;

/// Hides the cgroups, so that memory is that of the processes.
const WITHOUT_CGROUPS: &str = "mount -t tmpfs none /sys/fs/cgroup && exec \"$0\"";

fn main() {
    if env::var_os("PROBE_COST").is_some() {
        return probe();
    }
    let this = env::current_exe().expect("this program has a path");
    for script in ["exec \"$0\"", WITHOUT_CGROUPS] {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(&this);
        let status = command.env("PROBE_COST", "1").status();
        assert!(status.expect("unshare is on PATH").success());
    }
}

fn probe() {
    let report = run(&ProbeOptions {
        command: ["python3", "-c", TREE].map(OsString::from).to_vec(),
        output: Some("/dev/null".into()),
        mark: None,
        gate_socket: false,
        max_runtime: None,
        grace: Seconds(10.0),
        opt_ml: None,
        read_only: Vec::new(),
        writes: None,
        shared: Vec::new(),
        closed: None,
        watched: None,
        end_with_parent: None,
        launched: false,
    })
    .expect("python3 is on PATH");
    // The first number is the time on a core in nanoseconds; of the main thread, and there is no other.
    let schedstat = fs::read_to_string("/proc/self/schedstat").expect("a process reads itself");
    let nanoseconds = schedstat.split(' ').next().unwrap_or_default();
    let cpu: f64 = nanoseconds.parse::<f64>().expect("a number") / 1e9;
    let status = fs::read_to_string("/proc/self/status").expect("a process reads itself");
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap_or_default();
    let memory = report.usage.memory.expect("every run has a peak");
    println!(
        "{}: {:.3} CPU seconds in {:.1} s = {:.2}% of one core; {}; {} samples; the tree held {}",
        memory.source,
        cpu,
        report.wall_seconds.0,
        cpu / report.wall_seconds.0 * 100.0,
        peak.split_whitespace().collect::<Vec<_>>().join(" "),
        report.samples,
        memory.bytes.unwrap_or_default(),
    );
}
