use proptest::prelude::*;

use super::super::prior::{MEMORY, TIME};
use super::*;
use crate::forecast::tests::near;

const NO_LAWS: FamilyWeights = FamilyWeights {
    linear: 0.0,
    near_linear: 0.0,
    power: 0.0,
    linear_quadratic: 0.0,
    plateau: 0.0,
    hinge: 0.0,
    constant: 0.0,
    capped: 0.0,
};
const LINEAR: FamilyWeights = FamilyWeights {
    linear: 1.0,
    ..NO_LAWS
};
const CONSTANT: FamilyWeights = FamilyWeights {
    constant: 1.0,
    ..NO_LAWS
};

/// Of the oracles: without the doubt beyond the largest canary, which is no part of the model that they integrate.
fn prior(laws: FamilyWeights) -> Prior {
    Prior {
        laws,
        noise: 0.04,
        noise_degrees_of_freedom: 4.0,
        fixed_logit_mean: -2.0,
        fixed_logit_deviation: 3.0,
        no_work_weight: 0.05,
        all_work_weight: 0.0475,
        no_cold_weight: 0.2,
        exponent_drift: 0.0,
        least_growing: 0.15,
        cold_weight: 0.1,
        steeper_odds: 0.0,
    }
}

/// A cold run.
pub(in crate::forecast) fn run(share: f64, work: f64, value: f64) -> Observation {
    Observation::new(share, work, value)
}

fn runs(of: &[(f64, f64)]) -> Vec<Observation> {
    of.iter()
        .map(|&(share, value)| run(share, 1.0, value))
        .collect()
}

fn at(shares: &[f64], value: impl Fn(f64) -> f64) -> Vec<Observation> {
    runs(&shares.iter().map(|x| (*x, value(*x))).collect::<Vec<_>>())
}

fn assert_quantiles(predictive: &Predictive, expected: [f64; 3], relative: f64) {
    for (p, expected) in [0.05, 0.5, 0.95].into_iter().zip(expected) {
        let quantile = predictive.quantile(p);
        assert!(
            near(quantile, expected, relative),
            "{p}: {quantile}, not {expected}"
        );
    }
}

fn four() -> Vec<Observation> {
    runs(&[(0.01, 31.0), (0.02, 40.5), (0.05, 72.0), (0.1, 121.0)])
}

/// The joint density of logit u, ln S and ln s (normal; flat; scaled inverse chi-squared on s^2) times the likelihood, summed on a
/// grid of 1401 x 161 x 161 points in numpy; the quantiles of a new run by `brentq` on the mixture of its normal distributions;
/// scipy 1.17.1. The grid here is coarser in u: agreement to a thousandth. Where work differs S and s are integrated by the
/// Student-t that the others check, over 20,001 values of logit u and 801 of ln(1 - k + k q).
#[test]
fn a_line_predicts_what_integration_gives() {
    let nine = [[30.0, 24.1, 25.2], [34.0, 35.5, 34.8], [46.0, 44.1, 45.3]];
    let sizes = [0.01, 0.02, 0.03].into_iter().zip(nine);
    let nine = sizes.flat_map(|(share, values)| values.map(|value| run(share, 1.0, value)));
    let mut first_was_cold: Vec<Observation> = nine.collect();
    first_was_cold[0].weight = 0.1;
    let two_levels_of_work = [
        (0.01, 0.1, 11.3),
        (0.02, 0.1, 12.4),
        (0.05, 0.1, 15.9),
        (0.01, 0.2, 12.1),
        (0.02, 0.2, 14.2),
        (0.05, 0.2, 20.6),
    ];
    let two_levels_of_work = two_levels_of_work.map(|(share, work, value)| run(share, work, value));
    for (runs, share, expected, tolerance) in [
        (
            &four()[..],
            1.0,
            [931.603_013, 1_028.563_441, 1_133.111_696],
            2e-3,
        ),
        (&four(), 0.2, [203.083_654, 222.355_658, 243.175_904], 2e-3),
        (
            &first_was_cold,
            1.0,
            [913.384_370, 1_022.108_053, 1_136.614_115],
            2e-3,
        ),
        (
            &two_levels_of_work,
            1.0,
            [698.863_863, 936.349_188, 1_129.819_057],
            1e-2,
        ),
    ] {
        let posterior = Posterior::fit_once(runs, &prior(LINEAR));
        assert_quantiles(&posterior.predict_at(share, 1.0), expected, tolerance);
    }
}

