//! Whether the canaries show growth that the weighed laws cannot answer for.
//!
//! No law of the family goes on faster than the square of the data (`law`), but for a hinge. Of a quantity that does, the
//! interval lies too low and is too sure, however the laws are weighed. Three signs are looked for:
//!
//! - **faster than any law**: the canaries' own exponent is above 2;
//! - **steep**: it is above 1.5 and the largest canary is small, so that a cube or an exponential would look the same;
//! - **two sizes**: they show growth, and no curve.
//!
//! The exponent is the largest that the largest size shows: beside each smaller size by itself, ln(y/y') / ln(x/x'), and by the
//! steps between three sizes, of which whatever is there without data cancels out. Each step is taken one standard deviation
//! of the noise to the careful side, so that noise is not taken for growth. `cargo bench --bench coverage` shows how often each
//! law is doubted.

use super::Doubt;
use super::points::Point;
use super::posterior::Prior;

/// The exponent of the fastest law of the family.
const FASTEST: f64 = 2.0;
/// From this exponent on, growth is steep.
const STEEP: f64 = 1.5;
/// A largest canary with less of the data does not show how steep growth goes on.
const SMALL: f64 = 0.3;
/// No larger exponent is distinguished.
const STEEPEST: f64 = 8.0;
/// Halvings of the range of exponents; the rest is below a thousandth.
const HALVINGS: usize = 14;

/// The runs of one size.
struct Size {
    share: f64,
    /// The geometric mean.
    value: f64,
    count: f64,
    /// The standard deviation of the value, by the noise.
    error: f64,
}

/// The doubt that these points leave. `jitter` is noise that does not shrink with the value, in its unit. Runs are compared at the level of work that has most sizes, and of
/// cold and warm ones those that have more: what a cold start adds to a small run hides how it grows.
pub(super) fn find(points: &[Point], prior: &Prior, jitter: f64) -> Option<Doubt> {
    let points = match prior.knows_cold_starts() {
        true => of_one_level(&of_one_start(points)),
        false => of_one_level(points),
    };
    let mut sizes = sizes(&points);
    let noise = noise(&points, &sizes, prior);
    for size in &mut sizes {
        size.error = (noise * size.value).hypot(jitter) / size.count.sqrt();
    }
    let (largest, smaller) = sizes.split_last()?;
    let share = largest.share;
    let beside = smaller.iter().map(|size| {
        let doubt = (size.error / size.value).hypot(largest.error / largest.value);
        ((largest.value / size.value).ln() - doubt) / (share / size.share).ln()
    });
    let exponent = beside
        .chain(exponent_of_steps(largest, smaller))
        .max_by(f64::total_cmp)?;
    if exponent > FASTEST {
        return Some(Doubt::FasterThanLaws { share });
    }
    if share < SMALL && exponent > STEEP {
        return Some(Doubt::Steep { exponent, share });
    }
    (smaller.len() == 1 && exponent > 0.0 && share < 1.0).then_some(Doubt::TwoSizes)
}

/// The cold runs or the warm ones, whichever have more sizes; of equally many those that reach farther.
fn of_one_start(points: &[Point]) -> Vec<Point> {
    let (warm, cold): (Vec<Point>, Vec<Point>) = points.iter().partition(|point| point.is_warm);
    let reach = |points: &[Point]| {
        let most = points.iter().map(|point| point.share).fold(0.0, f64::max);
        (sizes(points).len(), most)
    };
    match reach(&warm) > reach(&cold) {
        true => warm,
        false => cold,
    }
}

/// The runs of the level of work with most sizes; of several the highest.
fn of_one_level(points: &[Point]) -> Vec<Point> {
    let at = |work: f64| -> Vec<Point> {
        let of_level = points.iter().filter(|point| point.work == work);
        of_level
            .filter(|point| point.value > 0.0)
            .copied()
            .collect()
    };
    let mut levels: Vec<f64> = points.iter().map(|point| point.work).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let most = levels
        .into_iter()
        .map(at)
        .max_by_key(|runs| sizes(runs).len());
    most.unwrap_or_default()
}

