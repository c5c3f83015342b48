//! What a pull request may not decide for itself.

use super::workflow::{ENOUGH, TOO_LITTLE, Workflow, files, spec};
use crate::github::Files;

#[test]
fn a_pull_request_cannot_raise_its_own_budget() {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(ENOUGH));
    workflow.run().ended_with(10);
    let comment = workflow.comment();
    assert!(
        comment.contains("raises the time budget from 20s to 10m"),
        "{comment}"
    );
    assert!(comment.contains("over budget"), "{comment}");
}

#[test]
fn a_pull_request_cannot_take_its_code_out_of_the_paths() {
    let hidden = spec(TOO_LITTLE).replace("paths: [train.py]", "paths: [nothing]");
    let base = files(&spec(TOO_LITTLE), "1");
    let head = base
        .clone()
        .with("train.py", "2")
        .with("canary-gate.yml", hidden);
    Workflow::between(&base, &head).run().ended_with(10);
}

#[test]
fn a_spec_that_was_moved_is_judged_by_the_one_that_was_there() {
    let base = files(&spec(TOO_LITTLE), "1");
    let head = base
        .clone()
        .without("canary-gate.yml")
        .with("train.py", "2")
        .with(".github/canary-gate.yml", spec(ENOUGH));
    Workflow::between(&base, &head).run().ended_with(10);
}

#[test]
fn a_job_that_the_base_does_not_know_is_capped_and_said_so() {
    let base = Files::new().with("train.py", "1");
    let head = files(&spec(ENOUGH), "2");
    let workflow = Workflow::between(&base, &head).input("max-spend", "2 USD");
    workflow.run().ended_with(0);
    let comment = workflow.comment();
    assert!(comment.contains("2 USD"), "{comment}");
}

#[test]
fn local_canaries_are_for_a_step_of_their_own() {
    let local = spec(ENOUGH)
        .replace("backend: replay", "backend: local")
        .replace("recording: runs.csv\n", "")
        .replace("xgb_reg", "digits");
    let workflow = Workflow::pull_request(&local, &local);
    let step = workflow.run().ended_with(2);
    assert!(
        step.finished.words().contains("report-from: part.json"),
        "{}",
        step.finished.seen()
    );
    assert!(
        workflow.comment().contains("cannot run local canaries"),
        "{}",
        workflow.comment()
    );
}

/// A change must not take its own policy because the base's spec is no spec.
#[test]
fn a_spec_of_the_base_that_cannot_be_read_is_unknown() {
    for broken in ["version: 1\njobs: {}\n", &"#".repeat((1 << 20) + 1)] {
        let workflow = Workflow::pull_request(broken, &spec(ENOUGH));
        let step = workflow.run().ended_with(14);
        assert_eq!(step.output("verdict"), "unknown");
        let comment = workflow.comment();
        assert!(comment.contains("cannot be read"), "{comment}");
        let lenient = workflow.input("on-inconclusive", "pass");
        lenient.run().ended_with(0);
    }
}

/// The workflow names `ml/canary-gate.yml`; the pull request makes `ml` a link to a folder of its own.
#[test]
fn a_folder_that_becomes_a_link_keeps_its_policy() {
    let base = files(&spec(ENOUGH), "1").with(
        "ml/canary-gate.yml",
        spec(TOO_LITTLE).replace("runs.csv", "/runs.csv"),
    );
    let head = base
        .clone()
        .with("train.py", "2")
        .without("ml/canary-gate.yml")
        .with(
            "ml2/canary-gate.yml",
            spec(ENOUGH).replace("runs.csv", "/runs.csv"),
        );
    let workflow = Workflow::between(&base, &head).input("spec", "ml/canary-gate.yml");
    std::os::unix::fs::symlink("ml2", workflow.project.path("ml")).unwrap();
    workflow.run().ended_with(10);
}

#[test]
fn a_spec_of_the_base_that_is_a_link_judges_nothing() {
    let base = files(&spec(TOO_LITTLE), "1")
        .renamed("canary-gate.yml", "shared.yml")
        .with_link("canary-gate.yml", "shared.yml");
    let head = files(&spec(ENOUGH), "2");
    let workflow = Workflow::between(&base, &head);
    let step = workflow.run().ended_with(14);
    assert_eq!(step.output("verdict"), "unknown");
    let comment = workflow.comment();
    assert!(
        comment.contains("is a symbolic link in that commit"),
        "{comment}"
    );
}

#[test]
fn a_spec_outside_of_the_workspace_is_not_read() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("canary-gate.yml"), "secret: 1\n").unwrap();
    std::fs::remove_file(workflow.project.path("canary-gate.yml")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), workflow.project.path(".github")).unwrap();
    let step = workflow.run().ended_with(2);
    assert!(
        step.finished
            .words()
            .contains("lies outside of the workspace"),
        "{}",
        step.finished.seen()
    );
    assert!(
        !workflow.comment().contains("secret"),
        "{}",
        workflow.comment()
    );
}

#[test]
fn steps_for_some_jobs_each_have_a_comment() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH)).input("jobs", "xgb_reg");
    workflow.run().ended_with(0);
    let marker = workflow.comment();
    assert!(
        marker.contains(" spec=canary-gate.yml%23xgb_reg ") || marker.contains("#xgb_reg "),
        "{marker}"
    );
}
