//! A report that has to fit: GitHub takes a comment of 65,536 characters.
//!
//! What is needed least goes first: the canaries one by one, then every folded part, then the sentences beside the
//! table. After that the table loses whole rows, those of alternatives first. The verdict of the worst job is always
//! there, and what is left out is said.

use super::document::{Document, DocumentLine, FoldKind, Headline, Table};
use super::label::Label;
use super::mark::Mark;
use super::text::Prose;
use super::{JobReport, Report};
use super::{compose, failures, markdown, words};
use crate::exit;

/// Of the room, for all verdicts: a table shows more of them. The worst takes what it needs.
const SHARE_OF_HEADLINES: usize = 4;

/// How much of a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    Whole,
    WithoutRuns,
    WithoutFolds,
    /// The verdicts, the table and the failures, without what stands beside.
    Bare,
}

/// The report in at most `limit` bytes of Markdown, which are enough for a comment in either reading of GitHub's limit:
/// characters or bytes. Its last line says that the comment is kept up to date.
///
/// Under a few kilobytes there may be room for nothing but the verdict in two words.
pub fn render_within(report: &Report, limit: usize) -> String {
    for extent in [Extent::Whole, Extent::WithoutRuns, Extent::WithoutFolds] {
        let document = shortened(report, extent);
        let text = markdown::lay_out(&document);
        if text.len() <= limit {
            return text;
        }
    }
    bare(report, limit).unwrap_or_else(|| verdict_alone(report, limit))
}

/// The document to this extent, which says what it leaves out.
fn shortened(report: &Report, extent: Extent) -> Document {
    let mut document = match extent {
        // As many rows as there is room for.
        Extent::Bare => compose::with_all_rows(report),
        _ => compose::document(report),
    };
    document.footer = Prose::fill("{} · updated when the code changes", [document.footer]);
    if extent >= Extent::WithoutRuns {
        document
            .folds
            .retain(|fold| !matches!(fold.kind, FoldKind::Canaries | FoldKind::Hosts));
    }
    if extent >= Extent::WithoutFolds {
        document.folds.retain(|fold| {
            fold.kind == FoldKind::Rows || (fold.kind == FoldKind::Remarks && extent < Extent::Bare)
        });
    }
    if extent == Extent::Bare {
        document.folds.clear();
        // What a change does to its own limits is never out of sight.
        document.remarks.retain(|line| line.label == Label::Policy);
        document.warnings.clear();
        document.blocks = failures::without_causes(document.blocks);
    }
    document.left_out = left_out(report, &missing(report, extent));
    document
}

/// What an extent leaves out, in words.
fn missing(report: &Report, extent: Extent) -> Vec<String> {
    let has_runs = report.jobs.iter().any(|job| !job.measurements.is_empty());
    let has_causes = report
        .failures
        .iter()
        .any(|failure| !failure.causes.is_empty());
    let mut missing = Vec::new();
    if extent >= Extent::WithoutRuns && has_runs {
        missing.push("the canary runs one by one");
    }
    if extent >= Extent::WithoutFolds && !report.jobs.is_empty() {
        missing.extend([
            "how the forecast was made",
            "the budget line by line",
            "cautions",
        ]);
    }
    if extent == Extent::Bare && !report.jobs.is_empty() {
        missing.push("the sentences beside the table");
    }
    if extent == Extent::Bare && has_causes {
        missing.push("the causes of what went wrong");
    }
    missing.into_iter().map(str::to_owned).collect()
}

fn left_out(report: &Report, missing: &[String]) -> Option<DocumentLine> {
    let (last, others) = missing.split_last()?;
    let list = match others {
        [] => last.clone(),
        others => format!("{} and {last}", others.join(", ")),
    };
    let run = report.run_url.as_deref().and_then(Prose::run);
    let run = run.map_or(Prose::default(), |run| Prose::fill(" of {}", [run]));
    let text = Prose::fill(
        "{}. The whole report is in the step summary{}.",
        [Prose::literal(list), run],
    );
    Some(DocumentLine::new(Label::LeftOut, text))
}

