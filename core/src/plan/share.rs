//! The **share**: how much of its own full run the canaries of a configuration may take together, by `canary.max_share`.

use crate::canary::CanaryRun;
use crate::forecast::{CanaryTime, FEWEST_RUNS, FEWEST_SIZES};
use crate::instance::InstanceConfiguration;
use crate::measurement::{self, Measurement};
use crate::spec::Job;

/// How many of `runs`, in their order, are likely to be within the share beside the canaries `measured` of the configuration; all
/// where none on `base`, the machines that the design runs on, has a time. On more machines each is taken to have its part of the
/// work, and a start-up of its own.
pub fn within_the_share(
    job: &Job,
    base: &InstanceConfiguration,
    measured: &[Measurement],
    runs: &[CanaryRun],
) -> usize {
    let Some(time) = CanaryTime::learn(&measurement::on(measured, base)) else {
        return runs.len();
    };
    let times_base =
        |on: &InstanceConfiguration| f64::from(on.total_count()) / f64::from(base.total_count());
    // Machines that were kept count like those at work.
    let taken = measured.iter().filter_map(|run| {
        let idle = run.idle_seconds.unwrap_or_default();
        Some((run.time()?.0 + idle.0) * times_base(&run.instance))
    });
    let part = job.canary.max_share.as_fraction().0;
    let mut left = time.at(1.0, 1.0).median() * part - taken.sum::<f64>();
    let fits = |run: &&CanaryRun| {
        let times = times_base(&run.instance);
        let (data, work) = (run.data_share(), run.work_share());
        let each = match job.differs_in_work_alone() {
            true => time.at(data, work / times),
            false => time.at(data / times, work),
        };
        left -= each.median() * times;
        left >= 0.0
    };
    runs.iter().take_while(fits).count()
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
