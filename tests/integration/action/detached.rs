//! The Action in two jobs of one workflow run: the first starts canaries, the second measures them.

use super::sagemaker::{ended, on_sagemaker, started};
use super::workflow::Workflow;
use crate::aws::Polls;
use crate::begun::wait_for;
use crate::github::Files;
use crate::sagemaker::{FIXED, spec, with_data};

fn command(workflow: Workflow, command: &str) -> Workflow {
    workflow.input("command", command)
}

#[test]
fn a_pull_request_is_checked_in_two_short_jobs() {
    let (workflow, aws) = on_sagemaker();
    aws.polls(Polls::Nothing);
    let workflow = command(workflow, "detach");
    let detached = workflow
        .run_with(|command| aws.reach(command))
        .ended_with(0);
    assert_eq!(detached.output("verdict"), "not_judged");
    let comment = workflow.comment();
    assert!(comment.contains("3 canaries started"), "{comment}");
    assert!(!comment.contains("✅"), "{comment}");
    let check = |workflow: &Workflow| workflow.github.check_runs()[0].said.clone();
    assert_eq!(check(&workflow)["status"], "in_progress");
    assert_eq!(check(&workflow)["output"]["title"], "canaries are running");
    workflow
        .post_step_with(&detached, |command| aws.reach(command))
        .ended_with(0);
    assert_eq!(aws.in_progress().len(), 3);
    assert_eq!(check(&workflow)["status"], "in_progress");

    let mut workflow = command(workflow, "collect");
    let early = workflow
        .run_with(|command| aws.reach(command))
        .ended_with(14);
    assert_eq!(check(&workflow)["conclusion"], "failure");
    assert!(workflow.comment().contains("still run"));
    workflow
        .post_step_with(&early, |command| aws.reach(command))
        .ended_with(0);
    assert_eq!(aws.in_progress().len(), 3);

    aws.finish_jobs();
    // Collected again by a later run: of the same one a failure would stay.
    workflow.later();
    let collected = workflow
        .run_with(|command| aws.reach(command))
        .ended_with(0);
    assert_eq!(collected.output("verdict"), "within");
    assert!(collected.output("canary-cost").parse::<f64>().unwrap() > 0.0);
    let comment = workflow.comment();
    assert!(comment.contains("✅ `churn` within budget"), "{comment}");
    for check in workflow.github.check_runs() {
        assert_eq!(check.said["conclusion"], "success");
    }
    assert_eq!(aws.jobs().len(), 3);
}

#[test]
fn a_step_that_was_killed_while_it_detached_has_detached_nothing() {
    let (workflow, aws) = on_sagemaker();
    aws.polls(Polls::Nothing);
    let workflow = command(workflow, "detach");
    let mut child = started(&workflow, |command| {
        aws.reach(command);
        command.env("CANARY_GATE_PACE", "1");
    });
    wait_for(|| !aws.in_progress().is_empty());
    child.kill().unwrap();
    let step = ended(&workflow, child);
    workflow
        .post_step_with(&step, |command| aws.reach(command))
        .ended_with(0);
    assert_eq!(aws.in_progress(), Vec::<String>::new());
}

#[test]
fn a_spec_that_is_taken_away_waits_for_no_canaries_of_another() {
    // What goes with the other is code of this one's job.
    let code = "    paths: [\"code/**\", \"/b/**\"]\n    instance:";
    let own = spec(FIXED).replace("    instance:", code);
    let files = Files::new().with("a/canary-gate.yml", own);
    let files = files.with("a/code/train.py", "print(1)");
    let base = files.clone().with("b/canary-gate.yml", spec(FIXED));
    let workflow = Workflow::between(&base, &files);
    let workflow = command(workflow, "detach").input("spec", "*/canary-gate.yml");
    let aws = with_data();
    aws.polls(Polls::Nothing);
    workflow
        .run_with(|command| aws.reach(command))
        .ended_with(0);
    let checks = workflow.github.check_runs().into_iter();
    let statuses: Vec<_> = checks.map(|check| check.said["status"].clone()).collect();
    assert_eq!(statuses, ["in_progress", "in_progress", "completed"]);
}
