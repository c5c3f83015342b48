//! The **control chart** over the last checks: whether the level changed at all, since when, and by how much.
//!
//! It is the change-point model with unknown parameters (Hawkins, Qiu and Kang, The Changepoint Model for Statistical Process
//! Control, Journal of Quality Technology 35, 2003). Every split of the checks into earlier and later ones is tried; the
//! largest standardised difference of the two means is compared with a limit. Level and noise need not be known beforehand, so
//! it works from the second check on, and a slow rise is found as soon as its ends differ enough. Both parts of a split are then
//! treated in the same way (binary segmentation: Scott and Knott, A Cluster Analysis Method for Grouping Means in the Analysis
//! of Variance, Biometrics 30, 1974): the first segment is the reference's level, the last one today's.

use crate::forecast::Predictive;
use crate::units::count_as_float;

/// The prior standard deviation of ln y between checks, beyond the noise of their canaries: another day, another machine.
const SESSION_NOISE: f64 = 0.03;

/// The weight of that prior in checks. It is small, so that ten checks of a noisy machine override it and raise no alarm.
const SESSION_NOISE_DEGREES_OF_FREEDOM: f64 = 3.0;

/// The factor on the limit for a single last check, compared with two that agree: one odd machine is not a change of level.
const ODD_CHECK: f64 = 1.7;

/// The limit within the parts of a series that has changed. Only the whole series raises an alarm, so it may be lower: then a
/// slow rise is cut at its ends, and a return is seen at once. If it were much lower, rises below the policy's limit would be
/// cut until a part exceeds it.
const PART_LIMIT: f64 = 3.5;

/// A larger standard error of ln y carries no information: e^10 is a factor of 22,000.
const LARGEST_STANDARD_ERROR: f64 = 10.0;

/// How many checks the chart looks at: a year of weekly ones.
pub const MOST_CHECKS: usize = 52;

/// The limit at a number of checks. `cargo bench --bench drift -- limits` finds them, with the seed that stands there.
///
/// At each number of checks it is so high that the given part of the histories that have not signalled before do so: a
/// part that falls as n^-1.25, since what is overlooked at the start is found later, but a change that is large enough to be seen
/// at once should be. It is the highest of those for session noises of 0, 3, 5 and 10 %.
const LIMITS: [(f64, f64); 14] = [
    (2.0, 4.51),
    (3.0, 7.53),
    (4.0, 7.73),
    (5.0, 7.64),
    (6.0, 7.36),
    (7.0, 7.07),
    (8.0, 6.75),
    (10.0, 6.31),
    (12.0, 5.95),
    (15.0, 5.56),
    (20.0, 5.22),
    (30.0, 4.96),
    (40.0, 4.85),
    (52.0, 4.74),
];

/// One check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartPoint {
    ln_level: f64,
    /// 1 / variance, before the series' own noise is known.
    weight: f64,
}

impl ChartPoint {
    /// The logarithm of a level, and its standard error from canary noise alone. `None` unless both are finite and the error is
    /// at most `LARGEST_STANDARD_ERROR`.
    pub fn new(ln_level: f64, standard_error: f64) -> Option<Self> {
        let is_known =
            ln_level.is_finite() && (0.0..=LARGEST_STANDARD_ERROR).contains(&standard_error);
        is_known.then(|| Self {
            ln_level,
            weight: 1.0 / (standard_error.powi(2) + SESSION_NOISE.powi(2)),
        })
    }
}

/// A series of checks, cut where its level changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlChart {
    /// In order of time, at least one; each with at least one check.
    segments: Vec<Segment>,
    noise: Noise,
    /// The last check as a multiple of the level of all earlier ones, for use without a shift. `None` for a single check.
    pub last_check: Option<Predictive>,
}

/// Consecutive checks on one level.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Segment {
    first: usize,
    mean: f64,
    weight: f64,
}

/// The scatter of the checks about their levels, as a factor on the variance that their weights imply. It has an inverse-gamma
/// prior about 1, so that means are Student-t (Gelman et al., Bayesian Data Analysis, 3rd ed., 2013, 3.2-3.3).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Noise {
    factor: f64,
    degrees_of_freedom: f64,
}

/// The last change of level in a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartShift {
    /// The index of the first check on today's level.
    pub since: usize,
    /// Today's level as a multiple of the level before.
    pub of_the_level_before: Predictive,
    /// Today's level as a multiple of the reference's; equal to `of_the_level_before` after a single change.
    pub of_the_reference: Predictive,
}

impl ControlChart {
    /// `points` are the checks, oldest first, starting with the reference; at least one, and at most [`MOST_CHECKS`], for which
    /// the limits were calibrated.
    pub fn of(points: &[ChartPoint]) -> Self {
        let mut starts = vec![0];
        cut(points, 0, f64::INFINITY, &mut starts);
        let ends = starts.iter().skip(1).copied().chain([points.len()]);
        let parts = starts.iter().zip(ends);
        let parts = parts.map(|(first, end)| (*first, &points[*first..end]));
        let segments = parts.clone().map(|(first, part)| Segment::of(first, part));
        let segments: Vec<Segment> = segments.collect();
        let scatters = segments.iter().zip(parts);
        let scatter = scatters.map(|(one, (_, part))| one.scatter(part)).sum();
        let last_check = points.split_last().and_then(|(last, earlier)| {
            let before = (!earlier.is_empty()).then(|| Segment::of(0, earlier))?;
            let noise = Noise::learned(before.scatter(earlier), earlier.len() - 1);
            let after = Segment::of(earlier.len(), std::slice::from_ref(last));
            Some(noise.change(&before, &after))
        });
        Self {
            noise: Noise::learned(scatter, points.len() - segments.len()),
            segments,
            last_check,
        }
    }

