//! What goes wrong is reported, and nothing is lost by it.

use serde_json::json;

use super::workflow::{ENOUGH, TOO_LITTLE, Workflow, files, forbid_comments, spec};
use crate::github::Fault;

#[test]
fn a_comment_that_may_not_be_written_is_in_the_summary_and_decides_nothing() {
    for (budget, code) in [(ENOUGH, 0), (TOO_LITTLE, 10)] {
        let workflow = Workflow::pull_request(&spec(budget), &spec(budget));
        forbid_comments(&workflow);
        let step = workflow.run().ended_with(code);
        assert!(!step.outputs.contains_key("comment-url"));
        // To be pasted as it stands.
        let block = "```text\npermissions:\n  contents: read\n  pull-requests: write\n```\n";
        step.says(&["`xgb_reg`", block]);
    }
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let comments = workflow.github.fail("POST", "/comments");
    comments.with(Fault::Locked);
    let step = workflow.run().ended_with(0);
    let log = &step.finished.stderr;
    let warning = "::warning title=the comment could not be posted::";
    assert!(log.contains(warning), "{log}");
    assert!(!step.summary.contains("permissions:"), "{}", step.summary);
    step.says(&["conversation", "locked"]);
}

#[test]
fn an_invalid_spec_is_in_the_comment_with_its_line_until_it_is_corrected() {
    let base = files(&spec(ENOUGH), "1").renamed("canary-gate.yml", ".github/canary-gate.yml");
    let head = |spec: &str| {
        let head = base.clone().with("train.py", "2");
        head.with(".github/canary-gate.yml", spec)
    };
    let mut workflow = Workflow::between(&base, &head(&spec("{tmie: 10m}")));
    let step = workflow.run().ended_with(2);
    workflow.comments(&["could not check", "Line 11: ", "tmie"]);
    assert_eq!(step.output("exit-code"), "2");
    let log = &step.finished.stderr;
    let place = "::error file=.github/canary-gate.yml,line=11,";
    assert!(log.contains(place), "{log}");
    workflow.push(&head(&spec(ENOUGH)));
    workflow.later();
    workflow.run().ended_with(0);
    workflow.comments(&["within budget"]);
}

#[test]
fn a_line_of_the_spec_is_no_command_in_the_log() {
    let command = "\"##[set-output name=verdict;]within\": 1\nbackend:";
    let hostile = spec("{time: 10m}").replace("backend:", command);
    let workflow = Workflow::pull_request(&spec(ENOUGH), &hostile);
    let finished = workflow.run().ended_with(2).finished;
    assert!(!finished.stderr.contains("##["), "{}", finished.seen());
}

#[test]
fn github_that_cannot_be_asked_leaves_the_outcome_unknown() {
    for (input, code) in [("fail", 14), ("pass", 0)] {
        let workflow =
            Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH)).input("on-inconclusive", input);
        let trees = workflow.github.fail("GET", "/git/trees");
        trees.with(Fault::Status(502));
        let step = workflow.run().ended_with(code);
        assert_eq!(step.output("verdict"), "unknown");
        workflow.comments(&["could not check"]);
    }
}

#[test]
fn wrong_inputs_are_named_all_at_once() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH))
        .input("strict", "yes")
        .input("max-spend", "5");
    let step = workflow.run().ended_with(2);
    assert!(workflow.project.path(step.output("report")).exists());
    let step = step.logs("`strict` is `yes`").logs("`max-spend` is `5`");
    step.says(&["max-spend"]);
    // An older comment does not stand there as if nothing were wrong.
    workflow.comments(&["could not check"]);
    let outside = workflow.project.run(&["action"]).ended_with(2);
    assert!(
        outside.words().contains("canary-gate run"),
        "{}",
        outside.seen()
    );
}

#[test]
fn a_last_word_that_did_not_reach_the_comment_is_said_by_the_post_step() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let comments = workflow.github.fail("PATCH", "/issues/comments");
    comments.with(Fault::Status(403));
    let step = workflow.run().ended_with(0);
    workflow.comments(&["state=running"]);
    assert!(!step.state.contains_key("posted"));
    workflow.github.recover();
    workflow.post_step(&step).ended_with(0);
    workflow.comments(&["ended before its time"]);
}

#[test]
fn the_post_step_of_a_step_that_ended_well_does_nothing() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let step = workflow.run().ended_with(0);
    let before = (workflow.comment(), workflow.github.requests());
    workflow.post_step(&step).ended_with(0);
    assert_eq!((workflow.comment(), workflow.github.requests()), before);
}

#[test]
fn an_event_whose_code_is_of_unknown_origin_is_refused() {
    for event in ["workflow_run", "issue_comment", "release"] {
        let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH)).event(event, json!({}));
        workflow.run().ended_with(2).logs("names no change");
        assert_eq!(workflow.github.calls("GET", "/git/trees"), 0);
    }
}
