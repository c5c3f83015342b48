//! Scripts that a launcher starts: what SageMaker is asked for, and what the probes of several hosts say in one log.

use serde_json::json;

use super::{FIXED, JSON, edit, gate, project};
use crate::aws::{Job, Logs};

/// What the probe of a host prints that used this much of its memory, as mpirun hands it on.
fn line(job: &Job, host: &str, percent: f64) -> String {
    let input = job.input();
    let mark = input["Environment"]["CANARY_GATE_MARK"].as_str().unwrap();
    let report = json!({
        "schema_version": 1,
        "ending": {"kind": "exited", "code": 0},
        "wall_seconds": 10.0,
        "cpu_seconds": 10.0,
        "usage": {"memory": {"bytes": 1 << 30, "percent": percent, "source": "cgroup v2 memory.stat of all processes"}},
        "samples": 20,
        "container_host": {"name": host},
        "survivors_ended": 0,
        "memory_total": 16_u64 << 30,
        "cores": 4.0,
    });
    format!("[1,0]<stdout>:canary-gate-probe {mark} {report}")
}

#[test]
fn mpi_on_two_machines_is_asked_for_and_measured_on_both() {
    let (project, aws) = project(&FIXED.replace('}', ", counts: [2]}"));
    edit(
        &project,
        &[
            ("instance: ml.m5.xlarge", "instance: 2x ml.m5.xlarge"),
            (
                "      output:",
                "      distribution: {mpi: {processes_per_host: 4, options: -verbose}}\n      encrypt_traffic: true\n      output:",
            ),
        ],
    );
    aws.logs(Logs::of(|job, host| match host {
        "algo-1" => vec![line(job, "algo-2", 40.0), line(job, "algo-1", 20.0)],
        _ => vec!["MPI process finished.".to_owned()],
    }));
    let run = gate(&project, &aws, JSON);
    let report = run.json();
    let job = &aws.jobs()[0];
    let asked = &job.input()["HyperParameters"];
    assert_eq!(asked["sagemaker_mpi_enabled"], "true", "{}", run.seen());
    assert_eq!(asked["sagemaker_mpi_num_of_processes_per_host"], "4");
    assert_eq!(asked["sagemaker_mpi_custom_mpi_options"], "\"-verbose\"");
    assert_eq!(
        job.input()["EnableInterContainerTrafficEncryption"],
        json!(true)
    );
    let measured = &report["jobs"][0]["measurements"][0];
    let hosts = measured["hosts"].as_array().unwrap();
    let percents: Vec<_> = hosts
        .iter()
        .map(|host| host["usage"]["memory"]["percent"].as_f64().unwrap())
        .collect();
    assert_eq!(percents, [20.0, 40.0]);
    assert_eq!(measured["usage"]["memory"]["percent"], 40.0);
    let reason = report["jobs"][0]["reason"].to_string();
    assert!(!reason.contains("without the probe"), "{reason}");
}
