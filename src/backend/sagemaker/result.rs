//! A training job that is over, as the result of a canary.

use super::adoption;
use super::collect::Collected;
use super::description::{JobDescription, JobState};
use super::failure::{self, FailureClass};
use super::find::Found;
use super::pools::StartOnPool;
use super::ready_job::{ProbeWay, ReadyJob};
use super::retries::Retries;
use crate::backend::{BackendError, CanaryResult, Watcher, rows};
use crate::canary::CanaryRun;
use crate::measurement::{Measurement, Outcome, Reused};
use crate::probe::MARK_VARIABLE;
use crate::spec::{BackendKind, Job};
use crate::units::Seconds;

const SECONDS_A_DAY: f64 = 86_400.0;

impl ReadyJob<'_> {
    /// The result of a job that is over; `None` where a signal ended it.
    pub(super) async fn result(
        &self,
        run: &CanaryRun,
        found: &Found,
        ended: Option<&JobDescription>,
        pooled: &StartOnPool,
        retries: &Retries,
        watcher: &Watcher<'_>,
    ) -> Result<CanaryResult, BackendError> {
        let Some(description) = ended else {
            return Ok(CanaryResult {
                measurement: without_bill(run, found),
                log_tail: Vec::new(),
                log: Vec::new(),
                ended_pools: Vec::new(),
            });
        };
        let mut outcome = outcome(description, self.job, found)?;
        let collected = match outcome {
            Outcome::Failed { .. } if !description.environment.contains_key(MARK_VARIABLE) => {
                Collected::default()
            }
            Outcome::Completed
            | Outcome::TimedOut
            | Outcome::OutOfMemory { .. }
            | Outcome::Failed { .. } => tokio::select! {
                collected = self.collect(run, found, description, watcher) => collected,
                () = watcher.cancellation.cancelled() => Collected::default(),
            },
            _ => Collected::default(),
        };
        // The kernel's own word is better than what SageMaker makes of an exit code.
        if collected.ran_out_of_memory && matches!(outcome, Outcome::Failed { .. }) {
            outcome = Outcome::OutOfMemory {
                of: crate::metric::MemoryOf::Machine,
                last_line: outcome.last_line().map(str::to_owned),
            };
        }
        let (log_tail, log) = match outcome {
            Outcome::Failed { .. } | Outcome::OutOfMemory { .. } | Outcome::TimedOut => {
                tokio::select! {
                    log = self.log(run, found) => log,
                    () = watcher.cancellation.cancelled() => Default::default(),
                }
            }
            _ => Default::default(),
        };
        let script_seconds = collected.script_seconds;
        let mut measurement = measurement(run, found, description, outcome, collected, retries);
        measurement.start = pooled.start.or(measurement.start);
        measurement.idle_seconds = pooled.idle();
        measurement.notes.extend(pooled.note.map(str::to_owned));
        measurement.installs_seconds = self.installs(description, script_seconds);
        Ok(CanaryResult {
            measurement: self.with_placed_rows(run, found, measurement),
            log_tail,
            log,
            ended_pools: pooled.over_with(&found.name, description),
        })
    }

    /// What is known of a job that is over before its metrics are collected; `None` where it could not run as configured.
    pub(super) fn preliminary(
        &self,
        run: &CanaryRun,
        found: &Found,
        description: &JobDescription,
        retries: &Retries,
    ) -> Option<Measurement> {
        let measurement = measurement(
            run,
            found,
            description,
            outcome(description, self.job, found).ok()?,
            Collected::default(),
            retries,
        );
        Some(self.with_placed_rows(run, found, measurement))
    }

    /// What passed before the script, where it was started after its packages were installed.
    fn installs(
        &self,
        description: &JobDescription,
        script_seconds: Option<Seconds>,
    ) -> Option<Seconds> {
        let ProbeWay::Source {
            has_requirements: true,
            ..
        } = self.placed.probe
        else {
            return None;
        };
        let before = description.phases.training?.0 - script_seconds?.0;
        Some(Seconds(before.max(0.0)))
    }

    /// Of a job that another process started nobody knows but what was asked for, which is about as much.
    fn with_placed_rows(
        &self,
        run: &CanaryRun,
        found: &Found,
        mut measurement: Measurement,
    ) -> Measurement {
        if let Some(placed) = self.placed_rows.borrow().get(&found.name.to_string()) {
            measurement = measurement.with_drawn_rows(run, placed.bytes);
            measurement.notes.extend(rows::note_of_left(placed.left));
        }
        measurement
    }
}

