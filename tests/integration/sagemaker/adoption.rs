//! The same canary is never paid twice.

use super::{FIXED, created, forget, gate, project};
use crate::aws::Operation;

#[test]
fn a_second_gate_takes_the_canaries_of_the_first() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let first = created(&aws);
    let run = gate(&project, &aws, &["run", "--all", "--format", "json"]).ended_with(0);
    assert_eq!(created(&aws), first);
    let report = run.json();
    let job = &report["jobs"][0];
    assert!(
        job["measurements"][0]["reused"]["saved_usd"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    assert!(
        job["spend"]
            .get("canary_usd")
            .is_none_or(|spent| spent == 0.0)
    );
}

#[test]
fn what_is_too_old_or_not_wanted_is_run_anew() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    gate(&project, &aws, &["run", "--all", "--fresh"]).ended_with(0);
    assert_eq!(created(&aws).len(), 6);
    aws.age_jobs(15.0 * 86_400.0);
    // A machine that never saw them knows only what AWS returns.
    forget(&project);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let names = created(&aws);
    assert_eq!(names.len(), 9);
    assert!(names[8].ends_with("-2"), "{names:?}");
}

#[test]
fn another_hyperparameter_is_another_canary_and_another_budget_is_not() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let spec = project.read("canary-gate.yml");
    project.write("canary-gate.yml", &spec.replace("time: 2h", "time: 3h"));
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
    project.write("canary-gate.yml", &spec.replace("epochs: 5", "epochs: 6"));
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 6);
}

#[test]
fn changed_code_is_another_canary() {
    let (project, aws) = project(FIXED);
    let project = project.committed();
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    project.write("code/train.py", "print('changed')\n");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 6);
}

#[test]
fn changed_data_is_another_canary() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    aws.put_object("data", "churn/train/part-050.csv", "changed\n");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 6);
}

#[test]
fn a_failure_of_the_script_is_taken_over_too() {
    let (project, aws) = project(FIXED);
    aws.train(|_| crate::aws::Timeline::script_failed(1, "boom"));
    gate(&project, &aws, &["run", "--all"]).ended_with(13);
    gate(&project, &aws, &["run", "--all"]).ended_with(13);
    assert_eq!(created(&aws).len(), 1);
    assert_eq!(aws.calls(Operation::CreateTrainingJob), 1);
}

#[test]
fn the_source_is_uploaded_once() {
    let (project, aws) = project(FIXED);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let puts = aws.calls(Operation::PutObject);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(aws.calls(Operation::PutObject), puts);
}

#[test]
fn what_gave_no_result_gets_another_attempt() {
    let (project, aws) = project(FIXED);
    aws.train(|job| {
        if job.number() == 1 {
            crate::aws::Timeline::no_capacity()
        } else {
            crate::aws::Timeline::completed()
        }
    });
    gate(&project, &aws, &["run", "--all"]).ended_with(14);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let names = created(&aws);
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(names[0].replace("-0", "-1"), names[1]);
}

#[test]
fn the_newest_of_many_attempts_stands_for_the_canary() {
    let (project, aws) = project(FIXED);
    for _ in 0..3 {
        gate(&project, &aws, &["run", "--all", "--fresh"]).ended_with(0);
    }
    assert_eq!(created(&aws).len(), 9);
    aws.age_jobs(15.0 * 86_400.0);
    forget(&project);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let names = created(&aws);
    assert_eq!(names.len(), 12, "{names:?}");
    assert!(names[9].ends_with("-3"), "{names:?}");
}

#[test]
fn a_source_that_no_pattern_speaks_of_counts_and_one_left_out_does_not() {
    let (project, aws) = project(FIXED);
    let spec = project.read("canary-gate.yml");
    let paths = "  churn:\n    paths: [\"prepare/**\", \"!**/*.md\"]\n";
    project.write("canary-gate.yml", &spec.replace("  churn:\n", paths));
    project.write("prepare/clean.py", "");
    project.write("code/notes.md", "old");
    let project = project.committed();
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    project.write("code/notes.md", "new");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 3);
    project.write("code/train.py", "print('changed')\n");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    assert_eq!(created(&aws).len(), 6);
}