/// The evidence of the square against that of the line, by the same integration, with prior weights 0.8 and 0.2.
#[test]
fn two_laws_are_weighed_as_integration_weighs_them() {
    // The one exponent of the family that is 2 stands among six of its kind.
    let laws = FamilyWeights {
        linear: 0.8,
        power: 6.0 * 0.2,
        ..NO_LAWS
    };
    for (runs, expected) in [(four(), 7.465_598e-5), (bent(), 14.566_381)] {
        let posterior = Posterior::fit_once(&runs, &prior(laws));
        let probability = |exponent| -> f64 {
            posterior
                .candidates
                .iter()
                .filter(|one| one.shape == Shape::Power { exponent })
                .map(|one| one.weight)
                .sum()
        };
        let ratio = probability(2.0) / probability(1.0);
        assert!(near(ratio, expected, 1e-2), "{ratio}, not {expected}");
    }
}

fn bent() -> Vec<Observation> {
    runs(&[(0.05, 20.0), (0.1, 23.0), (0.2, 33.0), (0.3, 52.0)])
}

/// Without a prior on the noise a constant is the textbook's prediction of one new normal observation,
/// t(0.95, 4) s sqrt(1 + 1/5) about the mean of ln y; scipy 1.17.1.
#[test]
fn a_constant_without_prior_noise_has_the_textbooks_interval() {
    let five = runs(&[
        (0.1, 95.0),
        (0.1, 102.0),
        (0.2, 99.0),
        (0.2, 110.0),
        (0.2, 104.0),
    ]);
    let flat = Prior {
        noise: 1e-9,
        noise_degrees_of_freedom: 1e-9,
        ..prior(CONSTANT)
    };
    let posterior = Posterior::fit_once(&five, &flat);
    assert_quantiles(
        &posterior.predict_at(1.0, 1.0),
        [89.636_862_4, 101.877_199_8, 115.789_013_0],
        1e-6,
    );
    assert_eq!(posterior.law().name, "constant");
}

#[test]
fn beyond_the_largest_canary_the_exponent_drifts_and_at_it_nothing_is_in_doubt() {
    let drifting = Prior {
        exponent_drift: 0.1,
        ..prior(CONSTANT)
    };
    let posterior = Posterior::fit(&runs(&[(0.1, 7.0), (0.1, 7.0), (0.1, 7.0)]), &drifting);
    let scale = |share| posterior.predict_at(share, 1.0).spread().scale;
    // No residuals: the prior's 4 degrees of freedom of 0.04 on 6.
    let noise = 0.04 * (4.0 / 6.0 * (1.0 + 1.0 / 3.0f64)).sqrt();
    assert!(near(scale(0.1), noise, 1e-12));
    assert!(near(scale(0.05), noise, 1e-12));
    // What seems constant counts as growing but for the prior's mean of the fixed part; the variance of a random walk's
    // sum over a length l is its rate's square times l^3 / 3.
    let growing = 1.0 - 1.0 / (1.0 + 2f64.exp());
    let drift = 0.1 * growing * (10f64.ln().powi(3) / 3.0).sqrt();
    assert!(near(scale(1.0), noise.hypot(drift), 1e-12));
}

/// A square with a fixed part, seen up to a tenth: that it stops beyond there is as likely as the prior says, and the
/// interval reaches down to that. What is constant from a tenth on takes 24.
#[test]
fn a_cap_beyond_the_largest_canary_is_not_excluded() {
    let square = at(&[0.02, 0.03, 0.05, 0.1], |x| 4.0 + 2000.0 * x * x);
    let lower = |capped| {
        let laws = FamilyWeights {
            capped,
            ..TIME.laws
        };
        let posterior = Posterior::fit(&square, &Prior { laws, ..TIME });
        posterior.predict_at(1.0, 1.0).quantile(0.05)
    };
    assert!(lower(0.0) > 4.0 * 24.0, "{}", lower(0.0));
    assert!(lower(0.03) < 3.0 * 24.0, "{}", lower(0.03));
}

