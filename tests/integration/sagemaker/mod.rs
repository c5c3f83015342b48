//! The gate on SageMaker, played by the fake AWS: the real binary, from the spec to the report.

pub(crate) mod clean_up;
mod credentials;
mod gate;
mod groups;
mod launchers;
mod listing;
mod memory;
mod rows;
mod scripts;
mod shapes;
mod side_by_side;

use std::process::{Child, Command, Stdio};

use crate::aws::{FakeAws, Timeline};
use crate::project::{Finished, Project};

/// The spec of job `churn`: 100 objects of data, three canaries of a fixed design where `canary` does not say otherwise.
const SPEC: &str = "\
version: 1
backend: sagemaker
region: us-east-1
jobs:
  churn:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      hyperparameters: {epochs: 5}
      channels:
        train: {uri: s3://data/churn/train/}
      output: s3://canaries/out/
    instance: ml.m5.xlarge
    canary: CANARY
    budget: {time: 2h, cost: 5 USD, memory: 90%}
";

/// One canary at a time.
pub(crate) const FIXED: &str = "{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 1, max_runtime: 30m, parallel: 1}";

/// A project on SageMaker whose canaries follow `canary`, and an AWS with its data.
pub(crate) fn project(canary: &str) -> (Project, FakeAws) {
    let project = Project::empty()
        .file("canary-gate.yml", &spec(canary))
        .file("code/train.py", "print('trained')\n");
    (project, with_data())
}

/// The spec of job `churn` whose canaries follow `canary`.
pub(crate) fn spec(canary: &str) -> String {
    SPEC.replace("CANARY", canary)
}

/// An AWS with the data of job `churn`.
pub(crate) fn with_data() -> FakeAws {
    let aws = FakeAws::start();
    put_data(&aws, 0..100);
    aws.make_bucket("canaries");
    // Ten seconds, and a minute for each thousand bytes.
    aws.train(|job| {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
        let bytes = job.bytes() as f64;
        Timeline::completed().training(10.0 + 0.06 * bytes)
    });
    aws
}

/// The data objects of these numbers.
pub(crate) fn put_data(aws: &FakeAws, numbers: std::ops::Range<usize>) {
    for index in numbers {
        let key = format!("churn/train/part-{index:03}.csv");
        aws.put_object("data", &key, format!("{index}\n").repeat(100 + index % 7));
    }
}

/// Replaces texts in the spec, each of which is there.
fn edit(project: &Project, edits: &[(&str, &str)]) {
    let mut spec = project.read("canary-gate.yml");
    for (from, to) in edits {
        assert!(spec.contains(from), "{from} in {spec}");
        spec = spec.replace(from, to);
    }
    project.write("canary-gate.yml", &spec);
}

/// A run of all jobs that prints its report for a program.
const JSON: &[&str] = &["run", "--all", "--format", "json"];

/// `canary-gate ARGUMENTS` with no waits.
fn gate(project: &Project, aws: &FakeAws, arguments: &[&str]) -> Finished {
    project.run_with(arguments, |command| {
        aws.reach(command);
        command.env("CANARY_GATE_PACE", "0");
    })
}

/// A gate under way, with so long waits. What it says is lost, but where `more` says otherwise.
pub(crate) fn spawned(
    project: &Project,
    aws: &FakeAws,
    arguments: &[&str],
    pace: &str,
    more: impl FnOnce(&mut Command),
) -> Child {
    let mut command = project.gate(arguments);
    aws.reach(&mut command);
    command
        .env("CANARY_GATE_PACE", pace)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    more(&mut command);
    command.spawn().unwrap()
}

/// A machine that never saw the canaries, and knows of them only what AWS returns.
fn forget(project: &Project) {
    std::fs::remove_dir_all(project.path(".canary-gate")).unwrap();
}

/// The names of all jobs ever created, in order.
fn created(aws: &FakeAws) -> Vec<String> {
    aws.jobs().iter().map(|job| job.name().to_owned()).collect()
}

/// For a person who wants to try the gate on the fake: prints how to reach it, and serves until the folder it names is
/// removed. `cargo nextest run --run-ignored only serves_by_hand --no-capture`
#[test]
#[ignore = "serves the fake for a person to try by hand"]
fn serves_by_hand() {
    let (project, aws) = project("{max_runtime: 30m}");
    aws.polls(crate::aws::Polls::Seconds(15.0));
    println!("cd {}", project.root().display());
    for (name, value) in aws.environment() {
        println!("export {name}={value}");
    }
    println!("export CANARY_GATE_PACE=0.1 HOME=$PWD");
    println!("{} run --all", env!("CARGO_BIN_EXE_canary-gate"));
    while project.root().exists() {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}
