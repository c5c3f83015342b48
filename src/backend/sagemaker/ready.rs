//! Runs the canaries of a ready job as training jobs.

use super::last_job::LastJob;
use super::launch::LaunchOutcome;
use super::ready_job::ReadyJob;
use super::retries::Retries;
use super::watch::WatchEnd;
use futures_util::future::LocalBoxFuture;

use super::pool_start::StartOnPool;
use crate::backend::{
    BackendError, BackendFuture, BackendKeys, CanaryProgress, CanaryResult, Cancellation,
    Detaching, EndedPool, Ready, Watcher,
};
use crate::canary::{CanaryRun, Dataset, Key, canary_key, without_probe};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType, tables};
use crate::plan::WarmPool;

impl ReadyJob<'_> {
    /// The key by which a canary's training job is named.
    pub(super) fn key_of(&self, run: &CanaryRun) -> Key {
        let key = canary_key(&self.prepared.code, &self.prepared.data, run);
        match self.prepared.lacks_probe {
            true => without_probe(&key),
            false => key,
        }
    }

    async fn run_canary(
        &self,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
    ) -> Result<Option<CanaryResult>, BackendError> {
        let mut last = None;
        let result = self.try_canary(run, watcher, &mut last).await;
        if !matches!(result, Ok(Some(_)))
            && let Some(last) = last
            && let Some(paid) = last.without_result(run)
        {
            self.backend.has_unmeasured.set(true);
            (watcher.paid_for_nothing)(paid);
        }
        result
    }

    /// `last` is then its last training job.
    async fn try_canary(
        &self,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
        last: &mut Option<LastJob>,
    ) -> Result<Option<CanaryResult>, BackendError> {
        let key = self.key_of(run);
        let mut retries = Retries::of(run);
        loop {
            let launched = self.launch(run, &key, &retries, watcher).await?;
            let LaunchOutcome::Job(found, room) = launched else {
                return Ok(None);
            };
            let last = last.insert(LastJob {
                found: found.clone(),
                ended: None,
                retries: retries.clone(),
            });
            let ended = match self.watch(&found, watcher).await {
                WatchEnd::Lost { error, is_left } => {
                    if !is_left {
                        self.backend.stop_if_ours(&found).await;
                    }
                    self.tidy(&found, watcher).await;
                    return Err(error);
                }
                WatchEnd::Cancelled => None,
                WatchEnd::Description(description) => Some(description),
            };
            last.ended.clone_from(&ended);
            if let Some(description) = &ended {
                if retries.try_again(&found, description) {
                    let tried = found.name.to_string();
                    self.backend.counted.borrow_mut().insert(tried);
                    watcher.report(CanaryProgress::Fact(
                        "SageMaker failed, or had no machine; trying once more",
                    ));
                    self.tidy(&found, watcher).await;
                    continue;
                }
                // Somebody else's canary may have been stopped by them.
                if !found.is_new && !self.still_stands(run, &found, description) {
                    continue;
                }
            }
            if let Some(description) = &ended {
                self.free_pool(run, &found, description);
            }
            // What did not complete is heard of before its room is taken.
            if let Some(description) = &ended
                && let Some(measurement) = self.preliminary(run, &found, description, &retries)
            {
                (watcher.freed)(measurement);
            }
            drop(room);
            let mut pooled = match &ended {
                // What is not looked at now is looked at when pools are ended.
                Some(description) => tokio::select! {
                    pooled = self.look_at_pool(&found, description) => pooled,
                    () = watcher.cancellation.cancelled() => StartOnPool::default(),
                },
                None => StartOnPool::default(),
            };
            let surplus = self.end_surplus_pools(&run.instance, watcher).await;
            pooled.ended.extend(surplus);
            let result = self
                .result(run, &found, ended, &pooled, &retries, watcher)
                .await;
            self.tidy(&found, watcher).await;
            // What could not be measured is billed with what is ended last.
            if result.is_err() {
                let of_job = pooled
                    .ended
                    .into_iter()
                    .map(|pool| (self.job.name.clone(), pool));
                self.backend.unbilled_pools.borrow_mut().extend(of_job);
            }
            return result.map(Some);
        }
    }
}

impl Ready for ReadyJob<'_> {
    /// Those that its training jobs are named by: without git the packed source stands for the code.
    fn keys<'k>(&'k self, _: &'k Dataset) -> BackendFuture<'k, BackendKeys> {
        let keys = BackendKeys {
            code: Some(self.prepared.code),
            data: Some(self.prepared.data),
            machine: None,
            lacks_probe: self.prepared.lacks_probe,
        };
        Box::pin(async { Ok(keys) })
    }

    fn capacity(&self, kind: &InstanceType) -> Option<Capacity> {
        tables::capacity(kind)
    }

    fn at_once(&self, instance: &InstanceConfiguration) -> u32 {
        let at_once = self.prepared.at_once(instance, self.job.canary.parallel);
        self.pool_for(instance)
            .map_or(at_once, |pool| at_once.min(pool.lanes.max(1)))
    }

    fn has_room_for_all(&self, instances: &[&InstanceConfiguration]) -> bool {
        self.prepared.quotas.iter().all(|(kind, limit)| {
            let machines = instances.iter().map(|one| {
                let by_type = one.machines_by_type();
                let count = by_type.get(kind).copied().unwrap_or(0);
                self.at_once(one).saturating_mul(count)
            });
            machines.fold(0, u32::saturating_add) <= *limit
        })
    }

    fn warm_pool(&self, instance: &InstanceConfiguration) -> Option<&WarmPool> {
        self.pool_for(instance)
    }

    fn end_pools_on<'e>(
        &'e self,
        instance: &'e InstanceConfiguration,
        cancellation: &'e Cancellation,
    ) -> LocalBoxFuture<'e, Vec<EndedPool>> {
        let backend = self.backend;
        Box::pin(backend.end_pools_on(&self.job.name, instance, cancellation))
    }

    fn end_pools<'e>(
        &'e self,
        cancellation: &'e Cancellation,
    ) -> LocalBoxFuture<'e, Vec<EndedPool>> {
        Box::pin(self.backend.end_pools_of(&self.job.name, cancellation))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.all()
    }

    fn lacks_probe(&self) -> Option<String> {
        self.notes.lacks_probe()
    }

    fn detaching(&self) -> Option<&dyn Detaching> {
        Some(self)
    }

    fn run<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> BackendFuture<'r, Option<CanaryResult>> {
        Box::pin(self.run_canary(run, watcher))
    }
}
