//! What a reader must not miss of the canaries: it stands below the verdict, above the table.

use serde_json::{Value, json};

use crate::project::Project;

/// A canary of so much of the data, as a JSON value.
fn canary(percent: u32, seconds: f64) -> Value {
    json!({
        "schema_version": 1,
        "job": "sums",
        "instance": "local",
        "fraction": f64::from(percent) / 100.0,
        "bytes": 1000 * percent,
        "bytes_total": 100_000,
        "replicate": 0,
        "outcome": {"kind": "completed"},
        "training_seconds": seconds,
    })
}

/// Canaries of 1, 5 and 20 % as JSON lines: 10 s and 2 s for each percent. During that of 20 % other work took this much
/// of the machine; if it was more than usual, it slowed it by a half.
fn canaries_beside(other_percent: u32) -> String {
    let beside = |percent: u32| {
        let is_slowed = percent == 20 && other_percent > 2;
        let level = |mean: u32| json!({"mean": mean, "source": "a test"});
        let slowed = if is_slowed { 1.5 } else { 1.0 };
        let mut run = canary(percent, f64::from(10 + 2 * percent) * slowed);
        run["usage"] = json!({
            "cpu_percent": level(if is_slowed { 33 } else { 50 }),
            "other_cpu_percent": level(if is_slowed { other_percent } else { 2 }),
            "cpu_pressure_percent": level(if is_slowed { 99 } else { 3 }),
        });
        format!("{run}\n")
    };
    [1, 5, 20].map(beside).concat()
}

#[test]
fn other_work_beside_one_canary_is_said_and_widens_the_time() {
    let project = Project::empty()
        .file("quiet.jsonl", &canaries_beside(2))
        .file("beside.jsonl", &canaries_beside(66))
        .file(
            "busy.jsonl",
            &canaries_beside(2)
                .replace("\"mean\":2,", "\"mean\":96,")
                .replace("\"mean\":3,", "\"mean\":99,"),
        )
        .file("odd.jsonl", &canaries_beside(166));
    let forecast = |file: &str| {
        let run = project.run(&["forecast", file, "--format", "json"]);
        run.ended_with(0).json()["jobs"][0].clone()
    };
    let busy = forecast("busy.jsonl");
    let warned = "other work took 96% of this machine: times are those of this hour, less alone";
    assert_eq!(busy["warnings"], json!([warned]));
    let (quiet, beside) = (forecast("quiet.jsonl"), forecast("beside.jsonl"));
    assert_eq!(quiet["warnings"], Value::Null);
    let ratio = |job: &Value| {
        let time = &job["forecasts"][0]["estimates"]["time_seconds"];
        time["upper"].as_f64().unwrap() / time["lower"].as_f64().unwrap()
    };
    let said = |job: &Value| {
        job["notes"].to_string().contains("other work on this machine took up to 66% of the time of 20% #1, against 2.0% of the quietest's; such a time counts less")
    };
    assert!(said(&beside), "{}", beside["notes"]);
    assert!(!quiet["notes"].to_string().contains("other work"));
    assert!(ratio(&beside) > ratio(&quiet));
    project
        .run(&["forecast", "odd.jsonl"])
        .ended_with(2)
        .complained("usage.other_cpu_percent.mean: found 166, expected a percentage");
}
