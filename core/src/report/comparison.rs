//! The one table of a report: what each instance configuration would take, and how that stands against the budget.

mod column;

use std::collections::BTreeSet;

use super::budget_lines::{chance_of, decisive_line, is_in_question, shown_excuse, use_of};
use super::document::Title::{Numbers, Words};
use super::document::{Cell, Table, TableColumn, TableRow};
use super::{InstanceForecast, JobReport, Mark, Prose, Report, many_jobs, words};
use crate::forecast::Estimate;
use crate::metric::{LineKind, Metric, MetricName};
use crate::spec::Ranking;
use crate::verdict::{LineVerdict, Verdict};

pub(super) use column::{Column, unshown_figures};

/// Percent of the time. GPUs that are busy for less may wait for the processors.
pub const BUSY_GPU: f64 = 60.0;

/// One instance configuration of one job.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparisonRow<'a> {
    pub(super) job: &'a JobReport,
    pub(super) forecast: &'a InstanceForecast,
    /// The budget is judged on it.
    pub(super) is_judged: bool,
}

/// The table.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<ComparisonRow<'a>>,
    has_several_jobs: bool,
}

impl<'a> Comparison<'a> {
    /// Jobs that fail the check come first. Of each job the judged configuration leads, since its row alone decides;
    /// then come the alternatives, worst first, then those not measured.
    pub(super) fn of(report: &'a Report) -> Self {
        let mut rows = Vec::new();
        for job in worst_first(&report.jobs) {
            let of_job = job.forecasts.iter().enumerate();
            let mut of_job: Vec<_> = of_job
                .map(|(index, forecast)| ComparisonRow {
                    job,
                    forecast,
                    is_judged: index == 0,
                })
                .collect();
            // Of a ranking those that fit come first, since one of them is chosen.
            let amount = |row: &ComparisonRow<'_>| ranked_by(job.ranking, row.forecast);
            of_job.sort_by(|one, other| amount(one).total_cmp(&amount(other)));
            of_job.sort_by_key(|row| {
                let is_left_out = row.forecast.not_measured.is_some();
                let fits = job.ranking.is_some() && row.forecast.verdict >= Verdict::Within;
                let worst_first = (!fits).then_some(row.forecast.verdict);
                (!row.is_judged, is_left_out, worst_first)
            });
            rows.extend(of_job);
        }
        Self {
            columns: columns(&rows),
            rows,
            has_several_jobs: report.is_of_several_jobs(),
        }
    }

    /// For a comment, which is narrow: the columns of lines that a judged configuration is over stand beside its name, since others
    /// are cut off, and CPU is left out unless a line is about it or GPUs may wait.
    #[must_use]
    pub(super) fn narrow(mut self) -> Self {
        let cpu = Column::Metric(Metric::CpuUtilization);
        let waits = |gpu: Estimate| gpu.point < BUSY_GPU;
        let stays = self.rows.iter().any(|row| {
            row.has_line(cpu) || row.forecast.estimates[Metric::GpuUtilization].is_some_and(waits)
        });
        self.columns.retain(|column| *column != cpu || stays);
        let judged = self.rows.iter().filter(|row| row.is_judged);
        let over = judged.filter(|row| row.forecast.verdict == Verdict::Exceeded);
        let decisive: Vec<Column> = over.filter_map(ComparisonRow::decisive).collect();
        let place = |column: &Column| decisive.iter().position(|decisive| decisive == column);
        (self.columns).sort_by_key(|column| place(column).unwrap_or(usize::MAX));
        self
    }

