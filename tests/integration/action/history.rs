//! What the action keeps from one run to the next: a pull request is compared with its base, and drift has an issue.

use std::fs;

use super::workflow::{NUMBER, Workflow};
use crate::baseline::{recording, spec};
use crate::github::Files;

/// The files of a training that takes so many seconds.
fn files(budget: &str, script: &str, rate: f64) -> Files {
    Files::new()
        .with("canary-gate.yml", spec(budget))
        .with("train.py", script)
        .with("runs.csv", recording(2.0, rate))
}

const BUDGET: &str = "{cost_increase: 20%}";

/// A pull request that makes a training half as long again.
fn slower() -> (Workflow, Files) {
    let base = files(BUDGET, "fit()", 1000.0);
    let head = files(BUDGET, "fit(slowly)", 1500.0);
    (Workflow::between(&base, &head), base)
}

fn folders(workflow: &Workflow) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(workflow.project.path(".canary-gate"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_pull_request_is_compared_with_what_a_push_measured_of_its_base() {
    let (mut workflow, base) = slower();
    workflow.on_main("push", &base, &[]).ended_with(0);
    assert_eq!(folders(&workflow), ["main"]);
    workflow.run().ended_with(10);
    let comment = workflow.comment();
    assert!(comment.contains(r"**\+45%**"), "{comment}");
    assert!(
        comment.contains("**Why it changed.** A full run takes 4"),
        "{comment}"
    );
    assert_eq!(folders(&workflow), ["main", "pr"]);
    let own = workflow
        .project
        .path(&format!(".canary-gate/pr/{NUMBER}/sums"));
    assert_eq!(fs::read_dir(own).unwrap().count(), 1);
}

#[test]
fn without_a_base_that_was_measured_the_comment_says_so() {
    let (workflow, _) = slower();
    workflow.run().ended_with(0);
    let comment = workflow.comment();
    assert!(
        comment.contains("There is no base yet to compare with"),
        "{comment}"
    );
}

#[test]
fn what_a_pull_request_wrote_is_no_base() {
    let (mut workflow, base) = slower();
    workflow.run().ended_with(0);
    // Its own records, on the code of the base, as somebody who wants a high base would make them.
    workflow.push(&files(BUDGET, "fit()", 1400.0));
    workflow.run().ended_with(0);
    workflow.push(&files(BUDGET, "fit(slowly)", 1500.0));
    workflow.run().ended_with(0);
    assert!(
        workflow
            .comment()
            .contains("There is no base yet to compare with")
    );
    let folder = workflow
        .project
        .path(&format!(".canary-gate/pr/{NUMBER}/sums"));
    assert!(fs::read_dir(folder).unwrap().count() > 0);
    let schedule = workflow.on_main("schedule", &base, &[("command", "drift")]);
    schedule.ended_with(0);
    let main = workflow.project.path(".canary-gate/main/sums");
    assert_eq!(fs::read_dir(main).unwrap().count(), 1);
}

#[test]
fn a_history_that_the_repository_brings_along_is_refused() {
    let base = files(BUDGET, "fit()", 1000.0);
    let record = ".canary-gate/main/sums/20261121T091407.123Z-forecast-3f9c2e1d8a7054b6-a1b2c3d4e5f60718.json";
    let head = files(BUDGET, "fit(slowly)", 1500.0).with(record, "{}");
    let workflow = Workflow::between(&base, &head);
    let step = workflow.run().ended_with(2);
    step.finished
        .complained("a pull request could bring records of its own");
}

#[test]
fn a_drift_opens_an_issue_that_is_closed_when_it_is_over() {
    let (mut workflow, base) = slower();
    let slow = files(BUDGET, "fit()", 1600.0);
    let drift = [("command", "drift")];
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    assert_eq!(workflow.github.issues().len(), 0);
    workflow.on_main("schedule", &slow, &drift).ended_with(12);
    let issues = workflow.github.issues();
    assert_eq!(issues.len(), 1, "{issues:#?}");
    assert!(issues[0].title.contains("sums drifted"), "{issues:#?}");
    workflow.on_main("schedule", &slow, &drift).ended_with(12);
    workflow.on_main("schedule", &base, &drift);
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    let issues = workflow.github.issues();
    assert_eq!(issues.len(), 1, "{issues:#?}");
    assert_eq!(issues[0].closed_as.as_deref(), Some("completed"));
}

#[test]
fn a_drift_that_is_accepted_is_the_baseline_and_its_issue_is_closed() {
    let (mut workflow, base) = slower();
    let slow = files(BUDGET, "fit()", 1600.0);
    let drift = [("command", "drift")];
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    workflow.on_main("schedule", &slow, &drift).ended_with(12);
    let accept = [("command", "drift"), ("accept", "true")];
    let step = workflow
        .on_main("workflow_dispatch", &slow, &accept)
        .ended_with(0);
    assert!(
        step.summary.contains("is the baseline from now on"),
        "{}",
        step.summary
    );
    assert!(workflow.github.issues()[0].closed_as.is_some());
    workflow.on_main("schedule", &slow, &drift).ended_with(0);
}

#[test]
fn a_push_that_changed_a_job_is_the_baseline_of_the_checks_after_it() {
    let (mut workflow, base) = slower();
    let drift = [("command", "drift")];
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    let slow = files(BUDGET, "fit(slowly)", 1600.0);
    workflow.on_main("push", &slow, &[]).ended_with(0);
    workflow.on_main("schedule", &slow, &drift).ended_with(0);
}

#[test]
fn drift_is_of_a_branch_and_not_of_a_pull_request() {
    let (workflow, _) = slower();
    let step = workflow.input("command", "drift").run().ended_with(2);
    step.finished.complained("not on a pull request");
}

#[test]
fn an_issue_that_may_not_be_written_is_reported_and_hides_no_drift() {
    let (mut workflow, base) = slower();
    let slow = files(BUDGET, "fit()", 1600.0);
    let drift = [("command", "drift")];
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    workflow
        .github
        .fail("POST", "/issues")
        .with(crate::github::Fault::Forbidden("issues=write"));
    let step = workflow.on_main("schedule", &slow, &drift).ended_with(12);
    assert!(step.summary.contains("issues: write"), "{}", step.summary);
}

#[test]
fn a_push_that_measured_nothing_new_leaves_a_drift_standing() {
    let (mut workflow, base) = slower();
    let drift = [("command", "drift")];
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    let slow = files(BUDGET, "fit()", 1600.0);
    workflow.on_main("schedule", &slow, &drift).ended_with(12);
    // Another budget concerns every job, and is no other training.
    let other_budget = files("{cost_increase: 30%}", "fit()", 1600.0);
    workflow.on_main("push", &other_budget, &[]).ended_with(0);
    workflow.on_main("schedule", &slow, &drift).ended_with(12);
    assert_eq!(workflow.github.issues()[0].closed_as, None);
}

/// One job drifted and was seen by an issue; now its check cannot be made, while that of the other is fine.
#[test]
fn an_issue_stays_open_while_a_job_cannot_be_checked() {
    let other = spec(BUDGET)
        .split_once("jobs:\n")
        .unwrap()
        .1
        .replace("sums", "others");
    let two = |rate: f64, has_runs: bool| {
        let others = recording(2.0, 1000.0).replace("sums", "others");
        let (head, of_others) = others.split_once('\n').unwrap();
        let of_sums = recording(2.0, rate);
        let of_sums = if has_runs {
            of_sums.split_once('\n').unwrap().1
        } else {
            ""
        };
        Files::new()
            .with("canary-gate.yml", format!("{}{other}", spec(BUDGET)))
            .with("train.py", "fit()")
            .with("runs.csv", format!("{head}\n{of_others}{of_sums}"))
    };
    let base = two(1000.0, true);
    let mut workflow = Workflow::between(&base, &two(1001.0, true));
    let drift = [("command", "drift")];
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    workflow
        .on_main("schedule", &two(1600.0, true), &drift)
        .ended_with(12);
    workflow
        .on_main("schedule", &two(1600.0, false), &drift)
        .ended_with(1);
    assert_eq!(workflow.github.issues()[0].closed_as, None);
}
