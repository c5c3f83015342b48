//! Descriptions as SageMaker gives them, read through the real client.

use aws_sdk_sagemaker::types::{SecondaryStatus, TrainingInstanceType, TrainingJobStatus};

use super::super::exchange::exchange;
use super::*;

/// The job of this name in `tests/data/sagemaker`.
fn described(name: &str) -> JobDescription {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sagemaker");
    let answer = std::fs::read_to_string(format!("{folder}/describe-{name}.json")).unwrap();
    let (_, answer) = exchange(&answer, |client| {
        client.describe_training_job().training_job_name("x").send()
    });
    JobDescription::of(answer.unwrap())
}

/// `start-up, download, training, upload | training time, billed time`, in seconds.
fn times(job: &JobDescription) -> String {
    let text = |time: Option<Seconds>| time.map_or("-".to_owned(), |time| time.0.to_string());
    let phases = job.phases;
    let all = [
        phases.startup,
        phases.download,
        phases.training,
        phases.upload,
    ];
    format!(
        "{} | {}, {}",
        all.map(text).join(", "),
        text(job.training_seconds),
        text(job.billable_seconds)
    )
}

/// The state with the beginning of its reason, and the machines.
fn said(job: &JobDescription) -> String {
    let state = match &job.state {
        JobState::Failed(reason) => {
            format!("failed: {}", reason.split(':').next().unwrap_or_default())
        }
        JobState::Stopped => "stopped, at its limit: false".to_owned(),
        JobState::TimedOut => "stopped, at its limit: true".to_owned(),
        JobState::Running(phase) => phase.clone(),
        state => format!("{state:?}"),
    };
    let machines = job.instance.as_ref().unwrap();
    let start = if job.start.is_some() { ", cold" } else { "" };
    format!("{state}{start}; {machines}; {}", times(job))
}

/// A job of `tests/data/sagemaker` a line, and what is said of it.
const JOBS: &str = "
completed-cold: Completed, cold; ml.m5.xlarge; 96, 31, 118, 9 | 158, 158
only the description of the job before it could say that it was warm
completed-warm: Completed; ml.m5.xlarge; 8, 11, 112, 8 | 131, 131
completed-multi: Completed, cold; 6x ml.m5.4xlarge; 140, 60, 3400, 20 | 3480, 3480
completed-hetero: Completed, cold; data_group: 1x ml.c5.9xlarge + dnn_group: 1x ml.p3.2xlarge; 180, 20, 950, 10 | 980, 980
two starts in one sum
completed-spot-interrupted: Completed; ml.m5.xlarge; 160, 40, 140, 9 | 281, 90
failed-algorithm: failed: AlgorithmError, cold; ml.m5.xlarge; 90, 25, 12, 5 | 42, 42
failed-oom: failed: ClientError, cold; ml.m5.xlarge; 90, 25, 40, 5 | 70, 70
no machine came
failed-capacity: failed: CapacityError; ml.m5.xlarge; 900, -, -, - | -, -
failed-internal: failed: InternalServerError; ml.m5.xlarge; 120, -, -, - | -, -
stopped-max-runtime: stopped, at its limit: true, cold; ml.m5.xlarge; 90, 25, 900, 5 | 960, 960
stopped-max-wait: stopped, at its limit: false; ml.m5.xlarge; 1800, -, -, - | -, -
in-progress-starting: waiting for machines; ml.m5.xlarge; -, -, -, - | -, -";

#[test]
fn each_job_says_how_far_it_is_where_its_time_went_and_on_what_it_ran() {
    for (name, expected) in JOBS.lines().filter_map(|line| line.split_once(": ")) {
        assert_eq!(said(&described(name)), expected, "{name}");
    }
    let cold = described("completed-cold");
    assert_eq!(cold.max_runtime, Some(Seconds(900.0)));
    let times = [cold.created_at, cold.started_at, cold.ended_at];
    let seconds = times.map(|time| time.unwrap().as_second());
    assert_eq!(seconds, [1_790_000_000, 1_790_000_096, 1_790_000_254]);
}

fn transition(status: &str, start: i64, end: Option<i64>) -> SecondaryStatusTransition {
    SecondaryStatusTransition::builder()
        .status(SecondaryStatus::from(status))
        .start_time(DateTime::from_secs(start))
        .set_end_time(end.map(DateTime::from_secs))
        .build()
}

fn state_of(status: &str, secondary: &str) -> JobState {
    let output = DescribeTrainingJobOutput::builder()
        .training_job_status(TrainingJobStatus::from(status))
        .secondary_status(SecondaryStatus::from(secondary))
        .build();
    JobDescription::of(output).state
}

#[test]
fn statuses_are_open_sets() {
    let running = |phase: &str| JobState::Running(phase.to_owned());
    assert_eq!(state_of("Dreaming", "Training"), running("training"));
    assert_eq!(
        state_of("InProgress", "Defragmenting"),
        running("Defragmenting")
    );
    assert_eq!(
        state_of("InProgress", &"\u{1b}[31mx".repeat(30)),
        running(&"31mx".repeat(10))
    );
    assert_eq!(state_of("Stopping", "Stopping"), JobState::Stopping);
    assert_eq!(state_of("Deleting", ""), JobState::Deleting);
}

#[test]
fn a_job_that_saved_its_model_at_the_limit_did_not_complete() {
    assert_eq!(
        state_of("Completed", "MaxRuntimeExceeded"),
        JobState::TimedOut
    );
}

#[test]
fn an_open_span_ends_with_the_next_one_or_with_the_job() {
    let output = DescribeTrainingJobOutput::builder()
        .training_job_status(TrainingJobStatus::Stopped)
        .secondary_status_transitions(transition("Starting", 100, None))
        .secondary_status_transitions(transition("Training", 160, None))
        .last_modified_time(DateTime::from_secs(200))
        .build();
    let stopped = JobDescription::of(output);
    assert_eq!(times(&stopped), "60, -, 40, - | -, -");
}

#[test]
fn a_clock_that_goes_backwards_gives_nothing_rather_than_less() {
    let output = DescribeTrainingJobOutput::builder()
        .training_job_status(TrainingJobStatus::Completed)
        .creation_time(DateTime::from_secs(500))
        .secondary_status_transitions(transition("Downloading", 300, Some(200)))
        .secondary_status_transitions(transition("Training", 400, Some(i64::MAX)))
        .training_time_in_seconds(-1)
        .build();
    assert_eq!(times(&JobDescription::of(output)), "-, -, -, - | -, -");
}

#[test]
fn a_quick_start_without_a_pool_stays_open() {
    let output = DescribeTrainingJobOutput::builder()
        .training_job_status(TrainingJobStatus::Completed)
        .secondary_status_transitions(transition("Starting", 100, Some(110)))
        .secondary_status_transitions(transition("Training", 110, Some(120)))
        .build();
    assert_eq!(JobDescription::of(output).start, None);
}

#[test]
fn the_instance_is_the_one_that_was_taken() {
    let resources = types::ResourceConfig::builder()
        .instance_count(1)
        .selected_instance_type(TrainingInstanceType::from("ml.c5.xlarge"))
        .selected_instance_count(2);
    let taken = instance(&resources.build()).unwrap();
    assert_eq!(taken.to_string(), "2x ml.c5.xlarge");
    let odd = types::ResourceConfig::builder()
        .instance_type(TrainingInstanceType::from("$(reboot)"))
        .instance_count(1);
    assert_eq!(instance(&odd.build()), None);
    assert_eq!(instance(&types::ResourceConfig::builder().build()), None);
}
