//! Canaries as they were recorded of jobs whose full run is known.

use super::tests::{at_most, judged, machine};
use super::*;
use crate::forecast::{Basis, forecast};
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
