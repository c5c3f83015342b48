//! A report as a page.

use super::super::compose;
use super::super::document::{FoldKind, Headline};
use super::super::drift_chart;
use super::super::mark::Mark;
use super::super::text::Prose;
use super::super::{JobReport, Report, change, comparison, words};
use super::markup::{Markup, element};
use super::over_time::OverTime;
use super::page::{HtmlPage, HtmlSection};
use super::plot::Plot;
use super::{blocks, figures};
use crate::metric::Metric;

/// Figures of more jobs would make a page of megabytes; the worst have theirs.
const JOBS_DRAWN: usize = 12;

/// What a page compares configurations by.
const COMPARED: [Metric; 4] = [
    Metric::Time,
    Metric::Cost,
    Metric::Memory,
    Metric::GpuMemory,
];

/// The whole report, the verdict first.
pub fn render(report: &Report) -> String {
    let mut document = compose::document(report);
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let jobs = comparison::worst_first(&jobs);
    let plots = |of: fn(&JobReport) -> Vec<Plot>| {
        by_job(&jobs, |job| {
            let plots = of(job);
            let figures = plots.iter().map(|plot| element("div", &[], plot.figure()));
            match plots.is_empty() {
                true => Markup::default(),
                false => element("div", &[("class", "figures")], figures.collect()),
            }
        })
    };
    let folded = |id: &'static str, kind: FoldKind, figures: Markup| {
        let folds = document.folds.iter().filter(|fold| fold.kind == kind);
        let content = folds.clone().map(|fold| {
            let detail = Markup::prose(&fold.detail);
            let detail = match detail.is_empty() {
                true => detail,
                false => element("p", &[], detail),
            };
            let parts = fold.blocks.iter();
            let parts = parts.map(|block| blocks::block(block, fold.title));
            detail.then(parts.collect())
        });
        let content: Markup = content.collect();
        let title = folds.map(|fold| fold.title).next()?;
        Some(HtmlSection::new(id, title, content.then(figures)))
    };
    let own = |id: &'static str, title: &str, content: Markup| {
        (!content.is_empty()).then(|| HtmlSection::new(id, title, content))
    };
    let none = Markup::default;
    let compared = plots(|job| {
        let figures = COMPARED.map(|metric| figures::intervals(job, metric));
        figures.into_iter().flatten().collect()
    });
    let parts = [
        folded("further-rows", FoldKind::Rows, none()),
        folded("remarks", FoldKind::Remarks, none()),
        folded(
            "drift",
            FoldKind::Drift,
            plots(|job| drift(job).into_iter().collect()),
        ),
        own("configurations", "Configurations compared", compared),
        folded("law", FoldKind::Law, plots(figures::laws)),
        own("change", "Change against the base", by_job(&jobs, changes)),
        folded("canaries", FoldKind::Canaries, none()),
        folded("hosts", FoldKind::Hosts, none()),
        folded("budget", FoldKind::Budget, none()),
        folded("agreement", FoldKind::Agreement, none()),
        folded("assumptions", FoldKind::Cautions, none()),
    ];
    let sections = parts.into_iter().flatten().collect();
    // What it was made from, and when.
    let made = Markup::text(&format!("Made {}. ", words::minute(report.generated_at)));
    let footer = made
        .then(Markup::own(" "))
        .then(Markup::prose(&document.footer));
    let answer = match document.headlines.as_slice() {
        [_] => document.headlines.remove(0),
        _ => Headline {
            mark: Mark::from(report.verdict),
            text: Prose::literal(words::capitalized(words::phrase(report.verdict))),
        },
    };
    HtmlPage {
        title: format!("{} · canary-gate", words::phrase(report.verdict)),
        header: blocks::header(&answer, &document, "What each configuration would take"),
        sections,
        footer,
    }
    .render()
}

/// A part of each job, under its name where there are several; empty where no job has anything to say.
fn by_job(jobs: &[&JobReport], part: impl Fn(&JobReport) -> Markup) -> Markup {
    let parts = jobs.iter().map(|job| (job, part(job)));
    let parts: Vec<_> = parts.filter(|(_, said)| !said.is_empty()).collect();
    let further = parts.len().saturating_sub(JOBS_DRAWN);
    let further = (further > 0).then(|| {
        let further = format!("{further} further jobs have their numbers in the tables.");
        element("p", &[], Markup::text(&further))
    });
    let content = parts.into_iter().take(JOBS_DRAWN);
    let content = content.map(|(job, said)| match jobs.len() > 1 {
        true => element("h3", &[], Markup::code(&job.name)).then(said),
        false => said,
    });
    content.chain(further).collect()
}

/// Every check since the baseline.
fn drift(job: &JobReport) -> Option<Plot> {
    let (points, limit) = drift_chart::levels(job.drift.as_ref()?)?;
    let lowest = points.iter().map(|(_, level)| level.point);
    OverTime {
        title: "A full run, in percent of the baseline",
        noun: "check",
        quantity: words::Quantity::Percent,
        from: (lowest.fold(100.0, f64::min) - 10.0).max(0.0),
        limit: Some(limit),
        measured: Vec::new(),
        most: points.len(),
        points,
    }
    .plot()
}

fn changes(job: &JobReport) -> Markup {
    let said = change::said(job).map(|said| element("p", &[], Markup::prose(&said.text)));
    let table = change::table(job);
    let table = table.map(|table| blocks::table(&table, "What the change is made of"));
    said.into_iter().chain(table).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::super::samples;
    use super::super::tests::read;
    use super::*;

    #[test]
    fn every_sample_is_a_page_with_one_answer_that_loads_and_runs_nothing() {
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
                let loads = ["src", "srcset", "action", "data"].contains(&key.as_str());
                assert!(!loads, "{name}: {key}={value}");
                if key == "href" && value.starts_with('#') {
                    assert!(ids.iter().any(|id| **id == value[1..]), "{name}: {value}");
                }
                if key == "fill" || key == "stroke" {
                    let is_ours = value == "none" || value.starts_with("var(--");
                    assert!(is_ours, "{name}: {key}={value}");
                }
            }
            assert!(!page.contains("url("), "{name}");
            assert_eq!(page, render(&report), "{name}");
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
