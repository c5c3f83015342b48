//! The **adaptive design**: run by run, as far out as the money allows.
//!
//! What narrows a forecast most is how far out the largest canary lies. So the design starts with the smallest rung to learn
//! what is fixed, takes a second one a little more than half way up (on a logarithmic scale) to the largest that seems affordable, then
//! the largest, and fills up with sizes that were not measured yet, as long as all together take less than the full run. Repeats of one size do not help and are not run, unless
//! the fewest runs that a forecast needs ask for them.

use crate::forecast::{CanaryTime, FEWEST_RUNS, FEWEST_SIZES};
use crate::measurement::{Measurement, Outcome};
use crate::units::{Fraction, Seconds};

/// A rung fits if it is this likely to take no more than what is left.
const LIKELY: f64 = 0.8;
/// A rung is dropped if this quantile of its time passes [`LIMIT_SHARE`] of the time a canary may take.
const UPPER: f64 = 0.95;
/// Of `canary.max_runtime`.
const LIMIT_SHARE: f64 = 0.8;
/// From the largest run so far to the next one, at most, without a stop between.
const LONGEST_JUMP: f64 = 10.0;
/// What a run between may take of what is left.
const SHARE_FOR_A_STEP: f64 = 0.5;
/// Where a run between lies, from the largest so far (0) to the largest that is affordable (1), in ln x.
const STEP_POSITION: f64 = 0.6;
/// Part of the whole budget that is kept back.
const RESERVE: f64 = 0.02;
/// What is kept besides a second run for those that are missing if it does not complete: so many times what they seem to take.
const KEPT_BESIDES: f64 = 2.0;
/// Without a budget to decide, upper/lower of the time at which the forecast is narrow enough.
pub const NARROW: f64 = 1.5;

/// One size of the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rung {
    /// As the spec lists it.
    pub fraction: Fraction,
    /// Of the data, in (0, 1].
    pub share: f64,
    /// Of the full run's work, in (0, 1].
    pub work: f64,
    /// How often it can still be run; `None`: any number of times.
    pub supply: Option<u32>,
}

/// What the design knows before its next run.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// Rising in fraction.
    pub ladder: &'a [Rung],
    /// On one configuration, in any order.
    pub measurements: &'a [Measurement],
    /// What all runs together may take, in seconds of this configuration; `None`: no limit.
    pub budget: Option<Seconds>,
    /// What they have taken.
    pub spent: Seconds,
    /// The longest that one run may take.
    pub max_runtime: Seconds,
    pub aim: Aim,
    pub thrift: Thrift,
}

/// How much of the budget is worth spending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thrift {
    /// Beyond the fewest runs, canaries together take no longer than the full run seems to: it would tell more.
    UpToAFullRun,
    /// All of it, to hold designs against each other at equal cost.
    WholeBudget,
}

/// Whether more is to be learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// It is: a line of the budget is undecided, or the forecast is not narrow yet.
    GoOn,
    /// It is not; what a forecast still lacks of the fewest runs it needs is made up with the cheapest.
    Reached(Reached),
}

/// Why nothing more needs to be learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// Every line that can fail the check is decided.
    Decided,
    /// There is no line to decide, and upper/lower of the time is at most [`NARROW`].
    Narrow,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Run this rung, and end it after `limit`.
    Run {
        rung: Rung,
        limit: Seconds,
    },
    Done(Done),
}

/// Why no more is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Reached(Reached),
    /// Every rung that fits into the budget and the time limit has been run.
    NothingHelps,
    /// What still fits would make the canaries take longer than the full run seems to ([`Thrift`]).
    DearerThanTheFullRun,
    /// The canaries that completed measured no time, so that nothing can be planned.
    NoTimes,
    /// Not even the fewest runs that a forecast needs fit into the budget.
    TooDear,
    /// A run failed, ran out of memory or was stopped; more of the same code on more data would too.
    Ended,
}

/// A rung with what its next run will take, in seconds.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    rung: Rung,
    median: f64,
    likely: f64,
    upper: f64,
}

