use proptest::prelude::*;

use statrs::distribution::{ContinuousCDF, Normal};

use super::*;
use crate::forecast::tests::near;

/// Student-t quantiles to 15 digits: scipy 1.17.1, `stats.t.ppf`; the first also in every printed table (2.228139).
#[test]
fn quantiles_are_those_of_the_tables() {
    for (p, degrees_of_freedom, expected) in [
        (0.975, 10.0, 2.228_138_851_986_274),
        (0.95, 7.0, 1.894_578_605_090_006_2),
        (0.95, 1.0, 6.313_751_514_675_037),
        (0.95, 2.0, 2.919_985_580_353_724_2),
        (0.95, 8.3, 1.850_871_974_296_456_3),
        (0.9995, 3.0, 12.923_978_636_687_961),
        (0.95, 1e5, 1.644_868_864_784_969_6),
        (0.95, f64::INFINITY, 1.644_853_626_951_471_4),
    ] {
        let standard = Predictive::log_student_t(1.0, 1.0, degrees_of_freedom);
        for (p, expected) in [(p, expected), (1.0 - p, -expected)] {
            let exponent = standard.quantile(p).ln();
            assert!(
                near(exponent, expected, 1e-9),
                "{p} {degrees_of_freedom}: {exponent}"
            );
        }
    }
}

#[test]
fn a_quantity_known_exactly_is_never_beyond_its_own_value() {
    for exact in [
        Predictive::log_student_t(40.0, 0.0, 3.0),
        Predictive::level(40.0, 0.0, 3.0),
    ] {
        assert_eq!([0.01, 0.99].map(|p| exact.quantile(p)), [40.0; 2]);
        let chances = [39.0, 40.0, 41.0].map(|at| (exact.chance_above(at), exact.chance_below(at)));
        assert_eq!(chances, [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)]);
    }
}

#[test]
fn a_level_stays_in_its_range() {
    let high = Predictive::level(99.0, 10.0, 2.0);
    assert_eq!(high.quantile(0.95), 100.0);
    assert_eq!(high.chance_above(100.0), 0.0);
    assert_eq!(high.chance_above(-1.0), 1.0);
    let low = Predictive::level(0.0, 10.0, 2.0);
    assert_eq!(low.quantile(0.05), 0.0);
    assert_eq!(low.chance_below(0.0), 0.0);
    assert_eq!(low.chance_below(101.0), 1.0);
}

#[test]
fn an_absurd_spread_gives_finite_bounds() {
    let wild = Predictive::log_student_t(1e300, 50.0, 1.0);
    assert_eq!(wild.quantile(0.999), f64::MAX);
    assert!(wild.quantile(0.001) > 0.0);
    assert_eq!(wild.scaled(1e300).median(), f64::MAX);
}

#[test]
fn an_estimated_price_alone_spans_fifteen_percent_each_way() {
    let cost = Predictive::log_student_t(100.0, 0.0, 7.0).widened(0.15);
    assert!(near(cost.quantile(0.95), 115.0, 1e-9));
    assert!(near(cost.quantile(0.05), 100.0 / 1.15, 1e-9));
    assert_eq!(cost.median(), 100.0);
}

/// Two equal variances on 4 degrees of freedom each count as 8: the textbook case of Welch's test.
#[test]
fn two_spreads_add_their_variances_and_pool_their_degrees_of_freedom() {
    let one = Spread::new(0.3, 4.0);
    let both = one.and(one);
    assert!(near(both.scale, 0.3 * 2f64.sqrt(), 1e-12));
    assert!(near(both.degrees_of_freedom, 8.0, 1e-12));
    assert_eq!(one.and(Spread::new(0.0, 1.0)), one);
}

