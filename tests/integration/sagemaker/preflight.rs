//! What is found out before a cent is spent.

use super::{FIXED, created, forget, gate, project};
use crate::aws::{FakeAws, Fault, Operation};
use crate::project::Project;

fn edited(canary: &str, from: &str, to: &str) -> (Project, FakeAws) {
    let (project, aws) = project(canary);
    let spec = project.read("canary-gate.yml");
    assert!(spec.contains(from), "{spec}");
    project.write("canary-gate.yml", &spec.replace(from, to));
    (project, aws)
}

#[test]
fn no_credentials_says_where_they_are_looked_for() {
    let (project, aws) = project(FIXED);
    project
        .run_with(&["run", "--all"], |command| {
            aws.reach(command);
            command
                .env_remove("AWS_ACCESS_KEY_ID")
                .env_remove("AWS_SECRET_ACCESS_KEY")
                .env("CANARY_GATE_PACE", "0");
        })
        .ended_with(1)
        .complained("there are no AWS credentials");
    assert_eq!(created(&aws), Vec::<String>::new());
}

#[test]
fn a_bucket_in_another_region_names_both() {
    let (project, aws) = edited(FIXED, "s3://data/churn/train/", "s3://far/train/");
    aws.make_bucket_in("far", "eu-west-1");
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("the bucket `far` is in eu-west-1, and this run is in us-east-1");
}

#[test]
fn a_bucket_that_is_not_there_names_the_field() {
    let (project, aws) = edited(FIXED, "s3://data/churn/train/", "s3://dta/churn/train/");
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("jobs.churn.training.channels.train.uri")
        .complained("dta");
}

#[test]
fn a_typing_error_in_the_prefix_is_an_empty_channel() {
    let (project, aws) = edited(FIXED, "churn/train/", "churn/training/");
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("s3://data/churn/training/");
}

#[test]
fn a_denied_call_names_its_permission() {
    for (operation, permission) in [
        (Operation::CreateTrainingJob, "sagemaker:CreateTrainingJob"),
        (
            Operation::DescribeTrainingJob,
            "sagemaker:DescribeTrainingJob",
        ),
        (Operation::ListObjectsV2, "s3:ListBucket"),
        (Operation::PutObject, "s3:PutObject"),
    ] {
        let (project, aws) = project(FIXED);
        aws.fail(operation).with(Fault::AccessDenied);
        gate(&project, &aws, &["run", "--all"])
            .ended_with(1)
            .complained(permission);
        assert_eq!(aws.in_progress(), Vec::<String>::new());
    }
}

#[test]
fn prices_and_quotas_that_may_not_be_read_are_done_without() {
    let (project, aws) = project(FIXED);
    for operation in [Operation::GetProducts, Operation::ListServiceQuotas] {
        aws.fail(operation).with(Fault::AccessDenied);
    }
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(0);
    let report = run.json();
    let price = &report["jobs"][0]["forecasts"][0]["price"];
    assert_ne!(price["source"], "live");
    let notes = report["jobs"][0]["notes"].to_string();
    assert!(notes.contains("built-in prices are used"), "{notes}");
    assert!(notes.contains("quotas could not be read"), "{notes}");
}

#[test]
fn without_a_price_nothing_is_launched() {
    let (project, aws) = edited(FIXED, "ml.m5.xlarge", "ml.p5e.48xlarge");
    aws.no_price("ml.p5e.48xlarge");
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("no price is known for ml.p5e.48xlarge");
    assert_eq!(created(&aws), Vec::<String>::new());
}

/// The list of the account's own quotas has none that nobody has changed.
#[test]
fn a_quota_that_nobody_has_changed_is_the_default() {
    let (project, aws) = project(FIXED);
    aws.unchanged_quota("ml.m5.xlarge for training job usage", 0.0);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("`ml.m5.xlarge for training job usage` is 0");
    assert_eq!(created(&aws), Vec::<String>::new());

    // A role of before lacks the right.
    aws.fail(Operation::ListAWSDefaultServiceQuotas)
        .with(Fault::AccessDenied);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
}

#[test]
fn a_quota_of_nothing_is_reported_before_a_canary() {
    let (project, aws) = project(FIXED);
    aws.quota("ml.m5.xlarge for training job usage", 0.0);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(14)
        .complained("`ml.m5.xlarge for training job usage` is 0");
    assert_eq!(created(&aws), Vec::<String>::new());
}

