//! Quantities that do not grow with the data: utilization in percent, and positive levels such as the time of a step.

use super::posterior::Observation;
use super::predictive::{Predictive, Spread, weighted_quantile};
use super::{Unknown, points};
use crate::grammar;
use crate::units::count_as_float;

/// The fewest runs for a level: one more than its one parameter, to estimate the noise.
const LEAST_RUNS: usize = 2;

/// The least standard error of a new run, in percentage points, even if the canaries agree exactly: a sampler rounds to whole
/// percentages. A convention.
const LEAST_ERROR_POINTS: f64 = 1.0;

/// The least standard error of a positive level, relative to it.
const LEAST_RELATIVE_ERROR: f64 = 0.01;

/// The fewest runs for a line: one more than its two parameters, to estimate the noise.
const LEAST_RUNS_OF_A_LINE: usize = 3;

/// The chance that noise alone gives no slope as steep as a clear one in its direction. The usual convention.
const CLEAR: f64 = 0.95;

/// The utilization of one full run, in 0-100 %.
///
/// The mean over the canaries, weighted by their share of the data: a longer run has relatively less of the idle start and
/// resembles the full run more. The residual variance is the weighted one on n - 1 degrees of freedom (weights scaled to mean 1),
/// and a new run is assumed to vary as the average canary does; both are cautious, since a full run is steadier.
pub(super) fn utilization(points: &[Observation], subject: &str) -> Result<Predictive, Unknown> {
    if points.len() < LEAST_RUNS {
        return Err(too_few(points.len(), subject));
    }
    // A sampler's rounding may exceed 100 % slightly.
    let percent = |point: &Observation| Observation {
        value: point.value.min(100.0),
        ..*point
    };
    let mut points: Vec<Observation> = points.iter().map(percent).collect();
    points.sort_by(|a, b| (a.share.total_cmp(&b.share)).then(a.value.total_cmp(&b.value)));
    let count = count_as_float(points.len());
    let weight_total: f64 = points.iter().map(|point| point.share).sum();
    let weight = |point: &Observation| point.share / weight_total;
    // Summed relative to the first value, so that the mean of equal values is exact.
    let first = points[0].value;
    let distance = |point: &Observation| weight(point) * (point.value - first);
    let mean = first + points.iter().map(distance).sum::<f64>();
    let square = |point: &Observation| weight(point) * (point.value - mean).powi(2);
    let variance = points.iter().map(square).sum::<f64>() * count / (count - 1.0);
    let error = (variance * (1.0 + 1.0 / count)).sqrt();
    let predictive = |mean: f64, error: f64, degrees_of_freedom| {
        let error = error.max(LEAST_ERROR_POINTS);
        Predictive::level(mean.clamp(0.0, 100.0), error, degrees_of_freedom)
    };
    let level = predictive(mean, error, count - 1.0);
    Ok(with_trend(level, &points, LEAST_ERROR_POINTS, predictive))
}

/// A positive level that errs by a factor: the geometric mean, and the prediction interval of one new normal
/// observation of ln y, Student-t on n - 1 degrees of freedom with s sqrt(1 + 1/n).
pub(super) fn positive(points: &[Observation], subject: &str) -> Result<Predictive, Unknown> {
    about(points, subject, |logarithms| {
        let first = logarithms[0].value;
        let sum: f64 = logarithms.iter().map(|point| point.value - first).sum();
        first + sum / count_as_float(logarithms.len())
    })
}

/// The same about the median of the runs, each counted by its share of the work: of what is itself a median of many, as the time of a
/// step is, a short run that lies wholly in a moment of other work on the machine would move a mean by all of it.
pub(super) fn positive_median(
    points: &[Observation],
    subject: &str,
) -> Result<Predictive, Unknown> {
    about(points, subject, |logarithms| {
        let weigh = |point: &Observation| (point.value, point.share * point.work);
        let mut logarithms: Vec<(f64, f64)> = logarithms.iter().map(weigh).collect();
        let all: f64 = logarithms.iter().map(|(_, weight)| weight).sum();
        // The first of which those up to it weigh as much; where they weigh just half, between two.
        let mut reaching = |share: f64| weighted_quantile(&mut logarithms, share * all);
        f64::midpoint(reaching(0.5 - 1e-9), reaching(0.5 + 1e-9))
    })
}

