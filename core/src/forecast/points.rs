//! The measured points of one quantity, and whether they are enough for a law.

use super::Unknown;
use super::posterior::{ONE_SIZE, Observation, Prior};
use crate::grammar;

/// The fewest runs for a law: one more than its two parameters, to estimate the noise.
pub const FEWEST_RUNS: usize = 3;
/// The fewest sizes for a law.
pub const FEWEST_SIZES: usize = 2;
/// The fewest levels of work if canaries do less work than the full run.
const FEWEST_WORK_LEVELS: usize = 2;

/// How many runs are required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fewest {
    /// [`FEWEST_RUNS`] on [`FEWEST_SIZES`].
    ForAForecast,
    One,
}

/// Whether the points are enough for a law.
pub(super) fn check(points: &[Observation], subject: &str, fewest: Fewest) -> Result<(), Unknown> {
    let (runs, least_sizes) = match fewest {
        Fewest::ForAForecast => (FEWEST_RUNS, FEWEST_SIZES),
        Fewest::One => (1, 1),
    };
    let sizes = sizes(points);
    if points.len() < runs || sizes < least_sizes {
        return Err(Unknown(match points.len() {
            0 => format!("no completed run measured {subject}"),
            runs => format!(
                "{} at {}; a forecast needs at least {FEWEST_RUNS}, at {FEWEST_SIZES} or more sizes",
                grammar::count(runs, "completed run"),
                grammar::count(sizes, "size")
            ),
        }));
    }
    if points.iter().all(|point| point.value < f64::MIN_POSITIVE) {
        return Err(Unknown(format!(
            "{subject} was 0 in every completed run; there is nothing to extrapolate"
        )));
    }
    let levels = distinct(points.iter().map(|point| point.work), 1.0);
    if levels < FEWEST_WORK_LEVELS && points.iter().all(|point| point.work < 1.0) {
        return Err(Unknown(
            "every completed run did the same part of the full run's work; a forecast needs a second level of work".to_owned(),
        ));
    }
    Ok(())
}

/// The points as a law is fit to them. A value of 0 has no logarithm and counts as the smallest measured one.
pub(super) fn observations(points: &[Observation], prior: &Prior) -> Vec<Observation> {
    let values = points.iter().map(|point| point.value);
    let above_0 = values.filter(|value| *value >= f64::MIN_POSITIVE);
    let least = above_0.fold(f64::INFINITY, f64::min);
    let weighed = points.iter().map(|point| Observation {
        value: point.value.max(least),
        weight: match point.is_doubtful {
            true => prior.cold_weight,
            false => 1.0,
        },
        ..*point
    });
    weighed.collect()
}

/// How many sizes of the design the points have. Fractions with the same data are one size, and so are samples of one fraction
/// with different bytes.
pub(super) fn sizes(points: &[Observation]) -> usize {
    distinct(points.iter().map(|point| point.fraction), 1.0)
        .min(distinct(points.iter().map(|point| point.share), ONE_SIZE))
}

/// How many values are more than `factor` times the last counted one.
fn distinct(values: impl Iterator<Item = f64>, factor: f64) -> usize {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let mut last = 0.0;
    values.retain(|value| {
        let counts = *value > last * factor;
        if counts {
            last = *value;
        }
        counts
    });
    values.len()
}

#[cfg(test)]
mod tests {
    use super::super::posterior::tests::run;
    use super::super::prior::{MEMORY, TIME};
    use super::*;

    fn point(share: f64, value: f64) -> Observation {
        run(share, 1.0, value)
    }

    fn reason(points: &[Observation]) -> String {
        check(points, "time", Fewest::ForAForecast).unwrap_err().0
    }

    #[test]
    fn too_few_runs_or_sizes_are_unknown_with_the_reason() {
        assert_eq!(reason(&[]), "no completed run measured time");
        // Samples asked for at one size differ a little in bytes, and two sizes asked for may give the same single object.
        let asked_once = [0.0100, 0.0101, 0.0102].map(|share| Observation {
            fraction: 0.01,
            ..point(share, 1.0)
        });
        let given_once = [0.01, 0.02, 0.03].map(|fraction| Observation {
            fraction,
            ..point(0.1, 1.0)
        });
        for (points, have) in [
            (&[point(0.01, 1.0)][..], "1 completed run at 1 size"),
            (
                &[point(0.01, 1.0), point(0.02, 2.0)],
                "2 completed runs at 2 sizes",
            ),
            (&[point(0.01, 1.0); 9], "9 completed runs at 1 size"),
            (&asked_once, "3 completed runs at 1 size"),
            (&given_once, "3 completed runs at 1 size"),
        ] {
            let needs = "a forecast needs at least 3, at 2 or more sizes";
            assert_eq!(reason(points), format!("{have}; {needs}"));
        }
    }

    #[test]
    fn what_was_0_in_every_run_has_no_law_and_a_single_0_is_the_least_that_was_measured() {
        let points = [point(0.01, 0.0), point(0.02, 0.0), point(0.03, 0.0)];
        assert_eq!(
            reason(&points),
            "time was 0 in every completed run; there is nothing to extrapolate"
        );
        let values: Vec<f64> = observations(
            &[point(0.01, 0.0), point(0.02, 2.0), point(0.03, 3.0)],
            &TIME,
        )
        .iter()
        .map(|run| run.value)
        .collect();
        assert_eq!(values, [2.0, 2.0, 3.0]);
    }

    #[test]
    fn one_level_of_work_does_not_show_what_the_rest_takes() {
        let at = |work: f64, share: f64| Observation {
            work,
            ..point(share, 10.0 + share)
        };
        assert_eq!(
            reason(&[at(0.1, 0.01), at(0.1, 0.02), at(0.1, 0.05)]),
            "every completed run did the same part of the full run's work; a forecast needs a second level of work"
        );
        for levels in [[0.1, 0.2], [0.1, 1.0], [1.0, 1.0]] {
            let [less, more] = levels;
            let points = [at(less, 0.01), at(more, 0.02), at(less, 0.05)];
            assert_eq!(check(&points, "time", Fewest::ForAForecast), Ok(()));
        }
    }

    #[test]
    fn a_doubtful_run_weighs_less() {
        let doubtful = Observation {
            is_doubtful: true,
            ..point(0.01, 1.0)
        };
        let points = [doubtful, point(0.02, 2.0)];
        let weights = |prior| -> Vec<f64> {
            let runs = observations(&points, prior);
            runs.iter().map(|run| run.weight).collect()
        };
        assert_eq!(weights(&TIME), [TIME.cold_weight, 1.0]);
        // It changes nothing of what memory is held.
        assert_eq!(weights(&MEMORY), [1.0; 2]);
    }
}
