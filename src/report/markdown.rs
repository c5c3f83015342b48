//! The report as GitHub Markdown: for a pull-request comment, a step summary, or a file.
//!
//! The template `templates/report.md.hbs` lays out; everything it is given is a finished string. A reader decides from
//! the first line and the table; the rest is folded.

use handlebars::{Handlebars, no_escape};
use serde::Serialize;

use super::background::{self, Caution};
use super::canaries::{self, Align, Grid};
use super::comparison::{self, Comparison, Figure, Row};
use super::escape::{LINE_LIMIT, NAME_LIMIT, PARAGRAPH_LIMIT, as_code, for_markdown};
use super::{JobReport, Report, words};
use crate::verdict::Verdict;

const TEMPLATE: &str = include_str!("../../templates/report.md.hbs");

/// Keeps a range on one line: a browser may break at a dash.
const WORD_JOINER: char = '\u{2060}';
const NO_BREAK_SPACE: &str = "\u{a0}";

/// Of each part of the last line, which overlaps itself on GitHub where it needs a second one.
const FOOTER_LIMIT: usize = 30;

/// What the template is given.
#[derive(Serialize)]
struct Page {
    headings: Vec<String>,
    comparison: Option<Table>,
    /// What a reader must know beside the table.
    remarks: Vec<String>,
    folds: Vec<Fold>,
    footer: String,
}

