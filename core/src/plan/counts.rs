//! Canaries on other counts of machines than the design runs on.

use super::{NotMeasured, PlannedConfiguration, PlannedRuns, canary};
use crate::canary::{CanaryRun, Dataset};
use crate::instance::{InstanceConfiguration, Offer};
use crate::spec::{CountsOf, Job};
use crate::units::{Usd, count_as_float};

/// With fewer a host may get none, and is paid all the same.
const OBJECTS_A_HOST: u64 = 2;

/// The part of `canary.max_share` that canaries on all further counts of a configuration may take together.
pub const PART_OF_THE_SHARE: f64 = 0.5;

/// The configuration with `count` of its machines.
pub fn with_count(configuration: &InstanceConfiguration, count: u32) -> InstanceConfiguration {
    match configuration.single_type() {
        Some(kind) => InstanceConfiguration::Homogeneous(kind.clone(), count),
        None => configuration.clone(),
    }
}

/// What runs on a configuration, and the counts that no size of the design has objects for. `runs` are the design's, on any machines.
pub(super) fn on_counts(
    job: &Job,
    dataset: &Dataset,
    configuration: &InstanceConfiguration,
    counts: CountsOf,
    runs: &PlannedRuns,
) -> (PlannedConfiguration, Vec<u32>) {
    let base = with_count(configuration, counts.base);
    let mut one = PlannedConfiguration {
        instance: configuration.clone(),
        runs: Ok(runs.on(&base)),
        base,
        counts: Vec::new(),
        follows: counts.follows,
        offer: Offer::unknown(configuration),
        worst_case: None,
        slice: Usd(0.0),
    };
    let further = counts.further;
    let mut too_many = Vec::new();
    let share = job.canary.max_share.as_fraction().0;
    let most = PART_OF_THE_SHARE * share / count_as_float(further.len());
    for count in further {
        match canary_on(job, dataset, &with_count(configuration, count), runs, most) {
            Some(run) => one.counts.push(run),
            None => too_many.push(count),
        }
    }
    // What is judged has the money first.
    (one.counts).sort_by_key(|run| run.instance != *configuration);
    if one.follows {
        let further = std::mem::take(&mut one.counts);
        one.runs = match std::mem::take(&mut too_many).first() {
            Some(count) => Err(NotMeasured::TooFewObjects(*count)),
            None => Ok(PlannedRuns::Fixed(further)),
        };
    }
    (one, too_many)
}

/// One canary on so many machines: the smallest size of the design with objects enough for each, that holds no more than `most` of the
/// full run's data and work. `None` where there is none. Machines that divide the work take together as long as one would.
fn canary_on(
    job: &Job,
    dataset: &Dataset,
    instance: &InstanceConfiguration,
    runs: &PlannedRuns,
    most: f64,
) -> Option<CanaryRun> {
    let needed = OBJECTS_A_HOST * u64::from(instance.total_count());
    let is_enough = |objects: u64| objects >= needed || job.differs_in_work_alone();
    match runs {
        PlannedRuns::Ladder(sizes) => {
            let mut sizes = sizes.iter();
            let size = sizes.find(|size| is_enough(size.objects) && size.share <= most)?;
            let max_runtime = job.canary.max_runtime;
            Some(canary(job, dataset, instance, size, &[], max_runtime))
        }
        PlannedRuns::Fixed(runs) => {
            let fits = |run: &&CanaryRun| {
                run.replicate == 0
                    && is_enough(run.objects)
                    && run.data_share() * run.work_share() <= most
            };
            let fitting = runs.iter().filter(fits);
            let smallest = fitting.min_by(|a, b| a.fraction.0.total_cmp(&b.fraction.0))?;
            Some(CanaryRun {
                instance: instance.clone(),
                ..smallest.clone()
            })
        }
    }
}
