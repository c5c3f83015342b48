//! One machine, and groups of which one makes the batches for the other, by iterations: the two configurations of an AWS notebook.
//!
//! Published are 1.19 s a step on ml.p3.2xlarge, 0.18 s (in its log 0.196784 s) with ml.c5.9xlarge beside it, 7.6 and 1.9 cents
//! for 60 steps, and 100 iterations of 4800. The canaries are constructed.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::project::Project;

const GROUPS: &str = "data: 1x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge";
const AS_GROUPS: &str =
    "{groups: {data: 1x ml.c5.9xlarge, dnn: 1x ml.p3.2xlarge}, entry_point: launcher.py}";
const TWIN: &str = "ml.p3.2xlarge";
const ON_GROUPS: f64 = 0.18;
const ON_TWIN: f64 = 1.19;

/// Up to 100 of 4800 iterations: 20 s, and a step for each.
fn recording(on_groups: f64) -> String {
    let mut text = String::new();
    for (instance, step) in [(GROUPS, on_groups), (TWIN, ON_TWIN)] {
        for (level, noise) in [(24.0, 1.005), (48.0, 0.995), (100.0, 1.0)] {
            let run = json!({
                "schema_version": 1,
                "job": "segment",
                "instance": instance,
                "fraction": level / 4800.0,
                "differs_in_work_alone": true,
                "work": level,
                "work_total": 4800,
                "replicate": 0,
                "outcome": {"kind": "completed"},
                "training_seconds": 20.0 + level * step * noise,
                "step_seconds": step * noise,
            });
            let _ = writeln!(text, "{run}");
        }
    }
    text
}

fn project(on_groups: f64, instance: &str, alternative: &str) -> Project {
    Project::empty()
        .file("runs.jsonl", &recording(on_groups))
        .file(
            "canary-gate.yml",
            &format!(
                "\
version: 1
backend: replay
recording: runs.jsonl
prices: {{ml.c5.9xlarge: 1.836 USD/h, ml.p3.2xlarge: 3.825 USD/h}}
jobs:
  segment:
    training: {{hyperparameters: {{num_iterations: 4800}}}}
    instance: {instance}
    alternatives: [{alternative}]
    work: {{hyperparameter: num_iterations, full: 4800, canary: [24, 48, 100]}}
    canary: {{max_share: 10000%, spend_limit: 50 USD}}
    budget: {{cost: 4 USD, growth: linear}}
"
            ),
        )
}

fn row<'a>(report: &'a Value, instance: &str) -> &'a Value {
    let rows = report["jobs"][0]["forecasts"].as_array().unwrap();
    let mut rows = rows.iter();
    rows.find(|row| row["instance"] == instance).unwrap()
}

fn point(of: &Value) -> f64 {
    of["point"].as_f64().unwrap()
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} {expected}");
}

#[test]
fn both_configurations_are_judged_whichever_is_the_instance() {
    for (instance, alternative, code) in [(AS_GROUPS, TWIN, 0), (TWIN, AS_GROUPS, 10)] {
        let project = project(ON_GROUPS, instance, alternative);
        let arguments = ["run", "--all", "--format", "json"];
        let report = project.run(&arguments).ended_with(code).json();
        assert_eq!(row(&report, GROUPS)["verdict"], "within");
        assert_eq!(row(&report, TWIN)["verdict"], "exceeded");
        assert_eq!(report["jobs"][0]["recommendation"]["cheapest"], GROUPS);
        // Nothing is drawn, so nothing is said of objects.
        let notes = report["jobs"][0]["notes"].to_string();
        assert!(!notes.contains("objects"), "{notes}");
    }
}

#[test]
fn ratios_are_those_of_the_steps_and_of_their_price() {
    // The notebook says 6.5 and 4.75.
    for (on_groups, of_time, of_cost) in [(ON_GROUPS, 6.61, 4.47), (0.196_784, 6.05, 4.09)] {
        let project = project(on_groups, AS_GROUPS, TWIN);
        let run = project.run(&["run", "--all", "--format", "json"]);
        let report = run.ended_with(0).json();
        let cents_of_60 = |instance| {
            let estimates = &row(&report, instance)["estimates"];
            6000.0 * point(&estimates["cost_per_step_usd"])
        };
        near(cents_of_60(TWIN), 7.6, 0.01);
        near(cents_of_60(GROUPS), 7.6 / of_cost, 0.01);

        assert!(row(&report, TWIN).get("versus_twin").is_none());
        let versus = &row(&report, GROUPS)["versus_twin"];
        assert_eq!(versus["instance"], TWIN);
        near(point(&versus["step_time_ratio"]), of_time, 0.01);
        near(point(&versus["cost_per_step_ratio"]), of_cost, 0.01);
        // A full run starts up as well, by a law that is not sure.
        near(point(&versus["time_ratio"]), of_time, 0.2);
        near(point(&versus["cost_ratio"]), of_cost, 0.2);
        // One law for both: two draws would be 1.2 to 41.
        assert_eq!(versus["shares_law"], true);
        let time = &versus["time_ratio"];
        assert!(time["upper"].as_f64().unwrap() < 6.0 * time["lower"].as_f64().unwrap());
        for ratio in ["time_ratio", "cost_ratio", "step_time_ratio"] {
            let [lower, upper] = ["lower", "upper"].map(|end| versus[ratio][end].as_f64().unwrap());
            assert!(lower < point(&versus[ratio]) && point(&versus[ratio]) < upper);
        }
        let even = &versus["break_even"];
        assert_eq!(even["instance_type"], "ml.c5.9xlarge");
        let by_step = (of_time - 1.0) * 3.825;
        near(point(&even["usd_per_hour_by_step"]), by_step, 0.01);
    }
}

#[test]
fn a_line_below_the_table_has_the_ratios_and_the_price_at_which_both_cost_the_same() {
    let project = project(ON_GROUPS, AS_GROUPS, TWIN);
    let shown = project.run(&["run", "--all"]).ended_with(0).stdout;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "groups ml.p3.2xlarge takes ",
        "a step takes 6.61 times as long (6.31–6.92), and costs 4.47 times as much",
        "The groups are cheaper while ml.c5.9xlarge costs less than ",
        "; today it costs 1.84 USD/h.",
    ] {
        assert!(words.contains(text), "no {text:?} in\n{shown}");
    }
}
