//! Requests as they leave the program: through the real client, from a spec as it is written.

use serde_json::{Value, json};

use super::super::exchange::exchange;
use super::*;
use crate::canary::WorkLevel;
use crate::outside_error::OutsideError;
use crate::spec::{DataType, read};
use crate::units::Fraction;

const SPEC: &str = "\
version: 1
backend: sagemaker
region: us-east-1
jobs:
  churn:
    training: {
      image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1,
      role: arn:aws:iam::123456789012:role/SageMakerTraining,
      source_dir: training/churn, entry_point: train.py,
      hyperparameters: {num_round: 50, booster: gbtree},
      environment: {MODE: full, TEAM: growth},
      channels: {
        train: {uri: s3://my-bucket/churn/train/, mode: Pipe, content_type: text/csv, distribution: ShardedByS3Key},
        validation: {uri: s3://my-bucket/churn/val/, sample: false}, shared: {uri: fsx://fs-0123456789abcdef0/fsx/words, sample: false}},
      output: s3://my-bucket/canary-output/,
      volume_gb: 100, volume_kms_key: alias/disk, output_kms_key: alias/out,
      spot: true, subnets: [subnet-0a1b], security_groups: [sg-0a1b],
      tags: {team: growth},
      metrics: {step: 'step time: ([0-9.]+)'}, step_metric: step}
    instance: ml.m5.2xlarge
    work: {hyperparameter: num_round, full: 50, canary: [5, 10]}
    canary: {max_runtime: 10m}
";

fn job(text: &str) -> Job {
    let spec = read("canary-gate.yml", text.as_bytes(), &[])
        .unwrap_or_else(|errors| panic!("{}", errors.render(false, 100)));
    spec.jobs.into_iter().next().unwrap()
}

fn canary(job: &Job) -> CanaryRun {
    CanaryRun {
        job: job.name.clone(),
        instance: job.instance.clone(),
        fraction: Fraction(0.03),
        share: None,
        work: job
            .work
            .as_ref()
            .and_then(|work| WorkLevel::of_canaries(work).next()),
        replicate: 0,
        channels: Vec::new(),
        objects: 3,
        objects_total: 100,
        bytes: Bytes(3),
        bytes_total: Bytes(100),
        max_runtime: Some(Seconds(299.1)),
        ends_early: false,
    }
}

fn script() -> Script {
    Script {
        archive: "s3://my-bucket/canary-output/cg-source/0a/sourcedir.tar.gz".to_owned(),
        program: "train.py".to_owned(),
    }
}

/// The first channel from a manifest, the others whole.
fn inputs(job: &Job) -> Vec<Channel> {
    let mut inputs = job.training.channels.clone();
    inputs[0] = at(
        &inputs[0],
        "s3://my-bucket/canary-output/m",
        DataType::Manifest,
    );
    inputs
}

fn at(channel: &Channel, uri: &str, data_type: DataType) -> Channel {
    let uri = uri.to_owned();
    Channel {
        uri,
        data_type,
        ..channel.clone()
    }
}

/// For as long as the test runs.
fn kept<'a, T: 'a>(value: T) -> &'a T {
    Box::leak(Box::new(value))
}

/// A launch of a job in script mode, changed by `change`.
fn try_create<'a>(
    job: &'a Job,
    change: impl FnOnce(&mut Launch<'a>),
) -> Result<CreateTrainingJobInputBuilder, OutsideError> {
    let mut launch = Launch {
        keep_alive: None,
        name: kept(JobName::new(&job.name, "0123456789abcdef", 0)),
        region: "us-east-1",
        job,
        run: kept(canary(job)),
        inputs: kept(inputs(job)),
        script: Some(kept(script())),
        command: None,
        environment: &[],
        tags: kept([("canary-gate:run".to_owned(), "4711".to_owned())]),
        output: "s3://my-bucket/canary-output/",
    };
    change(&mut launch);
    create(&launch)
}

/// What goes over the wire.
fn sent(request: CreateTrainingJobInputBuilder) -> Value {
    let answer = r#"{"TrainingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:training-job/x"}"#;
    let (body, result) = exchange(
        answer,
        |client| async move { request.send_with(&client).await },
    );
    result.unwrap();
    serde_json::from_str(&body).unwrap()
}

#[test]
fn a_canary_in_script_mode_is_asked_for_in_full() {
    let mut body = sent(try_create(&job(SPEC), |_| {}).unwrap());
    body.sort_all_objects();
    insta::assert_snapshot!(serde_json::to_string_pretty(&body).unwrap());
}

#[test]
fn a_plain_image_gets_its_hyperparameters_as_they_are_written() {
    let job = job(&SPEC.replace("source_dir: training/churn, entry_point: train.py,", ""));
    let command = ["train".to_owned()];
    let body = sent(
        try_create(&job, |launch| {
            launch.script = None;
            launch.command = Some(&command);
        })
        .unwrap(),
    );
    assert_eq!(
        body["HyperParameters"],
        json!({"num_round": "5", "booster": "gbtree"})
    );
    let algorithm = &body["AlgorithmSpecification"];
    assert_eq!(algorithm["ContainerEntrypoint"], json!(ENTRYPOINT));
    assert_eq!(algorithm["ContainerArguments"], json!(["train"]));
}

#[test]
fn our_variables_win_over_the_specs() {
    let own = [("MODE".to_owned(), "canary".to_owned())];
    let job = job(SPEC);
    let body = sent(try_create(&job, |launch| launch.environment = &own).unwrap());
    assert_eq!(
        body["Environment"],
        json!({"MODE": "canary", "TEAM": "growth"})
    );
    let many: Vec<_> = (0..99).map(|n| (format!("V{n}"), "1".to_owned())).collect();
    let error = try_create(&job, |launch| launch.environment = &many).unwrap_err();
    assert_eq!(
        error.what,
        "jobs.churn.training.environment: 101 variables, with those of canary-gate; SageMaker takes at most 100"
    );
}

#[test]
fn debugger_is_asked_for_where_the_spec_says_so_alone() {
    for is_asked in [false, true] {
        let mut job = job(SPEC);
        job.training.sagemaker.profiler = is_asked;
        let request = try_create(&job, |_| {}).unwrap();
        assert_eq!(request.get_profiler_config().is_some(), is_asked);
    }
}

#[test]
fn the_time_limit_is_whole_seconds_and_never_above_the_policy() {
    let mut job = job(SPEC);
    for (asked, expected) in [
        (Some(0.2), 1),
        (Some(299.0), 299),
        (Some(299.1), 300),
        (Some(599.5), 600),
        (Some(7200.0), 600),
        (None, 600),
    ] {
        let mut run = canary(&job);
        run.max_runtime = asked.map(Seconds);
        let request = try_create(&job, |launch| launch.run = &run).unwrap();
        let limit = request.get_stopping_condition().as_ref().unwrap();
        assert_eq!(limit.max_runtime_in_seconds(), Some(expected), "{asked:?}");
    }
    job.canary.max_runtime = Seconds(90.5);
    let run = canary(&job);
    let request = try_create(&job, |launch| launch.run = &run).unwrap();
    let limit = request.get_stopping_condition().as_ref().unwrap();
    assert_eq!(limit.max_runtime_in_seconds(), Some(90));
}

#[test]
fn fast_file_reads_prefixes_and_no_manifests() {
    let job = job(&SPEC.replace("mode: Pipe", "mode: FastFile"));
    let train = &job.training.channels[0];
    let staged = "s3://my-bucket/canary-output/cg-stage/x/";
    let inputs = [
        train.clone(),
        at(train, staged, DataType::Prefix),
        at(train, "s3://my-bucket/canary-output/m", DataType::Manifest),
    ];
    let body = sent(try_create(&job, |launch| launch.inputs = &inputs).unwrap());
    let channel = |index: usize| {
        let channel = &body["InputDataConfig"][index];
        let uri = &channel["DataSource"]["S3DataSource"]["S3Uri"];
        (
            uri.as_str().unwrap(),
            channel["InputMode"].as_str().unwrap(),
        )
    };
    assert_eq!(channel(0), ("s3://my-bucket/churn/train/", "FastFile"));
    assert_eq!(channel(1), (staged, "FastFile"));
    assert_eq!(channel(2), ("s3://my-bucket/canary-output/m", "File"));
}

/// Each value of a request, by its place.
fn values(body: &Value, place: &str, all: &mut Vec<String>) {
    let mut add = |key: &str, value: &Value| values(value, &format!("{place}/{key}"), all);
    match body {
        Value::Object(members) => members.iter().for_each(|(key, value)| add(key, value)),
        Value::Array(items) => (0..)
            .zip(items)
            .for_each(|(index, it): (usize, _)| add(&index.to_string(), it)),
        value => all.push(format!("{place}: {value}")),
    }
}

/// The spec with the changes of a case, each a line `OLD => NEW`.
fn changed(case: &str) -> String {
    let changes = case.lines().filter_map(|line| line.split_once(" =>"));
    changes.fold(SPEC.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}\nis not in\n{text}");
        text.replacen(old, new.trim_start(), 1)
    })
}

