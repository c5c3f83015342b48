//! What is chosen without results.

use super::*;
use crate::metric::Metric;
use crate::spec::{Bound, BudgetLine, LineKind, LineOrigin};

/// The sizes of the canaries of a run that detaches, in percent, of 100 objects of one size.
fn sizes(job: &Job) -> Vec<f64> {
    let dataset = dataset(100);
    let plan = plan(job, &dataset, &free, Alternatives::Skip).unwrap();
    let offer = free(&job.instance);
    let runs = detached_runs(job, &dataset, &job.instance, &plan.runs, &offer);
    let percent = |run: &CanaryRun| (run.fraction.0 * 100.0).round();
    runs.iter().map(percent).collect()
}

#[test]
fn the_largest_is_as_far_as_the_share_allows() {
    let mut job = adaptive(&[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
    job.budget.lines.clear();
    job.canary.max_share = Percent(25.0);
    assert_eq!(sizes(&job), [1.0, 2.0, 20.0]);
    job.canary.max_share = Percent(100.0);
    assert_eq!(sizes(&job), [1.0, 10.0, 50.0]);
    // The fewest are made in any case.
    job.canary.max_share = Percent(1.0);
    assert_eq!(sizes(&job), [1.0, 2.0, 5.0]);
}

#[test]
fn of_two_sizes_the_smaller_is_repeated() {
    let mut job = adaptive(&[10.0, 40.0]);
    job.budget.lines.clear();
    assert_eq!(sizes(&job), [10.0, 40.0, 10.0]);
}

#[test]
fn the_largest_ends_in_time_where_the_full_run_keeps_its_budget() {
    let mut job = adaptive(&[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
    job.canary.max_share = Percent(25.0);
    job.canary.max_runtime = Seconds(3600.0);
    // 10 % of eight hours are 48 minutes, 80 % of the longest that a canary may take.
    job.budget.lines = vec![BudgetLine {
        kind: LineKind::Absolute(Metric::Time),
        bound: Bound::Max,
        limit: LineKind::Absolute(Metric::Time).unit().amount(8.0 * 3600.0),
        level: Level::Fail,
        at_least: None,
        origin: LineOrigin::Written,
        overridden: None,
    }];
    assert_eq!(sizes(&job), [1.0, 5.0, 10.0]);
}

#[test]
fn all_of_the_fixed_design_are_detached() {
    let job = job(&[1.0, 2.0, 5.0], 2);
    assert_eq!(sizes(&job), [1.0, 2.0, 5.0, 1.0, 2.0, 5.0]);
}
