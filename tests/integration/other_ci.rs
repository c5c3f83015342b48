//! The examples for other CI systems: their commands, run by a shell as the system would, end with the gate's code and leave a report.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::project::{Finished, Project};

const PROGRAM: &str = env!("CARGO_BIN_EXE_canary-gate");
const TRAIN: &str = "sleep 0.$(ls \"$SM_CHANNEL_TRAIN\" | wc -l)";

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ci");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// The commands of GitLab's job, in one shell as its runner joins them.
fn of_gitlab() -> String {
    let file: Value = serde_saphyr::from_str(&example("gitlab-ci.yml")).unwrap();
    let lines = file["canary-gate"]["script"].as_array().unwrap();
    let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    format!("set -eu\n{}", lines.join("\n"))
}

/// Those of Buildkite's step, after the upload has made one dollar sign of two.
fn of_buildkite() -> String {
    let file: Value = serde_saphyr::from_str(&example("buildkite.yml")).unwrap();
    let command = file["steps"][0]["command"].as_str().unwrap();
    command.replace("$$", "$")
}

/// Those of Jenkins' stage.
fn of_jenkins() -> String {
    let file = example("Jenkinsfile");
    file.split("'''").nth(1).unwrap().to_owned()
}

/// A checkout of a branch that changes the training code, and an agent's tools beside it.
struct Build {
    project: Project,
    beside: TempDir,
}

/// The main branch has this budget of time.
fn build(budget: &str) -> Build {
    let spec = format!(
        "\
version: 1
backend: local
jobs:
  sums:
    training: {{command: [sh, train.sh], channels: {{train: {{uri: data}}}}}}
    instance: local
    canary: {{design: fixed, fractions: [10%, 20%, 50%], replicates: 1, max_share: 1000%}}
    budget: {{time: {budget}}}
"
    );
    let project = Project::empty()
        .file("canary-gate.yml", &spec)
        .file("train.sh", TRAIN)
        .data("data", 10)
        .committed();
    let beside = tempfile::tempdir().unwrap();
    let origin = beside.path().join("origin.git");
    let origin = origin.to_str().unwrap();
    project.git(&["clone", "--quiet", "--bare", ".", origin]);
    project.git(&["remote", "add", "origin", origin]);
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.write("train.sh", &format!("{TRAIN}; true"));
    project.commit("change the training");
    Build { project, beside }
}

impl Build {
    /// Runs the commands where `curl` hands out the program under test, and `buildkite-agent` keeps what it is given.
    fn run(&self, script: &str, checksum: &str) -> Finished {
        let tools = self.beside.path();
        symlink(PROGRAM, tools.join("program")).unwrap();
        let stub = |name: &str, text: &str| {
            let path = tools.join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        stub("curl", "cp \"$(dirname \"$0\")/program\" \"$3\"");
        stub(
            "buildkite-agent",
            "cat > \"$(dirname \"$0\")/annotation.md\"",
        );
        let path = std::env::var("PATH").unwrap();
        let root = self.project.root();
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .current_dir(root)
            .env_clear()
            .env("PATH", format!("{}:{path}", tools.display()))
            .env("HOME", root)
            .env("TMPDIR", tools)
            .env("CANARY_GATE_SHA256", checksum)
            .env("VERSION", "v0.1.0");
        for target in [
            "TARGET",
            "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
            "CHANGE_TARGET",
        ] {
            command.env(target, "main");
        }
        Finished::new(&command.output().unwrap(), root)
    }
}

#[test]
fn each_ends_with_the_gates_code_and_leaves_a_report() {
    let digest = Sha256::digest(fs::read(PROGRAM).unwrap());
    let checksum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    for script in [of_gitlab(), of_buildkite(), of_jenkins()] {
        for (budget, code, verdict) in [("10m", 0, "within budget"), ("0.2s", 10, "over budget")] {
            let build = build(budget);
            let run = build.run(&script, &checksum).ended_with(code);
            let report = build.project.read("report.md");
            assert!(report.contains(verdict), "{}{report}", run.seen());
            if script.contains("buildkite-agent") {
                let annotation = build.beside.path().join("annotation.md");
                assert_eq!(fs::read_to_string(annotation).unwrap(), report);
            }
        }
    }
}

#[test]
fn a_program_that_is_not_the_releases_is_not_started() {
    for script in [of_gitlab(), of_buildkite(), of_jenkins()] {
        let build = build("10m");
        let run = build
            .run(&script, &"0".repeat(64))
            .ended_with(1)
            .complained("did NOT match");
        assert!(!build.project.path("report.md").exists(), "{}", run.seen());
    }
}