    /// Whether there is a figure, or something to compare.
    pub(super) fn says_more(&self) -> bool {
        let has_figure = |row: &ComparisonRow<'_>| {
            let mut columns = self.columns.iter();
            columns.any(|column| column.figure(row.forecast).is_some())
        };
        self.rows.len() > 1 || self.rows.iter().any(has_figure)
    }

    /// `None` without rows. With several jobs the second column names the job.
    pub(super) fn table(&self) -> Option<Table> {
        self.table_of(&self.rows)
    }

    /// The tables of many jobs: the rows that somebody has to look at, and all others.
    pub(super) fn tables_of_many(&self) -> (Option<Table>, Option<Table>) {
        let mut room = many_jobs::ROWS_SHOWN;
        let is_shown = |row: &ComparisonRow<'_>| {
            let is_at_risk = row.shown_verdict() == Verdict::AtRisk;
            let is_failing = row.is_judged && (is_at_risk || many_jobs::is_failing(row.job));
            let is_shown = is_failing && room > 0;
            room -= usize::from(is_shown);
            is_shown
        };
        let (shown, others): (Vec<_>, Vec<_>) = self.rows.iter().copied().partition(is_shown);
        (self.table_of(&shown), self.table_of(&others))
    }

    fn table_of(&self, rows: &[ComparisonRow<'_>]) -> Option<Table> {
        let mut columns = vec![TableColumn {
            is_evident: true,
            ..TableColumn::from(Words("Verdict"))
        }];
        if self.has_several_jobs {
            columns.push(Words("Job").into());
        }
        columns.push(Words("Instance").into());
        columns.extend(self.columns.iter().map(|column| TableColumn {
            weight: self.weight(*column),
            detail: self.second_number(*column),
            ..TableColumn::from(Numbers(&column.title()))
        }));
        let rows = rows.iter().map(|row| TableRow {
            cells: self.cells(row),
            rank: row.rank(),
        });
        let rows: Vec<TableRow> = rows.collect();
        (!rows.is_empty()).then_some(Table { columns, rows })
    }

    /// What stands below the numbers of a column: `90% interval`; `None` where nothing does, or the figure says what.
    fn second_number(&self, column: Column) -> Option<Prose> {
        let levels = self.rows.iter().filter_map(|row| {
            column.figure(row.forecast)?.1?;
            // Without an estimate the figure says itself what stands below it.
            let metric = match column {
                Column::Metric(metric) => metric,
                _ => Metric::Time,
            };
            let estimate = row.forecast.estimates[metric]?;
            Some(words::cases_of_a_hundred(estimate.level))
        });
        let levels = Vec::from_iter(levels.collect::<BTreeSet<String>>());
        Some(Prose::literal(match &levels[..] {
            [] => return None,
            [level] => format!("{level}% interval"),
            _ => "interval".to_owned(),
        }))
    }

    /// A column on which a job's verdict rests stays, and one on which that of an alternative does goes last.
    fn weight(&self, column: Column) -> Option<usize> {
        let weight = LEAST_FIRST.iter().position(|least| *least == column)?;
        let rests = |row: &&ComparisonRow<'_>| row.breach() == Some(column);
        let mut resting = self.rows.iter().filter(rests).map(|row| row.is_judged);
        match resting.next() {
            None => Some(weight),
            Some(first) if first || resting.any(|is_judged| is_judged) => None,
            Some(_) => Some(weight + LEAST_FIRST.len()),
        }
    }

    fn cells(&self, row: &ComparisonRow<'_>) -> Vec<Cell> {
        let name = (self.has_several_jobs).then(|| Prose::literal(&row.job.name).into());
        let instance = &row.forecast.instance;
        let instance = match instance.groups() {
            [] => Prose::bare_name(instance.to_string()),
            groups => Prose::in_parts(groups.iter().enumerate().map(|(index, group)| {
                let plus = Prose::own(if index == 0 { "" } else { "+ " });
                plus.then(Prose::bare_name(group.to_string()))
            })),
        };
        let instance = Cell {
            is_strong: row.is_judged && self.rows.len() > 1,
            ..Cell::from(instance)
        };
        let figures = self.columns.iter().map(|column| row.cell(*column));
        let named = [row.standing()].into_iter().chain(name);
        named.chain([instance]).chain(figures).collect()
    }
}

