//! The canary runs of a design: all runs of the fixed design, or one run of each size for the adaptive design.

use crate::canary::{CanaryRun, ChannelData, Dataset, WorkLevel};
use crate::forecast::{FEWEST_RUNS, FEWEST_SIZES};
use crate::spec::{Design, Job};
use crate::units::{Fraction, Seconds, count_as_float};

use super::sampling::{self, Size};
use super::{PlanError, count};

/// With fewer objects a canary of a few per cent cannot be drawn.
const FEW_OBJECTS: usize = 10;
/// With fewer objects the smallest shares are coarse.
const SOME_OBJECTS: usize = 100;
/// The share that at least one size must reach if there are few objects.
const LARGE_SHARE: f64 = 0.2;

/// The runs of the job's design on its `instance`, with notes on what is coarse or left out.
pub(super) fn runs(
    job: &Job,
    dataset: &Dataset,
    notes: &mut Vec<String>,
) -> Result<Vec<CanaryRun>, PlanError> {
    let total = sampled_objects(job, dataset)?;
    let (sizes, replicates) = match &job.canary.design {
        Design::Fixed {
            fractions,
            replicates,
        } => (sizes(fractions, total, notes)?, *replicates),
        Design::Adaptive { fractions } => (ladder(sizes(fractions, total, notes)?, total), 1),
    };
    let is_adaptive = matches!(job.canary.design, Design::Adaptive { .. });
    // The adaptive design uses the levels in turn.
    let levels = levels(job)
        .into_iter()
        .take(if is_adaptive { 1 } else { usize::MAX })
        .collect::<Vec<_>>();
    let runs = sizes.len() * levels.len() * replicates as usize;
    if sizes.len() < FEWEST_SIZES || (runs < FEWEST_RUNS && !is_adaptive) {
        return Err(PlanError::Unknown(format!(
            "the design gives {} on {}; a forecast needs at least {FEWEST_RUNS} runs on {FEWEST_SIZES} sizes",
            count(runs, "run"),
            count(sizes.len(), "size"),
        )));
    }
    let of_size = |size: &Size| -> Vec<CanaryRun> {
        // The level does not affect the sample: the same replicate of a size has the same objects at each level.
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
    Ok(sizes.iter().flat_map(of_size).collect())
}

/// The next run of a size that the adaptive design chose. `like` is that size's run in the plan, `earlier` the number of
/// canaries before it, which determines its work level, and `replicate` the number of those with this size.
pub fn canary(
    job: &Job,
    dataset: &Dataset,
    like: &CanaryRun,
    earlier: usize,
    replicate: u32,
    max_runtime: Seconds,
) -> CanaryRun {
    let size = Size {
        fraction: like.fraction,
        objects: usize::try_from(like.objects).unwrap_or(usize::MAX),
    };
    CanaryRun {
        instance: like.instance.clone(),
        max_runtime: Some(max_runtime),
        ..draw(job, dataset, size, level(job, earlier), replicate)
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
fn sizes(
    fractions: &[Fraction],
    total: usize,
    notes: &mut Vec<String>,
) -> Result<Vec<Size>, PlanError> {
    let sizes = sampling::sizes(fractions, total);
    let largest = sizes.last().map_or(0.0, |size| share(size.objects, total));
    if total < FEW_OBJECTS && largest < LARGE_SHARE {
        return Err(PlanError::Unknown(format!(
            "the data has only {total} objects and no canary holds 20% of them; split the data into 100 objects or request larger fractions",
        )));
    }
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
    Ok(sizes)
}

/// The sizes that the adaptive design may choose: without the full data, unless there are too few others.
fn ladder(mut sizes: Vec<Size>, total: usize) -> Vec<Size> {
    if sizes.len() > FEWEST_SIZES {
        sizes.retain(|size| size.objects < total);
    }
    sizes
}

/// One run.
fn draw(
    job: &Job,
    dataset: &Dataset,
    size: Size,
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
