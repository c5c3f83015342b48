//! The time of a full run by the **progress** that a canary of all the data printed until it was ended at its limit.
//!
//! ```text
//! T = t_m + (N - d_m) r e^(f/2) + l,    ln y = ln T + s t_5,    s^2 = 0.08^2 + (0.25 f)^2 + g^2
//! ```
//!
//! It printed that d_i of N steps were done at t_i, i = 0 to m. r is the time of a step in the later half of these: the first ones
//! warm up. g is the logarithm of how many times as long that is as in the earlier half; it only widens, for the first steps say
//! little of the last. f is the logarithm of how many times as long the steps that are left are as those of the later half, in the
//! largest canary that ran to its end: steps that get dearer, pauses between epochs. Half of it counts: in small canaries all steps
//! have an overhead. l is what comes after the last step, by a line in the share through the smallest and the largest canary.
//!
//! `benches/progress` has the 17 jobs of nine libraries that the constants were chosen on and judged by.

use super::Predictive;
use super::runs::Runs;
use crate::measurement::Measurement;
use crate::units::Fraction;

/// Of ln y: what runs differ by, and what is unknown of the steps that are left where no canary shows them.
const NOISE: f64 = 0.08;
const WITHOUT_SHAPE: f64 = 0.1;
/// The part of f that moves the point, and the part that widens.
const SHAPE_COUNTS: f64 = 0.5;
const SHAPE_DOUBT: f64 = 0.25;
/// With fewer points nothing is cut as warm-up, no drift is seen, and so much is unknown.
const FEW_POINTS: usize = 5;
const OF_FEW_POINTS: f64 = 0.1;
const DEGREES_OF_FREEDOM: f64 = 5.0;
/// A window of a canary's steps that is shorter, in seconds, shows nothing.
const SHORTEST_WINDOW: f64 = 0.02;
/// A canary that ended with less of its steps stopped early, and then nobody knows when the full run will.
const ALL_STEPS: f64 = 0.9;
/// Two canaries that print no total did as many steps if these differ by less.
const SAME_STEPS: f64 = 0.01;

/// What a canary of all data said of its progress until its limit.
pub(super) struct ByProgress<'a> {
    pub(super) run: &'a Measurement,
    /// The share of its steps that it had done, in (0, 1].
    pub(super) reached: f64,
    pub(super) time: Predictive,
}

