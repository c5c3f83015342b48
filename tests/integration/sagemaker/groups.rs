//! Canaries on instance groups: what each host of a group says.

use super::scripts::static_probe;
use super::{FIXED, JSON, edit, gate, project};
use crate::aws::{FakeAws, Job, Logs, Metrics, Timeline};
use crate::project::Project;

const GROUPS: &str = "{groups: {data: 2x ml.c5.xlarge, dnn: 1x ml.g5.xlarge}}";

/// Job `churn` on two machines that read and one that trains, with channels for each.
pub(super) fn on_groups(canary: &str) -> (Project, FakeAws) {
    let (project, aws) = project(canary);
    edit(
        &project,
        &[
            (
                "instance: ml.m5.xlarge",
                &format!("instance: {GROUPS}\n    alternatives: []"),
            ),
            (
                "{uri: s3://data/churn/train/}",
                "{uri: s3://data/churn/train/, distribution: ShardedByS3Key, groups: [data]}\n        labels: {uri: s3://data/labels/, sample: false, groups: [data, dnn]}",
            ),
        ],
    );
    aws.put_object("data", "labels/all.csv", "1\n");
    (project, aws)
}

#[test]
fn a_host_that_never_starts_is_named() {
    let (project, aws) = on_groups(FIXED);
    aws.train(|_| Timeline::completed().training(1e6));
    let is_there = |job: &Job, host: &str| job.group_of(host).is_some_and(|one| one.name != "dnn");
    aws.logs(Logs::of(move |job, host| match is_there(job, host) {
        true => vec!["waiting for the trainer".to_owned()],
        false => Vec::new(),
    }));
    aws.metrics(Metrics::of(move |point| {
        is_there(point.job, point.host).then_some(50.0)
    }));
    let run = gate(&project, &aws, JSON);
    let first = aws.jobs().remove(0);
    let hosts = ["algo-1", "algo-2", "algo-3"];
    let dnn = hosts.into_iter().find(|host| !is_there(&first, host));
    let said = format!("\"nothing came from {}", dnn.unwrap());
    let measured = run.json()["jobs"][0]["measurements"].to_string();
    assert!(measured.contains(&said), "{}", run.seen());
}

/// A real probe in the fake's container, on the first of two hosts; the other one is what is left.
#[test]
fn the_probe_reads_in_its_container_which_group_it_is_in() {
    let (project, aws) = on_groups(FIXED);
    let Some(probe) = static_probe(project.root()) else {
        eprintln!("skipped: no C compiler here links statically");
        return;
    };
    edit(&project, &[("data: 2x", "data: 1x")]);
    project.write("code/train.py", "import time\ntime.sleep(1.2)\n");
    aws.run_scripts(1.0);
    let run = project.run_with(JSON, |command| {
        aws.reach(command);
        command
            .env("CANARY_GATE_PACE", "0")
            .env("CANARY_GATE_PROBE", &probe);
    });
    let report = run.json();
    let runs = report["jobs"][0]["measurements"].as_array().unwrap();
    for (run, job) in runs.iter().zip(aws.jobs()) {
        let first = &run["hosts"][0];
        let group = job.group_of("algo-1").unwrap().name;
        assert_eq!(first["group"], group, "{}", job.name());
        let source = first["usage"]["memory"]["source"].as_str().unwrap();
        assert!(source.starts_with("probe in the container"), "{source}");
        assert_ne!(run["hosts"][1]["group"], first["group"]);
    }
}
