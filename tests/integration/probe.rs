//! `probe -- CMD`: the command's own ending, and one JSON line at the end.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::project::{Finished, Project};

fn last_line(finished: &Finished) -> Value {
    serde_json::from_str(finished.stdout.lines().last().unwrap()).unwrap()
}

#[test]
fn the_commands_output_and_code_pass_through() {
    let project = Project::empty();
    let probed = project
        .run(&["probe", "--", "sh", "-c", "echo hello; exit 7"])
        .ended_with(7);
    assert!(probed.stdout.starts_with("hello\n"));
    let report = last_line(&probed);
    assert_eq!(report["ending"]["code"], 7);
    assert!(report["wall_seconds"].as_f64().unwrap() > 0.0);
    assert!(report["usage"]["memory"]["bytes"].as_u64().is_some());
}

#[test]
fn a_limit_ends_the_command_as_timeout_does() {
    let project = Project::empty();
    let probed = project
        .run(&["probe", "--max-runtime", "1s", "--", "sleep", "60"])
        .ended_with(124);
    assert_eq!(last_line(&probed)["ending"]["kind"], "timed_out");
}

#[test]
fn a_command_that_is_not_there_ends_as_env_does() {
    Project::empty()
        .run(&["probe", "--", "no-such-program"])
        .ended_with(127)
        .complained("command `no-such-program` was not found on PATH");
}

/// In a training container the probe has the environment of the job.
#[test]
fn a_variable_of_the_job_does_not_steer_the_probe() {
    let project = Project::empty();
    let script = "echo $CANARY_GATE_QUIET; echo loudly >&2";
    let probed = project.run_with(&["probe", "--", "sh", "-c", script], |command| {
        command.env("CANARY_GATE_QUIET", "loud");
    });
    assert!(probed.ended_with(0).stdout.starts_with("loud\n"));
}

#[test]
fn memory_is_what_the_whole_tree_holds() {
    let project = Project::empty().file(
        "hold.py",
        "import time\nheld = bytearray(b'x') * (60 << 20)\ntime.sleep(1.5)\n",
    );
    let script = "python3 hold.py & python3 hold.py & wait";
    let report = last_line(
        &project
            .run(&["probe", "--", "sh", "-c", script])
            .ended_with(0),
    );
    let bytes = report["usage"]["memory"]["bytes"].as_u64().unwrap();
    assert!((120 << 20..170 << 20).contains(&bytes), "{report}");
}

/// A canary with the rights to may leave the cgroup that it was started in.
#[test]
fn memory_is_counted_where_a_process_leaves_its_cgroup() {
    let project = Project::empty().file(
        "hold.py",
        "import time\nheld = bytearray(b'x') * (600 << 20)\ntime.sleep(1.5)\n",
    );
    let script =
        "echo $$ > /sys/fs/cgroup/memory/cgroup.procs || echo $$ > /sys/fs/cgroup/cgroup.procs
python3 hold.py";
    let probed = project.run(&["probe", "--", "sh", "-c", script]);
    let report = last_line(&probed.ended_with(0));
    let bytes = report["usage"]["memory"]["bytes"].as_u64().unwrap();
    assert!((600 << 20..650 << 20).contains(&bytes), "{report}");
}

/// A command that sleeps waits for no CPU, however busy the machine is: what it takes is its own.
#[test]
fn a_command_that_sleeps_beside_busy_work_has_lost_nothing() {
    let project = Project::empty();
    let program = env!("CARGO_BIN_EXE_canary-gate");
    let script = format!(
        "others=
for other in 1 2 3 4; do timeout 10 sh -c 'while :; do :; done' & others=\"$others $!\"; done
{program} probe -- sleep 2
kill $others"
    );
    let probed = project.shell(&script).ended_with(0);
    let report = last_line(&probed);
    let waited = report["usage"]["cpu_pressure_percent"]["mean"].as_f64();
    assert!(waited.is_none_or(|percent| percent < 25.0), "{report}");
}

#[test]
fn memory_that_is_locked_is_memory() {
    let project = Project::empty().file(
        "hold.py",
        "\
import ctypes, mmap, time
with open('weights', 'w+b') as file:
    file.write(b'x' * (300 << 20))
    file.flush()
    held = mmap.mmap(file.fileno(), 0)
    assert ctypes.CDLL(None).mlockall(3) == 0
    time.sleep(1.5)
",
    );
    let probed = project.run(&["probe", "--", "python3", "hold.py"]);
    if probed.stderr.contains("AssertionError") {
        return eprintln!("skipped: no memory can be locked here");
    }
    let report = last_line(&probed.ended_with(0));
    let bytes = report["usage"]["memory"]["bytes"].as_u64().unwrap();
    assert!(bytes >= 300 << 20, "{report}");
}

#[test]
fn gpus_are_asked_through_nvidia_smi() {
    let project = Project::empty().file(
        "bin/nvidia-smi",
        // More than a pipe holds: when all of it is written, the probe has read some of it.
        "#!/bin/sh\nyes \"$(printf '0, 40, 1000, 4000\\n1, 60, 3000, 4000')\" | head -n 20000\ntouch read\nexec sleep 600\n",
    );
    let smi = project.path("bin/nvidia-smi");
    std::fs::set_permissions(&smi, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        project.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let until_read = "while [ ! -e read ]; do sleep 0.01; done";
    let probed = project.run_with(&["probe", "--", "sh", "-c", until_read], |command| {
        command.env("PATH", path);
    });
    let report = last_line(&probed.ended_with(0));
    assert_eq!(report["usage"]["gpu_percent"]["mean"], 50.0, "{report}");
    assert_eq!(
        report["usage"]["gpu_memory_percent"]["mean"], 50.0,
        "{report}"
    );
    // The fullest GPU.
    let peak = &report["usage"]["gpu_memory"];
    assert_eq!(peak["percent"], 75.0, "{report}");
    assert_eq!(peak["bytes"].as_u64(), Some(3000 << 20), "{report}");
}
