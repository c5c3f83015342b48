//! Watching a training job to its end, through what may happen on the way.

use std::time::{Duration, Instant};

use super::description::age;
use super::{CanaryUnderWay, Found, JobDescription, JobState, Pace, SagemakerBackend};
use crate::aws::Aws;
use crate::aws::call::{Call, CallError, CallResult, FailureKind};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::units::Seconds;

/// Looks in a row that may fail before the gate gives up; each is tried several times. Some minutes in all.
const FAILED_LOOKS: u32 = 10;
/// The same, where each takes its time to fail.
const PATIENCE_TO_LOOK: Duration = Duration::from_mins(10);
/// Looks in a row with expired credentials: somebody may be signing in again.
const EXPIRED_LOOKS: u32 = 4;
/// Looks in a row at a job that is not there.
const MISSING_LOOKS: u32 = 4;
/// For download, upload and what SageMaker needs beside a job's time limit.
const LATENESS: Seconds = Seconds(6.0 * 3600.0);
/// Looks at a job that is over, until its times are there.
const LOOKS_FOR_TIMES: u32 = 5;
/// A canary that has no machine by then will hardly get one; waiting is not billed, but it holds up the check.
const LONGEST_WAIT: Seconds = Seconds(3600.0);

pub(super) const DESCRIBE: Call<'_> = Call("sagemaker:DescribeTrainingJob");

impl CanaryUnderWay<'_> {
    /// Waits until the job is over, and reports each change of its status; `None` where a signal ended the gate, and the job with it if it
    /// is ours.
    ///
    /// # Errors
    ///
    /// Where it is out of sight, or beyond hope. It is stopped then, unless it is gone, or the credentials have expired: the next start
    /// goes on with it.
    pub(super) async fn watch(&self, found: &Found) -> OutsideResult<Option<JobDescription>> {
        let (name, watcher) = (found.name.to_string(), self.watcher);
        let mut troubles = Troubles::default();
        let mut reported = String::new();
        let mut looks_for_times = 0;
        let mut is_first = !found.is_new;
        loop {
            // What is there already may be over.
            if !std::mem::take(&mut is_first) {
                let waiting = self.backend.pace.before_look();
                watcher.cancellation.run_until_cancelled(waiting).await;
            }
            let looking = self.backend.describe(&name);
            let Some(described) = watcher.cancellation.run_until_cancelled(looking).await else {
                if !found.may_stop {
                    watcher.fact(&format!(
                        "training job {name} goes on: another process may wait for it"
                    ));
                }
                self.backend.stop_if_ours(found).await;
                return Ok(None);
            };
            let description = match described {
                Ok(Some(description)) => description,
                // A job that has just been created may not be seen everywhere.
                Ok(None) if troubles.missing < MISSING_LOOKS => {
                    troubles.missing += 1;
                    continue;
                }
                Ok(None) => {
                    self.backend.forget(&name);
                    let what = format!("the training job {name} was deleted while it ran");
                    return Err(OutsideError::transient(what)
                        .help("start the check again; leave jobs whose name begins with `cg-` to the gate"));
                }
                Err(error) if troubles.goes_on(&error, &self.backend.pace) => {
                    if error.kind == FailureKind::Expired {
                        self.backend.renew().await;
                    }
                    continue;
                }
                Err(error) => {
                    let lost = self.backend.lost(&error, &name);
                    if error.kind != FailureKind::Expired {
                        self.backend.stop_if_ours(found).await;
                    }
                    return Err(lost);
                }
            };
            troubles = Troubles::default();
            // It should have ended by its own time limit, long ago.
            let limits = description.started_at.zip(description.max_runtime);
            if !description.state.is_final()
                && limits.is_some_and(|(start, limit)| age(start) > limit + LATENESS)
            {
                self.backend.stop_if_ours(found).await;
                return Err(OutsideError::transient(format!(
                    "the training job {name} still runs long after its time limit"
                ))
                .help("look at it in SageMaker, then start the check again"));
            }
            match &description.state {
                JobState::Running(phase) => {
                    if *phase != reported {
                        watcher.phase(phase);
                        reported.clone_from(phase);
                    }
                    let created =
                        (description.created_at).filter(|_| description.started_at.is_none());
                    if created.is_some_and(|created| age(created) > LONGEST_WAIT) {
                        self.backend.stop_if_ours(found).await;
                        let why = format!("CapacityError: no machine came within {LONGEST_WAIT}");
                        let state = JobState::Failed(why);
                        return Ok(Some(JobDescription {
                            state,
                            ..description
                        }));
                    }
                }
                // Over in a moment.
                JobState::Stopping | JobState::Deleting => {}
                state => {
                    let has_run = matches!(state, JobState::Completed | JobState::TimedOut);
                    let lacks_times = has_run && description.billable_seconds.is_none();
                    if !lacks_times || looks_for_times >= LOOKS_FOR_TIMES {
                        self.backend.forget(&name);
                        return Ok(Some(description));
                    }
                    looks_for_times += 1;
                }
            }
        }
    }
}

impl SagemakerBackend {
    /// The job of a name; `None` where there is none.
    pub(super) async fn describe(&self, name: &str) -> CallResult<Option<JobDescription>> {
        let request = self.aws().sagemaker.describe_training_job();
        match DESCRIBE.heard(request.training_job_name(name).send().await) {
            Ok(answer) => Ok(Some(JobDescription::of(answer))),
            Err(error) if error.is_not_there() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the credentials again: a new sign-in has changed their file.
    pub(super) async fn renew(&self) {
        let known = self.aws();
        // The variables that were looked at before have not changed.
        let (pace, role) = (self.pace.factor, known.role.clone());
        if let Ok(fresh) = Aws::load(&known.region, pace, role).await {
            *self.aws.borrow_mut() = fresh;
        }
    }

    /// The error where a job is lost sight of; it names every job that may still run.
    fn lost(&self, error: &CallError, name: &str) -> OutsideError {
        let own: Vec<String> = self.state.borrow().own.iter().cloned().collect();
        let mut lost = error.to_error(&format!("look at the training job {name}"));
        if !own.is_empty() {
            let own = own.join(", ");
            lost.what +=
                &format!("; may still be running: {own}, each at most until its time limit");
        }
        lost
    }

    /// Whether training jobs of this run are at work on machines of one of these types: what waits to be created makes no room.
    pub(super) fn is_at_work_on(&self, kinds: &[&InstanceType]) -> bool {
        let watched = &self.state.borrow().watched;
        let mut at_work = watched.values().flat_map(InstanceConfiguration::members);
        at_work.any(|(kind, _)| kinds.contains(&kind))
    }

    /// No longer to be stopped: it is over, or gone.
    pub(super) fn forget(&self, name: &str) {
        self.state.borrow_mut().own.remove(name);
    }
}

/// What went wrong in a row.
#[derive(Debug, Default)]
struct Troubles {
    failed: u32,
    /// The first that failed.
    since: Option<Instant>,
    expired: u32,
    missing: u32,
}

impl Troubles {
    /// Whether to look again after this one.
    fn goes_on(&mut self, error: &CallError, pace: &Pace) -> bool {
        match error.kind {
            FailureKind::Unreachable | FailureKind::Throttled => {
                self.failed += 1;
                let since = *self.since.get_or_insert_with(Instant::now);
                let is_long = pace.unhurried(since.elapsed()) >= PATIENCE_TO_LOOK;
                self.failed <= FAILED_LOOKS && !is_long
            }
            FailureKind::Expired => {
                self.expired += 1;
                self.expired <= EXPIRED_LOOKS
            }
            _ => false,
        }
    }
}
