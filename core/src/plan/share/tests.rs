//! What canaries on one and on several machines take of a full run on one.

use super::*;
use crate::forecast::tests::run;
use crate::instance::Price;
use crate::plan::tests::{free, job};
use crate::plan::{Alternatives, PlannedRuns, plan};
use crate::spec::CanaryCounts;
use crate::units::{Percent, UsdPerHour};

fn machines(count: u32) -> InstanceConfiguration {
    InstanceConfiguration::Homogeneous {
        instance_type: "ml.m5.2xlarge".parse().unwrap(),
        count,
    }
}

fn a_dollar_an_hour(instance: &InstanceConfiguration) -> Offer {
    let price = Price::from_spec(UsdPerHour(1.0));
    Offer::of(instance, &|_| None, &|_| Some(price.clone()))
}

/// On one machine 100 s of start-up, and 10 s for each percent: 1100 s of a full run.
fn measured() -> Vec<Measurement> {
    let sizes = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let of_size = |size| Measurement {
        instance: machines(1),
        ..run(size, 100.0 + 10.0 * size)
    };
    sizes.map(of_size).into()
}

/// On four machines, whose design runs on one.
fn on_four(max_share: f64) -> Job {
    let mut job = job(&[1.0, 2.0, 8.0], 1);
    job.instance = machines(4);
    job.canary.counts = CanaryCounts::OneAndAll;
    job.canary.max_share = Percent(max_share);
    job
}

/// Asks what is left beside these canaries.
fn ask<T>(
    job: &Job,
    measurements: &[Measurement],
    offer: &Offer,
    ask: impl FnOnce(&Share<'_>) -> T,
) -> T {
    ask(&Share {
        job,
        offer,
        measurements,
        full_run: FullRunTime::Forecast,
        pending: &[],
    })
}

fn assert_near(time: Option<Seconds>, expected: f64) {
    let time = time.unwrap().0;
    assert!(
        (expected - 40.0..expected + 40.0).contains(&time),
        "{time} {expected}"
    );
}

#[test]
fn without_a_price_the_time_of_every_machine_is_taken() {
    let job = on_four(100.0);
    let mut runs = measured();
    let (one, four) = (free(&machines(1)), free(&machines(4)));
    // Machines that were kept count like those at work: 810 s of 1100, and 100 s idle.
    let mut kept = runs.clone();
    kept[0].idle_seconds = Some(Seconds(100.0));
    assert_near(
        ask(&job, &kept, &one, |share| share.seconds_left(&one)),
        190.0,
    );
    assert_near(
        ask(&job, &runs, &one, |share| share.seconds_left(&one)),
        290.0,
    );
    assert_near(
        ask(&job, &runs, &one, |share| share.seconds_left(&four)),
        290.0 / 4.0,
    );
    runs.push(Measurement {
        instance: machines(4),
        ..run(8.0, 50.0)
    });
    assert_near(
        ask(&job, &runs, &one, |share| share.seconds_left(&one)),
        90.0,
    );
}

#[test]
fn each_of_several_machines_has_a_start_up_of_its_own() {
    // 8 % take 180 s on one machine, and 4 x 120 s on four.
    let runs = measured();
    let offer = a_dollar_an_hour(&machines(1));
    let spent: Vec<Measurement> = runs
        .into_iter()
        .map(|run| Measurement {
            cost: offer.cost(run.time().unwrap()),
            ..run
        })
        .collect();
    let canary = |job: &Job, count| {
        let data = crate::plan::tests::dataset(100);
        let plan = plan(job, &data, &free, Alternatives::Skip).unwrap();
        let PlannedRuns::Fixed(runs) = plan.runs else {
            panic!("the design is fixed")
        };
        CanaryRun {
            instance: machines(count),
            ..runs.last().unwrap().clone()
        }
    };
    // 810 s are taken.
    for (share, on_one, on_four) in [(85.0, 0, 0), (100.0, 1, 0), (130.0, 1, 1)] {
        let job = self::on_four(share);
        let fitting = |count| {
            ask(&job, &spent, &offer, |share| {
                share.fitting(&[canary(&job, count)], &offer)
            })
        };
        assert_eq!([fitting(1), fitting(4)], [on_one, on_four], "{share}");
    }
}
