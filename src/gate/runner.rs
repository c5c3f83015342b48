//! Running canaries: bounded, in plan order, each measurement kept as it comes, nothing launched after one failed.

use std::cell::Cell;

use futures_util::stream::{self, StreamExt};

use crate::backend::{CanaryResult, Cancellation, Ready, Watcher};
use crate::canary::CanaryRun;
use crate::console::progress::{Earlier, Progress};
use crate::console::{AppError, indented, say};
use crate::gate::job_keys::JobKeys;
use crate::gate::request::Reuse;
use crate::gate::run_history::RunHistory;
use crate::gate::store::Store;
use crate::instance::Offer;
use crate::measurement::{Measurement, Reused};
use crate::plan;
use crate::spec::Job;
use crate::units::Usd;
use crate::workspace::project::Project;

/// What running needs.
pub(crate) struct Runner<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) progress: &'a Progress,
    pub(crate) cancellation: &'a Cancellation,
    /// `None` where nothing is kept of the job's runs, and none is taken over.
    pub(crate) records: Option<Records<'a>>,
}

/// Where canaries of one job are looked for before they are run, and kept after.
#[derive(Clone)]
pub(crate) struct Records<'a> {
    pub(crate) project: &'a Project,
    pub(crate) job: &'a Job,
    pub(crate) history: &'a RunHistory,
    pub(crate) keys: JobKeys,
    /// Whether canaries of earlier runs may stand for those of this one.
    pub(crate) reuse: Reuse,
}

impl Records<'_> {
    /// The canary of an earlier run that stands for this one.
    async fn found(&self, run: &CanaryRun) -> Result<Option<Measurement>, AppError> {
        let key = self.keys.canary(run);
        match (self.reuse, key) {
            (Reuse::Young, Some(key)) => {
                self.history
                    .canary(self.job, run, &key, jiff::Timestamp::now())
                    .await
            }
            _ => Ok(None),
        }
    }

    /// Keeps a measurement for runs to come, unless the code was edited meanwhile: then nobody knows what was measured.
    async fn keep(&self, run: &CanaryRun, measurement: &Measurement) {
        let Some(key) = self.keys.canary(run) else {
            return;
        };
        // Elsewhere a canary has its own copy of the code from the beginning.
        let runs_here = self.project.traits().runs_here;
        if runs_here && self.project.code_key(self.job).ok().flatten() != self.keys.code {
            say(
                "warning: the code was changed while a canary ran; what it measured is kept for no other run",
            );
            return;
        }
        self.history
            .keep_canary(&self.keys, &key, measurement)
            .await;
    }
}

/// What a batch of canaries gave.
pub(crate) struct Ran {
    /// In plan order.
    pub(crate) measurements: Vec<Measurement>,
    /// Why it broke off.
    pub(crate) failure: Option<AppError>,
    /// How many were not launched, since earlier ones cost more than they were to.
    pub(crate) too_expensive: usize,
}

