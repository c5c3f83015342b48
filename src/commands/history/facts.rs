//! A record in a few words. The text is hostile: the caller escapes it.

use crate::forecast::Estimate;
use crate::history::Entry;
use crate::history::record::{Command, Content, Event, Record};
use crate::metric::Metric;
use crate::report::words::{self, Quantity, UNKNOWN};

/// Hex digits of a commit id that are shown.
const SHORT_COMMIT: usize = 7;

/// `canary 5%`, `forecast, baseline`, `check for drift, drifted`; `check for drift, drifted, accepted` of what a person made the
/// baseline.
pub(super) fn what(record: &Record) -> String {
    let forecast = match &record.content {
        Content::Canary { measurement, .. } => return format!("canary {}", measurement.fraction),
        Content::FullRun { .. } => return "full run".to_owned(),
        Content::Forecast(forecast) => forecast,
    };
    let mut what = match record.writer.command {
        Command::Run | Command::Actuals => "forecast",
        Command::Drift => "check for drift",
    }
    .to_owned();
    if forecast.drifted == Some(true) {
        what.push_str(", drifted");
    }
    if forecast.is_baseline {
        // The first check of a job is a baseline and cannot have drifted.
        let is_accepted = record.writer.command == Command::Drift && forecast.drifted.is_some();
        what.push_str(if is_accepted {
            ", accepted"
        } else {
            ", baseline"
        });
    }
    what
}

/// Time and cost; for a forecast with intervals.
pub(super) fn time_and_cost(record: &Record) -> [String; 2] {
    let figures = |time: Option<String>, cost: Option<String>| {
        [time, cost].map(|figure| figure.unwrap_or_else(|| UNKNOWN.to_owned()))
    };
    match &record.content {
        Content::Canary { measurement, .. } | Content::FullRun { measurement } => figures(
            measurement.time().map(|time| Quantity::Time.figure(time.0)),
            measurement.cost.map(|cost| Quantity::Money.figure(cost.0)),
        ),
        Content::Forecast(forecast) => {
            let estimates = forecast.forecasts.first().map(|first| &first.estimates);
            let shown = |quantity: Quantity, estimate: Option<Estimate>| {
                estimate.map(|estimate| quantity.with_interval(&estimate))
            };
            figures(
                shown(Quantity::Time, estimates.and_then(|all| all[Metric::Time])),
                shown(Quantity::Money, estimates.and_then(|all| all[Metric::Cost])),
            )
        }
    }
}

/// A forecast's verdict, or a run's outcome.
pub(super) fn ended(record: &Record) -> &'static str {
    match &record.content {
        Content::Canary { measurement, .. } | Content::FullRun { measurement } => {
            measurement.outcome.words()
        }
        Content::Forecast(forecast) => words::phrase(forecast.verdict),
    }
}

/// `3f9c2e1`.
pub(super) fn short_commit(record: &Record) -> String {
    let commit = record.commit.as_deref().unwrap_or(UNKNOWN);
    commit.chars().take(SHORT_COMMIT).collect()
}

/// To the second, UTC.
pub(super) fn when(entry: &Entry) -> String {
    entry.recorded_at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The event behind a record: `a push on main`, `pull request 12`.
pub(super) fn writer(record: &Record) -> String {
    let writer = &record.writer;
    let on = |what: &str| match &writer.branch {
        Some(branch) => format!("{what} on {branch}"),
        None => what.to_owned(),
    };
    match (writer.event, writer.pull_request) {
        (_, Some(number)) => format!("pull request {number}"),
        (Event::PullRequest, None) => on("a pull request"),
        (Event::Push, None) => on("a push"),
        (Event::Schedule, None) => on("a schedule"),
        (Event::MergeGroup, None) => on("a merge queue"),
        (Event::Dispatch, None) => on("a workflow that was started by hand"),
        (Event::Local, None) => on("a run outside of GitHub Actions"),
    }
}