impl ComparisonRow<'_> {
    fn shown_verdict(&self) -> Verdict {
        words::shown_verdict(self.forecast.verdict, Some(self.forecast))
    }

    /// The column of the line that the verdict rests on, as the verdict chose it.
    fn decisive(&self) -> Option<Column> {
        Some(Column::of_line(decisive_line(self.forecast)?.line))
    }

    /// The column that the standing is about, where the row is over budget or at risk.
    fn breach(&self) -> Option<Column> {
        let is_breach = matches!(self.forecast.verdict, Verdict::Exceeded | Verdict::AtRisk);
        self.decisive().filter(|_| is_breach)
    }

    fn any_line(&self, column: Column, is_meant: impl Fn(LineVerdict) -> bool) -> bool {
        let mut lines = self.forecast.budget.iter();
        lines.any(|row| Column::of_line(row.line) == column && is_meant(row.verdict))
    }

    fn has_line(&self, column: Column) -> bool {
        self.any_line(column, |verdict| verdict != LineVerdict::NotApplicable)
    }

    /// Of alternatives those that fit best stay longest, and those not measured go first.
    fn rank(&self) -> usize {
        match (self.is_judged, &self.forecast.not_measured) {
            (true, _) => 0,
            (false, None) => {
                1 + usize::from(self.forecast.verdict < Verdict::Within)
                    + usize::from(self.forecast.verdict < Verdict::AtRisk)
            }
            (false, Some(_)) => 4,
        }
    }

    /// The verdict: the most used budget line and its chance, or why there is none.
    fn standing(&self) -> Cell {
        let shown = self.shown_verdict();
        // What no canary showed gets no tick; of the row that decides a warning stays one.
        let is_measured = self.forecast.not_measured.is_none();
        let verdict = match is_measured || self.is_judged && shown != Verdict::Within {
            true => shown,
            false => Verdict::NotJudged,
        };
        let (words, detail) = self.standing_words();
        Cell {
            mark: Some(Mark::from(verdict)),
            text: Prose::few_words(&words),
            detail: detail.map(|detail| Prose::few_words(&[detail])),
            is_strong: verdict == Verdict::Exceeded,
        }
    }

    fn standing_words(&self) -> (Vec<String>, Option<String>) {
        let (job, forecast, is_judged) = (self.job, self.forecast, self.is_judged);
        let own = |words: &str| vec![words.to_owned()];
        if let Some(why) = &forecast.not_measured {
            // Of a job that was not planned the headline has said it.
            let is_said = is_judged && job.reason.to_string() == *why;
            let why = (!is_said).then(|| why.clone());
            return match known_from_others(forecast) {
                // Why it was not measured then stands with where the number comes from.
                Some((mut used, chance)) => {
                    used[0].insert_str(0, "not measured; ");
                    (used, Some(chance))
                }
                None => (own("not measured"), why),
            };
        }
        match (forecast.verdict, decisive_line(forecast)) {
            (Verdict::Failed, _) => (own("failed"), None),
            _ if let Some(row) = shown_excuse(forecast) => {
                // Of the judged configuration the headline has said it.
                let detail = (!is_judged).then(|| "as on the base already".to_owned());
                (use_of(row, forecast), detail)
            }
            (Verdict::NotJudged, _) => (own("not judged"), None),
            (_, Some(row)) => {
                let chance = chance_of(row, forecast).or_else(|| {
                    (row.verdict == LineVerdict::Unknown).then(|| "unknown".to_owned())
                });
                (use_of(row, forecast), chance)
            }
            (verdict, None) => (own(words::phrase(verdict)), None),
        }
    }

    fn cell(&self, column: Column) -> Cell {
        let is_measured = self.forecast.not_measured.is_none();
        let Some((point, interval)) = column.figure(self.forecast) else {
            // Where there is nothing to compare with the cell is empty; where the comparison failed it is unknown as any other.
            let is_unknown = match column {
                Column::VersusBase => self.any_line(column, |of| of == LineVerdict::Unknown),
                Column::Efficiency => false,
                Column::Metric(_) | Column::Level(_) => true,
            };
            let unknown = Prose::own(words::UNKNOWN);
            return words::only_where(is_unknown && is_measured, || unknown.into());
        };
        let is_over = self.shown_verdict() == Verdict::Exceeded;
        Cell {
            is_strong: self.breach() == Some(column) && is_over,
            ..Cell::figure(point, interval)
        }
    }
}