/// The next canary, or why there is none. Deterministic.
pub fn next(situation: &Situation) -> Next {
    let done = |why| Next::Done(why);
    if situation
        .measurements
        .iter()
        .any(|run| !matches!(run.outcome, Outcome::Completed | Outcome::TimedOut))
    {
        return done(Done::Ended);
    }
    let enough = situation.has_enough();
    if let Aim::Reached(reached) = situation.aim
        && enough
    {
        return done(Done::Reached(reached));
    }
    let left = situation.left();
    let limit = Seconds(left.min(situation.max_runtime.0));
    let run = |rung| Next::Run { rung, limit };
    let Some(time) = CanaryTime::learn(situation.measurements) else {
        // Nothing is known of a first run's time but its limit; once it timed out, no larger one will do.
        return match situation.open_rungs().next() {
            Some(rung) if situation.measurements.is_empty() && limit.0 > 0.0 => run(*rung),
            _ if situation.completed().next().is_some() => done(Done::NoTimes),
            _ => done(Done::TooDear),
        };
    };
    let room = left - RESERVE * situation.budget.map_or(0.0, |budget| budget.0);
    let worth = match situation.thrift {
        Thrift::UpToAFullRun if enough => {
            let full_run = time
                .at(1.0, 1.0)
                .median()
                .max(situation.longest_timed_out());
            full_run - situation.spent.0
        }
        Thrift::UpToAFullRun | Thrift::WholeBudget => f64::INFINITY,
    };
    let open: Vec<Candidate> = situation
        .open_rungs()
        .map(|rung| candidate(rung, &time))
        .filter(|one| one.upper <= LIMIT_SHARE * situation.max_runtime.0)
        .collect();
    let chosen = |open: &[Candidate], room: f64| match situation.aim {
        // After one that took longer than it may, what is cheap first makes a forecast possible at all.
        Aim::GoOn if !enough && situation.longest_timed_out() > 0.0 => {
            choose_cheapest(situation, open, room)
        }
        Aim::GoOn => choose(situation, open, room),
        Aim::Reached(_) => choose_cheapest(situation, open, room),
    };
    // One run tells little of the next: if that takes far longer than it seemed, it is ended while the fewest runs that a
    // forecast needs can still be paid for.
    let run =
        |rung: Rung| Next::Run {
            rung,
            limit: Seconds(limit.0.min(
                (left - situation.kept_besides(&rung, &time)).max(candidate(&rung, &time).upper),
            )),
        };
    if let Some(rung) = chosen(&open, room.min(worth)) {
        return run(rung);
    }
    if enough {
        return done(if chosen(&open, room).is_some() {
            Done::DearerThanTheFullRun
        } else {
            Done::NothingHelps
        });
    }
    // Where no rung is sure enough to stay below the time limit, one that likely does must serve.
    match chosen(&likely_below_the_limit(situation, &time), room) {
        Some(rung) => run(rung),
        None => done(Done::TooDear),
    }
}

/// The rungs that are as likely as not to take no more than [`LIMIT_SHARE`] of the time a canary may take.
fn likely_below_the_limit(situation: &Situation, time: &CanaryTime) -> Vec<Candidate> {
    situation
        .open_rungs()
        .map(|rung| candidate(rung, time))
        .filter(|one| one.median <= LIMIT_SHARE * situation.max_runtime.0)
        .collect()
}

fn candidate(rung: &Rung, time: &CanaryTime) -> Candidate {
    let predicted = time.at(rung.share, rung.work);
    Candidate {
        rung: *rung,
        median: predicted.median(),
        likely: predicted.quantile(LIKELY),
        upper: predicted.quantile(UPPER),
    }
}

/// What is missing to the fewest runs, where more than these will not be learnt: the cheapest size that was not measured yet, else
/// the cheapest.
fn choose_cheapest(situation: &Situation, open: &[Candidate], room: f64) -> Option<Rung> {
    let mut fitting = open.iter().filter(|one| one.likely <= room);
    fitting
        .clone()
        .find(|one| situation.is_new(one))
        .or_else(|| fitting.next().filter(|_| situation.lacks_only_runs()))
        .map(|one| one.rung)
}

