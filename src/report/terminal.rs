//! The report for a terminal or a log: the same facts as the Markdown, each job as a block of its own.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};

use super::background;
use super::canaries;
use super::change::{self, Setting};
use super::comparison::{self, Column, Comparison, Figure, Row};
use super::drift;
use super::escape::{LINE_LIMIT, NAME_LIMIT, PARAGRAPH_LIMIT, for_terminal, lines_for_terminal};
use super::failures::{self, CAUSES_SHOWN};
use super::help::{self, Piece};
use super::recommendation;
use super::{Failure, JobReport, Report, words};
use crate::verdict::Verdict;

/// How the terminal takes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TerminalStyle {
    pub colours: bool,
    /// In columns; absent where tables need not be fitted, as in a file.
    pub width: Option<u16>,
}

/// Names of the lines below a table stand in a column of this width.
const LABEL_WIDTH: usize = 10;
/// Words in a table's cell.
const CELL_LIMIT: usize = 40;
/// The same where the table is made narrow.
const NARROW_CELL_LIMIT: usize = 24;
/// Prose is hard to read in longer lines, however wide the terminal.
const PROSE_WIDTH: usize = 120;
/// Of one cause of a failure.
const EXCERPT_LINES: usize = 20;
const INDENT: &str = "  ";

/// The whole report, ending with the exit code and its reason. Text in it that came from a pull request cannot move the
/// cursor, change colours, or speak to the runner of GitHub Actions.
pub fn render(report: &Report, style: TerminalStyle) -> String {
    let mut text = String::new();
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    if jobs.is_empty() && report.notes.is_empty() && report.failures.is_empty() {
        text.push_str("nothing to judge\n\n");
    }
    for job in comparison::worst_first(&jobs) {
        push_job(&mut text, job, style);
        text.push('\n');
    }
    push_failures(&mut text, report, style);
    for note in &report.notes {
        push_labelled(&mut text, "note", &prose(note), style);
    }
    if !report.notes.is_empty() {
        text.push('\n');
    }
    let closing = words::closing(report);
    let tone = match (report.exit_code, report.verdict) {
        _ if failures::has_only_failures(report) => Tone::Bad,
        (0, Verdict::Within) => Tone::Good,
        (0, Verdict::NotJudged) => Tone::Plain,
        (0, _) => Tone::Doubtful,
        _ => Tone::Bad,
    };
    text.push_str(&paint(&closing, tone, style));
    text.push('\n');
    text
}

fn prose(text: &str) -> String {
    for_terminal(text, LINE_LIMIT)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tone {
    Good,
    Bad,
    Doubtful,
    Plain,
}

impl Tone {
    fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Exceeded | Verdict::Failed => Self::Bad,
            Verdict::Unknown | Verdict::AtRisk => Self::Doubtful,
            Verdict::Within => Self::Good,
            Verdict::NotJudged => Self::Plain,
        }
    }

    fn colour(self) -> Option<Color> {
        match self {
            Self::Good => Some(Color::DarkGreen),
            Self::Bad => Some(Color::DarkRed),
            Self::Doubtful => Some(Color::DarkYellow),
            Self::Plain => None,
        }
    }
}

