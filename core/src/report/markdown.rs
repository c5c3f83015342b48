//! A document as GitHub Markdown: for a pull-request comment, a step summary, or a file.
//!
//! A template lays the page out ([`template`]); what it is given is escaped here.

use serde_json::{Value, json};

use super::document::{Block, Cell, Document, DocumentLine, Fold, Headline, Table, TableColumn};
use super::plot::Plot;
use super::template::Template;
use super::text::{Outside, Prose, TextSpan};
use super::{Report, compose, escape, mermaid, template, words};

/// Keeps a range on one line: a browser may break at a dash.
const WORD_JOINER: char = '\u{2060}';
const NO_BREAK_SPACE: &str = "\u{a0}";

/// The most lines of the problems of a file.
const PROBLEM_LINES: usize = 60;
/// The most lines to paste.
const PASTED_LINES: usize = 20;
/// The most characters of one such line.
const EXCERPT_LINE_LIMIT: usize = 200;

/// The whole report. Text in it that came from a pull request is shown literally.
pub fn render(report: &Report) -> String {
    lay_out(&compose::document(report))
}

/// The whole report as a team's template lays it out; as ours does if that template fails on these values.
pub fn render_by(template: &Template, report: &Report) -> String {
    let mut values = values(&compose::document(report));
    template::add_report(&mut values, report);
    template.lay_out(&values).unwrap_or_else(|| render(report))
}

/// A document as a page.
pub(super) fn lay_out(document: &Document) -> String {
    template::OUR_TEMPLATE.page(&values(document))
}

/// What a template is given of a document. An absent value is null.
fn values(document: &Document) -> Value {
    let marked = |one: &Headline| json!({"mark": one.mark.emoji, "text": inline(&one.text)});
    let all = |headlines: &[Headline]| headlines.iter().map(marked).collect::<Value>();
    let folds = document.folds.iter().map(|fold| {
        let blocks = fold.blocks.iter().map(block);
        let blocks = blocks.filter(|block| !block.is_empty());
        json!({"summary": summary(fold), "blocks": blocks.collect::<Value>()})
    });
    json!({
        "opening": inline(&document.opening),
        "headlines": all(&document.headlines),
        "warnings": all(&document.warnings),
        "table": document.table.as_ref().map(table),
        "blocks": document.blocks.iter().map(block).collect::<Value>(),
        "remarks": lines(&document.remarks),
        "left_out": document.left_out.as_ref().map(line),
        "folds": folds.collect::<Value>(),
        "footer": inline(&document.footer),
    })
}

/// A piece of a line.
pub(super) fn inline(text: &Prose) -> String {
    text.spans().iter().map(span).collect()
}

fn span(span: &TextSpan) -> String {
    match span {
        TextSpan::Own(words) => (*words).to_owned(),
        TextSpan::Joint => NO_BREAK_SPACE.to_owned(),
        TextSpan::Literal(text) | TextSpan::Anchor(text, _) => text.with(escape::for_markdown),
        TextSpan::Unbroken(text) => unbroken(text),
        TextSpan::Sentence(text) => text.with(escape::for_markdown_with_code),
        TextSpan::Code(text) => text.with(escape::as_code),
        TextSpan::Commit(text) => text.with(|id, _| id.to_owned()),
        TextSpan::Link(words, to) => {
            format!("[{}]({})", words.with(escape::for_markdown), to.as_str())
        }
    }
}

/// A number that stays on one line.
fn unbroken(text: &Outside) -> String {
    text.with(escape::for_markdown)
        .replace(' ', NO_BREAK_SPACE)
        .replace('–', &format!("{WORD_JOINER}–{WORD_JOINER}"))
}

pub(super) fn headline(Headline { mark, text }: &Headline) -> String {
    format!("### {} {}", mark.emoji, inline(text))
}

pub(super) fn block(block: &Block) -> String {
    match block {
        Block::Headline(text) => headline(text),
        Block::Lines(text) => lines(text),
        Block::List(items) => {
            let items = items.iter().map(|item| format!("- {}", line(item)));
            words::joined(items, "\n")
        }
        Block::Table(shown) => {
            let laid_out = template::OUR_TEMPLATE.page(&json!({"table": table(shown)}));
            laid_out.trim_end().to_owned()
        }
        Block::Plot(drawn) => plot(drawn),
        Block::Problems(excerpt) => {
            excerpt.with(escape::as_block, EXCERPT_LINE_LIMIT, PROBLEM_LINES)
        }
        Block::Paste(excerpt) => excerpt.with(escape::as_block, EXCERPT_LINE_LIMIT, PASTED_LINES),
    }
}

/// One paragraph.
fn lines(text: &[DocumentLine]) -> String {
    words::joined(text.iter().map(line), "\\\n")
}

fn line(line: &DocumentLine) -> String {
    let strong = line.strong().map(|words| format!("**{words}**"));
    let said = inline(&line.said());
    let parts = strong.into_iter().chain([said]);
    words::joined(parts.filter(|part| !part.is_empty()), " ")
}

/// Empty where a comment does not have it.
fn plot(plot: &Plot) -> String {
    let drawn = || format!("{}\n\n{}", inline(&plot.caption), mermaid::block(plot));
    words::only_where(plot.is_in_comment, drawn)
}