#[test]
fn a_small_quota_makes_canaries_run_one_after_another() {
    let (project, aws) = project(&FIXED.replace("parallel: 1", "parallel: 3"));
    aws.quota("ml.m5.xlarge for training job usage", 1.0);
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(0);
    let notes = run.json()["jobs"][0]["notes"].to_string();
    assert!(notes.contains("1 at a time, not 3"), "{notes}");
}

#[test]
fn an_entry_point_that_git_does_not_know_is_found_by_validate() {
    let (project, aws) = edited(FIXED, "entry_point: train.py", "entry_point: main.py");
    gate(&project, &aws, &["validate"]).complained("`main.py` is not among the source files");
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("jobs.churn.training.entry_point");
    assert_eq!(created(&aws), Vec::<String>::new());
}

#[test]
fn without_a_region_nothing_is_called() {
    let (project, aws) = edited(FIXED, "region: us-east-1\n", "");
    project
        .run_with(&["run", "--all"], |command| {
            aws.reach(command);
            command.env_remove("AWS_REGION");
        })
        .ended_with(1)
        .complained("region: us-east-1");
    assert_eq!(aws.all_calls(), 0);
}

/// Every call that a gate makes, denied, and how the gate ends: 1 where it cannot do without, else with a note.
#[test]
fn each_call_may_be_denied() {
    for (operation, permission, code) in [
        (Operation::ListTags, "sagemaker:ListTags", 1),
        (Operation::ListTrainingJobs, "sagemaker:ListTrainingJobs", 1),
        (Operation::HeadObject, "", 0),
        (Operation::GetMetricData, "cloudwatch:GetMetricData", 14),
        (Operation::DeleteObjects, "s3:DeleteObject", 0),
        (Operation::DescribeLogStreams, "logs:DescribeLogStreams", 0),
        (Operation::GetLogEvents, "", 0),
    ] {
        // What CloudWatch knows is needed only where there is no probe.
        let (project, aws) = project(&FIXED.replace('}', ", probe: false}"));
        // The step time is read from the log.
        let spec = project.read("canary-gate.yml").replace(
            "      output:",
            "      metrics: {step: 'step ([0-9.]+)'}\n      step_metric: step\n      output:",
        );
        project.write("canary-gate.yml", &spec);
        // So that there is a job to adopt, whose tags are read.
        gate(&project, &aws, &["run", "--all"]).ended_with(0);
        forget(&project);
        aws.fail(operation).with(Fault::AccessDenied);
        let fresh = if operation == Operation::ListTags {
            "--quiet"
        } else {
            "--fresh"
        };
        let run = gate(&project, &aws, &["run", "--all", fresh]).ended_with(code);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(permission), "{operation:?}: {}", run.seen());
        assert_eq!(aws.in_progress(), Vec::<String>::new(), "{operation:?}");
    }
}

#[test]
fn copies_that_may_not_be_made_are_reported_before_a_canary() {
    let (project, aws) = edited(
        FIXED,
        "s3://data/churn/train/",
        "s3://data/churn/train/, mode: FastFile",
    );
    aws.fail(Operation::CopyObject).with(Fault::AccessDenied);
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("s3:PutObject");
    assert_eq!(created(&aws), Vec::<String>::new());
    assert_eq!(aws.keys("canaries", "out/cg-stage/"), Vec::<String>::new());
}

#[test]
fn a_role_that_may_not_be_passed_is_named_as_aws_names_it() {
    let (project, aws) = project(FIXED);
    aws.fail(Operation::CreateTrainingJob).with(Fault::error(
        "AccessDeniedException",
        "User: arn:aws:sts::123456789012:assumed-role/ci/session is not authorized to perform: iam:PassRole on resource: arn:aws:iam::123456789012:role/Train",
    ));
    gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .complained("allow `iam:PassRole`");
}

#[test]
fn an_endpoint_that_is_set_and_empty_is_named() {
    let (project, aws) = project(FIXED);
    project
        .run_with(&["run", "--all"], |command| {
            aws.reach(command);
            command.env("AWS_ENDPOINT_URL_PRICING", "");
        })
        .ended_with(2)
        .complained("AWS_ENDPOINT_URL_PRICING is set but empty");
}

#[test]
fn odd_names_of_objects_are_no_trouble() {
    let (project, aws) = project(FIXED);
    aws.put_object("data", "churn/train/\u{1b}[31m red", "x");
    aws.put_object("data", "churn/train/ü/../%41+ &", "x");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
}

