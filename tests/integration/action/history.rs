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

#[test]
fn a_pull_request_is_compared_with_what_a_push_measured_of_its_base() {
    let (mut workflow, base) = slower();
    workflow.run().ended_with(0);
    workflow.comments(&["There is no base yet to compare with"]);
    workflow.on_main("push", &base, &[]).ended_with(0);
    workflow.run().ended_with(10);
    workflow.comments(&[r"**\+45%**", "**Why it changed.** A full run takes 4"]);
    for (folder, records) in [
        ("main/sums".to_owned(), 1),
        (format!("pr/{NUMBER}/sums"), 2),
    ] {
        let folder = workflow.project.path(&format!(".canary-gate/{folder}"));
        assert_eq!(fs::read_dir(folder).unwrap().count(), records);
    }
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
    workflow.comments(&["There is no base yet to compare with"]);
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
fn a_drift_opens_an_issue_that_is_closed_when_it_is_over_or_accepted() {
    let (mut workflow, base) = slower();
    let slow = files(BUDGET, "fit()", 1600.0);
    let drift = [("command", "drift")];
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    assert_eq!(workflow.github.issues().len(), 0);
    workflow.on_main("schedule", &slow, &drift).ended_with(12);
    let issues = workflow.github.issues();
    assert!(issues[0].title.contains("sums drifted"), "{issues:#?}");
    workflow.on_main("schedule", &slow, &drift).ended_with(12);
    workflow.on_main("schedule", &base, &drift);
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    let closed = |workflow: &Workflow| {
        let issues = workflow.github.issues().into_iter();
        issues.map(|issue| issue.closed_as).collect::<Vec<_>>()
    };
    assert_eq!(closed(&workflow), [Some("completed".to_owned())]);
    let (mut workflow, base) = slower();
    workflow.on_main("schedule", &base, &drift).ended_with(0);
    workflow.on_main("schedule", &slow, &drift).ended_with(12);
    let accept = [("command", "drift"), ("accept", "true")];
    let step = workflow.on_main("workflow_dispatch", &slow, &accept);
    step.ended_with(0).says(&["is the baseline from now on"]);
    assert_eq!(closed(&workflow), [Some("completed".to_owned())]);
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
    step.says(&["issues: write"]);
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
