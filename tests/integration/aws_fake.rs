//! The fake AWS speaks to the SDK, operation by operation.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_sdk_sagemaker::error::ProvideErrorMetadata;
use aws_sdk_sagemaker::types::builders::ResourceConfigBuilder;
use aws_sdk_sagemaker::types::{
    AlgorithmSpecification, Channel, DataSource, InstanceGroup, OutputDataConfig, ResourceConfig,
    S3DataSource, StoppingCondition, Tag, TrainingInputMode, TrainingInstanceType,
    TrainingJobStatus,
};
use aws_smithy_types::DateTime;
use aws_smithy_types::retry::RetryConfig;

use crate::aws::{FakeAws, Fault, Logs, Metrics, Operation, Polls, Timeline};

const GROUP: &str = "/aws/sagemaker/TrainingJobs";

/// Clients as the program makes them, for the fake.
async fn sdk(aws: &FakeAws, attempts: u32) -> SdkConfig {
    let environment = aws.environment();
    let value = |name: &str| {
        let found = environment.iter().find(|(own, _)| *own == name);
        found.unwrap().1.clone()
    };
    let keys = Credentials::new(
        value("AWS_ACCESS_KEY_ID"),
        value("AWS_SECRET_ACCESS_KEY"),
        None,
        None,
        "test",
    );
    let retries = RetryConfig::standard()
        .with_max_attempts(attempts)
        .with_initial_backoff(std::time::Duration::from_millis(1));
    aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new(value("AWS_REGION")))
        .credentials_provider(keys)
        .endpoint_url(aws.url())
        .retry_config(retries)
        .load()
        .await
}

async fn sagemaker(aws: &FakeAws) -> aws_sdk_sagemaker::Client {
    aws_sdk_sagemaker::Client::new(&sdk(aws, 1).await)
}

async fn s3(aws: &FakeAws) -> aws_sdk_s3::Client {
    s3_of_attempts(aws, 1).await
}

/// A client that tries so often before it gives up.
pub(crate) async fn s3_of_attempts(aws: &FakeAws, attempts: u32) -> aws_sdk_s3::Client {
    let config = sdk(aws, attempts).await;
    let config = aws_sdk_s3::config::Builder::from(&config).force_path_style(true);
    aws_sdk_s3::Client::from_conf(config.build())
}

type Create =
    aws_sdk_sagemaker::operation::create_training_job::builders::CreateTrainingJobFluentBuilder;

/// A request for a job on the manifest or prefix at `uri`.
fn create(client: &aws_sdk_sagemaker::Client, name: &str, uri: &str) -> Create {
    let kind = if uri.ends_with("manifest") {
        "ManifestFile"
    } else {
        "S3Prefix"
    };
    let source = S3DataSource::builder()
        .s3_data_type(kind.into())
        .s3_uri(uri)
        .build();
    let channel = Channel::builder()
        .channel_name("train")
        .data_source(DataSource::builder().s3_data_source(source).build())
        .build();
    let resources = ResourceConfig::builder()
        .instance_type(TrainingInstanceType::from("ml.m5.xlarge"))
        .instance_count(1)
        .volume_size_in_gb(30);
    client
        .create_training_job()
        .training_job_name(name)
        .role_arn("arn:aws:iam::123456789012:role/Training")
        .algorithm_specification(
            AlgorithmSpecification::builder()
                .training_image("123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1")
                .training_input_mode(TrainingInputMode::File)
                .build(),
        )
        .input_data_config(channel)
        .output_data_config(
            OutputDataConfig::builder()
                .s3_output_path("s3://data/out")
                .build(),
        )
        .resource_config(resources.build())
        .stopping_condition(
            StoppingCondition::builder()
                .max_runtime_in_seconds(3600)
                .build(),
        )
}

/// Describes a job until it has ended.
async fn wait(
    client: &aws_sdk_sagemaker::Client,
    name: &str,
) -> aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput {
    loop {
        let answer = client.describe_training_job().training_job_name(name);
        let answer = answer.send().await.unwrap();
        match answer.training_job_status().unwrap() {
            TrainingJobStatus::InProgress | TrainingJobStatus::Stopping => {
                // A script that really runs needs a moment of the machine.
                tokio::task::yield_now().await;
            }
            _ => return answer,
        }
    }
}