#[test]
fn an_output_among_the_data_is_an_error_of_the_spec() {
    let (project, aws) = edited(FIXED, "s3://canaries/out/", "s3://data/churn/train/out/");
    gate(&project, &aws, &["run", "--all"])
        .ended_with(2)
        .complained("lies within the data of channel");
    assert_eq!(aws.all_calls(), 0);
}

#[test]
fn a_type_that_the_region_lacks_is_named_whatever_the_code() {
    let lacks = "The requested resource training-job/ml.m5.xlarge is not available in this region";
    let value = "1 validation error detected: Value 'ml.m5.xlarge' at 'resourceConfig.instanceType' failed to satisfy constraint: Member must satisfy enum value set: [ml.m5.large]";
    for (code, message) in [
        ("ResourceLimitExceeded", lacks),
        ("ResourceNotFound", lacks),
        ("ValidationException", lacks),
        ("ValidationException", value),
        ("InternalFailure", lacks),
    ] {
        let (project, aws) = project(FIXED);
        aws.fail(Operation::CreateTrainingJob)
            .with(Fault::error(code, message));
        gate(&project, &aws, &["run", "--all"])
            .ended_with(1)
            .complained("SageMaker does not train on ml.m5.xlarge in us-east-1");
    }
}

#[test]
fn a_refused_profiler_is_done_without() {
    let (project, aws) = project(&FIXED.replace('}', ", probe: false}"));
    aws.fail(Operation::CreateTrainingJob)
        .about("ProfilerConfig")
        .with(Fault::error(
            "ValidationException",
            "ProfilerConfig is not supported for the instance type ml.m5.xlarge",
        ));
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(0);
    let notes = run.json()["jobs"][0]["notes"].to_string();
    assert!(notes.contains("refused Debugger's profiler"), "{notes}");
    // The first canary is asked for twice, all others once.
    assert_eq!(aws.calls(Operation::CreateTrainingJob), 4);
}

#[test]
fn a_key_of_the_disk_is_left_out_where_machines_have_their_own_disks() {
    let (project, aws) = edited(FIXED, "ml.m5.xlarge", "ml.g5.xlarge");
    let spec = project.read("canary-gate.yml");
    let key = "      volume_kms_key: alias/disks\n      output:";
    project.write("canary-gate.yml", &spec.replace("      output:", key));
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(0);
    let notes = run.json()["jobs"][0]["notes"].to_string();
    assert!(
        notes.contains("`volume_kms_key` is left out: ml.g5.xlarge"),
        "{notes}"
    );
}

#[test]
fn where_no_price_list_is_in_dollars_it_is_not_asked() {
    for region in ["cn-north-1", "us-gov-west-1"] {
        let (project, aws) = edited(FIXED, "region: us-east-1", &format!("region: {region}"));
        let spec = project.read("canary-gate.yml");
        let spec = spec.replace("s3://data/", "s3://far/");
        project.write(
            "canary-gate.yml",
            &spec.replace("s3://canaries/", "s3://far-out/"),
        );
        for bucket in ["far", "far-out"] {
            aws.make_bucket_in(bucket, region);
        }
        for index in 0..100 {
            aws.put_object("far", &format!("churn/train/{index}.csv"), "1\n");
        }
        gate(&project, &aws, &["run", "--all"])
            .ended_with(14)
            .complained("no price is known for ml.m5.xlarge")
            .reported("Write one: `prices:");
        assert_eq!(aws.calls(Operation::GetProducts), 0);
    }
}

#[test]
fn an_image_that_sagemaker_will_not_pull_and_a_misspelled_region_are_warned_of() {
    let (project, aws) = project(FIXED);
    let spec = project.read("canary-gate.yml");
    let ecr = "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1";
    for (from, to, warning) in [
        (ecr, "docker.io/library/python:3.12", "is not in Amazon ECR"),
        (
            ecr,
            "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
            "is in `eu-west-1`, and the job runs in us-east-1",
        ),
        (
            "region: us-east-1",
            "region: us-esat-1",
            "did you mean `us-east-1`?",
        ),
        (
            "region: us-east-1",
            "region: us-east",
            "did you mean `us-east-1`?",
        ),
    ] {
        project.write("canary-gate.yml", &spec.replace(from, to));
        gate(&project, &aws, &["validate"]).complained(warning);
    }
}
