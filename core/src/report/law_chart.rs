//! The law of time as a chart.

use super::background::abscissa;
use super::chart::{Chart, ChartAxis, ChartSeries, ChartXAxis};
use super::text::Prose;
use super::{InstanceForecast, JobReport};
use crate::forecast::Law;
use crate::measurement::Abscissa;
use crate::metric::Metric;
use crate::spec::{Bound, LineKind};

/// Of the law's line: enough to show a bend.
const INTERVALS: u32 = 20;

/// A limit further off than this would press the law's line flat.
pub(super) const LIMIT_SHOWN_TO: f64 = 4.0;

/// The law of time of the job's own instance, with its limit of time if there is one. `None` without a law.
pub(super) fn of(job: &JobReport) -> Option<Chart> {
    let forecast = job.forecasts.first()?;
    let law = forecast.law.time.as_ref()?;
    let curve: Vec<f64> = (0..=INTERVALS)
        .map(|step| time_at(law, f64::from(step) / f64::from(INTERVALS)))
        .collect();
    let highest = curve.iter().copied().fold(0.0, f64::max);
    if !highest.is_finite() || highest <= 0.0 {
        return None;
    }
    let limit = time_limit(forecast);
    let shown_limit = limit.filter(|limit| *limit <= LIMIT_SHOWN_TO * highest);
    let top = highest.max(shown_limit.unwrap_or(0.0));
    let unit = TimeUnit::for_largest(top);
    let top = above(top / unit.seconds());
    let in_unit = |seconds: &f64| seconds / unit.seconds();
    let mut series = vec![ChartSeries {
        name: "law",
        values: curve.iter().map(in_unit).collect(),
    }];
    if let Some(limit) = shown_limit {
        series.push(ChartSeries {
            name: "budget",
            values: vec![in_unit(&limit); 2],
        });
    }
    let name = Prose::name(forecast.instance.to_string());
    let title = match shown_limit {
        Some(_) => "Time on {}: forecast and budget",
        None => "Time on {}: forecast",
    };
    Some(Chart {
        caption: Prose::literal(caption(limit, shown_limit)),
        title: Prose::fill(title, [name]),
        x: ChartXAxis::Numbers(ChartAxis {
            title: match abscissa(job, forecast) {
                Abscissa::Data => "share of the data (%)",
                Abscissa::Work => "share of the work (%)",
            },
            from: 0.0,
            to: 100.0,
        }),
        y: ChartAxis {
            title: unit.name(),
            from: 0.0,
            to: top,
        },
        series,
        digits: digits_for(top),
        in_a_line: None,
    })
}

fn caption(limit: Option<f64>, shown_limit: Option<f64>) -> String {
    let limit =
        limit.map(|limit| crate::verdict::words::limit(LineKind::Absolute(Metric::Time), limit));
    match (limit, shown_limit) {
        (Some(limit), Some(_)) => {
            format!("The purple line is the law, the green one the limit of {limit}.")
        }
        (Some(limit), None) => {
            format!("The line is the law; the limit of {limit} is far above it.")
        }
        (None, _) => "The line is the law.".to_owned(),
    }
}

/// A line that starts below zero stands on the axis there.
pub(super) fn time_at(law: &Law, share: f64) -> f64 {
    law.at(share).max(0.0)
}

fn time_limit(forecast: &InstanceForecast) -> Option<f64> {
    most(forecast, Metric::Time)
}

/// The most of a metric that the budget allows.
pub(super) fn most(forecast: &InstanceForecast, metric: Metric) -> Option<f64> {
    forecast
        .budget
        .iter()
        .filter(|row| row.line == LineKind::Absolute(metric) && row.bound == Bound::Max)
        .map(|row| row.limit)
        .filter(|limit| limit.is_finite() && *limit > 0.0)
        .reduce(f64::min)
}

/// What the axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
}

impl TimeUnit {
    /// The largest of which there are two or more.
    pub(super) fn for_largest(seconds: f64) -> Self {
        [Self::Days, Self::Hours, Self::Minutes, Self::Seconds]
            .into_iter()
            .find(|unit| seconds >= 2.0 * unit.seconds())
            .unwrap_or(Self::Milliseconds)
    }

