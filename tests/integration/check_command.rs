//! `check`: what of a spec is missing on this machine, and what to do about it; `--try` runs one canary.

use crate::project::Project;

const SUMS: &str = "cat \"$SM_CHANNEL_TRAIN\"/* > /dev/null\n";

#[test]
fn a_machine_that_has_everything_is_said_so() {
    let project = Project::with_script(SUMS).committed();
    let found = project.run(&["check"]).ended_with(0);
    insta::with_settings!({filters => vec![(r"sh is /\S+", "sh is [PATH]")]}, {
        insta::assert_snapshot!(found.seen());
    });
    assert!(
        !project.path(".canary-gate").exists(),
        "a look writes nothing"
    );
}

#[test]
fn everything_that_is_missing_is_said_with_what_to_do() {
    let spec = "\
version: 1
backend: local
jobs:
  sums:
    training:
      source_dir: code
      command: [no-such-program, train.py]
      channels:
        train: {uri: data/train}
        labels: {uri: data/labels, sample: false}
    instance: local
  other:
    training:
      command: [sh, train.sh]
      channels: {train: {uri: data/train}}
    instance: local
";
    let project = Project::empty()
        .file("canary-gate.yml", spec)
        .file(".gitignore", "train.sh\n")
        .file("train.sh", SUMS)
        .file("code/other.py", "")
        .committed();
    let found = project.run(&["check"]).ended_with(1);
    insta::with_settings!({filters => vec![(r"sh is /\S+", "sh is [PATH]")]}, {
        insta::assert_snapshot!(found.seen());
    });
    // A spec is valid also where its data are not.
    project
        .run(&["validate"])
        .ended_with(0)
        .reported("the spec has no errors: 2 jobs (sums, other), backend local; 6 things are missing on this machine");
    project
        .run(&["check", "--job", "nothing"])
        .ended_with(2)
        .complained("its jobs are sums, other");
    project
        .run(&["check", "--try"])
        .ended_with(1)
        .complained("no canary is tried while something is missing");
}

#[test]
fn one_canary_is_tried_and_its_failure_explained() {
    let project = Project::with_script(SUMS).committed();
    let tried = project.run(&["check", "--try"]).ended_with(0);
    tried
        .complained("one canary of sums: ")
        .reported("✓ the smallest canary of sums completed");
    assert!(
        project.recorded("canary").is_empty(),
        "nothing of it is kept"
    );

    project.write("train.sh", "cat data/part-000.csv\n");
    project
        .run(&["check", "--try"])
        .ended_with(13)
        .reported("✗ the smallest canary of sums: failed")
        .reported("read them from the folder that the variable `SM_CHANNEL_TRAIN` names");
}

#[test]
fn a_canary_that_may_cost_too_much_is_not_tried() {
    let project = Project::with_script("touch /tmp/never-run\n")
        .file(
            "canary-gate.yml",
            &format!("prices: {{local: 6000 USD/h}}\n{}", Project::SPEC),
        )
        .committed();
    let refused = project.run(&["check", "--try"]);
    assert_ne!(refused.code, 0, "{}", refused.seen());
    assert!(!refused.stdout.contains("completed"), "{}", refused.seen());
}

#[test]
fn on_sagemaker_without_credentials_it_says_what_to_do() {
    let spec = "\
version: 1
backend: sagemaker
region: us-east-1
jobs:
  churn:
    training:
      framework: {sklearn: 1.4-2}
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      channels: {train: {uri: s3://my-bucket/train/}}
      output: s3://my-bucket/out/
    instance: ml.m5.xlarge
";
    let project = Project::empty()
        .file("canary-gate.yml", spec)
        .file("code/train.py", "")
        .committed();
    let found = project.run_with(&["check"], |command| {
        command.env("AWS_EC2_METADATA_DISABLED", "true");
    });
    let found = found.ended_with(1).reported("✗ access: ");
    assert!(found.stdout.contains("AWS credentials"), "{}", found.seen());
    project.git(&["mv", "code/train.py", "code/other.py"]);
    project
        .run(&["check"])
        .ended_with(1)
        .reported("✗ source: ")
        .reported("– access: the source has to be there first");
}

#[test]
fn a_script_that_is_not_there_is_missing_to_validate_too() {
    let project = Project::with_script("true\n");
    std::fs::remove_file(project.path("train.sh")).unwrap();
    project
        .run(&["validate"])
        .ended_with(0)
        .complained("warning: jobs.sums.training: there is no train.sh in the spec's folder")
        .reported("the spec has no errors: 1 job (sums), backend local; 1 thing is missing on this machine");
}
