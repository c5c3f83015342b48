//! The **plan**: which canary runs a job needs, what they may cost at worst, or why there are none.
//!
//! Pure: turns spec and listed data into runs, before money is spent. The fixed design has `replicates` runs of every
//! fraction at every work level. The adaptive design chooses its next run from what was measured and spent so far
//! ([`next_round`]).

mod account;
mod adaptive;
mod aim;
mod counts;
mod design;
mod detached;
mod pairs;
mod planned;
mod sampling;
mod share;
mod start_up;
mod warm_pool;

pub use account::{
    Account, KeptMachines, Limit, Reservation, TIME_TO_STOP, seconds_for_each, worst_case,
    worst_case_of,
};
pub use adaptive::{
    Aim, LadderSize, NARROW, Reached, RoundRule, RoundRun, Rung, Situation, StopReason,
    begun_full_run, has_enough, limit_of_full_run, next_round, shortest_for_memory,
};
pub use aim::{aim, aim_without_lines};
pub use counts::{PART_OF_THE_SHARE, with_count};
pub use design::{canary, level, level_of_size};
pub use detached::{DetachedRuns, allowed_by_the_budget, detached_runs};
pub use planned::{NotMeasured, Plan, PlanError, PlannedConfiguration, PlannedRuns};
pub use share::{fewest, is_enough, within_the_share};
pub use start_up::StartUpMode;
pub use warm_pool::{MachineQuotas, NoPool, PoolPlan, QuotasOf, WarmPool, no_quotas};

use crate::canary::{CanaryRun, Dataset, HandedShare, WorkLevel};
use crate::forecast::FEWEST_RUNS;
use crate::forecast::scale_out::DataLayout;
use crate::grammar::count;
use crate::instance::{Offer, OfferOf};
use crate::measurement::Measurement;
use crate::spec::{CountsOf, Distribution, Job};
use crate::units::{Fraction, Usd, count_as_float};
use crate::verdict::Reason;

/// What to do where canaries fail on samples that are small, a sentence.
pub const TOO_SMALL: &str = "If a sample may be too small, as for a rare class or a window, let canaries begin larger: `canary: {fractions: [10%, 20%, 30%, 50%]}`.";

/// The part of the limit for the canaries on `instance` where there are alternatives.
const PART_OF_INSTANCE: f64 = 0.6;

/// What `instance` may spend of the spec's own limit in the adaptive design, whatever becomes of the alternatives.
pub(super) fn part_of_instance(job: &Job) -> Usd {
    match job.alternatives.is_empty() {
        true => job.canary.spend_limit,
        false => job.canary.spend_limit * PART_OF_INSTANCE,
    }
}

/// Which alternatives are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternatives {
    Measure,
    Skip,
}

/// What is known before a job is planned, beside itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownBefore<'a> {
    /// What the limit of the whole run of the gate leaves; `None` without such a limit.
    pub left_of_run: Option<Usd>,
    /// The canaries of the newest check, by which machines are kept or not.
    pub earlier: &'a [Measurement],
}