#[test]
fn a_law_without_noise_is_recovered_and_named() {
    let shares = [0.01, 0.03, 0.1, 0.3];
    for (value, growth, within) in [
        ((|x| 20.0 + 1000.0 * x) as fn(f64) -> f64, "linear", 0.02),
        (|x| 1000.0 * x, "linear", 0.02),
        (|x| 20.0 + 5000.0 * x * x, "more than linear", 0.05),
        (|x| 20.0 + 500.0 * x.sqrt(), "less than linear", 0.05),
        (|_| 50.0, "constant", 0.03),
    ] {
        let mut exact = at(&shares, value);
        if growth == "constant" {
            // That nothing grows shows where the data is nearly whole.
            exact.push(exact[0]);
            exact.extend(at(&[0.9, 1.0], value));
        }
        let posterior = Posterior::fit(&exact, &TIME);
        let law = posterior.law();
        assert_eq!(law.name, growth);
        assert!(
            law.weight > 0.5 && law.weight <= 1.0,
            "{growth}: {}",
            law.weight
        );
        let median = posterior.predict_at(1.0, 1.0).median();
        assert!(near(median, value(1.0), within), "{growth}: {median}");
        assert!(near(law.at(1.0), value(1.0), 2.0 * within), "{law:?}");
    }
}

/// With noise of a millionth the posterior over u is a needle that a plain grid would miss.
#[test]
fn a_needle_is_found() {
    let sharp = Prior {
        noise: 1e-6,
        noise_degrees_of_freedom: 10.0,
        ..prior(LINEAR)
    };
    for fixed in [1e-3, 0.123_456, 0.7] {
        let line = |x: f64| 500.0 * (fixed + (1.0 - fixed) * x);
        let posterior = Posterior::fit(&at(&[0.01, 0.02, 0.03], line), &sharp);
        let law = posterior.law();
        let found = law.intercept / (law.intercept + law.slope);
        assert!(near(found, fixed, 1e-4), "{found}, not {fixed}");
        assert!(near(posterior.predict_at(1.0, 1.0).median(), 500.0, 1e-4));
    }
}

/// At one and two hundredths of the work an even grid of k would miss the truth by a factor.
#[test]
fn little_work_forecasts_all_of_it() {
    for (per_datum, per_work) in [(3000.0, 1000.0), (1000.0, 1000.0)] {
        let time = |share: f64, work: f64| 5.0 + share * (per_datum + per_work * 100.0 * work);
        let runs: Vec<Observation> = [0.01, 0.02, 0.05, 0.1, 0.2]
            .into_iter()
            .flat_map(|share| [(share, 0.01), (share, 0.02)])
            .map(|(share, work)| run(share, work, time(share, work)))
            .collect();
        let full = Posterior::fit(&runs, &TIME).predict_at(1.0, 1.0);
        assert!(
            full.quantile(0.05) < time(1.0, 1.0) && time(1.0, 1.0) < full.quantile(0.95),
            "{} {} {}",
            full.quantile(0.05),
            full.median(),
            full.quantile(0.95)
        );
        assert!(near(full.median(), time(1.0, 1.0), 0.3));
    }
}

#[test]
fn one_odd_run_of_nine_moves_the_median_little() {
    let shares = [0.01, 0.01, 0.01, 0.02, 0.02, 0.02, 0.03, 0.03, 0.03];
    let nine = at(&shares, |x| 20.0 + 1000.0 * x);
    let fit = |runs: &[Observation]| Posterior::fit(runs, &TIME).predict_at(1.0, 1.0).median();
    let before = fit(&nine);
    for index in 0..9 {
        let mut odd = nine.clone();
        odd[index].value *= 2.0;
        let moved = (fit(&odd) / before).ln().abs();
        assert!(moved < 0.15, "{index}: {moved}");
    }
}

