//! Recorded canaries of job `taxi`, and what a forecast of them says.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::project::{Finished, Project};

const FORECAST: [&str; 4] = ["forecast", "runs.jsonl", "--format", "json"];

/// One that completed, of 10 GB of data.
pub(crate) fn canary(instance: &str, percent: u32, seconds: f64) -> Value {
    json!({
        "schema_version": 1,
        "job": "taxi",
        "instance": instance,
        "fraction": f64::from(percent) / 100.0,
        "bytes": 100_000_000 * u64::from(percent),
        "bytes_total": 10_000_000_000_u64,
        "outcome": {"kind": "completed"},
        "training_seconds": seconds,
    })
}

/// As JSON lines; those of one size on the same machines are replicates.
pub(crate) fn lines(runs: impl IntoIterator<Item = Value>) -> String {
    let mut replicates: BTreeMap<String, u32> = BTreeMap::new();
    let line = |mut run: Value| {
        let size = format!("{} {}", run["instance"], run["fraction"]);
        let replicate = replicates.entry(size).or_default();
        run["replicate"] = (*replicate).into();
        *replicate += 1;
        format!("{run}\n")
    };
    runs.into_iter().map(line).collect()
}

/// A spec of the job on SageMaker: with `top` before the jobs, `training` in its training, and `job` at its end.
pub(crate) fn spec(top: &str, instance: &str, training: &str, job: &str) -> String {
    format!(
        "\
version: 1
backend: sagemaker
region: us-east-1
{top}jobs:
  taxi:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/xgboost:1
      role: arn:aws:iam::123456789012:role/Training
      output: s3://bucket/output/
{training}    instance: {instance}
{job}"
    )
}

fn project(runs: &str, spec: &str) -> Project {
    Project::empty()
        .file("runs.jsonl", runs)
        .file("canary-gate.yml", spec)
}

pub(crate) fn forecast(runs: &str, spec: &str) -> Finished {
    project(runs, spec).run(&FORECAST)
}

/// The job of a report of a command that ended with `code`.
#[track_caller]
pub(crate) fn job(finished: Finished, code: i32) -> Value {
    finished.ended_with(code).json()["jobs"][0].clone()
}

pub(crate) fn point(row: &Value, metric: &str) -> f64 {
    row["estimates"][metric]["point"].as_f64().unwrap()
}
