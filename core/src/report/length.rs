//! A report that has to fit: GitHub takes a comment of 65,536 characters.
//!
//! What is needed least goes first: every folded part, then the sentences beside the table, then rows of the table, those of
//! alternatives first. The verdict of the worst job is always there, and what is left out is said.

use super::document::{Block, Document, DocumentLine, FoldKind, Table};
use super::template::Template;
use super::{Label, Prose, Report, compose, failures, markdown};

const ROWS: &str = "Rows of the table";

/// The report in at most `limit` bytes of Markdown, which are enough for a comment in either reading of GitHub's limit:
/// characters or bytes; in more only where its first headline alone takes more, which is always there. Its last line says that the
/// comment is kept up to date.
pub fn render_within(report: &Report, limit: usize) -> String {
    let mut document = compose::document(report);
    document.footer = Prose::fill("{} · updated when the code changes", [document.footer]);
    let mut parts = Vec::new();
    loop {
        document.left_out = left_out(report, &parts);
        let text = markdown::lay_out(&document);
        if text.len() <= limit {
            return text;
        }
        let Some(part) = cut(&mut document, limit, text.len()) else {
            let headlines = document.headlines;
            return markdown::lay_out(&Document {
                headlines,
                ..Document::default()
            });
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
}

/// The same by a team's layout, if there is one, which nothing is taken out of.
pub fn page_within(report: &Report, template: Option<&Template>, limit: usize) -> String {
    match template {
        Some(template) => markdown::render_by(template, report),
        None => render_within(report, limit),
    }
}

/// Takes out what is needed least, and names it: a part, or as many rows of a table as of so many bytes are too many. `None` where
/// nothing more can go.
fn cut(document: &mut Document, limit: usize, length: usize) -> Option<Prose> {
    let fewer = |table: &mut Table, least: usize| {
        let rows = table.rows.len();
        table.keep((rows * limit / length).clamp(least, rows - 1));
    };
    let folds = document.folds.iter().enumerate();
    let least = folds.min_by_key(|(_, fold)| fold.kind);
    if let Some((place, fold)) = least
        && fold.kind != FoldKind::Rows
    {
        return Some(document.folds.remove(place).title);
    }
    // What a change does to its own limits is never out of sight.
    let is_policy = |line: &DocumentLine| line.label == Label::POLICY;
    let warnings = std::mem::take(&mut document.warnings);
    if !warnings.is_empty() || !document.remarks.iter().all(is_policy) {
        document.remarks.retain(is_policy);
        return Some(Prose::own("The sentences beside the table"));
    }
    let without_causes = failures::without_causes(document.blocks.clone());
    if without_causes != document.blocks {
        document.blocks = without_causes;
        return Some(Prose::own("The causes of what went wrong"));
    }
    if let Some(fold) = document.folds.first_mut()
        && let Some(Block::Table(table)) = fold.blocks.first_mut()
    {
        fewer(table, 0);
        if table.rows.is_empty() {
            document.folds.clear();
        }
        return Some(Prose::own(ROWS));
    }
    if let Some(table) = &mut document.table
        && table.rows.len() > 1
    {
        fewer(table, 1);
        return Some(Prose::own(ROWS));
    }
    if document.headlines.len() > 1 {
        document.headlines.truncate(document.headlines.len() / 2);
        return Some(Prose::own("Verdicts"));
    }
    let has_blocks = !std::mem::take(&mut document.blocks).is_empty();
    has_blocks.then(|| Prose::own("What could not be checked"))
}

fn left_out(report: &Report, parts: &[Prose]) -> Option<DocumentLine> {
    let parts = Prose::joined(parts.iter().cloned(), "; ");
    let run = report.run_url.as_deref().and_then(Prose::run);
    let run = run.unwrap_or_else(|| Prose::own("the run"));
    let is_cut = !parts.is_empty();
    let text = Prose::fill("{}. The whole report is on the page of {}.", [parts, run]);
    is_cut.then(|| DocumentLine::new(Label::LEFT_OUT, text))
}

#[cfg(test)]
mod tests {
    use comrak::nodes::NodeValue;
    use comrak::{Arena, Options, parse_document};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::super::{Failure, samples};
    use super::*;
    use crate::verdict::{Reason, Verdict};

    /// GitHub's limit less the marker.
    const COMMENT: usize = 64_800;

    #[test]
    fn what_fits_is_whole() {
        for (name, report) in samples::all() {
            let whole = markdown::render(&report);
            let text = render_within(&report, COMMENT);
            let page = whole.trim_end().strip_suffix("</sub>").unwrap();
            let ended = format!("{page} · updated when the code changes</sub>\n");
            assert_eq!(text, ended, "{name}");
        }
    }

    #[test]
    fn the_runs_go_first_then_the_folds_then_the_sentences() {
        let report = samples::of("over-budget");
        let whole = render_within(&report, usize::MAX);
        let shorter = |limit: usize| {
            let text = render_within(&report, limit);
            assert!(text.len() <= limit, "{}", text.len());
            text
        };
        let mut text = shorter(whole.len() - 1);
        assert!(!text.contains("<details><summary>Canaries"), "{text}");
        assert!(text.contains("```mermaid"), "{text}");
        assert!(text.contains(
            "**Left out, to fit a comment:** Canaries. The whole report is on the page of [run 4821]("
        ), "{text}");
        while text.contains("<details>") {
            assert!(text.contains("**What would fit.**"), "{text}");
            text = shorter(text.len() - 1);
        }
        let text = shorter(text.len() - 60);
        assert!(!text.contains("**What would fit.**"), "{text}");
        assert!(text.contains("| **ml.m5.2xlarge** |"), "{text}");
        let text = shorter(text.len() - 1);
        assert!(text.contains("| **ml.m5.2xlarge** |"), "{text}");
        assert!(text.contains("; Rows of the table."), "{text}");
    }

    /// `count` jobs of which each third is over its budget, with text of this kind.
    fn many(count: usize, text: &str, alternatives: usize) -> Report {
        let mut report = samples::of("over-budget");
        let sample = report.jobs.remove(0);
        report.jobs = (0..count)
            .map(|index| {
                let mut job = sample.clone();
                job.name = format!("{index} {text}");
                job.reason = Reason::new(text);
                job.verdict = match index % 3 {
                    1 => Verdict::Exceeded,
                    _ => Verdict::Within,
                };
                job.forecasts.truncate(1);
                job.forecasts[0].verdict = job.verdict;
                for _ in 0..alternatives {
                    let mut alternative = sample.forecasts[1].clone();
                    alternative.not_measured = Some(text.to_owned());
                    job.forecasts.push(alternative);
                }
                job
            })
            .collect();
        report
    }

    /// The rows of the tables in a document, its headings, and its other blocks.
    fn read(document: &str) -> (Vec<usize>, Vec<String>) {
        let mut options = Options::default();
        options.extension.table = true;
        options.extension.autolink = true;
        let arena = Arena::new();
        let (mut tables, mut headings) = (Vec::new(), Vec::new());
        for node in parse_document(&arena, document, &options).descendants() {
            match &node.data().value {
                NodeValue::Table(table) => {
                    let columns = table.num_columns;
                    let is_even = node.children().all(|row| row.children().count() == columns);
                    assert!(is_even, "{document}");
                    tables.push(node.children().count() - 1);
                }
                NodeValue::Heading(_) => {
                    let text = node
                        .descendants()
                        .filter_map(|part| match &part.data().value {
                            NodeValue::Text(text) => Some(text.to_string()),
                            NodeValue::Code(code) => Some(code.literal.clone()),
                            _ => None,
                        });
                    headings.push(text.collect());
                }
                _ => {}
            }
        }
        (tables, headings)
    }

    #[test]
    fn a_table_loses_whole_rows_and_says_so() {
        for (jobs, alternatives) in [(300, 5), (40, 40)] {
            let report = many(
                jobs,
                "a reason of some length that says nothing",
                alternatives,
            );
            let text = render_within(&report, COMMENT);
            assert!(text.len() <= COMMENT);
            let (tables, headings) = read(&text);
            let rows: usize = tables.iter().sum();
            let over = (0..jobs).filter(|job| job % 3 == 1).count();
            let counts = format!("❌ {over} of {jobs} jobs over budget");
            assert_eq!(headings[0], counts);
            assert!(headings[1].starts_with("❌ 1 a reason"), "{}", headings[1]);
            assert_eq!(headings.len(), 6);
            assert!(rows >= 200, "{rows}");
            assert!(text.contains("; Rows of the table."), "{text}");
            // Those over budget first, then the other judged ones, and then alternatives.
            let is_shown = |job: &usize| text.contains(&format!("| {job} a reason"));
            assert!(
                (0..jobs)
                    .filter(|job| job % 3 == 1)
                    .all(|job| is_shown(&job))
            );
            let shown = (0..jobs).filter(is_shown).count();
            assert_eq!(shown, jobs.min(rows));
        }
    }

    #[test]
    fn a_failure_stays_at_every_length() {
        let mut report = many(200, "$x$ @everyone | `b`", 2);
        report.failures = vec![Failure {
            job: Some("last".to_owned()),
            phase: "reading the spec".to_owned(),
            what: "no credentials".to_owned(),
            causes: vec!["$".repeat(5000); 50],
            help: Some("log in".to_owned()),
        }];
        for limit in [COMMENT, 30_000, 8_000] {
            let text = render_within(&report, limit);
            assert!(text.len() <= limit);
            assert!(text.contains("**Left out"), "{text}");
        }
        report.jobs.clear();
        let text = render_within(&report, 8000);
        assert!(
            text.contains("\n\n### ❌ could not check `last` (the check fails): no credentials"),
            "{text}"
        );
        assert!(text.contains("**What to do.** Log in"), "{text}");
    }

    #[test]
    fn where_nothing_fits_the_first_headline_stands_alone() {
        let text = render_within(&samples::of("over-budget"), 100);
        assert!(text.starts_with("### ❌ `churn` over budget: "), "{text}");
        assert_eq!(text.trim_end().lines().count(), 1);
    }

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("\u{1f4a9}".repeat(400)),
            Just("$@#:|`".repeat(100)),
            Just("|".repeat(400)),
            Just("e\u{301}".repeat(300)),
            "[ -~]{0,300}",
            any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 12,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(1),
            ..ProptestConfig::default()
        })]

        #[test]
        fn whatever_comes_it_fits_and_keeps_verdict_and_table(
            text in texts(),
            jobs in 1_usize..120,
            alternatives in 0_usize..6,
            limit in 20_000_usize..65_000,
        ) {
            let report = many(jobs, &text, alternatives);
            let shown = render_within(&report, limit);
            prop_assert!(shown.len() <= limit);
            let (tables, headings) = read(&shown);
            let is_cut = shown.contains("**Left out, to fit a comment:**");
            prop_assert!(is_cut || tables.len() >= 2, "{tables:?}");
            prop_assert!(tables[0] >= 1);
            let worst = if jobs > 1 { "❌ 1" } else { "✅ 0" };
            // Of many jobs the first headline counts them.
            let of_worst = usize::from(jobs >= 4);
            prop_assert!(headings[of_worst].starts_with(worst), "{}", headings[of_worst]);
        }
    }
}
