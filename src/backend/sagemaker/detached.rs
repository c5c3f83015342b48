//! Training jobs that one process starts, and that another one collects.

use std::collections::BTreeSet;

use futures_util::future::LocalBoxFuture;

use super::SagemakerBackend;
use super::cleanup::StoppedRest;
use super::find::{Found, Known};
use super::launch::LaunchOutcome;
use super::name::JobName;
use super::quota_room::UsedRoom;
use super::ready_job::ReadyJob;
use super::retries::Retries;
use crate::backend::{
    BackendError, BackendFuture, Cancellation, Detaching, RunPart, Standing, Started, Watcher,
};
use crate::canary::CanaryRun;

impl ReadyJob<'_> {
    async fn start_canary(
        &self,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
    ) -> Result<Started, BackendError> {
        let (key, retries) = (self.key_of(run), Retries::of(run));
        let (found, room) = match self.launch(run, &key, &retries, watcher).await? {
            LaunchOutcome::Job(found, room) => (found, room),
            LaunchOutcome::NoRoom(error) => return Ok(Started::NoRoom(error)),
            LaunchOutcome::HeldBack => return Ok(Started::HeldBack),
        };
        let training_job = found.name.to_string();
        if found.is_over {
            return Ok(Started::Theirs {
                training_job,
                is_awaited: false,
            });
        }
        UsedRoom::keep(room);
        if !found.may_stop {
            return Ok(Started::Theirs {
                training_job,
                is_awaited: !found.is_detached,
            });
        }
        self.backend
            .detached
            .borrow_mut()
            .insert(training_job.clone());
        self.detached.borrow_mut().push(found.name);
        Ok(Started::Ours { training_job })
    }
}

impl Detaching for ReadyJob<'_> {
    fn start<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> BackendFuture<'r, Started> {
        Box::pin(self.start_canary(run, watcher))
    }

    fn stop_started<'r>(&'r self, watcher: &'r Watcher<'r>) -> LocalBoxFuture<'r, ()> {
        Box::pin(async {
            let detached = std::mem::take(&mut *self.detached.borrow_mut());
            let detached: Vec<Found> = detached.into_iter().map(Found::created).collect();
            for found in &detached {
                let name = found.name.to_string();
                self.backend.detached.borrow_mut().remove(&name);
                self.backend.stop_if_ours(found).await;
            }
            // What costs most is stopped first.
            for found in &detached {
                self.tidy(found, watcher).await;
            }
        })
    }

    fn look<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> BackendFuture<'r, Standing> {
        Box::pin(async {
            let first = JobName::new(&self.job.name, &self.key_of(run).short(), 0);
            Ok(match self.find(run, &first, watcher).await? {
                Known::Job(found) if found.is_over => Standing::Over {
                    training_job: found.name.to_string(),
                },
                Known::Job(found) => Standing::Running {
                    training_job: found.name.to_string(),
                },
                Known::Free(_) => Standing::Missing {
                    training_job: first.to_string(),
                },
            })
        })
    }
}

impl SagemakerBackend {
    /// At the end of a run of the gate: stops every job of it that is left, but for those that were detached. After a signal
    /// nothing is.
    pub(super) async fn stop_what_nobody_wants(
        &self,
        cancellation: &Cancellation,
    ) -> Result<StoppedRest, BackendError> {
        if self.tags.part != RunPart::Detach || cancellation.is_cancelled() {
            return self.stop_the_rest(cancellation, &BTreeSet::new()).await;
        }
        let kept = self.detached.borrow().clone();
        kept.iter().for_each(|name| self.forget(name));
        let stopped = self.stop_the_rest(cancellation, &kept).await;
        if !cancellation.is_cancelled() {
            return stopped;
        }
        // The signal came while the rest was stopped.
        self.own.borrow_mut().extend(kept);
        let stopped_before = stopped.unwrap_or_default();
        let stopped = self.stop_the_rest(cancellation, &BTreeSet::new()).await?;
        Ok(stopped_before.and(stopped))
    }
}
