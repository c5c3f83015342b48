//! The `replay` backend: a recording stands in for the machine. Nothing is run; each recorded run is handed out once.

mod recording;

pub use self::recording::ReplayBackend;

use std::collections::BTreeMap;

use futures_util::future::LocalBoxFuture;

use super::{
    Backend, BackendFuture, BackendKeys, CanaryResult, CanaryState, CanaryStep, JobNotes,
    ListedData, Planned, Ready, Room, Session, Watcher,
};
use crate::canary::{CanaryRun, Dataset, Key, data_key, listing_digest};
use crate::instance::InstanceConfiguration;
use crate::measurement::{Measurement, Outcome, Phases, Usage};
use crate::outside_error::OutsideError;
use crate::plan::{NotMeasured, Plan};
use crate::spec::{BackendKind, Job};
use crate::units::{Fraction, Seconds};

impl ReplayBackend {
    /// The next recorded run of this job, configuration and fraction as it was recorded, but ended at the limit of the run
    /// asked for.
    fn replay(&self, job: &Job, run: &CanaryRun) -> Result<CanaryResult, OutsideError> {
        let recorded = self.take(job, run)?;
        let measurement = Measurement {
            backend: Some(BackendKind::Replay),
            // A recording does not say which script starts a cluster's groups.
            instance: run.instance.clone(),
            fraction: run.fraction,
            ..recorded.clone()
        };
        Ok(CanaryResult {
            measurement: match run.max_runtime {
                Some(limit) => within(limit, measurement),
                None => measurement,
            },
            log_tail: Vec::new(),
            log: Vec::new(),
            ended_pools: Vec::new(),
        })
    }
}

impl Backend for ReplayBackend {
    fn open<'a>(&'a self, job: &'a Job) -> BackendFuture<'a, Box<dyn Session<'a> + 'a>> {
        let job = ReplayJob {
            backend: self,
            job,
            code: None,
        };
        Box::pin(async move { Ok(Box::new(job) as Box<dyn Session<'a> + 'a>) })
    }
}

/// A job whose runs are handed out. It is ready when it is open.
#[derive(Debug)]
struct ReplayJob<'a> {
    backend: &'a ReplayBackend,
    job: &'a Job,
    /// Known when it is prepared.
    code: Option<Key>,
}

impl<'a> Session<'a> for ReplayJob<'a> {
    fn list(&mut self) -> BackendFuture<'_, ListedData> {
        let (recording, job) = (self.backend, self.job);
        let listing = recording.dataset(job).map(|dataset| ListedData {
            dataset,
            knows_bytes: recording.bytes_total(job).is_some(),
            notes: recording.notes(job),
        });
        Box::pin(async { listing })
    }

    fn check_supply(&self, plan: &mut Plan) -> Result<Vec<OutsideError>, OutsideError> {
        let (recording, job) = (self.backend, self.job);
        recording.check(job, &job.instance, plan.runs())?;
        let mut given_up = Vec::new();
        for alternative in &mut plan.all[1..] {
            if let Ok(runs) = &alternative.runs
                && let Err(error) = recording.check(job, &alternative.instance, runs)
            {
                given_up.push(error);
                alternative.runs = Err(NotMeasured::CouldNotRun);
            }
        }
        Ok(given_up)
    }

    fn prepare<'p>(self: Box<Self>, planned: Planned<'p>) -> BackendFuture<'p, Box<dyn Ready + 'a>>
    where
        'a: 'p,
    {
        let code = planned.code;
        Box::pin(async move { Ok(Box::new(Self { code, ..*self }) as Box<dyn Ready + 'a>) })
    }
}

impl Ready for ReplayJob<'_> {
    /// The data of a recording are what it lists, so two recordings of the same sizes are of the same data, whatever times
    /// they hold.
    fn keys<'k>(&'k self, dataset: &'k Dataset) -> BackendFuture<'k, BackendKeys> {
        let channels = dataset.channels.iter().zip(&self.job.training.channels);
        let data = data_key(channels.map(|(data, channel)| {
            let digest = listing_digest(&channel.uri, &data.objects);
            (data.name.as_str(), digest)
        }));
        let keys = BackendKeys {
            code: self.code,
            data: Some(data),
            machine: None,
            lacks_probe: false,
        };
        Box::pin(async { Ok(keys) })
    }

    fn supply(
        &self,
        instance: &InstanceConfiguration,
        fraction: Fraction,
        work: Option<f64>,
    ) -> Option<u32> {
        let left = self.backend.left(self.job, instance, fraction, work);
        u32::try_from(left.count()).ok()
    }

    fn room(&self, _: &InstanceConfiguration) -> Room {
        Room {
            at_once: self.job.canary.parallel.max(1),
            keep_alive: None,
            host: None,
        }
    }

    fn notes(&self) -> JobNotes {
        JobNotes {
            sentences: self.backend.notes(self.job),
            lacks_probe: None,
        }
    }

    /// It is at its end at once, so there is nothing to cancel.
    fn run<'r>(
        &'r self,
        run: &'r CanaryRun,
        _: &'r Watcher<'r>,
    ) -> LocalBoxFuture<'r, CanaryStep<'r>> {
        let result = self.backend.replay(self.job, run);
        let measured = result.map(|result| CanaryState::Measured(Box::new(result)));
        Box::pin(async { measured.into() })
    }
}

/// What a machine that ends the run at `limit` would have measured: of a longer run only that it took longer.
fn within(limit: Seconds, recorded: Measurement) -> Measurement {
    let took = recorded.time();
    if took.is_none_or(|took| took <= limit) {
        return recorded;
    }
    Measurement {
        outcome: Outcome::TimedOut,
        phases: Phases::default(),
        training_seconds: Some(limit),
        billable_seconds: Some(limit),
        usage: Usage::default(),
        hosts: Vec::new(),
        step_seconds: None,
        metrics: BTreeMap::new(),
        ended_at: None,
        notes: Vec::new(),
        ..recorded
    }
}

#[cfg(test)]
mod tests;