impl<'a> ByProgress<'a> {
    /// Of several such canaries the one that got farthest; `None` where none says how far it is.
    pub(super) fn of(runs: &Runs<'a>) -> Option<Self> {
        let mut ended: Vec<Steps> = runs
            .entered()
            .iter()
            .filter_map(|run| Steps::of(run))
            .collect();
        ended.sort_by(|a, b| a.share.total_cmp(&b.share));
        let stopped_early = |run: &Steps| run.total.is_some_and(|all| run.done() < ALL_STEPS * all);
        if ended.is_empty() || ended.iter().any(stopped_early) {
            return None;
        }
        let of_all =
            |(run, _): &(&'a Measurement, f64)| run.data_share() == 1.0 && run.work_share() == 1.0;
        let candidates = runs.timed_out().filter(of_all);
        let read = candidates.filter_map(|(run, limit)| Self::read(run, limit, &ended));
        read.max_by(|a, b| a.reached.total_cmp(&b.reached))
    }

    /// Whether no time is in the middle nine tenths of both.
    pub(super) fn is_apart_from(&self, laws: &Predictive) -> bool {
        let ends = [&self.time, laws].map(|time| [0.05, 0.95].map(|p| time.quantile(p)));
        ends[0][1] < ends[1][0] || ends[1][1] < ends[0][0]
    }

    pub(super) fn note(&self) -> String {
        format!(
            "time is forecast from the progress of the {} canary, which had done {} of its steps when it was ended at its limit",
            self.run.fraction,
            Fraction(self.reached),
        )
    }

    fn read(run: &'a Measurement, limit: f64, ended: &[Steps]) -> Option<Self> {
        let steps = Steps::of(run)?;
        let total = steps.total.or_else(|| same_steps(ended))?;
        let (first, last) = (steps.points.first()?, steps.points.last()?);
        let is_few = steps.points.len() < FEW_POINTS;
        let middle = match is_few {
            true => first.1,
            false => f64::midpoint(first.1, last.1),
        };
        let (at, of_step) = (steps.time_at(middle), |from: (f64, f64), to: (f64, f64)| {
            (to.0 - from.0) / (to.1 - from.1)
        });
        let rate = of_step((at, middle), *last);
        let drift = match is_few {
            true => OF_FEW_POINTS,
            false => (rate / of_step(*first, (at, middle))).ln(),
        };
        let shape = ended
            .last()
            .and_then(|run| run.shape([middle, last.1].map(|done| done / total)));
        let doubt = shape.map_or(WITHOUT_SHAPE, |shape| SHAPE_DOUBT * shape);
        let left = (total - last.1).max(0.0) * rate * (SHAPE_COUNTS * shape.unwrap_or(0.0)).exp();
        let time = (last.0 + left + tail(ended)).max(limit);
        let scale = NOISE.hypot(doubt).hypot(drift);
        let is_known = last.1 > middle && time.is_finite() && scale.is_finite();
        is_known.then(|| Self {
            run,
            reached: (last.1 / total).min(1.0),
            time: Predictive::log_student_t(time, scale, DEGREES_OF_FREEDOM),
        })
    }
}

/// What comes after the last step, in seconds: by the line in the share through the smallest and the largest canary, not falling.
fn tail(ended: &[Steps]) -> f64 {
    let of = |run: &Steps| (run.time - run.points.last().map_or(run.time, |last| last.0)).max(0.0);
    let (Some(small), Some(large)) = (ended.first(), ended.last()) else {
        return 0.0;
    };
    let growth = (of(large) - of(small)) / (large.share - small.share);
    let growth = if growth.is_finite() {
        growth.max(0.0)
    } else {
        0.0
    };
    of(large) + growth * (1.0 - large.share)
}

/// The steps of canaries of two sizes or more that print no total, where all did as many: then data do not change it.
fn same_steps(ended: &[Steps]) -> Option<f64> {
    let (small, large) = (ended.first()?, ended.last()?);
    let is_same = |run: &Steps| (run.done() - large.done()).abs() <= SAME_STEPS * large.done();
    let are_two = large.share > small.share;
    (are_two && ended.iter().all(|run| run.total.is_none() && is_same(run))).then(|| large.done())
}

/// The steps of a run, as it printed them.
struct Steps {
    /// Of the data.
    share: f64,
    /// Of the whole run, in seconds.
    time: f64,
    /// Of the steps.
    total: Option<f64>,
    /// When, in seconds, so many steps were done; both rise, and there are at least two.
    points: Vec<(f64, f64)>,
}

impl Steps {
    /// `None` where the run says nothing of its progress, or what cannot be relied on.
    fn of(run: &Measurement) -> Option<Self> {
        let progress = run.progress.as_ref().filter(|it| it.spoilt().is_none())?;
        let points = progress.points.iter().map(|(at, done)| (at.0, *done));
        let points: Vec<_> = points
            .filter(|(at, done)| at.is_finite() && done.is_finite())
            .collect();
        let rise = points
            .windows(2)
            .all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1);
        (rise && points.len() > 1).then_some(Self {
            share: run.data_share(),
            time: run.time()?.0,
            total: progress.total,
            points,
        })
    }

    fn done(&self) -> f64 {
        self.points.last().map_or(0.0, |last| last.1)
    }

    /// When so many steps were done: between two lines in proportion, not beyond the ends.
    fn time_at(&self, done: f64) -> f64 {
        let next = self.points.partition_point(|point| point.1 < done);
        let [last, next] =
            [next.saturating_sub(1), next.min(self.points.len() - 1)].map(|at| self.points[at]);
        match next.1 - last.1 {
            0.0 => next.0,
            steps => last.0 + (next.0 - last.0) * (done - last.1) / steps,
        }
    }

