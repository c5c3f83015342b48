//! A document as a whole page: one file that needs no network and no script. A template lays it out. Every text that it is given comes
//! in by `inline` or escaped; the drawings are escaped by the library that draws them.

mod draw;
pub mod history_page;

use serde_json::{Value, json};

use super::document::{Block, Cell, Document, DocumentLine, Fold, Headline, Table, TableColumn};
use super::escape::{self, LINE_LIMIT, PARAGRAPH_LIMIT};
use super::text::{Outside, Prose, TextSpan, Verbatim};
use super::{Report, compose, template, words};

const STYLE: &str = include_str!("style.css");
/// The most characters of the title of a window.
const TITLE_LIMIT: usize = 120;
/// Below a longer table the remarks would be out of sight.
const ROWS_ABOVE_REMARKS: usize = 12;
/// The most lines of the problems of a file.
const PROBLEM_LINES: usize = 200;
/// The most lines to paste.
const PASTED_LINES: usize = 60;
/// The most characters of one such line.
const EXCERPT_LINE_LIMIT: usize = 300;
/// More rows nobody reads; the report's JSON and CSV have them.
const MOST_ROWS: usize = 2_000;

/// The whole report, the verdict first.
pub fn render(report: &Report) -> String {
    let mut document = compose::for_page(report);
    let made = Prose::figure(words::minute(report.generated_at));
    document.footer = Prose::fill("Made {}. {}", [made, document.footer]);
    page(&document, "What each configuration would take")
}

/// The page as a file. The first headline is its answer; `about` names the table for those who do not see where it stands.
fn page(document: &Document, about: &str) -> String {
    let sections = document.folds.chunk_by(|one, next| one.id == next.id);
    let sections = Vec::from_iter(sections.map(section));
    let table = document.table.as_ref();
    let answer = document.headlines.first();
    let answer = answer.map_or(String::new(), |answer| plain(&answer.text));
    let all = |headlines: &[Headline]| headlines.iter().map(signed).collect::<Value>();
    template::OUR_PAGE.page(&json!({
        "style": STYLE,
        "title": escape::for_html(&answer, TITLE_LIMIT),
        "headlines": all(&document.headlines),
        "warnings": all(&document.warnings),
        "table": table.map(|shown| grid(shown, about)),
        // What to do is on the first screen, however long the table is.
        "is_long": table.is_some_and(|shown| shown.rows.len() > ROWS_ABOVE_REMARKS),
        "blocks": blocks(&document.blocks, "What could not be checked"),
        "remarks": lines(&document.remarks),
        "has_several": sections.len() > 1,
        "sections": sections,
        "footer": inline(&document.footer),
    }))
}

/// The parts of one subject as a section under the title of the first.
fn section(folds: &[Fold]) -> Value {
    let parts = folds.iter().map(|fold| {
        let blocks = blocks(&fold.blocks, &plain(&fold.title));
        json!({"detail": inline(&fold.detail), "blocks": blocks})
    });
    let Fold { id, title, .. } = &folds[0];
    let id = escape::for_html(id, PARAGRAPH_LIMIT);
    json!({"id": id, "title": inline(title), "parts": parts.collect::<Value>()})
}

/// The prose as one text, which is still to be escaped.
fn plain(text: &Prose) -> String {
    text.flattened(|text| text.for_terminal(usize::MAX))
}

/// A line with its sign, in the colour of its tone. The sign says nothing that the words do not.
fn signed(Headline { mark, text }: &Headline) -> Value {
    json!({"mark": mark.sign, "tone": mark.tone, "text": inline(text)})
}

/// Plots that follow each other stand side by side; `about` names a table for those who do not see where it stands.
fn blocks(blocks: &[Block], about: &str) -> Value {
    let verbatim = |text: &Verbatim, most: usize| {
        let text = text.with(escape::for_html_block, EXCERPT_LINE_LIMIT, most);
        json!({"verbatim": text})
    };
    let plot = |block: &Block| match block {
        Block::Plot(plot) => Some(draw::figure(plot)),
        _ => None,
    };
    let is_plot = |block: &Block| matches!(block, Block::Plot(_));
    let groups = blocks.chunk_by(|one, next| is_plot(one) && is_plot(next));
    let groups = groups.map(|group| match &group[0] {
        Block::Headline(headline) => json!({"headline": signed(headline)}),
        Block::Lines(text) => json!({"lines": lines(text)}),
        Block::List(items) => json!({"list": lines(items)}),
        Block::Table(table) => json!({"table": grid(table, about)}),
        Block::Plot(_) => json!({"plots": group.iter().filter_map(plot).collect::<Value>()}),
        Block::Problems(excerpt) => verbatim(excerpt, PROBLEM_LINES),
        Block::Paste(excerpt) => verbatim(excerpt, PASTED_LINES),
    });
    groups.collect()
}

/// Each in a paragraph of its own.
fn lines(lines: &[DocumentLine]) -> Value {
    let line = |line: &DocumentLine| {
        let strong = line.strong();
        let strong = strong.map(|words| escape::for_html(words, LINE_LIMIT));
        json!({"strong": strong, "said": inline(&line.said())})
    };
    lines.iter().map(line).collect()
}

/// A table that is wider than the screen is scrolled, also by keys.
fn grid(table: &Table, about: &str) -> Value {
    let columns = table.columns.iter();
    let titles = columns.map(|column| cell(&column.heading(), column));
    let rows = table.rows.iter().take(MOST_ROWS).map(|row| {
        let cells = row.cells.iter().zip(&table.columns);
        let cells = cells.map(|(said, column)| cell(said, column));
        cells.collect::<Value>()
    });
    json!({
        "about": escape::for_html(about, PARAGRAPH_LIMIT),
        "titles": titles.collect::<Value>(),
        "rows": rows.collect::<Value>(),
        "further": words::beyond(table.rows.len(), MOST_ROWS),
    })
}

fn cell(cell: &Cell, column: &TableColumn) -> Value {
    json!({
        "class": if column.is_number { "number" } else { "text" },
        "mark": cell.mark.map(|mark| mark.sign),
        "tone": cell.mark.map(|mark| mark.tone),
        "text": inline(&cell.text),
        "is_strong": cell.is_strong,
        "detail": cell.detail.as_ref().map(inline),
    })
}

/// Each piece of a line as what it is.
fn inline(text: &Prose) -> String {
    text.spans().iter().map(span).collect()
}

fn span(span: &TextSpan) -> String {
    let html = |text: &Outside| text.with(escape::for_html);
    match span {
        TextSpan::Own(words) => (*words).to_owned(),
        TextSpan::Joint => "\u{a0}".to_owned(),
        TextSpan::Literal(text) | TextSpan::Commit(text) => html(text),
        TextSpan::Unbroken(text) => format!("<span class=\"unbroken\">{}</span>", html(text)),
        TextSpan::Sentence(text) => text.with(escape::for_html_with_code),
        TextSpan::Code(text) => format!("<code>{}</code>", html(text)),
        // An address is plain, so nothing in it ends the attribute.
        TextSpan::Link(words, to) => format!("<a href=\"{}\">{}</a>", to.as_str(), html(words)),
        TextSpan::Anchor(words, id) => {
            let id = escape::for_html(id, PARAGRAPH_LIMIT);
            format!("<a href=\"#{id}\">{}</a>", html(words))
        }
    }
}

#[cfg(test)]
mod tests;
