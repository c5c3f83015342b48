//! What `DescribeTrainingJob` says of a canary and of its warm pool, in our own words. What it does not say stays absent.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;
use aws_sdk_sagemaker::primitives::DateTime;
use aws_sdk_sagemaker::types::{
    self, SecondaryStatusTransition, WarmPoolResourceStatus, WarmPoolStatus,
};
use jiff::Timestamp;

use crate::instance::{InstanceConfiguration, InstanceGroup, InstanceType};
use crate::measurement::{Phases, Start};
use crate::probe::MARK_VARIABLE;
use crate::secret::SecretMask;
use crate::units::Seconds;

/// From the request to the first work on the machine: a machine that was kept is there within seconds, a fresh one is
/// not.
const SLOW_START: Seconds = Seconds(30.0);
/// Statuses that someone invents are shown, but not at any length.
const LONGEST_STATUS: usize = 40;

/// How far a training job is. SageMaker's statuses are open sets: an unknown one counts as running, so that the job is watched
/// on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JobState {
    /// With a few words for progress lines.
    Running(String),
    Completed,
    /// With its `FailureReason`, empty where there is none; hostile text. [`super::failure::FailureClass`] reads it.
    Failed(String),
    /// Asked to stop, and not billed much longer.
    Stopping,
    /// By a person or the gate.
    Stopped,
    /// By SageMaker, at `MaxRuntimeInSeconds`.
    TimedOut,
    Deleting,
}

impl JobState {
    /// Whether nothing more happens to the job, so that its description is final.
    pub(super) fn is_final(&self) -> bool {
        !matches!(self, Self::Running(_) | Self::Stopping | Self::Deleting)
    }
}

/// A training job as SageMaker describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobDescription {
    /// All of it, with what it was asked to be.
    pub(super) answer: DescribeTrainingJobOutput,
    pub(super) state: JobState,
    /// Sums over all spans of a status. `startup` is what is not billed: waiting for machines.
    pub(super) phases: Phases,
    /// Download, training and upload.
    pub(super) training_seconds: Option<Seconds>,
    /// Per instance.
    pub(super) billable_seconds: Option<Seconds>,
    pub(super) created_at: Option<Timestamp>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
    /// Absent where it is unknown; see [`start`].
    pub(super) start: Option<Start>,
    /// What became of its machines; absent where they are not kept.
    pub(super) pool: Option<WarmPoolStatus>,
    /// What it really ran on.
    pub(super) instance: Option<InstanceConfiguration>,
    /// What it asked for.
    pub(super) max_runtime: Option<Seconds>,
}

impl JobDescription {
    /// Whether it ended, or was created, no longer ago than that; never of a job that says neither.
    pub(super) fn is_over_for_at_most(&self, time: Seconds) -> bool {
        let end = self.ended_at.or(self.created_at);
        end.is_some_and(|end| age(end) <= time)
    }

    /// The mark of its probe; `None` where it was asked for none.
    pub(super) fn mark(&self) -> Option<&str> {
        Some(self.answer.environment()?.get(MARK_VARIABLE)?)
    }

    pub(super) fn of(job: DescribeTrainingJobOutput) -> Self {
        let spans = spans(&job);
        let limit = job.stopping_condition();
        let phases = Phases {
            startup: sum(&spans, &["Starting", "Pending"]),
            download: sum(&spans, &["Downloading"]),
            training: sum(&spans, &["Training"]),
            upload: sum(&spans, &["Uploading"]),
        };
        Self {
            state: state(&job),
            phases,
            training_seconds: job.training_time_in_seconds().and_then(seconds),
            billable_seconds: job.billable_time_in_seconds().and_then(seconds),
            created_at: job.creation_time().and_then(timestamp),
            started_at: job.training_start_time().and_then(timestamp),
            ended_at: job.training_end_time().and_then(timestamp),
            start: start(phases.startup, &spans),
            pool: job.warm_pool_status().cloned(),
            instance: job.resource_config().and_then(instance),
            max_runtime: limit
                .and_then(types::StoppingCondition::max_runtime_in_seconds)
                .and_then(seconds),
            answer: job,
        }
    }
}

/// The status, of which SageMaker has two: the job's own, and a finer one that says how it came about.
fn state(job: &DescribeTrainingJobOutput) -> JobState {
    const RUNTIME_EXCEEDED: &str = "MaxRuntimeExceeded";
    let status = job
        .training_job_status()
        .map_or("", |status| status.as_str());
    let secondary = job.secondary_status().map_or("", |status| status.as_str());
    let all = job.secondary_status_transitions().iter();
    let mut all = all
        .filter_map(|one| one.status())
        .chain(job.secondary_status());
    let max_runtime_exceeded = all.any(|status| status.as_str() == RUNTIME_EXCEEDED);
    match status {
        // An algorithm that saves its model when it is asked to stop ends well, but its time is the limit's.
        "Completed" | "Stopped" if max_runtime_exceeded => JobState::TimedOut,
        "Completed" => JobState::Completed,
        "Failed" => {
            let reason = job.failure_reason().unwrap_or_default();
            JobState::Failed(SecretMask::default().mask(reason))
        }
        "Stopped" => JobState::Stopped,
        "Stopping" => JobState::Stopping,
        "Deleting" => JobState::Deleting,
        _ => JobState::Running(phase(secondary)),
    }
}

