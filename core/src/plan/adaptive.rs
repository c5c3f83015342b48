//! The **adaptive design**: run by run, to sizes as large as the budget allows.
//!
//! A forecast is narrowed most by a large canary. So the design starts with the smallest rung to learn the fixed time, takes a
//! second one a little more than half way (on a logarithmic scale) to the largest that seems affordable, then the largest, and
//! continues with sizes that were not measured yet, as long as all canaries together take no more than `canary.max_share` of the
//! full run. Where the canaries print how far they are, it begins the full run in place of a larger size (`progress`).
//! It repeats a size only if a forecast still lacks runs. Where the smallest alone fails it goes on without that.

mod progress;
mod round;
mod situation;

pub use progress::{begun_full_run, limit_of_full_run};
pub use round::{RoundRule, next_round};
pub use situation::{has_enough, shortest_for_memory};

use crate::forecast::CanaryTime;
use crate::measurement::{Measurement, Outcome};
use crate::units::{Bytes, Fraction, Percent, Seconds};

/// A rung fits if it takes no more than the remaining budget with this probability.
const LIKELY: f64 = 0.8;
/// A rung is dropped if this quantile of its time exceeds [`LIMIT_SHARE`] of `canary.max_runtime`.
const UPPER: f64 = 0.95;
/// Of `canary.max_runtime`: a canary that may take longer is too large.
pub(super) const LIMIT_SHARE: f64 = 0.8;
/// The largest factor from the largest run so far to the next one without an intermediate run.
const LONGEST_JUMP: f64 = 10.0;
/// The largest share of the remaining budget for an intermediate run.
const SHARE_FOR_A_STEP: f64 = 0.5;
/// The position of an intermediate run, from the largest so far (0) to the largest that is affordable (1), in ln x. Of canaries that are
/// all started at once: of the middle one, from the smallest to the largest.
pub(super) const STEP_POSITION: f64 = 0.6;
/// The part of the whole budget that is kept in reserve.
const RESERVE: f64 = 0.02;
/// The reserve beside a second run for the runs that are missing if it does not complete, as a multiple of their likely time.
const KEPT_BESIDES: f64 = 2.0;
/// Of the share that all canaries may take, for a second run, which is limited by its data, for one run does not show how long the
/// full run is: by default a canary of 10 %. How far the second reaches says more than any law (`benches/wrong_green`).
const PART_OF_THE_SECOND: f64 = 0.45;
/// Of what the budget allows the full run: so long canaries may take where the forecast is in doubt.
const PART_OF_THE_BUDGET: f64 = 0.05;
/// Where most of the time is fixed, a larger run costs hardly more and shows far more: of the workloads of
/// `tests/data/training-runs.csv` whose first two differ by less than a fifth, a third of 2% in place of 50% would save at most a
/// third of a full run, and see a seventh of the time of one that grows as its square.
const NEAR_THE_LONGEST: f64 = 3.0;
/// Without a budget to decide, upper/lower of the time at which the forecast is narrow enough.
pub const NARROW: f64 = 1.5;

/// One size of the ladder, as the next run would have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rung {
    pub size: LadderSize,
    /// The share of the full run's work, in (0, 1].
    pub work: f64,
    /// How often it can still be run; `None`: without limit.
    pub supply: Option<u32>,
}

/// A size that the adaptive design may run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LadderSize {
    /// The fraction as the spec lists it.
    pub fraction: Fraction,
    /// The number of objects that a run draws from the sampled channel with the fewest.
    pub objects: u64,
    /// The bytes of the sampled channels in the first run of this size; later runs draw other objects.
    pub bytes: Bytes,
    /// The share of the data in the first run of this size, in (0, 1].
    pub share: f64,
}

/// What the design knows before its next run.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The sizes to choose from, in ascending order of the fraction.
    pub ladder: &'a [Rung],
    /// The runs on one configuration, in any order.
    pub measurements: &'a [Measurement],
    /// The time that all runs together may take on this configuration; `None`: no limit.
    pub budget: Option<Seconds>,
    /// The time that runs have taken.
    pub spent: Seconds,
    /// The longest that one run may take.
    pub max_runtime: Seconds,
    /// The shortest run that measures what a written line still needs; `None` where any run does ([`shortest_for_memory`]).
    pub shortest: Option<Seconds>,
    pub aim: Aim,
    /// Where the full run may take far longer than its forecast: how long it may take by the budget, 0 without a budget.
    pub doubt: Option<Seconds>,
    /// All canaries together take no more than this share of the predicted full run. The fewest runs that a forecast needs are
    /// made in any case: where none fits, the cheapest. Infinite to compare designs at equal cost.
    pub share: Percent,
}

