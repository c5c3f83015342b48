//! The door of the bench `prior`: forecasts by another prior than the shipped one.

use super::posterior::{Observation, Posterior};
use super::{Predictive, Runs, seconds as seconds_of};
use crate::measurement::Measurement;

pub use super::law::FamilyWeights;
pub use super::posterior::Prior;
pub use super::prior::{MEMORY, TIME};

/// What the time of a run is forecast from.
pub fn seconds(run: &Measurement) -> Option<f64> {
    seconds_of(run.time())
}

/// The same of its memory.
pub fn memory_bytes(run: &Measurement) -> Option<f64> {
    Some(run.usage.memory.as_ref()?.bytes?.as_f64())
}

/// The time of the full run; `None` where too few canaries completed.
pub fn time(canaries: &[Measurement], prior: &Prior) -> Option<Predictive> {
    let runs = Runs::choose(canaries);
    let posterior = runs.weigh("it", prior, seconds).ok()?;
    let bounded = posterior.given_at_least(&runs.lower_bounds());
    Some(bounded.predict_at(1.0, 1.0))
}

/// The memory of the full run, in bytes; `None` where too few canaries completed.
pub fn memory(canaries: &[Measurement], prior: &Prior) -> Option<Predictive> {
    let posterior = Runs::choose(canaries).weigh("it", prior, memory_bytes);
    Some(posterior.ok()?.predict_at(1.0, 1.0))
}

/// The forecast of the full run, started cold. Each run is its share of the data, its value, its weight, and whether it started warm.
pub fn of_shares(runs: &[(f64, f64, f64, bool)], prior: &Prior) -> Predictive {
    let observations: Vec<Observation> = (runs.iter())
        .map(|&(share, value, weight, is_warm)| Observation {
            weight,
            is_warm,
            ..Observation::new(share, 1.0, value)
        })
        .collect();
    Posterior::fit(&observations, prior).predict_at(1.0, 1.0)
}
