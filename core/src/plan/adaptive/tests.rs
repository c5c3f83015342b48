use proptest::prelude::*;

use super::*;
use crate::forecast::FEWEST_RUNS;
use crate::units::count_as_float;

const LADDER: [f64; 7] = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0];

pub(super) fn ladder(percentages: &[f64]) -> Vec<Rung> {
    let rung = |percent: &f64| Rung {
        size: LadderSize {
            fraction: Fraction(percent / 100.0),
            objects: 1,
            bytes: Bytes(1),
            share: percent / 100.0,
        },
        work: 1.0,
        supply: None,
    };
    percentages.iter().map(rung).collect()
}

pub(super) fn run(percent: f64, seconds: f64) -> Measurement {
    Measurement {
        training_seconds: Some(Seconds(seconds)),
        ..Measurement::without_figures(
            "churn".to_owned(),
            "local".parse().unwrap(),
            Fraction(percent / 100.0),
            Outcome::Completed,
        )
    }
}

/// `1:10` of a percent in 10 s; `5:60!` was stopped at its time limit.
fn runs(text: &str) -> Vec<Measurement> {
    let of = |word: &str| {
        let (percent, seconds) = word.trim_end_matches('!').split_once(':').unwrap();
        let mut run = run(percent.parse().unwrap(), seconds.parse().unwrap());
        if word.ends_with('!') {
            run.outcome = Outcome::TimedOut;
        }
        run
    };
    text.split_whitespace().map(of).collect()
}

/// Where no share limits what canaries may take.
const WHOLE: Percent = Percent(f64::INFINITY);

/// An hour for all canaries, an hour for each.
pub(super) fn situation<'a>(ladder: &'a [Rung], measurements: &'a [Measurement]) -> Situation<'a> {
    Situation {
        ladder,
        measurements,
        budget: Some(Seconds(3600.0)),
        spent: measurements
            .iter()
            .filter_map(|run| run.training_seconds)
            .sum(),
        max_runtime: Seconds(3600.0),
        shortest: None,
        aim: Aim::GoOn,
        doubt: None,
        share: WHOLE,
    }
}

fn percent_of(run: &RoundRun) -> f64 {
    (run.rung.size.fraction.0 * 1000.0).round() / 10.0
}

/// By the times of the runs that there are.
fn next(situation: &Situation) -> Result<RoundRun, StopReason> {
    let time = CanaryTime::learn(situation.measurements);
    next_run(situation, time.as_ref())
}

/// The size in percent, or why there is none.
fn said(next: &Result<RoundRun, StopReason>) -> String {
    match next {
        Ok(run) => percent_of(run).to_string(),
        Err(why) => format!("{why:?}"),
    }
}

