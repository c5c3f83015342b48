//! What lies between the canaries and the full run, for a drawing: the forecast of runs with less of the data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Estimate, LawsOfTime, Runs};
use crate::measurement::Measurement;
use crate::units::Fraction;

/// Places between the canaries, and from the largest of them to the full run: enough to show a bend.
const STEPS_BETWEEN_CANARIES: u32 = 4;
const STEPS_BEYOND: u32 = 10;

/// Point and interval of one new run that differs from the full run in its share of the data alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EstimateAtShare {
    /// Of the data, 0-1; of the work where canaries differ in it alone.
    pub share: f64,
    /// The median of the predictive distribution, in the unit of the quantity.
    pub point: f64,
    /// The ends of the interval, whose level is that of the full run's estimate.
    pub lower: f64,
    pub upper: f64,
}

/// The billed time from the smallest canary on, in seconds; shares ascend and the last is 1, the full run. Empty where the runs give
/// no law of time.
pub fn time_by_share(measurements: &[Measurement], certainty: Fraction) -> Vec<EstimateAtShare> {
    let runs = Runs::choose(measurements);
    let laws = LawsOfTime::of(&runs);
    let at = |share: f64| {
        let estimate = Estimate::of(&laws.at(share).0.ok()?, certainty);
        Some(EstimateAtShare {
            share,
            point: estimate.point,
            lower: estimate.lower,
            upper: estimate.upper,
        })
    };
    let shares = runs.entered().iter().map(|run| run.data_share());
    places(&shares.collect::<Vec<f64>>())
        .into_iter()
        .filter_map(at)
        .collect()
}

/// From the smallest share to 1, each as many times the one before; the largest is among them.
fn places(shares: &[f64]) -> Vec<f64> {
    let smallest = shares.iter().copied().fold(1.0, f64::min);
    let largest = shares.iter().copied().fold(smallest, f64::max);
    let steps = |from: f64, to: f64, count: u32| {
        let step = move |step: u32| from * (to / from).powf(f64::from(step) / f64::from(count));
        (0..count).map(step)
    };
    let mut places: Vec<f64> = steps(smallest, largest, STEPS_BETWEEN_CANARIES)
        .chain(steps(largest, 1.0, STEPS_BEYOND))
        .chain([1.0])
        .collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::super::tests::{forecast_of, run, two_hours, with_phases};
    use super::*;
    use crate::metric::Metric;

    const CERTAINTY: Fraction = Fraction(0.95);

    #[test]
    fn the_last_is_the_full_run_and_the_first_the_smallest_canary() {
        let in_phases = two_hours();
        let in_phases = in_phases.into_iter().map(|run| {
            let Some(time) = run.training_seconds else {
                unreachable!("each has a time");
            };
            with_phases(run, [10.0, time.0 - 15.0, 5.0])
        });
        for runs in [two_hours(), in_phases.collect()] {
            let forecast = forecast_of(&runs);
            let full = Estimate::of(forecast[Metric::Time].as_ref().unwrap(), CERTAINTY);
            let by_share = time_by_share(&runs, CERTAINTY);
            let (first, last) = (by_share[0], by_share[by_share.len() - 1]);
            assert_eq!((first.share, last.share), (0.01, 1.0));
            let ends = (last.point, last.lower, last.upper);
            assert_eq!(ends, (full.point, full.lower, full.upper));
            assert!(by_share.iter().any(|one| (one.share - 0.03).abs() < 1e-9));
            // 111.6 s were measured there.
            assert!(first.lower < 111.6 && 111.6 < first.upper, "{first:?}");
        }
    }

    #[test]
    fn the_interval_widens_beyond_the_largest_canary() {
        let by_share = time_by_share(&two_hours(), CERTAINTY);
        let beyond: Vec<f64> = (by_share.iter())
            .filter(|one| one.share >= 0.03)
            .map(|one| one.upper / one.lower)
            .collect();
        assert!(beyond.len() > 5);
        assert!(beyond.is_sorted(), "{beyond:?}");
        assert!(by_share.is_sorted_by(|one, next| one.share < next.share));
    }

    #[test]
    fn too_few_runs_give_none_and_a_full_one_ends_it() {
        assert_eq!(time_by_share(&[], CERTAINTY), []);
        assert_eq!(time_by_share(&two_hours()[..2], CERTAINTY), []);
        let mut runs = two_hours();
        runs.push(run(100.0, 7200.0));
        let by_share = time_by_share(&runs, CERTAINTY);
        let full = by_share.iter().filter(|one| one.share >= 1.0);
        assert_eq!(full.count(), 1);
    }
}
