//! The memory of GPUs: by an `nvidia-smi` of our own, by what training code says when it runs out, and on machines whose GPUs
//! differ. No test here has a real GPU.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::project::{Finished, Project, budget_line};

/// Runs on a machine whose one GPU has 16,000 MiB, of which each canary holds 1,000 and, for each object, what `mebibytes` says.
///
/// More is printed than a pipe holds: when all of it is written, the probe has read some of it.
fn on_a_gpu(mebibytes: &str, after: &str, budget: &str) -> Finished {
    let project = Project::empty().data("data", 100);
    let [bin, state] = ["bin", "state"].map(|folder| project.path(folder).display().to_string());
    project.write(
        "bin/nvidia-smi",
        &format!(
            "#!/bin/sh\n\
             if [ $1 = --query-gpu=memory.total ]; then echo 16000; exit; fi\n\
             while [ ! -e {state}/held ]; do sleep 0.01; done\n\
             yes \"0, 50, $(cat {state}/held), 16000\" | head -n 20000\n\
             touch {state}/read\n\
             exec sleep 600\n"
        ),
    );
    let program = project.path("bin/nvidia-smi");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.write("state/empty", "");
    project.write(
        "train.sh",
        &format!(
            "objects=$(ls \"$SM_CHANNEL_TRAIN\" | wc -l)\n\
             rm -f {state}/read\n\
             echo $(({mebibytes})) > {state}/new; mv {state}/new {state}/held\n\
             while [ ! -e {state}/read ]; do sleep 0.01; done\n\
             rm {state}/held {state}/read\n\
             {after}\n"
        ),
    );
    project.write(".gitignore", "state/\nbin/\n");
    let spec = Project::SPEC.replace(
        "[1%, 2%, 3%], replicates: 2",
        "[2%, 5%, 20%], replicates: 1",
    );
    project.write("canary-gate.yml", &format!("{spec}{budget}"));
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    project.run_with(&["run", "--all", "--format", "json"], |command| {
        command.env("PATH", path);
    })
}

fn line(report: &Value) -> &Value {
    budget_line(report, "gpu_memory")
}

#[test]
fn data_that_do_not_fit_the_gpu_are_over_budget_without_a_budget() {
    // 31,000 of 16,000 MiB with all 100 objects.
    let run = on_a_gpu("1000 + 300 * objects", "", "").ended_with(10);
    let report = run.json();
    let row = &report["jobs"][0]["forecasts"][0];
    let percent = row["estimates"]["gpu_memory_percent"]["point"]
        .as_f64()
        .unwrap();
    assert!((150.0..240.0).contains(&percent), "{row:#}");
    let bytes = row["estimates"]["gpu_memory_bytes"]["point"]
        .as_f64()
        .unwrap();
    assert!((bytes / (16_000.0 * 1_048_576.0) * 100.0 - percent).abs() < 1.0);
    assert_eq!(line(&report)["verdict"], "exceeded");
    let reason = report["jobs"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("GPU memory is forecast at"), "{reason}");
    let notes = report["jobs"][0]["notes"].to_string();
    assert_eq!(notes.matches("PyTorch's cache").count(), 1, "{notes}");
    let peak = &report["jobs"][0]["measurements"][0]["usage"]["gpu_memory"];
    assert_eq!(peak["bytes"], 1600 << 20, "{peak}");
    assert_eq!(peak["source"], "nvidia-smi");
}

#[test]
fn a_gpu_that_holds_as_much_at_every_size_is_within() {
    let report = on_a_gpu("6000", "", "    budget: {gpu_memory: 90%}\n")
        .ended_with(0)
        .json();
    assert_eq!(line(&report)["verdict"], "within");
}

#[test]
fn a_gpu_that_is_full_at_every_size_is_unknown_and_says_why() {
    let report = on_a_gpu("15500", "", "").ended_with(0).json();
    assert_eq!(line(&report)["verdict"], "not_applicable");
    let notes = report["jobs"][0]["notes"].to_string();
    assert_eq!(
        notes.matches("TF_FORCE_GPU_ALLOW_GROWTH").count(),
        1,
        "{notes}"
    );
    let report = on_a_gpu("15500", "", "    budget: {gpu_memory: 90%}\n")
        .ended_with(14)
        .json();
    assert_eq!(line(&report)["verdict"], "unknown");
}

#[test]
fn a_canary_that_runs_out_of_gpu_memory_settles_it() {
    let error = "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.' >&2; exit 1";
    let report = on_a_gpu("15900", error, "").ended_with(10).json();
    let job = &report["jobs"][0];
    let outcome = &job["measurements"][0]["outcome"];
    assert_eq!(
        (&outcome["kind"], &outcome["of"]),
        (&json!("out_of_memory"), &json!("gpu"))
    );
    assert_eq!(
        job["reason"],
        "a canary ran out of GPU memory, so the full run will pass 100% of the GPU"
    );
    assert!(
        job["advice"].to_string().contains("take smaller batches"),
        "{job:#}"
    );
    // An error that the script dealt with is none.
    let warning = "echo 'warning: CUDA out of memory, the batch is halved' >&2; exit 1";
    on_a_gpu("15900", warning, "").ended_with(13);
}

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