#[test]
fn one_run_and_equal_runs_give_a_wide_answer_and_no_failure() {
    let one = Posterior::fit(&runs(&[(0.01, 10.0)]), &TIME).predict_at(0.1, 1.0);
    // Between all fixed and in proportion, give or take noise.
    let (lower, upper) = (one.quantile(0.05), one.quantile(0.95));
    assert!(lower > 8.5 && upper < 150.0 && upper > 5.0 * lower);
    let same = Posterior::fit(&runs(&[(0.01, 10.0); 5]), &TIME);
    assert!(near(same.predict_at(0.01, 1.0).median(), 10.0, 1e-3));
    assert!(same.predict_at(1.0, 1.0).quantile(0.99).is_finite());
}

#[test]
fn values_near_the_ends_of_what_a_float_holds_are_fine() {
    let plain = Posterior::fit(&four(), &TIME).predict_at(1.0, 1.0);
    for unit in [1e-290, 1e290] {
        let scaled: Vec<Observation> = four()
            .into_iter()
            .map(|run| Observation {
                value: run.value * unit,
                ..run
            })
            .collect();
        let there = Posterior::fit(&scaled, &TIME).predict_at(1.0, 1.0);
        for p in [0.05, 0.5, 0.95] {
            assert!(near(there.quantile(p), plain.quantile(p) * unit, 1e-6));
        }
    }
}

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
fn runs_that_started_alike_are_fit_as_without_the_term_and_memory_knows_none() {
    let all_warm = four().into_iter().map(|run| warm(run.share, run.value));
    let all_warm: Vec<Observation> = all_warm.collect();
    let (cold, warm) = (full_run(&four()), full_run(&all_warm));
    assert_eq!(
        QUANTILES.map(|p| cold.quantile(p)),
        QUANTILES.map(|p| warm.quantile(p))
    );
    let mut mixed = four();
    mixed[1].is_warm = true;
    let fit = |runs: &[Observation]| Posterior::fit(runs, &MEMORY).predict_at(1.0, 1.0).median();
    assert!(near(fit(&mixed), fit(&four()), 1e-9));
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

fn any_runs() -> impl Strategy<Value = Vec<Observation>> {
    prop::collection::vec(
        (
            0.005..1.0f64,
            prop_oneof![Just(1.0), 0.1..1.0f64],
            1e-3..1e5f64,
        ),
        1..8,
    )
    .prop_map(|runs| {
        runs.into_iter()
            .map(|(share, weight, value)| Observation {
                weight,
                ..run(share, 1.0, value)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_was_measured_the_probabilities_sum_to_one(runs in any_runs()) {
        let posterior = Posterior::fit(&runs, &MEMORY);
        let total: f64 = posterior.candidates.iter().map(|one| one.weight).sum();
        prop_assert!((total - 1.0).abs() < 1e-9);
        let law = posterior.law();
        prop_assert!((0.25..=1.0).contains(&law.weight));
        prop_assert!(law.intercept >= 0.0 && law.slope >= 0.0);
        let (small, full) = (posterior.predict_at(0.01, 1.0), posterior.predict_at(1.0, 1.0));
        prop_assert!(full.median() >= small.median() * (1.0 - 1e-3));
    }
}

#[test]
fn growth_with_the_work_that_two_levels_cannot_show_is_asked_about_beside_the_data() {
    let chance = |time: fn(f64, f64) -> f64, places: [(f64, f64); 4], over: f64| {
        let runs = places.map(|(share, work)| run(share, work, time(share, work)));
        let full_run = Posterior::fit(&runs, &TIME).predict_at(1.0, 1.0);
        full_run.if_steeper().chance_above(over * time(1.0, 1.0))
    };
    for small in [0.1, 0.25] {
        let places = [
            (0.01, small),
            (0.1, 2.0 * small),
            (0.5, small),
            (0.5, 2.0 * small),
        ];
        for steep in [
            |_, work: f64| 0.2 + 7.3 * work.powi(2),
            |_, work: f64| 0.2 + 7.3 * work.powi(3),
            |share, work: f64| 30.0 + 3000.0 * share * work.powi(2),
            |share, work: f64| 30.0 + 3000.0 * share * work.powi(3),
        ] {
            let chance = chance(steep, places, 0.8);
            assert!(chance > 0.05, "{chance}");
        }
        let straight = chance(|share, work| 30.0 + 3000.0 * share * work, places, 1.5);
        assert!(straight < 0.05, "{straight}");
    }
}
