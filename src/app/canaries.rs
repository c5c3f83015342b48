//! Running canaries: bounded, in plan order, each measurement kept as it comes, nothing launched after one failed.

use std::cell::Cell;
use std::ffi::OsString;

use futures_util::stream::{self, StreamExt};

use crate::backend::{Backend, Cancellation, Watcher};
use crate::canary::CanaryRun;
use crate::instance::Price;
use crate::measurement::{Measurement, Reused};
use crate::plan;
use crate::spec::Job;
use crate::units::Usd;

use super::progress::Progress;
use super::store::Store;
use super::{AppError, indented};

/// What running needs.
pub(super) struct Runner<'a, B> {
    pub(super) backend: &'a B,
    pub(super) store: &'a mut Store,
    pub(super) progress: &'a Progress,
    pub(super) cancellation: &'a Cancellation,
}

/// What ran before on the same configuration, for progress lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Earlier {
    pub(super) runs: usize,
    /// By all canaries of the job; `None` without a price.
    pub(super) spent: Option<Usd>,
    /// Whether it is open how many more will follow.
    pub(super) is_open: bool,
}

impl Earlier {
    pub(super) fn none() -> Self {
        Self {
            runs: 0,
            spent: None,
            is_open: false,
        }
    }
}

/// What a batch of canaries gave.
pub(super) struct Ran {
    /// In plan order.
    pub(super) measurements: Vec<Measurement>,
    /// Why it broke off.
    pub(super) failure: Option<AppError>,
    /// How many were not launched, since earlier ones cost more than they were to.
    pub(super) too_dear: usize,
}

/// Runs the canaries of one configuration, so many at a time as the backend runs of it.
///
/// After a run that did not complete nothing more is launched: the same code would fail again, on more data. Nor is one that
/// could pass `limit`; a full run that a person asks for has none.
pub(super) async fn run<B: Backend>(
    runner: &mut Runner<'_, B>,
    job: &Job,
    runs: &[CanaryRun],
    price: Option<&Price>,
    limit: Option<Usd>,
    earlier: Earlier,
) -> Ran {
    let launching = Cell::new(true);
    let money = Money::new(limit, price, earlier.spent);
    let bars = runner.progress.canaries(job, runs, earlier);
    let (backend, cancellation) = (runner.backend, runner.cancellation);
    let launches = runs.iter().enumerate().map(|(index, run)| {
        let (launching, bars, money) = (&launching, &bars, &money);
        async move {
            if !launching.get() || cancellation.is_cancelled() {
                return None;
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
            let result = backend.run(job, run, &watcher).await.transpose()?;
            if !result
                .as_ref()
                .is_ok_and(|result| result.measurement.is_completed())
            {
                launching.set(false);
            }
            Some((index, result))
        }
    });
    let at_once = runs
        .first()
        .map_or(1, |run| backend.at_once(job, &run.instance))
        .max(1);
    let alone = usize::from(backend.tries_one_first() && earlier.runs == 0);
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
            Ok(result) => {
                let measurement = priced(result.measurement, price);
                money.settle(&runs[index], measurement.cost);
                bars.finish(index, &runs[index], &measurement);
                for line in &result.log_tail {
                    runner.progress.say(&format!("  | {}", indented(line)));
                }
                // What was measured is kept also when keeping another one failed.
                match runner.store.append(measurement) {
                    Ok(measurement) => measured.push((index, measurement)),
                    Err(error) => {
                        launching.set(false);
                        failure.get_or_insert(error);
                    }
                }
            }
            Err(error) => {
                failure.get_or_insert(error.into());
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
        too_dear: money.refused.get(),
    }
}

/// The spend limit of a job, kept run by run: what was billed, and what the running ones may cost at worst.
struct Money<'a> {
    limit: Option<Usd>,
    /// Without one there is nothing to count.
    price: Option<&'a Price>,
    committed: Cell<Usd>,
    refused: Cell<usize>,
}

impl<'a> Money<'a> {
    fn new(limit: Option<Usd>, price: Option<&'a Price>, spent: Option<Usd>) -> Self {
        Self {
            limit,
            price,
            committed: Cell::new(spent.unwrap_or_default()),
            refused: Cell::new(0),
        }
    }

    fn worst(&self, run: &CanaryRun) -> Usd {
        plan::worst_case(std::slice::from_ref(run), self.price).unwrap_or_default()
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

    /// The run is over: what it really cost takes the place of the worst.
    fn settle(&self, run: &CanaryRun, cost: Option<Usd>) {
        let over = self.committed.get() - self.worst(run);
        self.committed.set(over + cost.unwrap_or_default());
    }
}

/// The measurement with what it cost.
pub(super) fn priced(measurement: Measurement, price: Option<&Price>) -> Measurement {
    // A recorded table may tell the time of training and not what was billed.
    let billed = measurement
        .billable_seconds
        .or(measurement.training_seconds);
    let cost = match (price, billed) {
        (Some(price), Some(time)) => Some(
            price
                .usd_per_hour
                .cost(time, measurement.instance.total_count()),
        ),
        _ => None,
    };
    // What another run of the gate paid for costs nothing again.
    let reused = measurement.reused.map(|reused| Reused {
        saved_usd: cost,
        ..reused
    });
    Measurement {
        price: price.cloned(),
        cost: cost.filter(|_| reused.is_none()),
        reused,
        ..measurement
    }
}

/// What a canary sees of the caller's environment; the rest is built by the backend.
///
/// A name given with `--pass-env` that is not set is an error: the training code would fail for the lack of it.
pub(super) fn environment(pass_env: &[String]) -> Result<Vec<(OsString, OsString)>, AppError> {
    for name in pass_env {
        let valid = !name.is_empty() && !name.contains(['=', '\0']);
        if !valid {
            return Err(AppError::usage(format!(
                "`--pass-env {name}` is not the name of a variable"
            ))
            .help("give the name alone; its value is taken from the environment"));
        }
        if matches!(name.as_str(), "HOME" | "TMPDIR") || name.starts_with("SM_") {
            return Err(AppError::usage(format!(
                "`--pass-env {name}`: a canary gets its own {name}"
            ))
            .help("hand the value on under another name"));
        }
        if std::env::var_os(name).is_none() {
            return Err(
                AppError::usage(format!("`--pass-env {name}`: the variable is not set"))
                    .help("set it, or take the flag off"),
            );
        }
    }
    let handed_on = |name: &str| {
        matches!(name, "PATH" | "LANG" | "LD_LIBRARY_PATH")
            || name.starts_with("CUDA_")
            || pass_env.iter().any(|passed| passed == name)
    };
    Ok(std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(handed_on))
        .collect())
}
