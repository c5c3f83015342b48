//! The one table of a report: what each instance configuration would take, and how that stands against the budget.
//!
//! Plain text, which may hold some from outside; `table` makes a table of a document of it.

mod table;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::document::{Align, Grid};
use super::words::{self, Quantity};
use super::{InstanceForecast, JobReport};
use crate::forecast::Estimate;
use crate::instance::{Price, PriceKind};
use crate::metric::{LineKind, MemoryOf, Metric, MetricName};
use crate::spec::{Bound, Level};
use crate::units::Bytes;
use crate::verdict::{self, BudgetRow, LineVerdict, Verdict};

/// A column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Metric(Metric),
    VersusBase,
    /// What one of several machines does in comparison with one alone.
    Efficiency,
    /// The level of what the script prints.
    Level(MetricName),
}

impl Column {
    /// Of every metric that has one, then that of the base; those of what the script prints follow.
    fn all() -> impl Iterator<Item = Self> {
        let titled = Metric::ALL
            .into_iter()
            .filter(|metric| metric.title().is_some());
        titled
            .map(Self::Metric)
            .chain([Self::VersusBase, Self::Efficiency])
    }

    pub(super) fn title(self) -> Cow<'static, str> {
        match self {
            Self::Metric(metric) => metric.title().unwrap_or(metric.words()).into(),
            Self::VersusBase => "vs base".into(),
            Self::Efficiency => "Efficiency".into(),
            Self::Level(name) => name.to_string().into(),
        }
    }

    /// The column that shows a budget line's estimate.
    fn of_line(line: LineKind) -> Self {
        match line {
            LineKind::Absolute(metric) => Self::Metric(metric),
            LineKind::Increase(_) => Self::VersusBase,
            LineKind::Named(name) => Self::Level(name),
        }
    }

    pub(super) fn figure(self, forecast: &InstanceForecast) -> Option<Figure> {
        let metric = match self {
            Self::Metric(metric) => metric,
            Self::VersusBase => return versus_base(forecast),
            Self::Efficiency => return efficiency(forecast),
            Self::Level(name) => {
                let (level, unit) = (forecast.metrics.get(&name)?, Quantity::Number);
                return Some(Figure::of(unit.figure(level.point), unit.interval(level)));
            }
        };
        let unit = metric.unit();
        let at_least = at_least(metric, forecast);
        let Some(estimate) = forecast.estimates[metric] else {
            let least = unit.figure(highest_canary(metric, forecast)?);
            return Some(Figure::of(
                format!("≥ {least}"),
                Some("highest canary".to_owned()),
            ));
        };
        let price_is_estimate = forecast.prices().any(Price::is_estimate);
        let mark = if price_is_estimate && metric.is_priced() {
            "~"
        } else {
            ""
        };
        let point = format!("{at_least}{mark}{}", unit.figure(estimate.point));
        let bought = (metric == Metric::Cost).then(|| bought(forecast, estimate.point));
        let detail: Vec<String> = (unit.interval(&estimate).into_iter())
            .chain(bought.flatten())
            .collect();
        let detail = (!detail.is_empty()).then(|| detail.join(", "));
        Some(Figure::of(point, detail))
    }
}

/// How a full run on spot capacity is bought, and what it costs on demand: `spot, 2.75 USD on demand`.
fn bought(forecast: &InstanceForecast, cost: f64) -> Option<String> {
    let price = forecast.price.as_ref()?;
    match (price.kind, price.on_demand_usd_per_hour) {
        (PriceKind::OnDemand, _) => None,
        (PriceKind::OnDemandForSpot, _) => Some("on demand, spot not known".to_owned()),
        (PriceKind::Spot, None) => Some("spot".to_owned()),
        (PriceKind::Spot, Some(on_demand)) => {
            let on_demand = Quantity::Money.figure(cost * on_demand.0 / price.usd_per_hour.0);
            Some(format!("spot, {on_demand} on demand"))
        }
    }
}

/// A number as a reader sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) point: String,
    pub(super) interval: Option<String>,
    /// Worth a second look where the row is over budget, beside the number that decides.
    pub(super) is_strong: bool,
}

impl Figure {
    fn of(point: String, interval: Option<String>) -> Self {
        Self {
            point,
            interval,
            is_strong: false,
        }
    }
}