fn statuses(
    answer: &aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput,
) -> Vec<&str> {
    let transitions = answer.secondary_status_transitions().iter();
    transitions
        .map(|span| span.status().unwrap().as_str())
        .collect()
}

fn with_data() -> FakeAws {
    let aws = FakeAws::start();
    aws.put_object("data", "train/part-0.csv", "a".repeat(1000));
    aws.put_object("data", "train/part-1.csv", "b".repeat(2000));
    aws.put_object(
        "data",
        "small.manifest",
        r#"[{"prefix": "s3://data/train/"}, "part-1.csv"]"#,
    );
    aws
}

#[tokio::test]
async fn a_job_goes_through_its_statuses_poll_by_poll() {
    let aws = with_data();
    aws.scripted_clock(1_790_000_000.0);
    aws.train(|job| Timeline::completed().training(job.megabytes() * 100_000.0));
    let client = sagemaker(&aws).await;
    let request = create(&client, "first", "s3://data/small.manifest");
    let request = request
        .hyper_parameters("epochs", "3")
        .tags(Tag::builder().key("canary-gate:run").value("7").build());
    let arn = request.send().await.unwrap().training_job_arn.unwrap();

    let start = client.describe_training_job().training_job_name("first");
    let start = start.send().await.unwrap();
    assert_eq!(start.secondary_status().unwrap().as_str(), "Starting");
    assert_eq!(start.training_start_time(), None);
    assert_eq!(aws.in_progress(), ["first"]);

    let end = wait(&client, "first").await;
    assert_eq!(
        statuses(&end),
        [
            "Starting",
            "Downloading",
            "Training",
            "Uploading",
            "Completed"
        ]
    );
    assert_eq!(end.training_time_in_seconds(), Some(25 + 200 + 5));
    assert_eq!(end.billable_time_in_seconds(), Some(25 + 200 + 5));
    assert_eq!(end.creation_time().unwrap().secs(), 1_790_000_001);
    assert_eq!(aws.calls(Operation::DescribeTrainingJob), 5);

    let listed = client.list_tags().resource_arn(arn).send().await.unwrap();
    assert_eq!(listed.tags()[0].value(), Some("7"));
    let job = &aws.jobs()[0];
    assert_eq!((job.name(), job.number(), job.bytes()), ("first", 1, 2000));
    assert_eq!(job.channel_keys("train"), ["train/part-1.csv"]);
    assert_eq!(job.hyperparameter("epochs"), Some("3"));
    assert_eq!(job.tag("canary-gate:run"), Some("7"));
    assert_eq!(job.instance_type(), "ml.m5.xlarge");
    assert_eq!(
        job.input()["StoppingCondition"]["MaxRuntimeInSeconds"],
        3600
    );
}

