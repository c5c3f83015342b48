//! A document as a whole page: one file that needs no network and no script.

use super::super::document::{Document, Fold};
use super::super::escape;
use super::super::mark::Mark;
use super::super::text::Prose;
use super::blocks::{blocks, headline, lines, marked, table};
use super::markup::{Markup, element};

const STYLE: &str = include_str!("style.css");

/// The most characters of the title of a window.
const TITLE_LIMIT: usize = 120;
/// Below a longer table the remarks would be out of sight.
const ROWS_ABOVE_REMARKS: usize = 12;

/// Nothing is loaded and nothing runs, whatever the page holds. A browser asks for no icon, either.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The page as a file. The first headline is its answer; `about` names the table for those who do not see where it stands.
pub(super) fn render(document: &Document, about: &str) -> String {
    let folds = &document.folds;
    let sections: Vec<&[Fold]> = folds.chunk_by(|one, next| one.id == next.id).collect();
    let links = sections.iter().map(|folds| {
        let link = Markup::link_to(&folds[0].id, Markup::prose(&folds[0].title));
        element("li", &[], link)
    });
    let links = element("ul", &[], links.collect());
    let links = match sections.len() {
        0 | 1 => Markup::default(),
        _ => element("nav", &[("aria-label", "Sections of this page")], links),
    };
    let to_content = [("class", "skip"), ("href", "#content")];
    let skip = element("a", &to_content, Markup::text("To the content"));
    let sections = sections.into_iter().map(section).collect();
    let body = skip
        .then(element("header", &[], header(document, about)))
        .then(links)
        .then(element("main", &[("id", "content")], sections))
        .then(element("footer", &[], Markup::prose(&document.footer)));
    let answer = document.headlines.first();
    let answer = answer.map_or(String::new(), |answer| plain(&answer.text));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{} · canary-gate</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{}\n</body>\n</html>\n",
        escape::for_html(&answer, TITLE_LIMIT),
        body.as_str(),
    )
}

/// The parts that a reader decides by: the answer, the table, what to do.
fn header(document: &Document, about: &str) -> Markup {
    let headlines = document.headlines.iter().enumerate();
    let headlines = headlines.map(|(place, line)| match place {
        0 => headline("h1", line),
        _ => headline("p", line),
    });
    let warnings = document.warnings.iter();
    let warnings = warnings.map(|text| marked("p", "", Mark::DOUBTFUL, Markup::prose(text)));
    let shown = document.table.as_ref();
    let rows = shown.map_or(0, |table| table.rows.len());
    let below = shown.map_or(Markup::default(), |shown| table(shown, about));
    let below = below.then(blocks(&document.blocks, "What could not be checked"));
    let remarks = lines(&document.remarks);
    let above: Markup = headlines.chain(warnings).collect();
    above.then(match rows > ROWS_ABOVE_REMARKS {
        // What to do is on the first screen, however long the table is.
        true => remarks.then(below),
        false => below.then(remarks),
    })
}

/// The parts of one subject as a section under the title of the first.
fn section(folds: &[Fold]) -> Markup {
    let Fold { id, title, .. } = &folds[0];
    let heading = format!("{id}-title");
    let content = folds.iter().map(|fold| {
        let detail = match fold.detail.is_empty() {
            true => Markup::default(),
            false => element("p", &[], Markup::prose(&fold.detail)),
        };
        detail.then(blocks(&fold.blocks, &plain(&fold.title)))
    });
    let title = element("h2", &[("id", &heading)], Markup::prose(title));
    let attributes = [("id", id.as_str()), ("aria-labelledby", &heading)];
    element("section", &attributes, title.then(content.collect()))
}

/// The prose as one text, which is still to be escaped.
fn plain(text: &Prose) -> String {
    text.flattened(|text| text.for_terminal(usize::MAX))
}
