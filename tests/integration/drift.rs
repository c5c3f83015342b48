//! `drift`: whether the same training takes more than it did, and why.

use crate::baseline::{self, recording, recording_on};
use crate::project::{Finished, Project};
use crate::secrets::written;

/// The spec of a job without a budget, whose drift is looked at.
fn spec() -> String {
    baseline::spec("").replace("budget: ", "drift: {max: 15%}")
}

/// A training that takes a thousand seconds, on main.
fn project() -> Project {
    Project::empty()
        .file("canary-gate.yml", &spec())
        .file("train.py", "fit()")
        .file("runs.csv", &recording(2.0, 1000.0))
        .file(".gitignore", ".canary-gate/\n")
        .committed()
}

fn check(project: &Project, more: &[&str]) -> Finished {
    project.run(&[&["drift", "--quiet"], more].concat())
}

/// From now on all of the data takes so many seconds.
fn takes(project: &Project, rate: f64) {
    project.write("runs.csv", &recording(2.0, rate));
}

#[test]
fn the_first_check_is_the_baseline_of_those_to_come() {
    let project = project();
    let first = check(&project, &["--format", "json"]).ended_with(0).json();
    assert_eq!(first["jobs"][0]["verdict"], "not_judged");
    assert!(first["jobs"][0].get("drift").is_none());
    check(&project, &["--from-history"])
        .ended_with(0)
        .reported("there is one check only; it is the baseline of those to come");
    let second = check(&project, &["--format", "json"]).ended_with(0).json();
    let drift = &second["jobs"][0]["drift"];
    assert_eq!(drift["drifted"], false);
    assert_eq!(second["jobs"][0]["reason"], "no budget is written");
    assert_eq!(drift["checks"].as_array().unwrap().len(), 2);
}

#[test]
fn what_takes_much_longer_has_drifted_until_it_is_back() {
    let project = project();
    check(&project, &[]).ended_with(0);
    takes(&project, 1600.0);
    insta::assert_snapshot!(check(&project, &[]).ended_with(12).stdout_without_times());
    let report = check(&project, &["--from-history", "--format", "json"]).ended_with(12);
    assert_eq!(
        report.json()["jobs"][0]["reason"],
        "a full run takes more than the drift policy allows"
    );
    takes(&project, 1000.0);
    check(&project, &[]);
    check(&project, &[]).ended_with(0);
}

#[test]
fn what_is_meant_to_stay_is_accepted_and_is_the_baseline() {
    let project = project();
    check(&project, &[]).ended_with(0);
    takes(&project, 1600.0);
    check(&project, &[]).ended_with(12);
    check(&project, &["--accept"])
        .ended_with(0)
        .reported("is the baseline from now on");
    check(&project, &[]).ended_with(0);
}

#[test]
fn a_price_that_rose_is_the_cause() {
    let project = project();
    check(&project, &[]).ended_with(0);
    project.write("canary-gate.yml", &spec().replace("36 USD/h", "54 USD/h"));
    let report = check(&project, &["--format", "json"]).ended_with(12).json();
    let causes = report["jobs"][0]["drift"]["causes"].as_array().unwrap();
    let usd = |cause: &str| {
        let found = causes.iter().find(|one| one["cause"] == cause);
        found.map_or(0.0, |one| one["usd"].as_f64().unwrap())
    };
    let all: f64 = ["data", "price", "work", "code_or_platform"]
        .map(usd)
        .iter()
        .sum();
    assert!(usd("price") / all > 0.9, "{causes:?}");
}

#[test]
fn a_changed_hyperparameter_is_the_likely_cause_with_both_values() {
    let project = project();
    let with = |epochs: &str| {
        spec().replace(
            "training: {",
            &format!("training: {{environment: {{KEY: hidden-value}}, hyperparameters: {{epochs: {epochs}}}, "),
        )
    };
    project.write("canary-gate.yml", &with("10"));
    check(&project, &[]).ended_with(0);
    project.write("canary-gate.yml", &with("16"));
    takes(&project, 1600.0);
    let expected = "The likely cause: training.hyperparameters.epochs changed from 10 to 16. Training got slower (+";
    check(&project, &[]).ended_with(12).reported(expected);
    check(&project, &["--from-history"])
        .ended_with(12)
        .reported(expected);
    for (place, text) in written(&project.path(".canary-gate")) {
        assert!(!text.contains("hidden-value"), "{place}");
    }
}