/// A job's name, what becomes of it, its secondary status at the end, and how the failure's reason starts.
type End = (&'static str, fn() -> Timeline, &'static str, &'static str);

#[tokio::test]
async fn jobs_end_as_scripted() {
    let aws = with_data();
    let ends: [End; 8] = [
        (
            "memory",
            Timeline::out_of_memory,
            "Failed",
            "ClientError: Please use an instance",
        ),
        (
            "capacity",
            Timeline::no_capacity,
            "Failed",
            "CapacityError: ",
        ),
        (
            "internal",
            Timeline::internal_error,
            "Failed",
            "InternalServerError: ",
        ),
        (
            "code",
            || Timeline::script_failed(2, "ValueError: x"),
            "Failed",
            "AlgorithmError: ExecuteUserScriptError:\nExitCode 2",
        ),
        (
            "data",
            || Timeline::data_download_failed("AccessDenied"),
            "Failed",
            "ClientError: Data download failed:AccessDenied",
        ),
        (
            "long",
            || Timeline::completed().training(5000.0),
            "MaxRuntimeExceeded",
            "",
        ),
        (
            "spot",
            || Timeline::completed().interrupted_after(10.0).billable(70.0),
            "Completed",
            "",
        ),
        (
            "odd",
            || {
                Timeline::completed()
                    .span("Pending", 5.0)
                    .starting(1.0)
                    .downloading(2.0)
                    .uploading(3.0)
            },
            "Completed",
            "",
        ),
    ];
    let client = sagemaker(&aws).await;
    for (name, timeline, status, reason) in ends {
        aws.train(move |_| timeline());
        create(&client, name, "s3://data/train/")
            .send()
            .await
            .unwrap();
        let end = wait(&client, name).await;
        assert_eq!(end.secondary_status().unwrap().as_str(), status, "{name}");
        assert!(
            end.failure_reason().unwrap_or_default().starts_with(reason),
            "{name}: {end:?}"
        );
    }
    let spot = wait(&client, "spot").await;
    assert_eq!(spot.billable_time_in_seconds(), Some(70));
    assert_eq!(
        statuses(&spot)[3..6],
        ["Interrupted", "Starting", "Downloading"]
    );
    assert_eq!(
        wait(&client, "long").await.training_time_in_seconds(),
        Some(25 + 3600 + 30 + 5)
    );
    assert_eq!(
        wait(&client, "capacity").await.billable_time_in_seconds(),
        None
    );
}

#[tokio::test]
async fn a_job_is_stopped_and_updated() {
    let aws = with_data();
    aws.polls(Polls::Seconds(100.0));
    let client = sagemaker(&aws).await;
    create(&client, "one", "s3://data/train/")
        .send()
        .await
        .unwrap();
    let describe = client.describe_training_job().training_job_name("one");
    describe.send().await.unwrap();
    let stop = client.stop_training_job().training_job_name("one");
    stop.clone().send().await.unwrap();
    assert_eq!(aws.in_progress(), Vec::<String>::new());
    let end = wait(&client, "one").await;
    assert_eq!(end.training_job_status(), Some(&TrainingJobStatus::Stopped));
    assert_eq!(end.billable_time_in_seconds(), Some(10 + 5));
    let refused = stop.send().await.unwrap_err();
    assert_eq!(refused.code(), Some("ValidationException"));

    let update = client.update_training_job().training_job_name("one");
    let resources = aws_sdk_sagemaker::types::ResourceConfigForUpdate::builder()
        .keep_alive_period_in_seconds(0)
        .build();
    // It keeps no machines.
    let refused = update.resource_config(resources).send().await.unwrap_err();
    assert_eq!(refused.code(), Some("ValidationException"));
}

#[tokio::test]
async fn a_name_is_used_once_and_has_a_form() {
    let aws = FakeAws::unjudged();
    aws.put_object("data", "train/part-0.csv", "1");
    let client = sagemaker(&aws).await;
    create(&client, "same", "s3://data/train/")
        .send()
        .await
        .unwrap();
    let again = create(&client, "same", "s3://data/train/")
        .send()
        .await
        .unwrap_err();
    assert_eq!(again.code(), Some("ResourceInUse"));
    let wrong = create(&client, "under_score", "s3://data/train/")
        .send()
        .await
        .unwrap_err();
    assert_eq!(wrong.code(), Some("ValidationException"));
    let timeless = create(&client, "timeless", "s3://data/train/").set_stopping_condition(None);
    assert_eq!(
        timeless.send().await.unwrap_err().code(),
        Some("ValidationException")
    );
}

#[tokio::test]
async fn jobs_are_listed_page_by_page() {
    let aws = with_data();
    aws.page_size(2);
    let client = sagemaker(&aws).await;
    for name in ["cg-a", "cg-b", "cg-c", "other"] {
        create(&client, name, "s3://data/train/")
            .send()
            .await
            .unwrap();
    }
    let list = client
        .list_training_jobs()
        .name_contains("cg-")
        .status_equals(TrainingJobStatus::InProgress)
        .creation_time_after(DateTime::from_secs(0));
    let first = list.clone().send().await.unwrap();
    let second = list
        .set_next_token(first.next_token.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(second.next_token(), None);
    let pages = first
        .training_job_summaries()
        .iter()
        .chain(second.training_job_summaries());
    let names: Vec<_> = pages.map(|job| job.training_job_name().unwrap()).collect();
    assert_eq!(names, ["cg-c", "cg-b", "cg-a"]);
    let wrong = client
        .list_training_jobs()
        .next_token("7")
        .send()
        .await
        .unwrap_err();
    assert_eq!(wrong.code(), Some("ValidationException"));

    aws.polls(Polls::Nothing);
    let describe = client.describe_training_job().training_job_name("cg-a");
    describe.clone().send().await.unwrap();
    let still = describe.send().await.unwrap();
    assert_eq!(still.secondary_status().unwrap().as_str(), "Starting");
    aws.age_jobs(86_400.0);
    aws.finish_jobs();
    assert_eq!(aws.jobs()[0].secondary_status(), "Completed");
}

#[tokio::test]
async fn calls_fail_as_scripted() {
    let aws = with_data();
    let client = sagemaker(&aws).await;
    aws.fail(Operation::CreateTrainingJob)
        .on_call(2)
        .with(Fault::Throttled);
    aws.fail(Operation::CreateTrainingJob)
        .on_call(3)
        .with(Fault::resource_limit("ml.m5.xlarge", 1, 1, 1));
    aws.fail(Operation::CreateTrainingJob)
        .on_calls(4..=5)
        .with(Fault::AccessDenied);
    aws.fail(Operation::CreateTrainingJob)
        .on_call(6)
        .with(Fault::Page(502));
    aws.fail(Operation::CreateTrainingJob)
        .on_call(7)
        .with(Fault::AnswerLost);
    aws.fail(Operation::CreateTrainingJob)
        .on_call(8)
        .with(Fault::ClockSkew);
    aws.fail(Operation::CreateTrainingJob)
        .since_call(9)
        .with(Fault::ExpiredToken);
    let mut codes = Vec::new();
    for number in 1..=9 {
        let request = create(&client, &format!("job-{number}"), "s3://data/train/");
        let error = request.send().await.err();
        codes.push(error.map(|error| error.code().unwrap_or("no code").to_owned()));
    }
    let codes: Vec<_> = codes.iter().map(Option::as_deref).collect();
    assert_eq!(
        codes,
        [
            None,
            Some("ThrottlingException"),
            Some("ResourceLimitExceeded"),
            Some("AccessDeniedException"),
            Some("AccessDeniedException"),
            Some("no code"),
            Some("no code"),
            Some("InvalidSignatureException"),
            Some("ExpiredTokenException"),
        ]
    );
    // The job whose answer was lost is there.
    assert_eq!(aws.in_progress(), ["job-1", "job-7"]);

    let patient = aws_sdk_sagemaker::Client::new(&sdk(&aws, 4).await);
    aws.unreachable_for(3);
    let listed = patient.list_training_jobs().send().await.unwrap();
    assert_eq!(listed.training_job_summaries().len(), 2);
    aws.delete_job("job-1");
    aws.train(|_| Timeline::completed().deleted_after_polls(1));
    let describe = client.describe_training_job();
    let gone = describe
        .clone()
        .training_job_name("job-1")
        .send()
        .await
        .unwrap_err();
    assert_eq!(gone.message(), Some("Requested resource not found."));
    assert!(aws.all_calls() > 10);
}

/// The values of a metric of algo-1, as the program asks for them.
async fn metric(aws: &FakeAws, job: &str, name: &str) -> Vec<f64> {
    use aws_sdk_cloudwatch::types::{Dimension, Metric, MetricDataQuery, MetricStat};
    let client = aws_sdk_cloudwatch::Client::new(&sdk(aws, 1).await);
    let host = Dimension::builder()
        .name("Host")
        .value(format!("{job}/algo-1"));
    let metric = Metric::builder()
        .namespace("/aws/sagemaker/TrainingJobs")
        .metric_name(name)
        .dimensions(host.build());
    let stat = MetricStat::builder()
        .metric(metric.build())
        .period(60)
        .stat("Maximum");
    let query = MetricDataQuery::builder()
        .id("m0")
        .metric_stat(stat.build())
        .build();
    let answer = client
        .get_metric_data()
        .metric_data_queries(query)
        .start_time(DateTime::from_secs(1_790_000_000))
        .end_time(DateTime::from_secs(1_790_010_000))
        .send()
        .await
        .unwrap();
    let result = &answer.metric_data_results()[0];
    assert_eq!(result.timestamps().len(), result.values().len());
    result.values().to_vec()
}

#[tokio::test]
async fn metrics_come_in_cbor() {
    let aws = with_data();
    aws.scripted_clock(1_790_000_000.0);
    aws.train(|_| Timeline::completed().training(120.0));
    let client = sagemaker(&aws).await;
    create(&client, "one", "s3://data/train/")
        .send()
        .await
        .unwrap();
    assert_eq!(
        metric(&aws, "one", "CPUUtilization").await,
        Vec::<f64>::new()
    );
    wait(&client, "one").await;
    assert_eq!(metric(&aws, "one", "CPUUtilization").await, [100.0; 3]);
    assert_eq!(
        metric(&aws, "one", "GPUUtilization").await,
        Vec::<f64>::new()
    );

    aws.metrics(Metrics::constant(&[("GPUUtilization", 40.5)]).after_calls(1));
    assert_eq!(
        metric(&aws, "one", "GPUUtilization").await,
        Vec::<f64>::new()
    );
    assert_eq!(metric(&aws, "one", "GPUUtilization").await, [40.5; 3]);
    aws.metrics(Metrics::of(|point| {
        assert_eq!((point.job.name(), point.host), ("one", "algo-1"));
        assert_eq!(
            (point.metric, point.statistic),
            ("CPUUtilization", "Maximum")
        );
        (point.minute < 2).then_some(7.0)
    }));
    assert_eq!(metric(&aws, "one", "CPUUtilization").await, [7.0; 2]);
    aws.metrics(Metrics::missing());
    assert_eq!(
        metric(&aws, "one", "CPUUtilization").await,
        Vec::<f64>::new()
    );

    aws.fail(Operation::GetMetricData).with(Fault::AccessDenied);
    let client = aws_sdk_cloudwatch::Client::new(&sdk(&aws, 1).await);
    let now = DateTime::from_secs(0);
    let refused = client
        .get_metric_data()
        .set_metric_data_queries(Some(Vec::new()));
    let refused = refused
        .start_time(now)
        .end_time(now)
        .send()
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("AccessDeniedException"));
    assert!(
        refused
            .message()
            .unwrap()
            .contains("cloudwatch:GetMetricData")
    );
}

#[tokio::test]
async fn log_lines_are_read_three_ways() {
    let aws = with_data();
    aws.logs(
        Logs::of(|job, host| {
            vec![
                format!("{} on {host}", job.name()),
                "probe {\"cpu\": 1}".to_owned(),
            ]
        })
        .after_calls(1),
    );
    let client = sagemaker(&aws).await;
    create(&client, "one", "s3://data/train/")
        .send()
        .await
        .unwrap();
    wait(&client, "one").await;

    let logs = aws_sdk_cloudwatchlogs::Client::new(&sdk(&aws, 1).await);
    let describe = logs
        .describe_log_streams()
        .log_group_name(GROUP)
        .log_stream_name_prefix("one/");
    assert_eq!(
        describe.clone().send().await.unwrap().log_streams().len(),
        0
    );
    let streams = describe.send().await.unwrap();
    let stream = streams.log_streams()[0].log_stream_name().unwrap();
    assert!(stream.starts_with("one/algo-1-"), "{stream}");
    let get = logs
        .get_log_events()
        .log_group_name(GROUP)
        .log_stream_name(stream);
    let first = get
        .clone()
        .start_from_head(true)
        .limit(1)
        .send()
        .await
        .unwrap();
    assert_eq!(first.events()[0].message(), Some("one on algo-1"));
    let second = get
        .clone()
        .set_next_token(first.next_forward_token)
        .send()
        .await
        .unwrap();
    assert_eq!(second.events()[0].message(), Some("probe {\"cpu\": 1}"));
    let end = get
        .clone()
        .set_next_token(second.next_forward_token.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(
        (end.events().len(), end.next_forward_token),
        (0, second.next_forward_token)
    );
    let tail = get.limit(1).send().await.unwrap();
    assert_eq!(tail.events()[0].message(), Some("probe {\"cpu\": 1}"));
    let filtered = logs
        .filter_log_events()
        .log_group_name(GROUP)
        .log_stream_name_prefix("one/")
        .filter_pattern("\"probe {\"")
        .send()
        .await
        .unwrap();
    assert_eq!(filtered.events().len(), 1);
    let wrong = logs
        .describe_log_streams()
        .log_group_name("other")
        .send()
        .await
        .unwrap_err();
    assert_eq!(wrong.code(), Some("ResourceNotFoundException"));
}

#[tokio::test]
async fn objects_are_put_listed_read_copied_and_deleted() {
    let aws = FakeAws::start();
    aws.make_bucket("data");
    let client = s3(&aws).await;
    let put = || {
        let put = client.put_object().bucket("data").key("in/a b");
        put.if_none_match("*").body(b"one two".to_vec().into())
    };
    let etag = put().send().await.unwrap().e_tag.unwrap();
    let taken = put().send().await.unwrap_err();
    assert_eq!(taken.code(), Some("PreconditionFailed"));
    aws.put_object("data", "in/", "");
    aws.put_object("data", "in/z/deep", "1");
    aws.put_object("data", "input", "2");

    aws.page_size(2);
    let list = client
        .list_objects_v2()
        .bucket("data")
        .prefix("in")
        .into_paginator();
    let pages = list.send().collect::<Result<Vec<_>, _>>().await.unwrap();
    assert_eq!(pages.len(), 2);
    let objects: Vec<_> = pages.iter().flat_map(|page| page.contents()).collect();
    let keys: Vec<_> = objects.iter().map(|object| object.key().unwrap()).collect();
    assert_eq!(keys, ["in/", "in/a b", "in/z/deep", "input"]);
    assert_eq!(
        (objects[1].size(), objects[1].e_tag()),
        (Some(7), Some(etag.as_str()))
    );
    let folders = client
        .list_objects_v2()
        .bucket("data")
        .prefix("in/")
        .delimiter("/");
    let folders = folders.start_after("in/a b").send().await.unwrap();
    assert_eq!(folders.common_prefixes()[0].prefix(), Some("in/z/"));

    let copy = client.copy_object().bucket("data").key("out/copy");
    copy.copy_source("data/in/a%20b").send().await.unwrap();
    let read = client
        .get_object()
        .bucket("data")
        .key("out/copy")
        .range("bytes=4-6");
    let read = read.send().await.unwrap().body.collect().await.unwrap();
    assert_eq!(&read.into_bytes()[..], b"two");
    let head = client.head_object().bucket("data").key("out/copy");
    assert_eq!(head.send().await.unwrap().content_length(), Some(7));
    client
        .delete_object()
        .bucket("data")
        .key("out/copy")
        .send()
        .await
        .unwrap();
    assert_eq!(aws.object("data", "out/copy"), None);
    let input = aws_sdk_s3::types::ObjectIdentifier::builder()
        .key("input")
        .build()
        .unwrap();
    let delete = aws_sdk_s3::types::Delete::builder()
        .objects(input)
        .build()
        .unwrap();
    client
        .delete_objects()
        .bucket("data")
        .delete(delete)
        .send()
        .await
        .unwrap();
    assert_eq!(aws.keys("data", ""), ["in/", "in/a b", "in/z/deep"]);
    let missing = client
        .get_object()
        .bucket("data")
        .key("no")
        .send()
        .await
        .unwrap_err();
    assert_eq!(missing.code(), Some("NoSuchKey"));
    let missing = client
        .list_objects_v2()
        .bucket("none")
        .send()
        .await
        .unwrap_err();
    assert_eq!(missing.code(), Some("NoSuchBucket"));
}

#[tokio::test]
async fn a_bucket_elsewhere_says_where() {
    let aws = FakeAws::start();
    aws.make_bucket("here");
    aws.make_bucket_in("there", "eu-west-1");
    let client = s3(&aws).await;
    let refused = client
        .list_objects_v2()
        .bucket("there")
        .send()
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("PermanentRedirect"));
    let response = refused.raw_response().unwrap();
    assert_eq!(response.status().as_u16(), 301);
    assert_eq!(
        response.headers().get("x-amz-bucket-region"),
        Some("eu-west-1")
    );
    aws.fail(Operation::ListObjectsV2).with(Fault::AccessDenied);
    let refused = client
        .list_objects_v2()
        .bucket("here")
        .send()
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("AccessDenied"));
}

