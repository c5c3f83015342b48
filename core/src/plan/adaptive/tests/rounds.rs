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

/// The runs so far; the budget in seconds beside the worst cases of the fewest, or what it is; the share in percent; how many at once, and
/// whether lines are decided: never, by the fewest, or already. Then what runs at once, in percent.
const ROUNDS: &str = "
# By its data the second may have 45 % of the share, and ten times the first.
                 | fewest     |    25 | 3 never  | 1 10
                 | fewest     |    25 | 2 never  | 1 10
                 | fewest     | 10000 | 3 never  | 1 10
# Nothing but the smallest is within so small a share.
                 | fewest     |     4 | 3 never  | 1
                 | too little |    25 | 3 never  | 1
                 | fewest     |    25 | 1 never  | 1
# Together they hold no more of the data than the share: of a quarter 1 and 10 % leave 14 %, of 32 % they leave 21 %.
1:10             |            |    25 | 3 never  | 10
1:10             |            |    32 | 3 never  | 10 20
1:10             |            |    10 | 3 never  | 3 5
# A run that only results would ask for is in no round.
1:10 5:30        | 3600       |   inf | 3 fewest | 50
1:10 5:30        | 3600       |   inf | 3 never  | 50 20 10
# Where money is short a round is one run.
1:10 5:30        | 180        |   inf | 3 never  | 20
# Where the cheapest runs will do they run at once.
1:10             | 3600       |   inf | 3 all    | 2 3
# A round that timed out closes the larger sizes.
1:60 3:60! 20:60! | 3600      |   inf | 3 never  | 2
";

/// The first run may take 600 s, and later ones an hour.
#[test]
fn rounds_by_example() {
    let fewest = 3.0 * 600.0 + 2.0 * TIME_TO_STOP.0;
    for line in ROUNDS.lines().filter(|line| line.contains('|')) {
        let [made, budget, share, rule_of, expected] =
            <[&str; 5]>::try_from(line.split('|').map(str::trim).collect::<Vec<_>>()).unwrap();
        let (at_once, decided_by) = rule_of.split_once(' ').unwrap();
        let aim: fn(&[Measurement]) -> Aim = match decided_by {
            "never" => goes_on,
            "fewest" => decided_by_the_fewest,
            _ => |_| Aim::Reached(Reached::Decided),
        };
        let budget = match budget {
            "" => None,
            "fewest" => Some(fewest),
            "too little" => Some(fewest - 1.0),
            seconds => Some(seconds.parse().unwrap()),
        };
        let (ladder, measurements) = (ladder(&LADDER), runs(made));
        let here = Situation {
            budget: budget.map(Seconds),
            max_runtime: Seconds(if made.is_empty() { 600.0 } else { 3600.0 }),
            share: Percent(share.parse().unwrap()),
            aim: aim(&measurements),
            ..situation(&ladder, &measurements)
        };
        let round = next_round(&here, &rule(at_once.parse().unwrap(), &aim)).unwrap();
        let percents = round.iter().map(|run| percent_of(run).to_string());
        assert_eq!(percents.collect::<Vec<_>>().join(" "), expected, "{line}");
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
