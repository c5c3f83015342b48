use super::*;
use crate::units::Fraction;

fn points(levels: &[f64], standard_error: f64) -> Vec<ChartPoint> {
    levels
        .iter()
        .map(|level| ChartPoint::new(level.ln(), standard_error).unwrap())
        .collect()
}

fn shift(levels: &[f64]) -> Option<ChartShift> {
    ControlChart::of(&points(levels, 0.02)).shift()
}

#[test]
fn the_statistic_is_that_of_two_samples_with_the_prior_in_the_variance() {
    // ln levels 0, 0.02, 0.01 | 0.20, 0.22, each of variance 0.04^2 + 0.03^2 = 0.0025. Difference of the means 0.2; squares
    // within 0.0004 / 0.0025 = 0.16 on 3 degrees of freedom; factor (3 + 0.16) / 6; statistic
    // 0.2 / sqrt(0.526667 * 0.0025 * (1/3 + 1/2)) = 6.03788.
    let points: Vec<ChartPoint> = [0.0, 0.02, 0.01, 0.2, 0.22]
        .into_iter()
        .map(|ln| ChartPoint::new(ln, 0.04).unwrap())
        .collect();
    let split = Split::best(&points).unwrap();
    assert_eq!(split.at, 3);
    assert!((split.statistic - 6.037_88).abs() < 1e-4, "{split:?}");
}

#[test]
fn a_less_certain_check_counts_less() {
    let mut levels = points(&[1.0, 1.0, 1.0, 1.3, 1.3], 0.02);
    let certain = statistic(&levels).unwrap();
    levels[4] = ChartPoint::new(1.3_f64.ln(), 0.2).unwrap();
    assert!(statistic(&levels).unwrap() < certain);
}

#[test]
fn nothing_is_seen_where_nothing_happened() {
    assert_eq!(shift(&[1.0]), None);
    assert_eq!(shift(&[1.0; 52]), None);
    assert_eq!(shift(&[1.0, 1.05, 0.97, 1.02, 0.95, 1.01, 1.04]), None);
}

#[test]
fn a_change_by_half_is_seen_at_the_second_check() {
    let shift = shift(&[1.0, 1.5]).expect("a change of 50 %");
    assert_eq!(shift.since, 1);
    assert!((shift.of_the_reference.median() - 1.5).abs() < 1e-9);
}

#[test]
fn the_shift_has_a_place_and_a_size() {
    let levels = [
        0.99, 1.01, 1.0, 1.02, 0.98, 1.0, 1.19, 1.21, 1.2, 1.22, 1.18,
    ];
    let shift = shift(&levels).unwrap();
    assert_eq!(shift.since, 6);
    let multiple = crate::forecast::Estimate::of(&shift.of_the_level_before, Fraction(0.95));
    assert!((multiple.point - 1.2).abs() < 0.001, "{multiple:?}");
    assert!(
        multiple.lower > 1.15 && multiple.upper < 1.25,
        "{multiple:?}"
    );
    assert_eq!(shift.of_the_level_before, shift.of_the_reference);
}

#[test]
fn one_odd_check_is_no_change_of_level() {
    let quiet = [0.96, 1.04, 1.0, 1.03, 0.97, 1.0].repeat(2);
    let odd = [quiet.clone(), vec![1.25]].concat();
    assert_eq!(shift(&odd), None);
    let twice = [quiet, vec![1.25; 2]].concat();
    assert_eq!(shift(&twice).unwrap().since, 12);
}

#[test]
fn a_slow_rise_is_seen_against_the_reference() {
    let rise: Vec<f64> = (0..20).map(|check| 1.02_f64.powi(check)).collect();
    let first = (1..=20).find(|checks| shift(&rise[..*checks]).is_some());
    assert!(first.is_some_and(|checks| checks <= 14), "{first:?}");
    let shift = shift(&rise).unwrap();
    assert!(shift.of_the_reference.median() > 1.2, "{shift:?}");
    // The rise is cut more than once: the last step is smaller than the whole.
    assert!(shift.of_the_level_before.median() < shift.of_the_reference.median());
}

#[test]
fn after_a_return_today_is_on_the_level_of_the_reference() {
    let levels = [vec![1.0; 10], vec![1.5; 10], vec![1.0; 3]].concat();
    let shift = shift(&levels).unwrap();
    assert_eq!(shift.since, 20);
    assert!((shift.of_the_reference.median() - 1.0).abs() < 1e-9);
    assert!((shift.of_the_level_before.median() - 1.0 / 1.5).abs() < 1e-9);
}

#[test]
fn another_unit_changes_nothing() {
    let levels = [1.0, 1.02, 0.99, 1.3, 1.31, 1.29];
    let scaled = levels.map(|level| level * 3600.0);
    let (own, other) = (shift(&levels).unwrap(), shift(&scaled).unwrap());
    assert_eq!(own.since, other.since);
    let ratio = own.of_the_reference.median() / other.of_the_reference.median();
    assert!((ratio - 1.0).abs() < 1e-9);
}

#[test]
fn without_a_shift_the_last_check_stands_beside_all_earlier_ones() {
    let chart = ControlChart::of(&points(&[1.0, 1.0, 1.0, 1.1], 0.02));
    assert_eq!(chart.shift(), None);
    let last = chart.last_check.clone().unwrap();
    assert!((last.median() - 1.1).abs() < 1e-9);
    assert!((0.9..0.999).contains(&last.chance_above(1.0)));
    assert_eq!(ControlChart::of(&points(&[1.0], 0.02)).last_check, None);
}

#[test]
fn what_says_nothing_is_no_point() {
    for (ln_level, standard_error) in [
        (f64::NAN, 0.1),
        (f64::INFINITY, 0.1),
        (0.0, f64::NAN),
        (0.0, -0.1),
        (0.0, 1e300),
    ] {
        assert_eq!(ChartPoint::new(ln_level, standard_error), None);
    }
}

#[test]
fn the_largest_and_smallest_levels_are_no_trouble() {
    let extremes: Vec<ChartPoint> = [f64::MIN_POSITIVE, f64::MAX, 1.0, f64::MAX]
        .into_iter()
        .zip([0.0, 10.0, 0.0, 1e-9])
        .map(|(level, error)| ChartPoint::new(level.ln(), error).unwrap())
        .collect();
    for count in 1..=extremes.len() {
        let chart = ControlChart::of(&extremes[..count]);
        for multiple in chart
            .shift()
            .map(|shift| shift.of_the_reference)
            .into_iter()
            .chain(chart.last_check.clone())
        {
            assert!(multiple.quantile(0.95).is_finite());
            assert!((0.0..=1.0).contains(&multiple.chance_above(1.15)));
        }
    }
}

#[test]
fn limits_are_known_for_any_number_of_checks() {
    assert!((limit(2) - 4.51).abs() < 1e-9);
    assert!(limit(9) < limit(8) && limit(9) > limit(10));
    assert!((limit(1000) - limit(MOST_CHECKS)).abs() < 1e-9);
}
