//! `forecast FILE`: recorded measurements, no run.

use crate::project::Project;

const RECORDED: &str = "\
workload,fraction_requested,replicate,files,files_total,bytes,bytes_total,wall_seconds,cpu_seconds,peak_rss_bytes
sums,0.01,0,1,100,1000,100000,1.10,1.0,100000000
sums,0.01,1,1,100,1000,100000,1.12,1.0,100100000
sums,0.02,0,2,100,2000,100000,2.11,2.0,110000000
sums,0.02,1,2,100,2000,100000,2.09,2.0,110200000
sums,0.03,0,3,100,3000,100000,3.12,3.0,120100000
sums,0.03,1,3,100,3000,100000,3.08,3.0,120000000
";

#[test]
fn a_recorded_table_is_forecast_without_a_spec() {
    let project = Project::empty().file("runs.csv", RECORDED);
    let report = project
        .run(&["forecast", "runs.csv", "--format", "json"])
        .ended_with(0)
        .json();
    let time = &report["jobs"][0]["forecasts"][0]["estimates"]["time_seconds"];
    let point = time["point"].as_f64().unwrap();
    assert!(
        (point - 100.1).abs() < 3.0,
        "a second for each per cent: {point}"
    );
    assert!(time["lower"].as_f64().unwrap() < point && point < time["upper"].as_f64().unwrap());
    assert_eq!(report["verdict"], "not_judged");
}

#[test]
fn with_a_spec_its_budget_is_judged() {
    let project = Project::with_script("").file("runs.csv", RECORDED);
    project
        .run(&["forecast", "runs.csv"])
        .ended_with(0)
        .reported("within");
    let project = project.spec("    budget: {time: 30s}\n");
    project.run(&["forecast", "runs.csv"]).ended_with(10);
}

#[test]
fn unusable_files_say_what_is_wrong_and_where() {
    let project = Project::empty()
        .file("empty.jsonl", "")
        .file("bad.csv", &RECORDED.replace("1.12", "fast"))
        .file("other.csv", "a,b\n1,2\n")
        .file("newer.jsonl", "{\"schema_version\": 7}\n");
    project
        .run(&["forecast", "missing.jsonl"])
        .ended_with(2)
        .complained("missing.jsonl cannot be read");
    project
        .run(&["forecast", "empty.jsonl"])
        .ended_with(2)
        .complained("empty");
    project
        .run(&["forecast", "bad.csv"])
        .ended_with(2)
        .complained("line 3")
        .complained("wall_seconds");
    project
        .run(&["forecast", "other.csv"])
        .ended_with(2)
        .complained("columns");
    project
        .run(&["forecast", "newer.jsonl"])
        .ended_with(2)
        .complained("7");
}

#[test]
fn too_few_runs_are_unknown_with_the_reason() {
    let two: String = RECORDED
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    let project = Project::with_script("").file("runs.csv", &two);
    project
        .run(&["forecast", "runs.csv"])
        .ended_with(14)
        .reported("2 completed runs at 1 size");
}
