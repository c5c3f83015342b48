//! The input `max-spend-per-pull-request`: each push has what those before it left.

use nix::sys::signal::Signal;

use super::sagemaker::{ended, started};
use super::workflow::{NUMBER, Workflow};
use crate::aws::{FakeAws, Polls};
use crate::begun::{signal, wait_for};
use crate::github::Files;
use crate::sagemaker::{FIXED, spec, with_data};

const INPUT: &str = "max-spend-per-pull-request";

fn files(script: &str) -> Files {
    let spec = spec(FIXED).replace("region:", "history: s3://records/gate/\nregion:");
    Files::new()
        .with("canary-gate.yml", spec)
        .with("code/train.py", script)
}

/// A pull request whose checks may cost so much together.
fn limited(limit: &str) -> (Workflow, FakeAws) {
    let aws = with_data();
    aws.make_bucket("records");
    let workflow = Workflow::between(&files("print(1)"), &files("print(2)"));
    (workflow.input(INPUT, limit), aws)
}

#[test]
fn the_comment_says_what_is_spent_and_a_push_beyond_it_is_unknown() {
    let (mut workflow, aws) = limited("0.37 USD");
    workflow
        .run_with(|command| aws.reach(command))
        .ended_with(0);
    let standing = "Checks of this pull request so far: 0.017 USD of 0.37 USD, 0.35 USD left.";
    assert_eq!(workflow.comment().matches(standing).count(), 1);
    workflow.later();
    workflow.push(&files("print(3)"));
    let step = workflow
        .run_with(|command| aws.reach(command))
        .ended_with(14);
    assert_eq!(step.output("verdict"), "unknown");
    assert_eq!(aws.jobs().len(), 3, "nothing is started");
    workflow.comments(&[
        standing,
        "0.017 USD of 0.37 USD is spent for this pull request",
        "**What to do.** Raise the input `max-spend-per-pull-request`, or lower",
    ]);
    // Back to what was measured: judged, and nothing is paid.
    workflow.later();
    workflow.push(&files("print(2)"));
    workflow
        .run_with(|command| aws.reach(command))
        .ended_with(0);
    // A maintainer's run for a fork counts as the pull request's.
    workflow.later();
    workflow.push(&files("print(3)"));
    let workflow = workflow
        .event("workflow_dispatch", serde_json::json!({}))
        .input("pull-request", &NUMBER.to_string());
    workflow
        .run_with(|command| aws.reach(command))
        .ended_with(14);
    assert_eq!(aws.jobs().len(), 3);
}

/// Its bill comes later, and nobody waits for it.
#[test]
fn a_canary_that_a_cancelled_run_stopped_counts_with_the_most_it_may_have_cost() {
    let (mut workflow, aws) = limited("0.49 USD");
    aws.polls(Polls::Nothing);
    let child = started(&workflow, |command| aws.reach(command));
    wait_for(|| !aws.in_progress().is_empty());
    signal(&child, Signal::SIGINT);
    ended(&workflow, child).ended_with(130);
    aws.polls(Polls::NextStatus);
    workflow.later();
    workflow.push(&files("print(3)"));
    workflow
        .run_with(|command| aws.reach(command))
        .ended_with(14);
    workflow
        .comments(&["Checks of this pull request so far: 0.12 USD of 0.49 USD, 0.37 USD left."]);
    assert_eq!(aws.jobs().len(), 1);
}
