//! The page of a report as a value: what is said, and how each part is meant. A renderer lays it out and escapes, and no
//! more.

use std::collections::HashSet;

use super::label::{Label, Lead};
use super::plot::Plot;
use super::text::{Prose, Verbatim};
use super::words::only_where;
use super::{JobReport, Mark, Report};

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
    /// What the page is and of what, in small letters where a page stands among others.
    pub(super) opening: Prose,
    /// Worst first.
    pub(super) headlines: Vec<Headline>,
    /// What a reader must not miss about them.
    pub(super) warnings: Vec<Headline>,
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

impl Headline {
    pub(super) fn of(mark: impl Into<Mark>, text: Prose) -> Self {
        let mark = mark.into();
        Self { mark, text }
    }
}

/// A sentence or a few of one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentLine {
    pub(super) label: Label,
    /// The names of the job and the instances that it concerns, where there are several.
    pub(super) about: Vec<Prose>,
    /// Empty where the next block says it.
    pub(super) text: Prose,
    /// Whether a brief report has it.
    pub(super) is_brief: bool,
}

impl DocumentLine {
    /// One that goes on with the one before.
    pub(super) fn more(text: Prose) -> Self {
        Self::new(Label::MORE, text)
    }

    pub(super) fn new(label: Label, text: Prose) -> Self {
        Self {
            label,
            about: Vec::new(),
            text,
            is_brief: label.is_brief,
        }
    }

    /// What stands before all else in a paragraph or a list.
    pub(super) fn strong(&self) -> Option<&'static str> {
        match self.label.lead {
            Lead::Strong(words) => Some(words),
            Lead::Words(_) | Lead::Nothing => None,
        }
    }

    /// The names, the label's words and the text.
    pub(super) fn said(&self) -> Prose {
        let names = Prose::joined(self.about.iter().cloned(), ", ");
        let words = match self.label.lead {
            Lead::Words(words) => Prose::own(words),
            Lead::Strong(_) | Lead::Nothing => Prose::default(),
        };
        Prose::joined([names, words, self.text.clone()], ": ")
    }

    pub(super) fn about(mut self, names: impl IntoIterator<Item = Prose>) -> Self {
        self.about.extend(names);
        self
    }

    /// Has it in a brief report only where this holds.
    pub(super) fn brief_where(mut self, is_brief: bool) -> Self {
        self.is_brief = is_brief;
        self
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Headline(Headline),
    /// One paragraph, each in a line of its own.
    Lines(Vec<DocumentLine>),
    List(Vec<DocumentLine>),
    Table(Table),
    Plot(Box<Plot>),
    /// The problems that an excerpt of a file shows.
    Problems(Verbatim),
    /// Lines to paste.
    Paste(Verbatim),
}

impl Block {
    /// `None` without lines.
    pub(super) fn list(lines: Vec<DocumentLine>) -> Option<Self> {
        (!lines.is_empty()).then_some(Self::List(lines))
    }

    /// A paragraph of one line.
    pub(super) fn line(label: Label, text: Prose) -> Self {
        Self::Lines(vec![DocumentLine::new(label, text)])
    }
}

/// A part that is folded where a page can fold, else a section; never without content.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    /// Its address within a page. Parts that follow each other with one address are one section.
    pub(super) id: String,
    pub(super) title: Prose,
    /// The whole in a few words, after the title.
    pub(super) detail: Prose,
    pub(super) blocks: Vec<Block>,
}

impl Fold {
    /// `None` without content.
    pub(super) fn of(kind: FoldKind, blocks: impl IntoIterator<Item = Block>) -> Option<Self> {
        let blocks: Vec<Block> = blocks.into_iter().collect();
        let (id, title) = kind.names();
        (!blocks.is_empty()).then(|| Self {
            kind,
            id: id.to_owned(),
            title: Prose::own(title),
            detail: Prose::default(),
            blocks,
        })
    }

    pub(super) fn with_detail(self, detail: String) -> Self {
        let detail = Prose::literal(detail);
        Self { detail, ..self }
    }
}

/// What is folded. Where the length is limited, the first goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FoldKind {
    /// Plots of the configurations, on a page alone.
    Compared,
    /// Tables of what a change is made of, on a page alone.
    Change,
    Canaries,
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

impl FoldKind {
    /// The address within a page, and the title.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Compared => ("configurations", "Configurations compared"),
            Self::Change => ("change", "Change against the base"),
            Self::Canaries => ("canaries", "Canaries"),
            Self::Budget => ("budget", "The budget, line by line"),
            Self::Law => ("law", "How the forecast was made"),
            Self::Cautions => ("assumptions", "Prices, assumptions, cautions"),
            Self::Drift => ("drift", "The drift: its causes, and every check"),
            Self::Agreement => (
                "agreement",
                "To accept the overrun until a date: lines for the spec on the base branch",
            ),
            Self::Remarks => ("remarks", "Job by job: why, and what to do"),
            Self::Rows => ("further-rows", "Further rows"),
        }
    }
}

