//! Training scripts that are really run: in the container contract of SageMaker, on the fake's machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{FIXED, JSON, created, edit, gate, project};
use crate::aws::{FakeAws, Timeline};
use crate::project::Project;

/// The quickstart's job on both backends: the same script and data, and budgets that say the same of both.
fn quickstart(backend: &str, budget: &str) -> Project {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    let code = if backend == "local" {
        "command: [python3, train.py]"
    } else {
        "image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      output: s3://canaries/out/"
    };
    let (data, instance, folder) = if backend == "local" {
        ("data", "local", "")
    } else {
        ("s3://data", "ml.m5.xlarge", "code/")
    };
    let spec = format!(
        "version: 1
backend: {backend}
region: us-east-1
jobs:
  digits:
    training:
      {code}
      hyperparameters: {{epochs: 20, hidden: 64, learning-rate: 0.01, seed: 1}}
      channels:
        train: {{uri: {data}/train/}}
        validation: {{uri: {data}/validation/, sample: false}}
    instance: {instance}
    canary: {{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 1, max_runtime: 5m}}
    budget: {budget}
"
    );
    let project = Project::empty().file("canary-gate.yml", &spec).file(
        &format!("{folder}train.py"),
        &std::fs::read_to_string(source.join("train.py")).unwrap(),
    );
    if backend == "local" {
        for (key, content) in quickstart_data() {
            std::fs::create_dir_all(project.path(&key).parent().unwrap()).unwrap();
            std::fs::write(project.path(&key), content).unwrap();
        }
    }
    project
}

/// Every data file of the quickstart, by its path below the example.
fn quickstart_data() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    let mut files = Vec::new();
    for channel in ["train", "validation"] {
        for entry in std::fs::read_dir(root.join("data").join(channel)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            files.push((
                format!("data/{channel}/{name}"),
                std::fs::read(entry.path()).unwrap(),
            ));
        }
    }
    files
}

fn aws_with_quickstart() -> FakeAws {
    let aws = FakeAws::start();
    aws.make_bucket("canaries");
    for (key, content) in quickstart_data() {
        aws.put_object("data", key.strip_prefix("data/").unwrap(), content);
    }
    aws.run_scripts(1.0);
    aws
}

#[test]
fn slow_the_quickstart_is_judged_on_sagemaker_as_it_is_locally() {
    // The owner says that it grows linearly: else other work on this machine may leave steeper growth open.
    let within = "{time: 12h, growth: linear}";
    for (budget, verdict, code) in [(within, "within", 0), ("{time: 1s}", "exceeded", 10)] {
        let local = quickstart("local", budget).run(JSON);
        let aws = aws_with_quickstart();
        let project = quickstart("sagemaker", budget);
        let there = gate(&project, &aws, JSON);
        assert_eq!(local.json()["verdict"], verdict, "{}", local.seen());
        assert_eq!(there.json()["verdict"], verdict, "{}", there.seen());
        assert_eq!((local.code, there.code), (code, code));
        // The same objects were drawn, by the same seed.
        let bytes = |run: &serde_json::Value| -> Vec<u64> {
            let measured = run["jobs"][0]["measurements"].as_array().unwrap();
            measured
                .iter()
                .map(|run| run["bytes"].as_u64().unwrap())
                .collect()
        };
        assert_eq!(bytes(&local.json()), bytes(&there.json()));
        assert_eq!(created(&aws).len(), 3);
        assert_eq!(aws.in_progress(), Vec::<String>::new());
    }
}

/// The memory of the first canary, which a probe that is sent measured.
pub(super) fn memory_by_the_probe(project: &Project, aws: &FakeAws, probe: &Path) -> Value {
    let run = project
        .run_with(JSON, |command| {
            aws.reach(command);
            command
                .env("CANARY_GATE_PACE", "0")
                .env("CANARY_GATE_PROBE", probe);
        })
        .ended_with(0);
    let memory = run.json()["jobs"][0]["measurements"][0]["usage"]["memory"].clone();
    let source = memory["source"].as_str().unwrap();
    assert!(source.contains("probe"), "{}", run.seen());
    memory
}

/// A static program that stands for a static build of the gate: it starts the one under test. `None` without a C compiler
/// that can link statically.
pub(super) fn static_probe(folder: &Path) -> Option<PathBuf> {
    let source = folder.join("probe.c");
    let program = folder.join("probe");
    let gate = env!("CARGO_BIN_EXE_canary-gate");
    std::fs::write(
        &source,
        format!("#include <unistd.h>\nint main(int c, char **v) {{ (void)c; execv(\"{gate}\", v); return 127; }}\n"),
    )
    .unwrap();
    let compiled = Command::new("gcc")
        .args(["-static", "-o"])
        .args([&program, &source])
        .output();
    compiled
        .is_ok_and(|output| output.status.success())
        .then_some(program)
}

#[test]
fn the_probe_is_in_the_container_by_default_and_trusted_before_cloudwatch() {
    let (project, aws) = project(FIXED);
    let Some(probe) = static_probe(project.root()) else {
        eprintln!("skipped: no C compiler here links statically");
        return;
    };
    aws.run_scripts(1.0);
    let reads = Project::READS_IN_PYTHON;
    let holds = "import time\nheld = bytearray(64 << 20)\nfor i in range(0, len(held), 4096): held[i] = 1\ntime.sleep(1.2)\n";
    project.write("code/train.py", &format!("{reads}{holds}"));
    let memory = memory_by_the_probe(&project, &aws, &probe);
    let peak = memory["bytes"].as_u64().unwrap();
    assert!((64 << 20..1 << 30).contains(&peak), "{peak}");
    let job = &aws.jobs()[0];
    assert_eq!(
        job.hyperparameter("sagemaker_program"),
        Some("\"canary_gate_entry.py\"")
    );
}

#[test]
fn a_plain_image_is_probed_around_its_own_command() {
    // One at a time: here they share a /tmp, which containers do not.
    let (project, aws) = project(&FIXED.replace(
        '}',
        ", probe: {command: [sh, -c, 'cat /opt/ml/input/data/train/* | wc -c; sleep 1.2']}}",
    ));
    let Some(probe) = static_probe(project.root()) else {
        eprintln!("skipped: no C compiler here links statically");
        return;
    };
    edit(
        &project,
        &[("      source_dir: code\n      entry_point: train.py\n", "")],
    );
    // The probe's own channel is no data.
    aws.train(|_| Timeline::completed());
    aws.run_scripts(1.0);
    memory_by_the_probe(&project, &aws, &probe);
}
