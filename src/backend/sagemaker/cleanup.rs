//! Nothing billable is left behind by a run of the gate: stopping what is its own, and removing what it put into S3.

use std::collections::BTreeSet;
use std::time::Duration;

use super::pace::unless_since;
use super::placing::output;
use super::sweep::{NotStopped, places_in};
use super::{Found, JobName, JobState, LeftoverKind, ReadyJob};
use crate::aws::call::{Call, CallResult};
use crate::backend::SagemakerBackend;
use crate::grammar::{count, list};
use crate::outside_error::{OutsideError, OutsideResult};

/// From the signal to the end of the gate.
const TIME_TO_STOP: Duration = Duration::from_secs(5);
/// For the last look at what is left; after a signal somebody waits for it.
const TIME_TO_FINISH: Duration = Duration::from_secs(30);

/// Between two requests to stop a job that AWS does not show yet.
const BETWEEN_TRIES: Duration = Duration::from_millis(250);

const IN_TIME: &str = "AWS did not answer in time";

const STOP: Call<'_> = Call("sagemaker:StopTrainingJob");

impl SagemakerBackend {
    /// Stops the job if it is this process's to stop; what cannot be stopped stays among those that may be running, and is
    /// said.
    pub(super) async fn stop_if_ours(&self, found: &Found) {
        if !found.may_stop {
            return;
        }
        let name = found.name.to_string();
        let mut why = IN_TIME.to_owned();
        let stopping = async {
            loop {
                let Err(error) = self.stop(&name).await else {
                    return true;
                };
                why = error.to_string();
                // Else it was created in this moment.
                if matches!(&error, NotStopped::Refused(error) if !error.is_not_there()) {
                    return false;
                }
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
        };
        if matches!(tokio::time::timeout(TIME_TO_STOP, stopping).await, Ok(true)) {
            return self.forget(&name);
        }
        tracing::error!(
            "the training job {name} could not be stopped ({why}); it ends at its time limit, or stop it with `canary-gate sweep`"
        );
    }

    /// Asks once that a training job stops, which is over then, or will be. Why a request was refused shows a look at the job, never the
    /// words.
    pub(super) async fn stop(&self, name: &str) -> Result<(), NotStopped> {
        match self.ask_to_stop(name).await {
            Err(error) if error.is_not_there() => {
                let described = self.describe(name).await.map_err(NotStopped::Refused)?;
                match described.map(|job| job.state) {
                    None => Err(NotStopped::NotShown),
                    Some(JobState::Running(_)) => Err(NotStopped::Refused(error)),
                    Some(_) => Ok(()),
                }
            }
            stopped => stopped.map_err(NotStopped::Refused),
        }
    }

    pub(super) async fn ask_to_stop(&self, name: &str) -> CallResult<()> {
        let request = self.aws().sagemaker.stop_training_job();
        STOP.heard(request.training_job_name(name).send().await)
            .map(drop)
    }

    /// Stops every job of this run that is left, such as one that a killed gate started and that this one did not ask for again,
    /// and ends the pools that it left. `kept` are those that go on.
    pub(super) async fn stop_the_rest(
        &self,
        kept: &BTreeSet<String>,
        rest: &mut StoppedRest,
    ) -> OutsideResult<()> {
        let cancellation = &self.tags.cancellation;
        let names: Vec<String> = self.state.borrow().own.iter().cloned().collect();
        if names.is_empty() && !self.access.initialized() && !self.tags.is_resumed {
            return Ok(());
        }
        let stopping = async {
            let mut not_stopped = Vec::new();
            for name in names {
                match self.stop(&name).await {
                    Ok(()) => {
                        self.forget(&name);
                        rest.jobs += 1;
                    }
                    Err(why) => not_stopped.push(format!("{name} ({why})")),
                }
            }
            if !not_stopped.is_empty() {
                return Err(OutsideError::transient(format!("could not stop {}", list(&not_stopped)))
                    .help("start the check again, which goes on with them, or stop them with `canary-gate sweep`; each ends at its time limit"));
            }
            if !self.tags.is_exclusive {
                return Ok(Vec::new());
            }
            let mut left = self.listed(LeftoverKind::Running).await?;
            // This process has ended its own; only one before it may have left another.
            if self.tags.is_resumed {
                left.extend(self.listed(LeftoverKind::WarmPool).await?);
            }
            let known = &self.state.borrow().kept_pools;
            left.retain(|leftover| {
                let name = &leftover.training_job;
                leftover.run == self.tags.run && !kept.contains(name) && !known.contains(name)
            });
            Ok(left)
        };
        let stopping = tokio::time::timeout(TIME_TO_FINISH, stopping);
        let left = unless_since(cancellation, TIME_TO_STOP, stopping).await;
        let left = left.and_then(Result::ok).ok_or_else(no_time)??;
        for leftover in &left {
            match leftover.kind {
                LeftoverKind::Running => rest.jobs += 1,
                LeftoverKind::WarmPool => rest.pools += 1,
            }
        }
        // A job that is being stopped has its machines for minutes.
        let stopping = self.stop_all(left);
        let swept = unless_since(cancellation, TIME_TO_STOP, stopping).await;
        (swept.ok_or_else(no_time)?.into_iter()).try_for_each(|(_, result)| result)
    }
}

/// What no process waited for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StoppedRest {
    pub(super) jobs: usize,
    pools: usize,
}

