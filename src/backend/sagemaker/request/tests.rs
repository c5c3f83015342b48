//! Requests as they leave the program: through the real client, from a spec as it is written.

use serde_json::{Value, json};

use super::super::exchange::exchange;
use super::*;
use crate::canary::WorkLevel;
use crate::spec::{SpecSource, read};
use crate::units::Fraction;

const SPEC: &str = "\
version: 1
backend: sagemaker
region: us-east-1
jobs:
  churn:
    training:
      image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1
      role: arn:aws:iam::123456789012:role/SageMakerTraining
      source_dir: training/churn
      entry_point: train.py
      hyperparameters: {num_round: 50, booster: gbtree}
      environment: {MODE: full, TEAM: growth}
      channels:
        train: {uri: s3://my-bucket/churn/train/, mode: Pipe, content_type: text/csv, distribution: ShardedByS3Key}
        validation: {uri: s3://my-bucket/churn/val/, sample: false}
        shared: {uri: fsx://fs-0123456789abcdef0/fsx/words, sample: false}
      output: s3://my-bucket/canary-output/
      volume_gb: 100
      volume_kms_key: alias/disk
      output_kms_key: alias/out
      spot: true
      checkpoints: s3://my-bucket/checkpoints/
      subnets: [subnet-0a1b]
      security_groups: [sg-0a1b]
      tags: {team: growth}
      metrics: {step: 'step time: ([0-9.]+)'}
      step_metric: step
    instance: ml.m5.2xlarge
    work: {hyperparameter: num_round, full: 50, canary: [5, 10]}
    canary: {max_runtime: 10m}
";

fn job(text: &str) -> Job {
    let source = SpecSource {
        name: "canary-gate.yml",
        bytes: text.as_bytes(),
    };
    let spec = read(source, &[]).unwrap_or_else(|errors| panic!("{}", errors.render(false, 100)));
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
    }
}

fn script() -> Script {
    Script {
        archive: "s3://my-bucket/canary-output/cg-source/0a/sourcedir.tar.gz".to_owned(),
        program: "train.py".to_owned(),
    }
}

/// The first channel from a manifest, the others whole.
fn inputs(job: &Job) -> Vec<Input<'_>> {
    let mut inputs: Vec<_> = job.training.channels.iter().map(Input::whole).collect();
    let manifest = "s3://my-bucket/canary-output/m".to_owned();
    inputs[0] = Input::of_manifest(&job.training.channels[0], manifest);
    inputs
}

/// For as long as the test runs.
fn kept<'a, T: 'a>(value: T) -> &'a T {
    Box::leak(Box::new(value))
}

