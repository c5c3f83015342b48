use proptest::prelude::*;

use super::*;
use crate::canary::WorkLevel;
use crate::plan::tests::adaptive;
use crate::plan::{Aim, LadderSize, Next, Reached, Rung, Situation, SpendingRule, level, next};
use crate::spec::Work;
use crate::units::{Bytes, Fraction, Seconds};

fn sizes(percents: &[f64]) -> Vec<LadderSize> {
    let size = |percent: &f64| LadderSize {
        fraction: Fraction(percent / 100.0),
        objects: 1,
        bytes: Bytes(1),
        share: percent / 100.0,
    };
    percents.iter().map(size).collect()
}

fn run(size: LadderSize, work: Option<&WorkLevel>, seconds: f64, outcome: Outcome) -> Measurement {
    Measurement {
        training_seconds: Some(Seconds(seconds)),
        work: work.map(|work| work.level),
        work_total: work.map(|work| work.full),
        ..Measurement::without_figures(
            "digits".to_owned(),
            "local".parse().unwrap(),
            size.fraction,
            outcome,
        )
    }
}

#[test]
fn a_ladder_runs_each_size_once_below_what_hit_its_limit_and_repeats_while_runs_are_missing() {
    let (job, sizes) = (adaptive(&[1.0, 2.0, 5.0]), sizes(&[1.0, 2.0, 5.0]));
    let ladder = PlannedRuns::Ladder(sizes.clone());
    let mut measured = Vec::new();
    let mut most = |run: Option<Measurement>| {
        measured.extend(run);
        MayFollow::of(&job, &ladder, &measured).most()
    };
    assert_eq!(most(None), 3 + MOST_REPEATS);
    let completed = |place: usize| Some(run(sizes[place], None, 60.0, Outcome::Completed));
    assert_eq!(most(completed(0)), 2 + MOST_REPEATS);
    assert_eq!(
        most(Some(run(sizes[2], None, 60.0, Outcome::TimedOut))),
        1 + MOST_REPEATS
    );
    assert_eq!(most(completed(1)), MOST_REPEATS);
    assert_eq!(most(completed(0)), 0);
}

proptest! {
    /// Whatever the canaries take and whichever is stopped at its limit, each that is run was counted, and once.
    #[test]
    fn no_adaptive_design_runs_a_canary_that_was_not_counted(
        percents in prop::sample::subsequence(vec![1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0], 2..=7),
        has_levels in any::<bool>(),
        aims in prop::collection::vec(0_u8..3, 40),
        times in prop::collection::vec((0.0_f64..3600.0, 0.0_f64..1.0), 40),
    ) {
        let mut job = adaptive(&percents);
        job.work = has_levels.then(|| Work {
            hyperparameter: "num_round".to_owned(),
            full: 50.0,
            canary: vec![5.0, 10.0],
        });
        let sizes = sizes(&percents);
        let ladder = PlannedRuns::Ladder(sizes.clone());
        let mut measured: Vec<Measurement> = Vec::new();
        for (aim, (seconds, chance)) in aims.into_iter().zip(times) {
            let work = level(&job, measured.len());
            let share = work.as_ref().map_or(1.0, |work| work.level / work.full);
            let rungs: Vec<Rung> = (sizes.iter())
                .map(|size| Rung { size: *size, work: share, supply: None })
                .collect();
            let situation = Situation {
                ladder: &rungs,
                measurements: &measured,
                budget: None,
                spent: measured.iter().filter_map(Measurement::time).sum(),
                max_runtime: Seconds(3600.0),
                shortest: None,
                aim: match aim {
                    0 => Aim::Reached(Reached::Narrow),
                    _ => Aim::GoOn,
                },
                doubt: None,
                spending: SpendingRule::WholeBudget,
            };
            let Next::Run { rung, .. } = next(&situation) else {
                break;
            };
            let before = MayFollow::of(&job, &ladder, &measured).most();
            let outcome = if chance < 0.2 { Outcome::TimedOut } else { Outcome::Completed };
            measured.push(run(rung.size, work.as_ref(), seconds, outcome));
            let after = MayFollow::of(&job, &ladder, &measured).most();
            prop_assert!(after < before, "{before} to {after} by {}", rung.size.fraction);
        }
    }
}
