//! Canaries on instance groups: one request for machines of several types, and what each group used.

use serde_json::{Value, json};

use super::clean_up::twenty_kills;
use super::scripts::static_probe;
use super::{FIXED, JSON, created, edit, gate, project};
use crate::aws::{FakeAws, Job, Logs, Metrics, Timeline};
use crate::project::{Finished, Project};

/// 0.204 and 1.408 USD/h: 1.816 USD/h with two of the first.
const GROUPS: &str = "{groups: {data: 2x ml.c5.xlarge, dnn: 1x ml.g5.xlarge}}";
const USD_PER_HOUR: f64 = 2.0 * 0.204 + 1.408;

/// Job `churn` on two machines that read and one that trains, with channels for each.
fn on_groups(canary: &str) -> (Project, FakeAws) {
    let (project, aws) = project(canary);
    edit(
        &project,
        &[
            ("instance: ml.m5.xlarge", &format!("instance: {GROUPS}")),
            (
                "{uri: s3://data/churn/train/}",
                "{uri: s3://data/churn/train/, distribution: ShardedByS3Key, groups: [data]}\n        labels: {uri: s3://data/labels/, sample: false, groups: [data, dnn]}",
            ),
        ],
    );
    aws.put_object("data", "labels/all.csv", "1\n");
    (project, aws)
}

fn job(finished: &Finished) -> Value {
    finished.json()["jobs"][0].clone()
}

fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// The notes of all canaries.
fn notes(job: &Value) -> Vec<&str> {
    let runs = job["measurements"].as_array().unwrap().iter();
    runs.flat_map(|run| texts(&run["notes"])).collect()
}

/// Each host of a canary with its group.
fn hosts(run: &Value) -> Vec<(String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let hosts = run["hosts"].as_array().unwrap().iter();
    hosts
        .map(|host| (text(&host["host"]).unwrap(), text(&host["group"])))
        .collect()
}

/// The same as the fake dealt them out.
fn dealt(job: &Job) -> Vec<(String, Option<String>)> {
    let hosts = (1..=3).map(|number| format!("algo-{number}"));
    hosts
        .map(|host| {
            let group = job.group_of(&host).map(|group| group.name);
            (host, group)
        })
        .collect()
}

#[test]
fn a_canary_on_groups_is_one_request_for_all_of_them() {
    let (project, aws) = on_groups(&FIXED.replace("5%", "50%"));
    let run = gate(&project, &aws, JSON).ended_with(0);
    let job = job(&run);
    let first = &aws.jobs()[0];
    let resources = &first.input()["ResourceConfig"];
    assert!(resources.get("InstanceType").is_none());
    assert_eq!(
        resources["InstanceGroups"][0],
        json!({"InstanceGroupName": "data", "InstanceType": "ml.c5.xlarge", "InstanceCount": 2})
    );
    // Paid is the time on all machines.
    let spent = job["spend"]["canary_usd"].as_f64().unwrap();
    assert!((spent - aws.bill()).abs() < 1e-9, "{spent} {}", aws.bill());
    let row = &job["forecasts"][0];
    let point = |name: &str| row["estimates"][name]["point"].as_f64().unwrap();
    let per_hour = point("cost_usd") / point("time_seconds") * 3600.0;
    assert!((per_hour - USD_PER_HOUR).abs() < 1e-9, "{per_hour}");
    assert_eq!(row["verdict"], "within");
}