/// Whether the forecast needs more runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// It does: a line of the budget is undecided, or the forecast is not narrow yet.
    GoOn,
    /// It does not, except to reach the fewest runs that a forecast needs, for which the cheapest are chosen.
    Reached(Reached),
}

/// Why the forecast needs no more runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// Every line that can fail the check is decided.
    Decided,
    /// There is no line to decide, and upper/lower of the time is at most [`NARROW`].
    Narrow,
}

/// The next run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundRun {
    pub rung: Rung,
    /// It is stopped after so long.
    pub limit: Seconds,
}

/// Why the design runs no more canaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Reached(Reached),
    /// Every rung that fits into the budget and the time limit has been run.
    NothingHelps,
    /// The same, and a larger one would fit if a canary might run longer.
    MaxRuntime,
    /// Any further canary would pass the share.
    BeyondTheShare,
    /// No completed canary measured a time, so no further one can be planned.
    NoTimes,
    /// Not even the fewest runs that a forecast needs fit into the budget.
    TooExpensive,
    /// A run failed and is not passed over, ran out of memory, was stopped or did not open its sample; the same code on more data
    /// would too.
    Ended,
}

/// A rung with the predicted time of its next run, in seconds.
#[derive(Debug, Clone, Copy)]
struct NextRung {
    rung: Rung,
    median: f64,
    likely: f64,
    upper: f64,
}

/// The next canary, or why there is none. Deterministic. Its time is learned from the runs that have ended: some of the situation's may
/// still be supposed.
fn next_run(situation: &Situation, time: Option<&CanaryTime>) -> Result<RoundRun, StopReason> {
    let is_bad = |run: &Measurement| !run.is_completed() && run.outcome != Outcome::TimedOut;
    if situation.measurements.iter().any(is_bad) {
        return Err(StopReason::Ended);
    }
    let enough = has_enough(situation.measurements);
    if let Aim::Reached(reached) = situation.aim
        && enough
        && situation.shortest.is_none()
    {
        return Err(StopReason::Reached(reached));
    }
    let left = situation.left();
    let limit = Seconds(left.min(situation.max_runtime.0));
    let run = |&rung: &Rung| Ok(RoundRun { rung, limit });
    let Some(time) = time else {
        // The time of a first run is unknown except for its limit; if it timed out, no larger one is run.
        return match situation.open_rungs().next() {
            Some(rung) if situation.measurements.is_empty() && limit.0 > 0.0 => run(rung),
            _ if situation.completed().next().is_some() => Err(StopReason::NoTimes),
            _ => Err(StopReason::TooExpensive),
        };
    };
    let room = left - RESERVE * situation.budget.map_or(0.0, |budget| budget.0);
    let (worth, worth_farther) = (situation.worth(time), situation.worth_farther(time));
    let all = situation.open_rungs().map(|rung| candidate(rung, time));
    let all: Vec<NextRung> = all.collect();
    let longest = LIMIT_SHARE * situation.max_runtime.0;
    let open = those(&all, |one| one.upper <= longest);
    let within = those(&open, |one| {
        one.median <= worth || one.median <= worth_farther && situation.is_farther(one)
    });
    if let Some(shortest) = situation.shortest {
        let long = those(&within, |one| one.median >= shortest.0);
        match (choose(situation, &long, room), situation.aim) {
            (Some(one), _) => return run(&one.rung),
            (None, Aim::Reached(reached)) if enough => return Err(StopReason::Reached(reached)),
            (None, _) => {}
        }
    }
    let chosen = |open: &[NextRung], room: f64| match situation.aim {
        // After a run that timed out, cheap ones come first, to make a forecast possible at all.
        Aim::GoOn if !enough && situation.longest_timed_out() > 0.0 => {
            choose_cheapest(situation, open, room)
        }
        Aim::GoOn => choose(situation, open, room),
        Aim::Reached(_) => choose_cheapest(situation, open, room),
    };
    // One run predicts the next poorly: if that takes far longer than predicted, it is stopped while the fewest runs that a
    // forecast needs are still affordable.
    let run = |one: NextRung| {
        let without_others = left - situation.kept_besides(&one.rung, time);
        let limit = Seconds(limit.0.min(without_others.max(one.upper)));
        let rung = one.rung;
        Ok(RoundRun { rung, limit })
    };
    if let Some(next) = chosen(&within, room) {
        // The last of the fewest is run in any case; where most of the time is fixed, a larger one costs hardly more.
        let is_last = situation.aim == Aim::GoOn
            && situation.missing_runs() == 1
            && !situation.has_begun_all();
        let far = (is_last && within.len() < open.len())
            .then(|| choose_near_the_longest(situation, &open, room))
            .flatten();
        let fraction = |one: &NextRung| one.rung.size.fraction.0;
        // Two sizes show no curve: a third is run in place of a repeat.
        let third = (!enough && !situation.is_new(&next))
            .then(|| choose_cheapest(situation, &open, room))
            .flatten();
        let far = far.filter(|far| fraction(far) > fraction(&next));
        let instead = far.or(third.filter(|third| situation.is_new(third)));
        return run(instead.unwrap_or(next));
    }
    if enough {
        return Err(if chosen(&open, room).is_some() {
            StopReason::BeyondTheShare
        } else if situation.is_kept_by_max_runtime(time, room.min(worth_farther)) {
            StopReason::MaxRuntime
        } else {
            StopReason::NothingHelps
        });
    }
    // Beyond the share only the fewest are run, of what is cheapest.
    if within.len() < open.len() {
        let next = match situation.aim {
            Aim::GoOn if !situation.has_begun_all() => {
                choose_near_the_longest(situation, &open, room)
            }
            _ => choose_cheapest(situation, &open, room),
        };
        if let Some(next) = next {
            return run(next);
        }
    }
    // If no rung is sure enough to stay below the time limit, take the smallest that is likely to.
    let likely = those(&all, |one| one.median <= longest);
    let kept = situation.kept_for_the_fewest(&likely);
    choose_cheapest(situation, &likely, room - kept).map_or(Err(StopReason::TooExpensive), run)
}

