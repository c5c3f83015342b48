//! `probe -- CMD` against real commands: their own ending and output, what they used, and that nothing of them is left.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::project::{Finished, Project};

/// A shell's script under the probe, with these options.
fn probe(project: &Project, options: &[&str], script: &str) -> Finished {
    project.run(&[&["probe"], options, &["--", "sh", "-c", script]].concat())
}

fn report(finished: &Finished) -> Value {
    serde_json::from_str(finished.stdout.lines().last().unwrap()).unwrap()
}

/// The report of a script that ends well.
fn report_of(project: &Project, script: &str) -> Value {
    report(&probe(project, &[], script).ended_with(0))
}

fn mebibytes(report: &Value) -> u64 {
    report["usage"]["memory"]["bytes"].as_u64().unwrap() >> 20
}

fn wait_for(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !what() {
        assert!(Instant::now() < end, "it did not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process is there that wrote its number to a file; a zombie has ended, too.
fn is_running(project: &Project, file: &str) -> bool {
    let pid = project.read(file);
    fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

/// Asks the probe to stop once its command has written a line to the file `pid`.
fn asked_to_stop(options: &[&str], signal: Signal, script: &str) -> (Project, Value, Option<i32>) {
    let project = Project::empty();
    let options = [&["probe", "--output", "report"], options].concat();
    let mut command = project.gate(&[&options[..], &["--", "sh", "-c", script]].concat());
    let mut process = command.stdout(Stdio::null()).spawn().unwrap();
    let file = project.path("pid");
    wait_for(|| fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
    kill(Pid::from_raw(process.id().try_into().unwrap()), signal).unwrap();
    let code = process.wait().unwrap().code();
    let report = serde_json::from_str(&project.read("report")).unwrap();
    (project, report, code)
}

#[test]
fn a_command_has_its_own_output_and_ending() {
    for (options, script, code, ending) in [
        (
            &[][..],
            "echo hello; exit 7",
            7,
            json!({"kind": "exited", "code": 7}),
        ),
        (
            &[],
            "echo hello; kill -ABRT $$",
            134,
            json!({"kind": "signaled", "signal": 6}),
        ),
        // One that no OOM killer sent.
        (
            &[],
            "echo hello; kill -KILL $$",
            137,
            json!({"kind": "signaled", "signal": 9}),
        ),
        (
            &["--max-runtime", "0.3s"],
            "echo hello; sleep 600",
            124,
            json!({"kind": "timed_out"}),
        ),
    ] {
        let probed = probe(&Project::empty(), options, script).ended_with(code);
        assert!(probed.stdout.starts_with("hello\n"));
        let report = report(&probed);
        assert_eq!(report["ending"], ending);
        assert_eq!(report["survivors_ended"], 0);
        assert!(report["wall_seconds"].as_f64().unwrap() > 0.0);
        assert!(report["usage"]["memory"]["bytes"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_command_that_is_not_there_ends_as_env_does() {
    let run = Project::empty().run(&["probe", "--", "no-such-program"]);
    run.ended_with(127)
        .complained("command `no-such-program` was not found on PATH");
}

#[test]
fn the_report_is_not_written_through_a_link() {
    let project = Project::empty();
    symlink(project.path("target"), project.path("report")).unwrap();
    probe(&project, &["--output", "report"], "touch ran")
        .complained("the report cannot be written to `");
    assert!(!project.path("target").exists() && !project.path("ran").exists());
}

/// In a training container the probe has the environment of the job.
#[test]
fn a_variable_of_the_job_does_not_steer_the_probe() {
    let script = "echo $CANARY_GATE_QUIET; echo loudly >&2";
    let probed = Project::empty().run_with(&["probe", "--", "sh", "-c", script], |command| {
        command.env("CANARY_GATE_QUIET", "loud");
    });
    assert!(probed.ended_with(0).stdout.starts_with("loud\n"));
}

#[test]
fn a_command_that_ignores_the_request_is_killed_with_all_its_children() {
    let script = "trap '' TERM; sleep 600 & echo $! > pid; while :; do sleep 0.05; done";
    let (project, report, _) = asked_to_stop(&["--grace", "0.2s"], Signal::SIGTERM, script);
    assert_eq!(report["ending"], json!({"kind": "stopped", "signal": 15}));
    assert!(!is_running(&project, "pid"));
}

#[test]
fn a_probe_that_is_asked_to_stop_ends_its_command() {
    for (signal, number) in [(Signal::SIGTERM, 15), (Signal::SIGINT, 2)] {
        // That the trap runs also shows that the command does not inherit blocked signals.
        let script =
            "trap 'echo asked > asked; exit 3' TERM; echo $$ > pid; while :; do sleep 0.05; done";
        let (project, report, code) = asked_to_stop(&[], signal, script);
        assert_eq!(
            report["ending"],
            json!({"kind": "stopped", "signal": number})
        );
        assert_eq!(code, Some(128 + number));
        assert!(project.path("asked").exists());
        assert!(!is_running(&project, "pid"));
    }
}

#[test]
fn what_a_forking_command_leaves_behind_is_ended_and_counted() {
    // A double fork and a session of its own: nothing ties the daemon to the command but the subreaper.
    let script = "(setsid sh -c 'echo $$ > daemon; exec sleep 600' &) ; while [ ! -s daemon ]; do sleep 0.01; done";
    let project = Project::empty();
    assert_eq!(report_of(&project, script)["survivors_ended"], 1);
    assert!(!is_running(&project, "daemon"));
}

#[test]
fn a_command_that_hops_from_process_to_process_is_caught() {
    // Each lives just long enough to start the next one; by number none would ever be there to be killed.
    let script = "trap '' TERM; hop() { echo > hopped; hop & exit 0; }; hop > /dev/null 2>&1 &
        while [ ! -e hopped ]; do sleep 0.01; done";
    let project = Project::empty();
    let report = report_of(&project, script);
    assert!(!report.to_string().contains("did not end"), "{report}");
    // Whatever still hops would write it again; nothing comes of waiting too short but a failure that is not seen.
    fs::remove_file(project.path("hopped")).unwrap();
    thread::sleep(Duration::from_millis(200));
    assert!(!project.path("hopped").exists());
}

#[test]
fn a_command_ends_with_the_parent_of_its_probe() {
    let project = Project::empty();
    let gate = env!("CARGO_BIN_EXE_canary-gate");
    let script = format!(
        "{gate} probe --output report --end-with-parent $$ -- sh -c 'echo $$ > pid; exec sleep 600' &
        while [ ! -s pid ]; do sleep 0.01; done; kill -9 $$"
    );
    project.shell(&script);
    let written = || fs::read_to_string(project.path("report")).unwrap_or_default();
    wait_for(|| written().ends_with('\n'));
    let report: Value = serde_json::from_str(&written()).unwrap();
    assert_eq!(report["ending"], json!({"kind": "stopped", "signal": 15}));
    assert!(!is_running(&project, "pid"));
}

/// Holds so many MiB for longer than it takes to the next sample.
fn holding(mebibytes: u64) -> Project {
    let text =
        format!("import time\nheld = bytearray(b'x') * ({mebibytes} << 20)\ntime.sleep(0.8)\n");
    Project::empty().file("hold.py", &text)
}

#[test]
fn memory_is_what_the_whole_tree_holds() {
    let gate = env!("CARGO_BIN_EXE_canary-gate");
    let script = "python3 hold.py & python3 hold.py & wait";
    for (start, source) in [
        ("", ""),
        // Without a cgroup.
        (
            "unshare --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec \"$0\" \"$@\"'",
            "RSS of the process tree, ",
        ),
    ] {
        let probed = holding(60).shell(&format!("{start} {gate} probe -- sh -c '{script}'"));
        if probed.stderr.contains("unshare") {
            eprintln!("skipped: no mount namespace here");
            continue;
        }
        let report = report(&probed.ended_with(0));
        assert!((120..170).contains(&mebibytes(&report)), "{report}");
        let said = report["usage"]["memory"]["source"].as_str().unwrap();
        assert!(said.starts_with(source), "{report}");
    }
}

/// A canary with the rights to may leave the cgroup that it was started in.
#[test]
fn memory_is_counted_where_a_process_leaves_its_cgroup() {
    let script =
        "echo $$ > /sys/fs/cgroup/memory/cgroup.procs || echo $$ > /sys/fs/cgroup/cgroup.procs
python3 hold.py";
    let report = report_of(&holding(200), script);
    assert!((200..250).contains(&mebibytes(&report)), "{report}");
}

#[test]
fn memory_that_is_locked_is_memory() {
    let script = "\
import ctypes, mmap, time
with open('weights', 'w+b') as file:
    file.write(b'x' * (200 << 20))
    file.flush()
    held = mmap.mmap(file.fileno(), 0)
    assert ctypes.CDLL(None).mlockall(3) == 0
    time.sleep(0.8)
";
    let probed = probe(
        &Project::empty().file("hold.py", script),
        &[],
        "python3 hold.py",
    );
    if probed.stderr.contains("AssertionError") {
        return eprintln!("skipped: no memory can be locked here");
    }
    let report = report(&probed.ended_with(0));
    assert!(mebibytes(&report) >= 200, "{report}");
}

#[test]
fn cpu_time_of_short_children_counts() {
    // The shell's own account: what it took itself on the first line, what its children took on the second.
    let project = Project::empty();
    let script = "i=0; while [ $i -lt 100 ]; do head -c 200k /dev/zero | cksum > /dev/null; i=$((i+1)); done; times > times";
    let report = report_of(&project, script);
    let account = project.read("times");
    let seconds = account.split_whitespace().map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    });
    let taken: f64 = seconds.sum();
    let number = |value: &Value| value.as_f64().unwrap();
    let (cpu, wall) = (
        number(&report["cpu_seconds"]),
        number(&report["wall_seconds"]),
    );
    let cores = number(&report["cores"]);
    // Each of the four is counted in hundredths.
    assert!(cpu >= taken - 0.04, "{account}\n{report}");
    assert!(cpu <= wall * cores, "{report}");
    let share = number(&report["usage"]["cpu_percent"]["mean"]);
    assert!((share - cpu / wall / cores * 100.0).abs() < 0.01);
}

/// A command that sleeps waits for no CPU, however busy the machine is: what it takes is its own.
#[test]
fn a_command_that_sleeps_beside_busy_work_has_lost_nothing() {
    let program = env!("CARGO_BIN_EXE_canary-gate");
    let script = format!(
        "others=
for other in 1 2 3 4; do timeout 10 sh -c 'while :; do :; done' & others=\"$others $!\"; done
{program} probe -- sleep 1
kill $others"
    );
    let report = report(&Project::empty().shell(&script).ended_with(0));
    let waited = report["usage"]["cpu_pressure_percent"]["mean"].as_f64();
    assert!(waited.is_none_or(|percent| percent < 25.0), "{report}");
}

/// The report of a command that ends when this `nvidia-smi` has made the file `read`, and the probe's own folder.
fn with_smi(smi: &str) -> (Project, Value) {
    let project = Project::empty().file("bin/nvidia-smi", &format!("#!/bin/sh\n{smi}\n"));
    let file = project.path("bin/nvidia-smi");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        project.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let script = "while [ ! -e read ]; do sleep 0.01; done";
    let probed = project.run_with(&["probe", "--", "sh", "-c", script], |command| {
        command.env("PATH", path);
    });
    let report = report(&probed.ended_with(0));
    (project, report)
}

#[test]
fn gpus_are_asked_through_nvidia_smi() {
    // More than a pipe holds: when all of it is written, the probe has read some of it.
    let (project, report) = with_smi(
        r#"[ "$1" = --query-gpu=index,utilization.gpu,memory.used,memory.total ] || exit 2
        setsid sh -c "trap '' TERM HUP; echo \$\$ > daemon; exec sleep 600" &
        while [ ! -s daemon ]; do sleep 0.01; done
        echo $$ > pid
        yes "$(printf '0, 80, 1000, 4000\n1, 40, 3000, 4000\n2, 0, [N/A], 4000')" | head -n 21000
        touch read
        exec sleep 600"#,
    );
    let usage = &report["usage"];
    assert_eq!(usage["gpu_percent"]["mean"], 40.0, "{report}");
    assert_eq!(usage["gpu_memory_percent"]["mean"], 50.0, "{report}");
    // The fullest GPU.
    assert_eq!(usage["gpu_memory"]["percent"], 75.0, "{report}");
    assert_eq!(usage["gpu_memory"]["bytes"], 3000_u64 << 20, "{report}");
    assert_eq!(report["survivors_ended"], 0);
    // It ends with the command, and so does what it started.
    assert!(!is_running(&project, "pid") && !is_running(&project, "daemon"));

    let (_, report) = with_smi("yes NVIDIA-SMI has failed | head -n 20000; touch read; exit 9");
    assert_eq!(report["usage"].get("gpu_percent"), None);
    let said = "unreadable line: `NVIDIA-SMI has failed`";
    assert!(report["notes"].to_string().contains(said), "{report}");
}

#[test]
fn a_directory_appears_at_opt_ml_and_nowhere_else() {
    let outside = || -> Vec<_> {
        let entries = fs::read_dir("/opt").into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = outside();
    let project = Project::empty().file("sandbox/input", "data");
    let script = "ls -A /opt > listing; cat /opt/ml/input > /opt/ml/model";
    let probed = probe(&project, &["--opt-ml", "sandbox"], script);
    assert_eq!(outside(), before);
    let report = report(&probed);
    if report["opt_ml"]["kind"] != "mounted" {
        return eprintln!("skipped: {}", report["opt_ml"]);
    }
    probed.ended_with(0);
    assert_eq!(project.read("sandbox/model"), "data");
    let listing = project.read("listing");
    let mut inside: Vec<_> = listing.lines().map(std::ffi::OsString::from).collect();
    inside.retain(|name| name != "ml" || before.contains(name));
    inside.sort();
    assert_eq!(inside, before);
}

#[test]
fn no_cgroup_is_left_behind() {
    let project = Project::empty();
    report_of(&project, "cat /proc/self/cgroup > cgroup");
    for line in project
        .read("cgroup")
        .lines()
        .filter(|line| line.contains("canary-gate-"))
    {
        let parts: Vec<&str> = line.splitn(3, ':').collect();
        let folder = Path::new("/sys/fs/cgroup")
            .join(parts[1])
            .join(&parts[2][1..]);
        assert!(!folder.exists(), "{}", folder.display());
    }
}