/// A request on groups with these channels, each with the groups that it names.
async fn create_on_groups(
    aws: &FakeAws,
    name: &str,
    groups: &[(&str, &str, i32)],
    channels: &[(&str, &[&str])],
    change: impl FnOnce(ResourceConfigBuilder) -> ResourceConfigBuilder,
) -> Result<(), String> {
    let client = sagemaker(aws).await;
    let channels = channels.iter().map(|(name, groups)| {
        let groups = groups.iter().map(|group| (*group).to_owned());
        let source = S3DataSource::builder()
            .s3_data_type("S3Prefix".into())
            .s3_uri("s3://data/train/")
            .set_instance_group_names(Some(groups.collect()))
            .build();
        Channel::builder()
            .channel_name(*name)
            .data_source(DataSource::builder().s3_data_source(source).build())
            .build()
    });
    let groups = groups.iter().map(|(name, kind, count)| {
        InstanceGroup::builder()
            .instance_group_name(*name)
            .instance_type(TrainingInstanceType::from(*kind))
            .instance_count(*count)
            .build()
    });
    let resources = ResourceConfig::builder()
        .set_instance_groups(Some(groups.collect()))
        .volume_size_in_gb(30);
    let request = create(&client, name, "s3://data/train/")
        .set_input_data_config(Some(channels.collect()))
        .resource_config(change(resources).build());
    match request.send().await {
        Ok(_) => Ok(()),
        Err(error) => Err(error.message().unwrap_or_default().to_owned()),
    }
}

