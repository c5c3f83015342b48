//! Cold and warm runs in one fit.

use super::*;

fn cold(share: f64, value: f64) -> Observation {
    run(share, 1.0, value)
}

fn warm(share: f64, value: f64) -> Observation {
    Observation {
        is_warm: true,
        ..cold(share, value)
    }
}

fn full_run(runs: &[Observation]) -> Predictive {
    Posterior::fit(runs, &TIME).predict_at(1.0, 1.0)
}

const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];

/// Least squares with a dummy variable for cold runs (Greene, Econometric Analysis, 7th ed. 2012, section 6.2), weighted by 1/y^2
/// since errors are factors; the sum of its three coefficients is the cold full run. Figures of a script in Python:
///
/// ```text
/// rows = [(.01, 1, 71.2), (.02, 0, 29.6), (.05, 0, 60.9), (.05, 1, 107.3), (.1, 0, 109.1), (.2, 0, 211.7)]
/// X = [(1, x, z) for x, z, y in rows]; w = [y ** -2 for x, z, y in rows]
/// solve(X' diag(w) X, X' diag(w) y) = 9.7922, 1001.2975, 50.1867   # fixed, growing, cold
/// ```
#[test]
fn the_offset_is_that_of_least_squares_with_a_dummy_variable() {
    let runs = [
        cold(0.01, 71.2),
        warm(0.02, 29.6),
        warm(0.05, 60.9),
        cold(0.05, 107.3),
        warm(0.1, 109.1),
        warm(0.2, 211.7),
    ];
    let flat = Prior {
        fixed_logit_deviation: 20.0,
        no_cold_weight: 0.0,
        noise: 0.01,
        ..prior(LINEAR)
    };
    let posterior = Posterior::fit(&runs, &flat);
    let median = posterior.predict_at(1.0, 1.0).median();
    assert!(near(median, 9.792 + 1001.297 + 50.187, 0.005), "{median}");
    let small = posterior.predict_at(0.01, 1.0).median();
    assert!(near(small, 9.792 + 10.013 + 50.187, 0.02), "{small}");
}

#[test]
fn a_noiseless_lane_is_recovered_with_its_offset() {
    let runs = [
        cold(0.01, 5.0 + 36.0 + 60.0),
        warm(0.03, 5.0 + 108.0),
        warm(0.1, 5.0 + 360.0),
        warm(0.2, 5.0 + 720.0),
    ];
    let full = full_run(&runs);
    assert!(near(full.median(), 3665.0, 0.02), "{}", full.median());
}

#[test]
fn runs_that_started_alike_are_fit_as_without_the_term() {
    let all_warm: Vec<Observation> = four()
        .into_iter()
        .map(|run| Observation {
            is_warm: true,
            ..run
        })
        .collect();
    let (cold, warm) = (full_run(&four()), full_run(&all_warm));
    assert_eq!(
        QUANTILES.map(|p| cold.quantile(p)),
        QUANTILES.map(|p| warm.quantile(p))
    );
}

#[test]
fn memory_knows_no_cold_start() {
    let mut mixed = four();
    mixed[1].is_warm = true;
    let fit = |runs: &[Observation]| Posterior::fit(runs, &MEMORY).predict_at(1.0, 1.0).median();
    assert!(near(fit(&mixed), fit(&four()), 1e-9));
}

#[test]
fn a_cold_start_that_adds_nothing_changes_little() {
    let time = |share: f64| 30.0 + 3600.0 * share;
    let places = [0.01, 0.03, 0.1, 0.2];
    let alike: Vec<Observation> = places.map(|x| cold(x, time(x))).to_vec();
    let mut mixed: Vec<Observation> = places.map(|x| warm(x, time(x))).to_vec();
    mixed[0].is_warm = false;
    let (alike, mixed) = (full_run(&alike), full_run(&mixed));
    assert!(near(alike.median(), mixed.median(), 0.02));
    let width = |one: &Predictive| (one.quantile(0.95) / one.quantile(0.05)).ln();
    assert!(
        width(&mixed) < 1.2 * width(&alike),
        "{} {}",
        width(&mixed),
        width(&alike)
    );
}

/// A single cold run, and two warm ones: what the first takes more than a line through them may be its start, or a curve.
#[test]
fn where_the_offset_cannot_be_told_from_the_law_the_interval_is_wider() {
    let runs = [cold(0.01, 70.0), warm(0.03, 60.0), warm(0.1, 125.0)];
    let mut alike = runs;
    alike[1].is_warm = false;
    alike[2].is_warm = false;
    let width = |runs: &[Observation]| {
        let full = full_run(runs);
        (full.quantile(0.95) / full.quantile(0.05)).ln()
    };
    assert!(
        width(&runs) > 0.9 * width(&[runs[1], runs[2]]),
        "{}",
        width(&runs)
    );
    // As cold ones they would be taken for a job of which most is fixed.
    let (mixed, blind) = (full_run(&runs), full_run(&alike));
    assert!(mixed.median() > blind.median());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn the_order_of_cold_and_warm_runs_does_not_matter(
        offset in 0.0..80.0f64,
        rotation in 0..4usize,
    ) {
        let mut runs = vec![
            cold(0.01, 15.0 + offset),
            warm(0.02, 26.0),
            warm(0.05, 53.0),
            cold(0.1, 111.0 + offset),
        ];
        let before = full_run(&runs);
        runs.rotate_left(rotation);
        runs.swap(0, 2);
        let after = full_run(&runs);
        for p in QUANTILES {
            prop_assert_eq!(before.quantile(p), after.quantile(p));
        }
    }
}
