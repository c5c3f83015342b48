//! Runs canaries: a bounded number at a time, results in plan order, each measurement kept as its run ends, nothing launched
//! after a failure.

use std::cell::{Cell, RefCell};

use futures_util::stream::{self, StreamExt};

use crate::backend::{CanaryResult, Cancellation, Ready, Watcher};
use crate::canary::CanaryRun;
use crate::console::progress::{Earlier, Progress};
use crate::console::{AppError, indented, say};
use crate::gate::job_keys::JobKeys;
use crate::gate::measurements_file::MeasurementsFile;
use crate::gate::request::Reuse;
use crate::gate::run_history::RunHistory;
use crate::instance::Offer;
use crate::measurement::{Measurement, Reused};
use crate::plan::{self, Ledger, Reservation};
use crate::spec::Job;
use crate::workspace::project::Project;

/// What running needs.
pub(crate) struct Runner<'a> {
    /// The id of this run of the gate, which every measurement names.
    pub(crate) run_id: &'a str,
    pub(crate) file: &'a mut MeasurementsFile,
    pub(crate) progress: &'a Progress,
    pub(crate) cancellation: &'a Cancellation,
    /// `None` if no run of the job is kept, and none is reused.
    pub(crate) records: Option<Records<'a>>,
}

/// The records of one job's canaries: read before a canary is run, written after.
#[derive(Clone)]
pub(crate) struct Records<'a> {
    pub(crate) project: &'a Project,
    pub(crate) job: &'a Job,
    pub(crate) history: &'a RunHistory,
    pub(crate) keys: JobKeys,
    /// Whether this run may reuse canaries of earlier runs.
    pub(crate) reuse: Reuse,
}

impl Records<'_> {
    /// The canary of an earlier run that replaces this one.
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

    /// Keeps a measurement. A canary without a key is never reused: one of unknown code, or of code that was edited while it
    /// ran.
    async fn keep(&self, run: &CanaryRun, measurement: &Measurement) {
        // Elsewhere a canary has its own copy of the code from its start.
        let runs_here = self.project.traits().runs_here;
        let is_edited =
            runs_here && self.project.code_key(self.job).ok().flatten() != self.keys.code;
        let keys = if is_edited {
            say(
                "warning: the code was changed while a canary ran; what it measured is kept for no other run",
            );
            self.keys.without_code()
        } else {
            self.keys.clone()
        };
        let key = keys.canary(run);
        self.history
            .keep_canary(&keys, key.as_ref(), measurement)
            .await;
    }
}

/// What a batch of canaries gave.
pub(crate) struct Ran {
    /// In plan order.
    pub(crate) measurements: Vec<Measurement>,
    /// Why it broke off.
    pub(crate) failure: Option<AppError>,
    /// How many were not launched, since earlier ones cost more than expected.
    pub(crate) too_expensive: usize,
}

/// Runs the canaries of one configuration, so many at a time as the backend runs of it.
///
/// After a run that did not complete nothing more is launched: the same code would fail again, on more data. Nor is one whose
/// worst case the ledger refuses.
pub(crate) async fn run(
    runner: &mut Runner<'_>,
    ready: &dyn Ready,
    job: &Job,
    runs: &[CanaryRun],
    offer: &Offer,
    ledger: &RefCell<Ledger>,
    earlier: Earlier,
) -> Ran {
    let launching = Cell::new(true);
    let too_expensive = Cell::new(0);
    let bars = runner.progress.canaries(job, runs, earlier);
    let cancellation = runner.cancellation;
    let records = runner.records.clone();
    let records = records.as_ref();
    let run_id = runner.run_id;
    let launches = runs.iter().enumerate().map(|(index, run)| {
        let (launching, bars, too_expensive) = (&launching, &bars, &too_expensive);
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
            let worst = plan::worst_case(std::slice::from_ref(run), offer);
            let reserved = ledger.borrow_mut().reserve(worst.unwrap_or_default());
            let Some(reservation) = reserved else {
                too_expensive.set(too_expensive.get() + 1);
                return None;
            };
            bars.start(index, run);
            let watcher = Watcher {
                report: &|progress| bars.report(index, run, progress),
                may_start: &|| launching.get(),
                cancellation,
            };
            let Some(result) = ready.run(run, &watcher).await.transpose() else {
                ledger.borrow_mut().settle(reservation, None);
                return None;
            };
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
                    let measurement = of_run(run_id, priced(measurement, offer));
                    // Here, and not where results are gathered: a slow write must not keep another canary from being stopped.
                    if let Some(records) = records {
                        records.keep(run, &measurement).await;
                    }
                    Ok(Launched::Now {
                        measurement,
                        log_tail,
                        reservation,
                    })
                }
                // What it cost is not known, so it stays reserved.
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
                        let measurement = of_run(run_id, priced(measurement, offer));
                        let saved = measurement.reused.and_then(|reused| reused.saved_usd);
                        ledger.borrow_mut().reuse(saved);
                        (measurement, Vec::new())
                    }
                    Launched::Now {
                        measurement,
                        log_tail,
                        reservation,
                    } => {
                        let billed = measurement.cost;
                        ledger.borrow_mut().settle(reservation, billed);
                        (measurement, log_tail)
                    }
                };
                let spent = ledger.borrow().billed();
                bars.finish(index, run, &measurement, spent);
                for line in &log_tail {
                    runner.progress.say(&format!("  | {}", indented(line)));
                }
                if let Err(error) = runner.file.append(&measurement) {
                    launching.set(false);
                    failure.get_or_insert(error);
                }
                // A paid canary is reported even if it could not be kept.
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
        too_expensive: too_expensive.get(),
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
        reservation: Reservation,
    },
}

/// The measurement as one of a run of the gate.
fn of_run(run_id: &str, measurement: Measurement) -> Measurement {
    Measurement {
        run: Some(run_id.to_owned()),
        ..measurement
    }
}

/// The measurement with what it cost.
pub(crate) fn priced(measurement: Measurement, offer: &Offer) -> Measurement {
    // A recorded table may have the training time without the billed time.
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
