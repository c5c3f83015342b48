//! An axis: its range, and where it has names.

use crate::units::count_as_float;

/// One axis of a plot. Its range is finite and never empty, whatever it was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotAxis {
    /// What it counts, with its unit.
    pub title: String,
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
}

impl PlotAxis {
    /// From one value to another, with names at round values.
    pub fn linear(title: impl Into<String>, from: f64, to: f64) -> Self {
        let (from, to) = range(from, to);
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
        }
    }

    /// One place for each name, from 0 on; the first is at the end of the axis, which is the top of an upright one.
    pub fn names(title: impl Into<String>, names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().enumerate();
        let ticks: Vec<(f64, String)> = names
            .map(|(index, name)| (-count_as_float(index), name))
            .collect();
        let last = ticks.last().map_or(0.0, |(place, _)| *place);
        Self {
            title: title.into(),
            from: last - 0.6,
            to: 0.6,
            ticks,
        }
    }

    /// The place of a name, counted from 0.
    pub fn place_of_name(index: usize) -> f64 {
        -count_as_float(index)
    }

    /// Names in place of the round values.
    #[must_use]
    pub fn with_ticks(self, ticks: Vec<(f64, String)>) -> Self {
        Self { ticks, ..self }
    }

    pub fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    pub(super) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
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

/// A stored report may come from anybody.
fn range(from: f64, to: f64) -> (f64, f64) {
    match from.is_finite() && to.is_finite() && (to - from).is_finite() && from < to {
        true => (from, to),
        false => (0.0, 1.0),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_has_round_names() {
        let names = |from, to| {
            let axis = PlotAxis::linear("hours", from, to);
            let names = axis.ticks().iter().map(|(_, name)| name.as_str());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(0.0, 100.0), "0 20 40 60 80 100");
        assert_eq!(names(0.0, 9.0), "0 2 4 6 8");
        assert_eq!(names(0.0, 0.7), "0 0.2 0.4 0.6");
        assert_eq!(names(90.0, 140.0), "90 100 110 120 130 140");
        assert_eq!(names(0.0, 5e9), "0 1e9 2e9 3e9 4e9 5e9");
        assert_eq!(names(-3.0, 2.0), "-3 -2 -1 0 1 2");
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
            assert!(axis.ticks().len() >= 2, "{from} {to}: {axis:?}");
            for value in [from, to, 0.0, f64::NAN, f64::INFINITY, -1e300] {
                let place = axis.place(value);
                assert!((0.0..=1.0).contains(&place), "{value} at {place}");
            }
        }
    }
}