/// GitHub reads no Markdown in a summary.
fn summary(Fold { title, detail, .. }: &Fold) -> String {
    let parts =
        [title, detail].map(|part| part.flattened(|text| text.with(escape::for_github_html)));
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    words::joined(parts, ": ")
}

fn table(table: &Table) -> Value {
    let columns = table
        .columns
        .iter()
        .map(|column| json!({"title": title(column), "is_number": column.is_number}));
    let cell = |cell: &Cell| {
        json!({
            "mark": cell.mark.map(|mark| mark.emoji),
            "text": inline(&cell.text),
            "detail": cell.detail.as_ref().map(inline),
            "is_strong": cell.is_strong,
        })
    };
    let rows = table.rows.iter();
    let rows = rows.map(|row| row.cells.iter().map(cell).collect::<Value>());
    json!({"columns": columns.collect::<Value>(), "rows": rows.collect::<Value>()})
}

/// Above what the second number is; nothing where the cells say what they are.
fn title(column: &TableColumn) -> String {
    words::only_where(!column.is_evident, || {
        let detail = column.detail.iter().map(inline);
        words::joined([inline(&column.title)].into_iter().chain(detail), "<br>")
    })
}

#[cfg(test)]
mod tests {
    use comrak::nodes::NodeValue;
    use comrak::{Arena, Options, parse_document};

    use super::super::samples;
    use super::*;

    #[test]
    fn every_sample() {
        for (name, report) in samples::all() {
            insta::assert_snapshot!(name, render(&report));
        }
    }

    #[test]
    fn hostile_text_adds_no_html_no_link_and_no_mention() {
        const OURS: [&str; 7] = [
            "<br>", "<code>", "</code>", "<span>", "</span>", "<sub>", "</sub>",
        ];
        let mut options = Options::default();
        options.extension.table = true;
        options.extension.autolink = true;
        options.extension.strikethrough = true;
        let text = render(&samples::of("hostile"));
        let arena = Arena::new();
        let mut tables = 0;
        for node in parse_document(&arena, &text, &options).descendants() {
            match &node.data().value {
                NodeValue::HtmlInline(tag) => assert!(OURS.contains(&tag.as_str()), "{tag}"),
                NodeValue::HtmlBlock(block) => {
                    let is_fold = block.literal.starts_with("<details><summary>");
                    assert!(is_fold || block.literal.starts_with("</details>"));
                    assert!(!block.literal.contains("evil"));
                }
                NodeValue::Link(link) => panic!("{}", link.url),
                NodeValue::CodeBlock(block) => {
                    // A failure's excerpts may hold anything; a chart nothing of the attack.
                    assert!(["text", "mermaid"].contains(&block.info.as_str()));
                    let is_chart = block.info == "mermaid";
                    assert!(!is_chart || !block.literal.contains("evil"));
                }
                NodeValue::Image(_) => panic!("not ours"),
                NodeValue::Text(text) => assert!(!text.contains("@everyone"), "{text}"),
                NodeValue::Table(_) => tables += 1,
                _ => {}
            }
        }
        assert_eq!(tables, 3);
    }

    #[test]
    fn a_template_lays_out_the_values_and_hostile_text_stays_escaped() {
        let text = "{{verdict}} {{exit_code}}{{#each jobs}}\n- {{name}}: {{reason}}{{#each estimates}} {{metric}} {{upper}}{{/each}}{{/each}}\n";
        let template = template::Template::parse(text).unwrap();
        for (name, report) in samples::all() {
            let page = render_by(&template, &report);
            let lines = page.lines().filter(|line| line.starts_with("- "));
            assert_eq!(lines.count(), report.jobs.len(), "{name}: {page}");
        }
        // All that could end in a mention, a link or a tag is written so that it does not.
        let everything =
            template::Template::parse("{{#each jobs}}{{{name}}} {{{reason}}}{{/each}}");
        let page = render_by(&everything.unwrap(), &samples::of("hostile"));
        for hostile in ["<script", "<img", "[a](http", " @team"] {
            assert!(!page.contains(hostile), "{page}");
        }
    }

    /// What a template may name is what it is given.
    #[test]
    fn the_example_has_every_value_and_no_other() {
        fn names(value: &Value, at: &str, found: &mut Vec<String>) {
            match value {
                Value::Object(fields) => {
                    for (name, value) in fields {
                        found.push(format!("{at}.{name}"));
                        names(value, &format!("{at}.{name}"), found);
                    }
                }
                Value::Array(items) => {
                    items.iter().for_each(|item| names(item, at, found));
                }
                _ => {}
            }
        }
        let mut given = Vec::new();
        for (_, report) in samples::all() {
            let mut values = values(&compose::document(&report));
            template::add_report(&mut values, &report);
            names(&values, "", &mut given);
        }
        let mut known = Vec::new();
        names(
            &serde_json::from_str(template::EXAMPLE).unwrap(),
            "",
            &mut known,
        );
        for list in [&mut given, &mut known] {
            list.sort();
            list.dedup();
        }
        assert_eq!(known, given);
    }
}