/// Verdicts and table, with as many of each as there is room for; `None` where that of the worst job alone is too long.
fn bare(report: &Report, limit: usize) -> Option<String> {
    let mut document = shortened(report, Extent::Bare);
    let table = document.table.take();
    let total = ShownParts::of(&document, table.as_ref());
    shorten_headlines(&mut document.headlines, limit / SHARE_OF_HEADLINES);
    // As if nothing were shown, which takes the most words.
    document.left_out = left_out(
        report,
        &missing_when_bare(report, ShownParts::default(), total),
    );
    let mut frame = markdown::lay_out(&document).len();
    if frame > limit {
        document.blocks.clear();
        frame = markdown::lay_out(&document).len();
    }
    let room = limit.checked_sub(frame)?;
    document.table = table.and_then(|table| with_fewer_rows(table, room));
    let shown = ShownParts::of(&document, document.table.as_ref());
    document.left_out = left_out(report, &missing_when_bare(report, shown, total));
    let text = markdown::lay_out(&document);
    (text.len() <= limit).then_some(text)
}

/// How many of each there are.
#[derive(Debug, Clone, Copy, Default)]
struct ShownParts {
    headlines: usize,
    rows: usize,
}

impl ShownParts {
    fn of(document: &Document, table: Option<&Table>) -> Self {
        Self {
            headlines: document.headlines.len(),
            rows: table.map_or(0, |table| table.rows.len()),
        }
    }
}

fn missing_when_bare(report: &Report, shown: ShownParts, total: ShownParts) -> Vec<String> {
    let mut missing = missing(report, Extent::Bare);
    if shown.headlines < total.headlines {
        let count = words::count(total.headlines - shown.headlines, "verdict");
        missing.push(format!("{count} of {}", total.headlines));
    }
    if shown.rows < total.rows {
        let count = words::count(total.rows - shown.rows, "row");
        missing.push(format!("{count} of the table's {}", total.rows));
    }
    missing
}

/// Keeps the first, which is the worst, and the next as far as the room goes.
fn shorten_headlines(headlines: &mut Vec<Headline>, room: usize) {
    let mut used = 0;
    let fitting = headlines.iter().take_while(|headline| {
        used += markdown::headline(headline).len() + "\n\n".len();
        used <= room
    });
    let count = fitting.count().max(1);
    headlines.truncate(count);
}

/// The table without the rows for which there is no room; `None` without room for one. Rows on which a verdict rests are
/// kept before alternatives, and of equal ones the worst; what stays keeps its order.
fn with_fewer_rows(table: Table, room: usize) -> Option<Table> {
    let Table { columns, rows } = table;
    let none = Table {
        columns,
        rows: Vec::new(),
    };
    let mut used = markdown::table(&none).len() + "\n\n".len();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&index| !rows[index].is_judged);
    let mut is_kept = vec![false; rows.len()];
    for index in order {
        used += markdown::row(&rows[index]).len() + "\n".len();
        if used > room {
            break;
        }
        is_kept[index] = true;
    }
    let rows = rows.into_iter().zip(is_kept);
    let rows: Vec<_> = rows
        .filter_map(|(row, is_kept)| is_kept.then_some(row))
        .collect();
    (!rows.is_empty()).then_some(Table { rows, ..none })
}