impl StoppedRest {
    /// As a sentence without a capital; `None` where there was nothing.
    pub(super) fn said(self) -> Option<String> {
        let jobs = (self.jobs > 0).then(|| format!("stopped {}", count(self.jobs, "training job")));
        let pools = (self.pools > 0).then(|| format!("ended {}", count(self.pools, "warm pool")));
        let all = list(&Vec::from_iter(jobs.into_iter().chain(pools)));
        (!all.is_empty()).then(|| format!("{all} of this run that no process waits for"))
    }
}

fn no_time() -> OutsideError {
    OutsideError::transient("AWS did not answer in time, so training jobs of this run may be left")
        .help("list them with `canary-gate sweep --dry-run`; each ends at its time limit")
}

impl ReadyJob<'_> {
    /// Removes what a canary that is over, or is being stopped, left in S3: its manifests, its staged sample, its model.
    pub(super) async fn tidy(&self, found: &Found) {
        let is_running = (self.backend.state.borrow().own).contains(&found.name.to_string());
        if found.may_stop && !is_running {
            self.in_time(self.remove_all_of(&found.name), &found.name)
                .await;
        }
    }

    /// Removes what was placed for a canary that was not started; if there is a job of its name by now, somebody else needs
    /// it.
    pub(super) async fn unplace(&self, name: &JobName) {
        let removed = async {
            match self.backend.describe(&name.to_string()).await {
                Ok(None) => self.remove_all_of(name).await,
                Ok(Some(_)) => {}
                Err(error) => say_left(name, &error.to_string()),
            }
        };
        self.in_time(removed, name).await;
    }

    /// Removes what lies in S3 for a job, as far as a signal leaves time.
    async fn in_time(&self, removed: impl Future<Output = ()>, name: &JobName) {
        let cancellation = &self.backend.tags.cancellation;
        if (unless_since(cancellation, TIME_TO_STOP, removed).await).is_none() {
            say_left(name, IN_TIME);
        }
    }

    async fn remove_all_of(&self, name: &JobName) {
        let Ok(output) = output(self.job) else {
            return;
        };
        for place in places_in(&output, &name.to_string()) {
            if let Err(error) = self.backend.remove(&place).await {
                tracing::warn!("{}; {}", error.what, error.help);
                self.notes.add(format!("what canaries wrote below {output} could not all be removed; `canary-gate sweep` tries again"));
            }
        }
    }
}

fn say_left(name: &JobName, why: &str) {
    tracing::warn!(
        "what was placed for {name} may be left in S3 ({why}); `canary-gate sweep` removes it"
    );
}