/// The rung that helps most among those that fit into `room`, in seconds.
fn choose(situation: &Situation, open: &[Candidate], room: f64) -> Option<Rung> {
    let largest = situation.largest_fraction();
    let kept = situation.kept_for_the_fewest(open);
    let fits = |one: &&Candidate| one.likely + kept <= room;
    let farthest = open
        .iter()
        .rfind(|one| one.rung.fraction.0 > largest && one.median + kept <= room);
    if let Some(farthest) = farthest {
        if fits(&farthest) && farthest.rung.fraction.0 <= LONGEST_JUMP * largest {
            return Some(farthest.rung);
        }
        let middle =
            largest.powf(1.0 - STEP_POSITION) * farthest.rung.fraction.0.powf(STEP_POSITION);
        let distance = |one: &Candidate| (one.rung.fraction.0 / middle).ln().abs();
        let step = open
            .iter()
            .filter(fits)
            .filter(|one| one.rung.fraction.0 > largest)
            .filter(|one| one.rung.fraction.0 <= farthest.rung.fraction.0)
            .filter(|one| one.median <= SHARE_FOR_A_STEP * room)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        if let Some(step) = step {
            return Some(step.rung);
        }
    }
    let mut fitting = open.iter().filter(fits);
    fitting
        .clone()
        .rfind(|one| situation.is_new(one))
        .or_else(|| fitting.next_back().filter(|_| situation.lacks_only_runs()))
        .map(|one| one.rung)
}

/// Whether a forecast has the fewest completed runs and sizes it needs.
pub fn has_enough(measurements: &[Measurement]) -> bool {
    let completed = measurements.iter().filter(|run| run.is_completed());
    completed.count() >= FEWEST_RUNS && sizes(measurements) >= FEWEST_SIZES
}

/// Of the runs that completed.
fn sizes(measurements: &[Measurement]) -> usize {
    let completed = measurements.iter().filter(|run| run.is_completed());
    let mut fractions: Vec<f64> = completed.map(|run| run.fraction.0).collect();
    fractions.sort_by(f64::total_cmp);
    fractions.dedup();
    fractions.len()
}

