use std::convert::Infallible;

use aws_sdk_sagemaker::config::retry::RetryConfig;
use aws_sdk_sagemaker::config::{BehaviorVersion, Credentials, Region};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::instance::InstanceConfiguration;
use crate::spec::yaml_text as yaml;
use crate::spec::{self, DataType, Distribution, InputMode, Spec, SpecSource};

/// The described jobs of `tests/data/sagemaker`, by name.
fn fixtures() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sagemaker");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let named = files.filter_map(|file| {
        let name = file.file_stem()?.to_str()?.strip_prefix("describe-")?;
        Some((name.to_owned(), std::fs::read_to_string(&file).unwrap()))
    });
    let all: Vec<_> = named
        .chain([("rich".to_owned(), RICH.to_owned())])
        .collect();
    assert!(all.len() >= 13, "{}", all.len());
    all
}

const GROUPS: &str =
    include_str!("../../../../tests/data/sagemaker/describe-completed-hetero.json");

/// A job of a script with all that a spec can say.
const RICH: &str = r#"{
 "TrainingJobName": "churn-2026-09-21-15-02-40-123",
 "TrainingJobArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/churn-2026-09-21-15-02-40-123",
 "TrainingJobStatus": "Completed",
 "HyperParameters": {
  "epochs": "10", "learning-rate": "0.10", "name": "\"a: b # c\"", "debug": "true", "classes": "[1, 2]",
  "api-key": "\"hunter2\"", "max_tokens": "512",
  "sagemaker_program": "\"train.py\"", "sagemaker_submit_directory": "\"s3://bucket/code/source.tar.gz\"",
  "sagemaker_container_log_level": "20"
 },
 "AlgorithmSpecification": {
  "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1", "TrainingInputMode": "FastFile",
  "MetricDefinitions": [{"Name": "step", "Regex": "step time: ([0-9.]+)"}]
 },
 "RoleArn": "arn:aws:iam::123456789012:role/SageMakerTrainingRole",
 "InputDataConfig": [
  {"ChannelName": "train", "ContentType": "text/csv", "InputMode": "File", "CompressionType": "Gzip",
   "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/train/", "S3DataDistributionType": "ShardedByS3Key"}}},
  {"ChannelName": "validation",
   "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/a: b/", "S3DataDistributionType": "FullyReplicated"}}},
  {"ChannelName": "shared",
   "DataSource": {"FileSystemDataSource": {"FileSystemId": "fs-01234567", "FileSystemAccessMode": "ro", "FileSystemType": "EFS", "DirectoryPath": "/"}}}
 ],
 "OutputDataConfig": {"KmsKeyId": "alias/output", "S3OutputPath": "s3://bucket/out"},
 "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 50, "VolumeKmsKeyId": "1234abcd"},
 "StoppingCondition": {"MaxRuntimeInSeconds": 43200, "MaxWaitTimeInSeconds": 86400},
 "VpcConfig": {"Subnets": ["subnet-0a1b"], "SecurityGroupIds": ["sg-0a1b"]},
 "EnableNetworkIsolation": true, "EnableManagedSpotTraining": true,
 "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints/"},
 "Environment": {"WANDB_API_KEY": "hunter2", "LOG_LEVEL": "debug"},
 "TrainingTimeInSeconds": 3600, "BillableTimeInSeconds": 1200
}"#;

/// A client that gets one answer to every DescribeTrainingJob, and these tags.
async fn client(status: u16, answer: String) -> Client {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let respond = move |request: Request| {
        let answer = answer.clone();
        async move {
            let target = request.headers()["x-amz-target"]
                .to_str()
                .unwrap()
                .to_owned();
            let (status, body) = match target.as_str() {
                "SageMaker.DescribeTrainingJob" => (StatusCode::from_u16(status).unwrap(), answer),
                "SageMaker.ListTags" => (
                    StatusCode::OK,
                    json!({"Tags": [{"Key": "team", "Value": "growth: 1"}, {"Key": "aws:x", "Value": "y"}]}).to_string(),
                ),
                other => panic!("{other}"),
            };
            let kind = [("content-type", "application/x-amz-json-1.1")];
            Ok::<_, Infallible>((status, kind, body).into_response())
        }
    };
    let app = axum::Router::new().fallback(respond);
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let config = aws_sdk_sagemaker::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .endpoint_url(format!("http://{address}"))
        .build();
    Client::from_conf(config)
}