/// About a centre of the logarithms, sorted.
fn about(
    points: &[Observation],
    subject: &str,
    center: impl Fn(&[Observation]) -> f64,
) -> Result<Predictive, Unknown> {
    let mut logarithms: Vec<Observation> = points
        .iter()
        .filter(|point| point.value >= f64::MIN_POSITIVE)
        .map(|point| Observation {
            value: point.value.ln(),
            ..*point
        })
        .collect();
    if logarithms.len() < LEAST_RUNS {
        return Err(too_few(logarithms.len(), subject));
    }
    logarithms.sort_by(|a, b| (a.value.total_cmp(&b.value)).then(a.share.total_cmp(&b.share)));
    let count = count_as_float(logarithms.len());
    let center = center(&logarithms);
    let square = |point: &Observation| (point.value - center).powi(2);
    let variance = logarithms.iter().map(square).sum::<f64>() / (count - 1.0);
    let error = (variance * (1.0 + 1.0 / count)).sqrt();
    let predictive = |center: f64, error: f64, degrees_of_freedom| {
        let median = center.exp().clamp(f64::MIN_POSITIVE, f64::MAX);
        Predictive::log_student_t(median, error.max(LEAST_RELATIVE_ERROR), degrees_of_freedom)
    };
    let level = predictive(center, error, count - 1.0);
    let level = with_trend(level, &logarithms, LEAST_RELATIVE_ERROR, predictive);
    Ok(level)
}

/// The level. Where the runs have a slope with their share of the data that is clear of noise and of the least error, it also says what
/// a run of all data would take on their straight line, by `predictive` of centre, error and degrees of freedom. Ordinary least
/// squares: Draper and Smith, Applied Regression Analysis, 3rd edition, 1998, chapter 1.
fn with_trend(
    level: Predictive,
    points: &[Observation],
    least_error: f64,
    predictive: impl Fn(f64, f64, f64) -> Predictive,
) -> Predictive {
    if points.len() < LEAST_RUNS_OF_A_LINE || points::sizes(points) < points::FEWEST_SIZES {
        return level;
    }
    let count = count_as_float(points.len());
    let mean = |of: fn(&Observation) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_share, mean_value) = (mean(|point| point.share), mean(|point| point.value));
    let share = |point: &Observation| point.share - mean_share;
    let value = |point: &Observation| point.value - mean_value;
    let sum = |of: &dyn Fn(&Observation) -> f64| points.iter().map(of).sum::<f64>();
    let extent = sum(&|point| share(point).powi(2));
    let slope = sum(&|point| share(point) * value(point)) / extent;
    let squares = sum(&|point| (value(point) - slope * share(point)).powi(2));
    let noise = Spread::new((squares / (count - 2.0)).sqrt(), count - 2.0);
    if slope.abs() * extent.sqrt() <= noise.quantile(CLEAR).max(least_error) {
        return level;
    }
    let beyond = 1.0 - mean_share;
    let error = noise.scale * (1.0 + 1.0 / count + beyond.powi(2) / extent).sqrt();
    let center = mean_value + slope * beyond;
    level.or_if_steeper(predictive(center, error, count - 2.0))
}