/// Bold, in the tone's colour.
fn paint(text: &str, tone: Tone, style: TerminalStyle) -> String {
    if !style.colours {
        return text.to_owned();
    }
    let code = match tone {
        Tone::Good => "1;32",
        Tone::Bad => "1;31",
        Tone::Doubtful => "1;33",
        Tone::Plain => "1",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// What a job's verdict is; where it was checked for drift, what that found.
fn headlines(job: &JobReport) -> Vec<(String, Tone)> {
    let name = for_terminal(&job.name, NAME_LIMIT);
    let mut headlines = Vec::new();
    if words::tells_verdict(job) {
        let shown = words::shown_verdict(job.verdict, job.forecasts.first());
        let sign = words::sign(shown);
        let mut headline = format!("{sign} {name} {}", words::job_phrase(job));
        if !job.reason.is_empty() {
            headline.push_str(": ");
            headline.push_str(&prose(&job.reason));
        }
        headlines.push((headline, Tone::of(shown)));
    }
    if let Some(drift) = &job.drift {
        let sign = drift::sign(drift);
        let headline = format!("{sign} {name} {}", prose(&drift::headline(job, drift)));
        let tone = if drift.drifted { Tone::Bad } else { Tone::Good };
        headlines.push((headline, tone));
    }
    if job.verdict == Verdict::AtRisk && job.has_drifted() {
        headlines.reverse();
    }
    headlines
}

/// The change against the base, or what a check for drift found.
fn push_change(text: &mut String, job: &JobReport, style: TerminalStyle) {
    let Some(drift) = &job.drift else {
        let name = |name: &str| for_terminal(name, NAME_LIMIT);
        let commit = |sha: &str| for_terminal(&sha.chars().take(7).collect::<String>(), NAME_LIMIT);
        let setting = Setting {
            name: &name,
            commit: &commit,
        };
        if let Some(said) = change::said(job, &setting) {
            let label = if said.explains { "why" } else { "change" };
            push_labelled(text, label, &said.text, style);
        }
        return;
    };
    for (index, sentence) in drift::sentences(drift).iter().enumerate() {
        let label = match index {
            0 if drift::explains(drift) => "why",
            0 => "change",
            _ => "",
        };
        push_labelled(text, label, &prose(sentence), style);
    }
    for (index, row) in drift::causes(drift).rows.iter().enumerate() {
        let label = if index == 0 { "causes" } else { "" };
        let (cause, amounts) = (&row[0], row[1..].join(", "));
        push_labelled(text, label, &prose(&format!("{cause}: {amounts}")), style);
    }
    if let Some(line) = drift::line(drift) {
        push_labelled(text, "checks", &line, style);
    }
}

fn push_job(text: &mut String, job: &JobReport, style: TerminalStyle) {
    for (headline, tone) in headlines(job) {
        for line in wrap(&headline, prose_width(style), INDENT.len()) {
            text.push_str(&paint(&line, tone, style));
            text.push('\n');
        }
    }
    text.push('\n');

    let comparison = Comparison::of(&[job]);
    if !comparison.rows.is_empty() {
        let (table, left_out) = fitted_table(&comparison, style);
        text.push_str(&table);
        text.push('\n');
        if !left_out.is_empty() {
            let titles = left_out.iter().map(|column| comparison.title(*column));
            let columns: Vec<String> = titles
                .map(|title| for_terminal(&title, NAME_LIMIT))
                .collect();
            let hint = format!("{}: in a wider terminal", columns.join(", "));
            push_labelled(text, "more", &hint, style);
        }
    }
    push_change(text, job, style);
    for (what, last_line) in canaries::failures(job) {
        let mut failure = prose(&what);
        if let Some(line) = last_line {
            failure.push_str(": ");
            failure.push_str(&prose(&line));
        }
        push_labelled(text, "failed", &failure, style);
    }
    for line in comparison::further_lines(job) {
        push_labelled(text, "also", &prose(&line), style);
    }
    let name = |instance: &str| for_terminal(instance, NAME_LIMIT);
    if let Some(sentence) = recommendation::sentence(job, name) {
        push_labelled(text, "fits", &sentence, style);
    }
    for advice in &job.advice {
        push_labelled(text, "advice", &prose(advice), style);
    }
    if !job.measurements.is_empty() {
        push_labelled(text, "canaries", &canaries::spend(&[job]), style);
    }
    for (instances, explanation) in background::explanations(job, &comparison.columns) {
        let lead = if job.forecasts.len() > 1 {
            format!("{}: ", instances.join(", "))
        } else {
            String::new()
        };
        let explanation = for_terminal(&format!("{lead}{explanation}"), PARAGRAPH_LIMIT);
        push_labelled(text, "law", &explanation, style);
    }
    for caution in background::cautions(&[job]) {
        let (label, caution) = caution;
        push_labelled(text, label, &prose(&caution), style);
    }
}

/// What could not be checked, each with its way out, and what it has cost where there is no job to tell.
fn push_failures(text: &mut String, report: &Report, style: TerminalStyle) {
    for failure in report.failures.iter().take(failures::SHOWN) {
        push_failure(text, failure, style);
    }
    if let Some(further) = failures::further(report) {
        push_labelled(text, "failures", &further, style);
        text.push('\n');
    }
    if failures::has_only_failures(report) {
        push_labelled(text, "cost", &failures::cost_so_far(report), style);
        text.push('\n');
    }
}

fn push_failure(text: &mut String, failure: &Failure, style: TerminalStyle) {
    let mut headline = words::sign(Verdict::Failed).to_owned();
    headline.push_str(" could not check");
    if let Some(job) = &failure.job {
        headline.push(' ');
        headline.push_str(&for_terminal(job, NAME_LIMIT));
    }
    headline.push_str(": ");
    headline.push_str(&prose(&failure.what));
    for line in wrap(&headline, prose_width(style), INDENT.len()) {
        text.push_str(&paint(&line, Tone::Bad, style));
        text.push('\n');
    }
    text.push('\n');
    push_labelled(text, "while", &prose(&failure.phase), style);
    for cause in failure.causes.iter().take(CAUSES_SHOWN) {
        let mut lines = lines_for_terminal(cause, LINE_LIMIT);
        let first = lines.next().unwrap_or_default();
        push_labelled(text, "why", &first, style);
        // The lines of an excerpt belong below each other as they are.
        for line in lines.take(EXCERPT_LINES) {
            text.push_str(&format!("{INDENT}{:LABEL_WIDTH$}{line}\n", ""));
        }
    }
    if let Some(further) = failures::further_causes(failure) {
        push_labelled(text, "why", &further, style);
    }
    for (index, piece) in help::pieces(failure.help.as_deref().unwrap_or_default())
        .iter()
        .enumerate()
    {
        let label = if index == 0 { "do" } else { "" };
        match piece {
            Piece::Sentences(sentences) => push_labelled(text, label, &prose(sentences), style),
            Piece::Pasted(lines) => push_pasted(text, label, lines),
        }
    }
    text.push('\n');
}

/// Lines to paste stand further in, each in a line of its own however long it is.
fn push_pasted(text: &mut String, label: &str, lines: &[String]) {
    for (index, line) in lines.iter().take(EXCERPT_LINES).enumerate() {
        let label = if index == 0 { label } else { "" };
        let line: String = lines_for_terminal(line, LINE_LIMIT).collect();
        text.push_str(&format!("{INDENT}{label:LABEL_WIDTH$}    {line}\n"));
    }
}

/// The widest form of the table that fits: intervals beside their numbers, else below them, else without the columns
/// that decide least. Returns those left out.
fn fitted_table(comparison: &Comparison<'_>, style: TerminalStyle) -> (String, Vec<Column>) {
    let plain = |form: &Form<'_>| {
        let table = form.table(comparison, TerminalStyle::default());
        table
            .lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0)
    };
    let fits = |form: &Form<'_>| style.width.is_none_or(|width| plain(form) <= width.into());
    let mut columns = comparison.columns.clone();
    let mut intervals = Intervals::Beside;
    let mut left_out = Vec::new();
    loop {
        let form = Form {
            columns: &columns,
            intervals,
        };
        if fits(&form) {
            return (form.table(comparison, style), left_out);
        }
        if intervals == Intervals::Beside {
            intervals = Intervals::Below;
            continue;
        }
        match least_deciding(&columns, comparison) {
            Some(index) => left_out.push(columns.remove(index)),
            // Nothing more can go: the terminal will break the lines.
            None => return (form.table(comparison, style), left_out),
        }
    }
}

