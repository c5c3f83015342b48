//! The change against the base in numbers, and what it is made of.

use super::document::{Align, Grid};
use super::drift::cause_name;
use super::words::{self, Quantity};
use super::{Delta, JobReport};
use crate::drift::CauseShare;
use crate::forecast::Estimate;

/// A row for each quantity that was compared; empty without a base.
pub(super) fn amounts(job: &JobReport) -> Grid {
    let delta = delta(job).cloned().unwrap_or_default();
    let rows = [
        ("cost", Quantity::Money, delta.cost_usd, delta.cost_percent),
        (
            "time",
            Quantity::Time,
            delta.time_seconds,
            delta.time_percent,
        ),
        (
            "time of the same work on the same data",
            Quantity::Percent,
            None,
            delta.rate_percent,
        ),
    ];
    let rows = rows
        .into_iter()
        .filter(|(_, _, change, percent)| change.is_some() || percent.is_some());
    let said = |unit, change: Option<Estimate>| {
        change.map_or(String::new(), |change| signed(unit, &change))
    };
    let rows = rows.map(|(name, unit, change, percent)| {
        let percent = said(Quantity::Percent, percent);
        vec![name.to_owned(), said(unit, change), percent]
    });
    Grid {
        columns: vec![
            ("Full run", Align::Left),
            ("Change", Align::Right),
            ("In percent of the base", Align::Right),
        ],
        rows: rows.collect(),
    }
    .without_empty_columns()
}

/// A row for each known cause. Empty where the base trains on another configuration: there price and rate changed in nothing.
pub(super) fn causes(job: &JobReport) -> Grid {
    let baseline = job.baseline.as_ref();
    let is_comparable = baseline.is_some_and(|baseline| baseline.instance.is_none());
    let delta = delta(job).filter(|_| is_comparable);
    let shares = delta.map_or(&[][..], |delta| &delta.causes);
    let row = |share: &CauseShare| {
        let usd = share.usd;
        let usd = usd.map_or(String::new(), |usd| words::signed(Quantity::Money, usd));
        vec![
            cause_name(share.cause).to_owned(),
            words::signed(Quantity::Time, share.seconds),
            usd,
        ]
    };
    Grid {
        columns: vec![
            ("Cause", Align::Left),
            ("Time", Align::Right),
            ("Cost", Align::Right),
        ],
        rows: shares.iter().map(row).collect(),
    }
    .without_empty_columns()
}

fn delta(job: &JobReport) -> Option<&Delta> {
    job.baseline.as_ref()?;
    Some(&job.forecasts.first()?.delta)
}

/// `+13 USD (9.0–17)`
fn signed(unit: Quantity, change: &Estimate) -> String {
    let point = words::signed(unit, change.point);
    match unit.interval(change) {
        Some(interval) => format!("{point} ({interval})"),
        None => point,
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn amounts_have_their_interval_and_causes_their_part() {
        let job = samples::of("increased").jobs.remove(0);
        insta::assert_debug_snapshot!((amounts(&job).rows, causes(&job).rows));
    }

    #[test]
    fn without_a_base_there_is_no_table() {
        let mut job = samples::of("increased").jobs.remove(0);
        job.baseline = None;
        assert_eq!(amounts(&job).table(), None);
        assert_eq!(causes(&job).table(), None);
    }
}
