//! Ending warm pools: those of a job when it has no canary left, and those of an earlier start of this run.

use std::time::Duration;

use aws_sdk_sagemaker::types;
use futures_util::future::join_all;

use super::SagemakerBackend;
use super::description::JobDescription;
use super::pace;
use super::pool::PoolState;
use super::pools::{BETWEEN_LOOKS, OpenPool};
use crate::aws::call::{Call, CallError, FailureKind};
use crate::backend::{Cancellation, EndedPool};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::units::Seconds;

/// Looks at a pool whose job is over, until it is ended: two minutes.
const LOOKS_FOR_THE_END: u32 = 24;
/// The same until its job is over, which is asked to stop: two minutes to end its work, and as long to upload its output.
const LOOKS_AT_A_JOB: u32 = LOOKS_FOR_THE_END + 48;
/// Tries of a look or of an end that was throttled or not answered.
const MOST_TRIES: u32 = 5;
/// From a signal to the end of the gate.
const TIME_TO_END: Duration = Duration::from_secs(4);

const UPDATE: Call<'_> = Call("sagemaker:UpdateTrainingJob");

const CUT_SHORT: &str =
    "a signal ended the gate before its machines were free, as while its training job stops";

impl SagemakerBackend {
    /// Ends the pools of one configuration of a job of the spec.
    pub(super) async fn end_pools_on(
        &self,
        job: &str,
        instance: &InstanceConfiguration,
        cancellation: &Cancellation,
    ) -> Vec<EndedPool> {
        let is_meant =
            |pool: &OpenPool| pool.job == job && pool.instance.is_same_machines(instance);
        self.end_open(is_meant, cancellation).await
    }

    /// Ends free pools on a type of machine that canaries of other pools wait for; they are billed with their job.
    pub(super) async fn yield_pools(
        &self,
        kind: &InstanceType,
        but: &[String],
        cancellation: &Cancellation,
    ) {
        let _yielding = self.yielding.lock().await;
        let is_meant = |name: &str, pool: &OpenPool| {
            let uses = pool.instance.machines_by_type().contains_key(kind);
            uses && !but.iter().any(|but| but == name)
        };
        let pools = self.pools.borrow().clone();
        let ended = self.end_free_pools(is_meant, cancellation).await;
        let of_job = ended.into_iter().filter_map(|ended| {
            let job = pools.get(&ended.training_job)?.job.clone();
            Some((job, ended))
        });
        self.unbilled_pools.borrow_mut().extend(of_job);
    }

    /// Ends free pools. What cannot be ended is so later, with its job.
    pub(super) async fn end_free_pools(
        &self,
        is_meant: impl Fn(&str, &OpenPool) -> bool,
        cancellation: &Cancellation,
    ) -> Vec<EndedPool> {
        let open: Vec<(String, OpenPool)> = (self.pools.borrow_mut())
            .extract_if(.., |name, pool| pool.is_free && is_meant(name, pool))
            .collect();
        let end = |(name, pool): (String, OpenPool)| async move {
            match self.end_in_time(&name, cancellation).await {
                Ok(idle) => {
                    self.note_closed(&name);
                    Some(pool.ended(name, Ok(idle)))
                }
                Err(_) => {
                    self.pools.borrow_mut().insert(name, pool);
                    None
                }
            }
        };
        let ended = join_all(open.into_iter().map(end)).await;
        ended.into_iter().flatten().collect()
    }

    async fn end_open(
        &self,
        is_meant: impl Fn(&OpenPool) -> bool,
        cancellation: &Cancellation,
    ) -> Vec<EndedPool> {
        let open: Vec<(String, OpenPool)> = (self.pools.borrow_mut())
            .extract_if(.., |_, pool| is_meant(pool))
            .collect();
        let end = |(name, pool): (String, OpenPool)| async move {
            let idle = self.end_in_time(&name, cancellation).await;
            self.note_closed(&name);
            pool.ended(name, idle)
        };
        let ended = join_all(open.into_iter().map(end)).await;
        self.note_kept(&ended);
        ended
    }

    async fn end_in_time(
        &self,
        name: &str,
        cancellation: &Cancellation,
    ) -> Result<Seconds, String> {
        tokio::select! {
            idle = self.end_pool(name) => idle,
            () = time_to_end(cancellation) => Err(CUT_SHORT.to_owned()),
        }
    }

    fn note_kept(&self, ended: &[EndedPool]) {
        let kept = ended.iter().filter(|pool| pool.idle.is_err());
        let kept = kept.map(|pool| pool.training_job.clone());
        self.kept_pools.borrow_mut().extend(kept);
    }

    /// Ends the pools of one job of the spec.
    pub(super) async fn end_pools_of(
        &self,
        job: &str,
        cancellation: &Cancellation,
    ) -> Vec<EndedPool> {
        // Some of them may be ended for another job at this moment.
        tokio::select! {
            _ = self.yielding.lock() => {}
            () = time_to_end(cancellation) => {}
        }
        let mut ended: Vec<EndedPool> = (self.unbilled_pools.borrow_mut())
            .extract_if(.., |(of, _)| of == job)
            .map(|(_, pool)| pool)
            .collect();
        ended.extend(self.end_open(|pool| pool.job == job, cancellation).await);
        if self.tags.is_resumed && !cancellation.is_cancelled() {
            let earlier = tokio::select! {
                earlier = self.end_earlier_pools(job) => earlier,
                () = time_to_end(cancellation) => Vec::new(),
            };
            self.note_kept(&earlier);
            ended.extend(earlier);
        }
        ended
    }