fn read(text: &str) -> Spec {
    let source = SpecSource {
        name: "canary-gate.yml",
        bytes: text.as_bytes(),
    };
    spec::read(source, &[])
        .unwrap_or_else(|problems| panic!("{}\n{text}", problems.render(false, 100)))
}

async fn text_of(job: &str) -> String {
    let client = client(200, job.to_owned()).await;
    spec_of(&client, "any", "eu-west-1").await.unwrap()
}

#[tokio::test]
async fn every_job_becomes_a_valid_spec() {
    for (name, job) in fixtures() {
        let text = text_of(&job).await;
        let spec = read(&text);
        assert_eq!(spec.jobs.len(), 1, "{name}");
        let is_completed = name.starts_with("completed") || name == "rich";
        assert_eq!(
            spec.jobs[0].budget.written().count() > 0,
            is_completed,
            "{name}\n{text}"
        );
    }
}

#[tokio::test]
async fn a_job_of_a_script_is_read_whole() {
    let text = text_of(RICH).await;
    insta::assert_snapshot!(text);
    let spec = read(&text);
    let job = spec.job("churn").unwrap();
    let training = &job.training;
    assert_eq!(training.sagemaker.entry_point.as_deref(), Some("train.py"));
    assert_eq!(training.source_dir, None);
    let hyperparameters: Vec<(&str, &str)> = training
        .hyperparameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        hyperparameters,
        [
            ("classes", "[1, 2]"),
            ("debug", "true"),
            ("epochs", "10"),
            ("learning-rate", "0.10"),
            ("max_tokens", "512"),
            ("name", "a: b # c"),
        ]
    );
    // The file system is named, and read whole.
    assert_eq!(training.channels.len(), 3);
    assert_eq!(training.channels[0].mode, InputMode::File);
    assert_eq!(
        training.channels[0].distribution,
        Distribution::ShardedByS3Key
    );
    assert_eq!(training.channels[1].mode, InputMode::FastFile);
    assert_eq!(training.channels[1].uri, "s3://bucket/a: b/");
    assert_eq!(
        training.sagemaker.tags,
        [("team".to_owned(), "growth: 1".to_owned())]
    );
    assert!(training.sagemaker.spot && training.sagemaker.network_isolation);
    assert_eq!(
        job.instance,
        "2x ml.m5.xlarge".parse::<InstanceConfiguration>().unwrap()
    );
    assert!(!text.contains("hunter2"), "secrets stay where they are");
}

#[tokio::test]
async fn a_manifest_is_written_as_one() {
    let job = RICH.replacen(
        r#""S3DataType": "S3Prefix", "S3Uri": "s3://bucket/train/""#,
        r#""S3DataType": "ManifestFile", "S3Uri": "s3://bucket/train.manifest""#,
        1,
    );
    assert_ne!(job, RICH);
    let spec = read(&text_of(&job).await);
    let channel = &spec.jobs[0].training.channels[0];
    assert_eq!(channel.uri, "s3://bucket/train.manifest");
    assert_eq!(channel.data_type, DataType::Manifest);
}

/// What changes the training is kept, and what a spec cannot say is said in a remark.
#[tokio::test]
async fn no_field_is_lost_in_silence() {
    let job = r#"{
     "TrainingJobName": "llm", "TrainingJobStatus": "Failed",
     "HyperParameters": {"sagemaker_program": "\"train.py\"", "sagemaker_mpi_enabled": "true",
      "sagemaker_mpi_num_of_processes_per_host": "8", "sagemaker_job_name": "\"x\"", "sagemaker_region": "\"eu-west-1\""},
     "AlgorithmSpecification": {"TrainingImage": "registry.example.com/train:1", "TrainingInputMode": "File",
      "ContainerEntrypoint": ["python3"], "ContainerArguments": ["-m", "train"],
      "TrainingImageConfig": {"TrainingRepositoryAccessMode": "Vpc",
       "TrainingRepositoryAuthConfig": {"TrainingRepositoryCredentialsProviderArn": "arn:aws:lambda:eu-west-1:123456789012:function:login"}}},
     "RoleArn": "arn:aws:iam::123456789012:role/R",
     "InputDataConfig": [
      {"ChannelName": "fast", "DataSource": {"FileSystemDataSource": {"FileSystemId": "fs-0123456789abcdef0",
       "FileSystemAccessMode": "ro", "FileSystemType": "FSxLustre", "DirectoryPath": "/abcd1234/train"}}}],
     "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
     "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 50, "KeepAlivePeriodInSeconds": 600},
     "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
     "VpcConfig": {"Subnets": ["subnet-0a1b"], "SecurityGroupIds": ["sg-0a1b"]},
     "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints/", "LocalPath": "/opt/ml/here"},
     "RetryStrategy": {"MaximumRetryAttempts": 3},
     "ProfilerConfig": {"DisableProfiler": true}
    }"#;
    let text = text_of(job).await;
    insta::assert_snapshot!(text);
    let spec = read(&text.replace("# share:", "share:"));
    let training = &spec.jobs[0].training;
    let named = |wanted: &str| {
        training
            .hyperparameters
            .iter()
            .any(|(name, _)| name == wanted)
    };
    assert!(named("sagemaker_mpi_enabled") && !named("sagemaker_job_name"));
    assert_eq!(
        training.channels[0].uri,
        "fsx://fs-0123456789abcdef0/abcd1234/train"
    );
    assert_eq!(training.sagemaker.profiler, Some(false));
    assert_eq!(training.sagemaker.retries, Some(3));
    assert_eq!(
        training.sagemaker.container.command().unwrap(),
        ["python3", "-m", "train"]
    );
    assert_eq!(
        training.sagemaker.checkpoints.as_deref(),
        Some("s3://bucket/checkpoints/")
    );
}

