//! The comparison as a table of a document.

use super::super::document::{Align, Cell, Table, TableColumn, TableRow};
use super::super::mark::Mark;
use super::super::text::Prose;
use super::super::words;
use super::super::{JobReport, many_jobs};
use super::{Column, Comparison, ComparisonRow, Figure};
use crate::metric::Metric;
use crate::verdict::Verdict;

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

impl Comparison<'_> {
    /// `None` without rows. With several jobs the second column names the job.
    pub(in super::super) fn table(&self, several_jobs: bool) -> Option<Table> {
        self.table_of(self.rows.iter().collect(), several_jobs)
    }

    /// Of many jobs the rows that somebody has to look at, and all others.
    pub(in super::super) fn tables_of_many(
        &self,
        jobs: &[&JobReport],
    ) -> (Option<Table>, Option<Table>) {
        let is_failing = |row: &ComparisonRow<'_>| {
            let mut jobs = jobs.iter();
            let job = jobs.find(|job| job.name == row.job);
            row.verdict == Verdict::AtRisk || job.is_some_and(|job| many_jobs::is_failing(job))
        };
        let mut shown = Vec::new();
        let mut folded = Vec::new();
        for row in &self.rows {
            match row.is_judged && is_failing(row) && shown.len() < many_jobs::ROWS_SHOWN {
                true => shown.push(row),
                false => folded.push(row),
            }
        }
        (self.table_of(shown, true), self.table_of(folded, true))
    }

    fn table_of(&self, rows: Vec<&ComparisonRow<'_>>, several_jobs: bool) -> Option<Table> {
        let words = |title: &'static str, is_evident: bool| TableColumn {
            title: Prose::own(title),
            align: Align::Left,
            is_evident,
            weight: None,
        };
        let mut columns = vec![words("Verdict", true)];
        if several_jobs {
            columns.push(words("Job", false));
        }
        columns.push(words("Instance", false));
        columns.extend(self.columns.iter().map(|column| TableColumn {
            title: Prose::figure(self.title(*column)),
            align: Align::Right,
            is_evident: false,
            weight: self.weight(*column),
        }));
        let rows: Vec<TableRow> = rows
            .into_iter()
            .map(|row| TableRow {
                cells: self.cells(row, several_jobs),
                is_judged: row.is_judged,
            })
            .collect();
        (!rows.is_empty()).then_some(Table { columns, rows })
    }

    /// A column on which a verdict rests stays.
    fn weight(&self, column: Column) -> Option<usize> {
        let is_decisive = self.rows.iter().any(|row| row.decisive == Some(column));
        let mut weights = LEAST_FIRST.iter();
        weights.position(|least| *least == column && !is_decisive)
    }

    fn cells(&self, row: &ComparisonRow<'_>, several_jobs: bool) -> Vec<Cell> {
        let (what, detail) = &row.standing;
        // What no canary showed gets no tick; of the row that decides a warning stays one.
        let is_shown = row.is_measured || row.is_judged && row.verdict != Verdict::Within;
        let verdict = match is_shown {
            true => row.verdict,
            false => Verdict::NotJudged,
        };
        let mut cells = vec![Cell {
            mark: Some(Mark::from(verdict)),
            text: Prose::few_words(what),
            detail: detail.as_deref().map(Prose::few_words),
            is_strong: verdict == Verdict::Exceeded,
        }];
        if several_jobs {
            cells.push(Cell::from(Prose::literal(row.job)));
        }
        cells.push(Cell {
            is_strong: row.is_judged && self.rows.len() > 1,
            ..Cell::from(Prose::bare_name(row.instance.as_str()))
        });
        let figures = self.columns.iter().zip(&row.figures);
        cells.extend(figures.map(|(column, figure)| {
            let is_decisive = row.decisive == Some(*column);
            figure_cell(row, figure.as_ref(), is_decisive)
        }));
        cells
    }
}

fn figure_cell(row: &ComparisonRow<'_>, figure: Option<&Figure>, is_decisive: bool) -> Cell {
    let Some(figure) = figure else {
        return match row.is_measured {
            true => Cell::from(Prose::own(words::UNKNOWN)),
            false => Cell::default(),
        };
    };
    Cell {
        is_strong: (is_decisive || figure.is_strong) && row.verdict == Verdict::Exceeded,
        detail: figure.interval.as_deref().map(Prose::figure),
        ..Cell::from(Prose::figure(figure.point.as_str()))
    }
}