/// One instance configuration of one job.
#[derive(Debug)]
pub(super) struct ComparisonRow<'a> {
    pub(super) job: &'a str,
    pub(super) instance: String,
    /// The budget is judged on it.
    pub(super) is_judged: bool,
    pub(super) is_measured: bool,
    pub(super) verdict: Verdict,
    /// What the verdict rests on: `cost 126% of limit`, and its chance.
    pub(super) standing: (String, Option<String>),
    /// The column that the standing is about, where the row is over budget or at risk.
    pub(super) decisive: Option<Column>,
    /// One for each column.
    pub(super) figures: Vec<Option<Figure>>,
}

/// The table.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<ComparisonRow<'a>>,
    /// The branch of all baselines; a name from outside.
    branch: Option<&'a str>,
}

impl<'a> Comparison<'a> {
    /// The title of a column; one may hold the name of a branch.
    pub(super) fn title(&self, column: Column) -> String {
        match (column, self.branch) {
            (Column::VersusBase, Some(branch)) => format!("vs {branch}"),
            (column, _) => column.title().into_owned(),
        }
    }

    /// Jobs that fail the check come first. Of each job the judged configuration leads, since its row alone decides;
    /// then come the alternatives, worst first, then those not measured.
    pub(super) fn of(jobs: &[&'a JobReport]) -> Self {
        Self::with(jobs, columns)
    }

    /// The same for a comment, which is narrow: the column that decides comes first, and CPU is left out unless a line is
    /// about it.
    pub(super) fn for_comment(jobs: &[&'a JobReport]) -> Self {
        Self::with(jobs, columns_of_comment)
    }

    /// The judged configuration, and of many others those that fit best, in their order.
    pub(super) fn keep_the_best(&mut self, most: usize) {
        let mut ranked: Vec<usize> = (0..self.rows.len()).collect();
        ranked.sort_by_key(|place| {
            let row = &self.rows[*place];
            (!row.is_judged, !row.is_measured, Reverse(row.verdict))
        });
        ranked.truncate(most);
        let mut place = 0;
        self.rows.retain(|_| {
            place += 1;
            ranked.contains(&(place - 1))
        });
    }

    fn with(jobs: &[&'a JobReport], columns: ColumnChoice) -> Self {
        let mut forecasts: Vec<(&JobReport, usize, &InstanceForecast)> = Vec::new();
        for job in worst_first(jobs) {
            let mut of_job: Vec<_> = (0..).zip(&job.forecasts).collect();
            of_job.sort_by_key(|(index, forecast)| {
                (
                    *index > 0,
                    forecast.not_measured.is_some(),
                    forecast.verdict,
                )
            });
            forecasts.extend(of_job.into_iter().map(|(i, forecast)| (job, i, forecast)));
        }
        let columns = columns(&forecasts);
        let rows = forecasts
            .into_iter()
            .map(|(job, index, forecast)| row(job, index == 0, forecast, &columns))
            .collect();
        Self {
            columns,
            rows,
            branch: common_branch(jobs),
        }
    }
}

/// The branch that all baselines are of, where it is short enough for a title.
fn common_branch<'a>(jobs: &[&'a JobReport]) -> Option<&'a str> {
    const LONGEST: usize = 20;
    let mut branches = jobs
        .iter()
        .filter_map(|job| job.baseline.as_ref())
        .map(|baseline| baseline.branch.as_deref());
    let first = branches.next()??;
    let is_common = branches.all(|branch| branch == Some(first));
    (is_common && first.chars().count() <= LONGEST).then_some(first)
}

/// The jobs, worst first, else in their order. Drift ranks as its exit code does.
pub(super) fn worst_first<'a>(jobs: &[&'a JobReport]) -> Vec<&'a JobReport> {
    let mut sorted = jobs.to_vec();
    sorted.sort_by_key(|job| {
        let is_worse_than_drift = job.verdict <= Verdict::Unknown;
        (!is_worse_than_drift && !job.has_drifted(), job.verdict)
    });
    sorted
}

/// Which columns there are, of these forecasts with their places in their jobs.
type ColumnChoice = fn(&[(&JobReport, usize, &InstanceForecast)]) -> Vec<Column>;

