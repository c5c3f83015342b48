//! An axis: its range, how values are spread over it, and where it has names.

use std::iter;

use crate::units::count_as_float;

/// More names would run into each other.
const MOST_TICKS: usize = 6;

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotScale {
    Linear,
    /// Both ends are above 0.
    Logarithmic,
}

/// One axis of a plot. Its range is finite and never empty, whatever it was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotAxis {
    /// What it counts, with its unit.
    pub title: String,
    from: f64,
    to: f64,
    scale: PlotScale,
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
            scale: PlotScale::Linear,
            ticks,
        }
    }

    /// The same with each power of ten as far from the next; values that are not above 0 stand at the end.
    pub fn logarithmic(title: impl Into<String>, from: f64, to: f64) -> Self {
        let (from, to) = match from.is_finite() && from > 0.0 && to.is_finite() && from < to {
            true => (from, to),
            false => (1.0, 10.0),
        };
        let decades = |multiples: &[f64]| {
            let last = to.log10().ceil();
            let powers = iter::successors(Some(from.log10().floor()), |power| Some(power + 1.0));
            let places = powers
                .take_while(|power| *power <= last)
                .flat_map(|power| multiples.iter().map(move |one| one * 10_f64.powf(power)));
            let within = |place: &f64| *place >= from * 0.999 && *place <= to * 1.001;
            places.filter(within).collect::<Vec<f64>>()
        };
        let candidates = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].map(decades);
        let [.., powers] = &candidates;
        let places = candidates.iter().find(|places| places.len() <= MOST_TICKS);
        let places = places.cloned().unwrap_or_else(|| {
            let every = powers.len().div_ceil(MOST_TICKS);
            powers.iter().copied().step_by(every).collect()
        });
        let ticks = places
            .into_iter()
            .map(|place| (place, number(place, place)));
        Self {
            title: title.into(),
            from,
            to,
            scale: PlotScale::Logarithmic,
            ticks: ticks.collect(),
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
            scale: PlotScale::Linear,
            ticks,
        }
    }

    /// The place of a name, counted from 0.
    pub fn place_of_name(index: usize) -> f64 {
        -count_as_float(index)
    }

    /// Names in place of the round values.
    #[must_use]
    pub fn with_ticks(mut self, ticks: impl IntoIterator<Item = (f64, String)>) -> Self {
        self.ticks = ticks.into_iter().collect();
        self
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
        match self.scale {
            PlotScale::Linear => (value - self.from) / (self.to - self.from),
            PlotScale::Logarithmic => (value / self.from).ln() / (self.to / self.from).ln(),
        }
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

    fn ticks(axis: &PlotAxis) -> Vec<&str> {
        axis.ticks().iter().map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn a_linear_axis_has_round_names() {
        let names = |from, to| {
            let axis = PlotAxis::linear("hours", from, to);
            ticks(&axis).join(" ")
        };
        assert_eq!(names(0.0, 100.0), "0 20 40 60 80 100");
        assert_eq!(names(0.0, 9.0), "0 2 4 6 8");
        assert_eq!(names(0.0, 0.7), "0.0 0.2 0.4 0.6".replace("0.0", "0"));
        assert_eq!(names(90.0, 140.0), "90 100 110 120 130 140");
        assert_eq!(names(0.0, 5e9), "0 1e9 2e9 3e9 4e9 5e9");
        assert_eq!(names(-3.0, 2.0), "-3 -2 -1 0 1 2");
    }

    #[test]
    fn a_logarithmic_axis_names_powers_of_ten_and_round_values_between() {
        let names = |from, to| {
            let axis = PlotAxis::logarithmic("share", from, to);
            ticks(&axis).join(" ")
        };
        assert_eq!(names(1.0, 100.0), "1 3 10 30 100");
        assert_eq!(names(10.0, 100.0), "10 20 50 100");
        assert_eq!(names(0.01, 100.0), "0.01 0.1 1 10 100");
        assert_eq!(names(1e-12, 1e3), "1e-12 1e-9 1e-6 0.001 1 1000");
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
            for axis in [
                PlotAxis::linear("", from, to),
                PlotAxis::logarithmic("", from, to),
            ] {
                assert!(axis.ticks().len() >= 2, "{from} {to}: {axis:?}");
                for value in [from, to, 0.0, f64::NAN, f64::INFINITY, -1e300] {
                    let place = axis.place(value);
                    assert!((0.0..=1.0).contains(&place), "{value} at {place}");
                }
            }
        }
    }

    #[test]
    fn names_stand_from_the_top_down() {
        let axis = PlotAxis::names("", ["a".to_owned(), "b".to_owned()]);
        assert_eq!(ticks(&axis), ["a", "b"]);
        assert!(axis.place(PlotAxis::place_of_name(0)) > axis.place(PlotAxis::place_of_name(1)));
    }
}
