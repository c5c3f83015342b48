//! The law of this forecast: a least-squares line over the share of the data, and how far a new full run may lie from it.

use super::predictive::{Predictive, Spread};
use super::{Law, Unknown};

/// Runs that a line needs: one more than its two parameters, to see the noise.
pub const FEWEST_RUNS: usize = 3;
/// Sizes on which they must lie.
pub const FEWEST_SIZES: usize = 2;

/// Degrees of freedom of the doubt in the law: it was learnt on nine workloads.
const LAW_DOUBT_DEGREES_OF_FREEDOM: f64 = 8.0;

/// The share of a forecast that is taken to grow with the data even where the canaries show less or no growth: a slope
/// too small for small canaries may matter in the full run, and runs that agree by chance prove nothing.
///
/// A convention, not a measurement: with the doubts in use it makes a flat quantity uncertain by some 5 % for time and
/// 10 % for memory from canaries of 3 %.
const LEAST_GROWING_SHARE: f64 = 0.05;

/// From so many standard errors below zero a line's intercept counts as negative: growth faster than the data.
const SIGNIFICANT_STANDARD_ERRORS: f64 = 2.0;

/// One completed run: what share of the data it held, and the value measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Really sampled, in (0, 1].
    pub(super) share: f64,
    /// Asked for: tells the sizes of the design apart, since samples of one size differ a little in bytes.
    pub(super) fraction: f64,
    /// Finite and not negative.
    pub(super) value: f64,
}

/// An ordinary least-squares line that does not fall, with what its prediction interval needs.
///
/// Draper and Smith, Applied Regression Analysis, 3rd ed. 1998, sections 1.2-1.4 and 3.1.
#[derive(Debug, Clone, PartialEq)]
struct LeastSquares {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    /// The sum of (x - mean x) squared; positive.
    spread_x: f64,
    slope: f64,
    /// The root of the residual sum of squares over count - 2.
    residual_deviation: f64,
}

impl LeastSquares {
    /// The line through points `(x, y)` whose slope is not negative: where the least-squares line falls, the constant at
    /// the mean. Residuals are those about the line in use, so a slope that was bent shows in the noise.
    ///
    /// `None` for fewer than three points or a single x.
    fn fit(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < FEWEST_RUNS {
            return None;
        }
        let count = count_as_float(points.len());
        // In the unit of the largest value, so that no square overflows or vanishes.
        let unit = points
            .iter()
            .map(|(_, y)| y.abs())
            .fold(0.0, f64::max)
            .max(f64::MIN_POSITIVE);
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = points.iter().map(|(_, y)| y / unit).sum::<f64>() / count;
        let spread_x: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let common: f64 = points
            .iter()
            .map(|(x, y)| (x - mean_x) * (y / unit - mean_y))
            .sum();
        // A single x whose mean was rounded leaves a spread of rounding size.
        let rounding = points.iter().map(|(x, _)| x * x).sum::<f64>() * f64::EPSILON.powi(2);
        if spread_x <= 16.0 * rounding {
            return None;
        }
        let slope = (common / spread_x).max(0.0);
        let residual_squares: f64 = points
            .iter()
            .map(|(x, y)| (y / unit - mean_y - slope * (x - mean_x)).powi(2))
            .sum();
        Some(Self {
            count,
            mean_x,
            mean_y: mean_y * unit,
            spread_x,
            slope: slope * unit,
            residual_deviation: (residual_squares / (count - 2.0)).sqrt() * unit,
        })
    }

    fn at(&self, x: f64) -> f64 {
        self.mean_y + self.slope * (x - self.mean_x)
    }

    fn intercept(&self) -> f64 {
        self.at(0.0)
    }

    /// The standard error of the intercept.
    fn intercept_error(&self) -> f64 {
        self.residual_deviation * (1.0 / self.count + self.mean_x.powi(2) / self.spread_x).sqrt()
    }

