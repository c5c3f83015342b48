//! The **share**: how much of a full run the canaries of a job may take together, by `canary.max_share`.

use super::{LadderSize, level};
use crate::canary::CanaryRun;
use crate::forecast::{CanaryTime, FEWEST_RUNS, FEWEST_SIZES};
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::spec::Job;
use crate::units::{Seconds, count_as_float};

/// The canaries of a job so far, held against the full run on its `instance` that they predict.
#[derive(Debug, Clone, Copy)]
pub struct Share<'a> {
    pub job: &'a Job,
    /// Of the job's `instance`.
    pub offer: &'a Offer,
    /// Of the job, on all configurations, each with what it cost.
    pub measurements: &'a [Measurement],
}

impl Share<'_> {
    /// How long further canaries may take on the machines of `offer`: what is left in US dollars at its price, and where a price
    /// is missing, in seconds. `None` where no run on `instance` has a time.
    pub fn seconds_left(&self, offer: &Offer) -> Option<Seconds> {
        let full_run = Seconds(self.time()?.at(1.0, 1.0).median());
        let allowed = full_run * self.job.canary.max_share.as_fraction().0;
        let left = self.dollars_left(allowed, offer).unwrap_or_else(|| {
            let taken = self.measurements.iter().filter_map(Measurement::time);
            allowed - taken.sum()
        });
        Some(Seconds(left.0.max(0.0)))
    }

    /// How many of `runs`, in their order, are within the share if they take as long on `offer` as on `instance`.
    pub fn fitting(&self, runs: &[CanaryRun], offer: &Offer) -> usize {
        let (Some(time), Some(left)) = (self.time(), self.seconds_left(offer)) else {
            return runs.len();
        };
        let mut sum = 0.0;
        let fits = |run: &&CanaryRun| {
            sum += time.at(run.data_share(), run.work_share()).median();
            sum <= left.0
        };
        runs.iter().take_while(fits).count()
    }

    /// Whether the fewest runs of a forecast on another configuration are likely to be within the share.
    pub fn has_room_for_the_fewest(&self, ladder: &[LadderSize], offer: &Offer) -> bool {
        let (Some(time), Some(left)) = (self.time(), self.seconds_left(offer)) else {
            return true;
        };
        let work = level(self.job, 0).map_or(1.0, |work| work.level / work.full);
        let smallest = ladder.first().map_or(0.0, |size| size.share);
        time.at(smallest, work).median() * count_as_float(FEWEST_RUNS) <= left.0
    }

    /// On `instance`.
    fn time(&self) -> Option<CanaryTime> {
        let on_instance = |run: &&Measurement| run.is_on(&self.job.instance);
        let runs: Vec<Measurement> = (self.measurements.iter())
            .filter(on_instance)
            .cloned()
            .collect();
        CanaryTime::learn(&runs)
    }

    /// The time that the rest of the money pays for; `None` where a price is missing.
    fn dollars_left(&self, allowed: Seconds, offer: &Offer) -> Option<Seconds> {
        let saved = |run: &Measurement| run.reused.and_then(|reused| reused.saved_usd);
        let mut left = self.offer.cost(allowed)?.0;
        for run in self.measurements {
            left -= run.cost.or_else(|| saved(run))?.0;
        }
        let a_second = offer.cost(Seconds(1.0))?.0;
        (a_second > 0.0).then(|| Seconds(left / a_second))
    }
}

/// How many of a fixed design's first runs a forecast needs at least; all where there are too few.
pub fn fewest(runs: &[CanaryRun]) -> usize {
    let made = |made: &usize| is_enough(&runs[..*made]);
    (0..=runs.len()).find(made).unwrap_or(runs.len())
}

/// Whether these are the fewest runs of a forecast, or more.
pub fn is_enough(runs: &[CanaryRun]) -> bool {
    let mut sizes: Vec<f64> = runs.iter().map(|run| run.fraction.0).collect();
    sizes.dedup();
    runs.len() >= FEWEST_RUNS && sizes.len() >= FEWEST_SIZES
}
