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

/// A maintainer's run of the pull request by its number.
fn by_number(workflow: Workflow) -> Workflow {
    let workflow = workflow.event("workflow_dispatch", json!({"inputs": {}}));
    workflow.input("pull-request", "7")
}

#[test]
fn a_fork_is_not_run_and_the_text_says_how_a_maintainer_does() {
    let workflow = from_a_fork();
    // Its token can read and nothing else.
    forbid_comments(&workflow);
    let step = workflow.run().ended_with(0);
    assert_eq!(step.output("verdict"), "not_judged");
    // It cannot be given more.
    assert!(!step.summary.contains("permissions:"), "{}", step.summary);
    assert!(!step.finished.stderr.contains("::warning"));
    let only_reads = "token of a pull request from a fork can only read";
    step.says(&["comes from a fork", "pull-request: 7", only_reads]);
    // Neither its files nor its spec were asked for.
    assert_eq!(workflow.github.calls("GET", "/git/"), 0);
    let deleted = |workflow: &Workflow| {
        workflow
            .github
            .change_pull_request(NUMBER, |pull| pull.head_repository = None);
    };
    deleted(&workflow);
    workflow.run().ended_with(0).says(&["comes from a fork"]);
}

#[test]
fn a_fork_can_be_made_to_fail_the_check() {
    let step = from_a_fork().input("on-fork", "fail").run().ended_with(14);
    assert_eq!(
        (step.output("exit-code"), step.output("verdict")),
        ("14", "unknown")
    );
    let heading = step.summary.lines().next().unwrap();
    assert!(heading.contains("comes from a fork"), "{heading}");
    step.logs("::error title=").logs("on-fork: fail");
}

#[test]
fn a_maintainers_run_by_number_sets_a_status_on_the_head_that_was_read() {
    for (budget, code, state, description) in [
        (TOO_LITTLE, 10, "failure", "over budget"),
        (ENOUGH, 0, "success", "within budget"),
    ] {
        let workflow = Workflow::pull_request(&spec(budget), &spec(budget));
        workflow.github.change_pull_request(NUMBER, |pull| {
            pull.head_repository = Some("mallory/models".to_owned());
        });
        let workflow = by_number(workflow).input("commit-status", "canary-gate");
        workflow.run().ended_with(code);
        workflow.comments(&[description]);
        let statuses = workflow.github.statuses();
        let states = statuses
            .iter()
            .map(|one| (&*one.sha, &*one.context, &*one.state));
        let head = workflow.head();
        let expected = ["pending", state].map(|state| (head, "canary-gate", state));
        assert_eq!(states.collect::<Vec<_>>(), expected);
        assert!(
            statuses[1].description.contains(description),
            "{statuses:?}"
        );
    }
}

#[test]
fn no_status_is_set_unasked_nor_on_a_head_that_was_not_read() {
    let workflow = by_number(from_a_fork());
    workflow.run().ended_with(10);
    assert_eq!(workflow.github.statuses(), []);
    let workflow = workflow.input("commit-status", "canary-gate");
    let statuses = workflow.github.fail("POST", "/statuses/");
    statuses.with(Fault::Forbidden("statuses=write"));
    workflow.run().ended_with(10).logs("statuses: write");
    workflow.github.recover();
    // The branch itself was left checked out.
    workflow.project.write(".git/HEAD", workflow.base());
    workflow.run().ended_with(1).logs("is not pull request 7");
    assert_eq!(workflow.github.statuses(), []);
}

#[test]
fn pull_request_target_is_always_refused_and_nothing_is_asked() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let workflow = workflow.event("pull_request_target", json!({}));
    let step = workflow.run().ended_with(2);
    let step = step.logs("does not run on pull_request_target");
    step.says(&["does not run on pull\\_request\\_target"]);
    assert_eq!(workflow.github.requests(), []);
}