/// What a whole design runs, in per cent, and why it ends; a run is cut at its limit.
fn simulate(
    start: &Situation,
    seconds: impl Fn(f64) -> f64,
) -> (Vec<f64>, Vec<Measurement>, StopReason) {
    let mut measurements = start.measurements.to_vec();
    let mut order = Vec::new();
    for _ in 0..100 {
        let times = measurements.iter().filter_map(|run| run.training_seconds);
        let spent = times.sum();
        let now = Situation {
            measurements: &measurements,
            spent,
            ..*start
        };
        let next = next(&now);
        assert_eq!(
            next,
            self::next(&now),
            "the same situation gives the same answer"
        );
        let next = match next {
            Ok(next) => next,
            Err(done) => return (order, measurements, done),
        };
        let RoundRun { rung, limit } = next;
        let percent = percent_of(&next);
        order.push(percent);
        let time = seconds(rung.size.share);
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

/// What is run, in per cent, where a training takes a fixed time and so many seconds more for all of the data; the budget and
/// the longest run in seconds too, and how much of the full run canaries may take, in per cent.
#[test]
fn whole_designs_by_example() {
    use StopReason::{BeyondTheShare, MaxRuntime, NothingHelps, TooExpensive};
    let ladder = ladder(&LADDER);
    let examples: [(u16, u16, u16, u16, u16, &str, StopReason); 19] = [
        // A step, as far as the money goes, and then what was not measured yet, the largest first.
        (20, 7000, 3600, 3600, 100, "1 5 20 10 3 2", NothingHelps),
        (5, 500, 3600, 3600, 100, "1 10 50 20 5 3 2", NothingHelps),
        (10, 9000, 1000, 3600, 100, "1 5 3", NothingHelps),
        (100, 2000, 1000, 3600, 100, "1 5 20 2", NothingHelps),
        (100, 1000, 700, 3600, 100, "1 5 10 3", NothingHelps),
        (1, 2000, 500, 3600, 100, "1 10 5 3 2", NothingHelps),
        // Where the fixed time is most of it, three canaries are soon as long as the full run; a large third costs hardly more.
        (60, 40, 3600, 3600, 100, "1 5 50", BeyondTheShare),
        (300, 1000, 1300, 3600, 100, "1 3 20", NothingHelps),
        // A quarter of the full run, as far as it is known; the fewest runs in any case.
        (20, 7000, 3600, 3600, 25, "1 5 10 3 2", BeyondTheShare),
        (5, 500, 3600, 3600, 25, "1 10 20", BeyondTheShare),
        (100, 2000, 1000, 3600, 25, "1 5 20", BeyondTheShare),
        (60, 40, 3600, 3600, 25, "1 5 50", BeyondTheShare),
        // A run that takes far longer than predicted is ended while the fewest runs are still affordable, or nearly.
        (10, 20_000, 3600, 3600, 100, "1 10 2 3", NothingHelps),
        (1, 5000, 1000, 3600, 100, "1 10 5 3", NothingHelps),
        (1, 5000, 500, 200, 100, "1 3 2", NothingHelps),
        (1, 3000, 400, 3600, 100, "1 10", TooExpensive),
        // Of 700 s, 560 would be surely enough; 2 % takes 610, and 3 % more than all: the smallest is taken, and none is lost.
        (10, 30_000, 3600, 700, 100, "1 2 1", MaxRuntime),
        // Three runs of 200 s do not fit in 700, by what one run shows.
        (200, 100, 700, 600, 100, "1", TooExpensive),
        (200, 100, 750, 600, 100, "1 2 5", NothingHelps),
    ];
    for (fixed, growing, budget, max_runtime, share, expected, why) in examples {
        let start = Situation {
            budget: Some(Seconds(budget.into())),
            max_runtime: Seconds(max_runtime.into()),
            share: Percent(share.into()),
            ..situation(&ladder, &[])
        };
        let (fixed, growing) = (f64::from(fixed), f64::from(growing));
        let (order, _, done) = simulate(&start, |share| fixed + growing * share);
        let order: Vec<String> = order.iter().map(f64::to_string).collect();
        assert_eq!(
            (order.join(" ").as_str(), done),
            (expected, why),
            "{fixed} s and {growing} s, {share} %"
        );
    }
}

/// The sizes in percent; the runs so far; of the budget all but these seconds is an hour, the share is no limit where none stands, and
/// a `+` is a line that short runs do not measure; then the next size, while lines are undecided and once they are decided, or why there
/// is none; `-` is not looked at.
const NEXT: &str = "
# A size that was ended at its limit closes the larger ones.
1 2 3 5 10 20 50 | 5:60! 1:60 2:61      |      | 3            | -
1 2 3 5 10 20 50 | 5:60! 1:60 2:61 3:62 |      | NothingHelps | -
1 2 3 5 10 20 50 | 1:60!                |      | TooExpensive | -
# What is reached is known once there are three runs on two sizes; more canaries would not change it, so the cheapest do.
1 2 3 5 10 20 50 | 1:10                 |      | -            | 2
1 2 3 5 10 20 50 | 1:10 2:12            |      | -            | 3
1 2 3 5 10 20 50 | 1:10 1:10 1:10       |      | -            | 2
1 2 3 5 10 20 50 | 1:10 1:10 2:12       |      | -            | Reached(Decided)
# Two sizes are repeated to three runs.
1 2              | 1:10 2:10            |      | 2            | -
1 2              | 1:10 2:10 2:10       |      | NothingHelps | -
# Of a full run of about 230 s, 11 s are left, and 1 % takes 10: 3 % in 14 is run in place of a repeat.
1 3 10 50        | 1:10 10:30           | 22%  | 3            | 3
# Where no line is undecided, a third size that takes far longer is not worth it.
1 10 50          | 1:10 10:30           | 22%  | 50           | 1
# A quantity that short runs do not measure, as where CloudWatch alone sees memory, is measured by longer ones.
1 2 3 5 10 20 50 | 1:20 2:40 3:60       |      | -            | Reached(Decided)
1 2 3 5 10 20 50 | 1:20 2:40 3:60       | +    | 20           | 20
# Where none is affordable that is long enough, what else is decided is decided.
1 2 3 5 10 20 50 | 1:20 2:40 3:60       | 270+ | 5            | Reached(Decided)
";

#[test]
fn next_runs_by_example() {
    for line in NEXT.lines().filter(|line| line.contains('|')) {
        let [sizes, made, bounds, undecided, decided] =
            <[&str; 5]>::try_from(line.split('|').map(str::trim).collect::<Vec<_>>()).unwrap();
        let sizes: Vec<f64> = (sizes.split(' '))
            .map(|size| size.parse().unwrap())
            .collect();
        let (ladder, measurements) = (ladder(&sizes), runs(made));
        let share = bounds.strip_suffix('%').map(|share| share.parse().unwrap());
        let budget = bounds.trim_end_matches('+').parse().unwrap_or(3600.0);
        let after = |aim| {
            said(&next(&Situation {
                aim,
                share: share.map_or(WHOLE, Percent),
                shortest: bounds.ends_with('+').then_some(Seconds(180.0)),
                budget: Some(Seconds(budget)),
                ..situation(&ladder, &measurements)
            }))
        };
        let aims = [Aim::GoOn, Aim::Reached(Reached::Decided)];
        for (aim, expected) in aims.into_iter().zip([undecided, decided]) {
            assert!(expected == "-" || after(aim) == expected, "{line} {aim:?}");
        }
    }
}

#[test]
fn a_run_without_a_time_or_that_failed_ends_the_design_and_a_size_without_supply_is_passed_over() {
    let ladder = ladder(&LADDER);
    let after = |runs: &[Measurement]| next(&situation(&ladder, runs));
    let untimed = Measurement {
        training_seconds: None,
        ..run(1.0, 0.0)
    };
    assert_eq!(after(&[untimed]), Err(StopReason::NoTimes));
    for outcome in [
        Outcome::Failed {
            exit_code: None,
            last_line: None,
        },
        Outcome::out_of_memory(None),
        Outcome::Stopped,
        Outcome::NoCapacity,
    ] {
        let failed = Measurement {
            outcome,
            ..run(5.0, 60.0)
        };
        assert_eq!(after(&[run(1.0, 10.0), failed]), Err(StopReason::Ended));
    }
    let mut few = self::ladder(&[1.0, 2.0, 5.0]);
    few[0].supply = Some(0);
    assert_eq!(said(&next(&situation(&few, &[]))), "2");
    few[2].supply = Some(0);
    let measured = [run(2.0, 10.0)];
    assert_eq!(said(&next(&situation(&few, &measured))), "TooExpensive");
}

/// In seconds, of the run after these.
#[test]
fn a_run_may_take_what_is_left_and_the_second_leaves_room_for_the_fewest() {
    let ladder = ladder(&LADDER);
    let limit = |made, budget: Option<f64>| {
        let measurements = runs(made);
        let budget = budget.map(Seconds);
        let here = Situation {
            budget,
            ..situation(&ladder, &measurements)
        };
        next(&here).unwrap().limit.0
    };
    assert_eq!(limit("", Some(100.0)), 100.0);
    assert_eq!(limit("", Some(5000.0)), 3600.0);
    assert_eq!(limit("", None), 3600.0);
    // Twice what a run of 2 % and one of 3 % are likely to take, which is more than one of 1 %.
    let second = limit("1:10", Some(3600.0));
    assert!(second < 3590.0 - 2.0 * (10.0 + 10.0), "{second}");
    assert_eq!(limit("1:10 5:30", Some(3600.0)), 3560.0);
}

#[test]
fn one_size_is_not_repeated_and_a_job_of_short_canaries_is_designed_as_any() {
    let one = ladder(&[1.0]);
    for aim in [Aim::GoOn, Aim::Reached(Reached::Narrow)] {
        let start = Situation {
            budget: None,
            aim,
            ..situation(&one, &[])
        };
        let (order, _, done) = simulate(&start, |share| 10.0 + share);
        assert_eq!((order, done), (vec![1.0], StopReason::TooExpensive));
    }
    let ladder = ladder(&LADDER);
    let start = situation(&ladder, &[]);
    let order = |shortest| simulate(&Situation { shortest, ..start }, |share| 1.0 + 10.0 * share).0;
    assert_eq!(order(Some(Seconds(180.0))), order(None));
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
        let has_a_forecast = matches!(done, StopReason::NothingHelps | StopReason::MaxRuntime);
        prop_assert_eq!(has_a_forecast, completed >= FEWEST_RUNS);
    }
}

mod rounds;