/// Runs the canaries of one configuration, so many at a time as the backend runs of it.
///
/// After a run that did not complete nothing more is launched: the same code would fail again, on more data. Nor is one that
/// could pass `limit`; a full run that a person asks for has none.
pub(crate) async fn run(
    runner: &mut Runner<'_>,
    ready: &dyn Ready,
    job: &Job,
    runs: &[CanaryRun],
    offer: &Offer,
    limit: Option<Usd>,
    earlier: Earlier,
) -> Ran {
    let launching = Cell::new(true);
    let money = Money::new(limit, offer, earlier.counted);
    let bars = runner.progress.canaries(job, runs, earlier);
    let cancellation = runner.cancellation;
    let records = runner.records.clone();
    let records = records.as_ref();
    let run_id = runner.store.run().to_owned();
    let run_id = run_id.as_str();
    let launches = runs.iter().enumerate().map(|(index, run)| {
        let (launching, bars, money) = (&launching, &bars, &money);
        async move {
            if !launching.get() || cancellation.is_cancelled() {
                return None;
            }
            if let Some(records) = records {
                match records.found(run).await {
                    Ok(None) => {}
                    Ok(Some(measurement)) => {
                        return Some((index, Ok(Launched::Before(measurement))));
                    }
                    Err(error) => {
                        launching.set(false);
                        return Some((index, Err(error)));
                    }
                }
            }
            if !money.set_aside(run) {
                return None;
            }
            bars.start(index, run);
            let watcher = Watcher {
                tell: &|told| bars.tell(index, run, told),
                may_start: &|| launching.get(),
                cancellation,
            };
            let result = ready.run(run, &watcher).await.transpose()?;
            if !result
                .as_ref()
                .is_ok_and(|result| result.measurement.is_completed())
            {
                launching.set(false);
            }
            let launched = match result {
                Ok(CanaryResult {
                    measurement,
                    log_tail,
                }) => {
                    let measurement = Measurement {
                        run: Some(run_id.to_owned()),
                        ..priced(measurement, offer)
                    };
                    // Here, and not where results are gathered: a slow write must not keep another canary from being stopped.
                    if let Some(records) = records {
                        records.keep(run, &measurement).await;
                    }
                    Ok(Launched::Now {
                        measurement,
                        log_tail,
                    })
                }
                Err(error) => Err(error.into()),
            };
            Some((index, launched))
        }
    });
    let at_once = runs
        .first()
        .map_or(1, |run| ready.at_once(&run.instance))
        .max(1);
    let alone = usize::from(ready.tries_one_first() && earlier.runs == 0);
    let mut launches: Vec<_> = launches.collect();
    let together = launches.split_off(alone.min(launches.len()));
    let mut results = stream::iter(launches)
        .buffered(1)
        .chain(stream::iter(together).buffer_unordered(at_once as usize));
    let mut measured = Vec::new();
    let mut failure = None;
    while let Some(result) = results.next().await {
        let Some((index, result)) = result else {
            continue;
        };
        match result {
            Ok(launched) => {
                let run = &runs[index];
                let (measurement, log_tail) = match launched {
                    Launched::Before(measurement) => {
                        let measurement = priced(measurement, offer);
                        money.count(measurement.reused.and_then(|reused| reused.saved_usd));
                        (measurement, Vec::new())
                    }
                    Launched::Now {
                        measurement,
                        log_tail,
                    } => {
                        money.settle(run, measurement.cost);
                        (measurement, log_tail)
                    }
                };
                bars.finish(index, run, &measurement);
                for line in &log_tail {
                    runner.progress.say(&format!("  | {}", indented(line)));
                }
                let (measurement, kept) = runner.store.append(measurement);
                if let Err(error) = kept {
                    launching.set(false);
                    failure.get_or_insert(error);
                }
                // What was paid for is told also where it could not be kept.
                measured.push((index, measurement));
            }
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    measured.sort_by_key(|(index, _)| *index);
    Ran {
        measurements: measured
            .into_iter()
            .map(|(_, measurement)| measurement)
            .collect(),
        failure,
        too_expensive: money.refused.get(),
    }
}

/// Where a measurement comes from.
enum Launched {
    /// From an earlier run of the gate.
    Before(Measurement),
    Now {
        measurement: Measurement,
        /// The last lines that a failed run printed; hostile text.
        log_tail: Vec<String>,
    },
}

/// The spend limit of a job, kept run by run: what was billed, and what the running ones may cost at worst.
struct Money<'a> {
    limit: Option<Usd>,
    /// Without a price there is nothing to count.
    offer: &'a Offer,
    committed: Cell<Usd>,
    refused: Cell<usize>,
}

impl<'a> Money<'a> {
    fn new(limit: Option<Usd>, offer: &'a Offer, spent: Option<Usd>) -> Self {
        Self {
            limit,
            offer,
            committed: Cell::new(spent.unwrap_or_default()),
            refused: Cell::new(0),
        }
    }

    fn worst(&self, run: &CanaryRun) -> Usd {
        plan::worst_case(std::slice::from_ref(run), self.offer).unwrap_or_default()
    }

    /// Whether the run may be launched; what it may cost counts from now on.
    fn set_aside(&self, run: &CanaryRun) -> bool {
        let committed = self.committed.get() + self.worst(run);
        // Sums of cents are not exact.
        if self
            .limit
            .is_some_and(|limit| committed.0 > limit.0 * (1.0 + 1e-9))
        {
            self.refused.set(self.refused.get() + 1);
            return false;
        }
        self.committed.set(committed);
        true
    }

    /// What an earlier run paid for counts as if this one had.
    fn count(&self, cost: Option<Usd>) {
        self.committed
            .set(self.committed.get() + cost.unwrap_or_default());
    }

    /// The run is over: what it really cost takes the place of the worst.
    fn settle(&self, run: &CanaryRun, cost: Option<Usd>) {
        let over = self.committed.get() - self.worst(run);
        self.committed.set(over + cost.unwrap_or_default());
    }
}

/// The measurement with what it cost.
pub(crate) fn priced(measurement: Measurement, offer: &Offer) -> Measurement {
    // A recorded table may tell the time of training and not what was billed.
    let billed = measurement
        .billable_seconds
        .or(measurement.training_seconds);
    let cost = billed.and_then(|time| offer.cost(time));
    // What another run of the gate paid for costs nothing again.
    let reused = measurement.reused.map(|reused| Reused {
        saved_usd: cost,
        ..reused
    });
    Measurement {
        price: offer.price().cloned(),
        cost: cost.filter(|_| reused.is_none()),
        reused,
        ..measurement
    }
}
