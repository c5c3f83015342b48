use proptest::prelude::*;

use super::*;
use crate::forecast::FEWEST_RUNS;
use crate::units::count_as_float;

const LADDER: [f64; 7] = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0];

fn ladder(percentages: &[f64]) -> Vec<Rung> {
    percentages
        .iter()
        .map(|percent| Rung {
            size: LadderSize {
                fraction: Fraction(percent / 100.0),
                objects: 1,
                bytes: Bytes(1),
                share: percent / 100.0,
            },
            work: 1.0,
            supply: None,
        })
        .collect()
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
        shortest: None,
        aim: Aim::GoOn,
        doubt: None,
        spending: SpendingRule::WholeBudget,
    }
}

fn percent_of(next: Next) -> f64 {
    match next {
        Next::Run { rung, .. } => (rung.size.fraction.0 * 1000.0).round() / 10.0,
        Next::Done(done) => panic!("nothing more to run: {done:?}"),
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
            spending: SpendingRule::UpToAShare(Percent(share.into())),
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

#[test]
fn without_a_time_of_a_completed_run_no_further_one_is_planned() {
    let ladder = ladder(&LADDER);
    let untimed = Measurement {
        training_seconds: None,
        ..run(1.0, 0.0)
    };
    assert_eq!(
        next(&situation(&ladder, &[untimed])),
        Next::Done(StopReason::NoTimes)
    );
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
fn beside_the_second_run_the_fewest_are_kept_and_the_third_may_take_all_that_is_left() {
    let ladder = ladder(&LADDER);
    let runs = [run(1.0, 10.0), run(5.0, 30.0)];
    let limit = |runs| match next(&situation(&ladder, runs)) {
        Next::Run { limit, .. } => limit.0,
        Next::Done(done) => panic!("{done:?}"),
    };
    // Twice what a run of 2 % and one of 3 % are likely to take, which is more than one of 1 %.
    let second = limit(&runs[..1]);
    assert!(second < 3590.0 - 2.0 * (10.0 + 10.0), "{second}");
    assert_eq!(limit(&runs), 3560.0);
}

#[test]
fn a_size_that_was_ended_at_its_limit_closes_the_larger_ones() {
    let ladder = ladder(&LADDER);
    let runs = [
        ended(5.0, Outcome::TimedOut),
        run(1.0, 60.0),
        run(2.0, 61.0),
        run(3.0, 62.0),
    ];
    assert_eq!(percent_of(next(&situation(&ladder, &runs[..3]))), 3.0);
    assert_eq!(
        next(&situation(&ladder, &runs)),
        Next::Done(StopReason::NothingHelps)
    );
    let first = [ended(1.0, Outcome::TimedOut)];
    assert_eq!(
        next(&situation(&ladder, &first)),
        Next::Done(StopReason::TooExpensive)
    );
}

#[test]
fn a_size_without_supply_is_passed_over() {
    let mut ladder = ladder(&[1.0, 2.0, 5.0]);
    ladder[0].supply = Some(0);
    assert_eq!(percent_of(next(&situation(&ladder, &[]))), 2.0);
    ladder[2].supply = Some(0);
    let runs = [run(2.0, 10.0)];
    assert_eq!(
        next(&situation(&ladder, &runs)),
        Next::Done(StopReason::TooExpensive)
    );
}

#[test]
fn a_run_that_failed_ends_the_design() {
    let ladder = ladder(&LADDER);
    for outcome in [
        Outcome::Failed {
            exit_code: None,
            last_line: None,
        },
        Outcome::OutOfMemory {
            of: crate::metric::MemoryOf::Machine,
            last_line: None,
        },
        Outcome::Stopped,
        Outcome::NoCapacity,
    ] {
        let runs = [run(1.0, 10.0), ended(5.0, outcome)];
        assert_eq!(
            next(&situation(&ladder, &runs)),
            Next::Done(StopReason::Ended)
        );
    }
}

#[test]
fn what_is_reached_is_known_once_there_are_three_runs_on_two_sizes() {
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
    // More canaries would not change the verdict: the cheapest will do.
    assert_eq!(percent_of(after(&one)), 2.0);
    assert_eq!(percent_of(after(&enough[1..])), 3.0);
    assert_eq!(percent_of(after(&same)), 2.0);
    assert_eq!(
        after(&enough),
        Next::Done(StopReason::Reached(Reached::Decided))
    );
}

#[test]
fn two_sizes_are_repeated_to_three_runs_and_one_size_is_not() {
    let two = ladder(&[1.0, 2.0]);
    let (order, _, done) = simulate(&situation(&two, &[]), |share| 10.0 + share);
    assert_eq!(
        (order.as_slice(), done),
        ([1.0, 2.0, 2.0].as_slice(), StopReason::NothingHelps)
    );
    let one = ladder(&[1.0]);
    for aim in [Aim::GoOn, Aim::Reached(Reached::Narrow)] {
        let start = Situation {
            budget: None,
            aim,
            ..situation(&one, &[])
        };
        let (order, _, done) = simulate(&start, |share| 10.0 + share);
        assert_eq!(
            (order.as_slice(), done),
            ([1.0].as_slice(), StopReason::TooExpensive)
        );
    }
}

#[test]
fn a_third_size_is_run_in_place_of_a_repeat_that_alone_keeps_to_the_share() {
    let ladder = ladder(&[1.0, 3.0, 10.0, 50.0]);
    let runs = [run(1.0, 10.0), run(10.0, 30.0)];
    // Of a full run of about 230 s, 11 s are left: 1 % takes 10, 3 % 14.
    for aim in [Aim::GoOn, Aim::Reached(Reached::Decided)] {
        let of_share = Situation {
            aim,
            spending: SpendingRule::UpToAShare(Percent(22.0)),
            ..situation(&ladder, &runs)
        };
        assert_eq!(percent_of(next(&of_share)), 3.0, "{aim:?}");
        // Where no line is undecided, a third size that takes far longer is not worth it.
        let far = [ladder[0], ladder[2], ladder[3]];
        let far = Situation {
            ladder: &far,
            ..of_share
        };
        let percent = percent_of(next(&far));
        assert_eq!(percent == 1.0, aim != Aim::GoOn, "{aim:?} {percent}");
    }
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

/// As where CloudWatch alone sees the memory of a canary, from three minutes on.
#[test]
fn a_quantity_that_short_runs_do_not_measure_is_measured_by_longer_ones() {
    let ladder = ladder(&LADDER);
    let runs = [run(1.0, 20.0), run(2.0, 40.0), run(3.0, 60.0)];
    let decided = Aim::Reached(Reached::Decided);
    let with = |aim, shortest, budget| {
        next(&Situation {
            aim,
            shortest,
            budget,
            ..situation(&ladder, &runs)
        })
    };
    let shortest = Some(Seconds(180.0));
    assert_eq!(
        with(decided, None, None),
        Next::Done(StopReason::Reached(Reached::Decided))
    );
    for aim in [decided, Aim::GoOn] {
        let larger = percent_of(with(aim, shortest, None));
        assert!(larger >= 10.0, "{larger}");
    }
    // Where none is affordable that is long enough, what else is decided is decided.
    let little = Some(Seconds(120.0 + 150.0));
    assert_eq!(
        with(decided, shortest, little),
        Next::Done(StopReason::Reached(Reached::Decided))
    );
    assert_eq!(percent_of(with(Aim::GoOn, shortest, little)), 5.0);
}

#[test]
fn a_job_whose_every_canary_is_too_short_is_designed_as_if_none_were() {
    let ladder = ladder(&LADDER);
    let start = Situation {
        shortest: Some(Seconds(180.0)),
        ..situation(&ladder, &[])
    };
    let (order, _, _) = simulate(&start, |percent| 1.0 + 0.1 * percent);
    let (same, _, _) = simulate(&situation(&ladder, &[]), |percent| 1.0 + 0.1 * percent);
    assert_eq!(order, same);
}

mod rounds;