fn too_few(runs: usize, subject: &str) -> Unknown {
    Unknown(if runs == 0 {
        format!("no {subject} was measured")
    } else {
        format!(
            "{subject} was measured in {}; a forecast needs at least {LEAST_RUNS}",
            grammar::count(runs, "completed run")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::posterior::tests::run;
    use super::*;

    fn points(of: &[(f64, f64)]) -> Vec<Observation> {
        let runs = of.iter().map(|&(share, value)| run(share, 1.0, value));
        runs.collect()
    }

    /// statsmodels 0.15.0: WLS of (80, 90, 86, 94) on a constant with weights (1, 3, 2, 4) / 2.5,
    /// `get_prediction().summary_frame(alpha=0.1)`.
    #[test]
    fn a_level_is_a_weighted_mean_with_its_prediction_interval() {
        let level = utilization(
            &points(&[(0.01, 80.0), (0.03, 90.0), (0.02, 86.0), (0.04, 94.0)]),
            "CPU utilization",
        )
        .unwrap();
        assert!((level.median() - 89.8).abs() < 1e-9);
        assert!((level.quantile(0.05) - 76.363_14).abs() < 1e-5);
        // The upper end, 103.24, lies outside the range.
        assert_eq!(level.quantile(0.95), 100.0);
    }

    /// numpy and scipy 1.17.1 on ln(2), ln(3), ln(4): exp(mean), and exp(mean ± t(0.95, 2) s sqrt(4/3)).
    #[test]
    fn a_positive_level_is_a_geometric_mean_with_its_prediction_interval() {
        let level = positive(&points(&[(0.1, 2.0), (0.2, 3.0), (0.3, 4.0)]), "step time").unwrap();
        assert!((level.median() - 2.884_499_140_614_816_6).abs() < 1e-12);
        assert!((level.quantile(0.05) - 0.891_540_823_466_254_6).abs() < 1e-9);
        assert!((level.quantile(0.95) - 9.332_534_274_604_129).abs() < 1e-8);
    }

    /// statsmodels 0.15.0: OLS of the logarithms on the share, `get_prediction([[1, 1]]).summary_frame(alpha=0.1)`.
    #[test]
    fn a_clear_trend_is_carried_to_all_data() {
        let rates = [(0.01, 9970.0), (0.05, 9820.0), (0.2, 9434.0)];
        let rate = positive(&points(&rates), "tps").unwrap();
        let carried = rate.if_steeper();
        assert!((carried.median() - 7_510.886_891).abs() < 1e-5);
        assert!((carried.quantile(0.05) - 6_708.953_673).abs() < 1e-5);
        let busy = [(0.05, 15.4), (0.07, 13.3), (0.09, 11.8), (0.09, 11.6)];
        let busy = utilization(&points(&busy), "CPU utilization").unwrap();
        assert_eq!(busy.if_steeper().median(), 0.0);
        assert!(busy.median() > 12.0);
    }

    #[test]
    fn a_level_has_no_trend_within_its_noise_or_its_least_error_or_of_one_size() {
        for of in [
            [(0.01, 9970.0), (0.05, 9200.0), (0.2, 9434.0)],
            [(0.01, 9970.0), (0.05, 9960.0), (0.2, 9920.0)],
            [(0.2, 9970.0), (0.205, 9852.0), (0.21, 9434.0)],
        ] {
            for law in [positive, positive_median] {
                let level = law(&points(&of), "tps").unwrap();
                assert_eq!(level.if_steeper(), &level);
            }
        }
        let two = positive(&points(&[(0.07, 9.0), (0.2, 8.0)]), "tps").unwrap();
        assert_eq!(two.if_steeper(), &two);
    }

    #[test]
    fn a_short_run_that_was_disturbed_does_not_move_the_median_of_the_runs() {
        let median = |of: &[(f64, f64)]| {
            let level = positive_median(&points(of), "step time").unwrap();
            level.median()
        };
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        near(median(&[(0.01, 8.0), (0.02, 3.1), (0.04, 3.0)]), 3.0);
        near(
            median(&[(0.01, 3.2), (0.02, 3.1), (0.03, 7.0), (0.01, 3.3)]),
            3.3,
        );
        // Just half on either side.
        near(median(&[(0.1, 2.0), (0.1, 8.0)]), 4.0);
        let [alike, disturbed] = [3.0, 8.0].map(|value| {
            let runs = points(&[(0.01, value), (0.02, 3.1), (0.04, 3.0)]);
            positive_median(&runs, "step time").unwrap()
        });
        assert!(disturbed.quantile(0.95) > alike.quantile(0.95));
    }

    #[test]
    fn levels_at_the_ends_of_the_range_stay_there() {
        for end in [0.0, 100.0] {
            let level = utilization(&points(&[(0.1, end), (0.2, end)]), "GPU utilization").unwrap();
            assert_eq!(level.median(), end);
            assert!((0.0..=100.0).contains(&level.quantile(0.05)));
            assert!((0.0..=100.0).contains(&level.quantile(0.95)));
        }
        let full = utilization(&points(&[(0.1, 100.4), (0.2, 100.4)]), "CPU utilization").unwrap();
        assert_eq!(full.median(), 100.0);
    }

    #[test]
    fn runs_that_agree_to_the_digit_are_still_not_certain() {
        let level = utilization(&points(&[(0.1, 50.0), (0.2, 50.0)]), "CPU utilization").unwrap();
        assert!(level.quantile(0.05) < 49.0 && level.quantile(0.95) > 51.0);
        let step = positive(&points(&[(0.1, 2.0), (0.2, 2.0)]), "step time").unwrap();
        assert!(step.quantile(0.05) < 1.98 && step.quantile(0.95) > 2.02);
    }

    #[test]
    fn one_run_is_no_level() {
        assert_eq!(
            utilization(&points(&[(0.1, 50.0)]), "CPU utilization")
                .unwrap_err()
                .0,
            "CPU utilization was measured in 1 completed run; a forecast needs at least 2"
        );
        assert_eq!(
            positive(&[], "step time").unwrap_err().0,
            "no step time was measured"
        );
    }
}
