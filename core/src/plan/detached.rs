//! The canaries of a run that detaches: all that are started before anything is known of any.

use super::adaptive::{LIMIT_SHARE, STEP_POSITION};
use super::{
    LadderSize, NotMeasured, PART_OF_THE_SHARE, Plan, PlannedConfiguration, PlannedRuns, canary,
    level, part_of_instance, seconds_for_each,
};
use crate::canary::{CanaryRun, Dataset};
use crate::forecast::FEWEST_RUNS;
use crate::instance::{Offer, OfferOf};
use crate::metric::Metric;
use crate::spec::{BudgetLine, Job, Level, LineKind};
use crate::units::Seconds;

/// Sums of shares are not exact.
const ROUNDING: f64 = 1e-9;

/// The canaries that are started of a plan, and collected later.
#[derive(Debug, Clone, PartialEq)]
pub struct DetachedRuns {
    /// The canaries on the plan's base, and then those on further counts of its machines.
    pub own: Vec<CanaryRun>,
    /// Canaries on further counts that would pass `canary.max_share`.
    pub left_out: Vec<CanaryRun>,
    /// The canaries of each alternative, in the order of the plan.
    pub alternatives: Vec<Result<Vec<CanaryRun>, NotMeasured>>,
}

/// Of the fixed design all. Of the adaptive one on each configuration the fewest that make a forecast, chosen by what is known
/// without any, and one on each further count: together they hold no more of the data than `canary.max_share`, and the largest is
/// likely to end in time if the full run is within its budget. Two processes that know the same job choose the same, whatever
/// money is left.
pub fn detached_runs(
    job: &Job,
    dataset: &Dataset,
    plan: &Plan,
    offer_of: OfferOf<'_>,
) -> DetachedRuns {
    let sizes = match plan.runs() {
        PlannedRuns::Fixed(_) => Vec::new(),
        PlannedRuns::Ladder(sizes) => {
            let longest = longest(job, plan, offer_of);
            chosen(job, sizes, share_of_the_sizes(job, plan), longest)
        }
    };
    let mut left_out = Vec::new();
    let mut on = |one: &PlannedConfiguration, planned: &PlannedRuns| {
        let mut runs = match planned {
            PlannedRuns::Fixed(runs) => runs.clone(),
            PlannedRuns::Ladder(_) => {
                let (on, mut earlier) = (one.runs_on(), Vec::with_capacity(FEWEST_RUNS));
                let run = |size: &&LadderSize| {
                    let run = canary(job, dataset, on, size, &earlier, job.canary.max_runtime);
                    earlier.push(size.fraction);
                    run
                };
                sizes.iter().map(run).collect()
            }
        };
        let mut left = match plan.is_adaptive() {
            true => job.canary.max_share.as_fraction().0 - runs.iter().map(part_of).sum::<f64>(),
            false => f64::INFINITY,
        };
        for run in &one.counts {
            // What is judged is made in any case, as the fewest are.
            let fits = run.instance == one.instance || part_of(run) <= left + ROUNDING;
            left -= if fits { part_of(run) } else { 0.0 };
            if fits { &mut runs } else { &mut left_out }.push(run.clone());
        }
        runs
    };
    let own = on(plan.own(), plan.runs());
    let alternatives = plan.all[1..].iter().map(|one| {
        let planned = one.runs.as_ref().map_err(NotMeasured::clone)?;
        Ok(on(one, planned))
    });
    DetachedRuns {
        alternatives: alternatives.collect(),
        own,
        left_out,
    }
}

/// Of the data, for the canaries on `base`: what those on further counts leave, and at least half of `canary.max_share`.
fn share_of_the_sizes(job: &Job, plan: &Plan) -> f64 {
    let share = job.canary.max_share.as_fraction().0;
    let counts: f64 = plan.own().counts.iter().map(part_of).sum();
    share - counts.min(PART_OF_THE_SHARE * share)
}

/// The largest part of a full run on `base` that ends in time where the full run on `instance` just keeps its budget; `None` without
/// a budget. Fewer machines may take so many times as long.
fn longest(job: &Job, plan: &Plan, offer_of: OfferOf<'_>) -> Option<f64> {
    let [all, base] = [&job.instance, &plan.own().base].map(|one| f64::from(one.total_count()));
    let allowed = allowed_by_the_budget(job, &offer_of(&job.instance))?.0 * all / base;
    let on_base = std::iter::repeat_n(&plan.own().base, FEWEST_RUNS);
    let on_counts = plan.own().counts.iter().map(|run| &run.instance);
    let offers = on_base.chain(on_counts).map(offer_of);
    let paid = seconds_for_each(part_of_instance(job), offers);
    let paid = paid.map_or(f64::INFINITY, |time| time.0.max(0.0));
    Some(LIMIT_SHARE * paid.min(job.canary.max_runtime.0) / allowed)
}

/// How long the full run may take by the budget's lines of time and cost; `None` without one.
pub fn allowed_by_the_budget(job: &Job, offer: &Offer) -> Option<Seconds> {
    let seconds = |line: &BudgetLine| match line.kind {
        LineKind::Absolute(Metric::Time) => Some(line.limit.number),
        LineKind::Absolute(Metric::Cost) => Some(line.limit.number / offer.cost(Seconds(1.0))?.0),
        _ => None,
    };
    let of_fail = job.budget.lines.iter();
    let of_fail = of_fail.filter(|line| line.level == Level::Fail);
    of_fail.filter_map(seconds).reduce(f64::min).map(Seconds)
}

/// The smallest, one between, and the largest that is within `share` of the data and shorter than `longest`, a part of the full run;
/// where none is, the three smallest.
fn chosen<'a>(
    job: &Job,
    sizes: &'a [LadderSize],
    share: f64,
    longest: Option<f64>,
) -> Vec<&'a LadderSize> {
    let [first, second, ..] = sizes else {
        return sizes.iter().collect();
    };
    let Some(third) = sizes.get(2) else {
        // A size is repeated where there are too few; the smallest costs least.
        return vec![first, second, first];
    };
    let part = |number: usize, size: &LadderSize| match job.differs_in_work_alone() {
        true => size.fraction.0,
        false => size.share * level(job, number).map_or(1.0, |work| work.share().0),
    };
    let fitting = sizes.iter().enumerate().skip(2).rev();
    let is_short = |size: &LadderSize| longest.is_none_or(|longest| part(2, size) <= longest);
    let mut fitting = fitting.filter(|(_, far)| is_short(far));
    fitting
        .find_map(|(place, far)| {
            let ln = |size: &LadderSize| size.fraction.0.ln();
            let wanted = ln(first) + STEP_POSITION * (ln(far) - ln(first));
            let distance = |size: &LadderSize| (ln(size) - wanted).abs();
            let left = share - part(0, first) - part(2, far);
            let between = sizes[1..place].iter();
            let middle = between
                .filter(|size| part(1, size) <= left)
                .min_by(|one, other| distance(one).total_cmp(&distance(other)))?;
            Some(vec![first, middle, far])
        })
        .unwrap_or_else(|| vec![first, second, third])
}

/// The part of the full run's data and work that a run has, 0-1.
fn part_of(run: &CanaryRun) -> f64 {
    run.data_share() * run.work_share()
}
