//! The **share**: how much of a full run the canaries of a job may take together, by `canary.max_share`.

use super::{LadderSize, base_instance, level};
use crate::canary::CanaryRun;
use crate::forecast::{CanaryTime, FEWEST_RUNS, FEWEST_SIZES};
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::Measurement;
use crate::spec::Job;
use crate::units::{Seconds, count_as_float};

/// The canaries of a job so far, held against the full run on its `instance` that they predict.
#[derive(Debug, Clone, Copy)]
pub struct Share<'a> {
    pub job: &'a Job,
    /// Of the machines that the design runs on: the job's `instance`, or fewer of its machines.
    pub offer: &'a Offer,
    /// Of the job, on all configurations up to the one that is asked about, each with what it cost.
    pub measurements: &'a [Measurement],
    pub full_run: FullRunTime,
    /// Canaries on the configurations before that may still take of it.
    pub pending: &'a [PendingCanary],
}

/// What is held to be known of the full run's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullRunTime {
    /// The forecast of all canaries on `instance`.
    Forecast,
    /// By the canaries so far it is no shorter than a time, with a probability of 95 %; more canaries will say more.
    Surely,
    /// It may turn out to be as long as one likes.
    Unbounded,
}

/// A canary that may still be run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PendingCanary {
    /// Of the data and of the full run's work.
    pub shares: (f64, f64),
    /// Of its machines; absent without a price.
    pub usd_per_second: Option<f64>,
}

/// How sure it must be that the full run is no shorter, and a canary no longer, before an alternative takes of the share.
const SURELY: f64 = 0.95;

impl Share<'_> {
    /// How long further canaries may take on the machines of `offer`: what is left in US dollars at its price, and where a price
    /// is missing, in seconds of so many machines. `None` where no run on `instance` has a time.
    pub fn seconds_left(&self, offer: &Offer) -> Option<Seconds> {
        let time = self.time()?;
        if self.full_run == FullRunTime::Unbounded {
            return Some(Seconds(f64::INFINITY));
        }
        let left = match self.dollars_left(&time, offer) {
            Some(left) => left,
            // Without a price nothing is sure before the others have ended.
            None if !self.pending.is_empty() => Seconds(0.0),
            None => self.machine_seconds_left(&time, offer),
        };
        Some(Seconds(left.0.max(0.0)))
    }

    /// What all canaries together may take of a full run.
    fn part(&self) -> f64 {
        self.job.canary.max_share.as_fraction().0
    }

    /// How many of `runs`, in their order, are likely to be within the share if a machine of `offer` takes as long as one of
    /// `instance`. On more machines than `offer` has each is taken to have its part of the work, and a start-up of its own.
    pub fn fitting(&self, runs: &[CanaryRun], offer: &Offer) -> usize {
        let (Some(time), Some(left)) = (self.time(), self.seconds_left(offer)) else {
            return runs.len();
        };
        let mut sum = 0.0;
        let fits = |run: &&CanaryRun| {
            let times = machines(&run.instance) / machines(&offer.configuration);
            let (data, work) = (run.data_share(), run.work_share());
            let each = match self.job.differs_in_work_alone() {
                true => time.at(data, work / times),
                false => time.at(data / times, work),
            };
            sum += each.median() * times;
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
        let base = base_instance(self.job);
        let on_instance = |run: &&Measurement| run.is_on(&base);
        let runs: Vec<Measurement> = (self.measurements.iter())
            .filter(on_instance)
            .cloned()
            .collect();
        CanaryTime::learn(&runs)
    }

    /// The same where a price is missing, by the time of every machine.
    fn machine_seconds_left(&self, time: &CanaryTime, offer: &Offer) -> Seconds {
        let of_run = |run: &Measurement| {
            let idle = run.idle_seconds.unwrap_or_default();
            Some((run.time()?.0 + idle.0) * machines(&run.instance))
        };
        let taken: f64 = self.measurements.iter().filter_map(of_run).sum();
        let full_run = time.at(1.0, 1.0).median() * machines(&self.offer.configuration);
        Seconds((full_run * self.part() - taken) / machines(&offer.configuration))
    }

    /// The time that the rest of the money pays for; `None` where a price is missing.
    fn dollars_left(&self, time: &CanaryTime, offer: &Offer) -> Option<Seconds> {
        let saved = |run: &Measurement| run.reused.and_then(|reused| reused.saved_usd);
        let longest = self.longest_pending(time)?;
        let full_run = time.at(1.0, 1.0);
        let mut left = match self.full_run {
            FullRunTime::Surely => self.least_beside(&longest, full_run.quantile(1.0 - SURELY))?,
            _ => self.beside(&longest, full_run.median())?,
        };
        for run in self.measurements {
            let idle = run.idle_usd.unwrap_or_default();
            left -= run.cost.or_else(|| saved(run))?.0 + idle.0;
        }
        let a_second = offer.cost(Seconds(1.0))?.0;
        (a_second > 0.0).then(|| Seconds(left / a_second))
    }

    /// What each pending canary takes at most, by its limit and as far as that is likely, with the price of a second.
    fn longest_pending(&self, time: &CanaryTime) -> Option<Vec<(f64, f64)>> {
        let longest = |canary: &PendingCanary| {
            let (data, work) = canary.shares;
            let likely = time.at(data, work).quantile(SURELY);
            let limit = self.job.canary.max_runtime.0;
            Some((likely.min(limit), canary.usd_per_second?))
        };
        self.pending.iter().map(longest).collect()
    }

    /// What is left in US dollars of the share of a full run of so many seconds beside canaries of these times: none takes longer
    /// than the full run itself.
    fn beside(&self, longest: &[(f64, f64)], full_run: f64) -> Option<f64> {
        let cost = |(seconds, usd): &(f64, f64)| seconds.min(full_run) * usd;
        let taken: f64 = longest.iter().map(cost).sum();
        Some(self.offer.cost(Seconds(full_run * self.part()))?.0 - taken)
    }

    /// The least of [`Self::beside`] for any full run of at least so many seconds. Between the times of the canaries it is a line.
    fn least_beside(&self, longest: &[(f64, f64)], at_least: f64) -> Option<f64> {
        let times = longest.iter().map(|(seconds, _)| *seconds);
        let longer = times.filter(|seconds| *seconds > at_least);
        ([at_least].into_iter().chain(longer))
            .map(|full_run| self.beside(longest, full_run))
            .reduce(|one, other| Some(one?.min(other?)))?
    }
}

fn machines(configuration: &InstanceConfiguration) -> f64 {
    f64::from(configuration.total_count())
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

#[cfg(test)]
mod tests;