    /// The last change of level; `None` if all checks may be on one level.
    pub fn shift(&self) -> Option<ChartShift> {
        let (newest, earlier) = self.segments.split_last()?;
        let before = earlier.last()?;
        Some(ChartShift {
            since: newest.first,
            of_the_level_before: self.noise.change(before, newest),
            of_the_reference: self.noise.change(&self.segments[0], newest),
        })
    }
}

/// Cuts where the level changes by more than the limit, which is `highest` at most, then cuts both parts; `offset` is the index of the
/// first point in the series.
fn cut(points: &[ChartPoint], offset: usize, highest: f64, starts: &mut Vec<usize>) {
    let is_change = |split: &Split| split.statistic > highest.min(limit(points.len()));
    let Some(split) = Split::best(points).filter(is_change) else {
        return;
    };
    let (earlier, later) = points.split_at(split.at);
    let at = offset + split.at;
    cut(earlier, offset, PART_LIMIT, starts);
    starts.push(at);
    cut(later, at, PART_LIMIT, starts);
}

/// The largest standardised difference over all splits, to be compared with [`limit`]; `None` for fewer than two points.
pub fn statistic(points: &[ChartPoint]) -> Option<f64> {
    Split::best(points).map(|split| split.statistic)
}

/// A series in two parts.
#[derive(Debug, Clone, Copy)]
struct Split {
    /// The index of the first point of the later part.
    at: usize,
    /// The difference of the two means over its standard error, without its sign.
    statistic: f64,
}

impl Split {
    /// The split whose statistic is largest; `None` for fewer than two points. One pass over the points.
    fn best(points: &[ChartPoint]) -> Option<Self> {
        let degrees_of_freedom = points.len().checked_sub(2)?;
        let all = Segment::of(0, points);
        let scatter = all.scatter(points);
        let (mut weight, mut sum) = (0.0, 0.0);
        let splits = points.iter().enumerate().take(points.len() - 1);
        splits
            .map(|(index, point)| {
                let at = index + 1;
                weight += point.weight;
                // About the mean of all, to avoid subtracting large numbers.
                sum += point.weight * (point.ln_level - all.mean);
                // The sums of squares between the two parts and within them.
                let between = sum * sum * all.weight / (weight * (all.weight - weight));
                let noise = Noise::learned((scatter - between).max(0.0), degrees_of_freedom);
                let is_last_alone = at + 1 == points.len();
                let odd = if is_last_alone { ODD_CHECK } else { 1.0 };
                Self {
                    at,
                    statistic: (between / noise.factor).sqrt() / odd,
                }
            })
            .max_by(|a, b| a.statistic.total_cmp(&b.statistic))
    }
}

impl Segment {
    fn of(first: usize, points: &[ChartPoint]) -> Self {
        let weight: f64 = points.iter().map(|point| point.weight).sum();
        // Relative to the first value, so that the mean of equal levels is exact.
        let origin = points.first().map_or(0.0, |point| point.ln_level);
        let beyond = |point: &ChartPoint| point.weight * (point.ln_level - origin);
        Self {
            first,
            mean: origin + points.iter().map(beyond).sum::<f64>() / weight,
            weight,
        }
    }

    /// The weighted sum of squares about the mean.
    fn scatter(&self, points: &[ChartPoint]) -> f64 {
        let square = |point: &ChartPoint| point.weight * (point.ln_level - self.mean).powi(2);
        points.iter().map(square).sum()
    }
}

impl Noise {
    /// From a weighted sum of squares, its degrees of freedom, and the prior.
    fn learned(scatter: f64, degrees_of_freedom: usize) -> Self {
        let degrees_of_freedom =
            SESSION_NOISE_DEGREES_OF_FREEDOM + count_as_float(degrees_of_freedom);
        Self {
            factor: (SESSION_NOISE_DEGREES_OF_FREEDOM + scatter) / degrees_of_freedom,
            degrees_of_freedom,
        }
    }

    fn change(&self, before: &Segment, after: &Segment) -> Predictive {
        let change = after.mean - before.mean;
        // A hostile record may have any level; clamp to the range of a float.
        let multiple = change.exp().clamp(f64::MIN_POSITIVE, f64::MAX);
        let scale = (self.factor * (1.0 / before.weight + 1.0 / after.weight)).sqrt();
        Predictive::log_student_t(multiple, scale, self.degrees_of_freedom)
    }
}

/// What the statistic of so many checks, two or more, must exceed. Between those that were simulated it is linear in the
/// logarithm of their number; for more than [`MOST_CHECKS`] it is the last.
pub fn limit(checks: usize) -> f64 {
    let checks = count_as_float(checks);
    let after = LIMITS.partition_point(|(count, _)| *count < checks);
    let (more, high) = LIMITS[after.min(LIMITS.len() - 1)];
    let (fewer, low) = LIMITS[after.saturating_sub(1)];
    if fewer < checks && checks < more {
        low + (high - low) * (checks / fewer).ln() / (more / fewer).ln()
    } else {
        high
    }
}

#[cfg(test)]
mod tests;