    /// A pool of this process that is no more; `None` where that is known: it is billed once.
    pub(super) fn close_pool(&self, name: &str, idle: Seconds) -> Option<EndedPool> {
        let pool = self.pools.borrow_mut().remove(name)?;
        self.note_closed(name);
        Some(pool.ended(name.to_owned(), Ok(idle)))
    }

    /// The same of an earlier start.
    pub(super) fn close_earlier(&self, job: &JobDescription, idle: Seconds) -> Option<EndedPool> {
        let ended = earlier(job.clone(), Ok(idle))?;
        self.note_closed(&ended.training_job).then_some(ended)
    }

    /// Whether nobody knew it.
    fn note_closed(&self, name: &str) -> bool {
        self.closed_pools.borrow_mut().insert(name.to_owned())
    }

    /// What the machines of an earlier start of this run were billed, whatever became of their jobs' measurements: those that no
    /// canary of this one has billed.
    async fn end_earlier_pools(&self, job: &str) -> Vec<EndedPool> {
        let end = |job: JobDescription| async move {
            let (name, pool) = job.name.as_deref().zip(job.pool.as_ref())?;
            let idle = match pool.is_open() {
                true => self.end_pool(name).await,
                false => Ok(pool.retained),
            };
            self.note_closed(name);
            earlier(job, idle)
        };
        let ended = join_all(self.earlier_pools(job).await.into_iter().map(end)).await;
        ended.into_iter().flatten().collect()
    }

    /// The jobs of a job of the spec whose machines an earlier start of this run has kept, without those that this process knows.
    pub(super) async fn earlier_pools(&self, job: &str) -> Vec<JobDescription> {
        let jobs = self.own_jobs().await.unwrap_or_else(|error| {
            // The end of the run looks again for what is kept, and says where it cannot.
            tracing::warn!("what earlier warm pools of this run cost is not known: {error}");
            Vec::new()
        });
        let is_new = |described: &JobDescription| {
            let is_known = described.name.as_ref().is_none_or(|name| {
                self.pools.borrow().contains_key(name) || self.closed_pools.borrow().contains(name)
            });
            // What still runs is looked at when it has ended.
            !is_known && described.pool.is_some() && described.state.is_final()
        };
        let of_job = jobs.into_iter().filter(|(of, _)| of == job);
        of_job.map(|(_, job)| job).filter(is_new).collect()
    }

    /// Ends the pool that a job left, and sees that it is gone. Returns for how long its machines were kept.
    ///
    /// # Errors
    ///
    /// Why it may still be kept.
    pub(super) async fn end_pool(&self, name: &str) -> Result<Seconds, String> {
        let (mut failed, mut looks) = (0, 0);
        let mut why = "its machines are not free yet".to_owned();
        for look in 0..LOOKS_AT_A_JOB {
            if look > 0 {
                self.pace.wait(BETWEEN_LOOKS).await;
            }
            let description = match self.describe(name).await {
                Ok(Some(description)) => description,
                Ok(None) => return Ok(Seconds(0.0)),
                Err(error) => {
                    self.may_go_on(&error, &mut failed).await?;
                    continue;
                }
            };
            let Some(status) = description.pool else {
                return Ok(Seconds(0.0));
            };
            // A job that is asked to stop takes its time.
            looks += u32::from(description.state.is_final());
            match status.state {
                PoolState::Reused { .. } | PoolState::Terminated => return Ok(status.retained),
                PoolState::InUse | PoolState::Other => {}
                PoolState::Available => {
                    let resources = types::ResourceConfigForUpdate::builder()
                        .keep_alive_period_in_seconds(0)
                        .build();
                    let updated = self
                        .aws()
                        .sagemaker
                        .update_training_job()
                        .training_job_name(name)
                        .resource_config(resources)
                        .send()
                        .await;
                    if let Err(error) = updated {
                        let error = CallError::of(UPDATE, &error);
                        // The pool may have ended, or have been taken, since it was looked at: the next look says so.
                        match error.kind {
                            FailureKind::Refused | FailureKind::Limit => why = error.to_string(),
                            _ if error.is_not_there() => why = error.to_string(),
                            _ => self.may_go_on(&error, &mut failed).await?,
                        }
                    }
                }
            }
            if looks >= LOOKS_FOR_THE_END {
                break;
            }
        }
        Err(why)
    }

    /// Whether to try again, and waits before it.
    async fn may_go_on(&self, error: &CallError, failed: &mut u32) -> Result<(), String> {
        let may_pass = matches!(
            error.kind,
            FailureKind::Throttled | FailureKind::Unreachable
        );
        *failed += 1;
        if !may_pass || *failed >= MOST_TRIES {
            return Err(error.to_string());
        }
        self.pace.wait(pace::backoff(*failed)).await;
        Ok(())
    }
}

/// A pool that an earlier start of this run has kept.
fn earlier(job: JobDescription, idle: Result<Seconds, String>) -> Option<EndedPool> {
    Some(EndedPool {
        training_job: job.name?,
        instance: job.instance?,
        keep_alive: job.keep_alive.unwrap_or_default(),
        idle,
    })
}

/// Passes a while after a signal.
async fn time_to_end(cancellation: &Cancellation) {
    cancellation.cancelled().await;
    tokio::time::sleep(TIME_TO_END).await;
}
