//! The label by which somebody who may write accepts a known overrun, and everything that it does not let pass.

use serde_json::{Value, json};

use super::workflow::{NUMBER, TOO_LITTLE, Workflow, files, says_all, spec};
use crate::github::{Fault, User};

const LABEL: &str = "canary-gate: accept";
/// Checks finish at the time of the machine.
const BEFORE: &str = "2026-11-21T09:14:09Z";
const AFTER: &str = "2100-01-01T09:20:00Z";

/// A pull request over its budget, as a check has shown, and `alice`, who may write.
fn overrun() -> Workflow {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    workflow.github.permit("alice", "write");
    workflow.run().ended_with(10);
    workflow
}

/// The recording, in which everything takes so many times as long.
fn slower(times: f64) -> String {
    let rows = include_str!("../../data/training-runs.csv").lines();
    let slower = rows.map(|row| {
        let mut cells: Vec<String> = row.split(',').map(str::to_owned).collect();
        if let Ok(seconds) = cells[7].parse::<f64>() {
            cells[7] = format!("{:.3}", seconds * times);
        }
        cells.join(",") + "\n"
    });
    slower.collect()
}

fn alice() -> User {
    User::person("alice")
}

#[track_caller]
fn is_refused(workflow: &Workflow, why: &str) {
    workflow.run().ended_with(10);
    let said = "**Policy.** The label `canary-gate: accept` does not count: ";
    workflow.comments(&["### ❌ `xgb_reg` over budget: ", said, why]);
}

#[test]
fn somebody_who_may_write_accepts_a_known_overrun_by_name() {
    for comment in ["update", "new"] {
        let mut workflow = overrun().input("comment", comment);
        workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
        // By hand, by the label's own event, and again: what was shown stays known.
        for _ in 0..3 {
            let step = workflow.run().ended_with(0);
            let said = workflow.github.comments(NUMBER).pop().unwrap().body;
            for text in [&said, &step.summary] {
                says_all(
                    text,
                    &[
                        "### ⚠️ `xgb_reg` over budget, accepted by `alice`: time is ",
                        "**Policy.** The label `canary-gate: accept` by alice, of 2100-01-01 09",
                    ],
                );
            }
            assert_eq!(step.output("verdict"), "exceeded");
            assert_eq!(step.output("exit-code"), "0");
            let log = &step.finished.stderr;
            assert!(!log.contains("::error"), "{}", step.finished.seen());
            workflow.later();
        }
    }
}

const UNSEEN: &str = "shows no check of this commit that had finished over its budget";

#[test]
fn an_overrun_that_nobody_saw_is_not_accepted() {
    let mut workflow = overrun();
    // The label is put on for what the comment shows, while the check of another head is at work.
    workflow.push(&files(&spec(TOO_LITTLE), "print(3)\n").with("runs.csv", slower(10.0)));
    workflow.later();
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    is_refused(&workflow, UNSEEN);
    // It was seen by now, and somebody who looks at it puts the label on.
    workflow.later();
    workflow.run().ended_with(0);
    // What more is found of the same head was not seen.
    workflow.project.write("runs.csv", &slower(15.0));
    is_refused(
        &workflow,
        "may come to is more than the finished check showed",
    );
}

#[test]
fn a_label_that_was_there_before_a_check_had_finished_does_not_count() {
    let workflow = overrun();
    workflow.github.label(NUMBER, LABEL, true, &alice(), BEFORE);
    is_refused(&workflow, UNSEEN);
    let workflow = overrun();
    workflow.github.state().comments.clear();
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    is_refused(&workflow, UNSEEN);
}

#[test]
fn a_label_that_was_taken_off_does_not_count() {
    let workflow = overrun();
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    let later = "2026-11-21T09:21:00Z";
    workflow.github.label(NUMBER, LABEL, false, &alice(), later);
    workflow.run().ended_with(10);
    assert!(!workflow.comment().contains("canary-gate: accept"));
    // Somebody else puts it on again: it is theirs.
    let mallory = User::person("mallory");
    workflow.github.permit("mallory", "read");
    let again = "2026-11-21T09:22:00Z";
    workflow.github.label(NUMBER, LABEL, true, &mallory, again);
    is_refused(&workflow, "mallory put it on and may not write");
}

/// Each row: who put the label on, what they may, and why it does not count. `ghost` is an account that is gone.
#[test]
fn who_may_not_write_and_who_is_no_person_accepts_nothing() {
    for (user, permission, why) in [
        (User::person("octocat"), Some("triage"), "may not write"),
        (User::person("ghost"), None, "may not write"),
        (
            User::bot("helper[bot]"),
            Some("admin"),
            "no person put it on",
        ),
    ] {
        let workflow = overrun();
        if let Some(permission) = permission {
            workflow.github.permit(&user.login, permission);
        }
        workflow.github.label(NUMBER, LABEL, true, &user, AFTER);
        is_refused(&workflow, why);
    }
}