/// Small to large.
fn sizes(points: &[Point]) -> Vec<Size> {
    let mut ordered: Vec<&Point> = points.iter().collect();
    ordered.sort_by(|a, b| a.fraction.total_cmp(&b.fraction));
    let of_size = |runs: &[&Point]| {
        let count = crate::units::count_as_float(runs.len());
        let mean =
            |value: fn(&Point) -> f64| runs.iter().map(|run| value(run)).sum::<f64>() / count;
        Size {
            share: mean(|run| run.share),
            value: mean(|run| run.value.ln()).exp(),
            count,
            error: 0.0,
        }
    };
    ordered
        .chunk_by(|a, b| a.fraction == b.fraction)
        .map(of_size)
        .collect()
}

/// The standard deviation of ln y from run to run: the prior's, and what replicates show.
fn noise(points: &[Point], sizes: &[Size], prior: &Prior) -> f64 {
    let squares: f64 = points
        .iter()
        .map(|point| {
            let nearest = |size: &&Size| (size.share.ln() - point.share.ln()).abs();
            let size = sizes
                .iter()
                .min_by(|a, b| nearest(a).total_cmp(&nearest(b)));
            size.map_or(0.0, |size| (point.value / size.value).ln().powi(2))
        })
        .sum();
    let known = prior.noise_degrees_of_freedom;
    let shown = crate::units::count_as_float(points.len() - sizes.len());
    ((known * prior.noise.powi(2) + squares) / (known + shown)).sqrt()
}

/// The largest exponent that one size's step to the largest shows beside the step before it, lessened by the noise: 2 where the
/// steps are those of a square. Whatever is there without data cancels out. `None` with fewer than three sizes.
fn exponent_of_steps(largest: &Size, smaller: &[Size]) -> Option<f64> {
    let doubt = |from: &Size, to: &Size| from.error.hypot(to.error);
    let step = |from: &Size, to: &Size| to.value - from.value;
    let triples = smaller.iter().enumerate().flat_map(|(index, middle)| {
        let least = smaller[..index].iter();
        least.map(move |least| (least, middle))
    });
    triples
        .map(|(least, middle)| {
            let last = step(middle, largest) - doubt(middle, largest);
            let before = step(least, middle).max(0.0) + doubt(least, middle);
            exponent_of(last / before, [least.share, middle.share, largest.share])
        })
        .max_by(f64::total_cmp)
}

