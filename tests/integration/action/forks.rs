//! Whose code is run: never a fork's by itself, never anybody's on pull_request_target.

use serde_json::json;

use crate::github::Fault;

use super::workflow::{ENOUGH, NUMBER, TOO_LITTLE, Workflow, forbid_comments, spec};

fn from_a_fork() -> Workflow {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    workflow.github.change_pull_request(NUMBER, |pull| {
        pull.head_repository = Some("mallory/models".to_owned());
    });
    workflow
}

#[test]
fn a_fork_is_not_run_and_the_text_says_how_a_maintainer_does() {
    let workflow = from_a_fork();
    // Its token can read and nothing else.
    forbid_comments(&workflow);
    let step = workflow.run().ended_with(0);
    assert_eq!(step.output("verdict"), "not_judged");
    assert!(
        step.summary.contains("comes from a fork"),
        "{}",
        step.summary
    );
    assert!(step.summary.contains("pull-request: 7"), "{}", step.summary);
    // It cannot be given more.
    assert!(!step.summary.contains("permissions:"), "{}", step.summary);
    assert!(
        step.summary
            .contains("token of a pull request from a fork can only read"),
        "{}",
        step.summary
    );
    assert!(!step.finished.stderr.contains("::warning"));
    // Neither its files nor its spec were asked for.
    assert_eq!(workflow.github.calls("GET", "/git/trees"), 0);
    assert_eq!(workflow.github.calls("GET", "/git/blobs"), 0);
}

#[test]
fn a_fork_can_be_made_to_fail_the_check() {
    let step = from_a_fork().input("on-fork", "fail").run().ended_with(14);
    assert_eq!(step.output("exit-code"), "14");
    assert_eq!(step.output("verdict"), "unknown");
    let heading = step.summary.lines().next().unwrap();
    assert!(heading.contains("comes from a fork"), "{heading}");
    let log = &step.finished.stderr;
    assert!(
        log.contains("::error title=") && log.contains("on-fork: fail"),
        "{log}"
    );
}

#[test]
fn a_deleted_fork_is_a_fork() {
    let workflow = from_a_fork();
    workflow
        .github
        .change_pull_request(NUMBER, |pull| pull.head_repository = None);
    let step = workflow.run().ended_with(0);
    assert!(
        step.summary.contains("comes from a fork"),
        "{}",
        step.summary
    );
}

#[test]
fn a_maintainer_runs_a_fork_by_its_number() {
    let workflow = from_a_fork()
        .event("workflow_dispatch", json!({"inputs": {}}))
        .input("pull-request", "7");
    let step = workflow.run().ended_with(10);
    assert_eq!(step.output("verdict"), "exceeded");
    assert!(
        workflow.comment().contains("over budget"),
        "{}",
        workflow.comment()
    );
}

#[test]
fn a_maintainers_run_sets_a_status_on_the_head_that_was_read() {
    for (budget, code, state, description) in [
        (TOO_LITTLE, 10, "failure", "over budget"),
        (ENOUGH, 0, "success", "within budget"),
    ] {
        let workflow = Workflow::pull_request(&spec(budget), &spec(budget))
            .event("workflow_dispatch", json!({"inputs": {}}))
            .input("pull-request", "7")
            .input("commit-status", "canary-gate");
        workflow.run().ended_with(code);
        let statuses = workflow.github.statuses();
        let said: Vec<(&str, &str, &str)> = statuses
            .iter()
            .map(|one| (one.sha.as_str(), one.state.as_str(), one.context.as_str()))
            .collect();
        let head = workflow.head();
        assert_eq!(
            said,
            [
                (head, "pending", "canary-gate"),
                (head, state, "canary-gate")
            ]
        );
        assert!(
            statuses[1].description.contains(description),
            "{statuses:?}"
        );
    }
}

#[test]
fn without_being_asked_no_status_is_set_and_none_on_a_head_that_was_not_read() {
    let workflow = from_a_fork()
        .event("workflow_dispatch", json!({"inputs": {}}))
        .input("pull-request", "7");
    workflow.run().ended_with(10);
    assert_eq!(workflow.github.statuses(), []);
    let workflow = workflow.input("commit-status", "canary-gate");
    workflow.project.write(".git/HEAD", workflow.base());
    workflow.run().ended_with(1);
    assert_eq!(workflow.github.statuses(), []);
}

#[test]
fn a_status_that_may_not_be_set_names_the_permission() {
    let workflow = from_a_fork()
        .event("workflow_dispatch", json!({"inputs": {}}))
        .input("pull-request", "7")
        .input("commit-status", "canary-gate");
    workflow
        .github
        .fail("POST", "/statuses/")
        .with(Fault::Forbidden("statuses=write"));
    let step = workflow.run().ended_with(10);
    assert!(
        step.finished.stderr.contains("statuses: write"),
        "{}",
        step.finished.seen()
    );
}

#[test]
fn only_what_the_maintainer_named_is_run() {
    let workflow = from_a_fork()
        .event("workflow_dispatch", json!({"inputs": {}}))
        .input("pull-request", "7");
    // The branch itself was left checked out.
    workflow.project.write(".git/HEAD", workflow.base());
    let step = workflow.run().ended_with(1);
    let said = step.finished.words();
    assert!(said.contains("is not pull request 7"), "{said}");
}

#[test]
fn pull_request_target_is_always_refused_and_nothing_is_asked() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH))
        .event("pull_request_target", json!({}));
    let step = workflow.run().ended_with(2);
    assert!(
        step.finished
            .words()
            .contains("does not run on pull_request_target")
    );
    let summary = &step.summary;
    assert!(
        summary.contains("does not run on pull\\_request\\_target"),
        "{summary}"
    );
    assert_eq!(workflow.github.requests(), []);
}
