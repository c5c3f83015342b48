//! Running canaries: bounded, in plan order, each measurement kept as it comes, nothing launched after one failed.

use std::cell::Cell;
use std::ffi::OsString;

use futures_util::stream::{self, StreamExt};

use crate::backend::{Backend, Cancellation};
use crate::canary::CanaryRun;
use crate::instance::Price;
use crate::measurement::Measurement;
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

/// Runs the canaries of one configuration, `parallel` at a time, and gives back their measurements in plan order.
///
/// After a run that did not complete nothing more is launched: the same code would fail again, on more data.
pub(super) async fn run<B: Backend>(
    runner: &mut Runner<'_, B>,
    job: &Job,
    runs: &[CanaryRun],
    price: Option<&Price>,
    earlier: Earlier,
) -> Result<Vec<Measurement>, AppError> {
    let launching = Cell::new(true);
    let bars = runner.progress.canaries(job, runs, earlier);
    let (backend, cancellation) = (runner.backend, runner.cancellation);
    let launches = runs.iter().enumerate().map(|(index, run)| {
        let (launching, bars) = (&launching, &bars);
        async move {
            if !launching.get() || cancellation.is_cancelled() {
                return None;
            }
            bars.start(index, run);
            let result = backend.run(job, run, cancellation).await;
            if !result
                .as_ref()
                .is_ok_and(|result| result.measurement.is_completed())
            {
                launching.set(false);
            }
            Some((index, result))
        }
    });
    let mut results = stream::iter(launches).buffer_unordered(job.canary.parallel.max(1) as usize);
    let mut measured = Vec::new();
    let mut failure = None;
    while let Some(result) = results.next().await {
        let Some((index, result)) = result else {
            continue;
        };
        match result {
            Ok(result) => {
                let measurement = priced(result.measurement, price);
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
    if let Some(error) = failure {
        return Err(error);
    }
    measured.sort_by_key(|(index, _)| *index);
    Ok(measured
        .into_iter()
        .map(|(_, measurement)| measurement)
        .collect())
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
    Measurement {
        price: price.cloned(),
        cost,
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
