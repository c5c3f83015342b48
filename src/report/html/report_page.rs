//! A report as a page.

use super::super::compose;
use super::super::document::{Document, Fold, FoldKind};
use super::super::mark::Mark;
use super::super::{Report, words};
use super::blocks;
use super::markup::{Markup, element};
use super::page::{HtmlPage, HtmlSection};

/// The whole report, the verdict first.
pub fn render(report: &Report) -> String {
    let document = compose::document(report);
    HtmlPage {
        title: format!("{} · canary-gate", words::phrase(report.verdict)),
        header: header(report, &document),
        sections: document.folds.iter().map(fold).collect(),
        footer: Markup::prose(&document.footer),
    }
    .render()
}

/// What a reader decides by: verdicts, table, what to do.
fn header(report: &Report, document: &Document) -> Markup {
    let answer = match document.headlines.as_slice() {
        [only] => blocks::headline("h1", only),
        several => {
            let verdict = words::capitalized(words::phrase(report.verdict));
            let answer = Markup::text(&verdict);
            let answer = blocks::marked("h1", "", Mark::from(report.verdict), answer);
            let each = several.iter();
            answer.then(each.map(|line| blocks::headline("p", line)).collect())
        }
    };
    let warnings = document.warnings.iter();
    let warnings =
        warnings.map(|text| blocks::marked("p", "", Mark::Doubtful, Markup::prose(text)));
    let table = document.table.as_ref();
    let table = table.map(|table| blocks::table(table, "What each configuration would take"));
    let others = document.blocks.iter();
    let others = others.map(|block| blocks::block(block, "What could not be checked"));
    answer
        .then(warnings.collect())
        .then(table.unwrap_or_default())
        .then(others.collect())
        .then(blocks::lines(&document.remarks))
}

fn fold(fold: &Fold) -> HtmlSection {
    let detail = match fold.detail.is_empty() {
        true => Markup::default(),
        false => element("p", &[], Markup::prose(&fold.detail)),
    };
    let parts = fold.blocks.iter();
    let parts = parts.map(|block| blocks::block(block, fold.title));
    HtmlSection::new(id(fold.kind), fold.title, detail.then(parts.collect()))
}

fn id(kind: FoldKind) -> &'static str {
    match kind {
        FoldKind::Drift => "drift",
        FoldKind::Canaries => "canaries",
        FoldKind::Hosts => "hosts",
        FoldKind::Law => "law",
        FoldKind::Budget => "budget",
        FoldKind::Cautions => "assumptions",
    }
}
