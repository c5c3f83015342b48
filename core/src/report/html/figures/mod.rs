//! The plots of a report, a file each: what a page shows beside the tables.

mod candidates;
mod law;
mod memory;
mod phases;

pub(super) use candidates::time_against_cost;
pub(super) use law::laws;
pub(super) use memory::memory;
pub(super) use phases::phases;

use super::super::words::Quantity;
use super::super::{InstanceForecast, JobReport};
use crate::forecast::Estimate;

/// Rows of a plot of bars; of more configurations the tables have the rest.
const MOST_ROWS: usize = 16;

/// An end of an interval that is further off would press all others flat.
const FURTHEST_END: f64 = 4.0;

/// The upper end as far as it is drawn.
fn shown_upper(estimate: &Estimate) -> f64 {
    estimate.upper.min(FURTHEST_END * estimate.point)
}

/// The largest finite value, with a little room above; `None` where none is above 0.
fn top(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    let largest = finite.fold(0.0, f64::max);
    (largest > 0.0 && (largest * 1.05).is_finite()).then_some(largest * 1.05)
}

/// `ml.m5.2xlarge: 5h 42m (5h 05m–6h 31m)`, one after another.
fn in_words<'a>(
    unit: Quantity,
    rows: impl IntoIterator<Item = (&'a InstanceForecast, Estimate)>,
) -> String {
    let row = |(forecast, estimate): (&InstanceForecast, Estimate)| {
        format!("{}: {}", forecast.instance, unit.with_interval(&estimate))
    };
    let rows: Vec<String> = rows.into_iter().map(row).collect();
    rows.join("; ")
}

/// What the rest of the configurations is called, where not all are drawn.
fn left_out(drawn: usize, all: usize) -> Option<String> {
    (all > drawn).then(|| {
        format!("The first {drawn} of {all} configurations are drawn; the tables have all.")
    })
}

/// The configurations with a value, at most so many as are drawn, and how many there are.
fn known<T>(
    job: &JobReport,
    value: impl Fn(&InstanceForecast) -> Option<T>,
) -> (Vec<(&InstanceForecast, T)>, usize) {
    let all = job.forecasts.iter();
    let mut all: Vec<_> = all
        .filter_map(|forecast| Some((forecast, value(forecast)?)))
        .collect();
    let count = all.len();
    all.truncate(MOST_ROWS);
    (all, count)
}
