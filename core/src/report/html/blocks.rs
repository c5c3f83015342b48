//! The parts of a document as HTML.

use super::super::document::{Align, Block, Cell, DocumentLine, Headline, Table, TableRow};
use super::super::mark::{Mark, Tone};
use super::super::words;
use super::draw;
use super::markup::{Markup, element};

/// The most lines of the problems of a file.
const PROBLEM_LINES: usize = 200;
/// The most lines to paste.
const PASTED_LINES: usize = 60;
/// The most characters of one such line.
const EXCERPT_LINE_LIMIT: usize = 300;
/// More rows nobody reads; the report's JSON and CSV have them.
const MOST_ROWS: usize = 2_000;

/// `h1` for the page's answer, `p` for others.
pub(super) fn headline(tag: &'static str, Headline { mark, text }: &Headline) -> Markup {
    marked(tag, "headline", *mark, Markup::prose(text))
}

/// A line with its sign, in the colour of its tone. The sign says nothing that the words do not.
pub(super) fn marked(tag: &'static str, class: &str, mark: Mark, words: Markup) -> Markup {
    let sign = element("span", &[("aria-hidden", "true")], Markup::text(mark.sign));
    let class = format!("{class} {}", tone(mark));
    let content = sign.then(Markup::own(" ")).then(words);
    element(tag, &[("class", class.trim())], content)
}

fn tone(mark: Mark) -> &'static str {
    match mark.tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Doubtful => "doubtful",
        Tone::Plain => "plain",
    }
}

/// Plots that follow each other stand side by side; `about` names a table for those who do not see where it stands.
pub(super) fn blocks(blocks: &[Block], about: &str) -> Markup {
    let is_plot = |block: &Block| matches!(block, Block::Plot(_));
    let groups = blocks.chunk_by(|one, next| is_plot(one) && is_plot(next));
    let groups = groups.map(|group| {
        let content = group.iter().map(|one| block(one, about)).collect();
        match is_plot(&group[0]) {
            true => element("div", &[("class", "figures")], content),
            false => content,
        }
    });
    groups.collect()
}

fn block(block: &Block, about: &str) -> Markup {
    match block {
        Block::Headline(said) => headline("p", said),
        Block::Lines(text) => lines(text),
        Block::List(items) => {
            let item = |text| element("li", &[], line(text));
            element("ul", &[], items.iter().map(item).collect())
        }
        Block::Table(grid) => table(grid, about),
        Block::Plot(plot) => draw::figure(plot),
        Block::Problems(excerpt) => Markup::lines(excerpt, EXCERPT_LINE_LIMIT, PROBLEM_LINES),
        Block::Paste(excerpt) => Markup::lines(excerpt, EXCERPT_LINE_LIMIT, PASTED_LINES),
    }
}

/// Each in a paragraph of its own.
pub(super) fn lines(lines: &[DocumentLine]) -> Markup {
    let paragraph = |text| element("p", &[], line(text));
    lines.iter().map(paragraph).collect()
}

fn line(line: &DocumentLine) -> Markup {
    let said = line.said();
    let strong = line.strong();
    let strong = strong.map(|words| element("strong", &[], Markup::text(words)));
    let between = words::only_where(strong.is_some() && !said.is_empty(), || " ");
    let strong = strong.unwrap_or_default();
    strong.then(Markup::own(between)).then(Markup::prose(&said))
}

/// A table that is wider than the screen is scrolled, also by keys.
pub(super) fn table(table: &Table, about: &str) -> Markup {
    let class = |align: Align| match align {
        Align::Left => "text",
        Align::Right => "number",
    };
    let titles = table.columns.iter().map(|column| {
        let attributes = [("scope", "col"), ("class", class(column.align))];
        element("th", &attributes, cell(&column.heading()))
    });
    let titles = element("tr", &[], titles.collect());
    let row = |row: &TableRow| {
        let cells = row.cells.iter().zip(&table.columns).map(|(said, column)| {
            let class = class(column.align);
            element("td", &[("class", class)], cell(said))
        });
        element("tr", &[], cells.collect())
    };
    let rows = table.rows.iter().take(MOST_ROWS).map(row).collect();
    let further = words::beyond(table.rows.len(), MOST_ROWS).map(|further| {
        let said = format!("{further} further rows are in the report's JSON.");
        element("p", &[], Markup::text(&said))
    });
    let head = element("thead", &[], titles);
    let grid = element("table", &[], head.then(element("tbody", &[], rows)));
    let attributes = [
        ("class", "scroll"),
        ("tabindex", "0"),
        ("role", "group"),
        ("aria-label", about),
    ];
    element("div", &attributes, grid).then(further.unwrap_or_default())
}

fn cell(cell: &Cell) -> Markup {
    let mut text = Markup::prose(&cell.text);
    if cell.is_strong {
        text = element("strong", &[], text);
    }
    if let Some(mark) = cell.mark {
        text = marked("span", "", mark, text);
    }
    let detail = cell.detail.as_ref().map(Markup::prose);
    let detail = detail.map(|detail| element("span", &[("class", "detail")], detail));
    text.then(detail.unwrap_or_default())
}