/// The columns of lines that a judged configuration is over stand beside its name: on a narrow page others are cut off.
fn columns_of_comment(forecasts: &[(&JobReport, usize, &InstanceForecast)]) -> Vec<Column> {
    let cpu = Column::Metric(Metric::CpuUtilization);
    let mut rows = (forecasts.iter()).flat_map(|(_, _, forecast)| &forecast.budget);
    let has_line = rows
        .any(|row| Column::of_line(row.line) == cpu && row.verdict != LineVerdict::NotApplicable);
    let mut columns = columns(forecasts);
    columns.retain(|column| *column != cpu || has_line);
    let judged = forecasts.iter().filter(|(_, index, _)| *index == 0);
    let over = judged.filter(|(_, _, forecast)| forecast.verdict == Verdict::Exceeded);
    let decisive: Vec<Column> = over
        .filter_map(|(_, _, forecast)| Some(Column::of_line(decisive_line(forecast)?.line)))
        .collect();
    let place = |column: &Column| decisive.iter().position(|decisive| decisive == column);
    columns.sort_by_key(|column| place(column).unwrap_or(usize::MAX));
    columns
}

/// A column appears only where it says something: a comment is narrow. What is known beside is in [`unshown_figures`].
fn columns(forecasts: &[(&JobReport, usize, &InstanceForecast)]) -> Vec<Column> {
    let has_figure = |column: Column| {
        forecasts
            .iter()
            .any(|(_, _, forecast)| column.figure(forecast).is_some())
    };
    let any_line = |column: Column, is_meant: fn(LineVerdict) -> bool| {
        forecasts.iter().any(|(_, _, forecast)| {
            let mut lines = forecast.budget.iter();
            lines.any(|row| Column::of_line(row.line) == column && is_meant(row.verdict))
        })
    };
    let has_line = |column| any_line(column, |verdict| verdict != LineVerdict::NotApplicable);
    let is_in_question = |column| {
        any_line(column, |verdict| {
            !matches!(verdict, LineVerdict::NotApplicable | LineVerdict::Within)
        })
    };
    let rows = (forecasts.iter()).flat_map(|(_, _, forecast)| &forecast.budget);
    let levels: BTreeSet<MetricName> = rows
        .filter_map(|row| match row.line {
            LineKind::Named(name) => Some(name),
            LineKind::Absolute(_) | LineKind::Increase(_) => None,
        })
        .collect();
    Column::all()
        .filter(|&column| match column {
            Column::Metric(Metric::Time) => true,
            // GPU types have more to say of their GPUs.
            Column::Metric(Metric::CpuUtilization) => {
                let gpu = Column::Metric(Metric::GpuUtilization);
                has_line(column) || (has_figure(column) && !has_figure(gpu))
            }
            Column::Metric(Metric::IoWait) => is_in_question(column),
            _ => has_figure(column) || has_line(column),
        })
        .chain(levels.into_iter().map(Column::Level))
        .collect()
}

/// The numbers of a forecast that these columns do not show: `CPU 22% (20–24)`.
pub(super) fn unshown_figures(forecast: &InstanceForecast, shown: &[Column]) -> Vec<String> {
    let memory = MemoryOf::ALL.into_iter().filter_map(|of| {
        let metric = Metric::bytes_of(of);
        let estimate = forecast.estimates[metric]?;
        let [point, lower, upper] =
            [estimate.point, estimate.lower, estimate.upper].map(Bytes::from_f64);
        Some(format!("{} {point} ({lower}–{upper})", metric.words()))
    });
    let columns = Column::all()
        .filter(|column| !shown.contains(column))
        .filter_map(|column| {
            let Figure {
                point, interval, ..
            } = column.figure(forecast)?;
            let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
            Some(format!("{} {point}{interval}", column.title()))
        });
    memory.chain(columns).collect()
}

fn row<'a>(
    job: &'a JobReport,
    is_judged: bool,
    forecast: &InstanceForecast,
    columns: &[Column],
) -> ComparisonRow<'a> {
    let line = decisive_line(forecast);
    let is_breach = matches!(forecast.verdict, Verdict::Exceeded | Verdict::AtRisk);
    ComparisonRow {
        job: &job.name,
        instance: forecast.instance.to_string(),
        is_judged,
        is_measured: forecast.not_measured.is_none(),
        verdict: words::shown_verdict(forecast.verdict, Some(forecast)),
        standing: standing(job, is_judged, forecast, line),
        decisive: line
            .filter(|_| is_breach)
            .map(|row| Column::of_line(row.line)),
        figures: columns
            .iter()
            .map(|column| {
                column
                    .figure(forecast)
                    .or_else(|| no_base(*column, forecast))
                    .or_else(|| {
                        (*column == Column::Efficiency).then(|| Figure::of(String::new(), None))
                    })
            })
            .collect(),
    }
}

