//! Full runs on spot capacity.

use std::fmt::Write as _;

use serde_json::json;

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
fn a_spot_job_is_judged_by_the_spot_price_and_the_row_says_what_was_taken() {
    for (spot, prices, code, said) in [
        ("false", "{spot: {ml.m5.4xlarge: 0.30 USD/h}}", 10, None),
        (
            "true",
            "{ml.m5.4xlarge: 0.92 USD/h}",
            10,
            Some("on demand, spot not known"),
        ),
        (
            "true",
            "{ml.m5.4xlarge: 0.92 USD/h, spot: {ml.m5.4xlarge: 0.30 USD/h}}",
            0,
            Some("spot, 2.53 USD on demand"),
        ),
        (
            "true",
            "{ml.m5.4xlarge: 0.92 USD/h, spot: {ml.m5.4xlarge: 0.90 USD/h}}",
            10,
            Some("spot, 2.53 USD on demand"),
        ),
    ] {
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
        let report = project.run(&["forecast", "runs.jsonl"]).ended_with(code);
        match said {
            Some(said) => assert!(report.stdout.contains(said), "{}", report.seen()),
            None => assert!(!report.stdout.contains("spot"), "{}", report.seen()),
        }
    }
}

#[test]
fn a_spot_price_is_read_with_the_care_of_any_other() {
    for (prices, why) in [
        (
            "{spot: 0.30 USD/h}",
            "where a mapping of names to values is needed",
        ),
        (
            "{spot: {m5.xlarge: 1 USD/h}}",
            "did you mean `ml.m5.xlarge`?",
        ),
        ("{spot: {ml.m5.xlarge: 0 USD/h}}", "a price is more than 0"),
        ("{spot: {ml.m5.xlarge: 1 USD/h}, spot: {}}", "spot"),
    ] {
        let spec = format!(
            "version: 1\nbackend: local\nprices: {prices}\njobs: {{a: {{training: {{command: [sh, a.sh], channels: {{t: {{uri: data}}}}}}, instance: local}}}}\n"
        );
        let project = Project::empty()
            .file("canary-gate.yml", &spec)
            .file("data/a", "1");
        let refused = project.run(&["validate"]).ended_with(2);
        assert!(refused.stderr.contains(why), "{}", refused.seen());
    }
}