/// Canaries that vary by a fifth, measured twice.
#[test]
fn two_noisy_checks_are_no_drift_yet_and_blame_nothing() {
    let project = project();
    let noisy = |seconds: [f64; 9]| {
        let fractions = [1, 1, 1, 2, 2, 2, 3, 3, 3];
        let rows = fractions.iter().zip(seconds);
        let rows: String = rows
            .map(|(percent, seconds)| format!("sums,{percent}%,{seconds}\n"))
            .collect();
        format!("workload,fraction_requested,wall_seconds\n{rows}")
    };
    project.write(
        "runs.csv",
        &noisy([10., 13., 11., 19., 25., 21., 28., 37., 31.]),
    );
    check(&project, &[]).ended_with(0);
    project.write(
        "runs.csv",
        &noisy([13., 12., 16., 23., 29., 27., 36., 33., 46.]),
    );
    let run = check(&project, &[]).ended_with(0);
    let run = run
        .reported("sums has no drift yet: ")
        .reported("above the baseline of ")
        .reported(", not certain; ");
    for blamed in ["got slower", "Why it changed", "per GiB", "causes "] {
        assert!(!run.stdout.contains(blamed), "{}", run.seen());
    }
}

#[test]
fn a_slow_rise_is_caught_too() {
    let project = project();
    check(&project, &[]).ended_with(0);
    let mut code = 0;
    for step in 1..=20 {
        takes(&project, 1000.0 * (1.0 + 0.02 * f64::from(step)));
        code = check(&project, &[]).code;
    }
    assert_eq!(code, 12);
}

#[test]
fn a_fall_is_reported_and_fails_nothing() {
    let project = project();
    check(&project, &[]).ended_with(0);
    takes(&project, 500.0);
    check(&project, &[]).ended_with(0);
}

#[test]
fn without_a_record_there_is_nothing_to_compare_and_nothing_is_run() {
    check(&project(), &["--from-history"])
        .ended_with(0)
        .reported("no check");
    check(&project(), &["--accept"])
        .ended_with(2)
        .complained("there is no check to accept");
}

#[test]
fn another_instance_begins_a_new_baseline() {
    let project = project();
    check(&project, &[]).ended_with(0);
    project.write("runs.jsonl", &recording_on("2x local", 1000.0));
    let spec = spec().replace("runs.csv", "runs.jsonl");
    project.write(
        "canary-gate.yml",
        &spec.replace("instance: local", "instance: 2x local"),
    );
    check(&project, &[])
        .ended_with(0)
        .reported("the first check for drift on 2x local, before it was local");
}

#[test]
fn a_check_whose_training_fails_is_reported_and_is_no_baseline() {
    let project =
        Project::with_script("test \"$(ls data 2>/dev/null | wc -l)\" -gt 99 || exit 3\n")
            .committed();
    for _ in 0..2 {
        project.run(&["drift", "--quiet"]).ended_with(13);
    }
    project
        .run(&["drift", "--from-history"])
        .ended_with(0)
        .reported("no check of sums");
}

#[test]
fn a_baseline_that_cannot_be_read_leaves_it_unknown() {
    let project = project();
    check(&project, &[]).ended_with(0);
    let folder = project.path(".canary-gate/local/sums");
    for entry in std::fs::read_dir(folder).unwrap() {
        std::fs::write(entry.unwrap().path(), "{").unwrap();
    }
    check(&project, &[])
        .ended_with(14)
        .complained("the baseline of the checks for drift may be");
    let records = std::fs::read_dir(project.path(".canary-gate/local/sums"));
    assert_eq!(
        records.unwrap().count(),
        1,
        "and nothing was measured for it"
    );
}

#[test]
fn a_workflow_run_whose_checks_are_not_read_makes_none() {
    let project = project();
    project
        .run_with(&["drift", "--quiet"], |command| {
            command
                .env("GITHUB_ACTIONS", "true")
                .env("GITHUB_EVENT_NAME", "pull_request")
                .env("GITHUB_REF", "refs/pull/7/merge");
        })
        .ended_with(2)
        .complained("drift is checked on a branch");
}
