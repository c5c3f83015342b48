//! A **plot** as a value: lines, points and intervals over two axes. A page draws all of it, a comment its line and its limit.

use jiff::Timestamp;

use super::text::Prose;
use super::words::{self, Quantity};
use crate::units::{Seconds, count_as_float};

/// An end of an interval, or a limit, that is so many times the highest point is beyond the plot.
const FURTHEST: f64 = 4.0;
/// Between dates of an axis.
const STRETCHES: i32 = 3;

/// A drawing with its caption.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plot {
    /// The quantity that it shows, and of what.
    pub(super) title: String,
    /// A sentence above the plot that says what a reader is to see in it.
    pub(super) caption: Prose,
    /// A sentence on what a page draws and a comment does not.
    pub(super) finer: Prose,
    /// The content in numbers, for those who do not see the plot.
    pub(super) description: String,
    pub(super) x: PlotAxis,
    pub(super) y: PlotAxis,
    /// The height in text lines: [`PLOT_LINES`], or for intervals one line each.
    pub(super) lines: u16,
    /// The shapes in the order of drawing: the first lies below all others.
    pub(super) marks: Vec<(PlotColour, PlotShape)>,
    /// Whether a comment draws it too.
    pub(super) is_in_comment: bool,
}

/// The height of a plot over two axes of numbers.
pub(super) const PLOT_LINES: u16 = 18;

/// A shape, in values of the axes. A point beyond an axis stands at its end.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlotShape {
    Line(Vec<(f64, f64)>),
    /// A limit.
    Dashes([(f64, f64); 2]),
    /// The area between two lines, each point given by its place, the lower and the upper end.
    Band(Vec<(f64, f64, f64)>),
    Points(Vec<(f64, f64)>),
    /// An interval, with its ends.
    Whisker((f64, f64), (f64, f64)),
}

/// A colour of a shape; the page's palette has a light and a dark tone of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlotColour {
    Purple,
    Green,
    Blue,
    Orange,
}

/// The end of an axis that shows these points, and of further ends and limits, one after the other, those that do not press all before
/// them flat; 0 where no point is finite and above 0.
pub(super) fn top(
    points: impl IntoIterator<Item = f64>,
    further: impl IntoIterator<Item = f64>,
) -> f64 {
    let finite = points.into_iter().filter(|point| point.is_finite());
    let highest = finite.fold(0.0, f64::max);
    further.into_iter().fold(highest, |top, value| {
        let is_near = value <= FURTHEST * top;
        if is_near { top.max(value) } else { top }
    })
}

/// One axis of a plot. Its range is finite and never empty, whatever it was made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlotAxis {
    /// The quantity that it counts, with the unit.
    pub(super) title: String,
    from: f64,
    to: f64,
    pub(super) ticks: Vec<(f64, String)>,
    /// Whether its values are seconds since 1970.
    pub(super) is_time: bool,
}

impl PlotAxis {
    /// An axis from one value to another, with names at round values. It is 0-1 where these are no range: a stored report may come from
    /// anybody.
    pub(super) fn linear(title: impl Into<String>, from: f64, to: f64) -> Self {
        let is_range = from < to && (to - from).is_finite();
        let (from, to) = if is_range { (from, to) } else { (0.0, 1.0) };
        let step = round_step((to - from) / 5.0);
        let first = (from / step - 1e-9).ceil() * step;
        let places = (0_u8..12)
            .map(|index| first + f64::from(index) * step)
            .take_while(|place| *place <= to + step * 1e-9);
        let ticks = places.map(|place| (place, number(place, step))).collect();
        Self {
            title: title.into(),
            from,
            to,
            ticks,
            is_time: false,
        }
    }

    /// An axis with a place for each name. The first name is at its end, which is the top of an upright axis.
    pub(super) fn names(names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().enumerate();
        let ticks = names.map(|(index, name)| (Self::place_of_name(index), name));
        let ticks: Vec<(f64, String)> = ticks.collect();
        let last = ticks.last().map_or(0.0, |(place, _)| *place);
        Self {
            ticks,
            ..Self::linear("", last - 0.6, 0.6)
        }
    }

    /// The place of the name with this index: 0, then -1, and so on.
    pub(super) fn place_of_name(index: usize) -> f64 {
        -count_as_float(index)
    }

    /// An axis from the first time to the last, with their dates and some between, and room for these dates at both ends.
    pub(super) fn times(first: Timestamp, last: Timestamp) -> Self {
        let length = last.duration_since(first);
        let dates = (0..=STRETCHES).map(|index| {
            let at = first.saturating_add(length / STRETCHES * index);
            let at = at.unwrap_or(last);
            (place_of_time(at), words::day(at))
        });
        let mut ticks: Vec<(f64, String)> = dates.collect();
        ticks.dedup_by(|later, earlier| later.1 == earlier.1);
        let around = match first == last {
            true => Seconds::A_DAY / 2.0,
            false => length.as_secs_f64() / 16.0,
        };
        let (from, to) = (place_of_time(first) - around, place_of_time(last) + around);
        Self {
            ticks,
            is_time: true,
            ..Self::linear("", from, to)
        }
    }