impl Situation<'_> {
    fn completed(&self) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(|run| run.is_completed())
    }

    /// In seconds; 0 where none was ended at its limit.
    fn longest_timed_out(&self) -> f64 {
        self.measurements
            .iter()
            .filter(|run| run.outcome == Outcome::TimedOut)
            .filter_map(Measurement::time)
            .fold(0.0, |longest, time| time.0.max(longest))
    }

    /// Whether its size was not measured yet at its level of work.
    fn is_new(&self, candidate: &Candidate) -> bool {
        let work = |run: &Measurement| match (run.work, run.work_total) {
            (Some(work), Some(total)) => work / total,
            _ => 1.0,
        };
        !self
            .completed()
            .any(|run| run.fraction == candidate.rung.fraction && work(run) == candidate.rung.work)
    }

    /// In seconds; infinite without a budget.
    fn left(&self) -> f64 {
        self.budget
            .map_or(f64::INFINITY, |budget| budget.0 - self.spent.0)
    }

    /// Those that can still be run, and are smaller than any that was ended at its limit.
    fn open_rungs(&self) -> impl DoubleEndedIterator<Item = &Rung> {
        let bound = self
            .measurements
            .iter()
            .filter(|run| run.outcome == Outcome::TimedOut)
            .map(|run| run.fraction.0)
            .fold(f64::INFINITY, f64::min);
        self.ladder
            .iter()
            .filter(move |rung| rung.fraction.0 < bound && rung.supply != Some(0))
    }

    fn largest_fraction(&self) -> f64 {
        self.completed()
            .map(|run| run.fraction.0)
            .fold(0.0, f64::max)
    }

    /// Whether a forecast has the fewest runs and sizes it needs.
    fn has_enough(&self) -> bool {
        has_enough(self.measurements)
    }

    /// Whether a repeat helps: it adds a run, but no size.
    fn lacks_only_runs(&self) -> bool {
        self.missing_runs() > 0 && self.sizes() >= FEWEST_SIZES
    }

    fn missing_runs(&self) -> usize {
        FEWEST_RUNS.saturating_sub(self.completed().count())
    }

    fn sizes(&self) -> usize {
        sizes(self.measurements)
    }

    /// After a single run: [`KEPT_BESIDES`] times what the smallest runs of other sizes would take, as many as are missing if
    /// one of `rung` does not complete; in seconds.
    fn kept_besides(&self, rung: &Rung, time: &CanaryTime) -> f64 {
        if self.completed().count() > 1 {
            return 0.0;
        }
        let smallest = self
            .open_rungs()
            .filter(|other| other.fraction.0 < rung.fraction.0)
            .map(|other| candidate(other, time))
            .filter(|other| self.is_new(other))
            .take(self.missing_runs());
        KEPT_BESIDES * smallest.map(|other| other.likely).sum::<f64>()
    }

    /// What small runs must still have room after the next one, in seconds.
    fn kept_for_the_fewest(&self, open: &[Candidate]) -> f64 {
        let after = self.missing_runs().saturating_sub(1);
        let smallest = open.first().map_or(0.0, |one| one.median);
        smallest * super::units_of(after)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measurement::{Phases, SCHEMA_VERSION, Usage};

    const LADDER: [f64; 7] = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0];

    fn ladder(percentages: &[f64]) -> Vec<Rung> {
        percentages
            .iter()
            .map(|percent| Rung {
                fraction: Fraction(percent / 100.0),
                share: percent / 100.0,
                work: 1.0,
                supply: None,
            })
            .collect()
    }

    fn run(percent: f64, seconds: f64) -> Measurement {
        Measurement {
            schema_version: SCHEMA_VERSION,
            run: None,
            job: "churn".to_owned(),
            instance: "local".parse().unwrap(),
            backend: None,
            fraction: Fraction(percent / 100.0),
            objects: None,
            objects_total: None,
            bytes: None,
            bytes_total: None,
            work: None,
            work_total: None,
            replicate: 0,
            attempt: 0,
            start: None,
            outcome: Outcome::Completed,
            phases: Phases::default(),
            training_seconds: Some(Seconds(seconds)),
            billable_seconds: None,
            usage: Usage::default(),
            hosts: Vec::new(),
            step_seconds: None,
            price: None,
            cost: None,
            ended_at: None,
            notes: Vec::new(),
        }
    }

    fn ended(percent: f64, outcome: Outcome) -> Measurement {
        Measurement {
            outcome,
            ..run(percent, 60.0)
        }
    }

    /// An hour for all canaries, an hour for each.
    fn situation<'a>(ladder: &'a [Rung], measurements: &'a [Measurement]) -> Situation<'a> {
        Situation {
            ladder,
            measurements,
            budget: Some(Seconds(3600.0)),
            spent: measurements
                .iter()
                .filter_map(|run| run.training_seconds)
                .sum(),
            max_runtime: Seconds(3600.0),
            aim: Aim::GoOn,
            thrift: Thrift::WholeBudget,
        }
    }

    fn percent_of(next: Next) -> f64 {
        match next {
            Next::Run { rung, .. } => (rung.fraction.0 * 1000.0).round() / 10.0,
            Next::Done(done) => panic!("nothing more to run: {done:?}"),
        }
    }

    /// What a whole design runs, in per cent, and why it ends; a run is cut at its limit.
    fn simulate(
        start: &Situation,
        seconds: impl Fn(f64) -> f64,
    ) -> (Vec<f64>, Vec<Measurement>, Done) {
        let mut measurements = start.measurements.to_vec();
        let mut order = Vec::new();
        for _ in 0..100 {
            let spent = measurements
                .iter()
                .filter_map(|run| run.training_seconds)
                .sum();
            let now = Situation {
                measurements: &measurements,
                spent,
                ..*start
            };
            let next = next(&now);
            assert_eq!(
                next,
                super::next(&now),
                "the same situation gives the same answer"
            );
            let (rung, limit) = match next {
                Next::Run { rung, limit } => (rung, limit),
                Next::Done(done) => return (order, measurements, done),
            };
            let percent = percent_of(next);
            order.push(percent);
            let time = seconds(rung.share);
            measurements.push(if time <= limit.0 {
                run(percent, time)
            } else {
                Measurement {
                    outcome: Outcome::TimedOut,
                    ..run(percent, limit.0)
                }
            });
        }
        panic!("a design must end: {order:?}");
    }

    #[test]
    fn it_starts_small_takes_a_step_and_goes_as_far_as_the_money_allows() {
        let ladder = ladder(&LADDER);
        let (order, measurements, done) =
            simulate(&situation(&ladder, &[]), |share| 20.0 + 7000.0 * share);
        assert_eq!(order[0], 1.0);
        assert!(order[1] > 1.0 && order[1] <= 20.0, "{order:?}");
        // 50 % would take 3520 s of the 3600.
        assert!(order.contains(&20.0) && !order.contains(&50.0), "{order:?}");
        assert_eq!(done, Done::NothingHelps);
        assert!(measurements.iter().all(Measurement::is_completed));
    }

    #[test]
    fn no_size_is_run_twice_once_a_forecast_has_its_fewest_runs() {
        let ladder = ladder(&LADDER);
        for thrift in [Thrift::WholeBudget, Thrift::UpToAFullRun] {
            let start = Situation {
                thrift,
                ..situation(&ladder, &[])
            };
            let (order, ..) = simulate(&start, |share| 5.0 + 500.0 * share);
            let mut sizes = order.clone();
            sizes.sort_by(f64::total_cmp);
            sizes.dedup();
            assert_eq!(sizes.len(), order.len(), "{order:?}");
        }
    }

    #[test]
    fn beyond_the_fewest_runs_canaries_together_take_no_longer_than_the_full_run() {
        let ladder = ladder(&LADDER);
        let thrifty = Situation {
            thrift: Thrift::UpToAFullRun,
            ..situation(&ladder, &[])
        };
        // 100 s in full, of which 60 are fixed.
        let time = |share: f64| 60.0 + 40.0 * share;
        let (few, ..) = simulate(&thrifty, time);
        let (all, ..) = simulate(&situation(&ladder, &[]), time);
        assert_eq!(few.len(), 3, "{few:?}");
        assert!(all.len() > 3, "{all:?}");
    }

    #[test]
    fn the_first_run_may_take_what_is_left_and_no_longer_than_a_canary_may() {
        let ladder = ladder(&LADDER);
        let limit = |budget, max_runtime| match next(&Situation {
            budget,
            max_runtime: Seconds(max_runtime),
            ..situation(&ladder, &[])
        }) {
            Next::Run { limit, .. } => limit.0,
            Next::Done(done) => panic!("{done:?}"),
        };
        assert_eq!(limit(Some(Seconds(100.0)), 3600.0), 100.0);
        assert_eq!(limit(Some(Seconds(5000.0)), 3600.0), 3600.0);
        assert_eq!(limit(None, 3600.0), 3600.0);
    }

    #[test]
    fn a_size_that_may_pass_the_time_limit_is_not_run() {
        let ladder = ladder(&LADDER);
        let start = Situation {
            budget: None,
            max_runtime: Seconds(600.0),
            ..situation(&ladder, &[])
        };
        // 10 % takes 460 s of 600, within 480, but not surely; 20 % takes 900 s.
        let (order, measurements, done) = simulate(&start, |share| 20.0 + 4400.0 * share);
        assert!(order.contains(&5.0) && !order.contains(&20.0), "{order:?}");
        assert!(measurements.iter().all(Measurement::is_completed));
        assert_eq!(done, Done::NothingHelps);
    }

    #[test]
    fn a_size_that_was_ended_at_its_limit_closes_the_larger_ones() {
        let ladder = ladder(&LADDER);
        let runs = [
            run(1.0, 60.0),
            run(2.0, 61.0),
            ended(5.0, Outcome::TimedOut),
        ];
        assert_eq!(percent_of(next(&situation(&ladder, &runs))), 3.0);
        let first = [ended(1.0, Outcome::TimedOut)];
        assert_eq!(next(&situation(&ladder, &first)), Next::Done(Done::TooDear));
    }

    #[test]
    fn a_size_without_supply_is_passed_over() {
        let mut ladder = ladder(&[1.0, 2.0, 5.0]);
        ladder[0].supply = Some(0);
        assert_eq!(percent_of(next(&situation(&ladder, &[]))), 2.0);
        ladder[2].supply = Some(0);
        let runs = [run(2.0, 10.0)];
        assert_eq!(next(&situation(&ladder, &runs)), Next::Done(Done::TooDear));
    }

    #[test]
    fn a_run_that_failed_ends_the_design() {
        let ladder = ladder(&LADDER);
        for outcome in [
            Outcome::Failed {
                exit_code: None,
                last_line: None,
            },
            Outcome::OutOfMemory { last_line: None },
            Outcome::Stopped,
            Outcome::NoCapacity,
        ] {
            let runs = [run(1.0, 10.0), ended(5.0, outcome)];
            assert_eq!(next(&situation(&ladder, &runs)), Next::Done(Done::Ended));
        }
    }

    #[test]
    fn what_is_reached_is_told_once_there_are_three_runs_on_two_sizes() {
        let ladder = ladder(&LADDER);
        let after = |runs: &[Measurement]| {
            next(&Situation {
                aim: Aim::Reached(Reached::Decided),
                ..situation(&ladder, runs)
            })
        };
        let one = [run(1.0, 10.0)];
        let same = [run(1.0, 10.0), run(1.0, 10.0), run(1.0, 10.0)];
        let enough = [run(1.0, 10.0), run(1.0, 10.0), run(2.0, 12.0)];
        // What more canaries tell changes nothing: the cheapest will do.
        assert_eq!(percent_of(after(&one)), 2.0);
        assert_eq!(percent_of(after(&enough[1..])), 3.0);
        assert_eq!(percent_of(after(&same)), 2.0);
        assert_eq!(after(&enough), Next::Done(Done::Reached(Reached::Decided)));
    }

    #[test]
    fn two_sizes_are_repeated_to_three_runs_and_one_size_is_not() {
        let two = ladder(&[1.0, 2.0]);
        let (order, _, done) = simulate(&situation(&two, &[]), |share| 10.0 + share);
        assert_eq!(
            (order.as_slice(), done),
            ([1.0, 2.0, 2.0].as_slice(), Done::NothingHelps)
        );
        let one = ladder(&[1.0]);
        for aim in [Aim::GoOn, Aim::Reached(Reached::Narrow)] {
            let start = Situation {
                budget: None,
                aim,
                ..situation(&one, &[])
            };
            let (order, _, done) = simulate(&start, |share| 10.0 + share);
            assert_eq!((order.as_slice(), done), ([1.0].as_slice(), Done::TooDear));
        }
    }

    #[test]
    fn too_little_money_is_told_before_it_is_spent() {
        let ladder = ladder(&LADDER);
        let runs = [run(1.0, 1500.0)];
        assert_eq!(next(&situation(&ladder, &runs)), Next::Done(Done::TooDear));
        let nothing = Situation {
            budget: Some(Seconds(0.0)),
            ..situation(&ladder, &[])
        };
        assert_eq!(next(&nothing), Next::Done(Done::TooDear));
        let empty = situation(&[], &[]);
        assert_eq!(next(&empty), Next::Done(Done::TooDear));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn whatever_the_law_the_budget_is_kept_and_the_design_ends(
            fixed in 0.0..300.0f64,
            growing in 0.0..20_000.0f64,
            exponent in 0.3..2.0f64,
            budget in prop_oneof![Just(None), (1.0..10_000.0f64).prop_map(Some)],
            max_runtime in 60.0..4000.0f64,
        ) {
            let ladder = ladder(&LADDER);
            let start = Situation {
                budget: budget.map(Seconds),
                max_runtime: Seconds(max_runtime),
                ..situation(&ladder, &[])
            };
            let (order, measurements, done) =
                simulate(&start, |share| 1.0 + fixed + growing * share.powf(exponent));
            let spent: f64 = measurements
                .iter()
                .filter_map(|run| run.training_seconds)
                .map(|time| time.0)
                .sum();
            prop_assert!(budget.is_none_or(|budget| spent <= budget * (1.0 + 1e-9)));
            prop_assert_eq!(order[0], 1.0);
            let completed = measurements.iter().filter(|run| run.is_completed()).count();
            prop_assert_eq!(done == Done::NothingHelps, completed >= FEWEST_RUNS);
        }
    }
}
