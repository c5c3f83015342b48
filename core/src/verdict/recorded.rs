//! Canaries as they were recorded of jobs whose full run is known.

use super::tests::{at_most, judged, machine};
use super::*;
use crate::forecast::{Basis, forecast};
use crate::measurement::progress::JobProgress;
use crate::measurement::{Measurement, Outcome, Utilization};
use crate::units::{Bytes, Seconds};

const TOTAL: Bytes = Bytes(1_000_000_000);

/// A canary of a share of the data that took these seconds, on a machine of whose time other work took so many percent.
fn canary(share: f64, seconds: f64, others: f64) -> Measurement {
    let mut run = Measurement {
        bytes: Some(Bytes::from_f64(TOTAL.as_f64() * share)),
        bytes_total: Some(TOTAL),
        training_seconds: Some(Seconds(seconds)),
        ..Measurement::without_figures(
            "job".to_owned(),
            "local".parse().unwrap(),
            Fraction(share),
            Outcome::Completed,
        )
    };
    run.usage.other_cpu_percent = Some(Utilization::new(others, None, "test"));
    run
}

/// The same of so much of the work of the full run.
fn with_work(work: f64, run: Measurement) -> Measurement {
    Measurement {
        work: Some(work),
        work_total: Some(1.0),
        ..run
    }
}

/// The same that printed a line for each of these steps, the first and the last at these seconds.
fn with_steps(total: f64, done: [f64; 2], at: [f64; 2], run: Measurement) -> Measurement {
    let points = (0..=10).map(|line| f64::from(line) / 10.0);
    let between = |ends: [f64; 2], part: f64| ends[0] + part * (ends[1] - ends[0]);
    let points = points.map(|part| (Seconds(between(at, part)), between(done, part)));
    Measurement {
        progress: Some(JobProgress {
            format: "step 3 of 100".to_owned(),
            total: Some(total),
            pass: Some(total),
            passes: 1,
            points: points.collect(),
            doubts: Vec::new(),
        }),
        ..run
    }
}

/// The same with another share of the objects than of the bytes.
fn with_objects(objects: u32, run: Measurement) -> Measurement {
    Measurement {
        fraction: Fraction(f64::from(objects) / 100.0),
        objects: Some(objects.into()),
        objects_total: Some(100),
        ..run
    }
}

fn line(runs: &[Measurement], limit: f64) -> JudgedLine {
    let forecast = forecast(&Basis {
        offer: &machine(0),
        measurements: runs,
    });
    let lines = judged(&forecast, &[at_most(Metric::Time, limit)]);
    lines.into_iter().next().unwrap()
}

/// That no limit below the full run's time is kept by these canaries.
fn is_never_within(job: &str, runs: &[Measurement], full_run: f64) {
    for part in [0.3, 0.5, 0.8, 0.95] {
        let line = line(runs, part * full_run);
        assert_ne!(line.row.verdict, LineVerdict::Within, "{job}: {line:?}");
    }
}

fn reason_of(runs: &[Measurement], limit: f64) -> String {
    let line = line(runs, limit);
    assert_eq!(line.row.verdict, LineVerdict::AtRisk, "{line:?}");
    line.reason.unwrap()
}

/// Epochs of half a second, one and two of 100, after a start of about as long; and two jobs of ten epochs whose later ones take longer.
#[test]
fn epochs_that_take_less_than_a_start_differs_by_are_not_known() {
    for (job, epochs, full_run, found) in [
        (
            "100 epochs",
            100.0,
            50.6,
            [(0.584, 64.3), (0.499, 87.6), (0.476, 87.6)],
        ),
        (
            "the same again",
            100.0,
            50.4,
            [(0.537, 32.3), (0.563, 25.9), (0.552, 11.3)],
        ),
        (
            "later ones unfrozen",
            10.0,
            38.2,
            [(1.334, 67.7), (0.948, 43.3), (0.649, 4.1)],
        ),
        (
            "later ones hold more",
            10.0,
            56.9,
            [(2.023, 87.3), (0.941, 3.9), (1.893, 29.8)],
        ),
    ] {
        let sizes = [(0.01, 1.0), (0.1, 2.0), (0.5, 1.0)];
        let runs = sizes
            .into_iter()
            .zip(found)
            .map(|((share, work), (seconds, others))| {
                with_work(work / epochs, canary(share, seconds, others))
            });
        is_never_within(job, &Vec::from_iter(runs), full_run);
    }
    // Where an epoch takes five seconds of all data, it is.
    let runs = [
        (0.01, 1.0, 0.5),
        (0.1, 2.0, 1.45),
        (0.5, 1.0, 2.95),
        (0.5, 2.0, 5.45),
    ];
    let runs =
        runs.map(|(share, work, seconds)| with_work(work / 20.0, canary(share, seconds, 1.0)));
    let line = line(&runs, 1000.0);
    assert_eq!(line.row.verdict, LineVerdict::Within, "{line:?}");
}

