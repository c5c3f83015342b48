//! A job's budget line by line: as sentences beside the table of a report, and as a table of its own.

use super::comparison::{chance_of, decisive_line, shown_excuse, value_of};
use super::document::{Align, Table};
use super::{JobReport, words};
use crate::spec::Level;
use crate::verdict::{self, BudgetRow, LineVerdict};

/// One sentence for each line of a job's judged configuration that is over, at risk or unknown and that its table row
/// does not already show.
pub(super) fn further_lines(job: &JobReport) -> Vec<String> {
    let Some(forecast) = job.forecasts.first() else {
        return Vec::new();
    };
    let shown = shown_excuse(forecast).or_else(|| decisive_line(forecast));
    forecast
        .budget
        .iter()
        .filter(|row| !shown.is_some_and(|shown| std::ptr::eq(shown, *row)))
        .filter(|row| {
            !matches!(
                row.verdict,
                LineVerdict::Within | LineVerdict::NotApplicable
            )
        })
        .map(|row| {
            let name = row.line.words();
            let limit = words::limit(row.line, row.bound, row.limit);
            let found = match (value_of(row.line, forecast), chance_of(row, forecast)) {
                (Some(value), Some(chance)) => {
                    let figure = words::line_figure(row.line, value, row.limit);
                    format!("{name} is {figure}, wanted {limit} ({chance})")
                }
                _ => format!("{name} is unknown, wanted {limit}"),
            };
            match (row.level, row.excuse()) {
                (Level::Fail, None) => found,
                (Level::Fail, Some(breach)) => format!(
                    "{found}; {}, so it counts as a warning",
                    verdict::words::existing_breach(row.line, row.bound, breach)
                ),
                (Level::Warn, _) => format!("{found}; level warn, so it does not count"),
            }
        })
        .collect()
}

/// The budgets, line by line; of each job what fails the check first.
pub(super) fn table(jobs: &[&JobReport]) -> Option<Table> {
    let rows = jobs.iter().flat_map(|job| {
        let name = if jobs.len() > 1 {
            job.name.clone()
        } else {
            String::new()
        };
        let lines = budget_rows(job).into_iter();
        lines.map(move |line| [&[name.clone()][..], &line].concat())
    });
    let columns = [
        ("Job", Align::Left),
        ("Line", Align::Left),
        ("Limit", Align::Right),
        ("Forecast", Align::Right),
        ("Chance", Align::Right),
        ("Outcome", Align::Left),
    ];
    Table::of_texts(&columns, rows)
}

/// Line, limit, forecast, chance, outcome.
fn budget_rows(job: &JobReport) -> Vec<[String; 5]> {
    let Some(forecast) = job.forecasts.first() else {
        return Vec::new();
    };
    let mut rows: Vec<&BudgetRow> = forecast.budget.iter().collect();
    rows.sort_by_key(|row| (row.counts_as() == Level::Warn, row.verdict));
    rows.into_iter()
        .map(|row| {
            let or_unknown = |text: Option<String>| text.unwrap_or(words::UNKNOWN.to_owned());
            let level = match (row.level, row.counts_as()) {
                (Level::Fail, Level::Fail) => "",
                (Level::Fail, Level::Warn) => " (warns today)",
                (Level::Warn, _) => " (warn only)",
            };
            [
                format!("{}{level}", row.line.words()),
                words::limit(row.line, row.bound, row.limit),
                or_unknown(
                    value_of(row.line, forecast)
                        .map(|value| words::line_figure(row.line, value, row.limit)),
                ),
                or_unknown(chance_of(row, forecast)),
                words::line_outcome(row.verdict).to_owned(),
            ]
        })
        .collect()
}
