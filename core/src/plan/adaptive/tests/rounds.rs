//! Rounds: what runs at once, within which limits.

use proptest::prelude::*;

use super::*;
use crate::metric::MemoryOf;
use crate::plan::TIME_TO_STOP;

const A_QUARTER: Percent = Percent(25.0);

/// Three at once, and what stopping takes.
fn rule<'a>(at_once: usize, aim_after: &'a dyn Fn(&[Measurement]) -> Aim) -> RoundRule<'a> {
    RoundRule {
        at_once,
        beside: TIME_TO_STOP,
        aim_after,
        shortest_after: &|runs| shortest_for_memory(runs, MemoryOf::Machine),
    }
}

fn goes_on(_: &[Measurement]) -> Aim {
    Aim::GoOn
}

/// As where every line is decided once a forecast has its fewest runs.
fn decided_by_the_fewest(runs: &[Measurement]) -> Aim {
    match has_enough(runs) {
        true => Aim::Reached(Reached::Decided),
        false => Aim::GoOn,
    }
}

fn decided(_: &[Measurement]) -> Aim {
    Aim::Reached(Reached::Decided)
}

/// What runs at once after these, in percent; the first may take 600 s, and later ones an hour.
#[test]
fn rounds_by_example() {
    // The worst cases of the fewest.
    let enough = 3.0 * 600.0 + 2.0 * TIME_TO_STOP.0;
    let (hour, decided_by_three): (_, fn(&[Measurement]) -> Aim) =
        (Some(3600.0), decided_by_the_fewest);
    let goes_on: fn(&[Measurement]) -> Aim = goes_on;
    for (made, budget, share, at_once, aim, expected) in [
        // By its data the second may have 45 % of the share, and ten times the first.
        ("", Some(enough), A_QUARTER, 3, goes_on, &[1.0, 10.0][..]),
        ("", Some(enough), A_QUARTER, 2, goes_on, &[1.0, 10.0]),
        (
            "",
            Some(enough),
            Percent(10_000.0),
            3,
            goes_on,
            &[1.0, 10.0],
        ),
        // Nothing but the smallest is within so small a share.
        ("", Some(enough), Percent(4.0), 3, goes_on, &[1.0]),
        ("", Some(enough - 1.0), A_QUARTER, 3, goes_on, &[1.0]),
        ("", Some(enough), A_QUARTER, 1, goes_on, &[1.0]),
        // Together they hold no more of the data than the share: of a quarter 1 and 10 % leave 14 %, of 32 % they leave 21 %.
        ("1:10", None, A_QUARTER, 3, goes_on, &[10.0]),
        ("1:10", None, Percent(32.0), 3, goes_on, &[10.0, 20.0]),
        ("1:10", None, Percent(10.0), 3, goes_on, &[3.0, 5.0]),
        // A run that only results would ask for is in no round.
        ("1:10 5:30", hour, WHOLE, 3, decided_by_three, &[50.0]),
        ("1:10 5:30", hour, WHOLE, 3, goes_on, &[50.0, 20.0, 10.0]),
        // Where money is short a round is one run.
        ("1:10 5:30", Some(180.0), WHOLE, 3, goes_on, &[20.0]),
        // Where the cheapest runs will do they run at once.
        ("1:10", hour, WHOLE, 3, decided, &[2.0, 3.0]),
        // A round that timed out closes the larger sizes.
        ("1:60 3:60! 20:60!", hour, WHOLE, 3, goes_on, &[2.0]),
    ] {
        let (ladder, measurements) = (ladder(&LADDER), runs(made));
        let here = Situation {
            budget: budget.map(Seconds),
            max_runtime: Seconds(if made.is_empty() { 600.0 } else { 3600.0 }),
            share,
            aim: aim(&measurements),
            ..situation(&ladder, &measurements)
        };
        let round = next_round(&here, &rule(at_once, &aim)).unwrap();
        let percents: Vec<f64> = round.iter().map(percent_of).collect();
        assert_eq!(
            percents, expected,
            "{made} of {budget:?} at {share}, {at_once}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Bit for bit, on the way that the design takes.
    #[test]
    fn a_round_of_one_is_the_next_run(
        fixed in 0.0..300.0f64,
        growing in 0.0..20_000.0f64,
        budget in prop_oneof![Just(None), (1.0..10_000.0f64).prop_map(Some)],
        share in prop_oneof![Just(None), (5.0..100.0f64).prop_map(Some)],
    ) {
        let ladder = ladder(&LADDER);
        let start = Situation {
            budget: budget.map(Seconds),
            share: share.map_or(WHOLE, Percent),
            ..situation(&ladder, &[])
        };
        let (_, measurements, _) = simulate(&start, |share| 1.0 + fixed + growing * share);
        for made in 0..=measurements.len() {
            let here = &measurements[..made];
            let spent = here.iter().filter_map(Measurement::time).sum();
            let now = Situation { measurements: here, spent, ..start };
            let round = next_round(&now, &rule(1, &goes_on));
            prop_assert_eq!(next(&now).map(|run| vec![run]), round);
        }
    }

    /// Whatever the runs of a round take, up to their limits.
    #[test]
    fn the_limits_of_a_round_with_what_stopping_takes_are_within_the_budget(
        fixed in 0.0..300.0f64,
        growing in 0.0..20_000.0f64,
        exponent in 0.3..2.0f64,
        budget in 100.0..20_000.0f64,
        at_once in 1..6usize,
        max_runtime in 60.0..4000.0f64,
        is_share in any::<bool>(),
    ) {
        let ladder = ladder(&LADDER);
        let mut runs: Vec<Measurement> = Vec::new();
        let mut spent = 0.0;
        for round in 0.. {
            prop_assert!(round < 100, "a design ends");
            let now = Situation {
                budget: Some(Seconds(budget)),
                spent: Seconds(spent),
                max_runtime: Seconds(max_runtime),
                share: if is_share { A_QUARTER } else { WHOLE },
                ..situation(&ladder, &runs)
            };
            let Ok(asked) = next_round(&now, &rule(at_once, &goes_on)) else {
                break;
            };
            prop_assert!(asked.len() <= at_once.max(1));
            prop_assert!(!runs.is_empty() || asked.len() <= 2);
            let limits: f64 = asked.iter().map(|one| one.limit.0).sum();
            let stopping = TIME_TO_STOP.0 * count_as_float(asked.len() - 1);
            prop_assert!(limits + stopping <= (budget - spent) * (1.0 + 1e-9));
            prop_assert!(asked.iter().all(|one| one.limit.0 > 0.0 && one.limit.0 <= max_runtime));
            for one in asked {
                let time = 1.0 + fixed + growing * one.rung.size.share.powf(exponent);
                let percent = percent_of(&one);
                spent += time.min(one.limit.0);
                runs.push(match time <= one.limit.0 {
                    true => run(percent, time),
                    false => Measurement { outcome: Outcome::TimedOut, ..run(percent, one.limit.0) },
                });
            }
        }
    }
}