/// Degrees of freedom and t; scipy 1.17.1, `stats.t.sf` and `stats.t.pdf`. The 5 % points are also in every printed table.
const TAILS: &str = "
1 1 0.25000000000000006 0.15915494309189535
5 0 0.5 0.3796066898224944
2 2.919985580353724 0.05000000000000006 0.029280966514102686
3 0.5 0.3257239824240755 0.3131809110088286
4 2.131846786326649 0.050000000000000065 0.05622509673300599
7 1.894578605090006 0.05000000000000008 0.07351115111570694
12 3 0.005533347843016845 0.010283130187832801
29 2 0.027471818591483586 0.05694134995315561
30 2 0.027312522481491547 0.056852275047197844
99 4 6.112576378555657e-05 0.0002221677892304542
100 1.66 0.050023625675631886 0.10084320127475715";

fn numbers(text: &str) -> Vec<f64> {
    let words = text.split_whitespace();
    words.map(|word| word.parse().unwrap()).collect()
}

#[test]
fn the_tail_of_a_student_t_is_that_of_the_tables() {
    for line in TAILS.trim().lines() {
        let [degrees_of_freedom, t, tail, density] = numbers(line)[..] else {
            panic!("{line}");
        };
        // Of twice the scale: at twice the distance, and half as dense.
        let [_, above, at] = Spread::new(2.0, degrees_of_freedom).around(2.0 * t);
        assert!(near(above, tail, 1e-10), "{line}: {above}");
        assert!(near(2.0 * at, density, 1e-10), "{line}: {at}");
    }
    let at_infinity = Spread::new(1.0, 6.0).around(f64::INFINITY);
    assert_eq!(at_infinity, [1.0, 0.0, 0.0]);
}

impl Predictive {
    /// The spread of a distribution with one component.
    pub(in crate::forecast) fn spread(&self) -> Spread {
        self.components[0].spread
    }
}

fn component(weight: f64, center: f64, scale: f64, degrees_of_freedom: f64) -> Component {
    Component {
        weight,
        center,
        spread: Spread::new(scale, degrees_of_freedom),
    }
}

/// Weights are brought to a sum of 1.
fn weighed(mut components: Vec<Component>) -> Vec<Component> {
    let total: f64 = components.iter().map(|one| one.weight).sum();
    components.iter_mut().for_each(|one| one.weight /= total);
    components
}

/// Of normal components: mean and variance of ln y.
fn moments(components: &[Component]) -> (f64, f64) {
    let mean: f64 = components.iter().map(|one| one.weight * one.center).sum();
    let variance = components
        .iter()
        .map(|one| one.weight * (one.spread.scale.powi(2) + (one.center - mean).powi(2)))
        .sum();
    (mean, variance)
}

/// Half ln y ~ N(0, 1), half ln y ~ N(10, 1): each half has the quantiles of a normal at twice the distance from 0.5.
#[test]
fn two_laws_far_apart_keep_both_their_places() {
    let two = Predictive::mixture(vec![
        component(0.5, 10.0, 1.0, f64::INFINITY),
        component(0.5, 0.0, 1.0, f64::INFINITY),
    ]);
    for (p, expected) in [
        (0.05, -NORMAL_80),
        (0.25, 0.0),
        (0.75, 10.0),
        (0.95, 10.0 + NORMAL_80),
    ] {
        assert!((two.quantile(p).ln() - expected).abs() < 1e-6, "{p}");
    }
    assert!((two.chance_above(5f64.exp()) - 0.5).abs() < 1e-6);
    assert!((two.median().ln() - 5.0).abs() < 1e-3);
}

/// The quantile of the standard normal that leaves 10 % above it: scipy 1.17.1, `stats.norm.ppf(0.9)`.
const NORMAL_80: f64 = 1.281_551_565_544_600_4;

/// Each normal part becomes one of the summed variance.
#[test]
fn widening_a_mixture_widens_each_of_its_parts() {
    let two = Predictive::mixture(vec![
        component(0.3, 0.0, 0.1, f64::INFINITY),
        component(0.7, 1.0, 0.1, f64::INFINITY),
    ]);
    let wide = two.widened(0.15);
    let scale = 0.1f64.hypot(1.15f64.ln() / NORMAL_95);
    for point in [-0.2, 0.0, 0.3, 0.9, 1.1, 1.4] {
        let above = |center: f64| Normal::new(center, scale).unwrap().sf(point);
        let expected = 0.3 * above(0.0) + 0.7 * above(1.0);
        assert!(
            (wide.chance_above(point.exp()) - expected).abs() < 1e-9,
            "{point}"
        );
    }
}

