//! The way of a canary through its training jobs to its result.

use super::description::{JobDescription, JobState, age};
use super::failure::FailureClass;
use super::ready::{CanaryUnderWay, Found};
use crate::backend::{CanaryEnd, CanaryResult, CanaryState, CanaryStep, RunPart, rows};
use crate::canary::CanaryRun;
use crate::measurement::{Measurement, Outcome, Reused};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::BackendKind;
use crate::units::Seconds;

/// A machine that did not come for so long will hardly come at once.
const LONGEST_WAIT: Seconds = Seconds(1800.0);
/// A try with less time than this left is not worth its start.
const SHORTEST_TRY: Seconds = Seconds(60.0);

/// The newest training job of a canary under way.
struct LastJob {
    found: Found,
    /// Absent while it is not over, and where it was lost.
    ended: Option<Box<JobDescription>>,
    /// The bill of the try before it; `None` without such a try.
    lost: Option<Seconds>,
}

impl<'r> CanaryUnderWay<'r> {
    pub(super) async fn run_to_its_end(self) -> CanaryStep<'r> {
        // Who detaches waits neither for it nor for room.
        if self.backend.tags.part == RunPart::Detach {
            let launched = self.launch().await;
            let state =
                launched.map(|found| found.map_or_else(|state| state, |found| found.state()));
            return state.into();
        }
        let mut last = None;
        let followed = self.follow(&mut last).await;
        let last = match (followed, last) {
            (Ok(None), Some(last)) => last,
            (state, last) => {
                let state = state.map(|state| state.unwrap_or(CanaryState::HeldBack));
                return CanaryStep::Ended(self.ended(state, last));
            }
        };
        let known = self.preliminary(&last);
        let rest = async move {
            let result = self.result(&last).await;
            self.ready.tidy(&last.found).await;
            let measured = result.map(|result| CanaryState::Measured(Box::new(result)));
            self.ended(measured, Some(last))
        };
        match known {
            Some(known) => CanaryStep::Free(Box::new(known), Box::pin(rest)),
            None => CanaryStep::Ended(rest.await),
        }
    }

    /// The end of a canary, with what is known of its bill where it has no result. `last` is its last training job.
    fn ended(&self, state: OutsideResult<CanaryState>, last: Option<LastJob>) -> CanaryEnd {
        let last = last.filter(|_| !matches!(state, Ok(CanaryState::Measured(_))));
        let paid = last.and_then(|last| last.without_result(self.run));
        self.backend.state.borrow_mut().has_unmeasured |= paid.is_some();
        CanaryEnd {
            state,
            paid_for_nothing: paid.map(Box::new),
        }
    }

    /// Follows a canary until its training job is over, or a signal ended it: `last` is then its last training job. Else returns how far
    /// it is. What SageMaker broke off is tried once more, with what is left of its time.
    async fn follow(&self, last: &mut Option<LastJob>) -> OutsideResult<Option<CanaryState>> {
        let mut lost = None;
        let mut run = self.run.clone();
        loop {
            let tried = CanaryUnderWay { run: &run, ..*self };
            let found = match tried.launch().await? {
                Ok(found) => found,
                Err(state) => return Ok(Some(state)),
            };
            let last = last.insert(LastJob {
                found: found.clone(),
                ended: None,
                lost,
            });
            let (name, instance) = (found.name.to_string(), run.instance.clone());
            (self.backend.state.borrow_mut().watched).insert(name.clone(), instance);
            let watched = self.watch(&found).await;
            self.backend.state.borrow_mut().watched.remove(&name);
            let description = match watched {
                Ok(Some(description)) => &*last.ended.insert(Box::new(description)),
                // A signal ended the gate, and what it could not stop may go on.
                Ok(None) => {
                    let is_stopped =
                        found.may_stop && !self.backend.state.borrow().own.contains(&name);
                    return Ok((!is_stopped).then(|| found.state()));
                }
                Err(error) => {
                    self.ready.tidy(&found).await;
                    return Err(error);
                }
            };
            if lost.is_none()
                && found.is_new
                && let Some(billed) = broken_off(&run, description)
            {
                self.backend.state.borrow_mut().counted.insert(name);
                self.watcher
                    .fact("SageMaker failed, or had no machine; trying once more");
                self.ready.tidy(&found).await;
                lost = Some(billed);
                run.max_runtime = run.max_runtime.map(|limit| limit - billed);
                continue;
            }
            // Whoever started a canary that is not ours may have stopped it.
            let is_collected = self.backend.tags.part == RunPart::Collect;
            let stands = || self.ready.stands(&run, description, found.is_own);
            if found.is_new || is_collected || stands() {
                self.ready.free_pool(&run, &found, description);
                return Ok(None);
            }
        }
    }

    /// The result of the last job of a canary, which is over, or which a signal ended.
    async fn result(&self, last: &LastJob) -> OutsideResult<CanaryResult> {
        let mut measurement = last.measurement(self.run, self.outcome(last)?);
        let (mut log_tail, mut log, mut ended_pools) = Default::default();
        if let Some(description) = &last.ended {
            let (found, signal) = (&last.found, self.watcher.cancellation);
            // A pool that is not looked at now is looked at when pools are ended.
            let looking = self.ready.look_at_pool(found, description);
            let pooled = signal.run_until_cancelled(looking).await;
            let pooled = pooled.unwrap_or_default();
            // After the look: meanwhile who ends all pools may forget what is known of this one.
            self.end_surplus_pools().await;
            let is_collected = match measurement.outcome {
                Outcome::Failed { .. } => description.mark().is_some(),
                Outcome::Completed | Outcome::TimedOut | Outcome::OutOfMemory { .. } => true,
                _ => false,
            };
            if is_collected {
                let collecting = self.collect(found, description, &mut measurement);
                let collected = signal.run_until_cancelled(collecting).await;
                log_tail = collected.unwrap_or_default();
            }
            if matches!(
                measurement.outcome,
                Outcome::Failed { .. } | Outcome::OutOfMemory { .. } | Outcome::TimedOut
            ) {
                (log_tail, log) =
                    (signal.run_until_cancelled(self.log(found)).await).unwrap_or_default();
            }
            measurement.start = pooled.start.or(measurement.start);
            measurement.idle_seconds = pooled.idle();
            measurement.notes.extend(pooled.note.map(str::to_owned));
            ended_pools = pooled.over_with(&found.name, description);
        }
        Ok(CanaryResult {
            measurement: last.with_placed_rows(self.run, measurement),
            log_tail,
            log,
            ended_pools,
        })
    }

    /// What is known of a job that is over before its metrics are collected; `None` where it could not run as configured.
    fn preliminary(&self, last: &LastJob) -> Option<Measurement> {
        last.ended.as_ref()?;
        let measurement = last.measurement(self.run, self.outcome(last).ok()?);
        Some(last.with_placed_rows(self.run, measurement))
    }

    /// How the canary ended; an error if the job could not run as configured, which a person must correct.
    fn outcome(&self, last: &LastJob) -> OutsideResult<Outcome> {
        Ok(match last.ended.as_ref().map(|ended| &ended.state) {
            Some(JobState::Completed) => Outcome::Completed,
            Some(JobState::TimedOut) => Outcome::TimedOut,
            Some(JobState::Failed(reason)) => match FailureClass::of(reason) {
                FailureClass::Outcome(outcome) => outcome,
                FailureClass::Configuration(text) => {
                    return Err(OutsideError::of(format!(
                        "jobs.{}: SageMaker could not run the training job {}: {text}",
                        self.ready.job.name, last.found.name
                    ))
                    .help("check that `training.role` may read the data and write the output, then `training.image`, the channels and the network; `canary-gate iam-policy --for job` prints what the role needs"));
                }
                FailureClass::Internal | FailureClass::Unknown => Outcome::PlatformError,
            },
            _ => Outcome::Stopped,
        })
    }
}

