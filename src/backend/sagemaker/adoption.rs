//! Whether a training job that is there already stands for a canary.

use jiff::Timestamp;

use super::RunTags;
use super::description::{JobDescription, JobState};
use super::failure::FailureClass;
use crate::backend::{Reuse, RunPart};
use crate::canary::CanaryRun;
use crate::measurement::Outcome;
use crate::spec::Job;
use crate::units::Seconds;

/// A detached job that is over waits for so long to be collected.
pub(super) const LONGEST_TO_COLLECT: Seconds = Seconds(7.0 * 86_400.0);

/// Whether a job under the name of a canary's attempt stands for the canary, over or still running. That depends on how far it is, how
/// it ended and how old it is; the result of another job does not count.
///
/// `is_own` says that the job carries this run's tag; `tags` are those of the run that looks for it. A failure of the training code is
/// a result of the canary as a success is: the same code on the same data would fail again.
pub(super) fn stands(
    job: &Job,
    run: &CanaryRun,
    found: &JobDescription,
    is_own: bool,
    tags: &RunTags,
    now: Timestamp,
) -> bool {
    let (policy, waits) = (tags.reuse, tags.part == RunPart::Whole);
    if policy == Reuse::Never && !is_own {
        return false;
    }
    let is_as_long = || {
        found
            .max_runtime
            .zip(run.max_runtime)
            .is_some_and(|(had, wanted)| had.0 + 1.0 >= wanted.0)
    };
    let has_result = match &found.state {
        // A run that waits for it gets another attempt if its limit ends it.
        JobState::Running { .. } if is_own || waits || is_as_long() => return true,
        JobState::Completed => true,
        JobState::Failed { reason } => matches!(
            FailureClass::of(reason.as_deref().unwrap_or_default()),
            FailureClass::Outcome(Outcome::OutOfMemory { .. } | Outcome::Failed { .. })
        ),
        // A lower bound of the time, unless this run may take longer.
        JobState::Stopped {
            max_runtime_exceeded: true,
        } => is_as_long(),
        _ => false,
    };
    let is_young = || {
        found
            .ended_at
            .or(found.created_at)
            .is_some_and(|end| age(end, now).0 <= job.canary.reuse.0)
    };
    has_result && (policy == Reuse::Never || is_young())
}

/// The same of a job that was detached, for the run that collects it: whatever became of it is the canary's result, as if that run
/// had waited for it.
pub(super) fn stands_detached(found: &JobDescription, now: Timestamp) -> bool {
    let is_young = |end| age(end, now).0 <= LONGEST_TO_COLLECT.0;
    match &found.state {
        JobState::Running { .. } | JobState::Stopping => true,
        JobState::Deleting => false,
        _ => found.ended_at.or(found.created_at).is_some_and(is_young),
    }
}

/// Never negative: clocks differ.
pub(super) fn age(end: Timestamp, now: Timestamp) -> Seconds {
    Seconds(now.duration_since(end).as_secs_f64().max(0.0))
}
