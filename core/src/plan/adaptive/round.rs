//! A **round**: the canaries of the adaptive design that run at once.
//!
//! The runs of a round are chosen without their own results. The first is the one that the design runs next. Then that one is
//! supposed to have completed, and the design is asked again, by the same times and rules: what is known is what has ended, and
//! what the round's runs take is counted with its upper end. A round ends before a run that only their results would ask for.

use super::{
    Aim, LIMIT_SHARE, LONGEST_JUMP, NextRung, PART_OF_THE_SECOND, RoundRun, Rung, Situation,
    StopReason, candidate, has_enough, next_run,
};
use crate::forecast::{CanaryTime, FEWEST_RUNS, supposed};
use crate::measurement::Measurement;
use crate::units::{Seconds, count_as_float};

/// So many times the upper end of its time is kept for a run that others run beside: it may take longer than the runs before it
/// let one expect. Of 1, 1.5 and 2, the least that kept the errors of all workloads of `tests/data/training-runs.csv`.
const UNSEEN: f64 = 1.5;

/// How a round is made.
#[derive(Clone, Copy)]
pub struct RoundRule<'a> {
    /// The most runs of a round; 1 is the design run by run, as [`next_round`] gives it.
    pub at_once: usize,
    /// What each further run of a round sets aside beyond its limit, as long as stopping it takes.
    pub beside: Seconds,
    /// Whether the forecast would need more runs after these, some of which are only supposed.
    pub aim_after: &'a dyn Fn(&[Measurement]) -> Aim,
    /// The shortest run that a written line would still need after these.
    pub shortest_after: &'a dyn Fn(&[Measurement]) -> Option<Seconds>,
}

/// The next round, at least one run, or why there is none. Deterministic.
///
/// Beside the first canary of all runs the second, where both are known without its time. The limits of a round's runs, with what
/// each sets aside beside the first, sum to no more than the budget leaves.
pub fn next_round(
    situation: &Situation,
    rule: &RoundRule<'_>,
) -> Result<Vec<RoundRun>, StopReason> {
    let time = CanaryTime::learn(situation.measurements);
    let alone = next_run(situation, time.as_ref())?;
    let Some(time) = time else {
        let second = beside_the_first(situation, rule, &alone.rung);
        let second = second.map(|rung| RoundRun { rung, ..alone });
        return Ok([alone].into_iter().chain(second).collect());
    };
    let mut round = DraftRound {
        situation,
        rule,
        time: &time,
        runs: vec![candidate(&alone.rung, &time)],
        ended: situation.measurements.to_vec(),
    };
    while round.runs.len() < rule.at_once {
        match round.one_more() {
            Some(one) => round.runs.push(one),
            None => break,
        }
    }
    Ok(match round.runs.len() {
        1 => vec![alone],
        _ => round.with_limits(),
    })
}

/// The second canary of all, as large as its data allow: run by run the time of the first seldom makes it another one. `None`
/// unless the budget covers the fewest runs of a forecast at their longest.
fn beside_the_first(situation: &Situation<'_>, rule: &RoundRule<'_>, first: &Rung) -> Option<Rung> {
    let (max_runtime, fewest) = (situation.max_runtime.0, count_as_float(FEWEST_RUNS));
    let fits = fewest * max_runtime + (fewest - 1.0) * rule.beside.0 <= situation.left();
    // An infinite share does not bound the second run, so it waits for the first.
    let has_share = situation.share.0.is_finite();
    let is_first = situation.measurements.is_empty() && rule.at_once > 1 && has_share;
    let by_data = PART_OF_THE_SECOND * situation.share.as_fraction().0;
    let smallest = first.size.fraction.0;
    let mut larger = situation.open_rungs().filter(|rung| {
        let fraction = rung.size.fraction.0;
        fraction > smallest
            && fraction <= LONGEST_JUMP * smallest
            && rung.size.share * rung.work <= by_data
    });
    larger.next_back().filter(|_| is_first && fits).copied()
}

/// A round in the making.
struct DraftRound<'a> {
    situation: &'a Situation<'a>,
    rule: &'a RoundRule<'a>,
    /// The prediction by the runs that have ended.
    time: &'a CanaryTime,
    runs: Vec<NextRung>,
    /// The runs that have ended, and those of the round as they are supposed to.
    ended: Vec<Measurement>,
}

