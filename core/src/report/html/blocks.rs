//! The parts of a document as HTML.

use super::super::document::{
    Align, Block, Cell, Document, DocumentLine, Headline, Table, TableRow,
};
use super::super::mark::{Mark, Tone};
use super::markup::{Markup, element};

/// Of the problems of a file.
const PROBLEM_LINES: usize = 200;
/// Of lines to paste.
const PASTED_LINES: usize = 60;
/// Of one such line.
const EXCERPT_LINE_LIMIT: usize = 300;
/// More rows nobody reads; the report's JSON and CSV have them.
const MOST_ROWS: usize = 2_000;
/// Below a longer table the remarks would be out of sight.
const ROWS_ABOVE_REMARKS: usize = 12;

/// What a reader decides by: the answer, the table, what to do. `about` names the table for those who do not see where it stands.
pub(in crate::report) fn header(answer: &Headline, document: &Document, about: &str) -> Markup {
    let headlines = document.headlines.iter();
    let headlines = headlines.map(|line| headline("p", line));
    let warnings = document.warnings.iter();
    let warnings = warnings.map(|text| marked("p", "", Mark::Doubtful, Markup::prose(text)));
    let shown = document.table.as_ref();
    let rows = shown.map_or(0, |table| table.rows.len());
    let table = shown.map_or(Markup::default(), |shown| table(shown, about));
    let others = document.blocks.iter();
    let others = others.map(|block| self::block(block, "What could not be checked"));
    let below = table.then(others.collect());
    let remarks = lines(&document.remarks);
    headline("h1", answer)
        .then(headlines.chain(warnings).collect())
        .then(match rows > ROWS_ABOVE_REMARKS {
            // What to do is on the first screen, however long the table is.
            true => remarks.then(below),
            false => below.then(remarks),
        })
}

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
        // A page draws finer ones.
        Block::Chart(_) => Markup::default(),
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

fn line(line: &DocumentLine) -> Markup {
    let said = Markup::prose(&line.said());
    match line
        .strong()
        .map(|words| element("strong", &[], Markup::text(words)))
    {
        Some(strong) if said.is_empty() => strong,
        Some(strong) => strong.then(Markup::own(" ")).then(said),
        None => said,
    }
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
    let attributes = [
        ("class", "scroll"),
        ("tabindex", "0"),
        ("role", "group"),
        ("aria-label", about),
    ];
    element("div", &attributes, grid).then(further)
}

pub(in crate::report) fn cell(cell: &Cell) -> Markup {
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
