//! The parts of a document as HTML.

use super::super::chart::{Chart, ChartXAxis};
use super::super::document::{Align, Block, Cell, DocumentLine, Headline, Table, TableRow};
use super::super::label::Lead;
use super::super::mark::{Mark, Tone};
use super::markup::{Markup, element};
use super::plot::{PLOT_LINES, Plot, PlotAxis, PlotColour, PlotMark, PlotShape};
use crate::units::count_as_float;

/// Of the problems of a file.
const PROBLEM_LINES: usize = 200;
/// Of lines to paste.
const PASTED_LINES: usize = 60;
/// Of one such line.
const EXCERPT_LINE_LIMIT: usize = 300;
/// More rows nobody reads; the report's JSON and CSV have them.
const MOST_ROWS: usize = 2_000;

/// `h1` for the page's answer, `p` for others.
pub(in crate::report) fn headline(tag: &'static str, Headline { mark, text }: &Headline) -> Markup {
    marked(tag, "headline", *mark, Markup::prose(text))
}

/// A line with its sign, in the colour of its tone. The sign says nothing that the words do not.
pub(in crate::report) fn marked(
    tag: &'static str,
    class: &str,
    mark: Mark,
    words: Markup,
) -> Markup {
    let sign = element(
        "span",
        &[("aria-hidden", "true")],
        Markup::text(mark.sign()),
    );
    let class = format!("{class} {}", tone(mark));
    element(
        tag,
        &[("class", class.trim())],
        sign.then(Markup::own(" ")).then(words),
    )
}

fn tone(mark: Mark) -> &'static str {
    match mark.tone() {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Doubtful => "doubtful",
        Tone::Plain => "plain",
    }
}

/// `about` names the table for those who do not see where it stands.
pub(in crate::report) fn block(block: &Block, about: &str) -> Markup {
    match block {
        Block::Headline(said) => headline("p", said),
        Block::Lines(text) => lines(text),
        Block::List(items) => list(items),
        Block::Table(grid) => table(grid, about),
        Block::Chart(chart) => plot(chart).figure(),
        Block::Problems(excerpt) => Markup::lines(excerpt, EXCERPT_LINE_LIMIT, PROBLEM_LINES),
        Block::Paste(excerpt) => Markup::lines(excerpt, EXCERPT_LINE_LIMIT, PASTED_LINES),
    }
}

/// Each in a paragraph of its own.
pub(in crate::report) fn lines(lines: &[DocumentLine]) -> Markup {
    let paragraph = |text| element("p", &[], line(text));
    lines.iter().map(paragraph).collect()
}

pub(in crate::report) fn list(lines: &[DocumentLine]) -> Markup {
    let item = |text| element("li", &[], line(text));
    element("ul", &[], lines.iter().map(item).collect())
}

fn line(DocumentLine { label, about, text }: &DocumentLine) -> Markup {
    let names = about.iter().map(Markup::prose);
    let (strong, words) = match label.lead() {
        Lead::Nothing => (None, None),
        Lead::Words(words) => (None, Some(Markup::text(words))),
        Lead::Strong(words) => (Some(element("strong", &[], Markup::text(words))), None),
    };
    let names = joined(names, ", ");
    let rest = [Some(names), words, Some(Markup::prose(text))];
    let rest = joined(rest.into_iter().flatten(), ": ");
    joined([strong, Some(rest)].into_iter().flatten(), " ")
}

/// The pieces that say anything, with words between.
fn joined(pieces: impl IntoIterator<Item = Markup>, between: &'static str) -> Markup {
    let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
    pieces.fold(Markup::default(), |all, piece| match all.is_empty() {
        true => piece,
        false => all.then(Markup::own(between)).then(piece),
    })
}

/// A table that is wider than the screen is scrolled, also by keys.
pub(in crate::report) fn table(table: &Table, about: &str) -> Markup {
    let class = |align: Align| match align {
        Align::Left => "text",
        Align::Right => "number",
    };
    let titles = table.columns.iter().map(|column| {
        let attributes = [("scope", "col"), ("class", class(column.align))];
        element("th", &attributes, Markup::prose(&column.title))
    });
    let titles = element("tr", &[], titles.collect());
    let row = |row: &TableRow| {
        let cells = row.cells.iter().zip(&table.columns);
        let cells = cells
            .map(|(said, column)| element("td", &[("class", class(column.align))], cell(said)));
        element("tr", &[], cells.collect())
    };
    let rows = table.rows.iter().take(MOST_ROWS).map(row).collect();
    let further = match table.rows.len().saturating_sub(MOST_ROWS) {
        0 => Markup::default(),
        further => element(
            "p",
            &[],
            Markup::text(&format!("{further} further rows are in the report's JSON.")),
        ),
    };
    let head = element("thead", &[], titles);
    let grid = element("table", &[], head.then(element("tbody", &[], rows)));
    scrolled(grid, about).then(further)
}

/// What is wider than the screen is scrolled, also by keys.
pub(in crate::report) fn scrolled(content: Markup, about: &str) -> Markup {
    let attributes = [
        ("class", "scroll"),
        ("tabindex", "0"),
        ("role", "group"),
        ("aria-label", about),
    ];
    element("div", &attributes, content)
}

fn cell(cell: &Cell) -> Markup {
    let mut text = Markup::prose(&cell.text);
    if cell.is_strong {
        text = element("strong", &[], text);
    }
    if let Some(mark) = cell.mark {
        text = marked("span", "", mark, text);
    }
    match &cell.detail {
        None => text,
        Some(detail) => text.then(element(
            "span",
            &[("class", "detail")],
            Markup::prose(detail),
        )),
    }
}

/// A chart with its lines in the colours that its caption names.
fn plot(chart: &Chart) -> Plot {
    let longest = (chart.series.iter().map(|line| line.values.len())).max();
    let steps = longest.unwrap_or(0).saturating_sub(1).max(1);
    let x = match &chart.x {
        ChartXAxis::Numbers(axis) => PlotAxis::linear(axis.title, axis.from, axis.to),
        ChartXAxis::Days(days) => {
            let names = days.iter().enumerate();
            let names = names
                .map(|(place, day)| (count_as_float(place), day.strftime("%m-%d").to_string()));
            let every = days.len().div_ceil(7).max(1);
            PlotAxis::linear("", 0.0, count_as_float(steps)).with_ticks(names.step_by(every))
        }
    };
    let (from, to) = x.ends();
    let colours = [
        PlotColour::First,
        PlotColour::Second,
        PlotColour::Third,
        PlotColour::Fourth,
    ];
    let marks = chart.series.iter().zip(colours.into_iter().cycle());
    let marks = marks.map(|(line, colour)| {
        let steps = count_as_float(line.values.len().saturating_sub(1).max(1));
        let points = line
            .values
            .iter()
            .enumerate()
            .map(|(place, value)| (from + (to - from) * count_as_float(place) / steps, *value));
        PlotMark::new(colour, PlotShape::Line(points.collect()))
    });
    let plain = |text: &super::super::text::Prose| text.flattened(|text| text.for_drawing());
    let caption = match &chart.about {
        Some(job) => joined([Markup::prose(job), Markup::prose(&chart.caption)], ": "),
        None => Markup::prose(&chart.caption),
    };
    Plot {
        title: plain(&chart.title),
        caption,
        description: chart.in_a_line.as_ref().map_or(String::new(), plain),
        x,
        y: PlotAxis::linear(chart.y.title, chart.y.from, chart.y.to),
        lines: PLOT_LINES,
        marks: marks.collect(),
    }
}
