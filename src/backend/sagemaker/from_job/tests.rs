use proptest::prelude::*;

use super::super::exchange::exchange;
use super::*;
use crate::spec::{self, DataType, Spec};

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
 "OutputDataConfig": {"KmsKeyId": "alias/output", "S3OutputPath": "s3://bucket/out", "CompressionType": "NONE"},
 "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 50, "VolumeKmsKeyId": "1234abcd"},
 "StoppingCondition": {"MaxRuntimeInSeconds": 43200, "MaxWaitTimeInSeconds": 86400},
 "VpcConfig": {"Subnets": ["subnet-0a1b"], "SecurityGroupIds": ["sg-0a1b"]},
 "EnableNetworkIsolation": true, "EnableManagedSpotTraining": true,
 "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints/"},
 "Environment": {"WANDB_API_KEY": "hunter2", "LOG_LEVEL": "debug"},
 "TrainingTimeInSeconds": 3600, "BillableTimeInSeconds": 1200
}"#;

fn read(text: &str) -> Spec {
    spec::read("canary-gate.yml", text.as_bytes(), &[])
        .unwrap_or_else(|problems| panic!("{}\n{text}", problems.render(false, 100)))
}

fn text_of(job: &str) -> String {
    let (_, described) = exchange(job, async |client| describe(&client, "x").await);
    let (job, machines) = described.unwrap();
    spec_text(&job, machines.as_ref())
}

fn spec_text(job: &Value, machines: Option<&InstanceConfiguration>) -> String {
    let tags = [("team", "growth: 1"), ("aws:x", "y")];
    let job = DescribedJob {
        job,
        machines,
        tags: &tags
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        region: "eu-west-1",
    };
    job.spec()
}

#[test]
fn every_job_becomes_a_valid_spec() {
    for (name, job) in fixtures() {
        let text = text_of(&job);
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

#[test]
fn a_job_of_a_script_is_read_whole() {
    let text = text_of(RICH);
    insta::assert_snapshot!(text);
    assert!(!text.contains("hunter2"), "secrets stay where they are");
}

#[test]
fn a_manifest_is_written_as_one() {
    let job = RICH.replacen(
        r#""S3DataType": "S3Prefix", "S3Uri": "s3://bucket/train/""#,
        r#""S3DataType": "ManifestFile", "S3Uri": "s3://bucket/train.manifest""#,
        1,
    );
    let spec = read(&text_of(&job));
    let channel = &spec.jobs[0].training.channels[0];
    assert_eq!(channel.uri, "s3://bucket/train.manifest");
    assert_eq!(channel.data_type, DataType::Manifest);
}

/// What changes the training is kept, and what a spec cannot say is said in a remark.
#[test]
fn no_field_is_lost_in_silence() {
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
     "ProfilerConfig": {"S3OutputPath": "s3://bucket/out"}, "DebugHookConfig": {"S3OutputPath": "s3://bucket/out"},
     "DebugRuleConfigurations": [{"RuleConfigurationName": "x"}], "RemoteDebugConfig": {"EnableRemoteDebug": false},
     "SomeNewField": {"Of": {"AWS": 1}}, "CreationTime": 1, "SecondaryStatusTransitions": [{"Status": "Starting"}]
    }"#;
    let text = text_of(job);
    insta::assert_snapshot!(text);
    read(&text.replace("# share:", "share:"));
}

/// The job, its hyperparameters, the launcher that they become, and those that stay since no spec can say them.
const LAUNCHERS: &str = r#"
script | "sagemaker_torch_distributed_enabled": "true", "sagemaker_instance_type": "\"ml.m5.xlarge\"" | torchrun |
script | MPI "8", "sagemaker_mpi_custom_mpi_options": "\"--NCCL_DEBUG WARN\"" | mpi with 8 processes a host and --NCCL_DEBUG WARN |
script | MPI "8", "sagemaker_mpi_custom_mpi_options": "\"\"" | mpi with 8 processes a host |
script | MPI "800" | | KEPT
with GPUs | "sagemaker_distributed_dataparallel_enabled": "true", "sagemaker_distributed_dataparallel_custom_mpi_options": "\"\"" | smdistributed |
groups | MPI "8", "sagemaker_distribution_instance_groups": "[\"dnn_group\"]" | mpi with 8 processes a host on group dnn_group |
groups | MPI "8", "sagemaker_distribution_instance_groups": "[\"dnn_group\", \"data_group\"]" | | sagemaker_distribution_instance_groups KEPT
groups | MPI "8", "sagemaker_distribution_instance_groups": "[\"other\"]" | | sagemaker_distribution_instance_groups KEPT"#;

#[test]
fn a_launcher_is_read_back() {
    let start = r#""HyperParameters": {"#;
    let program = r#""sagemaker_program": "\"train.py\"","#;
    let mpi = r#""sagemaker_mpi_enabled": "true", "sagemaker_mpi_num_of_processes_per_host":"#;
    for row in LAUNCHERS.trim_start().lines() {
        let kept = "sagemaker_mpi_enabled sagemaker_mpi_num_of_processes_per_host";
        let row = row.replace("MPI", mpi).replace("KEPT", kept);
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [job, hyperparameters, launcher, left] = cells.try_into().unwrap();
        let given = match job {
            "groups" => format!("{start}{program} {hyperparameters},"),
            _ => format!("{start}{hyperparameters},"),
        };
        let job = match job {
            "groups" => GROUPS.to_owned(),
            "with GPUs" => RICH.replace("ml.m5.xlarge", "ml.p4d.24xlarge"),
            _ => RICH.to_owned(),
        };
        let spec = read(&text_of(&job.replace(start, &given)));
        let training = &spec.jobs[0].training;
        let names = training.hyperparameters.iter();
        let names = names.map(|(name, _)| name.as_str());
        let own: Vec<&str> = names.filter(|it| it.starts_with("sagemaker_")).collect();
        let said = training.distribution.as_ref().map(ToString::to_string);
        assert_eq!(
            (&*said.unwrap_or_default(), &*own.join(" ")),
            (launcher, left)
        );
    }
    assert_eq!(
        read(&text_of(GROUPS)).jobs[0].instance.to_string(),
        "data_group: 1x ml.c5.9xlarge + dnn_group: 1x ml.p3.2xlarge"
    );
}

#[test]
fn a_job_that_says_nothing_is_a_spec_to_fill_in() {
    // The role cannot be read as it stands, and nothing is measured before it is known how the script gets its share.
    let text = text_of("{}").replace("role: FILL-IN", "role: arn:aws:iam::123456789012:role/R");
    assert!(text.contains("FILL-IN"));
    read(&text.replace("# share:", "share:"));
}

proptest! {
    #[test]
    fn any_job_can_be_written(
        name in ".*", program in ".*", uri in ".*", group in ".*", count in any::<i32>(), seconds in any::<i32>(),
    ) {
        let job = serde_json::json!({
            "TrainingJobName": name, "HyperParameters": {"sagemaker_program": program}, "RoleArn": uri,
            "TrainingTimeInSeconds": seconds, "TrainingJobStatus": "Completed",
            "InputDataConfig": [{"ChannelName": group, "DataSource": {"S3DataSource": {"S3Uri": uri}}}],
        });
        let text = spec_text(&job, format!("{count}x ml.m5.large").parse().ok().as_ref());
        // Odd values are complained about one by one; the text itself can always be read.
        if let Err(problems) = spec::read("s", text.as_bytes(), &[]) {
            let shown = problems.render(false, 200);
            prop_assert!(shown.contains("jobs"), "{}\n{}", shown, text);
        }
    }
}