    /// By how much the exponent of growth within the canaries passes 1, where the intercept is significantly below zero;
    /// else 0. The exponent is the elasticity of the line at its mean, d ln y / d ln x.
    fn excess_exponent(&self) -> f64 {
        if self.intercept() < -SIGNIFICANT_STANDARD_ERRORS * self.intercept_error() {
            (self.slope * self.mean_x / self.mean_y - 1.0).max(0.0)
        } else {
            0.0
        }
    }

    fn degrees_of_freedom(&self) -> f64 {
        self.count - 2.0
    }

    /// The standard error of one new observation at `x`: its own noise, the mean's doubt and the slope's.
    /// (For the mean of many observations the leading 1 would be missing; a budget concerns one run.)
    fn prediction_error(&self, x: f64) -> f64 {
        self.residual_deviation
            * (1.0 + 1.0 / self.count + (x - self.mean_x).powi(2) / self.spread_x).sqrt()
    }
}

/// The forecast of one full run by a line, and the line.
///
/// The slope is not negative: where the least-squares line falls, the law is constant at the mean. Its interval is still
/// that of a line, since a slope too small to be seen in small canaries may matter in the full run. The intercept is
/// free: a negative one is how growth faster than the data looks from a line, and cutting it off would forecast less.
/// With canaries below the full size the point is then never below the law at the largest canary, and positive.
///
/// The spread is put on a logarithmic scale: for a relative prediction error r the log-normal with that coefficient of
/// variation, variance ln(1 + r^2) (Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1, 1994, ch. 14).
///
/// `law_doubt` is the standard deviation of the growth's exponent: with y proportional to x^p beyond the largest canary
/// and p about 1, ln y errs by (p - 1) ln(1 / largest share) times the part of the forecast that grows. Where the canaries
/// themselves grew faster than the data, that excess of p adds to the doubt: a line then forecasts too little, and by how
/// much only larger canaries can tell.
pub(super) fn extrapolate(
    points: &[Point],
    subject: &str,
    law_doubt: f64,
) -> Result<(Predictive, Law), Unknown> {
    let too_few = || Unknown(too_few(points, subject));
    if points.len() < FEWEST_RUNS || sizes(points) < FEWEST_SIZES {
        return Err(too_few());
    }
    let pairs = in_order(points);
    let line = LeastSquares::fit(&pairs).ok_or_else(too_few)?;
    let point = line.at(1.0);
    // Subnormal values have lost their digits; nothing measured is that small.
    if point < f64::MIN_POSITIVE || !point.is_finite() {
        return Err(Unknown(format!(
            "{subject} was 0 in every completed run; there is nothing to extrapolate"
        )));
    }
    let relative_error = line.prediction_error(1.0) / point;
    let statistical = Spread {
        scale: relative_error.powi(2).ln_1p().sqrt(),
        degrees_of_freedom: line.degrees_of_freedom(),
    };
    let growing = (line.slope / point).clamp(LEAST_GROWING_SHARE, 1.0);
    let exponent_doubt = (law_doubt * growing).hypot(line.excess_exponent());
    let doubt = Spread {
        scale: exponent_doubt * (1.0 / largest_share(points)).ln().max(0.0),
        degrees_of_freedom: LAW_DOUBT_DEGREES_OF_FREEDOM,
    };
    let law = Law {
        name: if line.slope > 0.0 {
            "linear"
        } else {
            "constant"
        }
        .to_owned(),
        weight: 1.0,
        intercept: line.intercept(),
        slope: line.slope,
    };
    Ok((Predictive::amount(point, statistical.and(doubt)), law))
}

/// `2 completed runs on 1 size; a line needs 3 on 2`, with what was measured where not every run has it.
fn too_few(points: &[Point], subject: &str) -> String {
    let sizes = sizes(points);
    match points.len() {
        0 => format!("no completed run measured {subject}"),
        runs => format!(
            "{runs} completed run{} on {sizes} size{}; a line needs {FEWEST_RUNS} on {FEWEST_SIZES}",
            plural(runs),
            plural(sizes)
        ),
    }
}