/// Where there is nothing to compare with the cell is empty; where the comparison failed it is unknown as any other.
fn no_base(column: Column, forecast: &InstanceForecast) -> Option<Figure> {
    let is_unknown = forecast.budget.iter().any(|row| {
        Column::of_line(row.line) == Column::VersusBase && row.verdict == LineVerdict::Unknown
    });
    (column == Column::VersusBase && !is_unknown).then(|| Figure::of(String::new(), None))
}

/// The verdict cell: the most used budget line and its chance, or why there is none.
fn standing(
    job: &JobReport,
    is_judged: bool,
    forecast: &InstanceForecast,
    line: Option<&BudgetRow>,
) -> (String, Option<String>) {
    if let Some(why) = &forecast.not_measured {
        // Of a job that was not planned the headline has said it.
        let is_said = is_judged && job.reason == *why;
        let why = (!is_said).then(|| why.clone());
        return match known_from_others(forecast) {
            // Why it was not measured then stands with where the number comes from.
            Some((used, chance)) => (format!("not measured; {used}"), Some(chance)),
            None => ("not measured".to_owned(), why),
        };
    }
    match (forecast.verdict, line) {
        (Verdict::Failed, _) => ("failed".to_owned(), None),
        _ if let Some(row) = shown_excuse(forecast) => {
            // Of the judged configuration the headline has said it.
            let detail = (!is_judged).then(|| "as on the base already".to_owned());
            (use_of(row, forecast), detail)
        }
        (Verdict::NotJudged, _) => ("not judged".to_owned(), None),
        (_, Some(row)) => {
            let chance = chance_of(row, forecast)
                .or_else(|| (row.verdict == LineVerdict::Unknown).then(|| "unknown".to_owned()));
            (use_of(row, forecast), chance)
        }
        (verdict, None) => (words::phrase(verdict).to_owned(), None),
    }
}

/// Where nothing else is wrong, the breach that was there before is what there is to see.
fn shown_excuse(forecast: &InstanceForecast) -> Option<&BudgetRow> {
    let is_fine = matches!(forecast.verdict, Verdict::Within | Verdict::NotJudged);
    let mut rows = forecast.budget.iter();
    rows.find(|row| is_fine && row.excuse().is_some())
}

/// What the canaries of other configurations say about one that was not measured, by its worst line, else by its memory:
/// `memory 2.1x limit` and its chance.
fn known_from_others(forecast: &InstanceForecast) -> Option<(String, String)> {
    forecast.estimated_from.as_ref()?;
    let row = decisive_line(forecast).or_else(|| {
        let mut rows = forecast.budget.iter();
        rows.find(|row| row.line == LineKind::Absolute(Metric::Memory))
    })?;
    Some((use_of(row, forecast), chance_of(row, forecast)?))
}

/// What stands before a value that may be far higher.
fn at_least(metric: Metric, forecast: &InstanceForecast) -> &'static str {
    match is_lower_bound(metric, forecast) || highest_canary(metric, forecast).is_some() {
        true => "≥ ",
        false => "",
    }
}

/// The most memory that a canary used, where that is all that is known of it.
pub(super) fn highest_canary(metric: Metric, forecast: &InstanceForecast) -> Option<f64> {
    match metric {
        Metric::Memory => forecast.memory_at_least,
        Metric::GpuMemory => forecast.gpu_memory_at_least,
        _ => None,
    }
}

fn is_lower_bound(metric: Metric, forecast: &InstanceForecast) -> bool {
    match metric {
        Metric::Memory => forecast.memory_is_lower_bound,
        Metric::GpuMemory => forecast.gpu_memory_is_lower_bound,
        _ => false,
    }
}

/// How likely the limit is passed: `24% likely over`, or why that is not known of a line at risk.
fn chance_of(row: &BudgetRow, forecast: &InstanceForecast) -> Option<String> {
    let doubt = (row.verdict == LineVerdict::AtRisk).then(|| {
        let metric = row.line.metric();
        match metric.is_some_and(|metric| is_lower_bound(metric, forecast)) {
            true => "a lower bound".to_owned(),
            // What is over the limit is at risk only where other work made it so.
            false if value_of(row.line, forecast).is_some_and(|value| value > row.limit) => {
                "machine busy".to_owned()
            }
            false => "growth in doubt".to_owned(),
        }
    });
    let chance = row.chance_of_breach.map(|p| words::chance(p, row.bound));
    chance.or(doubt)
}