/// The SDK's hyperparameters of a launcher become `distribution`; those of one that a spec cannot say stay.
#[tokio::test]
async fn a_launcher_is_read_back() {
    let of = async |hyperparameters: &str| {
        let job = RICH.replace(
            "\"sagemaker_container_log_level\"",
            &format!("{hyperparameters}, \"sagemaker_container_log_level\""),
        );
        let spec = read(&text_of(&job).await);
        let training = spec.jobs[0].training.clone();
        let names = training.hyperparameters.into_iter().map(|(name, _)| name);
        let left: Vec<String> = names
            .filter(|name| name.starts_with("sagemaker_"))
            .collect();
        let launcher = training.distribution.map(|launcher| launcher.to_string());
        (launcher.unwrap_or_default(), left.join(" "))
    };
    let said = |words: &str, left: &str| (words.to_owned(), left.to_owned());
    assert_eq!(
        of(r#""sagemaker_torch_distributed_enabled": "true", "sagemaker_instance_type": "\"ml.m5.xlarge\"""#).await,
        said("torchrun", "")
    );
    let mpi = r#""sagemaker_mpi_enabled": "true", "sagemaker_mpi_num_of_processes_per_host": "8""#;
    assert_eq!(
        of(&format!(
            r#"{mpi}, "sagemaker_mpi_custom_mpi_options": "\"--NCCL_DEBUG WARN\"""#
        ))
        .await,
        said("mpi with 8 processes a host and --NCCL_DEBUG WARN", "")
    );
    assert_eq!(
        of(&format!(
            r#"{mpi}, "sagemaker_mpi_custom_mpi_options": "\"\"""#
        ))
        .await,
        said("mpi with 8 processes a host", "")
    );
    let many = mpi.replace('8', "800");
    assert_eq!(
        of(&many).await,
        said(
            "",
            "sagemaker_mpi_enabled sagemaker_mpi_num_of_processes_per_host"
        )
    );
    let (job, groups) = (
        GROUPS,
        r#""sagemaker_distribution_instance_groups": "[\"dnn_group\"]""#,
    );
    let start = r#""HyperParameters": {"#;
    assert!(job.contains(start));
    let text = text_of(&job.replace(
        start,
        &format!(r#"{start}{mpi}, {groups}, "sagemaker_program": "\"train.py\"","#),
    ))
    .await;
    assert!(
        text.contains("    mpi: {processes_per_host: 8}\n        groups: [dnn_group]\n"),
        "{text}"
    );
}

#[tokio::test]
async fn groups_stay_groups() {
    let spec = read(&text_of(GROUPS).await);
    assert_eq!(
        spec.jobs[0].instance.to_string(),
        "data_group: 1x ml.c5.9xlarge + dnn_group: 1x ml.p3.2xlarge"
    );
}

#[tokio::test]
async fn a_job_that_says_nothing_is_a_spec_to_fill_in() {
    let text = text_of("{}").await;
    assert!(text.contains("FILL-IN"));
    // The role cannot be read as it stands, and nothing is measured before it is known how the script gets its share.
    let text = text.replace("role: FILL-IN", "role: arn:aws:iam::123456789012:role/R");
    read(&text.replace("# share:", "share:"));
}

#[tokio::test]
async fn each_refusal_says_what_to_do() {
    for (status, kind, what, help) in [
        (
            400,
            "ValidationException",
            "there is no training job `churn` in eu-west-1",
            "--region",
        ),
        (
            400,
            "ResourceNotFound",
            "there is no training job",
            "list-training-jobs",
        ),
        (
            400,
            "AccessDeniedException",
            "does not let you read",
            "sagemaker:DescribeTrainingJob",
        ),
        (
            400,
            "ExpiredTokenException",
            "the AWS session has expired",
            "sign in again",
        ),
        (
            400,
            "UnrecognizedClientException",
            "AWS rejected these credentials",
            "sign in again",
        ),
        (
            500,
            "InternalFailure",
            "AWS gave no usable answer",
            "network",
        ),
    ] {
        let body = json!({"__type": kind, "message": "Requested resource not found."});
        let client = client(status, body.to_string()).await;
        let error = spec_of(&client, "churn", "eu-west-1").await.unwrap_err();
        assert!(error.what.contains(what), "{kind}: {}", error.what);
        assert!(error.help.contains(help), "{kind}: {}", error.help);
    }
}

#[tokio::test]
async fn without_credentials_it_says_where_they_go() {
    let config = aws_sdk_sagemaker::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(aws_sdk_sagemaker::config::SharedCredentialsProvider::new(
            NoCredentials,
        ))
        .retry_config(RetryConfig::disabled())
        .endpoint_url("http://127.0.0.1:9")
        .build();
    let error = spec_of(&Client::from_conf(config), "churn", "eu-west-1")
        .await
        .unwrap_err();
    let said = "could not read the training job `churn` in eu-west-1: there are no AWS credentials";
    // A profile that whoever runs the test has chosen is named behind it.
    assert!(error.what.starts_with(said), "{error}");
}

#[derive(Debug)]
struct NoCredentials;

impl aws_credential_types::provider::ProvideCredentials for NoCredentials {
    fn provide_credentials<'a>(
        &'a self,
    ) -> aws_credential_types::provider::future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        aws_credential_types::provider::future::ProvideCredentials::ready(Err(
            aws_credential_types::provider::error::CredentialsError::not_loaded("none here"),
        ))
    }
}