/// Where nothing else fits.
fn verdict_alone(report: &Report, limit: usize) -> String {
    let is_drift = report.exit_code == exit::DRIFT;
    let (mark, words) = if is_drift && report.jobs.iter().any(JobReport::has_drifted) {
        (Mark::Rose, "drifted")
    } else if report.failures.is_empty() {
        (Mark::from(report.verdict), words::phrase(report.verdict))
    } else {
        (Mark::Bad, "could not check")
    };
    let text = Prose::own(words);
    let mut text = format!("{}\n", markdown::headline(&Headline { mark, text }));
    while text.len() > limit {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use comrak::nodes::NodeValue;
    use comrak::{Arena, Options, parse_document};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::super::{Failure, samples};
    use super::*;
    use crate::verdict::Verdict;

    /// GitHub's limit less the marker.
    const COMMENT: usize = 64_800;

    #[test]
    fn what_fits_is_whole() {
        for (name, report) in samples::all() {
            let whole = markdown::render(&report);
            let text = render_within(&report, COMMENT);
            let ended = whole.replace("</sub>", " · updated when the code changes</sub>");
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
        let text = shorter(whole.len() - 1);
        assert!(!text.contains("<details><summary>Canaries"), "{text}");
        assert!(text.contains("```mermaid"), "{text}");
        assert!(text.contains(
            "**Left out, to fit a comment:** the canary runs one by one. The whole report is in the step summary of [run 4821]("
        ), "{text}");
        let text = shorter(text.len() - 1);
        assert!(!text.contains("<details>"), "{text}");
        assert!(text.contains("**What would fit.**"), "{text}");
        let text = shorter(text.len() - 60);
        assert!(!text.contains("**What would fit.**"), "{text}");
        assert!(text.contains("| **ml.m5.2xlarge** |"), "{text}");
        let text = shorter(text.len() - 1);
        assert!(text.contains("| **ml.m5.2xlarge** |"), "{text}");
        assert!(text.contains("row of the table's 4"), "{text}");
    }

    /// `count` jobs of which each third is over its budget, with text of this kind.
    fn many(count: usize, text: &str, alternatives: usize) -> Report {
        let mut report = samples::of("over-budget");
        let sample = report.jobs.remove(0);
        report.jobs = (0..count)
            .map(|index| {
                let mut job = sample.clone();
                job.name = format!("{index} {text}");
                job.reason = text.to_owned();
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
    fn a_table_loses_whole_rows_and_says_how_many() {
        for (jobs, alternatives) in [(300, 5), (40, 40)] {
            let report = many(
                jobs,
                "a reason of some length that says nothing",
                alternatives,
            );
            let text = render_within(&report, COMMENT);
            assert!(text.len() <= COMMENT);
            let (tables, headings) = read(&text);
            let [rows] = tables.as_slice() else {
                panic!("{tables:?}")
            };
            let over = (0..jobs).filter(|job| job % 3 == 1).count();
            let counts = format!("❌ {over} of {jobs} jobs over budget");
            assert_eq!(headings[0], counts);
            assert!(headings[1].starts_with("❌ 1 a reason"), "{}", headings[1]);
            assert_eq!(headings.len(), 6);
            assert!(*rows >= 200, "{rows}");
            let total = jobs * (1 + alternatives);
            let left_out = format!("{} rows of the table's {total}", total - rows);
            assert!(text.contains(&left_out), "{text}");
            // Those over budget first, then the other judged ones, and then alternatives.
            let is_shown = |job: &usize| text.contains(&format!("| {job} a reason"));
            assert!(
                (0..jobs)
                    .filter(|job| job % 3 == 1)
                    .all(|job| is_shown(&job))
            );
            let shown = (0..jobs).filter(is_shown).count();
            assert_eq!(shown, jobs.min(*rows));
        }
    }

    /// 50 candidates, a thousand canaries of one size, and a job of which nothing is known.
    #[test]
    fn a_report_of_unusual_size_keeps_its_verdict_its_table_and_its_canaries() {
        let mut report = samples::of("over-budget");
        let job = &mut report.jobs[0];
        let candidate = job.forecasts[1].clone();
        job.forecasts.extend(vec![candidate; 49]);
        let canary = job.measurements[0].clone();
        job.measurements = vec![canary; 1000];
        let text = render_within(&report, COMMENT);
        assert!(text.len() <= COMMENT);
        assert!(!text.contains("**Left out"), "{text}");
        assert!(text.contains("| 1000 | ml.m5.2xlarge | 1%"), "{text}");
        assert_eq!(read(&text).0[0], 53);
        let mut unknown = samples::of("unknown");
        unknown.jobs[0].forecasts.clear();
        unknown.jobs[0].measurements.clear();
        let text = render_within(&unknown, COMMENT);
        assert!(
            text.starts_with("### ❔ `ranker` could not be decided"),
            "{text}"
        );
        assert!(text.contains("**What to do.**"), "{text}");
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
            text.starts_with("### ❌ could not check `last`: no credentials"),
            "{text}"
        );
        assert!(text.contains("**What to do.** Log in"), "{text}");
    }

    #[test]
    fn where_nothing_fits_the_verdict_stands_alone() {
        let report = samples::of("over-budget");
        assert_eq!(render_within(&report, 100), "### ❌ over budget\n");
        assert_eq!(render_within(&report, 0), "");
        let drifted = samples::of("drifted");
        assert_eq!(render_within(&drifted, 100), "### 📈 drifted\n");
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
