//! What a report says of GPUs that no canary ran on.

use canary_gate::units::Bytes;
use serde_json::{Value, json};

use crate::recorded::{self, forecast, job, point};

const GIB: f64 = 1_073_741_824.0;

fn spec(instance: &str, alternatives: &str, more: &str) -> String {
    let channels = "      channels:\n        train: {uri: s3://bucket/train/}\n";
    let job = format!("    alternatives: [{alternatives}]\n    budget: {{time: 10h}}\n");
    recorded::spec(more, instance, channels, &job)
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// Five canaries of 1 to 20 % that hold this many GiB of a GPU and, with all of the data, `growth` more.
fn on_a_gpu(instance: &str, held: f64, growth: f64) -> Vec<Value> {
    let of_size = |percent: u32| {
        let share = f64::from(percent) / 100.0;
        let bytes = Bytes::from_f64((held + growth * share) * GIB);
        let mut run = recorded::canary(instance, percent, 50.0 + 4000.0 * share);
        run["usage"] = json!({
            "memory": {"bytes": 1_u64 << 30, "source": "cgroup v2 memory.stat"},
            "gpu_memory": {"bytes": bytes, "source": "nvidia-smi"},
        });
        run
    };
    [1, 2, 5, 10, 20].map(of_size).to_vec()
}

/// 30 GiB: more than an A10G of 22.4 GiB or a T4 has, less than an L40S. Four small GPUs are no large one; of a machine without a GPU
/// nothing is said.
#[test]
fn each_candidate_is_judged_by_its_own_gpu() {
    let runs = recorded::lines(on_a_gpu("ml.g5.xlarge", 2.0, 28.0));
    let alternatives = "ml.g4dn.xlarge, ml.g6e.xlarge, ml.g5.12xlarge, ml.m5.xlarge";
    let job = job(forecast(&runs, &spec("ml.g5.xlarge", alternatives, "")), 10);
    let rows = job["forecasts"].as_array().unwrap();
    let verdicts: Vec<&Value> = rows.iter().map(|row| &row["verdict"]).collect();
    let expected = [
        "exceeded",
        "exceeded",
        "not_judged",
        "exceeded",
        "not_judged",
    ];
    assert_eq!(verdicts, expected);
    assert!(point(&rows[0], "gpu_memory_percent") > 100.0);
    assert!(point(&rows[2], "gpu_memory_percent") < 100.0);
    assert_eq!(rows[4]["estimates"]["gpu_memory_percent"], Value::Null);
    let source = "GPU memory is that of the canaries on ml.g5.xlarge, assumed to be the same on each GPU here";
    assert!(rows[1]["estimated_from"].as_str().unwrap().contains(source));
    let advice = texts(&job["advice"]).concat();
    assert!(advice.contains("GPU memory would fit on ml."), "{advice}");
    assert!(advice.contains(" likely to run out"), "{advice}");
}

#[test]
fn a_candidate_whose_gpu_is_too_small_is_not_recommended() {
    let mut runs = on_a_gpu("ml.g5.xlarge", 2.0, 15.0);
    for run in &mut runs {
        run["training_seconds"] = (3.0 * run["training_seconds"].as_f64().unwrap()).into();
    }
    runs.extend(on_a_gpu("ml.g4dn.xlarge", 2.0, 15.0));
    let spec = spec("ml.g5.xlarge", "ml.g4dn.xlarge", "");
    let job = job(forecast(&recorded::lines(runs), &spec), 0);
    assert_eq!(job["forecasts"][1]["verdict"], "exceeded");
    let found = &job["recommendation"];
    assert_eq!([&found["cheapest"], &found["fastest"]], ["ml.g5.xlarge"; 2]);
}

#[test]
fn a_gpu_that_ran_out_is_a_lower_bound_elsewhere() {
    let mut runs = on_a_gpu("ml.g5.xlarge", 2.0, 18.0);
    runs[4]["outcome"] = json!({"kind": "out_of_memory", "of": "gpu"});
    let spec = spec("ml.g5.xlarge", "ml.g4dn.xlarge, ml.g6e.xlarge", "");
    let job = job(forecast(&recorded::lines(runs), &spec), 10);
    let verdicts = [1, 2].map(|row: usize| &job["forecasts"][row]["verdict"]);
    assert_eq!(verdicts, ["exceeded", "not_judged"]);
    let said = "a canary ran out of GPU memory on ml.g5.xlarge, so the full run needs more than 22.4 GiB on each GPU";
    assert!(texts(&job["advice"])[0].starts_with(said));
}

#[test]
fn gpu_memory_that_nobody_measured_is_said_once_and_only_where_there_is_a_gpu() {
    for (instance, times) in [("ml.g5.xlarge", 1), ("ml.m5.xlarge", 0)] {
        let runs = recorded::lines(on_a_gpu(instance, 2.0, 1.0));
        let runs = runs.replace("\"gpu_memory\"", "\"not_read\"");
        let job = job(forecast(&runs, &spec(instance, "", "")), 0);
        let notes = texts(&job["notes"]).concat();
        let said = notes.matches("GPU memory: no GPU memory was measured");
        assert_eq!(said.count(), times, "{notes}");
        assert_eq!(notes.contains("GPU"), times > 0, "{notes}");
        let forecasts = job["forecasts"].to_string();
        assert!(times > 0 || !forecasts.contains("gpu"), "{forecasts}");
    }
}