proptest! {
    #[test]
    fn any_text_survives_as_yaml(name in "[^\0\r\n]{1,30}", value in "[^\0\r\n]{0,60}") {
        let text = format!(
            "version: 1\nbackend: sagemaker\njobs:\n  a:\n    training:\n      image: i\n      role: arn:aws:iam::123456789012:role/R\n      hyperparameters:\n        {}: {}\n      channels: {{train: {{uri: s3://bucket/x/}}}}\n      output: s3://bucket/y/\n    instance: ml.m5.large\n    # {}\n",
            yaml::text(&name),
            yaml::text_or_number(&value),
            yaml::remark(&value),
        );
        let spec = read(&text);
        prop_assert_eq!(&spec.jobs[0].training.hyperparameters, &[(name, value)]);
    }

    #[test]
    fn any_job_can_be_written(
        name in ".*", program in ".*", uri in ".*", group in ".*", count in any::<i32>(), seconds in any::<i32>(),
    ) {
        let job: Value = json!({"name": name});
        let job = DescribeTrainingJobOutput::builder()
            .training_job_name(job["name"].as_str().unwrap())
            .hyper_parameters("sagemaker_program", program)
            .role_arn(uri.clone())
            .training_time_in_seconds(seconds)
            .training_job_status("Completed".into())
            .input_data_config(
                aws_sdk_sagemaker::types::Channel::builder()
                    .channel_name(group)
                    .data_source(
                        aws_sdk_sagemaker::types::DataSource::builder()
                            .s3_data_source(aws_sdk_sagemaker::types::S3DataSource::builder().s3_uri(uri).build())
                            .build(),
                    )
                    .build(),
            )
            .resource_config(
                aws_sdk_sagemaker::types::ResourceConfig::builder()
                    .instance_type("ml.m5.large".into())
                    .instance_count(count)
                    .build(),
            )
            .build();
        let text = layout::spec(&job, &[], "us-east-1");
        let source = SpecSource { name: "s", bytes: text.as_bytes() };
        // Odd values are complained about one by one; the text itself can always be read.
        if let Err(problems) = spec::read(source, &[]) {
            let shown = problems.render(false, 200);
            prop_assert!(shown.contains("jobs"), "{}\n{}", shown, text);
        }
    }
}
