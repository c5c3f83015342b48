//! What a reader must not miss of the canaries: it stands below the verdict, above the table.

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
