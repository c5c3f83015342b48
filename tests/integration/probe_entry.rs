//! The file that starts a training script under the probe inside a container: with the real probe, and without.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::project::{Finished, Project};

const ENTRY: &str = include_str!("../../src/backend/sagemaker/metrics/entry.py");
pub(super) const MARK: &str = "6f2a9c";
/// Says what it was started with, as one line of JSON.
const SCRIPT: &str = "\
import json, os, sys
known = ['MARKED', 'CANARY_GATE_MARK', 'CANARY_GATE_ENTRY_POINT', 'SM_USER_ENTRY_POINT', 'SM_MODULE_NAME']
print(json.dumps({'argv': sys.argv, 'cwd': os.getcwd(), 'env': {name: os.environ.get(name) for name in known}}))
sys.stdout.write('no end of line')
sys.exit(7)
";

pub(super) enum Probe {
    Real,
    Broken(&'static str),
    Missing,
}

/// A source folder as it lies in the container.
pub(super) fn source(entry_point: &str, script: &str, probe: &Probe) -> Project {
    let project = Project::empty()
        .file("canary_gate_entry.py", ENTRY)
        .file(entry_point, script);
    let file = project.path("canary-gate-probe");
    match probe {
        Probe::Real => {
            fs::copy(env!("CARGO_BIN_EXE_canary-gate"), &file).unwrap();
            // As an archive that lost its modes.
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        }
        Probe::Broken(content) => fs::write(&file, content).unwrap(),
        Probe::Missing => {}
    }
    project
}

fn command(project: &Project, entry_point: &str) -> Command {
    let mut command = Command::new("python3");
    command
        .args(["canary_gate_entry.py", "--lr", "0.1", "--name", "a b"])
        .current_dir(project.root())
        .env("CANARY_GATE_ENTRY_POINT", entry_point)
        .env("CANARY_GATE_MARK", MARK)
        .env("SM_USER_ENTRY_POINT", "canary_gate_entry.py")
        .env("SM_MODULE_NAME", "canary_gate_entry");
    command
}

fn run(project: &Project, entry_point: &str) -> Finished {
    let output = command(project, entry_point).output().unwrap();
    Finished::new(&output, project.root())
}

fn report(finished: &Finished) -> Option<Value> {
    marked(&finished.stdout).pop()
}

/// The report of each marked line.
pub(super) fn marked(stdout: &str) -> Vec<Value> {
    let start = format!("canary-gate-probe {MARK} ");
    let lines = stdout.lines();
    lines
        .filter_map(|line| Some(serde_json::from_str(line.split_once(&start)?.1).unwrap()))
        .collect()
}

#[test]
fn a_script_runs_under_the_probe_as_it_would_by_itself() {
    let plain = source("src/train.py", SCRIPT, &Probe::Missing);
    let probed = source("src/train.py", SCRIPT, &Probe::Real);
    let without = run(&plain, "src/train.py")
        .ended_with(7)
        .complained("not measured by the probe: it cannot run here");
    let with = run(&probed, "src/train.py").ended_with(7);

    let seen = |finished: &Finished| -> Value {
        let mut seen: Value =
            serde_json::from_str(finished.stdout.lines().next().unwrap()).unwrap();
        // The folders differ.
        seen["cwd"].take();
        seen
    };
    assert_eq!(seen(&with), seen(&without));
    let env = &seen(&with)["env"];
    assert_eq!(env["CANARY_GATE_MARK"], Value::Null);
    assert_eq!(env["CANARY_GATE_ENTRY_POINT"], Value::Null);
    assert_eq!(env["SM_USER_ENTRY_POINT"], "src/train.py");
    assert_eq!(env["SM_MODULE_NAME"], "src/train");
    assert_eq!(
        seen(&with)["argv"],
        serde_json::json!(["src/train.py", "--lr", "0.1", "--name", "a b"])
    );
    let report = report(&with).unwrap();
    assert_eq!(report["ending"]["code"], 7);
    assert!(report["usage"]["memory"]["bytes"].as_u64().unwrap() > 0);
    assert!(self::report(&without).is_none());
}

#[test]
fn a_probe_that_cannot_run_never_fails_the_training() {
    for broken in [
        "",
        "\u{7f}ELF and nothing else",
        "#!/no/such/interpreter\n",
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\nkill -SEGV $$\n",
    ] {
        let project = source("train.py", SCRIPT, &Probe::Broken(broken));
        let finished = run(&project, "train.py").ended_with(7);
        assert!(
            finished.stdout.contains("\"argv\": [\"train.py\""),
            "{broken:?}"
        );
    }
}

#[test]
fn shell_scripts_and_programs_run_by_their_first_line() {
    for (name, script) in [
        (
            "fit.sh",
            "#!/bin/bash\n[[ $1 == --lr ]] && echo \"$4\"; exit 3\n",
        ),
        ("fit.sh", "echo \"$4\"; exit 3\n"),
        ("train", "#!/bin/sh\necho \"$4\"; exit 3\n"),
    ] {
        for probe in [Probe::Real, Probe::Missing] {
            let project = source(name, script, &probe);
            let finished = run(&project, name).ended_with(3);
            assert!(
                finished.stdout.starts_with("a b\n"),
                "{name}: {}",
                finished.stdout
            );
            assert_eq!(report(&finished).is_some(), matches!(probe, Probe::Real));
        }
    }
}

#[test]
fn a_package_is_started_as_the_toolkit_does() {
    let script = "import sys; print(__spec__.name, len(sys.argv))\n";
    let project = source("train.py", script, &Probe::Real).file("setup.py", "");
    let finished = run(&project, "train.py").ended_with(0);
    assert!(
        finished.stdout.starts_with("train 5\n"),
        "{}",
        finished.stdout
    );
}

#[test]
fn a_signal_reaches_the_script_which_may_end_in_peace() {
    let script = "\
import signal, sys
def end(number, frame):
    print('saved', flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print('ready', flush=True)
signal.pause()
";
    for probe in [Probe::Real, Probe::Missing] {
        let project = source("train.py", script, &probe);
        let mut child = command(&project, "train.py")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
        assert_eq!(line, "ready\n");
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut rest).unwrap();
        let code = child.wait().unwrap().code();
        assert!(rest.starts_with("saved\n"), "{rest}");
        // The probe's exit code says that it was asked to stop.
        let expected = match probe {
            Probe::Real => 143,
            _ => 0,
        };
        assert_eq!(code, Some(expected));
    }
}
