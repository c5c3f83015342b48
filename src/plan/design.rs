//! What a design may run: every canary of the fixed design, the sizes of the adaptive one. A run of the adaptive design is
//! drawn when it is chosen.

use crate::canary::{CanaryRun, ChannelData, Dataset, WorkLevel};
use crate::forecast::{FEWEST_RUNS, FEWEST_SIZES};
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::spec::{Design, Job};
use crate::units::{Fraction, Seconds, count_as_float};

use super::sampling::{self, DrawSize};
use super::{LadderSize, PlanError, PlannedRuns, count};

/// With fewer objects the smallest shares are coarse.
const SOME_OBJECTS: usize = 100;

/// What the job's design may run on its `instance`, with notes on what is coarse or left out.
pub(super) fn runs(
    job: &Job,
    dataset: &Dataset,
    notes: &mut Vec<String>,
) -> Result<PlannedRuns, PlanError> {
    let total = sampled_objects(job, dataset)?;
    match &job.canary.design {
        Design::Fixed {
            fractions,
            replicates,
        } => {
            let sizes = sizes(fractions, total, notes);
            let levels = levels(job);
            let runs = sizes.len() * levels.len() * *replicates as usize;
            check_enough(sizes.len(), runs, runs >= FEWEST_RUNS)?;
            Ok(PlannedRuns::Fixed(fixed(
                job,
                dataset,
                &sizes,
                &levels,
                *replicates,
            )))
        }
        Design::Adaptive { fractions } => {
            let sizes = ladder(sizes(fractions, total, notes), total);
            // A size may be run again, so too few of them are no lack of runs.
            check_enough(sizes.len(), sizes.len(), true)?;
            let of_size = |size: &DrawSize| ladder_size(&draw(job, dataset, *size, None, 0));
            Ok(PlannedRuns::Ladder(sizes.iter().map(of_size).collect()))
        }
    }
}

fn check_enough(sizes: usize, runs: usize, are_runs_enough: bool) -> Result<(), PlanError> {
    if sizes >= FEWEST_SIZES && are_runs_enough {
        return Ok(());
    }
    Err(PlanError::TooFew {
        runs: count(runs, "run"),
        sizes: count(sizes, "size"),
    })
}

/// Every run of the fixed design: each size at each level, as often as replicates are asked for.
fn fixed(
    job: &Job,
    dataset: &Dataset,
    sizes: &[DrawSize],
    levels: &[Option<WorkLevel>],
    replicates: u32,
) -> Vec<CanaryRun> {
    let of_size = |size: &DrawSize| -> Vec<CanaryRun> {
        // The level has no part in the drawing: the same replicate of a size has the same objects at each.
        let replicates: Vec<CanaryRun> = (0..replicates)
            .map(|replicate| draw(job, dataset, *size, None, replicate))
            .collect();
        let at = |level: &Option<WorkLevel>| {
            let level = level.clone();
            replicates.iter().map(move |run| CanaryRun {
                work: level.clone(),
                ..run.clone()
            })
        };
        levels.iter().flat_map(at).collect()
    };
    sizes.iter().flat_map(of_size).collect()
}

/// Draws the run that the adaptive design chose. `earlier` are the canaries of `instance` so far: their number gives the work
/// level, and how many had this size the replicate.
pub fn canary(
    job: &Job,
    dataset: &Dataset,
    instance: &InstanceConfiguration,
    size: &LadderSize,
    earlier: &[Measurement],
    max_runtime: Seconds,
) -> CanaryRun {
    let replicate = (earlier.iter()).filter(|run| run.fraction == size.fraction);
    let replicate = u32::try_from(replicate.count()).unwrap_or(u32::MAX);
    let size = DrawSize {
        fraction: size.fraction,
        objects: usize::try_from(size.objects).unwrap_or(usize::MAX),
    };
    CanaryRun {
        instance: instance.clone(),
        max_runtime: Some(max_runtime),
        ..draw(job, dataset, size, level(job, earlier.len()), replicate)
    }
}

/// The size of a run.
fn ladder_size(run: &CanaryRun) -> LadderSize {
    LadderSize {
        fraction: run.fraction,
        objects: run.objects,
        bytes: run.bytes,
        share: run.data_share(),
    }
}

/// The work level of the adaptive design's next run after `earlier` ones; the levels take turns.
pub fn level(job: &Job, earlier: usize) -> Option<WorkLevel> {
    let levels = levels(job);
    levels.get(earlier % levels.len()).cloned().flatten()
}

/// Never empty; one `None` if the job has no levels.
fn levels(job: &Job) -> Vec<Option<WorkLevel>> {
    match &job.work {
        Some(work) => WorkLevel::of_canaries(work).map(Some).collect(),
        None => vec![None],
    }
}

/// N: the object count of the smallest sampled channel.
fn sampled_objects(job: &Job, dataset: &Dataset) -> Result<usize, PlanError> {
    let smallest = dataset
        .sampled()
        .min_by_key(|channel| channel.objects.len())
        .ok_or_else(|| PlanError::NothingSampled {
            job: job.name.clone(),
        })?;
    match smallest.objects.len() {
        0 | 1 => Err(PlanError::OneObject {
            job: job.name.clone(),
            channel: smallest.name.clone(),
        }),
        total => Ok(total),
    }
}

/// Drops fractions that would draw as many objects as a smaller one.
fn sizes(fractions: &[Fraction], total: usize, notes: &mut Vec<String>) -> Vec<DrawSize> {
    let sizes = sampling::sizes(fractions, total);
    if total < SOME_OBJECTS {
        notes.push(format!(
            "The data has only {total} objects, so canaries are coarse: the smallest holds {}. 100 or more give better forecasts.",
            Fraction(share(sizes[0].objects, total)),
        ));
    }
    if sizes.len() < fractions.len() {
        notes.push(format!(
            "{} of {} fractions would draw as many objects as a smaller one and are left out.",
            fractions.len() - sizes.len(),
            fractions.len(),
        ));
    }
    sizes
}

/// The sizes that the adaptive design may climb: the full data is no canary, unless there are too few others.
fn ladder(mut sizes: Vec<DrawSize>, total: usize) -> Vec<DrawSize> {
    if sizes.len() > FEWEST_SIZES {
        sizes.retain(|size| size.objects < total);
    }
    sizes
}

/// One run.
fn draw(
    job: &Job,
    dataset: &Dataset,
    size: DrawSize,
    work: Option<WorkLevel>,
    replicate: u32,
) -> CanaryRun {
    let total = dataset.objects_total().unwrap_or(0);
    let channels = sampling::draw(dataset, size.objects, total, job.canary.seed, replicate);
    CanaryRun {
        job: job.name.clone(),
        instance: job.instance.clone(),
        fraction: size.fraction,
        work,
        replicate,
        bytes: channels
            .iter()
            .filter(|channel| channel.sampled)
            .map(ChannelData::bytes)
            .sum(),
        channels,
        objects: size.objects as u64,
        objects_total: total as u64,
        bytes_total: dataset.bytes_total(),
        max_runtime: Some(job.canary.max_runtime),
    }
}

fn share(objects: usize, total: usize) -> f64 {
    count_as_float(objects) / count_as_float(total)
}