/// How much of a line is used: `cost 126% of limit`; where that says little the value itself, `CPU utilization 12%`.
fn use_of(row: &BudgetRow, forecast: &InstanceForecast) -> String {
    let name = row.line.words();
    let Some(value) = value_of(row.line, forecast) else {
        return name.into_owned();
    };
    let is_increase = Column::of_line(row.line) == Column::VersusBase;
    if row.bound == Bound::Min || is_increase {
        format!("{name} {}", words::line_figure(row.line, value, row.limit))
    } else {
        format!("{name} {}", words::used(value / row.limit))
    }
}

/// The line that a row's verdict rests on, as the verdict chose it.
fn decisive_line(forecast: &InstanceForecast) -> Option<&BudgetRow> {
    forecast.budget.iter().find(|row| row.decides)
}

/// The point that a line's limit is held against, in the unit of the limit; of memory without one the most that a canary used.
fn value_of(line: LineKind, forecast: &InstanceForecast) -> Option<f64> {
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
        LineKind::Increase(Metric::Cost) => cost_change(forecast),
        LineKind::Increase(Metric::Time) => time_change(forecast),
        LineKind::Increase(_) => None,
    }
}

/// In percent of what the base costs.
fn cost_change(forecast: &InstanceForecast) -> Option<Estimate> {
    let delta = &forecast.delta;
    let of_amount = || relative(delta.cost_usd, forecast.estimates[Metric::Cost]);
    delta.cost_percent.or_else(of_amount)
}

/// In percent of how long the base takes.
fn time_change(forecast: &InstanceForecast) -> Option<Estimate> {
    let delta = &forecast.delta;
    let of_amount = || relative(delta.time_seconds, forecast.estimates[Metric::Time]);
    delta.time_percent.or_else(of_amount)
}

/// A change in percent of the base, which is the forecast less the change.
fn relative(delta: Option<Estimate>, total: Option<Estimate>) -> Option<Estimate> {
    let (delta, total) = (delta?, total?);
    let base = total.point - delta.point;
    let percent = |value: f64| value / base * 100.0;
    (base > 0.0).then(|| Estimate {
        point: percent(delta.point),
        lower: percent(delta.lower),
        upper: percent(delta.upper),
        level: delta.level,
    })
}

/// `+31%`, or `within noise` where the interval holds no change at all.
fn versus_base(forecast: &InstanceForecast) -> Option<Figure> {
    let change = cost_change(forecast).or_else(|| time_change(forecast))?;
    if words::is_noise(&change) {
        return Some(Figure::of("within noise".to_owned(), None));
    }
    let is_more = change.point > 0.0;
    let point = words::signed(Quantity::Percent, change.point);
    let interval = if is_more {
        Quantity::Percent.interval(&change)
    } else {
        // A dash between two signs cannot be read.
        let end = |value| words::signed(Quantity::Percent, value);
        Some(format!("{} to {}", end(change.lower), end(change.upper)))
    };
    Some(Figure {
        is_strong: is_more,
        ..Figure::of(point, interval)
    })
}

fn efficiency(forecast: &InstanceForecast) -> Option<Figure> {
    let share = forecast.efficiency?;
    let percent = Estimate {
        point: share.point * 100.0,
        lower: share.lower * 100.0,
        upper: share.upper * 100.0,
        ..share
    };
    let unit = Quantity::Percent;
    Some(Figure::of(
        unit.figure(percent.point),
        unit.interval(&percent),
    ))
}

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
pub(super) fn budget(jobs: &[&JobReport]) -> Grid {
    let several_jobs = jobs.len() > 1;
    let name = |job: &JobReport| match several_jobs {
        true => job.name.clone(),
        false => String::new(),
    };
    let rows = jobs.iter().flat_map(|job| {
        let lines = budget_rows(job).into_iter();
        lines.map(|line| [&[name(job)][..], &line].concat())
    });
    Grid {
        columns: vec![
            ("Job", Align::Left),
            ("Line", Align::Left),
            ("Limit", Align::Right),
            ("Forecast", Align::Right),
            ("Chance", Align::Right),
            ("Outcome", Align::Left),
        ],
        rows: rows.collect(),
    }
    .without_empty_columns()
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

#[cfg(test)]
mod tests;
