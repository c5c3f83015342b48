//! The document of each job for a terminal or a log, one after the other.

use comfy_table::{Attribute, Color, ContentArrangement};

pub use super::document::ReportDepth;
use super::document::{
    Block, Cell, Document, DocumentLine, Fold, FoldKind, Headline, Table, Title,
};
use super::mark::Tone;
use super::{Label, Prose, Report, compose, failures, words};
use crate::grammar::wrap;
use crate::secret::unseen::without_commands;
use crate::verdict::Verdict;

/// How the terminal takes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TerminalStyle {
    pub colours: bool,
    /// In columns; absent where tables need not be fitted, as in a file.
    pub width: Option<u16>,
    pub depth: ReportDepth,
}

/// Names of the lines below a table stand in a column of this width.
const LABEL_WIDTH: usize = 10;
/// Characters of a verdict in a table's cell.
const VERDICT_LIMIT: usize = 44;
/// Of what stands with it.
const DETAIL_LIMIT: usize = 40;
/// The same where the table is made narrow.
const NARROW_DETAIL_LIMIT: usize = 24;
/// Of a name there.
const NARROW_NAME_LIMIT: usize = 30;
/// Longest name and detail where no column more can go.
const SHORTEST_LIMIT: usize = 16;
/// Prose is hard to read in longer lines, however wide the terminal.
const PROSE_WIDTH: u16 = 120;
/// Of one problem of a file, and of what is to be pasted.
const EXCERPT_LINES: usize = 20;
const INDENT: &str = "  ";

/// The whole report, ending with the exit code and its reason. Text in it that came from a pull request cannot move the
/// cursor, change colours, or speak to the runner of GitHub Actions.
pub fn render(report: &Report, style: TerminalStyle) -> String {
    let mut page = TerminalPage::new(style);
    page.push_document(&compose::for_terminal(report, style.depth));
    let tone = match (report.exit_code, report.verdict) {
        _ if failures::has_only_failures(report) => Tone::Bad,
        (0, Verdict::Within) => Tone::Good,
        (0, Verdict::NotJudged) => Tone::Plain,
        (0, _) => Tone::Doubtful,
        _ => Tone::Bad,
    };
    page.text.push('\n');
    page.push_toned(&words::closing(report), tone);
    page.text
}

/// A piece of a line.
pub(super) fn inline(text: &Prose) -> String {
    within(text, usize::MAX)
}

/// Of each piece at most `limit` characters.
fn within(text: &Prose, limit: usize) -> String {
    // Two harmless pieces may be a command together.
    without_commands(&text.flattened(|text| text.for_terminal(limit)))
}

/// The tone's colour in a table, and with bold in a line.
fn colour(tone: Tone) -> (Option<Color>, &'static str) {
    match tone {
        Tone::Good => (Some(Color::DarkGreen), "1;32"),
        Tone::Bad => (Some(Color::DarkRed), "1;31"),
        Tone::Doubtful => (Some(Color::DarkYellow), "1;33"),
        Tone::Plain => (None, "1"),
    }
}

