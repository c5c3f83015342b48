//! `budget.metrics`: the level of what the script prints.

use serde_json::Value;

use crate::project::{Project, budget_line};

/// Slow while it compiles, then about 10,000 tokens a second, a little different in each run.
const STEADY: &str = "\
files=$(ls data | wc -l)
for step in 1 2 3 4 5 6; do echo \"step $step: 12 tok/s\"; done
for step in 7 8 9 10 11 12; do echo \"step $step: $((10000 + files % 3)) tok/s\"; done
";

fn project(script: &str, lines: &str) -> Project {
    let spec = Project::SPEC.replace(
        "      channels",
        "      metrics: {tokens_per_second: '(\\S+) tok/s'}\n      channels",
    );
    Project::empty()
        .file("train.sh", script)
        .data("data", 100)
        .file(
            "canary-gate.yml",
            &format!("{spec}    budget: {{metrics: {{tokens_per_second: {lines}}}}}\n"),
        )
}

fn line(report: &Value) -> &Value {
    budget_line(report, "metrics.tokens_per_second")
}

#[test]
fn the_steady_state_is_judged_and_shown() {
    let project = project(STEADY, "{min: 9000}");
    project.run(&["validate"]).ended_with(0);
    let run = project
        .run(&[
            "run",
            "--all",
            "--output",
            "report.json",
            "--output",
            "report.md",
        ])
        .ended_with(0);
    let report: Value = serde_json::from_str(&project.read("report.json")).unwrap();
    assert_eq!(line(&report)["verdict"], "within");
    let level = &report["jobs"][0]["forecasts"][0]["metrics"]["tokens_per_second"];
    let point = level["point"].as_f64().unwrap();
    assert!((10_000.0..10_003.0).contains(&point), "{point}");
    assert!(level["lower"].as_f64().unwrap() < point);
    let recorded = project.recorded("canary");
    let of_run = &recorded[0]["metrics"]["tokens_per_second"];
    assert_eq!(of_run["values"], 6);
    assert_eq!(of_run["lowest"], of_run["highest"]);
    for shown in [&run.stdout, &project.read("report.md")] {
        assert!(shown.contains("tokens"), "{shown}");
        assert!(shown.contains("1000"), "{shown}");
    }

    let spec = project.read("canary-gate.yml");
    project.write("canary-gate.yml", &spec.replace("min: 9000", "min: 11e3"));
    project
        .run(&["run", "--all", "--quiet"])
        .ended_with(10)
        .reported("over budget: tokens_per_second is 1000")
        .reported("below 11000");
    project.write(
        "canary-gate.yml",
        &spec.replace("min: 9000", "max: 9000, level: warn"),
    );
    let warned = project
        .run(&["run", "--all", "--format", "json"])
        .ended_with(0);
    assert_eq!(line(&warned.json())["verdict"], "exceeded");

    // The same offline, of what was exported.
    project
        .run(&["history", "export", "--output", "canaries.jsonl"])
        .ended_with(0);
    project.write("canary-gate.yml", &spec.replace("min: 9000", "min: 11e3"));
    project.run(&["forecast", "canaries.jsonl"]).ended_with(10);
}

#[test]
fn a_line_that_comes_later_is_measured_again() {
    let project = project(STEADY, "{min: 9000}");
    let spec = project.read("canary-gate.yml");
    let (without, _) = spec.split_once("    budget:").unwrap();
    project.write("canary-gate.yml", without);
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    assert_eq!(project.recorded("canary")[0]["metrics"], Value::Null);
    project.write("canary-gate.yml", &spec);
    project
        .run(&["run", "--all", "--quiet"])
        .ended_with(0)
        .reported("within budget");
}

#[test]
fn what_is_printed_too_seldom_is_unknown_and_says_why() {
    let project = project(
        "for step in 1 2 3 4; do echo 5 tok/s; done\n",
        "{max: 9000}",
    );
    project
        .run(&["run", "--all", "--output", "report.json"])
        .ended_with(14)
        .reported("tokens_per_second is unknown");
    let report = project.read("report.json");
    assert!(report.contains("where 5 are needed"), "{report}");
}

#[test]
fn a_change_can_not_loosen_a_line_and_a_pattern_that_changes_is_said() {
    let project = project(STEADY, "{min: 11000}").committed();
    project.git(&["checkout", "--quiet", "-b", "change"]);
    let spec = project.read("canary-gate.yml");
    project.write("canary-gate.yml", &spec.replace("min: 11000", "min: 1"));
    let judged = |code| {
        project
            .run(&["run", "--base", "HEAD", "--format", "json"])
            .ended_with(code)
            .json()
    };
    let says = |report: &Value, text: &str| {
        assert!(
            report.to_string().contains(text),
            "no {text:?} in {report:#}"
        );
    };
    let report = judged(10);
    assert_eq!(line(&report)["limit"], 11000.0);
    says(
        &report,
        "lowers the tokens_per_second budget from at least 11000 to at least 1 (counts when merged)",
    );

    let (without, _) = spec.split_once("    budget:").unwrap();
    project.write("canary-gate.yml", without);
    says(
        &judged(10),
        "takes away the tokens_per_second budget, at least 11000",
    );

    let other_pattern = spec.replace("'(\\S+) tok/s'", "'step (\\d+)'");
    project.write("canary-gate.yml", &other_pattern);
    says(
        &judged(10),
        "What it captures is judged by a line of the budget.",
    );

    project.write(
        "canary-gate.yml",
        &without.replace("tokens_per_second:", "other:"),
    );
    let report = judged(14);
    assert_eq!(line(&report)["verdict"], "unknown");
    says(
        &report,
        "tok/s to none. What it captures is judged by a line of the budget.",
    );
}
