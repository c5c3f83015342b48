//! A training job that is over, as the result of a canary.

use super::description::{JobDescription, JobState, age};
use super::failure::FailureClass;
use super::find::Found;
use super::pools::StartOnPool;
use super::ready_job::ReadyJob;
use crate::backend::{CanaryResult, Watcher, rows};
use crate::canary::CanaryRun;
use crate::measurement::{Measurement, Outcome, Reused};
use crate::outside_error::OutsideError;
use crate::probe::MARK_VARIABLE;
use crate::spec::BackendKind;
use crate::units::Seconds;

/// The newest training job of a canary under way.
pub(super) struct LastJob {
    pub(super) found: Found,
    /// Absent while it is not over, and where it was lost.
    pub(super) ended: Option<Box<JobDescription>>,
    /// The bill of the try before it; `None` without such a try.
    pub(super) lost: Option<Seconds>,
}

impl ReadyJob<'_> {
    /// The result of the last job of a canary, which is over, or which a signal ended.
    pub(super) async fn result(
        &self,
        run: &CanaryRun,
        last: &LastJob,
        pooled: &StartOnPool,
        watcher: &Watcher<'_>,
    ) -> Result<CanaryResult, OutsideError> {
        let mut measurement = last.measurement(run, self.outcome(last)?);
        let (mut log_tail, mut log, mut ended_pools) = Default::default();
        if let Some(description) = &last.ended {
            let is_collected = match measurement.outcome {
                Outcome::Failed { .. } => description.environment.contains_key(MARK_VARIABLE),
                Outcome::Completed | Outcome::TimedOut | Outcome::OutOfMemory { .. } => true,
                _ => false,
            };
            let found = &last.found;
            if is_collected {
                let collecting = self.collect(run, found, description, watcher, &mut measurement);
                watcher.cancellation.unless(collecting).await;
            }
            if matches!(
                measurement.outcome,
                Outcome::Failed { .. } | Outcome::OutOfMemory { .. } | Outcome::TimedOut
            ) {
                let reading = self.log(run, found);
                (log_tail, log) = (watcher.cancellation.unless(reading).await).unwrap_or_default();
            }
            measurement.start = pooled.start.or(measurement.start);
            measurement.idle_seconds = pooled.idle();
            measurement.notes.extend(pooled.note.map(str::to_owned));
            ended_pools = pooled.over_with(&found.name, description);
        }
        Ok(CanaryResult {
            measurement: last.with_placed_rows(run, measurement),
            log_tail,
            log,
            ended_pools,
        })
    }

    /// What is known of a job that is over before its metrics are collected; `None` where it could not run as configured.
    pub(super) fn preliminary(&self, run: &CanaryRun, last: &LastJob) -> Option<Measurement> {
        last.ended.as_ref()?;
        let measurement = last.measurement(run, self.outcome(last).ok()?);
        Some(last.with_placed_rows(run, measurement))
    }

    /// How the canary ended; an error if the job could not run as configured, which a person must correct.
    fn outcome(&self, last: &LastJob) -> Result<Outcome, OutsideError> {
        Ok(match last.ended.as_ref().map(|ended| &ended.state) {
            Some(JobState::Completed) => Outcome::Completed,
            Some(JobState::Stopped {
                max_runtime_exceeded: true,
            }) => Outcome::TimedOut,
            Some(JobState::Failed { reason }) => {
                match FailureClass::of(reason.as_deref().unwrap_or_default()) {
                    FailureClass::Outcome(outcome) => outcome,
                    FailureClass::Configuration { text } => {
                        return Err(OutsideError::new(
                            format!(
                                "jobs.{}: SageMaker could not run the training job {}: {text}",
                                self.job.name, last.found.name
                            ),
                            "check that `training.role` may read the data and write the output, then `training.image`, the channels and the network; `canary-gate iam-policy --for job` prints what the role needs",
                        ));
                    }
                    FailureClass::Internal | FailureClass::Unknown => Outcome::PlatformError,
                }
            }
            _ => Outcome::Stopped,
        })
    }
}

impl LastJob {
    /// A measurement with what is known of the bill, for a job that was paid and gives no result; `None` where another run pays for it,
    /// or nothing was billed.
    pub(super) fn without_result(&self, run: &CanaryRun) -> Option<Measurement> {
        let has_bill = self.ended.as_ref().is_none_or(|ended| {
            let has_run = ended.started_at.is_some() || ended.billable_seconds.is_some();
            has_run || !matches!(ended.state, JobState::Failed { .. })
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
            attempt: self.found.name.attempt(),
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
            && let JobState::Failed {
                reason: Some(reason),
            } = &ended.state
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