const TWO_GROUPS: &[(&str, &str, i32)] = &[("data", "ml.c5.xlarge", 2), ("dnn", "ml.g5.xlarge", 1)];

#[tokio::test]
async fn groups_are_refused_in_the_words_of_aws() {
    let aws = FakeAws::unjudged();
    aws.put_object("data", "train/part-0.csv", "1");
    let all: &[(&str, &[&str])] = &[("train", &["data"]), ("val", &["data", "dnn"])];
    let six = ["a", "b", "c", "d", "e", "f"].map(|name| (name, "ml.c5.xlarge", 1));
    let twice = [TWO_GROUPS[0], ("data", "ml.g5.xlarge", 1)];
    let some: &[(&str, &[&str])] = &[("train", &["data"]), ("val", &[])];
    let other: &[(&str, &[&str])] = &[("train", &["dataa"])];
    let none: &[(&str, &[&str])] = &[("train", &[])];
    type Change = fn(ResourceConfigBuilder) -> ResourceConfigBuilder;
    let same: Change = |resources| resources;
    let cases: [(&[_], &[_], Change, &str); 6] = [
        (
            TWO_GROUPS,
            all,
            |resources| {
                resources
                    .instance_type("ml.c5.xlarge".into())
                    .instance_count(1)
            },
            "InstanceType or InstanceCount cannot be specified with InstanceGroups",
        ),
        (
            TWO_GROUPS,
            some,
            same,
            "Some channels have assigned instance groups: [train] while others not: [val]",
        ),
        (
            TWO_GROUPS,
            all,
            |resources| resources.keep_alive_period_in_seconds(60),
            "KeepAlivePeriodInSeconds cannot be specified with InstanceGroups",
        ),
        (
            &six,
            none,
            same,
            "Member must have length less than or equal to 5",
        ),
        (&twice, none, same, "InstanceGroupName must be unique"),
        (
            TWO_GROUPS,
            other,
            same,
            "Instance group dataa of InputDataConfig",
        ),
    ];
    for (groups, channels, change, expected) in cases {
        let refused = create_on_groups(&aws, "one", groups, channels, change).await;
        let said = refused.unwrap_err();
        assert!(said.contains(expected), "{said}");
    }
    create_on_groups(&aws, "one", TWO_GROUPS, all, same)
        .await
        .unwrap();

    aws.quota("ml.g5.xlarge for training job usage", 1.0);
    let full = create_on_groups(&aws, "two", TWO_GROUPS, all, same).await;
    let full = full.unwrap_err();
    assert!(
        full.contains("'ml.g5.xlarge for training job usage' is 1 Instances, with current utilization of 1 Instances"),
        "{full}"
    );
}