#[test]
fn each_host_is_of_the_group_that_its_probe_names() {
    let (project, aws) = on_groups(FIXED);
    let run = gate(&project, &aws, JSON).ended_with(0);
    let job = job(&run);
    let runs = job["measurements"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for (run, job) in runs.iter().zip(aws.jobs()) {
        assert_eq!(hosts(run), dealt(&job), "{}", job.name());
        for host in run["hosts"].as_array().unwrap() {
            // Nothing sampled on the machine that trains.
            let is_data = host["group"] == "data";
            assert!(is_data || host["bytes"] == 0);
        }
        let shards = run["hosts"].as_array().unwrap().iter();
        let all: u64 = shards.map(|host| host["bytes"].as_u64().unwrap()).sum();
        assert_eq!(run["bytes"], all);
    }
    // In every job another host is of the group.
    assert_ne!(hosts(&runs[0]), hosts(&runs[1]));
}

#[test]
fn hosts_that_report_no_group_have_none_and_that_is_said() {
    let (project, aws) = on_groups(&FIXED.replace('}', ", probe: false}"));
    aws.train(|_| Timeline::completed().training(600.0));
    aws.logs(Logs::of(|_, _| Vec::new()));
    let run = gate(&project, &aws, JSON);
    let job = job(&run);
    let first = &job["measurements"][0];
    let groups: Vec<_> = hosts(first).into_iter().map(|(_, group)| group).collect();
    assert_eq!(groups, [None, None, None]);
    assert!(first["usage"].get("cpu_percent").is_none());
    assert_eq!(first["usage"]["memory"]["percent"], 25.0);
    assert_eq!(
        notes(&job)[0],
        "the instance group of algo-1, algo-2 and algo-3 is not known: no probe reported it, and SageMaker numbers hosts in no order of groups; CPU and GPU by CloudWatch, which need it, are left out; where `canary.probe` runs each host reports its group"
    );
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
    let job = job(&run);
    let dnn = dealt(&aws.jobs()[0])
        .into_iter()
        .find(|(_, group)| group.as_deref() == Some("dnn"));
    let said = format!("nothing came from {}", dnn.unwrap().0);
    assert!(
        notes(&job).iter().any(|note| note.starts_with(&said)),
        "{:?}\n{}",
        notes(&job),
        run.seen()
    );
}

#[test]
fn the_quota_of_every_type_has_to_have_room() {
    let (project, aws) = on_groups(FIXED);
    aws.quota("ml.c5.xlarge for training job usage", 1.0);
    gate(&project, &aws, JSON)
        .ended_with(14)
        .complained("`ml.c5.xlarge for training job usage` is 1, and a canary needs 2");
    assert_eq!(aws.jobs().len(), 0);

    // One at a time, though there are machines of the other type for many.
    aws.quota("ml.c5.xlarge for training job usage", 3.0);
    gate(&project, &aws, JSON).ended_with(0);
    assert_eq!(aws.jobs().len(), 3);
}

#[test]
fn groups_as_an_alternative_are_measured_beside_one_machine() {
    let (project, aws) = on_groups(&FIXED.replace('}', ", spend_limit: 50 USD}"));
    edit(
        &project,
        &[(
            &format!("instance: {GROUPS}"),
            &format!("instance: ml.g5.xlarge\n    alternatives: [{GROUPS}]"),
        )],
    );
    let run = gate(&project, &aws, JSON).ended_with(0);
    let job = job(&run);
    let row = &job["forecasts"][1];
    assert_eq!(
        row["instance"],
        "data: 2x ml.c5.xlarge + dnn: 1x ml.g5.xlarge"
    );
    assert!(row.get("not_measured").is_none(), "{row:#}");
    let of_groups = |job: &&Job| job.instance_type().is_empty();
    let jobs = aws.jobs();
    assert_eq!(jobs.iter().filter(of_groups).count(), 3);
    // The homogeneous row beside them drops the groups of its channels.
    let alone = jobs.iter().find(|job| !of_groups(job)).unwrap();
    assert!(!alone.input().to_string().contains("InstanceGroup"));
}

#[test]
fn groups_may_have_a_script_of_their_own() {
    let (project, aws) = on_groups(FIXED);
    edit(&project, &[("xlarge}}", "xlarge}, entry_point: start.py}")]);
    gate(&project, &aws, JSON)
        .ended_with(1)
        .complained("jobs.churn.instance.entry_point: `start.py` is not among the source files");
    project.write("code/start.py", "print('started')\n");
    gate(&project, &aws, JSON).ended_with(0);
    let job = &aws.jobs()[0];
    assert_eq!(
        job.input()["Environment"]["CANARY_GATE_ENTRY_POINT"],
        "start.py"
    );
    // Without a probe the toolkit starts it itself.
    edit(
        &project,
        &[("max_runtime: 30m", "probe: false, max_runtime: 30m")],
    );
    gate(&project, &aws, JSON).ended_with(0);
    let last = aws.jobs().pop().unwrap();
    assert_eq!(
        last.hyperparameter("sagemaker_program"),
        Some("\"start.py\"")
    );
}

#[test]
fn slow_twenty_kills_at_any_moment_with_groups_and_several_machines_leave_and_cost_nothing_twice() {
    let instance = format!("instance: {GROUPS}");
    let beside = format!("{instance}\n    alternatives: [2x ml.m5.xlarge]");
    let new = || {
        let (project, aws) = on_groups(&FIXED.replace('}', ", spend_limit: 50 USD}"));
        edit(&project, &[(&instance, &beside)]);
        (project, aws)
    };
    twenty_kills(new, |kill, aws, report, _| {
        // Three on the groups, three on one machine and one on two, each once.
        assert_eq!(created(aws).len(), 7, "{kill}");
        // What the killed gate has recorded stands there as saved.
        let figure = |key: &str| report["jobs"][0]["spend"][key].as_f64().unwrap_or(0.0);
        let billed = figure("canary_usd") + figure("saved_usd");
        assert!((billed - aws.bill()).abs() < 1e-9, "{kill}: {billed}");
    });
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
    let job = job(&run);
    let runs = job["measurements"].as_array().unwrap();
    for (run, job) in runs.iter().zip(aws.jobs()) {
        let first = &run["hosts"][0];
        let group = job.group_of("algo-1").unwrap().name;
        assert_eq!(first["group"], group, "{}", job.name());
        let source = first["usage"]["memory"]["source"].as_str().unwrap();
        assert!(source.starts_with("probe in the container"), "{source}");
        assert_ne!(run["hosts"][1]["group"], first["group"]);
    }
}

#[test]
fn a_type_of_a_group_without_a_price_is_named() {
    let (project, aws) = on_groups(FIXED);
    edit(&project, &[("ml.g5.xlarge", "ml.p5e.48xlarge")]);
    gate(&project, &aws, JSON)
        .ended_with(14)
        .complained("no price is known for ml.p5e.48xlarge")
        .reported("prices: {ml.p5e.48xlarge: 1.20 USD/h}");
    assert_eq!(aws.jobs().len(), 0);
}
