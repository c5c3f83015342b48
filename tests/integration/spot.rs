//! Full runs on spot capacity.

use std::fmt::Write as _;

use serde_json::json;

use crate::cases;
use crate::project::Project;

/// Canaries on demand, by which a full run takes 10,000 s: 2.56 USD on demand.
fn canaries() -> String {
    let mut text = String::new();
    for percent in [1, 2, 5, 10, 20] {
        let run = json!({
            "schema_version": 1,
            "job": "taxi",
            "instance": "ml.m5.4xlarge",
            "fraction": f64::from(percent) / 100.0,
            "replicate": 0,
            "bytes": 4_000_000 * percent,
            "bytes_total": 400_000_000,
            "outcome": {"kind": "completed"},
            "training_seconds": 100.0 * f64::from(percent) + f64::from(percent % 3),
        });
        let _ = writeln!(text, "{run}");
    }
    text
}

#[test]
fn a_spot_job_is_judged_by_the_spot_price_which_is_read_with_care() {
    for case in cases::read(include_str!("cases/spot.txt")) {
        let (prices, spot) = (case.one("prices"), case.one("spot"));
        let spec = format!(
            "\
version: 1
backend: sagemaker
region: us-east-1
prices: {prices}
jobs:
  taxi:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/xgboost:1
      role: arn:aws:iam::123456789012:role/Training
      output: s3://bucket/output/
      spot: {spot}
      checkpoints: s3://bucket/checkpoints/
      channels:
        train: {{uri: s3://bucket/train/}}
    instance: ml.m5.4xlarge
    canary: {{warm_pool: off}}
    budget: {{cost: 1.5 USD}}
"
        );
        let project = Project::empty()
            .file("runs.jsonl", &canaries())
            .file("canary-gate.yml", &spec);
        let report = project.run(&["forecast", "runs.jsonl"]);
        let mut silent = case.all("not");
        assert!(
            silent.all(|text| !report.stdout.contains(text)),
            "{}",
            report.seen()
        );
        case.holds_for(report);
    }
}
