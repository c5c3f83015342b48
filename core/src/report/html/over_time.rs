//! What something takes over time: a line of estimates with their intervals, the limit, and what was measured.

use jiff::Timestamp;

use super::plot::{AxisUnit, PLOT_LINES, Plot, PlotAxis, PlotColour, PlotMark, PlotShape};
use crate::forecast::Estimate;
use crate::report::words::{self, Quantity, count};
use crate::units::Seconds;

/// More points would hide the line.
const MOST_DOTS: usize = 40;
/// An end of an interval, or a limit, that is so many times the highest point is beyond the plot.
const BEYOND: f64 = 2.5;
/// Between dates of an axis.
const STRETCHES: i32 = 3;

/// A point of the line.
pub(super) type TimedEstimate = (Timestamp, Estimate);

/// What a plot over time shows.
#[derive(Debug, Clone)]
pub(super) struct OverTime {
    pub(super) title: &'static str,
    /// What a point is of.
    pub(super) noun: &'static str,
    pub(super) quantity: Quantity,
    /// Where its axis begins.
    pub(super) from: f64,
    /// Oldest first.
    pub(super) points: Vec<TimedEstimate>,
    pub(super) limit: Option<f64>,
    /// Beside the line.
    pub(super) measured: Vec<(Timestamp, f64)>,
    /// The most points that are drawn.
    pub(super) most: usize,
}

/// Whether a number is of use to a reader. A record may come from anybody.
fn is_sound(quantity: Quantity, value: f64) -> bool {
    value.is_finite() && (0.0..=quantity.largest_shown()).contains(&value)
}

/// At most so many points, in their order: of each stretch the lowest and the highest, and the newest of all.
pub(super) fn thinned(points: &[TimedEstimate], most: usize) -> Vec<TimedEstimate> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretches = (most.saturating_sub(1) / 2).max(1);
    let length = points.len().div_ceil(stretches);
    let mut kept = Vec::new();
    for stretch in points.chunks(length) {
        let mut ends: Vec<&TimedEstimate> = by_point(stretch).into_iter().flatten().collect();
        ends.sort_by_key(|(at, _)| *at);
        kept.extend(ends);
    }
    kept.extend(points.last().copied());
    kept.dedup();
    kept
}

/// The lowest and the highest.
fn by_point(points: &[TimedEstimate]) -> [Option<&TimedEstimate>; 2] {
    let order =
        |(_, one): &&TimedEstimate, (_, other): &&TimedEstimate| one.point.total_cmp(&other.point);
    [points.iter().min_by(order), points.iter().max_by(order)]
}

impl OverTime {
    /// `None` where no point is above 0.
    pub(super) fn plot(mut self) -> Option<Plot> {
        let quantity = self.quantity;
        (self.points).retain(|(_, estimate)| is_sound(quantity, estimate.point));
        (self.measured).retain(|(_, value)| is_sound(quantity, *value));
        let (newest, last) = *self.points.last()?;
        let drawn = thinned(&self.points, self.most);
        let measured = self.measured.iter().rev().take(MOST_DOTS);
        let highest = (drawn.iter().map(|(_, estimate)| estimate.point))
            .chain(measured.clone().map(|(_, value)| *value))
            .fold(0.0, f64::max);
        let near = |value: &f64| is_sound(quantity, *value) && *value <= highest * BEYOND;
        let uppers = drawn.iter().map(|(_, estimate)| estimate.upper);
        let top = uppers
            .chain(self.limit)
            .filter(near)
            .fold(highest, f64::max);
        let unit = AxisUnit::up_to(quantity, top)?;
        let at = |at: &Timestamp, value: f64| (place(*at), unit.of(value));
        let times = drawn.iter().map(|(at, _)| *at);
        let times = times.chain(measured.clone().map(|(at, _)| *at));
        let x = days(times.clone().min()?, times.max()?);
        let ends = |(time, estimate): &TimedEstimate| {
            let or_point = |end: f64| if end.is_nan() { estimate.point } else { end };
            let [lower, upper] = [estimate.lower, estimate.upper].map(or_point);
            (place(*time), unit.of(lower.max(0.0)), unit.of(upper))
        };
        let interval = match drawn.as_slice() {
            [only] => {
                let (time, lower, upper) = ends(only);
                PlotShape::Whisker((time, lower), (time, upper))
            }
            several => PlotShape::Band(several.iter().map(ends).collect()),
        };
        let points: Vec<_> = (drawn.iter())
            .map(|(time, estimate)| at(time, estimate.point))
            .collect();
        let dots = (points.len() <= MOST_DOTS).then(|| PlotShape::Points(points.clone()));
        let line = (points.len() > 1).then_some(PlotShape::Line(points));
        let limit = self.limit.filter(near).map(|limit| {
            let ends = [x.ends().0, x.ends().1];
            PlotShape::Dashes(ends.map(|end| (end, unit.of(limit))).to_vec())
        });
        let measured = measured.map(|(time, value)| at(time, *value));
        let marks = [
            (PlotColour::First, Some(interval)),
            (PlotColour::Fourth, limit),
            (PlotColour::First, line),
            (PlotColour::First, dots),
            (
                PlotColour::Third,
                Some(PlotShape::Points(measured.collect())),
            ),
        ];
        let marks = marks.into_iter();
        let figure = quantity.with_interval(&last);
        let limit = match self.limit {
            None => String::new(),
            Some(limit) if near(&limit) => format!("; limit {}", quantity.figure(limit)),
            Some(limit) => format!("; limit {}, above the chart", quantity.figure(limit)),
        };
        let said = format!("{figure} on {}{limit}.", words::day(newest));
        let all = count(self.points.len(), self.noun);
        let [lowest, highest] = by_point(&self.points).map(|point| {
            point.map_or(String::new(), |(time, estimate)| {
                format!(
                    "{} on {}",
                    quantity.figure(estimate.point),
                    words::day(*time)
                )
            })
        });
        Some(Plot {
            title: self.title.to_owned(),
            caption: match drawn.len() < self.points.len() {
                true => format!(
                    "{said} {} of {all} are drawn: of each stretch the lowest and the highest.",
                    drawn.len()
                ),
                false => said.clone(),
            },
            description: format!("{said} {all}: lowest {lowest}, highest {highest}."),
            x,
            y: unit.axis(self.from),
            lines: PLOT_LINES,
            marks: marks
                .filter_map(|(colour, shape)| Some(PlotMark::new(colour, shape?)))
                .collect(),
        })
    }
}

fn place(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

/// From the first to the last, with their dates and some between, and room for these at both ends.
fn days(first: Timestamp, last: Timestamp) -> PlotAxis {
    let length = last.duration_since(first);
    let dates = (0..=STRETCHES).map(|index| {
        let at = first.saturating_add(length / STRETCHES * index);
        at.unwrap_or(last)
    });
    let mut dates: Vec<(f64, String)> = dates.map(|at| (place(at), words::day(at))).collect();
    dates.dedup_by(|later, earlier| later.1 == earlier.1);
    let around = match first == last {
        true => Seconds::A_DAY / 2.0,
        false => length.as_secs_f64() / 16.0,
    };
    PlotAxis::linear("", place(first) - around, place(last) + around).with_ticks(dates)
}
