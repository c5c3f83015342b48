//! Local jobs that a launcher starts: mpirun of this machine, and a torchrun that a test plays.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::project::Project;

fn spec(distribution: &str, instance: &str) -> String {
    Project::SPEC
        .replace(
            "[sh, train.sh]",
            &format!("[python3, train.py]\n      distribution: {distribution}"),
        )
        .replace("instance: local", &format!("instance: {instance}"))
}

/// Leaves what each process is in `seen-N`.
fn project(distribution: &str, instance: &str) -> Project {
    let project = Project::empty()
        .data("data", 100)
        .file("canary-gate.yml", &spec(distribution, instance));
    let look = format!(
        "import os\nrank = os.environ.get('OMPI_COMM_WORLD_RANK') or os.environ['RANK']\nopen('{}/seen-' + rank, 'w').write(os.environ['SM_CURRENT_HOST'])\n",
        project.root().display()
    );
    project.file("train.py", &format!("{}{look}", Project::READS_IN_PYTHON))
}

#[test]
fn mpirun_starts_the_processes_of_a_local_job() {
    let is_there = Command::new("mpirun").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: no mpirun here");
        return;
    }
    let project = project("{mpi: {processes_per_host: 3}}", "local");
    project.run(&["run", "--all"]).ended_with(0);
    for rank in 0..3 {
        assert_eq!(project.read(&format!("seen-{rank}")), "algo-1");
    }
}

#[test]
fn torchrun_starts_a_process_on_each_host() {
    let project = project("{torchrun: {}}", "2x local");
    // Of its words it takes the number of the host, and the script.
    let torchrun = "#!/bin/sh\nwhile [ \"$1\" != --node_rank ]; do shift; done\nexport RANK=$2\nshift 2\nexec python3 \"$@\"\n";
    let project = project.file("bin/torchrun", torchrun);
    let file = project.path("bin/torchrun");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        project.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let run = project.run_with(&["run", "--all"], |command| {
        command.env("PATH", &path);
    });
    run.ended_with(0);
    assert_eq!(project.read("seen-0"), "algo-1");
    assert_eq!(project.read("seen-1"), "algo-2");
}

#[test]
fn a_launcher_that_is_not_there_is_named() {
    let project = project("{torchrun: {}}", "local");
    let empty = project.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let path = format!("{}:/usr/bin:/bin", empty.display());
    let plan = project.run_with(&["plan", "--all"], |command| {
        command.env("PATH", &path);
    });
    assert!(
        plan.ended_with(0).stdout.contains(
            "note            `torchrun`, which training.distribution asks for, is not on the PATH of this machine, so canaries cannot start here"
        )
    );
    let run = project.run_with(&["run", "--all"], |command| {
        command.env("PATH", &path);
    });
    run.ended_with(1)
        .complained("command `torchrun` was not found on PATH");
}
