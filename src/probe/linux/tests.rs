//! The probe against real commands.
//!
//! The probe changes its process and ends what descends from it, so each test runs it in a process of its own: this test
//! binary again, asked for [`the_probe_itself`] alone.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::*;
use crate::units::Percent;

const OPTIONS: &str = "CANARY_GATE_TEST_PROBE";

/// The other side of [`Probe`].
#[test]
#[ignore = "the body of a child process of the other tests"]
fn the_probe_itself() {
    let text = std::env::var(OPTIONS).expect("started by another test only");
    let asked: Value = serde_json::from_str(&text).unwrap();
    let path = |key: &str| asked[key].as_str().map(PathBuf::from);
    let seconds = |key: &str| asked[key].as_f64().map(Seconds);
    let mut options = ProbeOptions::new(
        asked["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| OsString::from(word.as_str().unwrap()))
            .collect(),
    );
    options.output = Destination::File(path("output").expect("a file"));
    options.opt_ml = path("opt_ml");
    options.host = path("hosts_file").map(|hosts_file| NamedHost {
        name: "algo-2".to_owned(),
        hosts_file,
    });
    options.max_runtime = seconds("max_runtime");
    options.grace = seconds("grace").unwrap_or(DEFAULT_GRACE);
    let with_parent = asked["end_with_parent"] == true;
    options.end_with_parent = with_parent.then(|| nix::unistd::getppid().as_raw());
    if asked["cgroup"] == false {
        options.cgroup = CgroupUse::Never;
    }
    options.gpu = path("gpu").map_or(GpuSource::None, GpuSource::Program);
    if let Err(error) = run(&options) {
        eprintln!("error: {error}");
    }
}

/// A probe to be run, with its report in a folder of its own.
struct Probe {
    folder: tempfile::TempDir,
    options: Value,
}

impl Probe {
    fn new(command: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = json!({
            "command": command,
            "output": folder.path().join("report.json"),
        });
        Self { folder, options }
    }

    fn shell(script: &str) -> Self {
        Self::new(&["sh", "-c", script])
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.options[key] = value.into();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn process(&self) -> Command {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process
            .args([
                "--exact",
                "probe::linux::tests::the_probe_itself",
                "--ignored",
                "--nocapture",
            ])
            .env(OPTIONS, self.options.to_string())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        process
    }

    fn output(&self) -> Output {
        self.process().output().unwrap()
    }

    fn report(&self) -> ProbeReport {
        let output = self.output();
        self.written().unwrap_or_else(|| panic!("{output:?}"))
    }

    /// Asks the probe to stop once its command has written a line to the file `ready`.
    fn asked_to_stop(&self, signal: Signal, ready: &str) -> ProbeReport {
        let mut process = self.process().stdout(Stdio::null()).spawn().unwrap();
        wait_for(|| fs::read_to_string(self.path(ready)).is_ok_and(|text| text.ends_with('\n')));
        kill(Pid::from_raw(process.id().try_into().unwrap()), signal).unwrap();
        assert!(process.wait().unwrap().success());
        self.written().unwrap()
    }

    fn written(&self) -> Option<ProbeReport> {
        serde_json::from_slice(&fs::read(self.path("report.json")).ok()?).ok()
    }
}

fn wait_for(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !what() {
        assert!(Instant::now() < end, "it did not come");
        thread::sleep(Duration::from_millis(5));
    }
}

fn exists(pid: &str) -> bool {
    // A zombie has ended, too.
    fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_command_ends_with_its_own_code() {
    let report = Probe::shell("exit 7").report();
    assert_eq!(report.ending, Ending::Exited { code: 7 });
    assert_eq!(report.exit_code(), 7);
    assert_eq!(report.survivors_ended, 0);
    assert!(report.usage.memory.unwrap().bytes.unwrap().0 > 0);
}

#[test]
fn a_command_that_dies_by_a_signal_says_which() {
    let report = Probe::shell("kill -ABRT $$").report();
    assert_eq!(report.ending, Ending::Signaled { signal: 6 });
    assert_eq!(report.exit_code(), 134);
    // A SIGKILL that no OOM killer sent is what it is.
    let report = Probe::shell("kill -KILL $$").report();
    assert_eq!(report.ending, Ending::Signaled { signal: 9 });
}

#[test]
fn a_command_that_is_not_there_is_an_error_and_no_report() {
    let probe = Probe::new(&["trainx"]);
    let errors = String::from_utf8(probe.output().stderr).unwrap();
    assert!(
        errors.contains("error: command `trainx` was not found on PATH; "),
        "{errors}"
    );
    assert!(probe.written().is_none());
}

#[test]
fn the_time_limit_ends_a_command() {
    let report = Probe::new(&["sleep", "600"])
        .with("max_runtime", 0.3)
        .report();
    assert_eq!(report.ending, Ending::TimedOut);
    assert_eq!(report.exit_code(), 124);
}

#[test]
fn a_command_that_ignores_the_request_is_killed_with_all_its_children() {
    let probe =
        Probe::shell("trap '' TERM; sleep 600 & echo $! > child; while :; do sleep 0.05; done")
            .with("grace", 0.2);
    let ended = probe.asked_to_stop(Signal::SIGTERM, "child");
    assert_eq!(ended.ending, Ending::Stopped { signal: 15 });
    assert!(!exists(&fs::read_to_string(probe.path("child")).unwrap()));
}

#[test]
fn what_a_forking_command_leaves_behind_is_ended_and_counted() {
    // A double fork and a session of its own: nothing ties the daemon to the command but the subreaper.
    let probe = Probe::shell(
        "(setsid sh -c 'echo $$ > daemon; exec sleep 600' &) ; while [ ! -s daemon ]; do sleep 0.01; done; exit 0",
    );
    let report = probe.report();
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    assert_eq!(report.survivors_ended, 1);
    assert!(!exists(&fs::read_to_string(probe.path("daemon")).unwrap()));
}

#[test]
fn a_command_that_hops_from_process_to_process_is_caught() {
    // Each lives just long enough to start the next one; by number none would ever be there to be killed.
    let probe = Probe::shell(
        "trap '' TERM; hop() { echo > hopped; hop & exit 0; }; hop > /dev/null 2>&1 &
        while [ ! -e hopped ]; do sleep 0.01; done",
    );
    let report = probe.report();
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    assert!(probe.path("hopped").exists());
    assert_eq!(report.notes, Vec::<String>::new());
    // Whatever still hops would write it again; nothing comes of waiting too short but a failure that is not seen.
    fs::remove_file(probe.path("hopped")).unwrap();
    thread::sleep(Duration::from_millis(200));
    assert!(!probe.path("hopped").exists());
}

#[test]
fn a_probe_that_is_asked_to_stop_ends_its_command() {
    for (signal, number, code) in [(Signal::SIGTERM, 15, 143), (Signal::SIGINT, 2, 130)] {
        // That the trap runs also shows that the command does not inherit blocked signals.
        let probe = Probe::shell(
            "trap 'echo asked > asked; exit 3' TERM; echo $$ > pid; while :; do sleep 0.05; done",
        );
        let report = probe.asked_to_stop(signal, "pid");
        assert_eq!(report.ending, Ending::Stopped { signal: number });
        assert_eq!(report.exit_code(), code);
        assert!(probe.path("asked").exists());
        assert!(!exists(&fs::read_to_string(probe.path("pid")).unwrap()));
    }
}

#[test]
fn a_command_ends_with_the_parent_of_its_probe() {
    let probe = Probe::shell("echo $$ > pid; exec sleep 600").with("end_with_parent", true);
    let inner = probe.process();
    let mut parent = Command::new("sh")
        .args(["-c", "\"$@\" & wait", "sh"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env(OPTIONS, probe.options.to_string())
        .current_dir(probe.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(|| fs::read_to_string(probe.path("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    parent.kill().unwrap();
    assert_eq!(parent.wait().unwrap().signal(), Some(9));
    wait_for(|| probe.written().is_some());
    assert_eq!(
        probe.written().unwrap().ending,
        Ending::Stopped { signal: 15 }
    );
    assert!(!exists(&fs::read_to_string(probe.path("pid")).unwrap()));
}

/// A shell that takes a text of 64 MiB, however long that takes, and then holds it for so many seconds.
fn holding(seconds: f64) -> String {
    format!("x=$(head -c 64M /dev/zero | tr '\\0' x); sleep {seconds}")
}

#[test]
fn peak_memory_is_what_the_tree_held() {
    for cgroup in [true, false] {
        // Two samples and a little more.
        let report = Probe::shell(&holding(1.2)).with("cgroup", cgroup).report();
        let memory = report.usage.memory.unwrap();
        let mebibytes = memory.bytes.unwrap().0 / Bytes::MIB;
        assert!((64..200).contains(&mebibytes), "{memory:?}");
        if !cgroup {
            assert!(memory.source.starts_with("RSS of the process tree, "));
        }
    }
}

#[test]
fn cpu_time_of_short_children_counts() {
    // The shell's own account: what it took itself on the first line, what its children took on the second.
    let probe = Probe::shell(
        "i=0; while [ $i -lt 200 ]; do head -c 200k /dev/zero | cksum > /dev/null; i=$((i+1)); done; times > times",
    );
    let report = probe.report();
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    let account = fs::read_to_string(probe.path("times")).unwrap();
    let seconds = account.split_whitespace().map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    });
    let taken: f64 = seconds.sum();
    let (cpu, wall) = (report.cpu_seconds.0, report.wall_seconds.0);
    // Each of the four is counted in hundredths.
    assert!(cpu >= taken - 0.04, "{account}\n{report:?}");
    assert!(cpu <= wall * report.cores, "{report:?}");
    let share = report.usage.cpu_percent.unwrap().mean.0;
    assert!((share - cpu / wall / report.cores * 100.0).abs() < 0.01);
}

#[test]
fn a_gpu_is_read_through_a_program_like_nvidia_smi() {
    let folder = tempfile::tempdir().unwrap();
    let fake = |name: &str, script: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // More than a pipe holds: when all of it is written, the probe has read some of it.
    let good = fake(
        "good",
        r#"[ "$1" = --query-gpu=index,utilization.gpu,memory.used,memory.total ] || exit 2
        echo $$ > "$0.pid"
        yes "$(printf '0, 80, 1024, 4096\n1, 40, [N/A], 4096')" | head -n 20000
        touch "$0.read"
        exec sleep 600"#,
    );
    let until_read = |program: &str| format!("while [ ! -e {program}.read ]; do sleep 0.01; done");
    let report = Probe::shell(&until_read(&good))
        .with("gpu", good.as_str())
        .report();
    assert_eq!(report.usage.gpu_percent.unwrap().mean, Percent(60.0));
    assert_eq!(report.usage.gpu_memory_percent.unwrap().mean, Percent(25.0));
    assert_eq!(report.survivors_ended, 0);
    assert!(!exists(&fs::read_to_string(format!("{good}.pid")).unwrap()));

    let failing = fake(
        "failing",
        "yes NVIDIA-SMI has failed | head -n 20000; touch \"$0.read\"; exit 9",
    );
    let report = Probe::shell(&until_read(&failing))
        .with("gpu", failing.as_str())
        .report();
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    assert_eq!(report.usage.gpu_percent, None);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.ends_with("unreadable line: `NVIDIA-SMI has failed`"))
    );
}

#[test]
fn what_the_gpu_sampler_started_ends_with_it() {
    let probe = Probe::shell("while [ ! -e daemon ]; do sleep 0.01; done");
    let sampler = probe.path("nvidia-smi");
    let daemon = "trap '' TERM HUP; echo $$ > daemon.new; mv daemon.new daemon; exec sleep 600";
    let script =
        format!("#!/bin/sh\nsetsid sh -c \"{daemon}\" &\nexec sleep 600\n").replace("$$", "\\$\\$");
    fs::write(&sampler, script).unwrap();
    fs::set_permissions(&sampler, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = probe.folder.path().to_owned();
    let probe = probe.with("gpu", sampler.to_str().unwrap());
    let output = probe.process().current_dir(&folder).output().unwrap();
    assert!(probe.written().is_some(), "{output:?}");
    assert!(!exists(&fs::read_to_string(probe.path("daemon")).unwrap()));
}

#[test]
fn a_named_host_has_its_name_and_the_addresses_of_others() {
    let before = fs::read_to_string("/etc/hosts").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let hosts_file = folder.path().join("hosts");
    fs::write(&hosts_file, format!("127.1.2.3 algo-1\n{before}")).unwrap();
    let probe = Probe::shell("cat /etc/hosts > seen; uname -n > name")
        .with("hosts_file", hosts_file.to_str().unwrap());
    let report = probe.report();
    assert_eq!(fs::read_to_string("/etc/hosts").unwrap(), before);
    let read = |name: &str| fs::read_to_string(probe.path(name)).unwrap();
    match report.host_names.unwrap() {
        HostNames::Resolved => {
            assert_eq!(read("seen"), format!("127.1.2.3 algo-1\n{before}"));
            assert_eq!(read("name"), "algo-2\n");
        }
        HostNames::NotAllowed { reason } => {
            assert_eq!(report.ending, Ending::Exited { code: 0 });
            assert_eq!(read("seen"), before);
            eprintln!("skipped: host names: {reason}");
        }
    }
}

#[test]
fn a_directory_appears_at_opt_ml_and_nowhere_else() {
    let outside = || -> Vec<_> {
        let mut names: Vec<_> = fs::read_dir("/opt")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        names.sort();
        names
    };
    let before = outside();
    let sandbox = tempfile::tempdir().unwrap();
    fs::write(sandbox.path().join("input"), "data").unwrap();
    let probe = Probe::shell("ls -A /opt > listing; cat /opt/ml/input > /opt/ml/model")
        .with("opt_ml", sandbox.path().to_str().unwrap());
    let report = probe.report();
    assert_eq!(outside(), before);
    match report.opt_ml.unwrap() {
        OptMl::Mounted => {
            assert_eq!(report.ending, Ending::Exited { code: 0 });
            assert_eq!(
                fs::read_to_string(sandbox.path().join("model")).unwrap(),
                "data"
            );
            let mut inside: Vec<OsString> = fs::read_to_string(probe.path("listing"))
                .unwrap()
                .lines()
                .map(OsString::from)
                .collect();
            inside.retain(|name| name != "ml" || before.contains(name));
            inside.sort();
            assert_eq!(inside, before);
        }
        OptMl::NotAllowed { reason } => eprintln!("skipped: {reason}"),
    }
}

#[test]
fn the_report_is_not_written_through_a_link() {
    let probe = Probe::shell("touch ran");
    let target = probe.path("target");
    std::os::unix::fs::symlink(&target, probe.path("report.json")).unwrap();
    let errors = String::from_utf8(probe.output().stderr).unwrap();
    assert!(
        errors.contains("error: the report cannot be written to `"),
        "{errors}"
    );
    assert!(!target.exists());
    assert!(!probe.path("ran").exists());
}

#[test]
fn no_cgroup_is_left_behind() {
    let probe = Probe::shell("cat /proc/self/cgroup > cgroup");
    probe.report();
    let memberships = fs::read_to_string(probe.path("cgroup")).unwrap();
    for line in memberships
        .lines()
        .filter(|line| line.contains("canary-gate-"))
    {
        let (controller, path) = line.trim_start_matches(char::is_numeric)[1..]
            .split_once(':')
            .unwrap();
        let folder = Path::new("/sys/fs/cgroup")
            .join(controller)
            .join(&path[1..]);
        assert!(!folder.exists(), "{}", folder.display());
    }
}
