//! What a report recommends, of machines that canaries ran on.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::project::{Finished, Project};

/// Ten canaries of 1 to 20 % on `instance` as JSON lines, a few per mille apart: 50 s and `slope` more for the data.
fn canaries(instance: &str, slope: f64) -> String {
    let mut text = String::new();
    for percent in [1_u32, 2, 5, 10, 20] {
        let share = f64::from(percent) / 100.0;
        for (replicate, noise) in [(0, 0.997), (1, 1.003)] {
            let run = json!({
                "schema_version": 1,
                "job": "taxi",
                "instance": instance,
                "fraction": share,
                "bytes": 100_000_000 * u64::from(percent),
                "bytes_total": 10_000_000_000_u64,
                "replicate": replicate,
                "outcome": {"kind": "completed"},
                "training_seconds": (50.0 + slope * share) * noise,
            });
            let _ = writeln!(text, "{run}");
        }
    }
    text
}

const SPEC: &str = "\
version: 1
backend: local
prices: {local: 1 USD/h}
jobs:
  taxi:
    training: {command: [\"true\"], channels: {train: {uri: data/}}}
    instance: local
    alternatives: [2x local, 4x local]
    budget: BUDGET
";

fn forecast(runs: &str, budget: &str, format: &str) -> Finished {
    Project::empty()
        .file("runs.jsonl", runs)
        .file("canary-gate.yml", &SPEC.replace("BUDGET", budget))
        .run(&["forecast", "runs.jsonl", "--format", format])
}

fn recommendation(runs: &str, budget: &str, code: i32) -> Value {
    let report = forecast(runs, budget, "json").ended_with(code).json();
    report["jobs"][0]["recommendation"].clone()
}

/// An hour and a half on one host at 1 USD/h; with twice the hosts a little more than half of it.
fn two_machines() -> String {
    canaries("local", 5350.0) + &canaries("2x local", 3550.0)
}

#[test]
fn the_cheapest_and_the_fastest_within_budget_are_named() {
    let found = recommendation(&two_machines(), "{time: 3h}", 0);
    assert_eq!(found["cheapest"], "local", "{found}");
    assert_eq!(found["fastest"], "2x local", "{found}");
    assert_eq!(found["certainty"], 0.95);
    assert!(found.get("cheapest_ties").is_none());
    forecast(&two_machines(), "{time: 3h}", "markdown").reported(
        "**What would fit.** Cheapest: `local` (1.50 USD). Fastest: `2x local` (59m 57s).",
    );
}

#[test]
fn machines_that_differ_by_noise_are_both_named_and_the_cheaper_first() {
    let alike = canaries("local", 5350.0) + &canaries("2x local", 5340.0);
    let found = recommendation(&alike, "{time: 3h}", 0);
    assert_eq!(found["fastest"], "local", "{found}");
    assert_eq!(found["fastest_ties"], json!(["2x local"]));
    // Twice the hosts for the same time.
    assert_eq!(found["cheapest"], "local");
}

#[test]
fn what_no_canary_ran_on_is_never_recommended() {
    // 4x local is forecast from the others and has no row of its own among the measurements.
    let found = recommendation(&two_machines(), "{time: 3h}", 0);
    assert!(!found.to_string().contains("4x local"), "{found}");
    assert_eq!(
        recommendation(&canaries("local", 5350.0), "{time: 3h}", 0),
        Value::Null
    );
}

#[test]
fn where_none_is_within_the_closest_is_named_with_what_it_would_need() {
    let found = recommendation(&two_machines(), "{time: 50m}", 10);
    assert!(found.get("cheapest").is_none() && found.get("fastest").is_none());
    let closest = &found["closest"];
    assert_eq!(closest["instance"], "2x local", "{found}");
    assert_eq!(closest["if_limits"][0]["line"], "time");
    let limit = closest["if_limits"][0]["limit"].as_f64().unwrap();
    assert!(limit > 3600.0, "{limit}");
    forecast(&two_machines(), "{time: 50m}", "terminal")
        .reported("None is within at 95% certainty. Closest: 2x local");
}