pub(super) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Sizes of the design that the points lie on. Fractions that gave the same data are one size, and so are samples of
/// one fraction that differ in bytes.
fn sizes(points: &[Point]) -> usize {
    distinct(points.iter().map(|point| point.fraction))
        .min(distinct(points.iter().map(|point| point.share)))
}

fn distinct(values: impl Iterator<Item = f64>) -> usize {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values.len()
}

fn largest_share(points: &[Point]) -> f64 {
    points.iter().map(|point| point.share).fold(0.0, f64::max)
}

/// Sums of floats depend on their order; the forecast must not.
fn in_order(points: &[Point]) -> Vec<(f64, f64)> {
    let mut pairs: Vec<(f64, f64)> = points
        .iter()
        .map(|point| (point.share, point.value))
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    pairs
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a count of runs is far below 2^53"
)]
pub(super) fn count_as_float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64, relative: f64) -> bool {
        (left - right).abs() <= relative * left.abs().max(right.abs())
    }

    fn points(of: &[(f64, f64)]) -> Vec<Point> {
        of.iter()
            .map(|&(share, value)| Point {
                share,
                fraction: share,
                value,
            })
            .collect()
    }

    /// `x y, x y, ...`
    fn pairs(text: &str) -> Vec<(f64, f64)> {
        text.split(", ")
            .map(|pair| {
                let (x, y) = pair.split_once(' ').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            })
            .collect()
    }

    /// NIST Statistical Reference Datasets, Linear Regression, "Norris" (36 points, certified values;
    /// https://www.itl.nist.gov/div898/strd/lls/data/Norris.shtml).
    #[test]
    fn a_line_through_the_norris_data_has_the_certified_values() {
        let norris = pairs(
            "0.2 0.1, 337.4 338.8, 118.2 118.1, 884.6 888, 10.1 9.2, 226.5 228.1, 666.3 668.5, 996.3 998.5, \
             448.6 449.1, 777 778.9, 558.2 559.2, 0.4 0.3, 0.6 0.1, 775.5 778.1, 666.9 668.8, 338 339.3, \
             447.5 448.9, 11.6 10.8, 556 557.7, 228.1 228.3, 995.8 998, 887.6 888.8, 120.2 119.6, 0.3 0.3, \
             0.3 0.6, 556.8 557.6, 339.1 339.3, 887.2 888, 999 998.5, 779 778.9, 11.1 10.2, 118.3 117.6, \
             229.2 228.9, 669.1 668.4, 448.9 449.2, 0.5 0.2",
        );
        let line = LeastSquares::fit(&norris).unwrap();
        assert!(near(line.intercept(), -0.262_323_073_774_029, 1e-11));
        assert!(near(line.slope, 1.002_116_818_020_45, 1e-13));
        assert!(near(line.residual_deviation, 0.884_796_396_144_373, 1e-12));
    }

    /// R's data set `cars` (50 points) and its `predict(lm(dist ~ speed), interval = "prediction")` at speeds 10 and 21;
    /// computed again with statsmodels 0.15.0, `get_prediction(...).summary_frame(alpha=0.05)`.
    #[test]
    fn a_prediction_interval_for_the_cars_data_is_the_one_r_gives() {
        let cars = pairs(
            "4 2, 4 10, 7 4, 7 22, 8 16, 9 10, 10 18, 10 26, 10 34, 11 17, 11 28, 12 14, 12 20, 12 24, 12 28, \
             13 26, 13 34, 13 34, 13 46, 14 26, 14 36, 14 60, 14 80, 15 20, 15 26, 15 54, 16 32, 16 40, 17 \
             32, 17 40, 17 50, 18 42, 18 56, 18 76, 18 84, 19 36, 19 46, 19 68, 20 32, 20 48, 20 52, 20 56, \
             20 64, 22 66, 23 54, 24 70, 24 92, 24 93, 24 120, 25 85",
        );
        let line = LeastSquares::fit(&cars).unwrap();
        assert!(near(line.residual_deviation, 15.379_586_748_819_907, 1e-12));
        // scipy 1.17.1: stats.t.ppf(0.975, 48)
        let t = 2.010634757624232;
        for (speed, fit, lower, upper) in [
            (10.0, 21.744_993, -9.809_601, 53.299_586),
            (21.0, 65.001_489, 33.422_574, 96.580_404),
        ] {
            let half_width = t * line.prediction_error(speed);
            assert!((line.at(speed) - fit).abs() < 1e-6);
            assert!((line.at(speed) - half_width - lower).abs() < 1e-6);
            assert!((line.at(speed) + half_width - upper).abs() < 1e-6);
        }
    }

    #[test]
    fn a_noiseless_line_is_recovered_and_only_the_law_is_in_doubt() {
        let exact = points(&[(0.01, 12.0), (0.02, 14.0), (0.04, 18.0)]);
        let (predictive, law) = extrapolate(&exact, "time", 0.2).unwrap();
        assert!(near(predictive.median(), 210.0, 1e-12));
        assert!(near(law.intercept, 10.0, 1e-9) && near(law.slope, 200.0, 1e-12));
        assert_eq!((law.name.as_str(), law.weight), ("linear", 1.0));
        // 200 of 210 grow, over ln(1 / 0.04).
        let expected = 0.2 * 200.0 / 210.0 * 25f64.ln();
        assert!(near(predictive.spread().scale, expected, 1e-9));
        assert!(near(predictive.spread().degrees_of_freedom, 8.0, 1e-9));
    }

    #[test]
    fn at_full_size_no_law_is_in_doubt() {
        let with_full = points(&[(0.1, 20.0), (0.5, 61.0), (1.0, 109.0)]);
        let doubted = extrapolate(&with_full, "time", 5.0).unwrap().0;
        let trusted = extrapolate(&with_full, "time", 0.0).unwrap().0;
        assert_eq!(doubted, trusted);
    }

    #[test]
    fn what_did_not_grow_is_still_not_certain() {
        let flat = points(&[(0.01, 7.0), (0.02, 7.0), (0.03, 7.0)]);
        let (predictive, law) = extrapolate(&flat, "time", 0.2).unwrap();
        // A twentieth may grow, over ln(1 / 0.03).
        let expected = 0.2 * 0.05 * (1f64 / 0.03).ln();
        assert!(near(predictive.spread().scale, expected, 1e-9));
        assert_eq!(predictive.median(), 7.0);
        assert_eq!(
            (law.name.as_str(), law.slope, law.intercept),
            ("constant", 0.0, 7.0)
        );
    }

    #[test]
    fn a_falling_line_becomes_its_mean_with_the_interval_of_a_line() {
        let falling = points(&[(0.01, 11.0), (0.02, 10.0), (0.03, 9.0)]);
        let (predictive, law) = extrapolate(&falling, "time", 0.2).unwrap();
        assert!(near(predictive.median(), 10.0, 1e-12));
        assert_eq!(law.name, "constant");
        // Residuals about the mean are 1, 0, -1 on one degree of freedom; sum of squares of x about 0.02 is 2e-4.
        let error = 2f64.sqrt() * (1.0 + 1.0 / 3.0 + 0.98f64.powi(2) / 2e-4).sqrt() / 10.0;
        assert!(near(
            predictive.spread().scale,
            (1.0 + error * error).ln().sqrt(),
            1e-3
        ));
    }

    #[test]
    fn growth_faster_than_the_data_keeps_its_negative_intercept() {
        let (predictive, law) =
            extrapolate(&points(&[(0.1, 1.0), (0.2, 4.0), (0.3, 9.0)]), "time", 0.2).unwrap();
        assert!(law.intercept < 0.0);
        assert!(near(predictive.median(), law.intercept + law.slope, 1e-12));
        assert!(predictive.quantile(0.01) > 0.0);
    }

    /// 10 s for each squared percent: 100,000 s in full, where the line says 3967.
    #[test]
    fn growth_that_is_seen_to_be_faster_than_the_data_widens_the_interval() {
        let squared = points(&[(0.01, 10.0), (0.02, 40.0), (0.03, 90.0)]);
        let (predictive, law) = extrapolate(&squared, "time", 0.2).unwrap();
        assert!(law.intercept < 0.0);
        assert!(predictive.quantile(0.95) > 100_000.0);
        assert!(predictive.chance_above(7200.0) > 0.25);
        // An intercept below zero within its noise widens nothing.
        let noisy = points(&[(0.01, 9.0), (0.02, 22.0), (0.03, 29.0)]);
        let line = LeastSquares::fit(&in_order(&noisy)).unwrap();
        assert!(line.intercept() < 0.0);
        assert_eq!(line.excess_exponent(), 0.0);
    }

    #[test]
    fn too_few_runs_or_sizes_are_unknown_with_the_reason() {
        let reason = |points: &[Point]| extrapolate(points, "time", 0.2).unwrap_err().0;
        assert_eq!(reason(&[]), "no completed run measured time");
        assert_eq!(
            reason(&points(&[(0.01, 1.0), (0.01, 2.0)])),
            "2 completed runs on 1 size; a line needs 3 on 2"
        );
        assert_eq!(
            reason(&points(&[(0.01, 1.0), (0.02, 2.0)])),
            "2 completed runs on 2 sizes; a line needs 3 on 2"
        );
        // Three samples asked for at one size differ a little in bytes: no line can be drawn through that.
        let jittered: Vec<Point> = [0.0100, 0.0101, 0.0102]
            .map(|share| Point {
                share,
                fraction: 0.01,
                value: 1.0,
            })
            .to_vec();
        assert_eq!(
            reason(&jittered),
            "3 completed runs on 1 size; a line needs 3 on 2"
        );
        // Two sizes asked for, the same single object given.
        let same: Vec<Point> = [0.01, 0.02, 0.03]
            .map(|fraction| Point {
                share: 0.1,
                fraction,
                value: 1.0,
            })
            .to_vec();
        assert_eq!(
            reason(&same),
            "3 completed runs on 1 size; a line needs 3 on 2"
        );
        assert!(
            reason(&points(&[(0.01, 0.0), (0.02, 0.0), (0.03, 0.0)])).starts_with("time was 0")
        );
    }

    #[test]
    fn huge_and_tiny_values_and_many_runs_are_fine() {
        for unit in [1e-290, 1e290] {
            let (predictive, _) = extrapolate(
                &points(&[
                    (0.01, 1.0 * unit),
                    (0.02, 2.1 * unit),
                    (0.03, 2.9 * unit),
                    (0.04, 4.0 * unit),
                ]),
                "time",
                0.2,
            )
            .unwrap();
            assert!(near(predictive.median(), 98.05 * unit, 1e-9));
            assert!(predictive.quantile(0.95).is_finite());
        }
        let many: Vec<Point> = (0..100_000u32)
            .map(|index| {
                let share = 0.01 * f64::from(1 + index % 3);
                Point {
                    share,
                    fraction: share,
                    value: 5.0 + 100.0 * share + f64::from(index % 7) * 0.01,
                }
            })
            .collect();
        let (predictive, _) = extrapolate(&many, "time", 0.0).unwrap();
        assert!(near(predictive.median(), 105.03, 1e-4));
        assert!(near(
            predictive.spread().degrees_of_freedom,
            99_998.0,
            1e-12
        ));
    }
}
