//! Runs the canaries of a ready job as training jobs.

use futures_util::future::LocalBoxFuture;

use super::description::{JobDescription, JobState, age};
use super::failure::FailureClass;
use super::find::Found;
use super::name::JobName;
use super::pools::StartOnPool;
use super::ready_job::ReadyJob;
use super::result::LastJob;
use crate::backend::{
    BackendFuture, BackendKeys, CanaryEnd, CanaryPayer, CanaryReport, CanaryState, CanaryStep,
    Cancellation, EndedPool, JobNotes, Ready, Room, RunPart, Watcher,
};
use crate::canary::{CanaryRun, Dataset};
use crate::instance::InstanceConfiguration;
use crate::measurement::Outcome;
use crate::outside_error::OutsideError;
use crate::units::Seconds;

/// A machine that did not come for so long will hardly come at once.
const LONGEST_WAIT: Seconds = Seconds(1800.0);
/// A try with less time than this left is not worth its start.
const SHORTEST_TRY: Seconds = Seconds(60.0);

impl ReadyJob<'_> {
    async fn run_canary<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> CanaryStep<'r> {
        // Who detaches waits neither for it nor for room.
        if self.backend.tags.part == RunPart::Detach {
            let launched = self.launch(run, watcher).await;
            let state =
                launched.map(|found| found.map_or_else(|state| state, |found| found.state()));
            return state.into();
        }
        let mut last = None;
        let followed = self.follow(run, watcher, &mut last).await;
        let last = match (followed, last) {
            (Ok(None), Some(last)) => last,
            (state, last) => {
                let state = state.map(|state| state.unwrap_or(CanaryState::HeldBack));
                return CanaryStep::Ended(self.ended(run, state, last));
            }
        };
        let known = self.preliminary(run, &last);
        let rest = async move {
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
        state: Result<CanaryState, OutsideError>,
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

    /// Follows a canary until its training job is over, or a signal ended it: `last` is then its last training job. Else returns how far
    /// it is. What SageMaker broke off is tried once more, with what is left of its time.
    async fn follow(
        &self,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
        last: &mut Option<LastJob>,
    ) -> Result<Option<CanaryState>, OutsideError> {
        let mut lost = None;
        let mut run = run.clone();
        loop {
            let found = match self.launch(&run, watcher).await? {
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
            let watched = self.watch(&found, watcher).await;
            self.backend.state.borrow_mut().watched.remove(&name);
            let description = match watched {
                Ok(Some(description)) => &*last.ended.insert(Box::new(description)),
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.tidy(&found, watcher.cancellation).await;
                    return Err(error);
                }
            };
            if lost.is_none()
                && found.is_new
                && let Some(billed) = broken_off(&run, description)
            {
                self.backend.state.borrow_mut().counted.insert(name);
                watcher.fact("SageMaker failed, or had no machine; trying once more");
                self.tidy(&found, watcher.cancellation).await;
                lost = Some(billed);
                run.max_runtime = run.max_runtime.map(|limit| limit - billed);
                continue;
            }
            // Whoever started a canary that is not ours may have stopped it.
            if found.is_new || self.still_stands(&run, &found, description) {
                self.free_pool(&run, &found, description);
                return Ok(None);
            }
        }
    }

    /// Measures a canary whose training job is over, and removes what it left.
    async fn measure(
        &self,
        run: &CanaryRun,
        last: &LastJob,
        watcher: &Watcher<'_>,
    ) -> Result<CanaryState, OutsideError> {
        let mut pooled = StartOnPool::default();
        if let Some(description) = &last.ended {
            // A pool that is not looked at now is looked at when pools are ended.
            let looking = self.look_at_pool(&last.found, description);
            pooled = (watcher.cancellation.unless(looking).await).unwrap_or_default();
        }
        self.end_surplus_pools(&run.instance, watcher).await;
        let result = self.result(run, last, &pooled, watcher).await;
        self.tidy(&last.found, watcher.cancellation).await;
        if result.is_err() {
            // Pools that are no more are billed with what is ended last.
            self.backend.state.borrow_mut().pools.extend(pooled.ended);
        }
        result.map(|result| CanaryState::Measured(Box::new(result)))
    }

    /// The name that the first attempt at a canary has.
    pub(super) fn first_name(&self, run: &CanaryRun) -> JobName {
        JobName::new(&self.job.name, &self.key_of(run).short(), 0)
    }
}

/// What a try was billed after which another one is worth its start, within the time that was set aside for the canary: SageMaker broke
/// it off by an error of its own, or had no machine for it.
fn broken_off(run: &CanaryRun, ended: &JobDescription) -> Option<Seconds> {
    let JobState::Failed {
        reason: Some(reason),
    } = &ended.state
    else {
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

    fn room(&self, instance: &InstanceConfiguration) -> Room {
        let at_once = self.at_once(instance);
        let pool = self.pool_for(instance);
        Room {
            at_once: (pool.as_ref()).map_or(at_once, |pool| at_once.min(pool.lanes.max(1))),
            keep_alive: pool.map(|pool| pool.keep_alive),
            host: None,
        }
    }

    fn has_room_for_all(&self, instances: &[&InstanceConfiguration]) -> bool {
        self.quotas.iter().all(|(kind, quotas)| {
            let machines = instances.iter().map(|one| {
                let by_type = one.machines_by_type();
                let count = by_type.get(kind).copied().unwrap_or(0);
                self.room(one).at_once.saturating_mul(count)
            });
            let needed = machines.fold(0, u32::saturating_add);
            quotas.training.is_none_or(|limit| needed <= limit)
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
            let first = self.first_name(run);
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