fn least_deciding(columns: &[Column], comparison: &Comparison<'_>) -> Option<usize> {
    const LEAST_FIRST: [Column; 8] = [
        Column::Step,
        Column::IoWait,
        Column::Cpu,
        Column::CostPerStep,
        Column::Gpu,
        Column::GpuMemory,
        Column::Memory,
        Column::VersusBase,
    ];
    LEAST_FIRST
        .iter()
        .filter(|column| {
            !comparison
                .rows
                .iter()
                .any(|row| row.decisive == Some(**column))
        })
        .find_map(|column| columns.iter().position(|shown| shown == column))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intervals {
    Beside,
    Below,
}

/// One way to lay the comparison out.
struct Form<'a> {
    columns: &'a [Column],
    intervals: Intervals,
}

impl Form<'_> {
    fn table(&self, comparison: &Comparison<'_>, style: TerminalStyle) -> String {
        let mut table = Table::new();
        // Without this the table would ask the process's own terminal.
        table.force_no_tty();
        if style.colours {
            table.enforce_styling();
        }
        table
            .load_style(comfy_table::presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        let mut header = vec![Cell::new("Verdict"), Cell::new("Instance")];
        let titles = self.columns.iter().map(|column| comparison.title(*column));
        header.extend(titles.map(|title| Cell::new(for_terminal(&title, NAME_LIMIT))));
        let header = header
            .into_iter()
            .map(|cell| cell.add_attribute(Attribute::Dim));
        table.set_header(header);
        for row in &comparison.rows {
            table.add_row(self.row(row, comparison));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
            if column.index >= 2 {
                column.set_cell_alignment(CellAlignment::Left);
            }
        }
        let lines: Vec<String> = table
            .lines()
            .map(|line| format!("{INDENT}{}\n", line.trim_end()))
            .collect();
        lines.concat()
    }

    fn row(&self, row: &Row<'_>, comparison: &Comparison<'_>) -> Vec<Cell> {
        let (what, detail) = &row.standing;
        let sign = if row.is_measured {
            words::sign(row.verdict)
        } else {
            words::sign(Verdict::NotJudged)
        };
        let limit = match self.intervals {
            Intervals::Beside => CELL_LIMIT,
            Intervals::Below => NARROW_CELL_LIMIT,
        };
        let standing = for_terminal(&format!("{sign} {what}"), CELL_LIMIT);
        let detail = detail.as_deref().map(|why| for_terminal(why, limit));
        let standing = self.joined(&standing, detail, ", ", "");
        let mut verdict = Cell::new(standing);
        if row.is_measured
            && let Some(colour) = Tone::of(row.verdict).colour()
        {
            verdict = verdict.fg(colour);
        }
        let instance = for_terminal(&row.instance, NAME_LIMIT);
        let mut instance = Cell::new(match self.intervals {
            Intervals::Beside => instance,
            // Each group of machines on its own line.
            Intervals::Below => instance.replace(" + ", "\n+ "),
        });
        if row.is_judged && comparison.rows.len() > 1 {
            instance = instance.add_attribute(Attribute::Bold);
        }
        let mut cells = vec![verdict, instance];
        for (column, figure) in comparison.columns.iter().zip(&row.figures) {
            if self.columns.contains(column) {
                cells.push(Cell::new(self.figure(row, figure.as_ref())));
            }
        }
        cells
    }

    fn figure(&self, row: &Row<'_>, figure: Option<&Figure>) -> String {
        match figure {
            Some(figure) => self.joined(&figure.point, figure.interval.clone(), " (", ")"),
            None if row.is_measured => words::UNKNOWN.to_owned(),
            None => String::new(),
        }
    }

    fn joined(&self, first: &str, second: Option<String>, open: &str, close: &str) -> String {
        match (second, self.intervals) {
            (None, _) => first.to_owned(),
            (Some(second), Intervals::Beside) => format!("{first}{open}{second}{close}"),
            (Some(second), Intervals::Below) => format!("{first}\n{second}"),
        }
    }
}

