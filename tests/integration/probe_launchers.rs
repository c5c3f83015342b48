//! The probe where a launcher starts the wrapper once for each process of a host: one of them speaks for all.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::project::{Finished, Project};

const ENTRY: &str = include_str!("../../src/backend/sagemaker/metrics/entry.py");
const MARK: &str = "6f2a9c";

/// A source folder as it lies in the container, with the probe.
fn source(script: &str) -> Project {
    let project = Project::empty()
        .file("canary_gate_entry.py", ENTRY)
        .file("train.py", script);
    std::fs::copy(
        env!("CARGO_BIN_EXE_canary-gate"),
        project.path("canary-gate-probe"),
    )
    .unwrap();
    project
}

/// The report of each marked line.
fn marked(stdout: &str) -> Vec<Value> {
    let start = format!("canary-gate-probe {MARK} ");
    let lines = stdout.lines();
    lines
        .filter_map(|line| Some(serde_json::from_str(line.split_once(&start)?.1).unwrap()))
        .collect()
}

/// Holds 60 MiB and computes for a while, and says in a file what it is and what it took.
const SCRIPT: &str = "\
import json, os, sys, time
held = bytearray(b'x') * (60 << 20)
while time.process_time() < 0.5:
    pass
time.sleep(0.8)
rank = os.environ.get('OMPI_COMM_WORLD_RANK') or os.environ['LOCAL_RANK']
with open('said-' + rank, 'w') as file:
    json.dump({'cpu': time.process_time(), 'argv': sys.argv, 'mark': os.environ.get('CANARY_GATE_MARK')}, file)
";

/// A memory cgroup that stands for the container's; `None` where none can be made.
struct Container(Option<PathBuf>);

impl Container {
    fn new() -> Self {
        let folder = PathBuf::from(format!(
            "/sys/fs/cgroup/memory/canary-gate-test-{}",
            std::process::id()
        ));
        match std::fs::create_dir(&folder) {
            Ok(()) => Self(Some(folder)),
            Err(error) => {
                eprintln!("no memory cgroup can be made here: {error}");
                Self(None)
            }
        }
    }

