//! The end of warm pools, and the pool that a job has got.

use std::time::Duration;

use aws_sdk_sagemaker::types::{
    ResourceConfigForUpdate, SortBy, SortOrder, TrainingJobSummary, WarmPoolResourceStatus,
};
use futures_util::future::join_all;

use super::super::description::{is_free, is_open, kept_for};
use super::super::pace::unless_since;
use super::{BETWEEN_LOOKS, OpenPool, PoolStage};
use crate::aws::call::{Call, CallResult, FailureKind};
use crate::backend::{EndedPool, SagemakerBackend};
use crate::instance::InstanceConfiguration;
use crate::units::Seconds;

/// Looks at a pool until it is ended, in six minutes: a job that is asked to stop has two to end its work, and as long to upload its
/// output.
const LOOKS_FOR_THE_END: u32 = 72;
/// Tries of a look or of an end that was throttled or not answered.
const MOST_TRIES: u32 = 5;
/// The time from a signal to the end of the gate.
const TIME_TO_END: Duration = Duration::from_secs(4);
const CUT_SHORT: &str =
    "a signal ended the gate before its machines were free, as while its training job stops";
const UPDATE: Call<'_> = Call("sagemaker:UpdateTrainingJob");
/// The most jobs whose pool was taken that are looked through for one, the newest first.
const MOST_JOBS: usize = 300;
/// Jobs of one page of that list.
const A_PAGE: i32 = 100;

impl SagemakerBackend {
    /// The last job of the pool that a job has got, of whichever run, with the time for which its machines were kept; `None` where
    /// not all such jobs could be seen.
    pub(super) async fn pool_taken_by(&self, name: &str) -> Option<Option<(String, Seconds)>> {
        let listing = (self.aws().sagemaker.list_training_jobs())
            .warm_pool_status_equals(WarmPoolResourceStatus::Reused)
            .sort_by(SortBy::CreationTime)
            .sort_order(SortOrder::Descending)
            .max_results(A_PAGE);
        let mut jobs = listing.into_paginator().items().send();
        let taken = |job: &TrainingJobSummary| {
            let pool = job.warm_pool_status()?;
            let is_taken = pool.reused_by_job() == Some(name);
            is_taken.then_some((job.training_job_name()?.to_owned(), kept_for(pool)))
        };
        for _ in 0..MOST_JOBS {
            let Some(job) = jobs.next().await else {
                return Some(None);
            };
            if let Some(before) = taken(&job.ok()?) {
                return Some(Some(before));
            }
        }
        None
    }

    /// Ends free pools, which are billed with their job. What cannot be ended is so later.
    pub(super) async fn end_free_pools(&self, is_meant: impl Fn(&OpenPool) -> bool) {
        let mut names = Vec::new();
        for (name, pool) in &mut self.state.borrow_mut().pools {
            if matches!(pool.stage, PoolStage::Free | PoolStage::Passed) && is_meant(pool) {
                pool.stage = PoolStage::Taken;
                names.push(name.clone());
            }
        }
        let end = |name: String| async move {
            let ended = self.end_in_time(&name).await;
            if let Some(pool) = self.state.borrow_mut().pools.get_mut(&name) {
                pool.stage = ended.map_or(PoolStage::Free, PoolStage::Ended);
            }
        };
        join_all(names.into_iter().map(end)).await;
    }

    /// Ends the pools of a job of the spec, on one configuration or on all.
    pub(in super::super) async fn end_pools_of(
        &self,
        job: &str,
        on: Option<&InstanceConfiguration>,
    ) -> Vec<EndedPool> {
        let is_meant = |pool: &OpenPool| {
            pool.job == job && on.is_none_or(|on| pool.instance.is_same_machines(on))
        };
        let open: Vec<(String, OpenPool)> = (self.state.borrow_mut().pools)
            .extract_if(.., |_, pool| is_meant(pool))
            .collect();
        let end = |(name, pool): (String, OpenPool)| async move {
            let idle = match pool.stage {
                PoolStage::Ended(idle) => Ok(idle),
                _ => self.end_in_time(&name).await,
            };
            if idle.is_err() {
                self.state.borrow_mut().kept_pools.push(name.clone());
            }
            EndedPool {
                training_job: name,
                instance: pool.instance,
                keep_alive: pool.keep_alive,
                idle,
            }
        };
        join_all(open.into_iter().map(end)).await
    }

    async fn end_in_time(&self, name: &str) -> Result<Seconds, String> {
        let ended = unless_since(&self.tags.cancellation, TIME_TO_END, self.end_pool(name)).await;
        ended.unwrap_or_else(|| Err(CUT_SHORT.to_owned()))
    }

    /// Ends the pool that a job left, and sees that it is gone. Returns for how long its machines were kept.
    ///
    /// # Errors
    ///
    /// Why it may still be kept.
    pub(in super::super) async fn end_pool(&self, name: &str) -> Result<Seconds, String> {
        let mut failed = 0;
        let mut why = "its machines are not free yet".to_owned();
        for look in 0..LOOKS_FOR_THE_END {
            if look > 0 {
                self.pace.wait(BETWEEN_LOOKS).await;
            }
            match self.try_to_end_pool(name).await {
                Ok(Some(kept)) => return Ok(kept),
                Ok(None) => {}
                Err(error) => {
                    why = error.to_string();
                    let may_pass = match error.kind {
                        // The pool may have ended, or have been taken, since it was looked at: the next look says so.
                        FailureKind::Refused | FailureKind::Limit => true,
                        FailureKind::Throttled | FailureKind::Unreachable => {
                            failed += 1;
                            failed < MOST_TRIES
                        }
                        _ => false,
                    };
                    if !may_pass {
                        break;
                    }
                }
            }
        }
        Err(why)
    }

    /// Asks once that a pool ends, if it is free; returns for how long its machines were kept where it is gone.
    async fn try_to_end_pool(&self, name: &str) -> CallResult<Option<Seconds>> {
        let Some(pool) = self.describe(name).await?.and_then(|job| job.pool) else {
            return Ok(Some(Seconds(0.0)));
        };
        if is_free(&pool) {
            self.end_kept_machines(name).await?;
        }
        Ok((!is_open(&pool)).then(|| kept_for(&pool)))
    }

    /// Asks that the machines which a job keeps are kept no more.
    pub(in super::super) async fn end_kept_machines(&self, name: &str) -> CallResult<()> {
        let resources = ResourceConfigForUpdate::builder().keep_alive_period_in_seconds(0);
        let client = self.aws().sagemaker;
        let update = client.update_training_job().training_job_name(name);
        let updated = update.resource_config(resources.build()).send().await;
        UPDATE.heard(updated).map(drop)
    }
}