fn prose_width(style: TerminalStyle) -> Option<usize> {
    let width = style
        .width
        .map_or(PROSE_WIDTH, |width| usize::from(width).min(PROSE_WIDTH));
    Some(width)
}

/// `  canaries  5 runs, …`, continued below the text.
fn push_labelled(text: &mut String, label: &str, content: &str, style: TerminalStyle) {
    let hanging = INDENT.len() + LABEL_WIDTH;
    let width = prose_width(style).map(|width| width.saturating_sub(hanging));
    for (index, line) in wrap(content, width, 0).into_iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        text.push_str(&format!("{INDENT}{label:LABEL_WIDTH$}{line}\n"));
    }
}

/// Breaks at spaces; lines after the first are indented. A longer word stays whole, so that no part of it comes to
/// stand at the start of a line.
fn wrap(text: &str, width: Option<usize>, indent: usize) -> Vec<String> {
    let Some(width) = width else {
        return vec![text.to_owned()];
    };
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let length = line.chars().count() + 1 + word.chars().count();
        if !line.trim().is_empty() && length > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn plain(width: Option<u16>) -> TerminalStyle {
        TerminalStyle {
            colours: false,
            width,
        }
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
            for width in [80, 100, 140] {
                let text = render(&report, plain(Some(width)));
                let widest = text.lines().map(|line| line.chars().count()).max();
                assert!(widest <= Some(width.into()), "{name} at {width}:\n{text}");
            }
        }
    }

    #[test]
    fn colours_add_nothing_but_colours() {
        for (name, report) in samples::all() {
            let style = TerminalStyle {
                colours: true,
                width: Some(100),
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
        insta::assert_snapshot!("churn_80", render(&samples::churn(), plain(Some(80))));
        insta::assert_snapshot!("churn_140", render(&samples::churn(), plain(Some(140))));
        insta::assert_snapshot!("gpu_80", render(&samples::gpu(), plain(Some(80))));
        insta::assert_snapshot!("churn_file", render(&samples::churn(), plain(None)));
    }
}