impl LastJob {
    /// A measurement with what is known of the bill, for a job that was paid and gives no result; `None` where another run pays for it,
    /// or nothing was billed.
    fn without_result(&self, run: &CanaryRun) -> Option<Measurement> {
        let has_bill = self.ended.as_ref().is_none_or(|ended| {
            let has_run = ended.started_at.is_some() || ended.billable_seconds.is_some();
            has_run || !matches!(ended.state, JobState::Failed(_))
        });
        let has_lost = self.lost.is_some_and(|lost| lost.0 > 0.0);
        (self.found.is_own && (has_bill || has_lost))
            .then(|| self.measurement(run, Outcome::Stopped))
    }

    /// Of a job that another process started nobody knows but what was asked for, which is about as much.
    fn with_placed_rows(&self, run: &CanaryRun, measurement: Measurement) -> Measurement {
        let Some(placed) = self.found.rows else {
            return measurement;
        };
        let mut measurement = measurement.with_drawn_rows(run, placed.bytes);
        measurement.notes.extend(rows::note_of_left(placed.left));
        measurement
    }

    /// What is known of it without its metrics: nothing but its name where nobody waited for its end.
    fn measurement(&self, run: &CanaryRun, outcome: Outcome) -> Measurement {
        let measurement = Measurement {
            training_job: Some(self.found.name.to_string()),
            attempt: self.found.name.attempt,
            ..Measurement::of_run(run, BackendKind::Sagemaker, outcome)
        };
        let Some(ended) = &self.ended else {
            return measurement;
        };
        let lost = self.lost.unwrap_or_default();
        let mut notes = Vec::new();
        if lost.0 > 0.0 {
            notes.push(format!(
                "an internal error of SageMaker ended an earlier attempt after {lost}, which is billed too"
            ));
        }
        if let Outcome::NoCapacity | Outcome::PlatformError = measurement.outcome
            && let JobState::Failed(reason) = &ended.state
            && !reason.is_empty()
        {
            notes.push(format!("SageMaker says: {reason}"));
        }
        let reused = Reused {
            age_days: (ended.ended_at).map_or(0.0, |end| age(end).in_days()),
            saved_usd: None,
        };
        Measurement {
            start: ended.start,
            phases: ended.phases,
            training_seconds: ended.training_seconds,
            billable_seconds: (ended.billable_seconds.or(ended.training_seconds))
                .map(|billed| billed + lost),
            reused: (!self.found.is_own).then_some(reused),
            ended_at: ended.ended_at,
            notes,
            ..measurement
        }
    }
}

/// What a try was billed after which another one is worth its start, within the time that was set aside for the canary: SageMaker broke
/// it off by an error of its own, or had no machine for it.
fn broken_off(run: &CanaryRun, ended: &JobDescription) -> Option<Seconds> {
    let JobState::Failed(reason) = &ended.state else {
        return None;
    };
    let may_pass = match FailureClass::of(reason) {
        FailureClass::Internal => true,
        FailureClass::Outcome(Outcome::NoCapacity) => {
            (ended.created_at).is_some_and(|created| age(created) < LONGEST_WAIT)
        }
        _ => false,
    };
    let billed = ended.billable_seconds.unwrap_or_default();
    let is_worth_it = (run.max_runtime).is_none_or(|limit| limit - billed >= SHORTEST_TRY);
    (may_pass && is_worth_it).then_some(billed)
}
