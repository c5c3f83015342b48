//! `init --from-job`: what keeps a spec from being made. The spec itself is tested beside the code.

use crate::aws::{FakeAws, Fault, Operation};
use crate::project::{Finished, Project};

fn init(project: &Project, arguments: &[&str]) -> Finished {
    let all = [&["init", "--from-job", "churn"], arguments].concat();
    project.run_with(&all, |command| {
        command.env("AWS_EC2_METADATA_DISABLED", "true");
    })
}

#[test]
fn a_region_is_needed() {
    let project = Project::empty();
    init(&project, &[])
        .ended_with(2)
        .complained("name it with `--region us-east-1`, or set AWS_REGION");
    assert!(!project.path("canary-gate.yml").exists());
}

#[test]
fn without_credentials_nothing_is_written() {
    let project = Project::empty();
    init(&project, &["--region", "eu-west-1"])
        .ended_with(1)
        .complained("there are no AWS credentials")
        .complained("AWS_PROFILE");
    assert!(!project.path("canary-gate.yml").exists());
}

#[test]
fn each_refusal_says_what_to_do() {
    for (fault, code, what, help) in [
        (
            None,
            1,
            "there is no training job `churn` in us-east-1",
            "--region",
        ),
        (
            Some(Fault::AccessDenied),
            1,
            "AWS does not let you read the training job `churn` in us-east-1",
            "allow sagemaker:DescribeTrainingJob on",
        ),
        (
            Some(Fault::ExpiredToken),
            14,
            "could not read the training job `churn` in us-east-1: the AWS session has expired",
            "sign in again",
        ),
    ] {
        let (project, aws) = (Project::empty(), FakeAws::start());
        if let Some(fault) = fault {
            aws.fail(Operation::DescribeTrainingJob).with(fault);
        }
        let arguments = ["init", "--from-job", "churn", "--region", "us-east-1"];
        project
            .run_with(&arguments, |command| aws.reach(command))
            .ended_with(code)
            .complained(what)
            .complained(help);
        assert!(!project.path("canary-gate.yml").exists());
    }
}

#[test]
fn a_spec_that_is_there_is_left_alone_before_anything_is_asked() {
    let project = Project::empty().file("canary-gate.yml", "mine\n");
    init(&project, &["--region", "eu-west-1"])
        .ended_with(2)
        .complained("already there");
    assert_eq!(project.read("canary-gate.yml"), "mine\n");
}

#[test]
fn a_region_alone_has_no_meaning() {
    Project::empty()
        .run(&["init", "--region", "eu-west-1"])
        .ended_with(2)
        .complained("--from-job");
}