#[test]
fn the_last_of_many_events_decides() {
    let workflow = overrun();
    for _ in 0..120 {
        workflow
            .github
            .label(NUMBER, "other", true, &alice(), AFTER);
    }
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    workflow.run().ended_with(0);
    let second_page = "/issues/7/events?per_page=100&page=2";
    assert!(workflow.github.calls("GET", second_page) > 0);
}

#[test]
fn what_cannot_be_asked_is_no_yes() {
    for path in ["/issues/7/events", "/permission"] {
        let workflow = overrun();
        workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
        let fault = Fault::Forbidden("pull_requests=read");
        workflow.github.fail("GET", path).with(fault);
        is_refused(&workflow, "GitHub refused");
    }
}

#[test]
fn what_is_not_a_known_overrun_is_not_asked_about() {
    // The base's spec cannot be read, so the verdict is unknown.
    let workflow = Workflow::pull_request("version: 1\njobs: {}\n", &spec(TOO_LITTLE));
    workflow.github.permit("alice", "write");
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    workflow.run().ended_with(14);
    assert_eq!(workflow.github.calls("GET", "/labels"), 0);
}

#[test]
fn what_is_checked_out_is_the_head_that_was_accepted() {
    let workflow = overrun();
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    let other = files(&spec(TOO_LITTLE), "print(5)\n");
    let other = workflow.github.commit(&[workflow.base()], &other);
    workflow.project.write(".git/HEAD", &format!("{other}\n"));
    workflow.project.write("train.py", "print(5)\n");
    is_refused(&workflow, "not the head of the pull request");
}

#[test]
fn a_fork_is_not_judged_and_nothing_is_accepted() {
    let workflow = overrun();
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    workflow.github.change_pull_request(NUMBER, |pull| {
        pull.head_repository = Some("mallory/models".to_owned());
    });
    let asked = workflow.github.calls("GET", "/labels");
    let step = workflow.run().ended_with(0);
    assert_eq!(step.output("verdict"), "not_judged");
    assert_eq!(workflow.github.calls("GET", "/labels"), asked);
}

/// Of a job over its budget whose last canary, after eight that completed, ends so.
fn with_last_canary(outcome: &Value) -> Workflow {
    let spec = spec(TOO_LITTLE).replace("runs.csv", "runs.jsonl");
    let workflow = Workflow::pull_request(&spec, &spec);
    workflow.github.permit("alice", "write");
    let table = workflow.project.read("runs.csv");
    let runs = table.lines().skip(1).take(9).enumerate().map(|(index, row)| {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |cell: usize| cells[cell].parse::<f64>().unwrap();
        let is_last = index == 8;
        let completed = json!({"kind": "completed"});
        let run = json!({
            "schema_version": 1, "job": cells[0], "instance": "local", "fraction": number(1), "replicate": index / 3,
            "outcome": if is_last { outcome } else { &completed }, "training_seconds": number(7),
        });
        format!("{run}\n")
    });
    workflow
        .project
        .write("runs.jsonl", &runs.collect::<String>());
    workflow.run().ended_with(10);
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    workflow
}

#[test]
fn a_job_over_its_budget_whose_training_crashes_stays_red() {
    for (outcome, how) in [
        (json!({"kind": "failed", "exit_code": 1}), "failed"),
        (json!({"kind": "out_of_memory"}), "ran out of memory"),
    ] {
        let workflow = with_last_canary(&outcome);
        let step = workflow.run().ended_with(13);
        assert_eq!(step.output("verdict"), "exceeded");
        let why = format!(
            "**Policy.** The label `canary-gate: accept` does not count for job `xgb_reg`: its 3% canary {how}. A label accepts an overrun, not a training that crashes"
        );
        let said = ["### ❌ `xgb_reg` over budget: ", &why];
        workflow.comments(&said);
        step.says(&said);
    }
    let workflow = with_last_canary(&json!({"kind": "completed"}));
    workflow.run().ended_with(0);
}

#[test]
fn a_part_with_a_failed_canary_stays_red() {
    let workflow = overrun().input("report-from", "parts/*.json");
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    workflow.project.write("parts/.keep", "");
    let leg = ["run", "--all", "--quiet", "--output", "parts/one.json"];
    workflow.project.run(&leg).ended_with(10);
    let mut part: Value = serde_json::from_str(&workflow.project.read("parts/one.json")).unwrap();
    part["commit"] = json!(workflow.merge());
    workflow.project.write("parts/one.json", &part.to_string());
    workflow.run().ended_with(0);

    let runs = part["jobs"][0]["measurements"].as_array_mut().unwrap();
    runs.last_mut().unwrap()["outcome"] = json!({"kind": "failed", "exit_code": 1});
    workflow.project.write("parts/one.json", &part.to_string());
    workflow.github.label(NUMBER, LABEL, false, &alice(), AFTER);
    workflow.run().ended_with(10);
    workflow.github.label(NUMBER, LABEL, true, &alice(), AFTER);
    workflow.run().ended_with(13);
}