/// The exponent p whose steps between three shares are in this ratio, (c^p - b^p) / (b^p - a^p); it grows with p.
fn exponent_of(ratio: f64, [a, b, c]: [f64; 3]) -> f64 {
    let at = |p: f64| (c.powf(p) - b.powf(p)) / (b.powf(p) - a.powf(p));
    let (mut low, mut high) = (0.0, STEEPEST);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        match at(middle) < ratio {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::prior::{MEMORY, TIME};
    use super::*;

    fn runs(percents: &[u8], growth: impl Fn(f64) -> f64) -> Vec<Point> {
        percents
            .iter()
            .map(|percent| {
                let share = f64::from(*percent) / 100.0;
                Point {
                    share,
                    fraction: share,
                    work: 1.0,
                    is_first: false,
                    is_disturbed: false,
                    is_warm: false,
                    value: growth(share),
                }
            })
            .collect()
    }

    fn doubt(percents: &[u8], growth: impl Fn(f64) -> f64) -> Option<Doubt> {
        find(&runs(percents, growth), &TIME, 0.0)
    }

    /// (c^p - b^p) / (b^p - a^p) by hand: 2.5 - 1 over 1 - 0.25, their squares, and their cubes.
    #[test]
    fn the_exponent_of_steps_is_that_of_a_power_whatever_is_there_without_data() {
        let shares = [0.25, 1.0, 2.5];
        for (exponent, ratio) in [(1.0, 2.0), (2.0, 5.25 / 0.9375), (3.0, 14.625 / 0.984_375)] {
            assert!((exponent_of(ratio, shares) - exponent).abs() < 1e-3);
        }
        let sizes = |fixed: f64| {
            let size = |share: f64| Size {
                share,
                value: fixed + share.powf(1.7),
                count: 1.0,
                error: 0.0,
            };
            [0.01, 0.1, 0.2].map(size)
        };
        for fixed in [0.0, 5.0] {
            let [least, middle, largest] = sizes(fixed);
            let exponent = exponent_of_steps(&largest, &[least, middle]).unwrap();
            assert!((exponent - 1.7).abs() < 1e-3, "{exponent}");
        }
    }

    #[test]
    fn growth_that_the_laws_know_is_not_doubted() {
        let designs: [&[u8]; 4] = [&[1, 2, 3], &[1, 10, 20], &[1, 5, 20, 10], &[1, 10, 50, 20]];
        for design in designs {
            for fixed in [0.0, 0.02, 0.4] {
                for (name, growth) in [
                    ("constant", (|_| 1.0) as fn(f64) -> f64),
                    ("linear", |x| x),
                    ("n log n", |x| x * (1.0 + (1e6 * x).ln())),
                    ("power 1.3", |x| x.powf(1.3)),
                    ("saturation", |x| x / (x + 0.2)),
                ] {
                    let found = doubt(design, |x| fixed + (1.0 - fixed) * growth(x));
                    assert_eq!(found, None, "{name}, {fixed} fixed, {design:?}");
                }
            }
        }
    }

    #[test]
    fn a_cube_is_faster_than_any_law() {
        let seconds = |x: f64| 5.0 + 36_000.0 * x.powi(3);
        assert_eq!(
            doubt(&[1, 10, 20, 50], seconds),
            Some(Doubt::FasterThanLaws { share: 0.5 })
        );
        // What the start-up hides in two sizes, the steps between three show.
        assert_eq!(
            doubt(&[1, 10, 20], seconds),
            Some(Doubt::FasterThanLaws { share: 0.2 })
        );
    }

    #[test]
    fn a_square_is_believed_where_a_canary_holds_enough_of_the_data() {
        let square = |x: f64| 1.0 + 600.0 * x * x;
        assert_eq!(doubt(&[1, 10, 20, 50], square), None);
        let Some(Doubt::Steep { exponent, share }) = doubt(&[1, 5, 10, 20], square) else {
            panic!("it is steep");
        };
        assert!((1.5..2.0).contains(&exponent) && share == 0.2);
    }

    #[test]
    fn two_sizes_show_no_curve_but_that_nothing_grows() {
        assert_eq!(doubt(&[1, 1, 20], |x| x), Some(Doubt::TwoSizes));
        assert_eq!(doubt(&[1, 1, 20], |_| 3.0), None);
        assert_eq!(doubt(&[20], |x| x), None);
        assert_eq!(doubt(&[], |x| x), None);
    }

    #[test]
    fn what_replicates_show_to_be_noise_is_not_growth() {
        let steps = |x: f64| if x > 0.4 { 1.3 } else { 1.0 + 0.01 * x };
        let seen = runs(&[1, 10, 20, 50], steps);
        assert!(find(&seen, &MEMORY, 0.0).is_some());
        let factors = [0.7, 1.4, 0.8, 1.3];
        let noisy: Vec<Point> = factors
            .iter()
            .flat_map(|factor| {
                let run = |point: &Point| Point {
                    value: point.value * factor,
                    ..*point
                };
                seen.iter().map(run).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(find(&noisy, &MEMORY, 0.0), None);
    }

    #[test]
    fn what_is_as_short_as_the_jitter_is_not_growth() {
        let short = runs(&[1, 2, 3], |x| 0.02 + 600.0 * x.powi(3));
        assert!(find(&short, &TIME, 0.0).is_some());
        assert_eq!(find(&short, &TIME, 0.05), None);
    }

    #[test]
    fn runs_of_less_work_are_not_taken_for_runs_of_less_data() {
        let mut mixed = runs(&[1, 10, 20], |x| x);
        mixed.extend(
            runs(&[50], |x| 100.0 * x)
                .into_iter()
                .map(|run| Point { work: 0.1, ..run }),
        );
        assert_eq!(find(&mixed, &TIME, 0.0), None);
    }
}