/// Laws whose forecasts shade into one another, as a grid over the fixed part gives them.
#[test]
fn merging_keeps_mean_and_variance_and_moves_no_quantile_by_much() {
    let many: Vec<Component> = (0..200u32)
        .map(|index| {
            let place = f64::from(index) / 200.0;
            component(
                1.0 + (9.0 * place).sin().powi(2),
                2.0 * place * place,
                0.05 + 0.2 * place,
                f64::INFINITY,
            )
        })
        .collect();
    let many = weighed(many);
    let few = merged(many.clone());
    assert!(few.len() <= MOST_COMPONENTS);
    let ((mean, variance), (few_mean, few_variance)) = (moments(&many), moments(&few));
    assert!(near(mean, few_mean, 1e-12) && near(variance, few_variance, 1e-12));
    for p in [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99] {
        let of = |components: &[Component]| mixture_quantile(components, p, (0.0, 0.1), 1e-11);
        let moved = of(&many) - of(&few);
        assert!(moved.abs() < 0.01 * variance.sqrt(), "{p}: {moved}");
    }
}

/// However many components there are and however far apart, few remain.
#[test]
fn components_far_apart_are_merged_as_well_when_there_are_too_many() {
    let scattered = weighed(
        (0..500u32)
            .map(|index| component(1.0, f64::from(index), 1e-6, 5.0))
            .collect(),
    );
    let few = merged(scattered);
    assert!(few.len() <= MOST_COMPONENTS);
    assert!((few.iter().map(|one| one.weight).sum::<f64>() - 1.0).abs() < 1e-12);
}

/// scipy 1.17.1: the convolution integral of the densities of two and three terms, each by its median, its scale and its degrees of
/// freedom, on a grid of 20,001 to 400,001 points, its quantiles by `brentq`; p = 0.01, 0.05, 0.5, 0.95, 0.99.
const SUMS: &str = "
100 0.3 inf, 50 0.5 inf = 84.334469 100.767366 155.328253 241.785750 292.522259
100 0.2 5, 80 0.3 8 = 112.206289 131.969663 182.896720 261.692412 324.355949
10 0.4 7, 100 0.2 7, 20 0.6 inf = 81.543784 96.351037 134.284652 191.726173 231.899546
";

#[test]
fn a_sum_has_the_quantiles_of_the_convolution() {
    for line in SUMS.trim().lines() {
        let (terms, quantiles) = line.split_once('=').unwrap();
        let term = |term: &str| {
            let [median, scale, freedom] = numbers(term)[..] else {
                panic!("{term}");
            };
            Predictive::log_student_t(median, scale, freedom)
        };
        let terms = terms.split(',').map(term);
        let sum = terms.reduce(|sum, term| sum.plus(&term)).unwrap();
        for (p, expected) in [0.01, 0.05, 0.5, 0.95, 0.99]
            .into_iter()
            .zip(numbers(quantiles))
        {
            assert!(
                near(sum.quantile(p), expected, 0.005),
                "{p}: {expected} of {line}"
            );
            assert!((sum.chance_below(expected) - p).abs() < 0.004);
        }
    }
}

#[test]
fn a_sum_of_what_is_known_exactly_is_exact() {
    let exact = |median| Predictive::log_student_t(median, 0.0, 3.0);
    let alone = Predictive::log_student_t(2.0, 0.5, 5.0);
    for p in [0.05, 0.5, 0.95] {
        let sum = exact(40.0).plus(&exact(2.0));
        assert!(near(sum.quantile(p), 42.0, 1e-9));
        let shifted = exact(40.0).plus(&alone).quantile(p) - 40.0;
        assert!(near(shifted, alone.quantile(p), 0.02));
    }
    let huge = exact(f64::MAX);
    assert!(near(huge.plus(&huge).median(), f64::MAX, 1e-12));
}

