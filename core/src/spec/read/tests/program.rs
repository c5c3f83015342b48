//! What a SageMaker job starts, and from where.

use super::*;

const PLAIN: &str = "\
version: 1
backend: sagemaker
jobs:
  churn:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/churn:1
      role: arn:aws:iam::123456789012:role/Train
      output: s3://my-bucket/out/
      channels: {train: {uri: s3://my-bucket/train/}}
    instance: ml.m5.xlarge
";

#[test]
fn what_a_container_starts_is_said_once() {
    let of = |training: &str| {
        PLAIN.replace("      output:", &format!("      {training}\n      output:"))
    };
    for (written, problem) in [
        (
            "algorithm: my-algorithm",
            "algorithm: an algorithm brings its own image (remove `image`, or `algorithm`)",
        ),
        (
            "algorithm: a b",
            "algorithm: `a b` is not an algorithm (write its name, or `arn:aws:sagemaker:us-east-1:123456789012:algorithm/name`)",
        ),
        (
            "container: {}",
            "container: says neither `entrypoint` nor `arguments` (write what the container starts: `container: {entrypoint: [python3, /opt/program/train.py]}`)",
        ),
        (
            "container: {arguments: []}",
            "container.arguments: the list is empty (remove the key: the image's own words count then)",
        ),
        (
            "container: {entrypoint: [sh, -c, \"a\\nb\"]}",
            "container.entrypoint[2]: a word holds no line end (put the script into the image or into `source_dir`)",
        ),
        (
            "registry_credentials: none",
            "registry_credentials: the image is in Amazon ECR, which the role reads (remove the key)",
        ),
        (
            "registry_credentials: secret",
            "registry_credentials: `secret` is not the ARN of a Lambda function (write `arn:aws:lambda:us-east-1:123456789012:function:name`, or `none` where the registry asks for no credentials)",
        ),
        (
            "retries: 31",
            "retries: 31 retries; SageMaker takes at most 30",
        ),
        (
            "source_channel: train",
            "source_channel: `train` is a channel of data already (remove it from `channels`: canaries get the files of `source_dir` on it)",
        ),
    ] {
        let found = problems(&of(written));
        let expected = format!("jobs.churn.training.{problem}");
        assert!(found.contains(&expected), "{written}: {found:?}");
    }
    let container = "container: {entrypoint: [python3, train.py]}";
    let probed = of(container) + "    canary: {probe: {command: [train]}}\n";
    assert!(
        problems(&probed).contains(&"jobs.churn.canary.probe.command: `training.container.entrypoint` says already what the probe starts (remove `canary.probe`: canaries have the probe by default)".to_owned()),
        "{:?}", problems(&probed)
    );
    let scripted = of("entry_point: train.py\n      source_channel: code");
    assert_eq!(
        problems(&scripted),
        [
            "jobs.churn.training.source_channel: the script of `entry_point` comes as an archive, which the training toolkit unpacks (remove `source_channel`, or remove `entry_point` and write what starts the script: `container: {entrypoint: [python3, /opt/ml/input/data/code/train.py]}`)"
        ]
    );
    try_read(&of(container)).unwrap();
}

#[test]
fn a_framework_is_an_image_of_the_table() {
    let of = |framework: &str| {
        PLAIN.replace(
            "image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/churn:1",
            &format!("framework: {framework}"),
        )
    };
    let framework = |text: &str| {
        let spec =
            try_read(&of(text)).unwrap_or_else(|errors| panic!("{}", errors.render(false, 200)));
        let sagemaker = spec.jobs[0].training.sagemaker.clone();
        sagemaker.framework.unwrap().to_string()
    };
    assert_eq!(
        framework("{pytorch: 2.8, python: py312}"),
        "pytorch 2.8.0 py312"
    );
    assert_eq!(framework("{pytorch: 2.10}"), "pytorch 2.10.0 py313");
    assert_eq!(framework("{pytorch: 2.0}"), "pytorch 2.0.1 py310");
    assert_eq!(framework("{xgboost: 1.7}"), "xgboost 1.7-1 py3");
    for (written, problem) in [
        ("{}", "framework: needs exactly one framework"),
        (
            "{pytorch: 2.8, sklearn: 1.4-2}",
            "framework: needs exactly one framework",
        ),
        (
            "{pytorch: 2.12}",
            "framework.pytorch: no image of pytorch `2.12` is known, by the table of",
        ),
        (
            "{pytorch: 2.12}",
            "the nearest is `2.10.0`, or write the address of an image: `image: ",
        ),
        (
            "{pytorch: 2.8, python: 3.12}",
            "framework.python: pytorch 2.8.0 has no image with `3.12`",
        ),
        ("{torch: 2.8}", "unknown key `torch`"),
        (
            "{pytorch: 2.8}\n      image: x",
            "framework: a job has one image",
        ),
    ] {
        let found = problems(&of(written)).join("\n");
        assert!(found.contains(problem), "{written}: {found}");
    }
    let arm = of("{pytorch: 2.8}").replace("ml.m5.xlarge", "ml.m6g.large");
    assert!(problems(&arm)[0].contains("whose processors are ARM"));
    let elsewhere =
        of("{sklearn: 1.4-2}").replace("version: 1", "version: 1\nregion: mx-central-1");
    assert!(problems(&elsewhere)[0].contains("is known in `mx-central-1`"));
}

#[test]
fn prepaid_capacity_is_named_before_canaries_take_it() {
    let asked = format!("{PLAIN}    canary: {{training_plan: true}}\n");
    assert_eq!(
        problems(&asked),
        [
            "jobs.churn.canary.training_plan: the job has no training plan (write its ARN as `training.training_plan`, or remove the key)"
        ]
    );
    let planned = asked.replace(
        "      output:",
        "      training_plan: winter\n      output:",
    );
    assert_eq!(
        problems(&planned),
        [
            "jobs.churn.training.training_plan: `winter` is not the ARN of a training plan (write `arn:aws:sagemaker:us-east-1:123456789012:training-plan/name`)"
        ]
    );
}
