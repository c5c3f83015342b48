//! What a pull request may not decide for itself.

use std::fs;
use std::os::unix::fs::symlink;

use super::workflow::{ENOUGH, TOO_LITTLE, Workflow, files, spec};
use crate::github::Files;

/// Each row: the base, the head, the code that the check ends with, and what the comment says.
#[test]
fn a_pull_request_is_judged_by_the_bases_spec_wherever_it_lies() {
    let base = || files(&spec(TOO_LITTLE), "1");
    let raised = base().with("canary-gate.yml", spec(ENOUGH));
    let hidden = spec(TOO_LITTLE).replace("paths: [train.py]", "paths: [nothing]");
    let hidden = base().with("canary-gate.yml", hidden);
    let moved = base()
        .without("canary-gate.yml")
        .with(".github/canary-gate.yml", spec(ENOUGH));
    let linked = base()
        .renamed("canary-gate.yml", "shared.yml")
        .with_link("canary-gate.yml", "shared.yml");
    for (base, head, code, said) in [
        (base(), raised, 10, "raises the time budget from 20s to 10m"),
        (base(), hidden, 10, "over budget"),
        (base(), moved, 10, "over budget"),
        (
            linked,
            files(&spec(ENOUGH), "1"),
            14,
            "is a symbolic link in that commit",
        ),
    ] {
        let workflow = Workflow::between(&base, &head.with("train.py", "2"));
        let step = workflow.run().ended_with(code);
        workflow.comments(&[said]);
        let verdict = if code == 10 { "exceeded" } else { "unknown" };
        assert_eq!(step.output("verdict"), verdict);
    }
}

#[test]
fn a_job_that_the_base_does_not_know_is_capped_and_said_so() {
    let base = Files::new().with("train.py", "1");
    let head = files(&spec(ENOUGH), "2");
    let workflow = Workflow::between(&base, &head).input("max-spend", "2 USD");
    workflow.run().ended_with(0);
    workflow.comments(&["2 USD"]);
}

#[test]
fn local_canaries_are_for_a_step_of_their_own() {
    let local = spec(ENOUGH)
        .replace("backend: replay", "backend: local")
        .replace("recording: runs.csv\n", "")
        .replace("xgb_reg", "digits");
    let workflow = Workflow::pull_request(&local, &local);
    workflow.run().ended_with(2).logs("report-from: part.json");
    workflow.comments(&["cannot run local canaries"]);
}

/// A change must not take its own policy because the base's spec is no spec.
#[test]
fn a_spec_of_the_base_that_cannot_be_read_is_unknown() {
    for broken in ["version: 1\njobs: {}\n", &"#".repeat((1 << 20) + 1)] {
        let workflow = Workflow::pull_request(broken, &spec(ENOUGH));
        let step = workflow.run().ended_with(14);
        assert_eq!(step.output("verdict"), "unknown");
        workflow.comments(&["cannot be read"]);
        let lenient = workflow.input("on-inconclusive", "pass");
        lenient.run().ended_with(0);
    }
}

/// The workflow names `ml/canary-gate.yml`; the pull request makes `ml` a link to a folder of its own.
#[test]
fn a_folder_that_becomes_a_link_keeps_its_policy() {
    let spec = |budget: &str| spec(budget).replace("runs.csv", "/runs.csv");
    let base = files(&spec(ENOUGH), "1").with("ml/canary-gate.yml", spec(TOO_LITTLE));
    let head = base
        .clone()
        .with("train.py", "2")
        .without("ml/canary-gate.yml")
        .with("ml2/canary-gate.yml", spec(ENOUGH));
    let workflow = Workflow::between(&base, &head).input("spec", "ml/canary-gate.yml");
    symlink("ml2", workflow.project.path("ml")).unwrap();
    workflow.run().ended_with(10);
}

#[test]
fn a_spec_outside_of_the_workspace_is_not_read() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("canary-gate.yml"), "secret: 1\n").unwrap();
    fs::remove_file(workflow.project.path("canary-gate.yml")).unwrap();
    symlink(elsewhere.path(), workflow.project.path(".github")).unwrap();
    workflow
        .run()
        .ended_with(2)
        .logs("lies outside of the workspace");
    assert!(!workflow.comment().contains("secret"));
}

#[test]
fn steps_for_some_jobs_each_have_a_comment() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH)).input("jobs", "xgb_reg");
    workflow.run().ended_with(0);
    workflow.comments(&[" spec=canary-gate.yml%23xgb_reg "]);
}
