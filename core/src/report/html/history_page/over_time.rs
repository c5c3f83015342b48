//! What a full run is forecast to take, check by check.

use jiff::Timestamp;

use super::super::super::history_figures::{
    CheckFigures, FigureAndLimit, FullRunFigures, JobFigures,
};
use super::super::super::words::{self, Quantity, count};
use super::super::markup::Markup;
use super::super::plot::{PLOT_LINES, Plot, PlotAxis, PlotColour, PlotMark, PlotShape};
use super::scale::{Scaled, finite};
use crate::forecast::Estimate;

/// Checks that all charts of a page draw together, so that a page of many jobs stays small.
const POINTS_OF_A_PAGE: usize = 3000;
/// And the most and fewest of one chart.
const MOST_POINTS: usize = 160;
const FEWEST_POINTS: usize = 40;
/// More points would hide the line.
const MOST_DOTS: usize = 40;
/// An end of an interval, or a limit, that is so many times the highest forecast is beyond the chart.
const BEYOND: f64 = 2.5;
/// Between dates of an axis.
const STRETCHES: i32 = 3;
const A_DAY: f64 = 86_400.0;

/// How many checks one chart draws where so many jobs have charts.
pub(super) fn points_for(jobs: usize) -> usize {
    (POINTS_OF_A_PAGE / (2 * jobs.max(1))).clamp(FEWEST_POINTS, MOST_POINTS)
}

/// One check in a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DrawnCheck {
    at: Timestamp,
    estimate: Estimate,
}

/// At most so many checks, in their order: of each stretch the lowest and the highest, and the newest of all.
pub(super) fn thinned(checks: &[DrawnCheck], most: usize) -> Vec<DrawnCheck> {
    if checks.len() <= most {
        return checks.to_vec();
    }
    let stretches = (most.saturating_sub(1) / 2).max(1);
    let by_point = |one: &(usize, &DrawnCheck), other: &(usize, &DrawnCheck)| {
        (one.1.estimate.point).total_cmp(&other.1.estimate.point)
    };
    let all = || checks.iter().enumerate();
    let length = checks.len().div_ceil(stretches);
    let starts = (0..checks.len()).step_by(length);
    let extremes = starts.flat_map(|start| {
        let stretch = || all().skip(start).take(length);
        [stretch().min_by(by_point), stretch().max_by(by_point)]
    });
    let mut places: Vec<usize> = extremes.flatten().map(|(place, _)| place).collect();
    places.push(checks.len() - 1);
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|place| checks[place]).collect()
}

/// What one chart is about.
pub(super) struct Charted {
    pub(super) title: &'static str,
    pub(super) quantity: Quantity,
    pub(super) figure: fn(&CheckFigures) -> Option<FigureAndLimit>,
    pub(super) full_run: fn(&FullRunFigures) -> Option<f64>,
}

