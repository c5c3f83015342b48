//! Canaries on other counts of machines than the design runs on.

use super::design::total_of;
use super::{LadderSize, NotMeasured, PlannedConfiguration, PlannedRuns, canary};
use crate::canary::{CanaryRun, Dataset};
use crate::instance::{InstanceConfiguration, Offer};
use crate::spec::{CountsOf, Job};
use crate::units::{Bytes, Fraction, Usd, count_as_float};

/// With fewer a host may get none, and is paid all the same.
const OBJECTS_A_HOST: u32 = 2;

/// The part of `canary.max_share` for canaries on further counts of a configuration: its own may have all of it, and each other what is
/// left, up to an equal part.
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
    let part = PART_OF_THE_SHARE * job.canary.max_share.as_fraction().0;
    let each = part / count_as_float(further.len());
    for count in further {
        let instance = with_count(configuration, count);
        let most = match instance == *configuration {
            true => part,
            false => each,
        };
        match canary_on(job, dataset, &instance, runs, most) {
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
/// full run's data and work; of what is judged else one of a size of its own. `None` where there is none. Machines that divide the work
/// take together as long as one would.
fn canary_on(
    job: &Job,
    dataset: &Dataset,
    instance: &InstanceConfiguration,
    runs: &PlannedRuns,
    most: f64,
) -> Option<CanaryRun> {
    let needed = OBJECTS_A_HOST * instance.total_count();
    let is_enough = |objects: u64| objects >= needed.into() || job.differs_in_work_alone();
    let run = |size: &LadderSize| canary(job, dataset, instance, size, &[], job.canary.max_runtime);
    let rising = match runs.on(instance) {
        PlannedRuns::Ladder(sizes) => {
            let size = sizes.iter().find(|size| is_enough(size.objects));
            Vec::from_iter(size.map(run))
        }
        PlannedRuns::Fixed(runs) => runs,
    };
    let share = f64::from(needed) / count_as_float(total_of(job, dataset));
    let of_its_own = LadderSize {
        fraction: Fraction(share),
        objects: needed.into(),
        bytes: Bytes::from_f64(dataset.bytes_total().as_f64() * share),
        share,
    };
    let fewest = runs.fewest_objects().unwrap_or(u64::MAX);
    let has_its_own = *instance == job.instance && !is_enough(fewest) && share < 1.0;
    let fits = |run: &CanaryRun| {
        let is_small = run.data_share() * run.work_share() <= most;
        run.replicate == 0 && is_enough(run.objects) && is_small
    };
    let of_its_own = has_its_own.then(|| run(&of_its_own));
    rising.into_iter().chain(of_its_own).find(fits)
}