impl DraftRound<'_> {
    /// The next run of the round, if it would be run after the others had completed as expected.
    fn one_more(&mut self) -> Option<NextRung> {
        let last = self.runs.last()?;
        let size = last.rung.size;
        let place = (size.share, last.rung.work);
        let run = supposed(&self.ended, size.fraction, place, Seconds(last.median))?;
        self.ended.push(run);
        let medians: f64 = self.runs.iter().map(|one| one.median).sum();
        let uppers: f64 = self.runs.iter().map(|one| self.most(one)).sum();
        let set_aside = uppers - medians + self.beside();
        let after = Situation {
            measurements: &self.ended,
            // By the share canaries count as they are likely to, by the budget as they may at most.
            spent: self.situation.spent + Seconds(medians),
            budget: (self.situation.budget).map(|budget| budget - Seconds(set_aside)),
            shortest: (self.situation.shortest)
                .and_then(|_| (self.rule.shortest_after)(&self.ended)),
            aim: (self.rule.aim_after)(&self.ended),
            ..*self.situation
        };
        let next = match (self.situation.completed().count(), after.aim) {
            (1, Aim::GoOn) => self.farthest_unseen(&after),
            _ => {
                let next = next_run(&after, Some(self.time)).ok()?;
                Some(candidate(&next.rung, self.time))
            }
        };
        // A repeat would be drawn as the one beside it.
        let is_beside = |one: &NextRung| self.runs.iter().any(|run| run.rung.size == one.rung.size);
        next.filter(|one| !is_beside(one) && one.upper <= after.left())
    }

    /// While one canary alone has shown how long the full run is, beside the second the largest that is within the share by its
    /// data: with it all canaries together hold no more of the data than they may take of the full run. Nothing once a forecast
    /// has its fewest runs.
    fn farthest_unseen(&self, after: &Situation) -> Option<NextRung> {
        let ended = self.ended.iter();
        let parts = ended.map(|run| run.data_share() * run.work_share());
        let share = after.share.as_fraction().0;
        let left = share - parts.sum::<f64>();
        // Only a second run shows how far a whole budget reaches.
        let has_enough = has_enough(after.measurements);
        let is_open = share.is_finite() && after.longest_timed_out() == 0.0 && !has_enough;
        let last = self.runs.last()?.rung.size.fraction.0;
        let most = (LIMIT_SHARE * after.max_runtime.0).min(after.left());
        after
            .open_rungs()
            .filter(|rung| is_open && rung.size.share * rung.work <= left)
            .filter(|rung| rung.size.fraction.0 > last)
            .map(|rung| candidate(rung, self.time))
            .rfind(|one| one.upper <= most)
    }

    /// The longest that it is likely to take, in seconds.
    fn most(&self, one: &NextRung) -> f64 {
        (UNSEEN * one.upper).min(self.situation.max_runtime.0)
    }

    /// What the round's runs and one more set aside for stopping, beyond the one that the budget counts, in seconds.
    fn beside(&self) -> f64 {
        self.rule.beside.0 * count_as_float(self.runs.len())
    }

    /// All that the budget leaves, in proportion to what each run is likely to take at most.
    fn with_limits(&self) -> Vec<RoundRun> {
        let most: Vec<f64> = self.runs.iter().map(|one| self.most(one)).collect();
        let sum: f64 = most.iter().sum();
        let stopping = self.beside() - self.rule.beside.0;
        let left = self.situation.left() - stopping;
        let rungs = self.runs.iter().map(|one| &one.rung);
        let smallest =
            (rungs.clone()).min_by(|a, b| a.size.fraction.0.total_cmp(&b.size.fraction.0));
        let kept = smallest.map_or(0.0, |rung| self.situation.kept_besides(rung, self.time));
        let times = (left - kept).max(sum.min(left)) / sum;
        let limit = |most: f64| Seconds((most * times).min(self.situation.max_runtime.0));
        (rungs.zip(most))
            .map(|(rung, most)| RoundRun {
                rung: *rung,
                limit: limit(most),
            })
            .collect()
    }
}