/// What a change of the spec changes in the request.
#[test]
fn each_key_is_sent_as_its_case_shows() {
    let sorted = |text: &str| {
        let mut all = Vec::new();
        let mut body = sent(try_create(&job(text), |_| {})?);
        body.sort_all_objects();
        values(&body, "", &mut all);
        Ok::<_, OutsideError>(all)
    };
    let plain = sorted(SPEC).unwrap();
    let said = |case: &str| match sorted(&changed(case)) {
        Err(error) => format!("refused: {error}"),
        Ok(all) => {
            let gone = plain.iter().filter(|line| !all.contains(line));
            let new = all.iter().filter(|line| !plain.contains(line));
            let gone = gone.map(|line| format!("- {line}"));
            let lines = gone.chain(new.map(|line| format!("+ {line}")));
            lines.collect::<Vec<_>>().join("\n")
        }
    };
    let cases = include_str!("cases.txt").trim_end().split("\n\n");
    let shown = cases.map(|case| format!("{case}\n{}\n", said(case)));
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
}

/// The name of each channel with the groups that it is for.
fn channel_groups(body: &Value) -> Vec<(String, Value)> {
    let channels = body["InputDataConfig"].as_array().unwrap().iter();
    channels
        .map(|channel| {
            let name = channel["ChannelName"].as_str().unwrap().to_owned();
            let groups = &channel["DataSource"]["S3DataSource"]["InstanceGroupNames"];
            (name, groups.clone())
        })
        .collect()
}

