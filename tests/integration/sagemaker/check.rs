//! `check` of a job on SageMaker, and the one canary of `check --try`.

use super::{FIXED, created, edit, gate, project};
use crate::aws::{Fault, Operation, Polls};

#[test]
fn a_look_asks_who_is_signed_in_and_starts_nothing() {
    let (project, aws) = project(FIXED);
    aws.quota("ml.m5.xlarge for training job usage", 4.0);
    let found = gate(&project, &aws, &["check"]).ended_with(0);
    insta::assert_snapshot!(found.seen());
    assert_eq!(created(&aws), Vec::<String>::new());
    assert!(aws.calls(Operation::CreateTrainingJob) == 0);
}

#[test]
fn a_quota_of_none_and_a_bucket_that_is_not_there_are_said() {
    let (project, aws) = project(FIXED);
    aws.quota("ml.m5.xlarge for training job usage", 0.0);
    gate(&project, &aws, &["check"])
        .ended_with(1)
        .reported("✗ quota: no quota for a canary on ml.m5.xlarge");
    edit(&project, &[("s3://data/", "s3://dta/")]);
    gate(&project, &aws, &["check"])
        .ended_with(1)
        .reported("✗ access: ");
}

#[test]
fn rights_that_are_needed_later_are_asked_for_before() {
    for (operation, denied) in [
        (
            Operation::UpdateTrainingJob,
            "✗ warm pools: could not end them: access denied",
        ),
        (
            Operation::GetLogEvents,
            "✗ logs: could not read what canaries print: access denied",
        ),
        (
            Operation::DescribeLogStreams,
            "✗ logs: could not read what canaries print: access denied",
        ),
    ] {
        let (project, aws) = project(FIXED);
        aws.fail(operation).with(Fault::AccessDenied);
        gate(&project, &aws, &["check"])
            .ended_with(1)
            .reported(denied);
        assert_eq!(created(&aws), Vec::<String>::new());
    }
}

#[test]
fn one_training_job_is_tried_within_its_limit() {
    let (project, aws) = project(FIXED);
    let tried = gate(&project, &aws, &["check", "--try"]).ended_with(0);
    tried
        .complained("and costs at most")
        .reported("✓ the smallest canary of churn completed");
    assert_eq!(created(&aws).len(), 1);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    gate(&project, &aws, &["check", "--try", "--max-spend", "0.01"])
        .ended_with(1)
        .complained("above its limit");
    assert_eq!(created(&aws).len(), 1);
}

#[test]
fn a_tried_canary_that_can_neither_be_followed_nor_stopped_is_named() {
    let (project, aws) = project(FIXED);
    aws.polls(Polls::Nothing);
    aws.fail(Operation::DescribeTrainingJob)
        .since_call(2)
        .with(Fault::AccessDenied);
    aws.fail(Operation::StopTrainingJob)
        .with(Fault::AccessDenied);
    let tried = gate(&project, &aws, &["check", "--try"]).ended_with(1);
    let name = &created(&aws)[0];
    tried
        .complained("sagemaker:DescribeTrainingJob")
        .complained(&format!("stop {name}"));
}
