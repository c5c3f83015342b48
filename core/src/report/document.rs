//! The page of a report as a value: what is said, and how each part is meant. A renderer lays it out and escapes, and no
//! more.

use super::chart::Chart;
use super::label::Label;
use super::mark::Mark;
use super::text::{Prose, Verbatim};

/// How much of a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportDepth {
    /// A few lines for each job.
    #[default]
    Brief,
    /// Also the laws, prices, notes and causes.
    Whole,
}

/// A page, from top to bottom. A reader decides from the headlines and the table; the rest is explanation.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Document {
    /// Worst first.
    pub(super) headlines: Vec<Headline>,
    /// What a reader must not miss about them.
    pub(super) warnings: Vec<Prose>,
    /// What each instance configuration would take.
    pub(super) table: Option<Table>,
    /// What stands in the place of a forecast or beside it, such as why something could not be checked.
    pub(super) blocks: Vec<Block>,
    /// What a reader must know beside the table, as one paragraph.
    pub(super) remarks: Vec<DocumentLine>,
    /// What is missing, where the length is limited.
    pub(super) left_out: Option<DocumentLine>,
    pub(super) folds: Vec<Fold>,
    /// What it was made from.
    pub(super) footer: Prose,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Headline {
    pub(super) mark: Mark,
    pub(super) text: Prose,
}

/// A sentence or a few of one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentLine {
    pub(super) label: Label,
    /// The names of the job and the instances that it concerns, where there are several.
    pub(super) about: Vec<Prose>,
    /// Empty where the next block says it.
    pub(super) text: Prose,
}

impl DocumentLine {
    pub(super) fn new(label: Label, text: Prose) -> Self {
        let about = Vec::new();
        Self { label, about, text }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Headline(Headline),
    /// One paragraph, each in a line of its own.
    Lines(Vec<DocumentLine>),
    List(Vec<DocumentLine>),
    Table(Table),
    Chart(Chart),
    /// The problems that an excerpt of a file shows.
    Problems(Verbatim),
    /// Lines to paste.
    Paste(Verbatim),
}

/// A part that is folded where a page can fold; never without content.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) title: &'static str,
    /// The whole in a few words, after the title.
    pub(super) detail: Prose,
    pub(super) blocks: Vec<Block>,
}

/// What is folded. Where the length is limited, the first goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FoldKind {
    Canaries,
    Hosts,
    Budget,
    Law,
    Cautions,
    Drift,
    /// Lines to paste that agree to an overrun.
    Agreement,
    /// What is said of each job, where there are many.
    Remarks,
    /// Rows of the table, where many jobs are in it.
    Rows,
}

/// A table of texts and numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) columns: Vec<TableColumn>,
    /// Each has a cell for each column.
    pub(super) rows: Vec<TableRow>,
}

impl Table {
    pub(super) fn of(
        columns: impl IntoIterator<Item = TableColumn>,
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> Self {
        let row = |cells| TableRow {
            cells,
            is_judged: false,
        };
        Self {
            columns: columns.into_iter().collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// Without the columns in which no row says anything.
    pub(super) fn without_empty_columns(mut self) -> Self {
        for place in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row.cells[place].text.is_empty()) {
                self.columns.remove(place);
                for row in &mut self.rows {
                    row.cells.remove(place);
                }
            }
        }
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableColumn {
    pub(super) title: Prose,
    pub(super) align: Align,
    /// Whether the cells say what they are, so that a narrow page needs no title.
    pub(super) is_evident: bool,
    /// Where there is no room for all columns, the lowest goes first; `None` stays.
    pub(super) weight: Option<usize>,
}

impl TableColumn {
    pub(super) fn new(title: impl Into<String>, align: Align) -> Self {
        Self {
            title: Prose::figure(title),
            align,
            is_evident: false,
            weight: None,
        }
    }
}

/// Words stand left, numbers right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableRow {
    pub(super) cells: Vec<Cell>,
    /// A verdict rests on it: where there is no room for all rows, it stays longest.
    pub(super) is_judged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cell {
    pub(super) mark: Option<Mark>,
    pub(super) text: Prose,
    /// An interval or a chance, below the text or after it.
    pub(super) detail: Option<Prose>,
    pub(super) is_strong: bool,
}

impl From<Prose> for Cell {
    fn from(text: Prose) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl Cell {
    /// A figure, and what is said of it below.
    pub(super) fn figure(figure: impl Into<String>, detail: Option<String>) -> Self {
        Self {
            detail: detail.map(Prose::figure),
            ..Self::from(Prose::figure(figure))
        }
    }
}

/// A table as it is made: titles and rows of plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) columns: Vec<(&'static str, Align)>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Grid {
    /// Leaves out the columns in which no row says anything.
    pub(super) fn without_empty_columns(self) -> Self {
        let Self { columns, rows } = self;
        let is_said = |index: usize| rows.iter().any(|row| !row[index].is_empty());
        let kept: Vec<usize> = (0..columns.len()).filter(|index| is_said(*index)).collect();
        let cells = |row: &Vec<String>| kept.iter().map(|index| row[*index].clone()).collect();
        Self {
            columns: kept.iter().map(|index| columns[*index]).collect(),
            rows: rows.iter().map(cells).collect(),
        }
    }

    /// `None` without rows.
    pub(super) fn table(self) -> Option<Table> {
        if self.rows.is_empty() {
            return None;
        }
        let aligned = |text: String, align: Align| match align {
            Align::Left => Prose::literal(text),
            Align::Right => Prose::figure(text),
        };
        let rows = self.rows.into_iter().map(|row| {
            let cells = row.into_iter().zip(&self.columns);
            let cells = cells.map(|(text, (_, align))| Cell::from(aligned(text, *align)));
            cells.collect()
        });
        let columns = self.columns.iter();
        let columns = columns.map(|(title, align)| TableColumn::new(*title, *align));
        Some(Table::of(columns, rows))
    }
}