#[test]
fn where_one_channel_names_groups_ours_name_all_of_them() {
    let mut cases = include_str!("cases.txt").split("\n\n");
    let on_groups = cases.find(|case| case.starts_with("groups take the place"));
    let isolated = changed(on_groups.unwrap()).replace("volume_gb: 100", "network_isolation: true");
    let job = job(&isolated);
    let place = "s3://my-bucket/canary-output/probe/".to_owned();
    let probe = whole_channel("canary-gate", place);
    let with_probe = |launch: &mut Launch<'_>| {
        let mut all = inputs(kept(job.clone()));
        all.push(probe);
        launch.inputs = kept(all);
    };
    let both = json!(["data", "dnn"]);
    assert_eq!(
        channel_groups(&sent(try_create(&job, with_probe).unwrap())),
        [
            ("train".to_owned(), json!(["data"])),
            ("validation".to_owned(), both.clone()),
            ("canary-gate".to_owned(), both.clone()),
            ("code".to_owned(), both),
        ]
    );
    // A row without groups beside it drops them.
    let alone = kept(CanaryRun {
        instance: "ml.p3.2xlarge".parse().unwrap(),
        ..canary(&job)
    });
    let body = sent(try_create(&job, |launch| launch.run = alone).unwrap());
    assert!(
        channel_groups(&body)
            .iter()
            .all(|(_, groups)| groups.is_null())
    );
}
