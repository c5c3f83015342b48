//! The comparison itself: workloads in, figures out. Pure, so that the tests can include it.

pub(crate) mod adaptive;
pub(crate) mod rounds;
pub(crate) mod score;
pub(crate) mod seed;
mod summary;
mod text;
pub(crate) mod timings;
pub(crate) mod workload;

use canary_gate_core::forecast::{Basis, Estimate, Forecast, forecast};
use canary_gate_core::instance::{InstanceConfiguration, InstanceType, Offer};
use canary_gate_core::measurement::Measurement;
use canary_gate_core::metric::Metric;
use canary_gate_core::units::{Fraction, Seconds};
use serde::Serialize;

use adaptive::Spending;
use score::{Scored, median};
use seed::SeedForecast;
use workload::{Run, Workload};

/// The intervals are central ones of 90 %.
const CERTAINTY: Fraction = Fraction(0.95);

/// Every workload in the order of the table.
pub(crate) struct Comparison {
    rows: Vec<Row>,
}

/// One workload.
struct Row {
    name: String,
    /// The medians of the full runs, in seconds and bytes.
    full: Both<f64>,
    /// `None` where the method gives no positive number.
    seed: Both<Option<SeedScored>>,
    fixed: Both<Result<Scored, String>>,
    adaptive: Both<Result<Scored, String>>,
    /// As the gate runs where nothing is written.
    default: Both<Result<Scored, String>>,
    spent: Spent,
}

/// Seconds of canaries.
struct Spent {
    /// Of the adaptive design at equal cost, those of the nine being 1.
    adaptive: f64,
    /// Of the default, a full run being 1.
    default: f64,
}

/// The seed library's method has a point and no interval.
struct SeedScored {
    log_error: f64,
    resamples: seed::Resamples,
}

/// The same for both quantities.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Both<T> {
    pub(crate) time: T,
    pub(crate) memory: T,
}

impl<T> Both<T> {
    fn of(value: impl Fn(Quantity) -> T) -> Self {
        Self {
            time: value(Quantity::Time),
            memory: value(Quantity::Memory),
        }
    }

    fn get(&self, quantity: Quantity) -> &T {
        match quantity {
            Quantity::Time => &self.time,
            Quantity::Memory => &self.memory,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Time,
    Memory,
}

impl Quantity {
    /// In seconds or bytes.
    fn value(self, run: &Run) -> f64 {
        match self {
            Self::Time => run.seconds,
            Self::Memory => run.peak_bytes,
        }
    }

    fn estimate(self, forecast: &Forecast) -> Result<Estimate, String> {
        match self {
            Self::Time => &forecast[Metric::Time],
            Self::Memory => &forecast[Metric::MemoryBytes],
        }
        .as_ref()
        .map(|predictive| Estimate::of(predictive, CERTAINTY))
        .map_err(ToString::to_string)
    }
}

impl Comparison {
    pub(crate) fn of(workloads: &[Workload]) -> Self {
        Self {
            rows: workloads.iter().map(Row::of).collect(),
        }
    }
}

impl Row {
    fn of(workload: &Workload) -> Self {
        let nine: Vec<Measurement> = workload
            .canaries
            .iter()
            .map(|run| run.measurement.clone())
            .collect();
        let budget_seconds = workload.canary_seconds();
        let all = Spending::All(Seconds(budget_seconds));
        let chosen = adaptive::adaptive(workload, all, 1);
        let by_default = adaptive::adaptive(workload, Spending::AShare, 1);
        let full_run = median(&full_values(workload, Quantity::Time));
        Self {
            name: workload.name.clone(),
            full: Both::of(|quantity| median(&full_values(workload, quantity))),
            seed: Both::of(|quantity| seed_score(workload, quantity)),
            fixed: score_both(workload, &ours(&nine)),
            adaptive: score_both(workload, &ours(&chosen.canaries)),
            default: score_both(workload, &ours(&by_default.canaries)),
            spent: Spent {
                adaptive: chosen.seconds() / budget_seconds,
                default: by_default.seconds() / full_run,
            },
        }
    }
}

/// Our forecast from these runs.
fn ours(measurements: &[Measurement]) -> Forecast {
    forecast(&Basis {
        offer: &Offer::unknown(&InstanceConfiguration::one(InstanceType::local())),
        measurements,
    })
}

fn full_values(workload: &Workload, quantity: Quantity) -> Vec<f64> {
    workload
        .full
        .iter()
        .map(|run| quantity.value(run))
        .collect()
}

fn seed_score(workload: &Workload, quantity: Quantity) -> Option<SeedScored> {
    let points: Vec<(f64, f64)> = workload
        .canaries
        .iter()
        .map(|run| (run.file_share, quantity.value(run)))
        .collect();
    let SeedForecast { value, resamples } = seed::forecast(&points)?;
    Some(SeedScored {
        log_error: (value / median(&full_values(workload, quantity))).ln(),
        resamples,
    })
}

fn score_both(workload: &Workload, forecast: &Forecast) -> Both<Result<Scored, String>> {
    Both::of(|quantity| {
        let estimate = quantity.estimate(forecast)?;
        Ok(Scored::of(&estimate, &full_values(workload, quantity)))
    })
}
