//! Rounds: what runs at once, within which limits.

use proptest::prelude::*;

use super::*;
use crate::metric::MemoryOf;
use crate::plan::TIME_TO_STOP;

const A_QUARTER: SpendingRule = SpendingRule::UpToAShare(Percent(25.0));

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

fn asked(situation: &Situation, rule: &RoundRule<'_>) -> Vec<RoundRun> {
    match next_round(situation, rule) {
        NextRound::Run(runs) => runs,
        NextRound::Done(done) => panic!("nothing more to run: {done:?}"),
    }
}

fn percents(runs: &[RoundRun]) -> Vec<f64> {
    let percent = |run: &RoundRun| (run.rung.size.fraction.0 * 1000.0).round() / 10.0;
    runs.iter().map(percent).collect()
}

/// By its data the second may have 40 % of the share, and ten times the first.
#[test]
fn beside_the_first_runs_the_second_where_the_worst_cases_of_the_fewest_fit() {
    let ladder = ladder(&LADDER);
    let first = |share, budget, at_once| {
        let start = Situation {
            budget: Some(Seconds(budget)),
            max_runtime: Seconds(600.0),
            spending: SpendingRule::UpToAShare(Percent(share)),
            ..situation(&ladder, &[])
        };
        percents(&asked(&start, &rule(at_once, &goes_on)))
    };
    let enough = 3.0 * 600.0 + 2.0 * TIME_TO_STOP.0;
    assert_eq!(first(25.0, enough, 3), [1.0, 10.0]);
    assert_eq!(first(25.0, enough, 2), [1.0, 10.0]);
    assert_eq!(first(10_000.0, enough, 3), [1.0, 10.0]);
    // Nothing but the smallest is within so small a share.
    assert_eq!(first(4.0, enough, 3), [1.0]);
    assert_eq!(first(25.0, enough - 1.0, 3), [1.0]);
    assert_eq!(first(25.0, enough, 1), [1.0]);
}

/// A budget to be spent wholly says nothing of the second.
#[test]
fn by_another_rule_the_first_canary_is_alone() {
    let ladder = ladder(&LADDER);
    let start = Situation {
        budget: None,
        spending: SpendingRule::WholeBudget,
        ..situation(&ladder, &[])
    };
    assert_eq!(percents(&asked(&start, &rule(3, &goes_on))), [1.0]);
}

/// Together they hold no more of the data than the share: of a quarter 1 and 10 % leave 14 %, of 32 % they leave 21 %.
#[test]
fn beside_the_second_runs_the_farthest_that_is_within_the_share_by_its_data() {
    let ladder = ladder(&LADDER);
    let runs = [run(1.0, 10.0)];
    let start = Situation {
        budget: None,
        spending: A_QUARTER,
        ..situation(&ladder, &runs)
    };
    assert_eq!(percents(&asked(&start, &rule(3, &goes_on))), [10.0]);
    let most = Situation {
        spending: SpendingRule::UpToAShare(Percent(32.0)),
        ..start
    };
    assert_eq!(percents(&asked(&most, &rule(3, &goes_on))), [10.0, 20.0]);
    let tenth = Situation {
        spending: SpendingRule::UpToAShare(Percent(10.0)),
        ..start
    };
    assert_eq!(percents(&asked(&tenth, &rule(3, &goes_on))), [3.0, 5.0]);
}

#[test]
fn a_run_that_only_results_would_ask_for_is_in_no_round() {
    let ladder = ladder(&LADDER);
    let runs = [run(1.0, 10.0), run(5.0, 30.0)];
    let start = situation(&ladder, &runs);
    let third = asked(&start, &rule(3, &decided_by_the_fewest));
    assert_eq!(third.len(), 1, "{third:?}");
    let more = asked(&start, &rule(3, &goes_on));
    assert_eq!(more.len(), 3, "{more:?}");
    assert_eq!(percents(&more)[0], percents(&third)[0]);
}

#[test]
fn where_the_cheapest_runs_will_do_they_run_at_once() {
    let ladder = ladder(&LADDER);
    let runs = [run(1.0, 10.0)];
    let start = Situation {
        aim: Aim::Reached(Reached::Decided),
        ..situation(&ladder, &runs)
    };
    let cheapest = rule(3, &|_| Aim::Reached(Reached::Decided));
    assert_eq!(percents(&asked(&start, &cheapest)), [2.0, 3.0]);
}

#[test]
fn where_money_is_short_a_round_is_one_run() {
    let ladder = ladder(&LADDER);
    let runs = [run(1.0, 10.0), run(5.0, 30.0)];
    let short = Situation {
        budget: Some(Seconds(180.0)),
        ..situation(&ladder, &runs)
    };
    assert_eq!(asked(&short, &rule(3, &goes_on)).len(), 1);
}

/// Each run of the next round was ended at its limit: the design goes on with smaller ones, if it can.
#[test]
fn a_round_that_timed_out_closes_the_larger_sizes() {
    let ladder = ladder(&LADDER);
    let runs = [
        run(1.0, 60.0),
        ended(3.0, Outcome::TimedOut),
        ended(20.0, Outcome::TimedOut),
    ];
    let after = asked(&situation(&ladder, &runs), &rule(3, &goes_on));
    assert_eq!(percents(&after)[0], 2.0);
    assert!(percents(&after).iter().all(|percent| *percent < 3.0));
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
            spending: share.map_or(SpendingRule::WholeBudget, |share| SpendingRule::UpToAShare(Percent(share))),
            ..situation(&ladder, &[])
        };
        let (_, measurements, _) = simulate(&start, |share| 1.0 + fixed + growing * share);
        for made in 0..=measurements.len() {
            let here = &measurements[..made];
            let spent = here.iter().filter_map(Measurement::time).sum();
            let now = Situation { measurements: here, spent, ..start };
            let round = next_round(&now, &rule(1, &goes_on));
            match (next(&now), round) {
                (Next::Run { rung, limit }, NextRound::Run(runs)) => {
                    prop_assert_eq!(runs, vec![RoundRun { rung, limit }]);
                }
                (Next::Done(one), NextRound::Done(other)) => prop_assert_eq!(one, other),
                (one, other) => prop_assert!(false, "{:?} and {:?}", one, other),
            }
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
                spending: if is_share { A_QUARTER } else { SpendingRule::WholeBudget },
                ..situation(&ladder, &runs)
            };
            let NextRound::Run(asked) = next_round(&now, &rule(at_once, &goes_on)) else {
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
                let percent = (one.rung.size.fraction.0 * 1000.0).round() / 10.0;
                spent += time.min(one.limit.0);
                runs.push(match time <= one.limit.0 {
                    true => run(percent, time),
                    false => Measurement { outcome: Outcome::TimedOut, ..run(percent, one.limit.0) },
                });
            }
        }
    }
}
