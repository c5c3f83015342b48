//! Pages in **HTML**: one file that opens without network and script, light and dark, on paper and on a small screen.
//!
//! `markup` is the one door for text, `page` lays a document out, `draw` its plots, and `style.css` has the colours.

mod blocks;
mod draw;
pub mod history_page;
mod markup;
mod page;

use super::document::Headline;
use super::text::Prose;
use super::{Report, compose, words};

/// The whole report, the verdict first.
pub fn render(report: &Report) -> String {
    let mut document = compose::for_page(report);
    if document.headlines.len() != 1 {
        let answer = Prose::literal(words::capitalized(words::phrase(report.verdict)));
        let answer = Headline::of(report.verdict, answer);
        document.headlines.insert(0, answer);
    }
    let made = Prose::minute(report.generated_at);
    document.footer = Prose::fill("Made {}. {}", [made, document.footer]);
    page::render(&document, "What each configuration would take")
}

#[cfg(test)]
mod tests;