/// The title of a column of a table, by what its cells are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Title<'a> {
    Words(&'a str),
    Numbers(&'a str),
}

impl Title<'_> {
    /// The title with one cell of its column.
    pub(super) fn over<T>(self, cell: T) -> (Self, T) {
        (self, cell)
    }
}

/// A row of plain text, each under its title.
pub(super) type TitledTexts = Vec<(Title<'static>, String)>;

/// A table of texts and numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) columns: Vec<TableColumn>,
    /// Each has a cell for each column.
    pub(super) rows: Vec<TableRow>,
}

impl Table {
    pub(super) fn of<'a>(
        titles: impl IntoIterator<Item = Title<'a>>,
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> Self {
        let row = |cells| TableRow { cells, rank: 0 };
        Self {
            columns: titles.into_iter().map(TableColumn::from).collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// Of rows that have each the same titles, above their cells.
    pub(super) fn titled(rows: impl IntoIterator<Item = Vec<(Title<'static>, Cell)>>) -> Self {
        let rows = rows.into_iter().map(|row| row.into_iter().unzip());
        let (titles, cells): (Vec<Vec<_>>, Vec<Vec<Cell>>) = rows.unzip();
        Self::of(titles.into_iter().next().unwrap_or_default(), cells)
    }

    /// The same of plain text, without the columns in which no row says anything; `None` without rows.
    pub(super) fn of_texts(rows: impl IntoIterator<Item = TitledTexts>) -> Option<Self> {
        let rows: Vec<TitledTexts> = rows.into_iter().collect();
        let is_said = |index: usize| rows.iter().any(|row| !row[index].1.is_empty());
        let kept = Vec::from_iter((0..rows.first()?.len()).filter(|index| is_said(*index)));
        let cell = |(title, text): &(Title<'static>, String)| match title {
            Title::Words(_) => (*title, Prose::literal(text).into()),
            Title::Numbers(_) => (*title, Prose::figure(text).into()),
        };
        let cells = |row: &TitledTexts| kept.iter().map(|index| cell(&row[*index])).collect();
        Some(Self::titled(rows.iter().map(cells)))
    }

    /// The rows of each job, under its name where there are several.
    pub(super) fn of_jobs(
        report: &Report,
        rows: impl Fn(&JobReport) -> Vec<TitledTexts>,
    ) -> Option<Self> {
        Self::of_texts(report.jobs.iter().flat_map(|job| {
            let name = only_where(report.is_of_several_jobs(), || job.name.clone());
            let under = |row| [vec![(Title::Words("Job"), name.clone())], row].concat();
            rows(job).into_iter().map(under).collect::<Vec<_>>()
        }))
    }

    /// Leaves out rows beyond so many, those of the highest rank first and of equal ones the last, and returns how many.
    pub(super) fn keep(&mut self, most: usize) -> usize {
        let before = self.rows.len();
        let mut order: Vec<usize> = (0..before).collect();
        order.sort_by_key(|&place| self.rows[place].rank);
        let dropped: HashSet<usize> = order.into_iter().skip(most).collect();
        let mut places = 0..before;
        (self.rows).retain(|_| places.next().is_none_or(|place| !dropped.contains(&place)));
        before - self.rows.len()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableColumn {
    pub(super) title: Prose,
    /// What the second number of its cells is: `90% interval`.
    pub(super) detail: Option<Prose>,
    /// Words stand left, numbers right.
    pub(super) is_number: bool,
    /// Whether the cells say what they are, so that a narrow page needs no title.
    pub(super) is_evident: bool,
    /// Where there is no room for all columns, the lowest goes first; `None` stays.
    pub(super) weight: Option<usize>,
}

impl From<Title<'_>> for TableColumn {
    fn from(title: Title<'_>) -> Self {
        let (Title::Words(words) | Title::Numbers(words)) = title;
        Self {
            title: Prose::figure(words),
            detail: None,
            is_number: matches!(title, Title::Numbers(_)),
            is_evident: false,
            weight: None,
        }
    }
}

impl TableColumn {
    /// The title above what the second number is.
    pub(super) fn heading(&self) -> Cell {
        Cell {
            detail: self.detail.clone(),
            ..Cell::from(self.title.clone())
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableRow {
    pub(super) cells: Vec<Cell>,
    /// Where there is no room for all rows, the highest goes first; 0 where a verdict rests on the row.
    pub(super) rank: usize,
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