    pub(super) fn seconds(self) -> f64 {
        match self {
            Self::Milliseconds => 0.001,
            Self::Seconds => 1.0,
            Self::Minutes => 60.0,
            Self::Hours => 3600.0,
            Self::Days => 86_400.0,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::Days => "days",
        }
    }
}

/// The end of an axis that leaves a little room above: 9 for 8, 70 for 61.
fn above(largest: f64) -> f64 {
    let magnitude = 10_f64.powf(largest.log10().floor());
    // Below 1 only where a whole run takes less than a millisecond.
    (largest * 1.05 / magnitude).ceil() * magnitude
}

/// As many as keep rounding from bending a straight line.
fn digits_for(top: f64) -> usize {
    [1000.0, 100.0].iter().filter(|bound| top < **bound).count()
}

#[cfg(test)]
mod tests {
    use super::super::{mermaid, samples, terminal};
    use super::*;
    use crate::forecast::Shape;

    fn block(job: &JobReport) -> String {
        mermaid::block(&of(job).unwrap())
    }

    fn caption(job: &JobReport) -> String {
        terminal::inline(&of(job).unwrap().caption)
    }

    #[test]
    fn a_limit_far_above_is_named_and_not_drawn() {
        let mut job = samples::of("over-budget").jobs.remove(0);
        job.forecasts[0].budget[1].limit = 864_000.0;
        assert_eq!(
            caption(&job),
            "The line is the law; the limit of 10d is far above it."
        );
        assert!(!block(&job).contains("budget"), "{}", block(&job));
        job.forecasts[0].budget.clear();
        assert_eq!(caption(&job), "The line is the law.");
    }

    #[test]
    fn no_law_no_chart() {
        let mut job = samples::of("over-budget").jobs.remove(0);
        job.forecasts[0].law.time = None;
        assert_eq!(of(&job), None);
        assert_eq!(of(&samples::of("failed").jobs[0]), None);
        for slope in [f64::NAN, f64::INFINITY, -1e9, 0.0] {
            let mut job = samples::of("over-budget").jobs.remove(0);
            let law = job.forecasts[0].law.time.as_mut().unwrap();
            (law.intercept, law.slope) = (0.0, slope);
            assert_eq!(of(&job), None, "{slope}");
        }
    }

    #[test]
    fn each_size_has_its_unit() {
        for (seconds, unit, top) in [
            (0.5, "milliseconds", "600"),
            (58.0, "seconds", "70"),
            (600.0, "minutes", "20"),
            (20_520.0, "hours", "6"),
            (1_000_000.0, "days", "20"),
        ] {
            let mut job = samples::of("over-budget").jobs.remove(0);
            job.forecasts[0].budget.clear();
            let law = job.forecasts[0].law.time.as_mut().unwrap();
            (law.intercept, law.slope) = (0.0, seconds);
            let axis = format!("y-axis \"{unit}\" 0 --> {top}\n");
            assert!(block(&job).contains(&axis), "{axis}: {}", block(&job));
        }
    }

    #[test]
    fn rounding_does_not_bend_a_straight_line() {
        for full in [
            9.9, 58.0, 99.0, 150.0, 600.0, 3601.0, 20_520.0, 180_000.0, 9e6,
        ] {
            let mut job = samples::of("over-budget").jobs.remove(0);
            job.forecasts[0].budget.clear();
            let law = job.forecasts[0].law.time.as_mut().unwrap();
            (law.intercept, law.slope) = (0.0, full);
            let block = block(&job);
            let points = block.split_once("\"law\" [").unwrap().1;
            let points: Vec<f64> = points
                .split_once(']')
                .unwrap()
                .0
                .split(", ")
                .map(|point| point.parse().unwrap())
                .collect();
            let step = points[20] / 20.0;
            for pair in points.windows(2) {
                assert!(
                    (pair[1] - pair[0] - step).abs() <= 0.1 * step,
                    "{full}: {points:?}"
                );
            }
        }
    }

    #[test]
    fn a_law_that_bends_is_drawn_so_and_one_below_zero_stands_on_the_axis() {
        let mut job = samples::of("over-budget").jobs.remove(0);
        let law = job.forecasts[0].law.time.as_mut().unwrap();
        (law.intercept, law.slope) = (-3600.0, 36_000.0);
        law.shape = Shape::Power { exponent: 2.0 };
        let block = block(&job);
        assert!(
            block.contains("[0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.22, 0.60,"),
            "{block}"
        );
    }
}
