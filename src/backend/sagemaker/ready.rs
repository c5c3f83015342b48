//! Runs the canaries of a ready job as training jobs.

use futures_util::future::LocalBoxFuture;

use super::find::Found;
use super::name::JobName;
use super::pools::StartOnPool;
use super::quota_room::UsedRoom;
use super::ready_job::ReadyJob;
use super::result::LastJob;
use super::retries::Retries;
use super::watch::WatchEnd;
use crate::backend::{
    BackendError, BackendFuture, BackendKeys, CanaryEnd, CanaryPayer, CanaryProgress, CanaryReport,
    CanaryState, CanaryStep, Cancellation, EndedPool, JobNotes, Ready, Room, RunPart, Watcher,
};
use crate::canary::{CanaryRun, Dataset};
use crate::instance::InstanceConfiguration;

impl ReadyJob<'_> {
    async fn run_canary<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> CanaryStep<'r> {
        if self.backend.tags.part == RunPart::Detach {
            return self.start_canary(run, watcher).await.into();
        }
        let mut last = None;
        let followed = self.follow(run, watcher, &mut last).await;
        let (room, last) = match (followed, last) {
            (Ok(Ok(room)), Some(last)) => (room, last),
            (Ok(Ok(_)), None) => return Ok(CanaryState::HeldBack).into(),
            (Ok(Err(state)), last) => return CanaryStep::Ended(self.ended(run, Ok(state), last)),
            (Err(error), last) => return CanaryStep::Ended(self.ended(run, Err(error), last)),
        };
        let known = (last.ended.as_ref())
            .and_then(|ended| self.preliminary(run, &last.found, ended, &last.retries));
        let rest = async move {
            // The room is given up only here, so that a failed canary is heard of before another one takes it.
            drop(room);
            let measured = self.measure(run, &last, watcher).await;
            self.ended(run, measured, Some(last))
        };
        match known {
            Some(known) => CanaryStep::Free(Box::new(known), Box::pin(rest)),
            None => CanaryStep::Ended(rest.await),
        }
    }

    /// The end of a canary, with what is known of its bill where it has no result. `last` is its last training job.
    fn ended(
        &self,
        run: &CanaryRun,
        state: Result<CanaryState, BackendError>,
        last: Option<LastJob>,
    ) -> CanaryEnd {
        let last = last.filter(|_| !matches!(state, Ok(CanaryState::Measured(_))));
        let paid_for_nothing = last.and_then(|last| last.without_result(run)).map(Box::new);
        self.backend.state.borrow_mut().has_unmeasured |= paid_for_nothing.is_some();
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

    /// Follows a canary until its training job is over, or a signal ended it; returns the room that it had. `last` is then its last
    /// training job.
    async fn follow(
        &self,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
        last: &mut Option<LastJob>,
    ) -> Result<Result<UsedRoom, CanaryState>, BackendError> {
        let key = self.key_of(run);
        let mut retries = Retries::of(run);
        loop {
            let (found, room) = match self.launch(run, &key, &retries, watcher).await? {
                Ok(launched) => launched,
                Err(state) => return Ok(Err(state)),
            };
            let last = last.insert(LastJob {
                found: found.clone(),
                ended: None,
                retries: retries.clone(),
            });
            let (name, instance) = (found.name.to_string(), run.instance.clone());
            (self.backend.state.borrow_mut().watched).insert(name.clone(), instance);
            let end = self.watch(&found, watcher).await;
            self.backend.state.borrow_mut().watched.remove(&name);
            let description = match end {
                WatchEnd::Lost { error, is_left } => {
                    if !is_left {
                        self.backend.stop_if_ours(&found).await;
                    }
                    self.tidy(&found, watcher.cancellation).await;
                    return Err(error);
                }
                WatchEnd::Cancelled => return Ok(Ok(room)),
                WatchEnd::Description(description) => description,
            };
            let description = &*last.ended.insert(description);
            if retries.try_again(&found, description) {
                let tried = found.name.to_string();
                self.backend.state.borrow_mut().counted.insert(tried);
                watcher.report(CanaryProgress::Fact(
                    "SageMaker failed, or had no machine; trying once more",
                ));
                self.tidy(&found, watcher.cancellation).await;
                continue;
            }
            // Whoever started a canary that is not ours may have stopped it.
            if found.is_new || self.still_stands(run, &found, description) {
                self.free_pool(run, &found, description);
                return Ok(Ok(room));
            }
        }
    }

    /// Measures a canary whose training job is over, and removes what it left.
    async fn measure(
        &self,
        run: &CanaryRun,
        LastJob {
            found,
            ended,
            retries,
        }: &LastJob,
        watcher: &Watcher<'_>,
    ) -> Result<CanaryState, BackendError> {
        let pooled = match ended {
            // A pool that is not looked at now is looked at when pools are ended.
            Some(description) => tokio::select! {
                pooled = self.look_at_pool(found, description) => pooled,
                () = watcher.cancellation.cancelled() => StartOnPool::default(),
            },
            None => StartOnPool::default(),
        };
        self.end_surplus_pools(&run.instance, watcher).await;
        let ended = ended.as_deref();
        let result = (self.result(run, found, ended, &pooled, retries, watcher)).await;
        self.tidy(found, watcher.cancellation).await;
        if result.is_err() {
            // Pools that are no more are billed with what is ended last.
            self.backend.state.borrow_mut().pools.extend(pooled.ended);
        }
        result.map(|result| CanaryState::Measured(Box::new(result)))
    }
}

impl Ready for ReadyJob<'_> {
    /// Those that its training jobs are named by: without git the packed source stands for the code.
    fn keys<'k>(&'k self, _: &'k Dataset) -> BackendFuture<'k, BackendKeys> {
        let keys = BackendKeys {
            code: Some(self.code),
            data: Some(self.data),
            machine: None,
            lacks_probe: self.lacks_probe,
        };
        Box::pin(async { Ok(keys) })
    }

    fn room(&self, instance: &InstanceConfiguration) -> Room<'_> {
        let at_once = self.at_once(instance, self.job.canary.parallel);
        let pool = self.pool_for(instance);
        Room {
            at_once: pool.map_or(at_once, |pool| at_once.min(pool.lanes.max(1))),
            pool,
        }
    }

    fn has_room_for_all(&self, instances: &[&InstanceConfiguration]) -> bool {
        self.quotas.iter().all(|(kind, limit)| {
            let machines = instances.iter().map(|one| {
                let by_type = one.machines_by_type();
                let count = by_type.get(kind).copied().unwrap_or(0);
                self.room(one).at_once.saturating_mul(count)
            });
            machines.fold(0, u32::saturating_add) <= *limit
        })
    }

    fn notes(&self) -> JobNotes {
        self.notes.all()
    }

    fn run<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> LocalBoxFuture<'r, CanaryStep<'r>> {
        Box::pin(self.run_canary(run, watcher))
    }

    fn look<'r>(
        &'r self,
        run: &'r CanaryRun,
        report: CanaryReport<'r>,
    ) -> BackendFuture<'r, CanaryState> {
        Box::pin(async {
            let first = JobName::new(&self.job.name, &self.key_of(run).short(), 0);
            let found = self.find(run, &first, report).await?;
            let training_job = first.to_string();
            Ok(found.map_or(CanaryState::Missing { training_job }, |found| found.state()))
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
        let job = &self.job.name;
        Box::pin(self.backend.end_pools_of(job, on, cancellation))
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
