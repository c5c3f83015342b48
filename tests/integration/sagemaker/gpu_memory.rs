//! The memory of GPUs on SageMaker: what CloudWatch has of it, what the probe has, and training code that says it ran out.

use super::{FIXED, JSON, gate, project};
use crate::aws::{FakeAws, Logs, Metrics, Timeline};
use crate::project::{Project, budget_line};

/// The job on an instance with a GPU, under this budget; a canary trains for ten minutes.
fn on_a_gpu(budget: &str) -> (Project, FakeAws) {
    let (project, aws) = project(FIXED);
    let spec = project.read("canary-gate.yml");
    let (before, _) = spec.split_once("    budget:").unwrap_or((&spec, ""));
    let spec = before.replace("ml.m5.xlarge", "ml.g5.xlarge");
    project.write("canary-gate.yml", &format!("{spec}    budget: {budget}\n"));
    aws.train(|_| Timeline::completed().training(600.0));
    (project, aws)
}

/// A quarter of the GPU on average, and a third at its highest.
fn cloudwatch() -> Metrics {
    Metrics::of(|point| match (point.metric, point.statistic) {
        ("GPUMemoryUtilization", "Maximum") => Some(33.0),
        ("GPUMemoryUtilization", _) => Some(25.0),
        ("MemoryUtilization" | "CPUUtilization", _) => Some(20.0),
        _ => None,
    })
}

#[test]
fn what_cloudwatch_saw_of_a_gpu_is_a_lower_bound() {
    let (project, aws) = on_a_gpu("{time: 24h, gpu_memory: 90%}");
    aws.metrics(cloudwatch());
    let run = gate(&project, &aws, JSON).ended_with(0);
    let report = run.json();
    assert_eq!(budget_line(&report, "gpu_memory")["verdict"], "at_risk");
    assert_eq!(
        report["jobs"][0]["forecasts"][0]["gpu_memory_is_lower_bound"],
        true
    );
    let peak = &report["jobs"][0]["measurements"][0]["usage"]["gpu_memory"];
    assert_eq!(
        (peak["percent"].as_f64(), &peak["is_lower_bound"]),
        (Some(33.0), &true.into())
    );

    // Nobody is warned of what nobody asked for, and it is said.
    let (project, aws) = on_a_gpu("{time: 24h}");
    aws.metrics(cloudwatch());
    let report = gate(&project, &aws, JSON).ended_with(0).json();
    assert_eq!(
        budget_line(&report, "gpu_memory")["verdict"],
        "not_applicable"
    );
    let notes = report["jobs"][0]["notes"].to_string();
    assert_eq!(
        notes
            .matches("GPU memory was looked at only once a minute")
            .count(),
        1,
        "{notes}"
    );
}

#[test]
fn more_than_the_gpu_has_is_over_budget_even_by_a_lower_bound() {
    let (project, aws) = on_a_gpu("{time: 24h}");
    // As much as the data.
    aws.metrics(Metrics::of(|point| {
        #[expect(clippy::cast_precision_loss, reason = "some thousand bytes")]
        let share = point.job.bytes() as f64 / 29_861.0;
        match point.metric {
            "GPUMemoryUtilization" => Some(900.0 * share),
            "MemoryUtilization" | "CPUUtilization" => Some(20.0),
            _ => None,
        }
    }));
    let report = gate(&project, &aws, JSON).ended_with(10).json();
    assert_eq!(budget_line(&report, "gpu_memory")["verdict"], "exceeded");
    assert_eq!(budget_line(&report, "memory")["verdict"], "within");
}

#[test]
fn the_gpus_memory_that_ran_out_is_not_the_machines() {
    let (project, aws) = on_a_gpu("{time: 24h, memory: 90%}");
    aws.train(|_| {
        let said = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
        Timeline::script_failed(1, said)
    });
    aws.logs(Logs::of_probe(|_| 20.0));
    let report = gate(&project, &aws, JSON).ended_with(10).json();
    let outcome = &report["jobs"][0]["measurements"][0]["outcome"];
    assert_eq!(
        (&outcome["kind"], &outcome["of"]),
        (&"out_of_memory".into(), &"gpu".into())
    );
    assert_eq!(budget_line(&report, "gpu_memory")["verdict"], "exceeded");
    assert_ne!(budget_line(&report, "memory")["verdict"], "exceeded");
    assert_eq!(
        report["jobs"][0]["reason"],
        "a canary ran out of GPU memory, so the full run will pass 100% of the GPU"
    );
}