/// The chart of a job; `None` where no check has the figure.
pub(super) fn plot(job: &JobFigures, charted: &Charted, most: usize) -> Option<Plot> {
    let quantity = charted.quantity;
    let known = |check: &CheckFigures| {
        let estimate = (charted.figure)(check)?.estimate;
        finite(quantity, estimate.point).then_some(DrawnCheck {
            at: check.at,
            estimate,
        })
    };
    let all: Vec<DrawnCheck> = job.checks.iter().filter_map(known).collect();
    let newest = *all.last()?;
    let limit = job.checks.iter().rev().find_map(charted.figure);
    let limit = limit.and_then(|figure| figure.limit);
    let full_runs = job
        .full_runs
        .iter()
        .rev()
        .take(MOST_DOTS)
        .filter_map(|run| {
            let value = (charted.full_run)(run)?;
            finite(quantity, value).then_some((run.at, value))
        });
    let full_runs: Vec<(Timestamp, f64)> = full_runs.collect();
    let drawn = thinned(&all, most);
    let highest = (drawn.iter().map(|check| check.estimate.point))
        .chain(full_runs.iter().map(|(_, value)| *value))
        .fold(0.0, f64::max);
    let near = |value: &f64| finite(quantity, *value) && *value <= highest * BEYOND;
    let uppers = drawn.iter().map(|check| check.estimate.upper);
    let top = uppers.chain(limit).filter(near).fold(highest, f64::max);
    let scaled = Scaled::up_to(quantity, top)?;
    let ends = |estimate: &Estimate| {
        let [lower, upper] = [estimate.lower, estimate.upper].map(|end| match end.is_nan() {
            true => estimate.point,
            false => end,
        });
        (scaled.of(lower.max(0.0)), scaled.of(upper))
    };
    let times = drawn.iter().map(|check| check.at);
    let times = times.chain(full_runs.iter().map(|(at, _)| *at));
    let first = times.clone().min()?;
    let last = times.max()?;
    let x = days(first, last);
    let (from, to) = x.ends();
    let mut marks = Vec::new();
    match drawn.as_slice() {
        [only] => {
            let (lower, upper) = ends(&only.estimate);
            let at = place(only.at);
            let whisker = PlotShape::Whisker((at, lower), (at, upper));
            marks.push(PlotMark::new(PlotColour::First, whisker));
        }
        _ => {
            let band = drawn.iter().map(|check| {
                let (lower, upper) = ends(&check.estimate);
                (place(check.at), lower, upper)
            });
            let band = PlotShape::Band(band.collect());
            marks.push(PlotMark::new(PlotColour::First, band));
        }
    }
    if let Some(limit) = limit.filter(near) {
        let line = PlotShape::Dashes(vec![(from, scaled.of(limit)), (to, scaled.of(limit))]);
        marks.push(PlotMark::new(PlotColour::Fourth, line));
    }
    let points: Vec<(f64, f64)> = (drawn.iter())
        .map(|check| (place(check.at), scaled.of(check.estimate.point)))
        .collect();
    let dots = (points.len() <= MOST_DOTS).then(|| PlotShape::Points(points.clone()));
    if points.len() > 1 {
        marks.push(PlotMark::new(PlotColour::First, PlotShape::Line(points)));
    }
    marks.extend(dots.map(|dots| PlotMark::new(PlotColour::First, dots)));
    if !full_runs.is_empty() {
        let points = full_runs
            .iter()
            .map(|(at, value)| (place(*at), scaled.of(*value)));
        let points = PlotShape::Points(points.collect());
        marks.push(PlotMark::new(PlotColour::Third, points));
    }
    let said = said(
        quantity,
        &newest,
        limit,
        limit.is_some_and(|limit| !near(&limit)),
    );
    Some(Plot {
        title: charted.title.to_owned(),
        caption: Markup::paragraph(&caption(&said, all.len(), drawn.len())),
        description: described(quantity, &said, &all),
        x,
        y: scaled.axis(),
        lines: PLOT_LINES,
        marks,
    })
}

fn place(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

/// From the first check to the newest, with their dates and some between, and room for these at both ends.
fn days(first: Timestamp, last: Timestamp) -> PlotAxis {
    let length = last.duration_since(first);
    let dates = (0..=STRETCHES).map(|index| {
        let at = first.saturating_add(length / STRETCHES * index);
        at.unwrap_or(last)
    });
    let mut dates: Vec<(f64, String)> = dates.map(|at| (place(at), words::day(at))).collect();
    dates.dedup_by(|later, earlier| later.1 == earlier.1);
    let around = match first == last {
        true => A_DAY / 2.0,
        false => length.as_secs_f64() / 16.0,
    };
    PlotAxis::linear("", place(first) - around, place(last) + around).with_ticks(dates)
}

fn said(
    quantity: Quantity,
    newest: &DrawnCheck,
    limit: Option<f64>,
    is_limit_beyond: bool,
) -> String {
    let day = words::day(newest.at);
    let figure = quantity.with_interval(&newest.estimate);
    let limit = match limit {
        None => "no limit".to_owned(),
        Some(limit) if is_limit_beyond => {
            format!("limit {}, above the chart", quantity.figure(limit))
        }
        Some(limit) => format!("limit {}", quantity.figure(limit)),
    };
    format!("{figure} on {day}; {limit}.")
}

fn caption(said: &str, all: usize, drawn: usize) -> String {
    match drawn < all {
        true => format!(
            "{said} {drawn} of {} are drawn: of each stretch the lowest and the highest.",
            count(all, "check")
        ),
        false => said.to_owned(),
    }
}

/// For those who do not see the chart.
fn described(quantity: Quantity, said: &str, all: &[DrawnCheck]) -> String {
    let by_point = |one: &&DrawnCheck, other: &&DrawnCheck| {
        one.estimate.point.total_cmp(&other.estimate.point)
    };
    let extremes = [all.iter().min_by(by_point), all.iter().max_by(by_point)];
    let [lowest, highest] = extremes.map(|check| {
        check.map_or(String::new(), |check| {
            let figure = quantity.figure(check.estimate.point);
            format!("{figure} on {}", words::day(check.at))
        })
    });
    format!(
        "{} {}: lowest {lowest}, highest {highest}.",
        said,
        count(all.len(), "check")
    )
}

#[cfg(test)]
pub(super) fn drawn(job: &JobFigures, most: usize) -> Vec<(Timestamp, f64)> {
    let known = job.checks.iter().filter_map(|check| {
        let estimate = check.cost?.estimate;
        Some(DrawnCheck {
            at: check.at,
            estimate,
        })
    });
    let drawn = thinned(&known.collect::<Vec<_>>(), most);
    drawn
        .iter()
        .map(|check| (check.at, check.estimate.point))
        .collect()
}
