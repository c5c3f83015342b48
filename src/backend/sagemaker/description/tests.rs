//! Descriptions as SageMaker gives them, read through the real client.

use aws_sdk_sagemaker::types::{SecondaryStatus, TrainingInstanceType, TrainingJobStatus};

use super::super::exchange::exchange;
use super::*;

/// The fixtures, by their file names.
macro_rules! described {
    ($file:literal) => {
        describe(include_str!(concat!(
            "../../../../tests/data/sagemaker/describe-",
            $file,
            ".json"
        )))
    };
}

fn describe(answer: &'static str) -> JobDescription {
    let (_, answer) = exchange(answer, |client| {
        client.describe_training_job().training_job_name("x").send()
    });
    JobDescription::of(&answer.unwrap())
}

/// `start-up, download, training, upload | training time, billed time`, in seconds.
fn times(job: &JobDescription) -> String {
    let text = |time: Option<Seconds>| time.map_or("-".to_owned(), |time| time.0.to_string());
    let Phases {
        startup,
        download,
        training,
        upload,
    } = job.phases;
    format!(
        "{}, {}, {}, {} | {}, {}",
        text(startup),
        text(download),
        text(training),
        text(upload),
        text(job.training_seconds),
        text(job.billable_seconds)
    )
}

#[track_caller]
fn instance_of(job: &JobDescription) -> String {
    job.instance.as_ref().unwrap().to_string()
}

#[test]
fn a_completed_job_says_where_its_time_went() {
    let cold = described!("completed-cold");
    assert_eq!(cold.state, JobState::Completed);
    assert_eq!(times(&cold), "96, 31, 118, 9 | 158, 158");
    assert_eq!(cold.start, Some(Start::Cold));
    assert_eq!(instance_of(&cold), "ml.m5.xlarge");
    assert_eq!(cold.max_runtime, Some(Seconds(900.0)));
    assert_eq!(cold.created_at.unwrap().as_second(), 1_790_000_000);
    assert_eq!(cold.started_at.unwrap().as_second(), 1_790_000_096);
    assert_eq!(cold.ended_at.unwrap().as_second(), 1_790_000_254);

    let warm = described!("completed-warm");
    assert_eq!(warm.state, JobState::Completed);
    assert_eq!(times(&warm), "8, 11, 112, 8 | 131, 131");
    // Only the description of the job before it could say that it was warm.
    assert_eq!(warm.start, None);
}

#[test]
fn several_machines_are_named_as_people_say_them() {
    let several = described!("completed-multi");
    assert_eq!(instance_of(&several), "6x ml.m5.4xlarge");
    assert_eq!(times(&several), "140, 60, 3400, 20 | 3480, 3480");
    let groups = described!("completed-hetero");
    assert_eq!(
        instance_of(&groups),
        "data_group: 1x ml.c5.9xlarge + dnn_group: 1x ml.p3.2xlarge"
    );
    assert_eq!(times(&groups), "180, 20, 950, 10 | 980, 980");
}

#[test]
fn an_interrupted_job_is_summed_over_its_spans() {
    let spot = described!("completed-spot-interrupted");
    assert_eq!(times(&spot), "160, 40, 140, 9 | 281, 90");
    assert_eq!(spot.start, None, "two starts in one sum");
}

#[test]
fn a_failed_job_gives_its_reason() {
    for (job, prefix, expected) in [
        (
            described!("failed-algorithm"),
            "AlgorithmError: ExecuteUserScriptError:",
            "90, 25, 12, 5 | 42, 42",
        ),
        (
            described!("failed-oom"),
            "ClientError: Please use an instance type with more memory",
            "90, 25, 40, 5 | 70, 70",
        ),
        (
            described!("failed-capacity"),
            "CapacityError: Unable",
            "900, -, -, - | -, -",
        ),
        (
            described!("failed-internal"),
            "InternalServerError: We",
            "120, -, -, - | -, -",
        ),
    ] {
        let JobState::Failed { reason } = &job.state else {
            panic!("{:?}", job.state);
        };
        assert!(reason.as_ref().unwrap().starts_with(prefix), "{reason:?}");
        assert_eq!(times(&job), expected, "{prefix}");
    }
    assert_eq!(described!("failed-capacity").start, None, "no machine came");
}

#[test]
fn a_stopped_job_says_whether_its_time_was_up() {
    let late = described!("stopped-max-runtime");
    assert_eq!(
        late.state,
        JobState::Stopped {
            max_runtime_exceeded: true
        }
    );
    assert_eq!(times(&late), "90, 25, 900, 5 | 960, 960");
    let never_started = described!("stopped-max-wait");
    assert_eq!(
        never_started.state,
        JobState::Stopped {
            max_runtime_exceeded: false
        }
    );
    assert_eq!(times(&never_started), "1800, -, -, - | -, -");
}

#[test]
fn a_job_that_runs_has_no_figures_yet() {
    let job = described!("in-progress-starting");
    assert_eq!(
        job.state,
        JobState::Running {
            phase: "waiting for machines".to_owned()
        }
    );
    assert!(!job.state.is_final());
    assert_eq!(times(&job), "-, -, -, - | -, -");
    assert_eq!((job.start, job.ended_at), (None, None));
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
    JobDescription::of(&output).state
}

#[test]
fn statuses_are_open_sets() {
    let running = |phase: &str| JobState::Running {
        phase: phase.to_owned(),
    };
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
        JobState::Stopped {
            max_runtime_exceeded: true
        }
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
    let stopped = JobDescription::of(&output);
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
    assert_eq!(times(&JobDescription::of(&output)), "-, -, -, - | -, -");
}

#[test]
fn a_quick_start_without_a_pool_stays_open() {
    let output = DescribeTrainingJobOutput::builder()
        .training_job_status(TrainingJobStatus::Completed)
        .secondary_status_transitions(transition("Starting", 100, Some(110)))
        .secondary_status_transitions(transition("Training", 110, Some(120)))
        .build();
    assert_eq!(JobDescription::of(&output).start, None);
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