    pub(super) fn ends(&self) -> [f64; 2] {
        [self.from, self.to]
    }

    /// Where a value stands, 0-1; beyond the ends it is that end.
    pub(super) fn place(&self, value: f64) -> f64 {
        if value.is_nan() {
            return 0.0;
        }
        let value = value.clamp(self.from, self.to);
        (value - self.from) / (self.to - self.from)
    }
}

pub(super) fn place_of_time(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

/// 1, 2 or 5 times a power of ten, at least as large.
fn round_step(least: f64) -> f64 {
    let unit = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|multiple| multiple * unit);
    let fits = |step: &&f64| **step >= least * (1.0 - 1e-9);
    steps.iter().find(fits).copied().unwrap_or(10.0 * unit)
}

/// The value with as many digits as the step needs; large and tiny ones by their power.
fn number(value: f64, step: f64) -> String {
    if value.abs() < step * 1e-6 {
        return "0".to_owned();
    }
    if !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let digits = (0..6_usize).find(|digits| {
        let shift = 10_f64.powi(i32::try_from(*digits).unwrap_or(0));
        ((step * shift).round() - step * shift).abs() < 1e-6 * step * shift
    });
    format!("{value:.*}", digits.unwrap_or(6))
}

/// A unit that suits the top of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AxisUnit {
    name: &'static str,
    divisor: f64,
    top: f64,
}

impl AxisUnit {
    /// The unit for values up to `top`; of time the largest unit of which `top` has two or more. `None` unless `top` is above 0.
    pub(super) fn up_to(quantity: Quantity, top: f64) -> Option<Self> {
        const TIMES: [(&str, f64); 4] = [
            ("days", 86_400.0),
            ("hours", 3600.0),
            ("minutes", 60.0),
            ("seconds", 1.0),
        ];
        let (name, divisor) = match quantity {
            Quantity::Time => {
                let mut units = TIMES.into_iter();
                let unit = units.find(|(_, seconds)| top >= 2.0 * seconds);
                unit.unwrap_or(("milliseconds", 0.001))
            }
            Quantity::Money => ("USD", 1.0),
            _ => ("%", 1.0),
        };
        let is_sound = top > 0.0 && (top * 2.0).is_finite();
        is_sound.then_some(Self { name, divisor, top })
    }

    pub(super) fn of(&self, value: f64) -> f64 {
        value / self.divisor
    }

    /// The axis from `from` to the top, with a little room above.
    pub(super) fn axis(&self, from: f64) -> PlotAxis {
        PlotAxis::linear(self.name, self.of(from), self.of(self.top * 1.05))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_has_round_names() {
        for (from, to, names) in [
            (0.0, 100.0, "0 20 40 60 80 100"),
            (0.0, 9.0, "0 2 4 6 8"),
            (0.0, 0.7, "0 0.2 0.4 0.6"),
            (90.0, 140.0, "90 100 110 120 130 140"),
            (0.0, 5e9, "0 1e9 2e9 3e9 4e9 5e9"),
            (-3.0, 2.0, "-3 -2 -1 0 1 2"),
        ] {
            let axis = PlotAxis::linear("hours", from, to);
            let found: Vec<&str> = axis.ticks.iter().map(|(_, name)| name.as_str()).collect();
            assert_eq!(found.join(" "), names);
        }
    }

    #[test]
    fn an_axis_of_nothing_or_of_hostile_numbers_is_an_axis() {
        for (from, to) in [
            (0.0, 0.0),
            (f64::NAN, 1.0),
            (0.0, f64::INFINITY),
            (-f64::MAX, f64::MAX),
            (5.0, 1.0),
            (-1.0, 0.0),
        ] {
            let axis = PlotAxis::linear("", from, to);
            assert!(axis.ticks.len() >= 2, "{from} {to}: {axis:?}");
            for value in [from, to, 0.0, f64::NAN, f64::INFINITY, -1e300] {
                let place = axis.place(value);
                assert!((0.0..=1.0).contains(&place), "{value} at {place}");
            }
        }
    }

    #[test]
    fn an_axis_of_time_names_its_ends() {
        let first: Timestamp = "2026-01-05T04:17:00Z".parse().unwrap();
        let days = |weeks: i64| {
            let last = first + jiff::SignedDuration::from_hours(7 * 24 * weeks);
            let axis = PlotAxis::times(first, last);
            let days = axis.ticks.iter().map(|(_, day)| day.as_str());
            days.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(days(39), "2026-01-05 2026-04-06 2026-07-06 2026-10-05");
        assert_eq!(days(0), "2026-01-05");
    }

    #[test]
    fn each_time_has_its_unit() {
        for (seconds, unit) in [
            (0.5, "milliseconds"),
            (58.0, "seconds"),
            (600.0, "minutes"),
            (20_520.0, "hours"),
            (1_000_000.0, "days"),
        ] {
            let found = AxisUnit::up_to(Quantity::Time, seconds).unwrap();
            assert_eq!(found.name, unit);
        }
        for top in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX] {
            assert_eq!(AxisUnit::up_to(Quantity::Time, top), None, "{top}");
        }
    }
}
