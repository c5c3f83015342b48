//! What is chosen without results.

use super::*;
use crate::metric::Metric;
use crate::verdict::tests::at_most;

/// Of 100 objects of one size, each with its machines and in percent.
type OnMachines = Vec<(u32, f64)>;

fn on_machines(runs: &[CanaryRun]) -> OnMachines {
    let percent = |run: &CanaryRun| (run.fraction.0 * 100.0).round();
    let of_run = |run: &CanaryRun| (run.instance.total_count(), percent(run));
    runs.iter().map(of_run).collect()
}

fn machines(count: u32) -> InstanceConfiguration {
    InstanceConfiguration::Homogeneous("ml.m5.xlarge".parse().unwrap(), count)
}

/// A ladder on so many machines, whose design runs on one.
fn on_several(count: u32, share: f64, percents: &[f64]) -> Job {
    let mut job = adaptive(percents);
    job.instance = machines(count);
    job.canary.counts = CanaryCounts::OneAndAll;
    job.canary.max_share = Percent(share);
    job.budget.lines.clear();
    job
}

const SIZES: [f64; 6] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0];

fn detached(job: &Job, offer_of: OfferOf<'_>) -> [OnMachines; 2] {
    let plan = planned_at(job, offer_of);
    let chosen = detached_runs(job, &dataset(100), &plan, offer_of);
    [on_machines(&chosen.own), on_machines(&chosen.left_out)]
}

#[test]
fn the_largest_is_within_the_share_and_ends_in_time_where_the_full_run_keeps_its_budget() {
    let of = |share, percents: &[f64]| on_several(1, share, percents);
    let within = |mut job: Job, metric, limit| {
        job.budget.lines = vec![at_most(metric, limit)];
        job
    };
    let paid = |mut job: Job, usd| {
        job.canary.spend_limit = Usd(usd);
        job
    };
    let hours = |count: f64| count * 3600.0;
    let four = |share| on_several(4, share, &SIZES);
    let one = |percents: [f64; 3]| percents.map(|percent| (1, percent)).to_vec();
    let and_four = |percents: [f64; 3], four| [one(percents), vec![(4, four)]].concat();
    for (job, expected) in [
        (of(25.0, &SIZES), one([1.0, 2.0, 20.0])),
        (of(100.0, &SIZES), one([1.0, 10.0, 50.0])),
        // The fewest are made in any case.
        (of(1.0, &SIZES), one([1.0, 2.0, 5.0])),
        // Of two sizes the smaller is repeated.
        (of(25.0, &[10.0, 40.0]), one([10.0, 40.0, 10.0])),
        // 10 % of eight hours are 48 minutes, 80 % of the longest that a canary may take; on one of four machines of two hours.
        (
            within(paid(of(25.0, &SIZES), 100.0), Metric::Time, hours(8.0)),
            one([1.0, 5.0, 10.0]),
        ),
        (
            within(paid(four(40.0), 100.0), Metric::Time, hours(2.0)),
            and_four([1.0, 5.0, 10.0], 10.0),
        ),
        // So much do two hours on four machines cost, at 1 USD an hour for each.
        (
            within(paid(four(40.0), 100.0), Metric::Cost, 8.0),
            and_four([1.0, 5.0, 10.0], 10.0),
        ),
        // Three on one machine and one on four: 31 minutes each and two to stop, of which 80 % are just above 5 % of eight hours.
        (
            within(
                paid(four(40.0), 7.0 * 33.0 / 60.0),
                Metric::Time,
                hours(2.0),
            ),
            and_four([1.0, 2.0, 5.0], 10.0),
        ),
        // 10 % are for four machines, 8 objects at least: the sizes have the rest.
        (four(25.0), and_four([1.0, 2.0, 10.0], 10.0)),
        // The count that is judged runs whatever share the fewest leave.
        (
            on_several(4, 30.0, &[6.0, 8.0, 10.0, 12.0]),
            and_four([6.0, 8.0, 10.0], 8.0),
        ),
    ] {
        assert_eq!(detached(&job, &a_dollar_an_hour), [expected, Vec::new()]);
    }
    let fixed = [1.0, 2.0, 5.0, 1.0, 2.0, 5.0].map(|percent| (1, percent));
    let [all, _] = detached(&job(&[1.0, 2.0, 5.0], 2), &free);
    assert_eq!(all, fixed);
}

#[test]
fn rows_of_further_counts_have_shares_of_their_own() {
    let mut job = on_several(1, 30.0, &SIZES);
    job.canary.counts = CanaryCounts::Written(vec![1]);
    job.alternatives = [2, 4, 3].map(machines).into();
    let chosen = detached_runs(&job, &dataset(100), &planned(&job), &free);
    let rows = chosen
        .alternatives
        .iter()
        .map(|runs| on_machines(runs.as_ref().unwrap()));
    let rows: Vec<OnMachines> = [on_machines(&chosen.own)].into_iter().chain(rows).collect();
    let own = vec![(1, 1.0), (1, 5.0), (1, 20.0)];
    assert_eq!(
        rows,
        [own, vec![(2, 5.0)], vec![(4, 10.0)], vec![(3, 10.0)]]
    );
}