    /// The logarithm of how many times as long the steps after the window of these shares are as those in it.
    fn shape(&self, window: [f64; 2]) -> Option<f64> {
        let total = self.total.unwrap_or_else(|| self.done());
        let [from, to] = window.map(|share| share * total);
        let [start, end, all] = [from, to, self.done()].map(|done| self.time_at(done));
        let of_window = (end - start) / (to - from);
        let after = (all - end) / (self.done() - to);
        let shape = (after / of_window).ln();
        (end - start >= SHORTEST_WINDOW && shape.is_finite()).then_some(shape)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::tests::{ended, forecast_of, near, run};
    use super::*;
    use crate::forecast::Forecast;
    use crate::measurement::Outcome;
    use crate::measurement::progress::JobProgress;
    use crate::metric::Metric;
    use crate::units::Seconds;

    /// A canary of so many percent, which took `time` and had done the steps of `lines` (seconds, steps) of `total`.
    fn printed(percent: f64, time: f64, total: Option<f64>, lines: &[(f64, f64)]) -> Measurement {
        let points = lines.iter().map(|(at, done)| (Seconds(*at), *done));
        Measurement {
            progress: Some(JobProgress {
                format: "tqdm".to_owned(),
                total,
                pass: total,
                passes: 1,
                points: points.collect(),
                doubts: BTreeSet::default(),
            }),
            ..run(percent, time)
        }
    }

    /// Eleven lines of evenly long steps from `start` on.
    fn even(start: f64, step: f64, steps: f64) -> Vec<(f64, f64)> {
        let parts = (0..=10).map(|tenth| steps * f64::from(tenth) / 10.0);
        parts.map(|done| (start + step * done, done)).collect()
    }

    /// 1 and 10 % to their end, and all of it until its limit.
    fn forecast(total: Option<f64>, [small, large, full]: [(f64, Vec<(f64, f64)>); 3]) -> Forecast {
        let total_of = |share: f64| total.map(|total| total * share);
        forecast_of(&[
            printed(1.0, small.0, total_of(0.01), &small.1),
            printed(10.0, large.0, total_of(0.1), &large.1),
            ended(printed(100.0, full.0, total, &full.1), Outcome::TimedOut),
        ])
    }

    fn time(forecast: &Forecast) -> Option<f64> {
        forecast[Metric::Time].as_ref().ok().map(Predictive::median)
    }

    #[test]
    fn a_full_run_is_forecast_from_its_first_steps_and_from_how_the_canaries_went_on() {
        // 1,000 steps of 2 s after 100 s, and 5 s after the last.
        let small = || (6.0 + 20.0, even(1.0, 2.0, 10.0));
        let large = || (15.0 + 200.0, even(10.0, 2.0, 100.0));
        let full = || (300.0, even(100.0, 2.0, 100.0));
        let even_steps = forecast(Some(1000.0), [small(), large(), full()]);
        assert!(near(time(&even_steps).unwrap(), 100.0 + 2000.0 + 5.0, 1e-9));
        assert!(
            even_steps.notes[0]
                .contains("the progress of the 100% canary, which had done 10% of its steps")
        );
        // In the canary of 10 % the steps after the first tenth took four times as long: half of the logarithm counts, which is twice.
        let dearer = vec![(10.0, 0.0), (20.0, 5.0), (30.0, 10.0), (750.0, 100.0)];
        let dearer = forecast(Some(1000.0), [small(), (755.0, dearer), full()]);
        assert!(near(
            time(&dearer).unwrap(),
            300.0 + 900.0 * 2.0 * 2.0 + 5.0,
            1e-9
        ));
        // What follows the last step grows with the data: 5 s, 14 s, 104 s.
        let long_tail = forecast(Some(1000.0), [small(), (224.0, large().1), full()]);
        assert!(near(time(&long_tail).unwrap(), 2100.0 + 104.0, 1e-9));
        // Rounds of boosting print no total, and data do not change it.
        let rounds = |time: f64, step: f64| (time, even(1.0, step, 50.0));
        let boosted = [
            rounds(12.0, 0.2),
            rounds(102.0, 2.0),
            (201.0, even(1.0, 20.0, 10.0)),
        ];
        assert!(near(time(&forecast(None, boosted)).unwrap(), 1002.0, 1e-9));
    }

    #[test]
    fn what_the_steps_do_not_say_is_not_forecast_from_them() {
        let full = || (300.0, even(100.0, 2.0, 100.0));
        let large = || (215.0, even(10.0, 2.0, 100.0));
        for (case, small, large, full) in [
            ("stops early", (26.0, even(1.0, 2.0, 8.0)), large(), full()),
            (
                "one line",
                (26.0, even(1.0, 2.0, 10.0)),
                large(),
                (300.0, vec![(100.0, 1.0)]),
            ),
            (
                "time goes back",
                (26.0, even(1.0, 2.0, 10.0)),
                large(),
                (300.0, vec![(100.0, 1.0), (99.0, 2.0)]),
            ),
        ] {
            assert_eq!(
                time(&forecast(Some(1000.0), [small, large, full])),
                None,
                "{case}"
            );
        }
        // As many rounds as the data want.
        let early = [
            (22.0, even(1.0, 2.0, 10.0)),
            (201.0, even(1.0, 2.0, 100.0)),
            full(),
        ];
        assert_eq!(time(&forecast(None, early)), None);
    }

    #[test]
    fn smaller_canaries_that_say_another_time_are_a_doubt() {
        let canaries = |step: f64| {
            let small = [1.0, 5.0, 10.0].map(|percent| {
                printed(
                    percent,
                    21.0 * percent,
                    Some(10.0 * percent),
                    &even(percent, 2.0, 10.0 * percent),
                )
            });
            let full = printed(100.0, 1000.0, Some(1000.0), &even(100.0, step, 90.0));
            [small.to_vec(), vec![ended(full, Outcome::TimedOut)]].concat()
        };
        assert!(!forecast_of(&canaries(2.0)).is_apart);
        assert!(forecast_of(&canaries(10.0)).is_apart);
    }
}