/// A Markdown table: titles, the rule below them, and the rows.
#[derive(Serialize)]
struct Table {
    header: Vec<String>,
    rule: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// A folded part; never without content.
#[derive(Serialize)]
struct Fold {
    summary: String,
    lines: Vec<String>,
    grid: Option<Table>,
}

/// The whole report. Text in it that came from a pull request is shown literally.
pub fn render(report: &Report) -> String {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    let page = Page {
        headings: headings(report, &jobs),
        comparison: comparison_table(&jobs),
        remarks: remarks(report, &jobs),
        folds: folds(report, &jobs),
        footer: footer(report),
    };
    let mut handlebars = Handlebars::new();
    // Every string was escaped where it was made, once.
    handlebars.register_escape_fn(no_escape);
    handlebars.set_strict_mode(true);
    handlebars
        .render_template(TEMPLATE, &page)
        .expect("the template is part of the program and names only fields of Page")
}

fn prose(text: &str) -> String {
    for_markdown(text, LINE_LIMIT)
}

fn name(text: &str) -> String {
    as_code(text, NAME_LIMIT)
}

/// A number that stays on one line.
fn unbroken(text: &str) -> String {
    for_markdown(text, NAME_LIMIT)
        .replace(' ', NO_BREAK_SPACE)
        .replace('–', &format!("{WORD_JOINER}–{WORD_JOINER}"))
}

/// The verdict of each job with its margin, worst first.
fn headings(report: &Report, jobs: &[&JobReport]) -> Vec<String> {
    if jobs.is_empty() {
        let what = match report.verdict {
            Verdict::NotJudged => "nothing to judge",
            verdict => words::phrase(verdict),
        };
        return vec![format!("{} {what}", words::emoji(report.verdict))];
    }
    let heading = |job: &JobReport| {
        let mut heading = format!(
            "{} {} {}",
            words::emoji(job.verdict),
            name(&job.name),
            words::phrase(job.verdict)
        );
        if !job.reason.is_empty() {
            heading.push_str(": ");
            heading.push_str(&prose(&job.reason));
        }
        heading
    };
    comparison::worst_first(jobs)
        .into_iter()
        .map(heading)
        .collect()
}

fn comparison_table(jobs: &[&JobReport]) -> Option<Table> {
    let comparison = Comparison::of(jobs);
    if comparison.rows.is_empty() {
        return None;
    }
    let several_jobs = jobs.len() > 1;
    let several_rows = comparison.rows.len() > 1;
    let mut header = vec![String::new()];
    let mut rule = vec![":--"];
    if several_jobs {
        header.push("Job".to_owned());
        rule.push(":--");
    }
    header.push("Instance".to_owned());
    rule.push(":--");
    for column in &comparison.columns {
        header.push(unbroken(column.title()));
        rule.push("--:");
    }
    let rows = comparison.rows.iter().map(|row| {
        let mut cells = vec![standing(row)];
        if several_jobs {
            cells.push(prose(row.job));
        }
        let instance = for_markdown(&row.instance, NAME_LIMIT);
        cells.push(if row.is_judged && several_rows {
            format!("**{instance}**")
        } else {
            instance
        });
        for (column, figure) in comparison.columns.iter().zip(&row.figures) {
            cells.push(figure_cell(
                row,
                figure.as_ref(),
                row.decisive == Some(*column),
            ));
        }
        cells
    });
    Some(Table {
        header,
        rule,
        rows: rows.collect(),
    })
}

/// Sign, most used line, chance.
fn standing(row: &Row<'_>) -> String {
    let (what, detail) = &row.standing;
    let what = for_markdown(what, NAME_LIMIT);
    let mut cell = match row.verdict {
        _ if !row.is_measured => format!("{} {what}", words::emoji(Verdict::NotJudged)),
        verdict @ Verdict::Exceeded => format!("{} **{what}**", words::emoji(verdict)),
        verdict => format!("{} {what}", words::emoji(verdict)),
    };
    if let Some(detail) = detail {
        cell.push_str("<br>");
        cell.push_str(&prose(detail));
    }
    cell
}

/// The number, its interval on a second line.
fn figure_cell(row: &Row<'_>, figure: Option<&Figure>, is_decisive: bool) -> String {
    let Some(figure) = figure else {
        return if row.is_measured { words::UNKNOWN } else { "" }.to_owned();
    };
    let point = unbroken(&figure.point);
    let mut cell = if is_decisive && row.verdict == Verdict::Exceeded {
        format!("**{point}**")
    } else {
        point
    };
    if let Some(interval) = &figure.interval {
        cell.push_str("<br>");
        cell.push_str(&unbroken(interval));
    }
    cell
}

fn remarks(report: &Report, jobs: &[&JobReport]) -> Vec<String> {
    let mut remarks = Vec::new();
    if jobs.is_empty() {
        remarks.extend(report.notes.iter().map(|note| prose(note)));
    }
    for job in comparison::worst_first(jobs) {
        let lead = if jobs.len() > 1 {
            format!("{}: ", name(&job.name))
        } else {
            String::new()
        };
        for (what, last_line) in canaries::failures(job) {
            let what = prose(&what);
            remarks.push(match last_line {
                Some(line) => format!("{lead}{what}: {}", as_code(&line, LINE_LIMIT)),
                None => format!("{lead}{what}"),
            });
        }
        let further = comparison::further_lines(job);
        remarks.extend(
            further
                .iter()
                .map(|line| format!("{lead}also: {}", prose(line))),
        );
        if let Some(recommendation) = &job.recommendation {
            let choice = |what: &str, instance: &Option<String>| {
                instance
                    .as_ref()
                    .map(|instance| format!("{what} {}", name(instance)))
            };
            let fits: Vec<String> = [
                choice("cheapest", &recommendation.cheapest),
                choice("fastest", &recommendation.fastest),
            ]
            .into_iter()
            .flatten()
            .collect();
            if !fits.is_empty() {
                remarks.push(format!("{lead}**what would fit:** {}", fits.join(", ")));
            }
        }
        remarks.extend(
            job.advice
                .iter()
                .map(|advice| format!("{lead}{}", prose(advice))),
        );
    }
    remarks
}

fn folds(report: &Report, jobs: &[&JobReport]) -> Vec<Fold> {
    let mut folds = Vec::new();
    let runs = canaries::canary_runs(jobs);
    if !runs.rows.is_empty() {
        folds.push(Fold {
            // Only numbers of ours; backslashes would show in a summary.
            summary: format!("Canaries: {}", canaries::spend(jobs)),
            lines: Vec::new(),
            grid: Some(table(&runs)),
        });
    }
    let (lines, grid) = how_forecast(jobs);
    if !lines.is_empty() || grid.is_some() {
        folds.push(Fold {
            summary: "How the forecast was made".to_owned(),
            lines,
            grid,
        });
    }
    let budget = budget(jobs);
    if !budget.rows.is_empty() {
        folds.push(Fold {
            summary: "The budget, line by line".to_owned(),
            lines: Vec::new(),
            grid: Some(table(&budget)),
        });
    }
    if !jobs.is_empty() {
        let of_run = report.notes.iter().map(|note| prose(note));
        let of_jobs = background::cautions(jobs).into_iter().map(labelled);
        let cautions: Vec<String> = of_run.chain(of_jobs).collect();
        if !cautions.is_empty() {
            folds.push(Fold {
                summary: "Prices, assumptions, cautions".to_owned(),
                lines: cautions,
                grid: None,
            });
        }
    }
    folds
}

fn labelled((label, text): Caution) -> String {
    match label {
        "note" => prose(&text),
        _ => format!("{label}: {}", prose(&text)),
    }
}

fn how_forecast(jobs: &[&JobReport]) -> (Vec<String>, Option<Table>) {
    let mut lines = Vec::new();
    let columns = Comparison::of(jobs).columns;
    for job in jobs {
        for (instances, explanation) in background::explanations(job, &columns) {
            let mut lead = Vec::new();
            if jobs.len() > 1 {
                lead.push(name(&job.name));
            }
            if job.forecasts.len() > 1 {
                lead.extend(instances.iter().map(|instance| name(instance)));
            }
            let lead = lead.join(", ");
            let separator = if lead.is_empty() { "" } else { ": " };
            let explanation = for_markdown(&explanation, PARAGRAPH_LIMIT);
            lines.push(format!("{lead}{separator}{explanation}"));
        }
    }
    let grid = background::law_against_measured(jobs);
    (lines, (!grid.rows.is_empty()).then(|| table(&grid)))
}

fn budget(jobs: &[&JobReport]) -> Grid {
    let mut grid = Grid {
        columns: vec![
            ("Line", Align::Left),
            ("Limit", Align::Right),
            ("Forecast", Align::Right),
            ("Chance", Align::Right),
            ("Outcome", Align::Left),
        ],
        rows: Vec::new(),
    };
    if jobs.len() > 1 {
        grid.columns.insert(0, ("Job", Align::Left));
    }
    for job in jobs {
        for row in comparison::budget_rows(job) {
            let mut row = row.to_vec();
            if jobs.len() > 1 {
                row.insert(0, job.name.clone());
            }
            grid.rows.push(row);
        }
    }
    grid
}

fn table(grid: &Grid) -> Table {
    let cell = |(text, (_, align)): (&String, &(&str, Align))| match align {
        Align::Left => prose(text),
        Align::Right => unbroken(text),
    };
    Table {
        header: grid
            .columns
            .iter()
            .map(|(title, _)| unbroken(title))
            .collect(),
        rule: grid
            .columns
            .iter()
            .map(|(_, align)| match align {
                Align::Left => ":--",
                Align::Right => "--:",
            })
            .collect(),
        rows: grid
            .rows
            .iter()
            .map(|row| row.iter().zip(&grid.columns).map(cell).collect())
            .collect(),
    }
}

/// Commit, spec, policy, version, run.
fn footer(report: &Report) -> String {
    let mut parts = Vec::new();
    if let Some(commit) = &report.commit {
        parts.push(commit_reference(commit));
    }
    if let Some(hash) = &report.spec_hash {
        parts.push(format!(
            "spec {}",
            for_markdown(&short(hash, 4), FOOTER_LIMIT)
        ));
    }
    if let Some(policy) = &report.policy {
        let mut from = format!("policy from {}", for_markdown(&policy.source, FOOTER_LIMIT));
        if let Some(sha) = &policy.sha {
            from.push(' ');
            from.push_str(&commit_reference(sha));
        }
        parts.push(from);
    }
    parts.push(format!(
        "canary-gate {}",
        for_markdown(&report.tool_version, FOOTER_LIMIT)
    ));
    parts.extend(report.run_url.as_deref().and_then(run_link));
    parts.join(" · ")
}

/// GitHub links a commit by itself, which is welcome here.
fn commit_reference(sha: &str) -> String {
    let sha = short(sha, 7);
    if sha.chars().all(|c| c.is_ascii_hexdigit()) {
        sha
    } else {
        for_markdown(&sha, FOOTER_LIMIT)
    }
}

fn short(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// A link to the run, named by the last part of its address. `None` for what is not a plain https address: a stored
/// report may be anybody's.
fn run_link(url: &str) -> Option<String> {
    let path = url.strip_prefix("https://")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/.-_".contains(c);
    if !path.chars().all(plain) || path.len() > 300 {
        return None;
    }
    let number = path.rsplit('/').find(|part| !part.is_empty())?;
    Some(format!(
        "[run {}](https://{path})",
        for_markdown(number, 20)
    ))
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
        let text = render(&samples::hostile());
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
                NodeValue::Image(_) | NodeValue::CodeBlock(_) => panic!("not ours"),
                NodeValue::Text(text) => assert!(!text.contains("@everyone"), "{text}"),
                NodeValue::Table(_) => tables += 1,
                _ => {}
            }
        }
        assert_eq!(tables, 4);
    }

    #[test]
    fn only_a_plain_address_becomes_a_link() {
        assert_eq!(
            run_link("https://github.com/example/models/actions/runs/4821/").as_deref(),
            Some("[run 4821](https://github.com/example/models/actions/runs/4821/)")
        );
        for url in [
            "javascript:alert(1)",
            "https://x) [y](https://z",
            "http://x/1",
            "https://",
        ] {
            assert_eq!(run_link(url), None, "{url}");
        }
    }
}
