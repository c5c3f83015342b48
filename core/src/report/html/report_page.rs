//! A report as a page.

use super::super::compose;
use super::super::document::{Block, Document, Fold, FoldKind};
use super::super::mark::Mark;
use super::super::{JobReport, Report, change, change_table, comparison, words};
use super::markup::{Markup, element};
use super::page::{HtmlPage, HtmlSection};
use super::{blocks, figures};
use crate::metric::Metric;

/// Figures of more jobs would make a page of megabytes; the worst have theirs.
const JOBS_DRAWN: usize = 12;

/// Below a longer table the remarks would be out of sight.
const ROWS_ABOVE_REMARKS: usize = 12;

/// The whole report, the verdict first.
pub fn render(report: &Report) -> String {
    let document = compose::document(report);
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let jobs = comparison::worst_first(&jobs);
    let fold = |kind: FoldKind| {
        let folds = document.folds.iter();
        folds
            .filter(move |fold| fold.kind == kind)
            .map(fold_section)
    };
    let parts = [
        merged(fold(FoldKind::Rows).collect()),
        merged(fold(FoldKind::Remarks).collect()),
        merged(fold(FoldKind::Drift).collect()),
        by_job("configurations", "Configurations compared", &jobs, compared),
        laws(&document, &jobs),
        by_job("change", "Change against the base", &jobs, changes),
        merged(fold(FoldKind::Canaries).collect()),
        merged(fold(FoldKind::Hosts).collect()),
        merged(fold(FoldKind::Budget).collect()),
        merged(fold(FoldKind::Agreement).collect()),
        merged(fold(FoldKind::Cautions).collect()),
    ];
    HtmlPage {
        title: format!("{} · canary-gate", words::phrase(report.verdict)),
        header: header(report, &document),
        sections: parts.into_iter().flatten().collect(),
        footer: footer(report, &document),
    }
    .render()
}

/// What it was made from, and when.
fn footer(report: &Report, document: &Document) -> Markup {
    let made = format!("Made {}. ", words::minute(report.generated_at));
    let made = Markup::text(&made).then(Markup::own(" "));
    made.then(Markup::prose(&document.footer))
}

/// Those of one kind as one section: an id stands once on a page.
fn merged(sections: Vec<HtmlSection>) -> Option<HtmlSection> {
    let mut sections = sections.into_iter();
    let first = sections.next()?;
    let content = sections.fold(first.content, |all, next| all.then(next.content));
    Some(HtmlSection { content, ..first })
}

/// A part of each job, under its name where there are several; `None` where no job has anything to say.
fn by_job(
    id: &'static str,
    title: &'static str,
    jobs: &[&JobReport],
    part: impl Fn(&JobReport) -> Markup,
) -> Option<HtmlSection> {
    let several = jobs.len() > 1;
    let parts = jobs.iter().map(|job| (job, part(job)));
    let mut parts: Vec<_> = parts.filter(|(_, said)| !said.is_empty()).collect();
    let further = parts.len().saturating_sub(JOBS_DRAWN);
    parts.truncate(JOBS_DRAWN);
    if parts.is_empty() {
        return None;
    }
    let content = parts.into_iter().map(|(job, said)| match several {
        true => element("h3", &[], Markup::code(&job.name)).then(said),
        false => said,
    });
    let further = (further > 0).then(|| {
        let further = format!("{further} further jobs have their numbers in the tables.");
        element("p", &[], Markup::text(&further))
    });
    let content = content.chain(further).collect();
    Some(HtmlSection::new(id, title, content))
}

fn compared(job: &JobReport) -> Markup {
    let figures = [
        figures::time_against_cost(job),
        figures::phases(job),
        figures::memory(job, Metric::Memory),
        figures::memory(job, Metric::GpuMemory),
    ];
    in_columns("columns", figures.into_iter().flatten().collect())
}

/// In the class `figures` two stand side by side, row by row; in `columns` each column is filled by itself.
fn in_columns(class: &str, figures: Vec<Markup>) -> Markup {
    let column = |figure| element("div", &[], figure);
    match figures.is_empty() {
        true => Markup::default(),
        false => {
            let figures = figures.into_iter().map(column);
            element("div", &[("class", class)], figures.collect())
        }
    }
}

