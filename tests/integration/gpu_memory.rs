//! The memory of GPUs on machines whose GPUs differ. `scenarios` has what an `nvidia-smi` says.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::project::{Finished, Project};

/// Five canaries of 1 to 20 % on `instance` that hold this many GiB of a GPU and, with all of the data, `growth` more.
fn canaries(instance: &str, held: f64, growth: f64) -> String {
    let mut text = String::new();
    for percent in [1_u32, 2, 5, 10, 20] {
        let share = f64::from(percent) / 100.0;
        let bytes = (held + growth * share) * f64::from(1 << 30);
        let run = json!({
            "schema_version": 1,
            "job": "taxi",
            "instance": instance,
            "fraction": share,
            "bytes": 100_000_000 * u64::from(percent),
            "bytes_total": 10_000_000_000_u64,
            "replicate": 0,
            "outcome": {"kind": "completed"},
            "training_seconds": 50.0 + 4000.0 * share,
            "usage": {
                "memory": {"bytes": 1_u64 << 30, "source": "cgroup v2 memory.stat"},
                "gpu_memory": {"bytes": bytes.round(), "source": "nvidia-smi"},
            },
        });
        let _ = writeln!(text, "{}", run.to_string().replace(".0,", ","));
    }
    text
}

/// The forecast of these canaries for ml.g5.xlarge (22.4 GiB), beside other machines.
fn forecast(runs: &str, alternatives: &str) -> Finished {
    forecast_on("ml.g5.xlarge", runs, alternatives)
}

fn forecast_on(instance: &str, runs: &str, alternatives: &str) -> Finished {
    let spec = format!(
        "version: 1\n\
         backend: sagemaker\n\
         region: us-east-1\n\
         jobs:\n  taxi:\n    training:\n      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1\n      \
         role: arn:aws:iam::123456789012:role/Training\n      channels: {{train: {{uri: s3://data/taxi/}}}}\n      output: s3://output/\n    \
         instance: {instance}\n    alternatives: [{alternatives}]\n    budget: {{time: 10h}}\n"
    );
    Project::empty()
        .file("runs.jsonl", runs)
        .file("canary-gate.yml", &spec)
        .run(&["forecast", "runs.jsonl", "--format", "json"])
}

fn rows(report: &Value) -> &Vec<Value> {
    report["jobs"][0]["forecasts"].as_array().unwrap()
}

#[test]
fn each_candidate_is_judged_by_its_own_gpu() {
    // 30 GiB: more than an A10G or a T4 has, less than an L40S.
    let runs = canaries("ml.g5.xlarge", 2.0, 28.0);
    let report = forecast(
        &runs,
        "ml.g4dn.xlarge, ml.g6e.xlarge, ml.g5.12xlarge, ml.m5.xlarge",
    )
    .ended_with(10)
    .json();
    let rows = rows(&report);
    let verdicts: Vec<&str> = rows
        .iter()
        .map(|row| row["verdict"].as_str().unwrap())
        .collect();
    // Four small GPUs are no large one; of a machine without a GPU nothing is said.
    assert_eq!(
        verdicts,
        [
            "exceeded",
            "exceeded",
            "not_judged",
            "exceeded",
            "not_judged"
        ]
    );
    let percent = |row: &Value| row["estimates"]["gpu_memory_percent"]["point"].as_f64();
    let [own, larger] = [&rows[0], &rows[2]].map(|row| percent(row).unwrap());
    assert!(own > 100.0 && larger < 100.0, "{own} {larger}");
    assert_eq!(percent(&rows[4]), None);
    assert!(
        rows[1]["estimated_from"].as_str().unwrap().contains(
            "GPU memory is that of the canaries on ml.g5.xlarge, assumed to be the same on each GPU here"
        ),
        "{:#}",
        rows[1]
    );
    let advice = report["jobs"][0]["advice"].to_string();
    assert!(advice.contains("GPU memory would fit on ml."), "{advice}");
    assert!(advice.contains(" chance to run out"), "{advice}");
}

#[test]
fn a_candidate_whose_gpu_is_too_small_is_not_recommended() {
    let slower = |runs: String| runs.replace("\"training_seconds\":", "\"training_seconds\":1");
    let small = canaries("ml.g4dn.xlarge", 2.0, 15.0);
    let runs = slower(canaries("ml.g5.xlarge", 2.0, 15.0)) + &small;
    let report = forecast(&runs, "ml.g4dn.xlarge").ended_with(0).json();
    let found = &report["jobs"][0]["recommendation"];
    assert_eq!(rows(&report)[1]["verdict"], "exceeded");
    assert_eq!(found["cheapest"], "ml.g5.xlarge", "{found}");
    assert_eq!(found["fastest"], "ml.g5.xlarge", "{found}");
}

#[test]
fn a_gpu_that_ran_out_is_a_lower_bound_elsewhere() {
    let runs = canaries("ml.g5.xlarge", 2.0, 18.0);
    let (completed, last) = runs.trim_end().rsplit_once('\n').unwrap();
    let last = last.replace("\"completed\"", "\"out_of_memory\",\"of\":\"gpu\"");
    let report = forecast(
        &format!("{completed}\n{last}\n"),
        "ml.g4dn.xlarge, ml.g6e.xlarge",
    )
    .ended_with(10)
    .json();
    let rows = rows(&report);
    assert_eq!(rows[1]["verdict"], "exceeded");
    assert_eq!(rows[2]["verdict"], "not_judged");
    let advice = report["jobs"][0]["advice"][0].as_str().unwrap();
    assert!(
        advice.starts_with("a canary ran out of GPU memory on ml.g5.xlarge, so the full run needs more than 22.4 GiB on each GPU"),
        "{advice}"
    );
}

#[test]
fn gpu_memory_that_nobody_measured_is_said_once_and_only_where_there_is_a_gpu() {
    let report = |instance: &str| {
        let runs = canaries(instance, 2.0, 1.0).replace("\"gpu_memory\"", "\"not_read\"");
        forecast_on(instance, &runs, "").ended_with(0).json()
    };
    let notes = report("ml.g5.xlarge")["jobs"][0]["notes"].to_string();
    assert_eq!(
        notes
            .matches("GPU memory: no GPU memory was measured")
            .count(),
        1,
        "{notes}"
    );
    let without = report("ml.m5.xlarge");
    assert!(
        !without["jobs"][0]["notes"].to_string().contains("GPU"),
        "{without:#}"
    );
    assert!(
        !without["jobs"][0]["forecasts"].to_string().contains("gpu"),
        "{without:#}"
    );
}