/// ln of a ratio of two log-normals is normal, with the difference of the centres and the sum of the variances.
#[test]
fn a_ratio_has_the_quantiles_of_the_difference_of_the_logarithms() {
    let normal = |median, scale| Predictive::log_student_t(median, scale, f64::INFINITY);
    let ratio = normal(1.19, 0.03).over(&normal(0.18, 0.04));
    for (p, deviations) in [(0.05, -1.644_854), (0.5, 0.0), (0.95, 1.644_854)] {
        let expected = 1.19 / 0.18 * f64::exp(0.05 * deviations);
        assert!(near(ratio.quantile(p), expected, 0.005), "{p}: {expected}");
    }
}

fn any_mixture() -> impl Strategy<Value = Predictive> {
    prop::collection::vec((0.01..1.0f64, -5.0..20.0f64, 1e-4..2.0f64, 3u32..30), 1..8).prop_map(
        |parts| {
            let parts = parts
                .into_iter()
                .map(|(weight, center, scale, df)| component(weight, center, scale, f64::from(df)))
                .collect();
            Predictive::mixture(weighed(parts))
        },
    )
}

fn any_predictive() -> impl Strategy<Value = Predictive> {
    prop_oneof![
        (1e-6..1e12f64, 1e-4..3.0f64, 1.0..200.0f64)
            .prop_map(|(median, scale, df)| Predictive::log_student_t(median, scale, df)),
        (0.0..=100.0f64, 1e-3..40.0f64, 1.0..200.0f64)
            .prop_map(|(center, scale, df)| Predictive::level(center, scale, df)),
        any_mixture(),
    ]
}

proptest! {
    #[test]
    fn quantiles_are_ordered_and_chances_are_their_inverse(
        predictive in any_predictive(), p in 0.5..0.999f64, limit in -10.0..1e13f64,
    ) {
        let (lower, upper) = (predictive.quantile(1.0 - p), predictive.quantile(p));
        prop_assert!(lower <= predictive.median() && predictive.median() <= upper);
        for (value, p) in [(lower, 1.0 - p), (upper, p), (predictive.quantile(0.5), 0.5)] {
            // The heaps at the two ends of a level hold more than one p.
            if value > 0.0 && predictive.chance_above(value) > 0.0 {
                prop_assert!((predictive.chance_below(value) - p).abs() < 1e-7);
                prop_assert!((predictive.chance_above(value) - (1.0 - p)).abs() < 1e-7);
            }
        }
        let (above, below) = (predictive.chance_above(limit), predictive.chance_below(limit));
        prop_assert!((0.0..=1.0).contains(&above) && (0.0..=1.0).contains(&below));
        prop_assert!(above + below <= 1.0 + 1e-9);
    }

    #[test]
    fn scaling_the_unit_scales_the_answer(
        predictive in any_predictive(), factor in 1e-6..1e6f64, p in 0.01..0.99f64, limit in 1e-3..1e3f64,
    ) {
        let scaled = predictive.scaled(factor);
        prop_assert!(near(scaled.median(), predictive.median() * factor, 1e-12));
        prop_assert!(near(scaled.quantile(p), predictive.quantile(p) * factor, 1e-9));
        let limit = predictive.median().max(1e-9) * limit;
        prop_assert!((scaled.chance_above(limit * factor) - predictive.chance_above(limit)).abs() < 1e-6);
    }

    #[test]
    fn a_sum_lies_between_its_terms_and_does_not_depend_on_their_order(
        one in any_mixture(), other in any_mixture(), factor in 1e-3..1e3f64,
    ) {
        let sum = one.plus(&other);
        for p in [0.05, 0.5, 0.95] {
            // Both terms are positive: the sum is below a value no more often than either term is.
            let largest = one.quantile(p).max(other.quantile(p));
            prop_assert!(sum.chance_below(largest) <= p + 0.05);
        }
        let turned = other.plus(&one);
        prop_assert!(near(turned.median(), sum.median(), 1e-3));
        let scaled = one.scaled(factor).plus(&other.scaled(factor));
        prop_assert!(near(scaled.median(), sum.median() * factor, 1e-3));
    }
}
