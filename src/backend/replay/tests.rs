use futures_util::FutureExt;

use super::*;
use crate::measurement::table;
use crate::spec::{self, Spec};

const RUNS: &str = r#"
{"schema_version":1,"job":"sums","instance":"local","fraction":0.01,"replicate":0,"outcome":{"kind":"completed"},"training_seconds":1,"objects_total":10,"bytes":3,"bytes_total":1005}
{"schema_version":1,"job":"sums","instance":"local","fraction":0.02,"replicate":0,"outcome":{"kind":"completed"},"training_seconds":2,"objects_total":10,"bytes":20,"bytes_total":1005}
{"schema_version":1,"job":"sums","instance":"local","fraction":0.01,"replicate":1,"outcome":{"kind":"completed"},"training_seconds":1.5,"objects_total":10,"bytes":9,"bytes_total":1005}
{"schema_version":1,"job":"other","instance":"local","fraction":0.01,"replicate":0,"outcome":{"kind":"completed"},"training_seconds":7}
"#;

fn spec(channels: &str) -> Spec {
    let text = format!(
        "version: 1
backend: replay
recording: runs.jsonl
jobs:
  sums: {{training: {{channels: {channels}}}, instance: local}}
  other: {{training: {{channels: {channels}}}, instance: local}}
"
    );
    spec::read("canary-gate.yml", text.as_bytes(), &[]).unwrap()
}

fn backend_of(runs: &str) -> ReplayBackend {
    ReplayBackend::new("runs.jsonl", table::read_json_lines(runs).unwrap())
}

fn backend() -> ReplayBackend {
    backend_of(RUNS)
}

fn opened<'a>(backend: &'a ReplayBackend, job: &'a Job) -> ReplayJob<'a> {
    ReplayJob { backend, job }
}

/// Everything a replay does is done at once.
fn list(backend: &ReplayBackend, job: &Job) -> Result<Dataset, OutsideError> {
    let mut session = opened(backend, job);
    Ok(session.list().now_or_never().unwrap()?.dataset)
}

fn run(backend: &ReplayBackend, job: &Job, percent: f64) -> Result<Measurement, OutsideError> {
    let asked = CanaryRun {
        job: job.name.clone(),
        instance: job.instance.clone(),
        fraction: Percent(percent).as_fraction(),
        replicate: 0,
        channels: Vec::new(),
        objects: 1,
        objects_total: 10,
        bytes: Bytes(1),
        bytes_total: Bytes(10),
        share: None,
        work: None,
        max_runtime: None,
        ends_early: false,
    };
    opened(backend, job).replay(&asked)
}

#[test]
fn each_run_is_handed_out_once_in_the_order_of_the_recording() {
    let (spec, backend) = (spec("{train: {uri: data}}"), backend());
    let job = &spec.jobs[0];
    let supply = || {
        let left = opened(&backend, job).left(&job.instance, (Fraction(0.01), None));
        left.len()
    };
    assert_eq!(supply(), 2);
    let bytes: Vec<_> = (0..2)
        .map(|_| run(&backend, job, 1.0).unwrap().bytes)
        .collect();
    assert_eq!(bytes, [Some(Bytes(3)), Some(Bytes(9))]);
    assert_eq!(supply(), 0);
    let used_up = run(&backend, job, 1.0).unwrap_err();
    assert_eq!(
        (used_up.what.as_str(), used_up.help.as_str()),
        (
            "recording: `runs.jsonl` has no run left of job `sums` on local with 1% of the data",
            "its runs, each of which is used once, are on local with 1%, on local with 2%; record more with `canary-gate run --measurements FILE.jsonl`, or change `instance` or `canary`"
        )
    );
    assert!(run(&backend, job, 2.0).is_ok());
    assert!(run(&backend, job, 2.0).is_err());
}

#[test]
fn a_share_that_is_only_near_is_another() {
    let near = RUNS
        .replacen("0.01", "0.010003", 1)
        .replacen("0.01,", "0.0098,", 1);
    let backend = backend_of(&near);
    let spec = spec("{train: {uri: data}}");
    let refused = run(&backend, &spec.jobs[0], 1.0).unwrap_err();
    let held = "on local with 1.0003%, on local with 2%, on local with 0.98%";
    assert!(refused.help.contains(held), "{}", refused.help);
}

#[test]
fn the_listed_data_is_as_large_as_the_recorded_and_fills_no_memory() {
    let spec = spec("{train: {uri: data}, more: {uri: more}, labels: {uri: l, sample: false}}");
    let endless = RUNS.replace(":10,", ":18446744073709551615,");
    for (runs, count) in [(RUNS, 10), (&endless, 100_000)] {
        let backend = backend_of(runs);
        let data = list(&backend, &spec.jobs[0]).unwrap();
        let counts: Vec<_> = data.channels.iter().map(|c| c.objects.len()).collect();
        assert_eq!(counts, [count, count, 0]);
        assert_eq!(data.bytes_total(), Bytes(1005));
    }
    let data = list(&backend(), &spec.jobs[0]).unwrap();
    let sizes: Vec<_> = data.channels[0].objects.sizes().collect();
    assert_eq!(sizes[3..6], [Bytes(51), Bytes(51), Bytes(50)]);
}
