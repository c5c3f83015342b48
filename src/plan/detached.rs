//! The canaries of a run that detaches: all that are started before anything is known of any.

use super::design::canary_after;
use super::{LadderSize, PlannedRuns, level, seconds_paid_by};
use crate::canary::{CanaryRun, Dataset};
use crate::forecast::FEWEST_RUNS;
use crate::instance::{InstanceConfiguration, Offer};
use crate::metric::Metric;
use crate::spec::{BudgetLine, Job, Level, LineKind};
use crate::units::{Percent, Seconds, Usd, count_as_float};

/// Where the middle canary lies from the smallest (0) to the largest (1), in ln of the size; as in the adaptive design.
const MIDDLE: f64 = 0.6;
/// Of `canary.max_runtime`: a canary that may take longer where the full run just keeps the budget is too large.
const LIMIT_SHARE: f64 = 0.8;

/// The canaries of one configuration. Of the fixed design all; of the adaptive one the fewest that make a forecast, chosen by what is
/// known without any: they hold no more of the data than `canary.max_share`, and the largest is likely to end in time if the
/// full run is within its budget. Two processes that know the same job choose the same, whatever money is left.
pub fn detached_runs(
    job: &Job,
    dataset: &Dataset,
    instance: &InstanceConfiguration,
    planned: &PlannedRuns,
    offer: &Offer,
) -> Vec<CanaryRun> {
    let sizes = match planned {
        PlannedRuns::Fixed(runs) => return runs.clone(),
        PlannedRuns::Ladder(sizes) => sizes,
    };
    let limit = paid_for_each(job, offer).min(job.canary.max_runtime.0);
    let longest = allowed_by_the_budget(job, offer).map(|allowed| LIMIT_SHARE * limit / allowed.0);
    let mut runs = Vec::with_capacity(FEWEST_RUNS);
    let mut earlier = Vec::with_capacity(FEWEST_RUNS);
    for size in chosen(job, sizes, longest) {
        let max_runtime = job.canary.max_runtime;
        runs.push(canary_after(
            job,
            dataset,
            instance,
            size,
            &earlier,
            max_runtime,
        ));
        earlier.push(size.fraction);
    }
    runs
}

/// How long each of the fewest canaries may take, in seconds, that `canary.spend_limit` pays for; without end where no price is known.
fn paid_for_each(job: &Job, offer: &Offer) -> f64 {
    let each = Usd(job.canary.spend_limit.0 / count_as_float(FEWEST_RUNS));
    seconds_paid_by(each, offer).map_or(f64::INFINITY, |time| time.0)
}

/// Whether canaries of so many configurations, each with these, hold no more of the data than `canary.max_share`.
pub fn within_the_share(runs: &[CanaryRun], configurations: usize, share: Percent) -> bool {
    let part: f64 = runs.iter().map(part_of).sum();
    part * count_as_float(configurations) <= share.as_fraction().0
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

/// The smallest, one between, and the largest that is within the share and shorter than `longest`, a part of the full run; where
/// none is, the three smallest.
fn chosen<'a>(job: &Job, sizes: &'a [LadderSize], longest: Option<f64>) -> Vec<&'a LadderSize> {
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
    let share = job.canary.max_share.as_fraction().0;
    let fitting = sizes.iter().enumerate().skip(2).rev();
    let is_short = |size: &LadderSize| longest.is_none_or(|longest| part(2, size) <= longest);
    let mut fitting = fitting.filter(|(_, far)| is_short(far));
    fitting
        .find_map(|(place, far)| {
            let ln = |size: &LadderSize| size.fraction.0.ln();
            let wanted = ln(first) + MIDDLE * (ln(far) - ln(first));
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

/// Of the full run's data and work.
fn part_of(run: &CanaryRun) -> f64 {
    run.data_share() * run.work_share()
}
