//! The Action on SageMaker: what it started is stopped however the step ends, and the comment says so.

use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;

use super::workflow::{Step, Workflow};
use crate::aws::{FakeAws, Fault, Operation, Polls};
use crate::begun::{signal, wait_for};
use crate::github::Files;
use crate::project::Finished;
use crate::sagemaker::{FIXED, spec, with_data};

pub(crate) fn on_sagemaker() -> (Workflow, FakeAws) {
    with_canaries(FIXED)
}

fn with_canaries(canary: &str) -> (Workflow, FakeAws) {
    let files = |script: &str| {
        Files::new()
            .with("canary-gate.yml", spec(canary))
            .with("code/train.py", script)
    };
    (
        Workflow::between(&files("print(1)"), &files("print(2)")),
        with_data(),
    )
}

/// The step, which reaches AWS as it is told, at a pace at which canaries take a moment.
pub(crate) fn started(workflow: &Workflow, reach: impl FnOnce(&mut Command)) -> Child {
    let mut command = workflow.command();
    command.env("CANARY_GATE_PACE", "0.001");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    reach(&mut command);
    command.spawn().unwrap()
}

pub(crate) fn ended(workflow: &Workflow, child: Child) -> Step {
    let output = child.wait_with_output().unwrap();
    workflow.step(Finished::new(&output, workflow.project.root()))
}

#[test]
fn a_cancelled_step_stops_its_jobs_and_says_so_in_the_comment() {
    let (workflow, aws) = on_sagemaker();
    aws.polls(Polls::Nothing);
    let child = started(&workflow, |command| aws.reach(command));
    wait_for(|| !aws.in_progress().is_empty());
    assert!(workflow.comment().contains("state=running"));
    signal(&child, Signal::SIGINT);
    let step = ended(&workflow, child).ended_with(130);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    let comment = workflow.comment();
    assert!(!comment.contains("state=running"), "{comment}");
    let said = [
        "### ❌ could not check: the run was cancelled before it had a verdict",
        "**What it has cost.** ",
        "**What may still cost.** Nothing: no job of this run is at work.",
        "**What to do.** Run the workflow again",
    ];
    workflow.comments(&said);
    step.says(&said);
    assert_eq!(step.output("exit-code"), "130");
    assert_eq!(
        workflow.github.check_runs()[0].said["conclusion"],
        "cancelled"
    );
}

/// A step that had no last word.
fn killed_in_mid_canary(workflow: &Workflow, aws: &FakeAws) -> Step {
    aws.polls(Polls::Nothing);
    let mut child = started(workflow, |command| aws.reach(command));
    wait_for(|| !aws.in_progress().is_empty());
    child.kill().unwrap();
    ended(workflow, child)
}

#[test]
fn a_killed_step_is_cleaned_up_by_the_post_step() {
    let (workflow, aws) = on_sagemaker();
    let step = killed_in_mid_canary(&workflow, &aws);
    assert!(step.state["begun"].contains(r#""spec":"canary-gate.yml""#));
    assert_eq!(aws.in_progress().len(), 1);

    let reached = |command: &mut Command| aws.reach(command);
    workflow.post_step_with(&step, reached).ended_with(0);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    workflow.comments(&["no job of this run is at work"]);
    assert_eq!(
        workflow.github.check_runs()[0].said["conclusion"],
        "cancelled"
    );
}

/// A killed gate's canary ends well, and AWS keeps its machines.
#[test]
fn a_warm_pool_of_a_killed_step_is_ended_by_the_post_step() {
    let (workflow, aws) = with_canaries(&FIXED.replace('}', ", warm_pool: {keep_alive: 5m}}"));
    aws.quota("ml.m5.xlarge for training warm pool usage", 3.0);
    let step = killed_in_mid_canary(&workflow, &aws);
    aws.finish_jobs();
    assert_eq!(aws.kept_pools().len(), 1);
    let reached = |command: &mut Command| {
        aws.reach(command);
        command.env("CANARY_GATE_PACE", "0");
    };
    workflow.post_step_with(&step, reached).ended_with(0);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}

#[test]
fn the_post_step_leaves_other_steps_of_the_workflow_run_alone() {
    let (workflow, aws) = on_sagemaker();
    let step = killed_in_mid_canary(&workflow, &aws);

    // That was a leg for another job whose name begins alike, or for one of this name in another spec.
    for (own, theirs) in [
        ("churn", "churn-but-another-one"),
        (r#"tag":"canary-gate.yml"#, r#"tag":"b/canary-gate.yml"#),
    ] {
        let another = |command: &mut Command| {
            aws.reach(command);
            let begun = step.state["begun"].replace(own, theirs);
            command.env("STATE_begun", begun);
        };
        workflow.post_step_with(&step, another).ended_with(0);
        assert_eq!(aws.in_progress().len(), 1, "{theirs}");
    }
}

#[test]
fn a_job_that_could_not_be_stopped_is_not_called_stopped() {
    let (workflow, aws) = on_sagemaker();
    aws.polls(Polls::Nothing);
    let child = started(&workflow, |command| aws.reach(command));
    wait_for(|| !aws.in_progress().is_empty());
    let refused = Fault::AccessDenied;
    aws.fail(Operation::StopTrainingJob).with(refused);
    signal(&child, Signal::SIGINT);
    let step = ended(&workflow, child).ended_with(130);
    assert_eq!(aws.in_progress().len(), 1);
    let comment = workflow.comment();
    assert!(
        !comment.contains("no job of this run is at work"),
        "{comment}"
    );
    // The net below is still there.
    aws.recover();
    let reached = |command: &mut Command| aws.reach(command);
    workflow.post_step_with(&step, reached).ended_with(0);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

/// The jobs that two pushes of a pull request launch together; `files` are those of each push.
fn launched(base: &Files, pushes: [Files; 2]) -> usize {
    let aws = with_data();
    let [first, second] = pushes;
    let mut workflow = Workflow::between(base, &first);
    workflow
        .run_with(|command| aws.reach(command))
        .ended_with(0);
    workflow.push(&second);
    workflow.later();
    workflow
        .run_with(|command| aws.reach(command))
        .ended_with(0);
    aws.jobs().len()
}

#[test]
fn code_that_the_pull_request_leaves_out_of_its_paths_is_measured_all_the_same() {
    let files = |spec: &str, script: &str| {
        Files::new()
            .with("canary-gate.yml", spec)
            .with("code/train.py", script)
    };
    let own = spec(FIXED);
    let paths = "  churn:\n    paths: [\"**\", \"!code/train.py\"]\n";
    let hiding = own.replace("  churn:\n", paths);
    let pushes = [files(&hiding, "fast"), files(&hiding, "slow")];
    assert_eq!(launched(&files(&own, "1"), pushes), 6);
    // The same code is the same canary, which is not paid for twice.
    let same = || files(&own, "2");
    assert_eq!(launched(&files(&own, "1"), [same(), same()]), 3);
}