/// Plans a job's design over its listed data.
///
/// The fixed design on `instance` must fit the spend limit as a whole; else it is an error. Alternatives follow in the order of
/// the spec, as long as they fit the remaining limit. The adaptive design is checked against the limit run by run ([`next_round`]),
/// so its plan is only what it may choose from.
pub fn plan(
    job: &Job,
    dataset: &Dataset,
    offer_of: OfferOf<'_>,
    alternatives: Alternatives,
    known: KnownBefore<'_>,
) -> Result<Plan, PlanError> {
    let mut notes = Vec::new();
    let runs = design::runs(job, dataset, &mut notes)?;
    let is_ladder = matches!(runs, PlannedRuns::Ladder(_));
    let spend_limit = job.canary.spend_limit;
    let limit = least(known.left_of_run.unwrap_or(spend_limit), spend_limit);
    let mut all = Vec::with_capacity(1 + job.alternatives.len());
    let mut none_on_all = None;
    for (instance, counts) in job.configurations().zip(job.counts()) {
        let (mut one, too_many) = counts::on_counts(job, dataset, instance, counts, &runs);
        if all.is_empty() {
            let none_on = |count: &u32| {
                let (why, base) = (NotMeasured::TooFewObjects(*count), &one.base);
                format!("No canary runs on {count} machines, and all on {base}: {why}.")
            };
            notes.extend(too_many.iter().map(none_on));
            notes.extend(all_are_not_named(job));
            let all = job.instance.total_count();
            none_on_all = (too_many.contains(&all)).then_some(NotMeasured::TooFewObjects(all));
        } else if alternatives == Alternatives::Skip {
            one.runs = Err(NotMeasured::Skipped);
        }
        one.offer = offer_of(one.runs_on());
        all.push(one);
    }
    if is_ladder {
        let measured = all[1..].iter().filter(|one| one.runs.is_ok()).count();
        let part = (1.0 - PART_OF_INSTANCE) / count_as_float(measured.max(1));
        divide(limit, &mut all, |_| limit * part);
    }
    let within = |worst: Usd, slice: Usd| match is_ladder {
        true => least(worst, slice),
        false => worst,
    };
    // Nothing is spent yet: this account only finds what would fit.
    let account = Account::new(Some(limit), Limit::Job);
    for (place, one) in all.iter_mut().enumerate() {
        one.worst_case = worst_on(job, one, offer_of).map(|worst| within(worst, one.slice));
        if let Some(worst) = one.worst_case
            && !account.takes(worst)
        {
            if place == 0 {
                return Err(too_expensive(job, &one.offer, worst, limit));
            }
            one.runs = Err(NotMeasured::TooExpensive(one.offer.counted(worst)));
        }
    }
    let left = account.left().unwrap_or_default();
    let pools = (!job.instance.is_local())
        .then(|| PoolPlan::new(job, &all, known.earlier, (limit, left), offer_of));
    if let Some(pools) = &pools {
        let measured = all.iter_mut().filter(|one| one.runs.is_ok());
        for (one, idle) in measured.zip(pools.longest_idle()) {
            one.worst_case = one.worst_case.map(|worst| within(worst + idle, one.slice));
        }
    }
    if !is_ladder {
        divide(limit, &mut all, |one| one.worst_case.unwrap_or_default());
    }
    notes.extend(cautions(job, &all[0]));
    Ok(Plan {
        all,
        none_on_all,
        pools,
        notes,
    })
}

/// Divides the limit: an alternative that is measured has `slice`, and `instance` the rest.
fn divide(
    limit: Usd,
    all: &mut [PlannedConfiguration],
    slice: impl Fn(&PlannedConfiguration) -> Usd,
) {
    let mut left = limit;
    for one in all[1..].iter_mut().filter(|one| one.runs.is_ok()) {
        one.slice = slice(one);
        left = left - one.slice;
    }
    all[0].slice = left;
}

fn too_expensive(job: &Job, offer: &Offer, worst: Usd, limit: Usd) -> PlanError {
    let spend_limit = job.canary.spend_limit;
    let (take, whose, raised) = match (offer.counts_time(), limit < spend_limit) {
        (true, _) => {
            let of = Limit::MachineTime;
            let whose = format!("{of} ({})", offer.counted(spend_limit));
            ("take", whose, of)
        }
        (false, true) => {
            let whose = format!("the {} that are left of --max-spend", limit.exact());
            ("cost", whose, Limit::Run)
        }
        (false, false) => {
            let whose = format!("the spend limit of {spend_limit}");
            ("cost", whose, Limit::of(job))
        }
    };
    let (worst, raised) = (offer.counted(worst), raised.raised());
    let why = format!("the canaries may {take} up to {worst}, above {whose}");
    PlanError::Unknown(Reason::new(why).advising(format!(
        "raise {raised}, lower canary.max_runtime or request fewer runs"
    )))
}