/// The document's part about laws, with finer figures in place of its charts.
fn laws(document: &Document, jobs: &[&JobReport]) -> Option<HtmlSection> {
    let mut fold = (document.folds.iter())
        .find(|fold| fold.kind == FoldKind::Law)?
        .clone();
    fold.blocks
        .retain(|block| !matches!(block, Block::Chart(_)));
    let tables = fold
        .blocks
        .iter()
        .position(|block| matches!(block, Block::Table(_)));
    let tables = fold.blocks.split_off(tables.unwrap_or(fold.blocks.len()));
    let figures = |job: &JobReport| in_columns("figures", figures::laws(job));
    let figures = by_job("law", fold.title, jobs, figures);
    let section = fold_section(&fold);
    let tables = tables.iter().map(|table| blocks::block(table, fold.title));
    let content = section
        .content
        .then(figures.map(|section| section.content).unwrap_or_default())
        .then(tables.collect());
    Some(HtmlSection { content, ..section })
}

fn changes(job: &JobReport) -> Markup {
    let said = change::said(job).map(|said| element("p", &[], Markup::prose(&said.text)));
    let tables = [
        (change_table::amounts(job), "The change in numbers"),
        (change_table::causes(job), "What the change is made of"),
    ];
    let tables = tables.into_iter().filter_map(|(grid, about)| {
        let table = grid.table()?;
        Some(blocks::table(&table, about))
    });
    said.into_iter().chain(tables).collect()
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
    let rows = document.table.as_ref().map_or(0, |table| table.rows.len());
    let remarks = blocks::lines(&document.remarks);
    // What to do is on the first screen, however long the table is.
    let (before, after) = match rows > ROWS_ABOVE_REMARKS {
        true => (remarks, Markup::default()),
        false => (Markup::default(), remarks),
    };
    answer
        .then(warnings.collect())
        .then(before)
        .then(table.unwrap_or_default())
        .then(others.collect())
        .then(after)
}

fn fold_section(fold: &Fold) -> HtmlSection {
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
        FoldKind::Agreement => "agreement",
        FoldKind::Rows => "further-rows",
        FoldKind::Remarks => "remarks",
        FoldKind::Drift => "drift",
        FoldKind::Canaries => "canaries",
        FoldKind::Hosts => "hosts",
        FoldKind::Law => "law",
        FoldKind::Budget => "budget",
        FoldKind::Cautions => "assumptions",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::super::{samples, terminal};
    use super::super::tests::read;
    use super::*;

    #[test]
    fn every_sample_is_a_page_with_one_answer() {
        for (name, report) in samples::all() {
            let page = render(&report);
            let found = read(&page);
            let count = |tag: &str| found.elements.iter().filter(|name| *name == tag).count();
            assert_eq!(
                (count("h1"), count("main"), count("script")),
                (1, 1, 0),
                "{name}"
            );
            let ids = found.values.iter().filter(|(key, _)| key == "id");
            let ids: Vec<&String> = ids.map(|(_, id)| id).collect();
            let different: HashSet<&String> = ids.iter().copied().collect();
            assert_eq!(ids.len(), different.len(), "{name}: {ids:?}");
            for (key, value) in &found.values {
                assert!(!key.starts_with("on"), "{name}: {key}");
                if key == "href" && value.starts_with('#') {
                    assert!(ids.iter().any(|id| **id == value[1..]), "{name}: {value}");
                }
                if key == "fill" || key == "stroke" {
                    let is_ours = value == "none" || value.starts_with("var(--");
                    assert!(is_ours, "{name}: {key}={value}");
                }
            }
            assert_eq!(page, render(&report), "{name}");
        }
    }

    #[test]
    fn the_verdict_is_said_as_everywhere() {
        for (name, report) in samples::all() {
            let found = read(&render(&report)).texts.concat();
            let unspaced = |text: &str| text.replace(char::is_whitespace, "");
            for headline in compose::document(&report).headlines {
                let said = unspaced(&terminal::inline(&headline.text).replace("::", ""));
                let start: String = said.chars().take(30).collect();
                assert!(unspaced(&found).contains(&start), "{name}: {start}");
            }
        }
    }

    #[test]
    fn hostile_text_adds_no_element_and_no_address() {
        let found = read(&render(&samples::of("hostile")));
        for tag in [
            "script", "img", "iframe", "object", "b", "i", "form", "input",
        ] {
            assert!(!found.elements.iter().any(|name| name == tag), "{tag}");
        }
        for (key, value) in &found.values {
            assert!(!(key == "href" && value.contains("evil")), "{value}");
        }
    }

    #[test]
    fn the_words_of_a_page() {
        let found = read(&render(&samples::of("increased")));
        let style = found.texts.iter().position(|text| text.contains(":root"));
        let said = found.texts[style.unwrap_or(0) + 1..].iter();
        let said: Vec<&str> = said
            .map(|text| text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        insta::assert_snapshot!("words_of_a_page", said.join("\n"));
    }
}
