//! A budget line beside its forecast; and all lines of a job, as sentences beside the table of a report and as a table of their own.

use super::document::Title::{Numbers, Words};
use super::document::{Table, TitledTexts};
use super::{InstanceForecast, JobReport, Report, words};
use crate::forecast::Estimate;
use crate::metric::{LineKind, Metric};
use crate::spec::{Bound, Level};
use crate::verdict::{self, BudgetRow, LineVerdict, Verdict};

/// Where nothing else is wrong, the breach that was there before is what there is to see.
pub(super) fn shown_excuse(forecast: &InstanceForecast) -> Option<&BudgetRow> {
    let is_fine = matches!(forecast.verdict, Verdict::Within | Verdict::NotJudged);
    let mut rows = forecast.budget.iter();
    rows.find(|row| is_fine && row.excuse().is_some())
}

/// The most memory that a canary used, where that is all that is known of it.
pub(super) fn highest_canary(metric: Metric, forecast: &InstanceForecast) -> Option<f64> {
    let of = metric.memory_of()?;
    of.pick(forecast.memory_at_least, forecast.gpu_memory_at_least)
}

/// How likely the limit is passed: `24% likely over`, or why that is not known of a line at risk.
pub(super) fn chance_of(row: &BudgetRow, forecast: &InstanceForecast) -> Option<String> {
    let doubt = (row.verdict == LineVerdict::AtRisk).then(|| {
        let metric = row.line.metric();
        match metric.is_some_and(|metric| forecast.is_lower_bound(metric)) {
            true => "a lower bound".to_owned(),
            false if forecast.not_measured.is_some() => "no canary there".to_owned(),
            false if is_over(row, forecast) => "machine busy".to_owned(),
            false => "in doubt".to_owned(),
        }
    });
    let chance = row.chance_of_breach.map(|p| words::chance(p, row.bound));
    chance.or(doubt)
}

/// Whether the forecast itself is above the limit. Without a chance, such a line is at risk only since other work took the machine.
fn is_over(row: &BudgetRow, forecast: &InstanceForecast) -> bool {
    let value = value_of(row.line, forecast);
    row.bound == Bound::Max && value.is_some_and(|value| value > row.limit)
}

/// How much of a line is used: `cost 126%`, `of limit`; where that says little the value itself, `CPU utilization 12%`.
pub(super) fn use_of(row: &BudgetRow, forecast: &InstanceForecast) -> Vec<String> {
    let name = row.line.words();
    let Some(value) = value_of(row.line, forecast) else {
        return vec![name.into_owned()];
    };
    if row.bound == Bound::Min || row.line.is_increase() {
        let figure = words::line_figure(row.line, value, row.limit);
        vec![format!("{name} {figure}")]
    } else {
        let (used, of_limit) = words::used(value / row.limit);
        vec![format!("{name} {used}"), of_limit.to_owned()]
    }
}

/// Over, at risk or unknown.
pub(super) fn is_in_question(verdict: LineVerdict) -> bool {
    !matches!(verdict, LineVerdict::Within | LineVerdict::NotApplicable)
}

/// The line that a row's verdict rests on, as the verdict chose it.
pub(super) fn decisive_line(forecast: &InstanceForecast) -> Option<&BudgetRow> {
    forecast.budget.iter().find(|row| row.decides)
}

/// The lines that fail a job.
pub(super) fn over_rows(forecast: &InstanceForecast) -> impl Iterator<Item = &BudgetRow> {
    let is_over = |row: &&BudgetRow| row.makes() == Some(Verdict::Exceeded);
    forecast.budget.iter().filter(is_over)
}

/// The point that a line's limit is held against, in the unit of the limit; of memory without one the most that a canary used.
pub(super) fn value_of(line: LineKind, forecast: &InstanceForecast) -> Option<f64> {
    if let LineKind::Absolute(metric) = line
        && let Some(highest) = highest_canary(metric, forecast)
    {
        return Some(highest);
    }
    estimate_of(line, forecast).map(|estimate| estimate.point)
}

/// The estimate that a line's limit is held against, in the unit of the limit.
pub(super) fn estimate_of(line: LineKind, forecast: &InstanceForecast) -> Option<Estimate> {
    match line {
        LineKind::Absolute(metric) => forecast.estimates[metric],
        LineKind::Named(name) => forecast.metrics.get(&name).copied(),
        LineKind::Increase(metric) => increase(metric, forecast),
    }
}

/// The change against the base, in percent of it: of the forecast less the change where the report does not say.
pub(super) fn increase(metric: Metric, forecast: &InstanceForecast) -> Option<Estimate> {
    let delta = &forecast.delta;
    let (percent, amount) = match metric {
        Metric::Cost => (delta.cost_percent, delta.cost_usd),
        Metric::Time => (delta.time_percent, delta.time_seconds),
        _ => return None,
    };
    percent.or_else(|| {
        let (amount, total) = (amount?, forecast.estimates[metric]?);
        let base = total.point - amount.point;
        (base > 0.0).then(|| amount.map(|end| end * (100.0 / base)))
    })
}

/// One sentence for each line of a job's judged configuration that is over, at risk or unknown and that its table row
/// does not already show.
pub(super) fn further_lines(job: &JobReport) -> Vec<String> {
    let Some(forecast) = job.forecasts.first() else {
        return Vec::new();
    };
    let shown = shown_excuse(forecast).or_else(|| decisive_line(forecast));
    let rows = forecast.budget.iter();
    let rows = rows.filter(|row| is_in_question(row.verdict));
    let further = rows.filter(|row| !shown.is_some_and(|shown| std::ptr::eq(shown, *row)));
    let lines = further.map(|row| {
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
    });
    lines.collect()
}

/// The budgets, line by line; of each job what fails the check first.
pub(super) fn table(report: &Report) -> Option<Table> {
    Table::of_jobs(report, budget_rows)
}

fn budget_rows(job: &JobReport) -> Vec<TitledTexts> {
    let Some(forecast) = job.forecasts.first() else {
        return Vec::new();
    };
    let mut rows: Vec<&BudgetRow> = forecast.budget.iter().collect();
    rows.sort_by_key(|row| (row.counts_as() == Level::Warn, row.verdict));
    let rows = rows.into_iter().map(|row| {
        let or_unknown = |text: Option<String>| text.unwrap_or(words::UNKNOWN.to_owned());
        let level = match (row.level, row.counts_as()) {
            (Level::Fail, Level::Fail) => "",
            (Level::Fail, Level::Warn) => " (warns today)",
            (Level::Warn, _) => " (warn only)",
        };
        let outcome = match row.verdict {
            LineVerdict::Exceeded => "exceeded",
            LineVerdict::Unknown => "unknown",
            LineVerdict::AtRisk => "at risk",
            LineVerdict::Within => "within",
            LineVerdict::NotApplicable => "does not apply",
        };
        let value = value_of(row.line, forecast);
        let value = value.map(|value| words::line_figure(row.line, value, row.limit));
        vec![
            Words("Line").over(format!("{}{level}", row.line.words())),
            Numbers("Limit").over(words::limit(row.line, row.bound, row.limit)),
            Numbers("Forecast").over(or_unknown(value)),
            Numbers("Chance").over(or_unknown(chance_of(row, forecast))),
            Words("Outcome").over(outcome.to_owned()),
        ]
    });
    rows.collect()
}
