//! The time of the next canary, predicted from those that have run, for the adaptive design.

use super::posterior::Posterior;
use super::runs::Runs;
use super::{Predictive, points, prior, seconds};
use crate::measurement::Measurement;

/// The predicted time of one more run of any size, in seconds. Available from the first run on, with a wide interval.
#[derive(Debug, Clone)]
pub struct CanaryTime(Posterior);

impl CanaryTime {
    /// `None` if no completed run has a time.
    pub fn learn(measurements: &[Measurement]) -> Option<Self> {
        let runs = Runs::choose(measurements);
        let times = runs
            .measured(|run| seconds(run.time()).filter(|time| *time >= f64::MIN_POSITIVE))
            .ok()?;
        if times.is_empty() {
            return None;
        }
        let observations = points::observations(&times, &prior::TIME);
        let posterior = Posterior::fit(&observations, &prior::TIME);
        Some(Self(posterior.given_at_least(&runs.lower_bounds())))
    }

    /// The distribution for a run of `share` of the data with `work` of the full run's work, both in (0, 1].
    pub fn at(&self, share: f64, work: f64) -> Predictive {
        self.0.predict_at(share, work)
    }
}
