//! `iam-policy`: the least policy for a spec, as JSON.

use serde_json::{Value, json};

use crate::project::Project;

const SPEC: &str = "\
version: 1
backend: sagemaker
jobs:
  churn:
    training:
      image: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/SageMakerTraining
      channels:
        train: {uri: s3://my-bucket/churn/train/}
      output: s3://my-bucket/canary/
    instance: ml.m5.xlarge
";

fn policy(arguments: &[&str]) -> Value {
    let project = Project::empty().file("canary-gate.yml", SPEC);
    let finished = project.run_with(arguments, |command| {
        command.env("AWS_REGION", "eu-west-1");
    });
    finished.ended_with(0).json()
}

#[test]
fn the_policy_is_json_for_the_region_at_hand() {
    let policy = policy(&["iam-policy"]);
    assert_eq!(policy["Version"], "2012-10-17");
    assert_eq!(
        policy["Statement"][0]["Resource"],
        json!(["arn:aws:sagemaker:eu-west-1:123456789012:training-job/cg-*"])
    );
}

#[test]
fn the_jobs_role_has_a_policy_of_its_own() {
    let policy = policy(&["iam-policy", "--for", "job"]).to_string();
    assert!(policy.contains("s3:GetObject") && !policy.contains("CreateTrainingJob"));
}

#[test]
fn a_local_spec_needs_none() {
    Project::with_script("true\n")
        .run(&["iam-policy"])
        .ended_with(2)
        .complained("a spec with `backend: local` needs no permission in AWS");
}