/// How the canary ended; an error if the job could not run as configured, which a person must correct.
fn outcome(
    description: &JobDescription,
    job: &Job,
    found: &Found,
) -> Result<Outcome, BackendError> {
    Ok(match &description.state {
        JobState::Completed => Outcome::Completed,
        JobState::Stopped {
            max_runtime_exceeded: true,
        } => Outcome::TimedOut,
        JobState::Failed { reason } => {
            let class = FailureClass::of(reason.as_deref().unwrap_or_default());
            if let FailureClass::Configuration { text } = &class {
                return Err(BackendError::new(
                    format!(
                        "jobs.{}: SageMaker could not run the training job {}: {text}",
                        job.name, found.name
                    ),
                    "check that `training.role` may read the data and write the output, then `training.image`, the channels and the network; `canary-gate iam-policy --for job` prints what the role needs",
                ));
            }
            failure::outcome(&class).unwrap_or(Outcome::PlatformError)
        }
        _ => Outcome::Stopped,
    })
}

/// The newest training job of a canary under way.
pub(super) struct LastJob {
    pub(super) found: Found,
    /// Absent while it is not over, and where it was lost.
    pub(super) ended: Option<Box<JobDescription>>,
    /// The bill of the tries before it.
    pub(super) retries: Retries,
}

impl LastJob {
    /// A measurement with what is known of the bill, for a job that was paid and gives no result; `None` where another run pays for it,
    /// or nothing was billed.
    pub(super) fn without_result(&self, run: &CanaryRun) -> Option<Measurement> {
        if !self.found.is_own {
            return None;
        }
        let Some(description) = &self.ended else {
            return Some(without_bill(run, &self.found));
        };
        let has_failed = matches!(description.state, JobState::Failed { .. });
        let has_bill = description.started_at.is_some() || description.billable_seconds.is_some();
        if has_failed && !has_bill && self.retries.lost.0 <= 0.0 {
            return None;
        }
        Some(measurement(
            run,
            &self.found,
            description,
            Outcome::Stopped,
            Collected::default(),
            &self.retries,
        ))
    }
}

/// The measurement of a job whose end nobody waited for.
fn without_bill(run: &CanaryRun, found: &Found) -> Measurement {
    Measurement {
        training_job: Some(found.name.to_string()),
        attempt: found.name.attempt(),
        ..Measurement::of_run(run, BackendKind::Sagemaker, Outcome::Stopped)
    }
}

fn measurement(
    run: &CanaryRun,
    found: &Found,
    description: &JobDescription,
    outcome: Outcome,
    collected: Collected,
    retries: &Retries,
) -> Measurement {
    let now = jiff::Timestamp::now();
    let mut notes = collected.notes;
    if retries.lost.0 > 0.0 {
        notes.push(format!(
            "an internal error of SageMaker ended an earlier attempt after {}, which is billed too",
            retries.lost
        ));
    }
    if matches!(outcome, Outcome::NoCapacity | Outcome::PlatformError)
        && let JobState::Failed {
            reason: Some(reason),
        } = &description.state
    {
        notes.push(format!("SageMaker says: {reason}"));
    }
    // Whatever the script prints, a step is part of the run.
    let step_seconds = collected.step_seconds.filter(|step| {
        let is_part = description
            .training_seconds
            .is_none_or(|time| *step <= time);
        if !is_part {
            notes.push(format!(
                "the step metric gave {step}, longer than the whole run, and is left out"
            ));
        }
        is_part
    });
    let reused = (!found.is_own).then(|| Reused {
        age_days: description
            .ended_at
            .map_or(0.0, |end| adoption::age(end, now).0 / SECONDS_A_DAY),
        saved_usd: None,
    });
    Measurement {
        attempt: found.name.attempt(),
        start: description.start,
        phases: description.phases,
        training_seconds: description.training_seconds,
        billable_seconds: description
            .billable_seconds
            .or(description.training_seconds)
            .map(|billed| Seconds(billed.0 + retries.lost.0)),
        usage: collected.usage,
        hosts: collected.hosts,
        sample_opened: collected.sample_opened,
        step_seconds,
        metrics: collected.metrics,
        training_job: Some(found.name.to_string()),
        reused,
        ended_at: description.ended_at,
        notes,
        ..Measurement::of_run(run, BackendKind::Sagemaker, outcome)
    }
}