/// A finer status in a few words.
fn phase(status: &str) -> String {
    let known = match status {
        "Starting" | "Pending" => "waiting for machines",
        "Downloading" => "downloading data",
        "Training" => "training",
        "Uploading" => "uploading",
        "Interrupted" | "Restarting" => "starting again",
        "Stopping" => "stopping",
        "" => "running",
        other => {
            let letters = other.chars().filter(char::is_ascii_alphanumeric);
            return letters.take(LONGEST_STATUS).collect();
        }
    };
    known.to_owned()
}

/// Whether the machine was fresh, as far as the job's own description says it: a slow start is a cold one. A quick start may
/// be one on machines that were kept; only the description of the job before says so.
fn start(provisioning: Option<Seconds>, spans: &Spans<'_>) -> Option<Start> {
    let count = |names: &[&str]| {
        let own = spans.iter().filter(|(name, _)| names.contains(name));
        own.count()
    };
    // It must have got machines, and this once: after an interruption the sum says nothing.
    let has_worked = count(&["Downloading", "Training", "Uploading"]) > 0;
    if !has_worked || count(&["Starting"]) > 1 {
        return None;
    }
    (provisioning? >= SLOW_START).then_some(Start::Cold)
}

/// Statuses with the lengths of their spans, in the order of the list; an open span has none.
type Spans<'a> = Vec<(&'a str, Option<Seconds>)>;

fn spans(job: &DescribeTrainingJobOutput) -> Spans<'_> {
    let transitions = job.secondary_status_transitions();
    let start_of = |one: &SecondaryStatusTransition| one.start_time().and_then(timestamp);
    let next_starts = transitions.iter().skip(1).map(start_of).chain([None]);
    // An open span ends with the job; while the job runs on, its end is not known yet.
    let end_of_job = (job.training_end_time().or(job.last_modified_time()))
        .filter(|_| state(job).is_final())
        .and_then(timestamp);
    let spans = transitions.iter().zip(next_starts);
    let spans = spans.filter_map(|(transition, next)| {
        let start = start_of(transition)?;
        let end = transition.end_time().and_then(timestamp);
        let end = end.or(next).or(end_of_job);
        let status = transition.status().map_or("", |status| status.as_str());
        // There is none where the clock went backwards.
        let length = end.map(|end| end.duration_since(start).as_secs_f64());
        Some((status, length.filter(|length| *length >= 0.0).map(Seconds)))
    });
    spans.collect()
}

/// The time in some statuses; `None` where there is no span of theirs that has ended.
fn sum(spans: &Spans<'_>, names: &[&str]) -> Option<Seconds> {
    let own = spans.iter().filter(|(name, _)| names.contains(name));
    let lengths = own.filter_map(|(_, length)| *length);
    lengths.reduce(|sum, length| sum + length)
}

/// The time since then. Never negative: clocks differ.
pub(super) fn age(then: Timestamp) -> Seconds {
    Seconds((Timestamp::now().duration_since(then).as_secs_f64()).max(0.0))
}

fn timestamp(time: &DateTime) -> Option<Timestamp> {
    let nanos = i32::try_from(time.subsec_nanos()).ok()?;
    Timestamp::new(time.secs(), nanos).ok()
}

fn seconds(count: i32) -> Option<Seconds> {
    (count >= 0).then(|| Seconds(f64::from(count)))
}

/// What the job ran on; `None` where it names no machine that a spec can. Of several types that it left to SageMaker, the one that
/// was taken, else the one that it would rather have.
pub(super) fn instance(resources: &types::ResourceConfig) -> Option<InstanceConfiguration> {
    let machines = |kind: Option<&types::TrainingInstanceType>, count: Option<i32>| {
        let kind: InstanceType = kind?.as_str().parse().ok()?;
        let count = u32::try_from(count?).ok().filter(|count| *count > 0)?;
        (!kind.is_local()).then_some((kind, count))
    };
    if !resources.instance_groups().is_empty() {
        let groups = resources.instance_groups().iter().map(|group| {
            let (instance_type, count) = machines(group.instance_type(), group.instance_count())?;
            Some(InstanceGroup {
                name: group.instance_group_name()?.to_owned(),
                instance_type,
                count,
            })
        });
        return Some(InstanceConfiguration::Heterogeneous {
            groups: groups.collect::<Option<_>>()?,
            entry_point: None,
        });
    }
    let preferred = resources.instance_preferences().first();
    let kind = (resources.selected_instance_type())
        .or(resources.instance_type())
        .or(preferred.and_then(|preferred| preferred.instance_type()));
    let count = (resources.selected_instance_count())
        .or(resources.instance_count())
        .or(preferred.and_then(|preferred| preferred.instance_count()));
    let (instance_type, count) = machines(kind, count)?;
    Some(InstanceConfiguration::Homogeneous(instance_type, count))
}

/// For how long the machines of a pool were kept, each of them, and billed.
pub(super) fn kept_for(pool: &WarmPoolStatus) -> Seconds {
    let retained = pool.resource_retained_billable_time_in_seconds();
    retained.and_then(seconds).unwrap_or_default()
}

/// Whether the machines of a pool are kept, billed, and free for the next job.
pub(super) fn is_free(pool: &WarmPoolStatus) -> bool {
    pool.status() == Some(&WarmPoolResourceStatus::Available)
}

/// Whether a pool shows what became of the machines: its last job has them no more, and they are not being made ready.
pub(super) fn is_settled(pool: &WarmPoolStatus) -> bool {
    is_free(pool) || !is_open(pool)
}

/// Whether the machines of a pool may still be kept, and billed; also where its status is not known here.
pub(super) fn is_open(pool: &WarmPoolStatus) -> bool {
    use WarmPoolResourceStatus::{Reused, Terminated};
    !matches!(pool.status(), Some(Reused | Terminated))
}

#[cfg(test)]
mod tests;