/// Sentences on the machines that a reader should know.
fn cautions(job: &Job, own: &PlannedConfiguration) -> Vec<String> {
    let mut notes = Vec::new();
    let hosts = u64::from(DataLayout::of(job, None).hosts_of_shards(&own.base));
    let is_sharded = job.training.channels.iter().any(|channel| {
        channel.sample.is_drawn() && channel.distribution == Distribution::ShardedByS3Key
    });
    if let Some(objects) = own.runs.as_ref().ok().and_then(PlannedRuns::fewest_objects)
        && is_sharded
        && objects < hosts
    {
        notes.push(format!(
            "The smallest canary has {} for {hosts} machines, so some of them get no sharded data; larger fractions give better forecasts.",
            count(usize::try_from(objects).unwrap_or(usize::MAX), "object"),
        ));
    }
    if job.canary.parallel > 1 && job.instance.is_local() {
        notes.push(format!(
            "{} canaries share this machine at a time, which inflates their times.",
            job.canary.parallel
        ));
    }
    notes
}

/// The most that a configuration's canaries can count beside any limit; `None` where nothing counts, and without canaries. Where the adaptive
/// design may repeat sizes, for levels of work or since there are too few, that is all that there is.
fn worst_on(job: &Job, one: &PlannedConfiguration, offer_of: OfferOf<'_>) -> Option<Usd> {
    let on = one.runs_on();
    let offer = &one.offer;
    let idle = |runs| warm_pool::longest_idle(job, on, runs, offer);
    let runs = match one.runs.as_ref().ok()? {
        PlannedRuns::Fixed(runs) => worst_case(runs, offer)? + idle(runs.len()),
        PlannedRuns::Ladder(sizes) => {
            let once = worst_case_of(job.canary.max_runtime, offer)?;
            let has_levels = job.work.is_some() && !job.differs_in_work_alone();
            let most = sizes.len() + usize::from(one.progress_share(job).is_some());
            match sizes.len() >= FEWEST_RUNS && !has_levels {
                true => once * count_as_float(most) + idle(most),
                false => Usd(f64::INFINITY),
            }
        }
    };
    // Each further count has its own price; one without a price adds nothing.
    let of_count =
        |run: &CanaryRun| worst_case(std::slice::from_ref(run), &offer_of(&run.instance));
    Some(runs + one.counts.iter().filter_map(of_count).sum())
}

/// Where `canary.counts` leaves out the count of the full run.
fn all_are_not_named(job: &Job) -> Option<String> {
    let all = job.instance.total_count();
    let CountsOf { base, further, .. } = job.counts().remove(0);
    let mut named = [vec![base], further].concat();
    if named.contains(&all) {
        return None;
    }
    named.push(all);
    Some(format!(
        "No canary runs on all {all} machines of {}, since canary.counts does not name {all}: time and cost follow from fewer, and what only \
         {all} show, such as an error or more memory, stays unseen. `counts: {named:?}` runs one there.",
        job.instance,
    ))
}

/// The smaller of two amounts.
pub fn least(one: Usd, other: Usd) -> Usd {
    if one < other { one } else { other }
}

/// The full run as one run: every object of every channel.
pub fn full_run(job: &Job, dataset: &Dataset) -> CanaryRun {
    let total = design::total_of(job, dataset) as u64;
    CanaryRun {
        job: job.name.clone(),
        instance: job.instance.clone(),
        fraction: Fraction(1.0),
        share: job.share.as_ref().map(HandedShare::of_full_run),
        work: job.work.as_ref().map(WorkLevel::of_full_run),
        replicate: 0,
        channels: dataset.channels.clone(),
        objects: total,
        objects_total: total,
        bytes: dataset.bytes_total(),
        bytes_total: dataset.bytes_total(),
        max_runtime: job.training.max_runtime,
        ends_early: false,
    }
}

#[cfg(test)]
mod tests;