    /// A shell's text in it.
    fn run(&self, project: &Project, text: &str) -> Finished {
        let enter = self.0.as_ref();
        let enter = enter.map(|folder| format!("echo $$ > {}/cgroup.procs;", folder.display()));
        let output = Command::new("sh")
            .args(["-c", &format!("{}{text}", enter.unwrap_or_default())])
            .current_dir(project.root())
            .env("CANARY_GATE_ENTRY_POINT", "train.py")
            .env("CANARY_GATE_MARK", MARK)
            .output()
            .unwrap();
        Finished::new(&output, project.root())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// mpirun puts one before each piece that it reads.
fn without_tags(text: &str) -> String {
    let tag = regex::Regex::new(r"\[1,\d+\]<stdout>:").unwrap();
    tag.replace_all(text, "").into_owned()
}

/// What each process said of itself.
fn said(project: &Project, processes: usize) -> Vec<Value> {
    let ranks = 0..processes;
    let texts = ranks.map(|rank| project.read(&format!("said-{rank}")));
    texts
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect()
}

/// One line stands for all processes, each of which is counted once.
fn is_of_all_processes(
    project: &Project,
    finished: &Finished,
    container: &Container,
    processes: usize,
) {
    let said = said(project, processes);
    for one in &said {
        assert_eq!(one["argv"], serde_json::json!(["train.py", "--lr", "0.1"]));
        assert_eq!(one["mark"], Value::Null);
    }
    let reports = marked(&without_tags(&finished.stdout));
    assert_eq!(reports.len(), 1, "{}", finished.seen());
    let report = &reports[0];
    assert_eq!(report["ending"]["code"], 0, "{report}");
    let memory = &report["usage"]["memory"];
    let held = memory["bytes"].as_u64().unwrap();
    let least = u64::try_from(processes).unwrap() * (60 << 20);
    assert!(held >= least, "{report}");
    if container.0.is_some() {
        assert!(held < least + (60 << 20), "{report}");
        let source = memory["source"].as_str().unwrap();
        assert_eq!(source, "cgroup v1 memory.stat of all processes");
    }
    let taken: f64 = said.iter().map(|one| one["cpu"].as_f64().unwrap()).sum();
    let counted = report["cpu_seconds"].as_f64().unwrap();
    assert!(
        counted > taken * 0.9 && counted < taken * 1.5,
        "{taken} {report}"
    );
    assert!(
        !finished.stderr.contains("not measured"),
        "{}",
        finished.seen()
    );
}

#[test]
fn the_first_process_of_torchrun_s_speaks_for_the_host() {
    let project = source(SCRIPT);
    let container = Container::new();
    let launcher = "for rank in 0 1 2; do
  LOCAL_RANK=$rank python3 -u canary_gate_entry.py --lr 0.1 &
done; wait";
    let finished = container.run(&project, launcher).ended_with(0);
    is_of_all_processes(&project, &finished, &container, 3);
}

#[test]
fn the_first_process_of_mpirun_s_speaks_for_the_host() {
    let Some(mpirun) = mpirun() else { return };
    let project = source(SCRIPT);
    let container = Container::new();
    let finished = container
        .run(
            &project,
            &format!("{mpirun} -np 2 --tag-output python3 canary_gate_entry.py --lr 0.1"),
        )
        .ended_with(0);
    is_of_all_processes(&project, &finished, &container, 2);
}

/// As the training toolkit calls it, and what its images have.
fn mpirun() -> Option<String> {
    let version = Command::new("mpirun").arg("--version").output();
    let is_open = version.is_ok_and(|output| output.stdout.starts_with(b"mpirun (Open MPI)"));
    if !is_open {
        eprintln!("skipped: no mpirun of Open MPI here");
    }
    is_open.then(|| "mpirun --allow-run-as-root --oversubscribe".to_owned())
}

#[test]
fn a_process_that_fails_under_mpirun_fails_the_job_and_leaves_nothing() {
    let Some(mpirun) = mpirun() else { return };
    let script = "\
import os, sys, time
if os.environ['OMPI_COMM_WORLD_RANK'] == '1':
    time.sleep(0.5)
    sys.exit(3)
time.sleep(6174)
";
    let project = source(script);
    let container = Container::new();
    container
        .run(
            &project,
            &format!("{mpirun} -np 2 python3 canary_gate_entry.py --wait 6174"),
        )
        .ended_with(3);
    let left = Command::new("pgrep")
        .args(["-f", "wait 6174"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}

/// The toolkit starts MPI's processes through `mpi4py`, which ends all where one raises.
#[test]
fn the_script_is_started_with_the_launcher_s_own_options() {
    let module = "\
import runpy, sys
del sys.argv[0]
print('through mpi4py:', sys.argv[0], flush=True)
runpy.run_path(sys.argv[0], run_name='__main__')
";
    let project = source("print('trained')\n").file("mpi4py/__main__.py", module);
    for rank in [0, 1] {
        let launcher = format!(
            "OMPI_COMM_WORLD_LOCAL_RANK={rank} python3 -u -m mpi4py canary_gate_entry.py --lr 0.1"
        );
        let finished = Container(None).run(&project, &launcher).ended_with(0);
        let lines: Vec<&str> = finished.stdout.lines().take(3).collect();
        assert_eq!(
            lines,
            [
                "through mpi4py: canary_gate_entry.py",
                "through mpi4py: train.py",
                "trained"
            ]
        );
        assert_eq!(marked(&finished.stdout).len(), 1 - rank);
    }
}

#[test]
fn a_launcher_that_does_not_say_which_process_is_first_leaves_all_without_the_probe() {
    let project = source("print('trained')\n");
    let finished = Container(None)
        .run(&project, "PMI_RANK=0 python3 canary_gate_entry.py")
        .ended_with(0)
        .complained("a launcher does not say which process is the first of its host");
    assert_eq!(finished.stdout, "trained\n");
}

/// In another PID namespace, where the first process stands for the container's: a shell that SSH starts has none of its variables.
#[test]
fn variables_that_ssh_does_not_hand_on_are_those_of_the_first_process() {
    let project = source("print('trained')\n");
    std::fs::remove_file(project.path("canary-gate-probe")).unwrap();
    let unshared = "unshare --user --map-root-user --pid --mount-proc --fork";
    let script =
        "env -u CANARY_GATE_ENTRY_POINT -u CANARY_GATE_MARK python3 canary_gate_entry.py; exit $?";
    let container = Container(None);
    if container.run(&project, &format!("{unshared} true")).code != 0 {
        eprintln!("skipped: this machine allows no user namespaces");
        return;
    }
    let finished = container.run(&project, &format!("{unshared} sh -c '{script}'"));
    assert_eq!(finished.ended_with(0).stdout, "trained\n");
    container
        .run(
            &project,
            &format!("env -i PATH=\"$PATH\" {unshared} sh -c '{script}'"),
        )
        .ended_with(1)
        .complained(
            "the variable CANARY_GATE_ENTRY_POINT of the training job did not reach this process",
        );
}