fn those(rungs: &[NextRung], are: impl Fn(&NextRung) -> bool) -> Vec<NextRung> {
    rungs.iter().filter(|one| are(one)).copied().collect()
}

fn candidate(rung: &Rung, time: &CanaryTime) -> NextRung {
    let predicted = time.at(rung.size.share, rung.work);
    NextRung {
        rung: *rung,
        median: predicted.median(),
        likely: predicted.quantile(LIKELY),
        upper: predicted.quantile(UPPER),
    }
}

/// The next of the runs that are missing to the fewest, if the forecast needs no other: the cheapest size that was not
/// measured yet, for two sizes show no curve, else the cheapest. Where no line is undecided, a new size that takes far longer than
/// those so far is not worth it.
fn choose_cheapest(situation: &Situation, open: &[NextRung], room: f64) -> Option<NextRung> {
    let fitting = || open.iter().filter(|one| one.likely <= room);
    let longest = NEAR_THE_LONGEST * situation.longest_completed();
    let is_worth_it = |one: &&NextRung| situation.aim == Aim::GoOn || one.likely <= longest;
    let new = || fitting().filter(|one| situation.is_new(one));
    let repeat = || fitting().next().filter(|_| situation.lacks_only_runs());
    let chosen = new().find(is_worth_it).or_else(repeat);
    chosen.or_else(|| new().next()).copied()
}

/// The largest new size that likely takes at most [`NEAR_THE_LONGEST`] times as long as the longest run so far, or the cheapest.
fn choose_near_the_longest(
    situation: &Situation,
    open: &[NextRung],
    room: f64,
) -> Option<NextRung> {
    let cheapest = choose_cheapest(situation, open, room)?;
    let price = cheapest.likely.max(situation.longest_completed());
    let near = open
        .iter()
        .filter(|one| one.likely <= room && one.likely <= NEAR_THE_LONGEST * price)
        .rfind(|one| situation.is_new(one));
    Some(*near.unwrap_or(&cheapest))
}

/// The rung that helps most among those that fit into `room`, in seconds.
fn choose(situation: &Situation, open: &[NextRung], room: f64) -> Option<NextRung> {
    let largest = situation.largest_fraction();
    let kept = situation.kept_for_the_fewest(open);
    let by_data = situation.limit_of_the_second();
    let fits = |one: &&NextRung| {
        one.likely + kept <= room && one.rung.size.share * one.rung.work <= by_data
    };
    let fraction = |one: &NextRung| one.rung.size.fraction.0;
    let larger = open.iter().filter(|one| fraction(one) > largest);
    let farthest = larger.clone().rfind(|one| one.median <= room);
    if let Some(farthest) = farthest {
        if fits(&farthest) && fraction(farthest) <= LONGEST_JUMP * largest {
            return Some(*farthest);
        }
        let middle = largest.powf(1.0 - STEP_POSITION) * fraction(farthest).powf(STEP_POSITION);
        let distance = |one: &NextRung| (fraction(one) / middle).ln().abs();
        let step = larger
            .filter(fits)
            .filter(|one| fraction(one) <= fraction(farthest))
            .filter(|one| one.median <= SHARE_FOR_A_STEP * room)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        if step.is_some() {
            return step.copied();
        }
    }
    let mut fitting = open.iter().filter(fits);
    let new = fitting.clone().rfind(|one| situation.is_new(one));
    let repeat = || fitting.next_back().filter(|_| situation.lacks_only_runs());
    new.or_else(repeat).copied()
}

#[cfg(test)]
mod tests;