/// Where there is no room for all columns; time and cost are always there.
const LEAST_FIRST: [Column; 9] = [
    Column::Metric(Metric::StepTime),
    Column::Metric(Metric::IoWait),
    Column::Metric(Metric::CpuUtilization),
    Column::Metric(Metric::CostPerStep),
    Column::Metric(Metric::GpuUtilization),
    Column::Metric(Metric::GpuMemory),
    Column::Efficiency,
    Column::Metric(Metric::Memory),
    Column::VersusBase,
];

/// The least comes first; infinite where it is not known, and 0 of all without a ranking.
fn ranked_by(ranking: Option<Ranking>, forecast: &InstanceForecast) -> f64 {
    let of = |metric: Metric| forecast.estimates[metric].map_or(f64::INFINITY, |it| it.point);
    match ranking {
        None => 0.0,
        Some(Ranking::Cost) => of(Metric::Cost),
        Some(Ranking::Time) => of(Metric::Time),
        // A cost is time x price already.
        Some(Ranking::TimeSquaredPrice) => of(Metric::Time) * of(Metric::Cost),
    }
}

/// The jobs, worst first, else in their order. Drift ranks as its exit code does.
pub(super) fn worst_first<'a>(jobs: impl IntoIterator<Item = &'a JobReport>) -> Vec<&'a JobReport> {
    let mut sorted = Vec::from_iter(jobs);
    sorted.sort_by_key(|job| {
        let is_worse_than_drift = job.verdict <= Verdict::Unknown;
        (!is_worse_than_drift && !job.has_drifted(), job.verdict)
    });
    sorted
}

/// A column appears only where it says something. What is known beside is in [`unshown_figures`].
fn columns(rows: &[ComparisonRow<'_>]) -> Vec<Column> {
    let has_figure = |column: Column| {
        let mut figures = rows.iter().map(|row| column.figure(row.forecast));
        figures.any(|figure| figure.is_some())
    };
    let has_line = |column| rows.iter().any(|row| row.has_line(column));
    let lines = rows.iter().flat_map(|row| &row.forecast.budget);
    let levels: BTreeSet<MetricName> = lines
        .filter_map(|row| match row.line {
            LineKind::Named(name) => Some(name),
            LineKind::Absolute(_) | LineKind::Increase(_) => None,
        })
        .collect();
    Column::all()
        .filter(|&column| match column {
            Column::Metric(Metric::Time) => true,
            Column::Metric(Metric::IoWait) => {
                rows.iter().any(|row| row.any_line(column, is_in_question))
            }
            _ => has_figure(column) || has_line(column),
        })
        .chain(levels.into_iter().map(Column::Level))
        .collect()
}

/// What the canaries of other configurations say about one that was not measured, by its worst line, else by its memory:
/// `memory 2.1x limit` and its chance.
fn known_from_others(forecast: &InstanceForecast) -> Option<(Vec<String>, String)> {
    forecast.estimated_from.as_ref()?;
    let row = decisive_line(forecast).or_else(|| {
        let mut rows = forecast.budget.iter();
        rows.find(|row| row.line == LineKind::Absolute(Metric::Memory))
    })?;
    Some((use_of(row, forecast), chance_of(row, forecast)?))
}

#[cfg(test)]
mod tests;
