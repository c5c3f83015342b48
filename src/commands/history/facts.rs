//! A record in a few words. The text is hostile: the caller escapes it.

use crate::history::{Command, Content, Entry, Record};
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::report::words::{self, Quantity, UNKNOWN};

/// Hex digits of a commit id that are shown.
const SHORT_COMMIT: usize = 7;

pub(super) const COLUMNS: [&str; 10] = [
    "When (UTC)",
    "Job",
    "Where",
    "Branch",
    "What",
    "Commit",
    "Time",
    "Cost",
    "Verdict",
    "Id",
];

/// What a record has in each of the columns.
pub(super) fn row(entry: &Entry, record: &Record) -> [String; COLUMNS.len()] {
    let [time, cost] = time_and_cost(record);
    let or_unknown = |text: Option<&str>| text.unwrap_or(UNKNOWN).to_owned();
    let commit = or_unknown(record.commit.as_deref());
    [
        entry.recorded_at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        entry.job.clone(),
        entry.scope.to_string(),
        or_unknown(record.writer.branch.as_deref()),
        what(record),
        format!("{commit:.SHORT_COMMIT$}"),
        time,
        cost,
        ended(record).to_owned(),
        entry.id.clone(),
    ]
}

/// `canary 5%`, `forecast, baseline`, `check for drift, drifted`; `check for drift, drifted, accepted` of what a person made the
/// baseline.
fn what(record: &Record) -> String {
    let forecast = match &record.content {
        Content::Canary { measurement, .. } => return format!("canary {}", measurement.fraction),
        Content::FullRun { .. } => return "full run".to_owned(),
        Content::Forecast(forecast) => forecast,
    };
    let (is_check, name) = match record.writer.command {
        Command::Run | Command::Actuals => (false, "forecast"),
        Command::Drift => (true, "check for drift"),
    };
    let drifted = match forecast.drifted {
        Some(true) => ", drifted",
        Some(false) | None => "",
    };
    let standing = match forecast.is_baseline {
        // The first check of a job is a baseline and cannot have drifted.
        true if is_check && forecast.drifted.is_some() => ", accepted",
        true => ", baseline",
        false => "",
    };
    format!("{name}{drifted}{standing}")
}

/// Time and cost; for a forecast with intervals.
fn time_and_cost(record: &Record) -> [String; 2] {
    let run = run_of(record);
    let row = record.forecast().and_then(|found| found.forecasts.first());
    let shown = |quantity: Quantity, measured: Option<f64>, metric: Metric| {
        let measured = measured.map(|amount| quantity.figure(amount));
        let forecast = || Some(quantity.with_interval(&row?.estimates[metric]?));
        let known = measured.or_else(forecast);
        known.unwrap_or_else(|| UNKNOWN.to_owned())
    };
    let time = run.and_then(|run| Some(run.time()?.0));
    let cost = run.and_then(|run| Some(run.cost?.0));
    [
        shown(Quantity::Time, time, Metric::Time),
        shown(Quantity::Money, cost, Metric::Cost),
    ]
}

/// A forecast's verdict, or a run's outcome.
fn ended(record: &Record) -> &'static str {
    match &record.content {
        Content::Canary { measurement, .. } if measurement.ended_early => "ended early",
        Content::Canary { measurement, .. } | Content::FullRun { measurement } => {
            measurement.outcome.words()
        }
        Content::Forecast(forecast) => words::phrase(forecast.verdict),
    }
}

/// The canary or the full run; `None` of a forecast.
pub(super) fn run_of(record: &Record) -> Option<&Measurement> {
    match &record.content {
        Content::Canary { measurement, .. } | Content::FullRun { measurement } => Some(measurement),
        Content::Forecast(_) => None,
    }
}
