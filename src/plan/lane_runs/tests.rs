use super::*;
use crate::plan::tests::{adaptive, dataset, free, job};
use crate::plan::{Alternatives, plan};
use crate::spec::Work;

/// How many canaries each round has.
fn widths(job: &Job) -> Vec<usize> {
    let plan = plan(job, &dataset(100), &free, Alternatives::Skip).unwrap();
    let all = configuration_runs(job, &plan.runs, &[], &[], &free);
    all[0].rounds.iter().map(Vec::len).collect()
}

#[test]
fn the_fixed_design_stops_once_for_a_first_forecast() {
    let nine = job(&[1.0, 2.0, 3.0], 3);
    assert_eq!(widths(&nine), [3, 6]);
    assert_eq!(widths(&job(&[1.0, 2.0, 3.0], 1)), [3]);
}

#[test]
fn the_adaptive_design_goes_on_with_as_many_at_once_as_may_run() {
    let mut job = adaptive(&[0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
    let chain = widths(&job);
    assert!(chain.iter().all(|width| *width == 1), "{chain:?}");
    job.canary.parallel = 3;
    let runs = chain.len();
    let rounds = widths(&job);
    assert_eq!(rounds.iter().sum::<usize>(), runs);
    assert_eq!(&rounds[..2], [2, 3]);
    // Levels take turns run by run, so there is no round of several.
    job.work = Some(Work {
        hyperparameter: "epochs".to_owned(),
        full: 50.0,
        canary: vec![1.0, 3.0],
    });
    assert_eq!(widths(&job), chain);
}