#[test]
fn canaries_that_stop_early_the_larger_the_later_do_not_show_when_the_full_run_does() {
    let at = |steps: [f64; 3]| {
        let runs = [(0.01, 0.34), (0.1, 1.932), (0.2, 3.811)]
            .into_iter()
            .zip(steps);
        let runs = runs.map(|((share, seconds), steps)| {
            let at = [0.3 * seconds, seconds];
            with_steps(200.0, [1.0, steps], at, canary(share, seconds, 1.0))
        });
        Vec::from_iter(runs)
    };
    let rising = at([4.0, 19.0, 31.0]);
    is_never_within("early stopping", &rising, 63.8);
    let cure = "switch early stopping off in a canary, or write the most that it may do as `work`";
    assert_eq!(
        reason_of(&rising, 600.0),
        format!(
            "is that of canaries which stopped early, after 2% of their steps in the smallest and 16% in the largest; {cure}"
        )
    );
    for steps in [[31.0; 3], [200.0; 3]] {
        assert_eq!(line(&at(steps), 600.0).row.verdict, LineVerdict::Within);
    }
}

/// The newest months are not compressed; and the other way round.
#[test]
fn files_unlike_the_rest_are_neither_within_nor_exceeded() {
    let newest = [(1, 0.0439, 1.807), (2, 0.0878, 2.572), (10, 0.439, 6.967)];
    let oldest = [
        (1, 0.000_427, 1.255),
        (5, 0.002_14, 1.44),
        (20, 0.0086, 4.746),
    ];
    let of = |(objects, share, seconds)| with_objects(objects, canary(share, seconds, 1.0));
    let (newest, oldest) = (newest.map(of), oldest.map(of));
    is_never_within("newest months", &newest, 60.5);
    let cure = "draw at random, or name files of one kind";
    for (runs, held) in [
        (&newest, "10% of the files with 44% of the bytes"),
        (&oldest, "20% of the files with 0.9% of the bytes"),
    ] {
        for limit in [1.0, 60.0, 1e9] {
            assert_eq!(
                reason_of(runs, limit),
                format!("is that of a sample unlike the rest of the data, {held}; {cure}")
            );
        }
    }
    let alike = [1, 2, 10].map(|objects| {
        let share = f64::from(objects) / 100.0;
        with_objects(objects, canary(1.5 * share, 1.0 + 60.0 * share, 1.0))
    });
    assert_eq!(line(&alike, 600.0).row.verdict, LineVerdict::Within);
}

/// A comparison of all pairs after the last of 100 epochs: 20 to 60 s of the full run.
#[test]
fn what_comes_after_the_last_step_may_grow_with_the_square() {
    for (full_run, runs) in [
        (
            120.7,
            [
                ([1.238, 2.253], 2.409),
                ([0.305, 1.735], 1.836),
                ([1.448, 7.448], 8.016),
            ],
        ),
        (
            100.9,
            [
                ([1.55, 2.597], 2.597),
                ([0.265, 1.584], 1.593),
                ([1.534, 7.559], 7.973),
            ],
        ),
    ] {
        let sizes = [0.01, 0.02, 0.1].into_iter().zip(runs);
        let runs = sizes.map(|(share, (at, seconds))| {
            with_steps(100.0, [1.0, 100.0], at, canary(share, seconds, 1.0))
        });
        let begun = Measurement {
            outcome: Outcome::TimedOut,
            ended_early: true,
            ..with_steps(100.0, [1.0, 12.0], [1.259, 7.863], canary(1.0, 8.411, 1.0))
        };
        is_never_within("pairs", &Vec::from_iter(runs.chain([begun])), full_run);
    }
}
