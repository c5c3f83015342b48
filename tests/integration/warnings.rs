//! What a reader must not miss of the canaries: it stands below the verdict, above the table.

use serde_json::{Value, json};

use crate::project::Project;

const SPEC: &str = "\
version: 1
backend: local
jobs:
  sums:
    training:
      command: [sh, train.sh]
      channels:
        train: {uri: data}
    instance: local
    canary: {design: fixed, max_share: 10000%, fractions: FRACTIONS, max_runtime: 1m}
    budget: {time: 1h}
";

/// A script that takes a second, whatever data it gets.
fn constant(fractions: &str) -> Project {
    Project::with_script("sleep 1\n").file("canary-gate.yml", &SPEC.replace("FRACTIONS", fractions))
}

const QUESTION: &str = "does the script read its channel?";

#[test]
fn a_time_that_is_the_same_for_far_more_data_is_asked_about_at_the_top_and_once() {
    let project = constant("[1%, 10%, 50%]");
    let run = project.run(&["run", "--all", "--quiet"]).ended_with(0);
    assert_eq!(run.stdout.matches(QUESTION).count(), 1, "{}", run.stdout);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("✓ sums within budget"), "{lines:?}");
    // What was drawn of the data, not what was asked for.
    let question = format!("! Time did not grow from 1% to 51% of the data: {QUESTION}");
    assert_eq!(lines[1..3], [question.as_str(), ""], "{lines:?}");

    let file = "canaries.jsonl";
    project
        .run(&["history", "export", "--output", file])
        .ended_with(0);
    let page = project.run(&["forecast", file, "--format", "markdown"]);
    assert_eq!(page.stdout.matches(QUESTION).count(), 1, "{}", page.stdout);
    let table = page.stdout.find("\n| ").unwrap();
    assert!(page.stdout.find(QUESTION) < Some(table), "{}", page.stdout);
}

#[test]
fn a_time_that_is_the_same_for_a_little_more_data_is_not_asked_about() {
    let run = constant("[10%, 20%, 50%]")
        .run(&["run", "--all", "--quiet"])
        .ended_with(0);
    assert!(!run.stdout.contains(QUESTION), "{}", run.stdout);
}

/// Canaries of 1, 5 and 20 % as JSON lines: 10 s and 2 s for each percent. During that of 20 % other work took this much
/// of the machine; if it was more than usual, it slowed it by a half.
fn canaries_beside(other_percent: u32) -> String {
    let canary = |percent: u32| {
        let is_slowed = percent == 20 && other_percent > 2;
        let level = |mean: u32| json!({"mean": mean, "source": "a test"});
        let run = json!({
            "schema_version": 1,
            "job": "sums",
            "instance": "local",
            "fraction": f64::from(percent) / 100.0,
            "bytes": 1000 * percent,
            "bytes_total": 100_000,
            "replicate": 0,
            "outcome": {"kind": "completed"},
            "training_seconds": f64::from(10 + 2 * percent) * if is_slowed { 1.5 } else { 1.0 },
            "usage": {
                "cpu_percent": level(if is_slowed { 33 } else { 50 }),
                "other_cpu_percent": level(if is_slowed { other_percent } else { 2 }),
                "cpu_pressure_percent": level(if is_slowed { 99 } else { 3 }),
            },
        });
        format!("{run}\n")
    };
    [1, 5, 20].map(canary).concat()
}

#[test]
fn other_work_beside_one_canary_is_said_and_widens_the_time() {
    let project = constant("[1%, 5%, 20%]")
        .file("quiet.jsonl", &canaries_beside(2))
        .file("beside.jsonl", &canaries_beside(66))
        .file("odd.jsonl", &canaries_beside(166));
    let forecast = |file: &str| {
        let run = project.run(&["forecast", file, "--format", "json"]);
        run.ended_with(0).json()["jobs"][0].clone()
    };
    let (quiet, beside) = (forecast("quiet.jsonl"), forecast("beside.jsonl"));
    let ratio = |job: &Value| {
        let time = &job["forecasts"][0]["estimates"]["time_seconds"];
        time["upper"].as_f64().unwrap() / time["lower"].as_f64().unwrap()
    };
    let said = |job: &Value| {
        job["notes"].to_string().contains("other work on this machine took up to 66% of the time of the 20% #1 canary, against 2.0% of the quietest's; its time counts less")
    };
    assert!(said(&beside), "{}", beside["notes"]);
    assert!(!quiet["notes"].to_string().contains("other work"));
    assert!(ratio(&beside) > ratio(&quiet));
    project
        .run(&["forecast", "odd.jsonl"])
        .ended_with(2)
        .complained("usage.other_cpu_percent.mean: found 166, expected a percentage");
}
