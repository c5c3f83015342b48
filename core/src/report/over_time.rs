//! What something takes over time: a line of estimates with their intervals, the limit, and what was measured.

use jiff::Timestamp;

use super::plot::{
    self, AxisUnit, PLOT_LINES, Plot, PlotAxis, PlotColour, PlotShape, place_of_time,
};
use super::words::{self, Quantity, count};
use super::{Prose, drift};
use crate::drift::{Check, Drift};
use crate::forecast::Estimate;

/// The most points of the line, so that a page of many jobs stays small.
const MOST_POINTS: usize = 100;
/// More points would hide the line.
const MOST_DOTS: usize = 40;

/// A point of the line.
pub(super) type TimedEstimate = (Timestamp, Estimate);

/// What a plot over time shows.
#[derive(Debug, Clone)]
pub(super) struct OverTime {
    pub(super) title: &'static str,
    pub(super) quantity: Quantity,
    /// Where its axis begins.
    pub(super) from: f64,
    /// Oldest first.
    pub(super) points: Vec<TimedEstimate>,
    pub(super) limit: Option<f64>,
    /// Beside the line.
    pub(super) measured: Vec<(Timestamp, f64)>,
}

/// Whether a number is of use to a reader. A record may come from anybody.
fn is_sound(quantity: Quantity, value: f64) -> bool {
    value.is_finite() && (0.0..=quantity.largest_shown()).contains(&value)
}

impl OverTime {
    /// `None` where no point is above 0.
    pub(super) fn plot(mut self) -> Option<Plot> {
        let quantity = self.quantity;
        (self.points).retain(|(_, estimate)| is_sound(quantity, estimate.point));
        (self.measured).retain(|(_, value)| is_sound(quantity, *value));
        let (newest, last) = *self.points.last()?;
        let drawn = &self.points[self.points.len().saturating_sub(MOST_POINTS)..];
        let measured = self.measured.iter().rev().take(MOST_DOTS);
        let found = drawn.iter().map(|(_, estimate)| estimate.point);
        let found = found.chain(measured.clone().map(|(_, value)| *value));
        let ends = drawn.iter().map(|(_, estimate)| estimate.upper);
        let top = plot::top(found, ends.chain(self.limit));
        let near = |limit: &f64| *limit <= top;
        let unit = AxisUnit::up_to(quantity, top)?;
        let at = |at: &Timestamp, value: f64| (place_of_time(*at), unit.of(value));
        let times = drawn.iter().map(|(at, _)| *at);
        let times = times.chain(measured.clone().map(|(at, _)| *at));
        let x = PlotAxis::times(times.clone().min()?, times.max()?);
        let ends = |(time, estimate): &TimedEstimate| {
            let [lower, upper] = [estimate.lower, estimate.upper].map(|end| unit.of(end));
            (place_of_time(*time), lower, upper)
        };
        let interval = match drawn {
            [only] => {
                let (time, lower, upper) = ends(only);
                PlotShape::Whisker((time, lower), (time, upper))
            }
            several => PlotShape::Band(several.iter().map(ends).collect()),
        };
        let points = drawn.iter().map(|(time, one)| at(time, one.point));
        let points: Vec<_> = points.collect();
        let dots = (points.len() <= MOST_DOTS).then(|| PlotShape::Points(points.clone()));
        let line = (points.len() > 1).then_some(PlotShape::Line(points));
        let limit = self.limit.filter(near).map(|limit| unit.of(limit));
        let limit = limit.map(|limit| PlotShape::Dashes(x.ends().map(|end| (end, limit))));
        let measured = measured.map(|(time, value)| at(time, *value));
        let measured = PlotShape::Points(measured.collect());
        let marks = [
            (PlotColour::Purple, Some(interval)),
            (PlotColour::Green, limit),
            (PlotColour::Purple, line),
            (PlotColour::Purple, dots),
            (PlotColour::Blue, Some(measured)),
        ];
        let marks = marks.into_iter();
        let marks = marks.filter_map(|(colour, shape)| Some((colour, shape?)));
        let figure = quantity.with_interval(&last);
        let limit = match self.limit {
            None => String::new(),
            Some(limit) if near(&limit) => format!("; limit {}", quantity.figure(limit)),
            Some(limit) => format!("; limit {}, above the chart", quantity.figure(limit)),
        };
        let said = format!("{figure} on {}{limit}.", words::day(newest));
        let all = count(self.points.len(), "check");
        Some(Plot {
            title: self.title.to_owned(),
            caption: Prose::literal(match drawn.len() < self.points.len() {
                true => format!("{said} The newest {} of {all} are drawn.", drawn.len()),
                false => said.clone(),
            }),
            finer: Prose::default(),
            description: format!("{said} {all}."),
            x,
            y: unit.axis(self.from),
            lines: PLOT_LINES,
            marks: marks.collect(),
            is_in_comment: false,
        })
    }
}

/// Each check's level in percent of the baseline, and what is allowed. `None` for fewer than two checks.
pub(super) fn checks(drift: &Drift) -> Option<Plot> {
    let level = |check: &Check| (check.at, Estimate::exactly(check.level_percent));
    let points: Vec<TimedEstimate> = drift.checks.iter().map(level).collect();
    let lowest = points.iter().map(|(_, level)| level.point);
    let plot = OverTime {
        title: match drift.change.cost_usd {
            Some(_) => "Cost of a full run, in percent of the baseline",
            None => "Time of a full run, in percent of the baseline",
        },
        quantity: Quantity::Percent,
        from: (lowest.fold(100.0, f64::min) - 10.0).max(0.0),
        limit: Some(100.0 + drift.limit_percent.0),
        measured: Vec::new(),
        points,
    };
    let plot = plot.plot()?;
    let has = |wanted: fn(&PlotShape) -> bool| plot.marks.iter().any(|(_, shape)| wanted(shape));
    if !has(|shape| matches!(shape, PlotShape::Line(_))) {
        return None;
    }
    let since = drift::since(drift).map_or(String::new(), |day| format!(" since {day}"));
    let has_limit = has(|shape| matches!(shape, PlotShape::Dashes(_)));
    let green = words::only_where(has_limit, || {
        let allowed = drift.limit_percent.exact();
        format!("; the green one is {allowed} above the baseline, which is allowed")
    });
    let caption = format!("The purple line is what each check found{since}{green}.");
    Some(Plot {
        caption: Prose::literal(caption),
        is_in_comment: true,
        ..plot
    })
}

#[cfg(test)]
mod tests {
    use super::super::{mermaid, samples};
    use super::*;
    use crate::units::Percent;

    #[test]
    fn hostile_numbers_make_a_plot_or_none() {
        let block = |drift: &Drift| mermaid::block(&checks(drift).unwrap());
        let mut drift = samples::of("drifted").jobs.remove(0).drift.unwrap();
        drift.checks[2].level_percent = f64::NAN;
        drift.checks[3].level_percent = -1e300;
        drift.checks[4].level_percent = 1e300;
        drift.limit_percent = Percent(1e300);
        let drawn = block(&drift);
        let points = "    line [100, 103.1, 124.5, 126]\n```";
        assert!(drawn.contains(points), "{drawn}");
        let check = drift.checks[0].clone();
        drift.checks = vec![check; 10_000];
        let drawn = block(&drift);
        let numbered = "x-axis \"checks, the newest last\" 1 --> 100\n";
        assert!(drawn.contains(numbered), "{drawn}");
        drift.checks.truncate(1);
        assert_eq!(checks(&drift), None);
    }
}