/// Bold, in the tone's colour.
fn paint(text: &str, tone: Tone, style: TerminalStyle) -> String {
    if !style.colours {
        return text.to_owned();
    }
    let (_, code) = colour(tone);
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// What is laid out so far.
struct TerminalPage {
    text: String,
    style: TerminalStyle,
}

impl TerminalPage {
    fn new(style: TerminalStyle) -> Self {
        let text = String::new();
        Self { text, style }
    }

    fn push_document(&mut self, document: &Document) {
        let warnings = document.warnings.iter();
        let headlines = document.headlines.iter().chain(warnings);
        headlines.for_each(|headline| self.push_headline(headline));
        let has_more =
            document.table.is_some() || !document.blocks.is_empty() || !document.remarks.is_empty();
        if !document.headlines.is_empty() && has_more {
            self.text.push('\n');
        }
        if let Some(table) = &document.table {
            self.push_table(table);
        }
        let blocks = document.blocks.iter();
        blocks.for_each(|block| self.push_block(block));
        self.push_lines(&document.remarks);
        document.folds.iter().for_each(|fold| self.push_fold(fold));
        if let Some(left_out) = &document.left_out {
            self.text.push('\n');
            self.push_lines(std::slice::from_ref(left_out));
        }
    }

    fn push_headline(&mut self, Headline { mark, text }: &Headline) {
        self.push_toned(&format!("{} {}", mark.sign, inline(text)), mark.tone);
    }

    fn push_toned(&mut self, said: &str, tone: Tone) {
        let lines = wrap(said, prose_width(self.style), INDENT.len()).into_iter();
        let painted = lines.map(|line| paint(&line, tone, self.style) + "\n");
        self.text.extend(painted);
    }

    fn push_block(&mut self, block: &Block) {
        match block {
            Block::Headline(headline) => self.push_headline(headline),
            Block::Lines(lines) | Block::List(lines) => self.push_lines(lines),
            Block::Table(table) => self.push_table(table),
            Block::Plot(_) => {}
            Block::Problems(excerpt) => {
                for problem in excerpt.for_terminal() {
                    let mut lines = problem.into_iter();
                    self.push_labelled("why", &lines.next().unwrap_or_default());
                    // The lines of an excerpt belong below each other as they are.
                    self.push_excerpt("", lines);
                }
            }
            // Further in, each in a line of its own however long it is.
            Block::Paste(excerpt) => {
                self.push_excerpt("    ", excerpt.for_terminal().into_iter().flatten());
            }
        }
    }

    /// Of what a page folds only the lines, and the rows of jobs: other tables and charts would be scrolled past.
    fn push_fold(&mut self, fold: &Fold) {
        match fold.kind {
            FoldKind::Canaries => self.push_labelled("canaries", &inline(&fold.detail)),
            FoldKind::Law | FoldKind::Cautions | FoldKind::Rows | FoldKind::Remarks => {
                fold.blocks.iter().for_each(|block| self.push_block(block));
            }
            FoldKind::Compared
            | FoldKind::Change
            | FoldKind::Agreement
            | FoldKind::Budget
            | FoldKind::Drift => {}
        }
    }

    fn push_lines(&mut self, lines: &[DocumentLine]) {
        let is_said =
            |line: &&DocumentLine| !line.text.is_empty() && line.label != Label::EXIT_CODE;
        for line in lines.iter().filter(is_said) {
            let about = Prose::joined(line.about.iter().cloned(), ", ");
            let said = Prose::joined([about, line.text.clone()], ": ");
            self.push_labelled(line.label.word, &inline(&said));
        }
    }

    fn push_excerpt(&mut self, indent: &str, lines: impl Iterator<Item = String>) {
        for line in lines.take(EXCERPT_LINES) {
            self.push_line("", &format!("{indent}{line}"));
        }
    }

    fn push_line(&mut self, label: &str, line: &str) {
        self.text += &format!("{INDENT}{label:LABEL_WIDTH$}{line}\n");
    }

    /// `  canaries  5 runs, …`, continued below the text.
    fn push_labelled(&mut self, mut label: &str, content: &str) {
        let hanging = INDENT.len() + LABEL_WIDTH;
        let width = prose_width(self.style).saturating_sub(hanging);
        for line in wrap(content, width, 0) {
            self.push_line(label, &line);
            label = "";
        }
    }

    fn push_table(&mut self, table: &Table) {
        let (fitted, left_out) = fitted_table(table, self.style);
        self.text.extend([fitted.as_str(), "\n"]);
        if !left_out.is_empty() {
            let titles = left_out.iter().map(|index| &table.columns[*index].title);
            let titles = words::joined(titles.map(inline), ", ");
            self.push_labelled("more", &(titles + ": in a wider terminal"));
        }
    }
}

/// A line for each record, with as many columns as there is room for: the first of the expendable ones goes first. What is left out is
/// said. Texts may hold anything.
pub fn records(
    columns: &[&'static str],
    rows: impl Iterator<Item = Vec<String>>,
    expendable: &[&str],
    style: TerminalStyle,
) -> String {
    let cell = |text| Cell::from(Prose::at_most(text, DETAIL_LIMIT));
    let rows = rows.map(|texts| texts.into_iter().map(cell).collect());
    let mut table = Table::of(columns.iter().copied().map(Title::Words), rows);
    for (column, title) in table.columns.iter_mut().zip(columns) {
        column.weight = expendable.iter().position(|one| one == title);
    }
    let mut page = TerminalPage::new(style);
    page.push_table(&table);
    page.text
}

/// A table for itself, however wide.
pub(super) fn table(table: &Table) -> String {
    fitted_table(table, TerminalStyle::default()).0
}

/// The widest form of the table that fits: intervals beside their numbers, else below them, else each part of a cell below the
/// others, else without the columns that decide least, else with short names. Returns the columns left out.
fn fitted_table(table: &Table, style: TerminalStyle) -> (String, Vec<usize>) {
    let mut columns: Vec<usize> = (0..table.columns.len()).collect();
    let (mut details, mut left_out) = (Details::Beside, Vec::new());
    loop {
        let plain = in_form(table, &columns, details, TerminalStyle::default());
        let width = plain.lines().map(|line| line.chars().count()).max();
        let fits = style.width.is_none_or(|most| width <= Some(most.into()));
        let weighed = columns.iter().enumerate();
        let weighed =
            weighed.filter_map(|(place, &index)| Some((table.columns[index].weight?, place)));
        match (details, weighed.min()) {
            _ if fits => break,
            (Details::Beside, _) => details = Details::Below,
            (Details::Below, _) => details = Details::AllBelow,
            (Details::AllBelow, Some((_, place))) => left_out.push(columns.remove(place)),
            (Details::AllBelow, None) => details = Details::Shortest,
            // Nothing more can go: the terminal will break the lines.
            (Details::Shortest, _) => break,
        }
    }
    (in_form(table, &columns, details, style), left_out)
}

/// Where an interval or a chance stands, and what a share is of or a further group of machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Details {
    Beside,
    Below,
    /// Each part of a cell below the others too.
    AllBelow,
    /// As [`Self::AllBelow`], with short names.
    Shortest,
}

/// The table as text, with these of its columns.
fn in_form(table: &Table, columns: &[usize], details: Details, style: TerminalStyle) -> String {
    let mut shown = comfy_table::Table::new();
    // Without this the table would ask the process's own terminal.
    shown.force_no_tty();
    if style.colours {
        shown.enforce_styling();
    }
    shown
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    let mut is_said = false;
    let titles = columns.iter().map(|index| {
        let mut heading = table.columns[*index].heading();
        // The first column says it of all: there is no room for more.
        match is_said {
            true => heading.detail = None,
            false => is_said = heading.detail.is_some(),
        }
        cell(&heading, details).add_attribute(Attribute::Dim)
    });
    shown.set_header(titles);
    for row in &table.rows {
        let cells = columns.iter().map(|index| &row.cells[*index]);
        shown.add_row(cells.map(|one| cell(one, details)));
    }
    for column in shown.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let indented = |line: String| format!("{INDENT}{}\n", line.trim_end());
    shown.lines().map(indented).collect()
}

fn cell(cell: &Cell, details: Details) -> comfy_table::Cell {
    let (between, limit, of_detail) = match details {
        Details::Beside => (" ", usize::MAX, DETAIL_LIMIT),
        Details::Below => (" ", usize::MAX, NARROW_DETAIL_LIMIT),
        Details::AllBelow => ("\n", NARROW_NAME_LIMIT, NARROW_DETAIL_LIMIT),
        Details::Shortest => ("\n", SHORTEST_LIMIT, SHORTEST_LIMIT),
    };
    let limit = cell.mark.map_or(limit, |_| VERDICT_LIMIT);
    let parts = cell.text.parts().map(|part| within(&part, limit));
    let mut text = words::joined(parts, between);
    if let Some(mark) = cell.mark {
        text = format!("{} {text}", mark.sign);
    }
    if let Some(detail) = &cell.detail {
        let detail = within(detail, of_detail);
        text = match (details, cell.mark) {
            (Details::Beside, Some(_)) => format!("{text}, {detail}"),
            (Details::Beside, None) => format!("{text} ({detail})"),
            _ => format!("{text}\n{detail}"),
        };
    }
    let mut shown = comfy_table::Cell::new(text);
    if let Some(colour) = cell.mark.and_then(|mark| colour(mark.tone).0) {
        shown = shown.fg(colour);
    }
    if cell.is_strong {
        shown = shown.add_attribute(Attribute::Bold);
    }
    shown
}

fn prose_width(style: TerminalStyle) -> usize {
    style.width.unwrap_or(PROSE_WIDTH).min(PROSE_WIDTH).into()
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn plain(width: Option<u16>) -> TerminalStyle {
        TerminalStyle {
            colours: false,
            width,
            depth: ReportDepth::Whole,
        }
    }

    fn brief(width: u16) -> TerminalStyle {
        TerminalStyle {
            depth: ReportDepth::Brief,
            ..plain(Some(width))
        }
    }

    #[test]
    fn every_sample_in_brief_at_eighty_columns() {
        for (name, report) in samples::all() {
            insta::assert_snapshot!(format!("brief_{name}"), render(&report, brief(80)));
        }
    }

    #[test]
    fn many_configurations_and_canaries_stay_a_screen() {
        let mut report = samples::of("over-budget");
        let job = &mut report.jobs[0];
        let one = job.forecasts[1].clone();
        job.forecasts.extend(vec![one; 50]);
        let one = job.measurements[0].clone();
        job.measurements.extend(vec![one; 1000]);
        insta::assert_snapshot!("brief_many", render(&report, brief(80)));
    }

    #[test]
    fn many_jobs_are_a_table_and_the_worst_of_them() {
        let mut report = samples::of("two_jobs");
        for number in 0..20 {
            let mut job = report.jobs[number % 2].clone();
            job.name = format!("job-{number}");
            report.jobs.push(job);
        }
        insta::assert_snapshot!("brief_many_jobs", render(&report, brief(80)));
    }

    #[test]
    fn every_sample_at_one_hundred_columns() {
        for (name, report) in samples::all() {
            insta::assert_snapshot!(name, render(&report, plain(Some(100))));
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for (name, report) in samples::all() {
            // The columns of several jobs need more.
            for width in [if name == "at_risk" { 60 } else { 80 }, 100, 140] {
                for style in [plain(Some(width)), brief(width)] {
                    let text = render(&report, style);
                    let widest = text.lines().map(|line| line.chars().count()).max();
                    assert!(widest <= Some(width.into()), "{name} at {width}:\n{text}");
                }
            }
        }
    }

    #[test]
    fn colours_add_nothing_but_colours() {
        for (name, report) in samples::all() {
            let style = TerminalStyle {
                colours: true,
                ..plain(Some(100))
            };
            let coloured = render(&report, style);
            assert!(coloured.contains("\u{1b}["), "{name}");
            let bare: Vec<String> = coloured
                .lines()
                .map(without_colours)
                .map(|line| line.trim_end().to_owned())
                .collect();
            let expected = render(&report, plain(Some(100)));
            assert_eq!(bare, expected.lines().collect::<Vec<_>>(), "{name}");
        }
    }

    /// Drops `ESC [ … m`.
    fn without_colours(line: &str) -> String {
        let mut parts = line.split("\u{1b}[");
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = parts.map(|part| part.split_once('m').unwrap().1);
        rest.fold(first, |text, part| text + part)
    }

    #[test]
    fn other_widths() {
        insta::assert_snapshot!(
            "churn_140",
            render(&samples::of("over-budget"), plain(Some(140)))
        );
        insta::assert_snapshot!("gpu_80", render(&samples::of("gpu"), plain(Some(80))));
        insta::assert_snapshot!(
            "churn_file",
            render(&samples::of("over-budget"), plain(None))
        );
    }
}
