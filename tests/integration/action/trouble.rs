//! What goes wrong is reported, and nothing is lost by it.

use serde_json::json;

use super::workflow::{ENOUGH, NUMBER, TOO_LITTLE, Workflow, files, forbid_comments, spec};
use crate::github::Fault;

#[test]
fn a_comment_that_may_not_be_written_is_in_the_summary_and_decides_nothing() {
    for (budget, code) in [(ENOUGH, 0), (TOO_LITTLE, 10)] {
        let workflow = Workflow::pull_request(&spec(budget), &spec(budget));
        forbid_comments(&workflow);
        let step = workflow.run().ended_with(code);
        assert!(step.summary.contains("`xgb_reg`"), "{}", step.summary);
        // To be pasted as it stands.
        let block = "```text\npermissions:\n  contents: read\n  pull-requests: write\n```\n";
        assert!(step.summary.contains(block), "{}", step.summary);
        assert!(!step.outputs.contains_key("comment-url"));
    }
}

#[test]
fn a_locked_conversation_is_the_reason_that_is_said() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    workflow
        .github
        .fail("POST", "/comments")
        .with(Fault::Locked);
    let step = workflow.run().ended_with(0);
    assert!(
        step.summary.contains("conversation") && step.summary.contains("locked"),
        "{}",
        step.summary
    );
    assert!(!step.summary.contains("permissions:"), "{}", step.summary);
    let log = &step.finished.stderr;
    assert!(
        log.contains("::warning title=the comment could not be posted::"),
        "{log}"
    );
}

#[test]
fn an_invalid_spec_is_in_the_comment_with_its_line() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec("{tmie: 10m}"));
    let step = workflow.run().ended_with(2);
    let comment = workflow.comment();
    assert!(comment.contains("could not check"), "{comment}");
    assert!(comment.contains("Line 11: "), "{comment}");
    assert!(comment.contains("tmie"), "{comment}");
    assert_eq!(step.output("exit-code"), "2");
    let log = &step.finished.stderr;
    assert!(
        log.contains("::error file=canary-gate.yml,line=11,"),
        "{log}"
    );
}

#[test]
fn a_line_of_the_spec_is_no_command_in_the_log() {
    let hostile = spec("{time: 10m}").replace(
        "backend:",
        "\"##[set-output name=verdict;]within\": 1\nbackend:",
    );
    let workflow = Workflow::pull_request(&spec(ENOUGH), &hostile);
    let step = workflow.run().ended_with(2);
    assert!(
        !step.finished.stderr.contains("##["),
        "{}",
        step.finished.seen()
    );
}

#[test]
fn a_spec_that_is_corrected_updates_its_own_comment() {
    let base = files(&spec(ENOUGH), "1").renamed("canary-gate.yml", ".github/canary-gate.yml");
    let head = |spec: &str| {
        base.clone()
            .with(".github/canary-gate.yml", spec)
            .with("train.py", "2")
    };
    let mut workflow = Workflow::between(&base, &head(&spec("{tmie: 10m}")));
    workflow.run().ended_with(2);
    workflow.push(&head(&spec(ENOUGH)));
    workflow.later();
    workflow.run().ended_with(0);
    assert!(
        workflow.comment().contains("within budget"),
        "{}",
        workflow.comment()
    );
}

#[test]
fn github_that_cannot_be_asked_leaves_the_outcome_unknown() {
    for (input, code) in [("fail", 14), ("pass", 0)] {
        let workflow =
            Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH)).input("on-inconclusive", input);
        workflow
            .github
            .fail("GET", "/git/trees")
            .with(Fault::Status(502));
        let step = workflow.run().ended_with(code);
        assert_eq!(step.output("verdict"), "unknown");
        assert!(
            workflow.comment().contains("could not check"),
            "{}",
            workflow.comment()
        );
    }
}

#[test]
fn wrong_inputs_are_named_all_at_once() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH))
        .input("strict", "yes")
        .input("max-spend", "5");
    let step = workflow.run().ended_with(2);
    let said = step.finished.words();
    assert!(
        said.contains("`strict` is `yes`") && said.contains("`max-spend` is `5`"),
        "{said}"
    );
    assert!(step.summary.contains("max-spend"), "{}", step.summary);
    // An older comment does not stand there as if nothing were wrong.
    assert!(
        workflow.comment().contains("could not check"),
        "{}",
        workflow.comment()
    );
    assert_eq!(step.output("exit-code"), "2");
    assert!(workflow.project.path(step.output("report")).exists());
}

#[test]
fn outside_of_a_workflow_the_way_out_is_said() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let finished = workflow.project.run(&["action"]).ended_with(2);
    assert!(
        finished.words().contains("canary-gate run"),
        "{}",
        finished.seen()
    );
}

#[test]
fn a_comment_that_is_not_finished_is_finished_by_the_post_step() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    workflow.run().ended_with(0);
    // As if the step had been killed in between.
    let comment = workflow.github.comments(NUMBER)[0].clone();
    let stub = comment.body.replacen(" -->", " state=running -->", 1);
    workflow.github.edit_comment(comment.id, &stub);
    let workflow = workflow
        .variable("STATE_run_id", "4821")
        .variable("STATE_order", "2026-11-21T09:14:07Z/4821/1")
        .variable("STATE_pull_request", "7")
        .variable("STATE_spec", "canary-gate.yml")
        .variable("STATE_subject", "canary-gate.yml");
    workflow.run().ended_with(0);
    let comment = workflow.comment();
    assert!(!comment.contains("state=running"), "{comment}");
    assert!(!comment.contains("within budget"), "{comment}");
}

#[test]
fn a_last_word_that_did_not_reach_the_comment_is_said_by_the_post_step() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    workflow
        .github
        .fail("PATCH", "/issues/comments")
        .with(Fault::Status(403));
    let step = workflow.run().ended_with(0);
    assert!(workflow.comment().contains("state=running"));
    assert!(!step.state.contains_key("posted"));
    workflow.github.recover();
    workflow.post_step(&step).ended_with(0);
    let comment = workflow.comment();
    assert!(comment.contains("ended before its time"), "{comment}");
}

#[test]
fn the_post_step_of_a_step_that_ended_well_does_nothing() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let step = workflow.run().ended_with(0);
    let comment = workflow.comment();
    let requests = workflow.github.requests().len();
    workflow.post_step(&step).ended_with(0);
    assert_eq!(workflow.comment(), comment);
    assert_eq!(workflow.github.requests().len(), requests);
}

#[test]
fn an_event_whose_code_is_of_unknown_origin_is_refused() {
    for event in ["workflow_run", "issue_comment", "release"] {
        let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH)).event(event, json!({}));
        let step = workflow.run().ended_with(2);
        assert!(
            step.finished.words().contains("names no change"),
            "{}",
            step.finished.seen()
        );
        assert_eq!(workflow.github.calls("GET", "/git/trees"), 0);
    }
}
