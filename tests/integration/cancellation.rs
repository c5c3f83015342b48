//! Ctrl-C and SIGTERM end every child tree, and what was measured stays.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::project::Project;

/// A script whose second and later canaries never end by themselves; `marker` is how long they sleep at a time, and how
/// they are found.
fn second_hangs(marker: &str) -> String {
    format!(
        "if [ -e \"$FIRST_DONE\" ]; then (setsid sleep {marker} &); trap '' TERM; while :; do sleep {marker}; done; fi\n: > \"$FIRST_DONE\"\n"
    )
}

/// Whether a process names the text in its command line.
fn is_named(text: &str) -> bool {
    let output = Command::new("ps")
        .args(["-A", "-ww", "-o", "args"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).contains(text)
}

fn still_running(marker: &str) -> bool {
    is_named(&format!("sleep {marker}"))
}

/// Starts a run, waits until its first canary has ended, and signals it. Returns its exit code; a killed process has none.
fn signalled(project: &Project, signal: Signal) -> Option<i32> {
    let flag = project.path("first-done");
    project.write(
        "canary-gate.yml",
        &Project::SPEC.replace(
            "      channels:\n",
            &format!(
                "      environment: {{FIRST_DONE: {}}}\n      channels:\n",
                flag.display()
            ),
        ),
    );
    let mut child = project
        .gate(&["run", "--all", "--measurements", "runs.jsonl"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    for line in stderr.lines().map_while(Result::ok) {
        if line.contains("canary 1/6") {
            kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        }
    }
    child.wait().unwrap().code()
}

fn work_folders(project: &Project) -> usize {
    let folders = std::fs::read_dir(project.path(".canary-gate/work"));
    folders.unwrap().count()
}

#[test]
fn signals_end_every_tree_and_keep_what_was_measured() {
    for (signal, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 143),
    ] {
        let project = Project::with_script(&second_hangs("4179"));
        assert_eq!(signalled(&project, signal), Some(code));
        assert!(!still_running("4179"));
        let kept = project.recorded("canary");
        assert_eq!(kept[0]["outcome"]["kind"], "completed", "{kept:?}");
        let lines = project.read("runs.jsonl");
        assert!(lines.contains("completed"), "{lines}");
        assert_eq!(work_folders(&project), 0);
    }
}

#[test]
fn a_killed_gate_leaves_nothing_running_and_the_next_start_tidies_up() {
    let project = Project::with_script(&second_hangs("4279"));
    assert_eq!(signalled(&project, Signal::SIGKILL), None);
    // The probe, which names the project in its command line, ends its tree when its gate is gone, and then itself; it
    // may need its grace period for a script that ignores SIGTERM.
    let probe = project.root().to_str().unwrap();
    for _ in 0..300 {
        if !is_named(probe) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(!is_named(probe));
    assert!(!still_running("4279"));
    assert_eq!(work_folders(&project), 1);
    project.write("train.sh", "true");
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    assert_eq!(work_folders(&project), 0);
}
