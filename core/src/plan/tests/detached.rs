//! What is chosen without results.

use super::*;
use crate::metric::Metric;
use crate::spec::{Bound, BudgetLine, Level, LineKind, LineOrigin};

/// What is detached of 100 objects of one size.
fn detached(job: &Job, offer_of: OfferOf<'_>) -> DetachedRuns {
    let dataset = dataset(100);
    let plan = plan(job, &dataset, offer_of, Alternatives::Measure).unwrap();
    detached_runs(job, &dataset, &plan, offer_of)
}

fn percent(run: &CanaryRun) -> f64 {
    (run.fraction.0 * 100.0).round()
}

/// Their sizes in percent.
fn sizes(job: &Job) -> Vec<f64> {
    let runs = detached(job, &free).own;
    runs.iter().map(percent).collect()
}

/// Each with its machines.
fn on_machines(runs: &[CanaryRun]) -> Vec<(u32, f64)> {
    let of_run = |run: &CanaryRun| (run.instance.total_count(), percent(run));
    runs.iter().map(of_run).collect()
}

fn machines(count: u32) -> InstanceConfiguration {
    InstanceConfiguration::Homogeneous {
        instance_type: "ml.m5.xlarge".parse().unwrap(),
        count,
    }
}

/// A ladder on so many machines, whose design runs on one.
fn on_several(count: u32, share: f64) -> Job {
    let mut job = adaptive(&[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
    job.instance = machines(count);
    job.canary.counts = CanaryCounts::OneAndAll;
    job.canary.max_share = Percent(share);
    job.canary.max_runtime = Seconds(3600.0);
    job.budget.lines.clear();
    job
}

fn at_most(metric: Metric, number: f64) -> BudgetLine {
    BudgetLine {
        kind: LineKind::Absolute(metric),
        bound: Bound::Max,
        limit: LineKind::Absolute(metric).unit().amount(number),
        level: Level::Fail,
        at_least: None,
        origin: LineOrigin::Written,
        overridden: None,
    }
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
    job.budget.lines = vec![at_most(Metric::Time, 8.0 * 3600.0)];
    assert_eq!(sizes(&job), [1.0, 5.0, 10.0]);
}

#[test]
fn all_of_the_fixed_design_are_detached() {
    let job = job(&[1.0, 2.0, 5.0], 2);
    assert_eq!(sizes(&job), [1.0, 2.0, 5.0, 1.0, 2.0, 5.0]);
}

#[test]
fn a_canary_on_one_of_four_machines_may_take_four_times_as_long() {
    let mut job = on_several(4, 40.0);
    // Of eight hours on one machine, 10 % are the most that end in time.
    job.budget.lines = vec![at_most(Metric::Time, 2.0 * 3600.0)];
    let expected = [(1, 1.0), (1, 5.0), (1, 10.0), (4, 10.0)];
    assert_eq!(on_machines(&detached(&job, &free).own), expected);
    // So much do two hours on four machines cost, at 1 USD an hour for each.
    job.budget.lines = vec![at_most(Metric::Cost, 8.0)];
    job.canary.spend_limit = Usd(100.0);
    assert_eq!(
        on_machines(&detached(&job, &a_dollar_an_hour).own),
        expected
    );
}

#[test]
fn the_spend_limit_pays_for_each_canary_on_its_own_machines() {
    let mut job = on_several(4, 40.0);
    job.budget.lines = vec![at_most(Metric::Time, 2.0 * 3600.0)];
    // Three on one machine and one on four: 31 minutes each and two to stop, of which 80 % are just above 5 % of eight hours.
    job.canary.spend_limit = Usd(7.0 * 33.0 / 60.0);
    let expected = [(1, 1.0), (1, 2.0), (1, 5.0), (4, 10.0)];
    assert_eq!(
        on_machines(&detached(&job, &a_dollar_an_hour).own),
        expected
    );
}

#[test]
fn the_sizes_have_the_share_less_what_further_counts_take() {
    // 10 % are for four machines, 8 objects at least.
    let detached = detached(&on_several(4, 25.0), &free);
    let expected = [(1, 1.0), (1, 2.0), (1, 10.0), (4, 10.0)];
    assert_eq!(on_machines(&detached.own), expected);
    assert_eq!(detached.left_out, []);
}

#[test]
fn the_count_that_is_judged_runs_whatever_share_the_fewest_leave() {
    let mut job = on_several(4, 30.0);
    job.canary.design = Design::Adaptive {
        fractions: [6.0, 8.0, 10.0, 12.0]
            .map(|one| Fraction(one / 100.0))
            .into(),
    };
    let detached = detached(&job, &free);
    assert_eq!(
        on_machines(&detached.own),
        [(1, 6.0), (1, 8.0), (1, 10.0), (4, 8.0)]
    );
    assert_eq!(detached.left_out, []);
}

#[test]
fn rows_of_further_counts_have_shares_of_their_own() {
    let mut job = on_several(1, 30.0);
    job.canary.counts = CanaryCounts::Written(vec![1]);
    job.alternatives = vec![machines(2), machines(4), machines(3)];
    let detached = detached(&job, &free);
    assert_eq!(on_machines(&detached.own), [(1, 1.0), (1, 5.0), (1, 20.0)]);
    let rows: Vec<Vec<(u32, f64)>> = (detached.alternatives.iter())
        .map(|runs| on_machines(runs.as_ref().unwrap()))
        .collect();
    let expected = [(2, 5.0), (4, 10.0), (3, 10.0)].map(|run| vec![run]);
    assert_eq!(rows, expected);
}
