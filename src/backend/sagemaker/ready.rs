//! Runs the canaries of a ready job as training jobs.

use super::last_job::LastJob;
use super::ready_job::ReadyJob;
use super::retries::Retries;
use super::watch::WatchEnd;
use futures_util::future::LocalBoxFuture;

use super::find::{Found, Known};
use super::name::JobName;
use super::pool_start::StartOnPool;
use super::quota_room::UsedRoom;
use crate::backend::{
    BackendError, BackendFuture, BackendKeys, CanaryEnd, CanaryPayer, CanaryProgress, CanaryReport,
    CanaryState, Cancellation, EndedPool, JobNotes, Ready, Room, RunPart, Watcher,
};
use crate::canary::{CanaryRun, Dataset, Key, canary_key, without_probe};
use crate::instance::InstanceConfiguration;

impl ReadyJob<'_> {
    /// The key by which a canary's training job is named.
    pub(super) fn key_of(&self, run: &CanaryRun) -> Key {
        let key = canary_key(&self.prepared.code, &self.prepared.data, run);
        match self.prepared.lacks_probe {
            true => without_probe(&key),
            false => key,
        }
    }

    async fn run_canary(&self, run: &CanaryRun, watcher: &Watcher<'_>) -> CanaryEnd {
        if self.backend.tags.part == RunPart::Detach {
            return self.start_canary(run, watcher).await.into();
        }
        let mut last = None;
        let state = self.try_canary(run, watcher, &mut last).await;
        let last = last.filter(|_| !matches!(state, Ok(CanaryState::Measured(_))));
        let paid_for_nothing = last.and_then(|last| last.without_result(run));
        if paid_for_nothing.is_some() {
            self.backend.state.borrow_mut().has_unmeasured = true;
        }
        CanaryEnd {
            state,
            paid_for_nothing,
        }
    }

    /// Starts a canary, unless one that stands for it is there, and waits neither for it nor for room.
    async fn start_canary(
        &self,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
    ) -> Result<CanaryState, BackendError> {
        let (key, retries) = (self.key_of(run), Retries::of(run));
        let (found, room) = match self.launch(run, &key, &retries, watcher).await? {
            Ok(launched) => launched,
            Err(state) => return Ok(state),
        };
        // Its room is never free again in this process.
        if !found.is_over {
            UsedRoom::keep(room);
        }
        Ok(found.state())
    }

    /// `last` is then its last training job.
    async fn try_canary(
        &self,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
        last: &mut Option<LastJob>,
    ) -> Result<CanaryState, BackendError> {
        let key = self.key_of(run);
        let mut retries = Retries::of(run);
        loop {
            let (found, room) = match self.launch(run, &key, &retries, watcher).await? {
                Ok(launched) => launched,
                Err(state) => return Ok(state),
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
                    self.tidy(&found, watcher.cancellation).await;
                    return Err(error);
                }
                WatchEnd::Cancelled => None,
                WatchEnd::Description(description) => Some(description),
            };
            last.ended.clone_from(&ended);
            if let Some(description) = &ended {
                if retries.try_again(&found, description) {
                    let tried = found.name.to_string();
                    self.backend.state.borrow_mut().counted.insert(tried);
                    watcher.report(CanaryProgress::Fact(
                        "SageMaker failed, or had no machine; trying once more",
                    ));
                    self.tidy(&found, watcher.cancellation).await;
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
            self.tidy(&found, watcher.cancellation).await;
            // What could not be measured is billed with what is ended last.
            if result.is_err() {
                let of_job = pooled
                    .ended
                    .into_iter()
                    .map(|pool| (self.job.name.clone(), pool));
                self.backend.unbilled_pools.borrow_mut().extend(of_job);
            }
            return result.map(|result| CanaryState::Measured(Box::new(result)));
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

    fn room(&self, instance: &InstanceConfiguration) -> Room<'_> {
        let at_once = self.prepared.at_once(instance, self.job.canary.parallel);
        let pool = self.pool_for(instance);
        Room {
            at_once: pool.map_or(at_once, |pool| at_once.min(pool.lanes.max(1))),
            pool,
        }
    }

    fn has_room_for_all(&self, instances: &[&InstanceConfiguration]) -> bool {
        self.prepared.quotas.iter().all(|(kind, limit)| {
            let machines = instances.iter().map(|one| {
                let by_type = one.machines_by_type();
                let count = by_type.get(kind).copied().unwrap_or(0);
                self.room(one).at_once.saturating_mul(count)
            });
            machines.fold(0, u32::saturating_add) <= *limit
        })
    }

    fn notes(&self) -> JobNotes {
        JobNotes {
            sentences: self.notes.all(),
            lacks_probe: self.notes.lacks_probe(),
        }
    }

    fn run<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> LocalBoxFuture<'r, CanaryEnd> {
        Box::pin(self.run_canary(run, watcher))
    }

    fn look<'r>(
        &'r self,
        run: &'r CanaryRun,
        report: CanaryReport<'r>,
    ) -> BackendFuture<'r, CanaryState> {
        Box::pin(async {
            let first = JobName::new(&self.job.name, &self.key_of(run).short(), 0);
            Ok(match self.find(run, &first, report).await? {
                Known::Job(found) => found.state(),
                Known::Free(_) => CanaryState::Missing {
                    training_job: first.to_string(),
                },
            })
        })
    }

    fn stop<'e>(
        &'e self,
        training_jobs: &'e [String],
        cancellation: &'e Cancellation,
    ) -> LocalBoxFuture<'e, ()> {
        Box::pin(async {
            let names = training_jobs.iter().filter_map(|name| JobName::parse(name));
            let started: Vec<Found> = names.map(Found::created).collect();
            for found in &started {
                self.backend.stop_if_ours(found).await;
            }
            // What costs most is stopped first.
            for found in &started {
                self.tidy(found, cancellation).await;
            }
        })
    }

    fn end_pools<'e>(
        &'e self,
        on: Option<&'e InstanceConfiguration>,
        cancellation: &'e Cancellation,
    ) -> LocalBoxFuture<'e, Vec<EndedPool>> {
        let (backend, job) = (self.backend, &self.job.name);
        match on {
            Some(instance) => Box::pin(backend.end_pools_on(job, instance, cancellation)),
            None => Box::pin(backend.end_pools_of(job, cancellation)),
        }
    }
}

impl Found {
    /// How far its training job was when it was found.
    fn state(&self) -> CanaryState {
        let training_job = self.name.to_string();
        if self.is_over {
            return CanaryState::Over { training_job };
        }
        CanaryState::Running {
            training_job,
            payer: match (self.may_stop, self.is_detached) {
                (true, _) => CanaryPayer::ThisRun,
                (false, true) => CanaryPayer::Nobody,
                (false, false) => CanaryPayer::AnotherRun,
            },
        }
    }
}