/// A launch of a job in script mode, changed by `change`.
fn try_create<'a>(
    job: &'a Job,
    change: impl FnOnce(&mut Launch<'a>),
) -> Result<CreateTrainingJobInputBuilder, BackendError> {
    let mut launch = Launch {
        keep_alive: None,
        name: kept(JobName::new(&job.name, "0123456789abcdef", 0)),
        region: "us-east-1",
        job,
        run: kept(canary(job)),
        inputs: kept(inputs(job)),
        script: Some(kept(script())),
        command: None,
        is_probed: false,
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
    let job = job(&SPEC.replace(
        "      source_dir: training/churn\n      entry_point: train.py\n",
        "",
    ));
    let command = ContainerCommand {
        entrypoint: vec!["/opt/ml/input/data/cg/probe".to_owned()],
        arguments: vec!["train".to_owned()],
    };
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
    assert_eq!(algorithm["ContainerEntrypoint"], json!(command.entrypoint));
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
fn a_job_does_not_choose_what_its_probe_is_known_by() {
    let job = job(&SPEC.replace("MODE: full", "CANARY_GATE_MARK: known"));
    let error = try_create(&job, |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "jobs.churn.training.environment.CANARY_GATE_MARK: canary-gate itself speaks with its probe through this variable"
    );
}

#[test]
fn without_network_the_script_comes_on_a_channel() {
    let isolated = SPEC.replace("      tags:", "      network_isolation: true\n      tags:");
    let body = sent(try_create(&job(&isolated), |_| {}).unwrap());
    assert_eq!(body["EnableNetworkIsolation"], json!(true));
    assert_eq!(
        body["HyperParameters"]["sagemaker_submit_directory"],
        json!("\"/opt/ml/input/data/code/sourcedir.tar.gz\"")
    );
    let channels = body["InputDataConfig"].as_array().unwrap();
    assert_eq!(
        channels.last().unwrap(),
        &json!({
            "ChannelName": "code",
            "DataSource": {"S3DataSource": {
                "S3DataType": "S3Prefix",
                "S3Uri": "s3://my-bucket/canary-output/cg-source/0a/sourcedir.tar.gz",
                "S3DataDistributionType": "FullyReplicated",
            }},
            "InputMode": "File",
        })
    );
    let taken = job(&isolated.replace("validation:", "code:"));
    let error = try_create(&taken, |_| {}).unwrap_err();
    assert_eq!(
        error.what,
        "jobs.churn.training.channels.code: with `network_isolation` the script itself comes on a channel of this name"
    );
}

#[test]
fn debugger_is_asked_only_where_it_is() {
    let spec = job(SPEC);
    for (region, instance, asked) in [
        ("us-east-1", "ml.m5.large", true),
        ("eu-south-2", "ml.m5.large", false),
        ("us-east-1", "ml.trn1.2xlarge", false),
    ] {
        let mut job = spec.clone();
        job.instance = instance.parse().unwrap();
        let request = try_create(&job, |launch| launch.region = region).unwrap();
        let has = request.get_profiler_config().is_some();
        assert_eq!(has, asked, "{region} {instance}");
    }
}

#[test]
fn debugger_is_not_asked_where_the_probe_runs_unless_the_spec_says_so() {
    for (written, probe, asked) in [
        (None, false, true),
        (None, true, false),
        (Some(true), true, true),
        (Some(false), false, false),
    ] {
        let mut job = job(SPEC);
        job.training.sagemaker.profiler = written;
        let request = try_create(&job, |launch| launch.is_probed = probe);
        let has = request.unwrap().get_profiler_config().is_some();
        assert_eq!(has, asked, "{written:?} {probe}");
    }
}

#[test]
fn the_time_limit_is_whole_seconds_and_never_above_the_policy() {
    let job = job(SPEC);
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
    let run = canary(&job);
    assert_eq!(max_runtime(&run, Seconds(90.5)), 90);
}

#[test]
fn fast_file_reads_prefixes_and_no_manifests() {
    let job = job(&SPEC.replace("mode: Pipe", "mode: FastFile"));
    let train = &job.training.channels[0];
    let staged = "s3://my-bucket/canary-output/cg-stage/x/".to_owned();
    let inputs = [
        Input::whole(train),
        Input::of_prefix(train, staged.clone()),
        Input::of_manifest(train, "s3://my-bucket/canary-output/m".to_owned()),
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
    assert_eq!(channel(1), (staged.as_str(), "FastFile"));
    assert_eq!(channel(2), ("s3://my-bucket/canary-output/m", "File"));
}

#[test]
fn a_pipe_unpacks_and_wraps_as_the_spec_says() {
    let packed = "mode: Pipe, compression: Gzip, record_wrapper: RecordIO";
    let body = sent(try_create(&job(&SPEC.replace("mode: Pipe", packed)), |_| {}).unwrap());
    let channel = &body["InputDataConfig"][0];
    assert_eq!(channel["CompressionType"], "Gzip");
    assert_eq!(channel["RecordWrapperType"], "RecordIO");
}

#[test]
fn a_frameworks_image_is_the_one_for_the_machine() {
    let image = "image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1";
    for (machine, processor) in [("ml.m5.2xlarge", "cpu"), ("ml.g5.xlarge", "gpu")] {
        let text = SPEC
            .replace(image, "framework: {pytorch: 2.8, python: py312}")
            .replace("ml.m5.2xlarge", machine);
        let body = sent(try_create(&job(&text), |_| {}).unwrap());
        assert_eq!(
            body["AlgorithmSpecification"]["TrainingImage"],
            format!(
                "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8.0-{processor}-py312"
            )
        );
    }
}

#[test]
fn canaries_take_prepaid_capacity_only_where_they_are_asked_to() {
    let arn = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/winter";
    let planned = SPEC.replace(
        "      tags:",
        &format!("      training_plan: {arn}\n      tags:"),
    );
    let body = sent(try_create(&job(&planned), |_| {}).unwrap());
    assert_eq!(body["ResourceConfig"].get("TrainingPlanArn"), None);
    let asked = planned.replace(
        "{max_runtime: 10m}",
        "{max_runtime: 10m, training_plan: true}",
    );
    let body = sent(try_create(&job(&asked), |_| {}).unwrap());
    assert_eq!(body["ResourceConfig"]["TrainingPlanArn"], arn);
}

/// As the Python SDK 2.x sends them.
#[test]
fn a_launcher_is_told_to_the_toolkit_in_its_hyperparameters() {
    let of = |distribution: &str, change: &dyn Fn(&mut CanaryRun)| {
        let text = SPEC.replace(
            "      metrics:",
            &format!("      distribution: {distribution}\n      metrics:"),
        );
        let job = job(&text);
        let mut run = canary(&job);
        change(&mut run);
        let request = sent(try_create(&job, |launch| launch.run = kept(run.clone())).unwrap());
        let all = request["HyperParameters"].as_object().unwrap().clone();
        let of_launcher = all.into_iter().filter(|(name, _)| {
            name.contains("mpi") || name.contains("torch") || name.contains("groups")
        });
        Value::Object(of_launcher.collect())
    };
    let nothing = |_: &mut CanaryRun| {};
    assert_eq!(
        of("{torchrun: {}}", &nothing),
        json!({"sagemaker_torch_distributed_enabled": "true"})
    );
    assert_eq!(
        of("{mpi: {}}", &nothing),
        json!({"sagemaker_mpi_enabled": "true"})
    );
    assert_eq!(
        of(
            "{mpi: {processes_per_host: 8, options: -verbose}}",
            &nothing
        ),
        json!({
            "sagemaker_mpi_enabled": "true",
            "sagemaker_mpi_num_of_processes_per_host": "8",
            "sagemaker_mpi_custom_mpi_options": "\"-verbose\"",
        })
    );
}

/// The same job on groups, each channel with its own.
const ON_GROUPS: &str = "{groups: {data: 2x ml.c5.4xlarge, dnn: 1x ml.p3.2xlarge}}";

fn on_groups() -> String {
    SPEC.replace("instance: ml.m5.2xlarge", &format!("instance: {ON_GROUPS}"))
        .replace("      spot: true\n", "")
        .replace("mode: Pipe,", "groups: [data], mode: Pipe,")
        .replace("val/, sample", "val/, groups: [data, dnn], sample")
        .replace(
            "        shared: {uri: fsx://fs-0123456789abcdef0/fsx/words, sample: false}\n",
            "",
        )
}

#[test]
fn groups_take_the_place_of_type_and_count() {
    let job = job(&on_groups());
    let body = sent(try_create(&job, |_| {}).unwrap());
    let resources = &body["ResourceConfig"];
    assert_eq!(resources.get("InstanceType"), None);
    assert_eq!(resources.get("InstanceCount"), None);
    assert_eq!(
        resources["InstanceGroups"],
        json!([
            {"InstanceGroupName": "data", "InstanceType": "ml.c5.4xlarge", "InstanceCount": 2},
            {"InstanceGroupName": "dnn", "InstanceType": "ml.p3.2xlarge", "InstanceCount": 1},
        ])
    );
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
    let isolated = on_groups().replace("volume_gb: 100", "network_isolation: true");
    let job = job(&isolated);
    let probe = kept(crate::backend::sagemaker::source_channel::whole_channel(
        "canary-gate",
        "s3://my-bucket/canary-output/probe/".to_owned(),
    ));
    let with_probe = |launch: &mut Launch<'_>| {
        let mut all = inputs(kept(job.clone()));
        all.push(Input::whole(probe));
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

#[test]
fn groups_run_the_image_of_gpus_and_no_key_of_disks_that_one_of_them_lacks() {
    let framework = on_groups().replace(
        "image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1",
        "framework: {pytorch: 2.8}",
    );
    let body = sent(try_create(&job(&framework), |_| {}).unwrap());
    let image = body["AlgorithmSpecification"]["TrainingImage"].as_str();
    assert!(image.unwrap().contains("-gpu-"), "{image:?}");
    assert_eq!(body["ResourceConfig"]["VolumeKmsKeyId"], "alias/disk");
    let with_disks = on_groups().replace("ml.p3.2xlarge", "ml.g5.xlarge");
    let body = sent(try_create(&job(&with_disks), |_| {}).unwrap());
    assert_eq!(body["ResourceConfig"].get("VolumeKmsKeyId"), None);
}
