//! The report as GitHub Markdown: for a pull-request comment, a step summary, or a file.
//!
//! The template `templates/report.md.hbs` lays out; everything it is given is a finished string. A reader decides from
//! the first line and the table; the rest is folded.

use handlebars::{Handlebars, no_escape};
use serde::Serialize;

use super::background::{self, Caution};
use super::canaries::{self, Align, Grid};
use super::change::{self, Setting};
use super::chart::{self, Chart};
use super::comparison::{self, Comparison, Figure, Row};
use super::drift;
use super::drift_chart;
use super::escape::{
    LINE_LIMIT, NAME_LIMIT, PARAGRAPH_LIMIT, as_block, as_code, for_markdown,
    for_markdown_with_code,
};
use super::failures::{self, CAUSES_SHOWN};
use super::footer::{commit_reference, footer};
use super::help;
use super::recommendation;
use super::{Failure, JobReport, Report, words};
use crate::verdict::Verdict;

pub use super::drift_issue::{DriftIssue, drift_issue, drift_over};
pub use super::length::render_within;
pub use super::status::{
    Ended, InProgress, JobInProgress, Leftovers, ended, in_progress, unposted,
};

const TEMPLATE: &str = include_str!("../../templates/report.md.hbs");

/// Before what explains a change.
const WHY: &str = "**Why it changed.** ";

/// Keeps a range on one line: a browser may break at a dash.
const WORD_JOINER: char = '\u{2060}';
const NO_BREAK_SPACE: &str = "\u{a0}";

/// `memory 126%`, `99% likely over`.
const UNBROKEN_LIMIT: usize = 24;

/// Charts of more jobs than this would be scrolled past; the worst have theirs.
const CHARTS_SHOWN: usize = 3;

/// Of an excerpt in a failure's cause.
const EXCERPT_LINES: usize = 60;
const EXCERPT_LINE_LIMIT: usize = 200;

/// How much of a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    Whole,
    WithoutRuns,
    WithoutFolds,
    /// The verdicts, the table and the failures, without what stands beside.
    Bare,
}

/// What the template is given.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    /// Worst first.
    pub(super) headings: Vec<String>,
    pub(super) comparison: Option<Table>,
    /// Why something could not be checked; whole blocks.
    pub(super) failures: Vec<String>,
    /// What a reader must know beside the table: lines of one paragraph.
    remarks: String,
    folds: Vec<Fold>,
    /// What is missing, where the length is limited.
    pub(super) left_out: Option<String>,
    pub(super) footer: String,
}

/// A Markdown table: titles, the rule below them, and the rows.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    pub(super) header: Vec<String>,
    pub(super) rule: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A folded part; never without content.
#[derive(Debug, Serialize)]
struct Fold {
    summary: String,
    lines: Vec<String>,
    charts: Vec<Drawing>,
    grid: Option<Table>,
}

#[derive(Debug, Serialize)]
struct Drawing {
    caption: String,
    block: String,
}

/// The whole report. Text in it that came from a pull request is shown literally.
pub fn render(report: &Report) -> String {
    page(report, Extent::Whole).render()
}

/// The parts of the report to this extent.
pub(super) fn page(report: &Report, extent: Extent) -> Page {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    Page {
        headings: headings(report, &jobs),
        comparison: comparison_table(&jobs),
        failures: failure_blocks(report, extent),
        remarks: match extent {
            Extent::Bare => String::new(),
            _ => remarks(report, &jobs).join("\\\n"),
        },
        folds: match extent {
            Extent::Whole | Extent::WithoutRuns => folds(report, &jobs, extent),
            Extent::WithoutFolds | Extent::Bare => Vec::new(),
        },
        left_out: None,
        footer: footer(report),
    }
}

impl Page {
    pub(super) fn render(&self) -> String {
        lay_out(self)
    }
}

fn lay_out(page: &Page) -> String {
    let mut handlebars = Handlebars::new();
    // Every string was escaped where it was made, once.
    handlebars.register_escape_fn(no_escape);
    handlebars.set_strict_mode(true);
    handlebars
        .render_template(TEMPLATE, page)
        .expect("the template is part of the program and names only fields of Page")
}

pub(super) fn prose(text: &str) -> String {
    for_markdown(text, LINE_LIMIT)
}

pub(super) fn name(text: &str) -> String {
    as_code(text, NAME_LIMIT)
}

/// A sentence of the program, in which backticks set code.
fn sentence(text: &str) -> String {
    for_markdown_with_code(text, LINE_LIMIT)
}

/// A number that stays on one line.
fn unbroken(text: &str) -> String {
    for_markdown(text, NAME_LIMIT)
        .replace(' ', NO_BREAK_SPACE)
        .replace('–', &format!("{WORD_JOINER}–{WORD_JOINER}"))
}

/// The verdict of each job with its margin, worst first; what could not be checked comes after what failed the check.
fn headings(report: &Report, jobs: &[&JobReport]) -> Vec<String> {
    if failures::has_only_failures(report) {
        return failure_headings(report);
    }
    if jobs.is_empty() {
        let what = match report.verdict {
            Verdict::NotJudged => "nothing to judge",
            verdict => words::phrase(verdict),
        };
        return vec![format!("{} {what}", words::emoji(report.verdict))];
    }
    let sorted = comparison::worst_first(jobs);
    let failing =
        sorted.partition_point(|job| matches!(job.verdict, Verdict::Exceeded | Verdict::Failed));
    // Of one job there may be two: a budget and a drift.
    let (failing, others) = sorted.split_at(failing);
    let of = |jobs: &[&JobReport]| -> Vec<String> {
        jobs.iter().flat_map(|job| job_headings(job)).collect()
    };
    [of(failing), failure_headings(report), of(others)].concat()
}

/// What its verdict is; where it was checked for drift, what that found.
fn job_headings(job: &JobReport) -> Vec<String> {
    let drift = job.drift.as_ref().map(|drift| {
        format!(
            "{} {} {}",
            drift::emoji(drift),
            name(&job.name),
            prose(&drift::headline(job, drift))
        )
    });
    let verdict = words::tells_verdict(job).then(|| heading(job));
    match (verdict, drift) {
        // The worse first.
        (Some(verdict), Some(drift)) if job.verdict == Verdict::AtRisk && job.has_drifted() => {
            vec![drift, verdict]
        }
        (verdict, drift) => verdict.into_iter().chain(drift).collect(),
    }
}

fn heading(job: &JobReport) -> String {
    let mut heading = format!(
        "{} {} {}",
        words::emoji(words::shown_verdict(job.verdict, job.forecasts.first())),
        name(&job.name),
        words::job_phrase(job)
    );
    if !job.reason.is_empty() {
        heading.push_str(": ");
        heading.push_str(&prose(&job.reason));
    }
    heading
}

/// `❌ could not check: the spec is invalid`
fn failure_headings(report: &Report) -> Vec<String> {
    let heading = |failure: &Failure| match &failure.job {
        Some(job) => format!(
            "❌ could not check {}: {}",
            name(job),
            sentence(&failure.what)
        ),
        None => format!("❌ could not check: {}", sentence(&failure.what)),
    };
    let further = failures::further(report).map(|further| format!("❌ {further}"));
    let shown = report.failures.iter().take(failures::SHOWN);
    shown.map(heading).chain(further).collect()
}

/// What was being done, why it went wrong, and what to do; at the end what it has cost, and the exit code.
fn failure_blocks(report: &Report, extent: Extent) -> Vec<String> {
    if report.failures.is_empty() {
        return Vec::new();
    }
    let several = report.failures.len() > 1;
    let mut blocks = Vec::new();
    for failure in report.failures.iter().take(failures::SHOWN) {
        let mut lines = Vec::new();
        let lead = match &failure.job {
            Some(job) if several || !report.jobs.is_empty() => format!("{}: ", name(job)),
            _ => String::new(),
        };
        let phase = prose(&words::capitalized(&failure.phase));
        lines.push(format!("**What was being done.** {lead}{phase}."));
        let mut after = None;
        match failure.causes.as_slice() {
            _ if extent == Extent::Bare => {}
            [] => {}
            [cause] if !failures::has_excerpts(failure) => {
                lines.push(format!("**Why.** {}", sentence(&words::capitalized(cause))));
            }
            causes => {
                lines.push("**Why.**".to_owned());
                after = Some(cause_list(failure, causes));
            }
        }
        let mut help = help::in_markdown(failure.help.as_deref().unwrap_or_default());
        if after.is_none() && !help.is_empty() {
            lines.push(help.remove(0));
        }
        blocks.push(lines.join("\\\n"));
        blocks.extend(after);
        blocks.extend(help);
    }
    blocks.push(format!(
        "**What it has cost.** {}\\\n**What it means.** {}",
        prose(&failures::cost_so_far(report)),
        prose(&failures::exit(report))
    ));
    blocks
}

/// The problems of a spec with their excerpts as one block, other causes as a list.
fn cause_list(failure: &Failure, causes: &[String]) -> String {
    let shown = causes.iter().take(CAUSES_SHOWN);
    let further = failures::further_causes(failure);
    if failures::has_excerpts(failure) {
        let mut text = shown.map(String::as_str).collect::<Vec<_>>().join("\n");
        if let Some(further) = further {
            text.push('\n');
            text.push_str(&further);
        }
        return as_block(&text, EXCERPT_LINE_LIMIT, EXCERPT_LINES);
    }
    let lines: Vec<String> = shown
        .map(|cause| sentence(cause))
        .chain(further)
        .map(|cause| format!("- {cause}"))
        .collect();
    lines.join("\n")
}

pub(super) fn comparison_table(jobs: &[&JobReport]) -> Option<Table> {
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
        header.push(unbroken(&comparison.title(*column)));
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
    let what = held_together(what);
    let sign = match row.verdict {
        _ if !row.is_measured => words::emoji(Verdict::NotJudged),
        verdict => words::emoji(verdict),
    };
    let mut cell = if row.is_measured && row.verdict == Verdict::Exceeded {
        format!("{sign}{NO_BREAK_SPACE}**{what}**")
    } else {
        format!("{sign}{NO_BREAK_SPACE}{what}")
    };
    if let Some(detail) = detail {
        cell.push_str("<br>");
        cell.push_str(&held_together(detail));
    }
    cell
}

/// A few words stay on one line, which a narrow screen would break into as many lines; longer text may break.
fn held_together(text: &str) -> String {
    if text.chars().count() <= UNBROKEN_LIMIT {
        unbroken(text)
    } else {
        prose(text)
    }
}

/// The number, its interval on a second line.
fn figure_cell(row: &Row<'_>, figure: Option<&Figure>, is_decisive: bool) -> String {
    let Some(figure) = figure else {
        return if row.is_measured { words::UNKNOWN } else { "" }.to_owned();
    };
    let point = unbroken(&figure.point);
    let is_bold = is_decisive || figure.is_strong;
    let mut cell = if is_bold && row.verdict == Verdict::Exceeded {
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
        let setting = Setting {
            name: &name,
            commit: &commit_reference,
        };
        if let Some(drift) = &job.drift {
            let sentences = drift::sentences(drift);
            if !sentences.is_empty() {
                let sentences = sentences.iter().map(|sentence| prose(sentence));
                let sentences = sentences.collect::<Vec<_>>().join(" ");
                let heading = if drift::explains(drift) { WHY } else { "" };
                remarks.push(format!("{heading}{lead}{sentences}"));
            }
        } else if let Some(said) = change::said(job, &setting) {
            let heading = if said.explains { WHY } else { "" };
            remarks.push(format!("{heading}{lead}{}", said.text));
        }
        let further = comparison::further_lines(job);
        remarks.extend(
            further
                .iter()
                .map(|line| format!("{lead}Also: {}", prose(line))),
        );
        if let Some(sentence) = recommendation::sentence(job, name) {
            remarks.push(format!("**What would fit.** {lead}{sentence}"));
        }
        remarks.extend(
            job.advice
                .iter()
                .map(|advice| format!("{lead}{}", sentence(&words::capitalized(advice)))),
        );
    }
    remarks
}

fn folds(report: &Report, jobs: &[&JobReport], extent: Extent) -> Vec<Fold> {
    let mut folds = drift_folds(jobs);
    let runs = canaries::canary_runs(jobs);
    if !runs.rows.is_empty() && extent == Extent::Whole {
        folds.push(Fold {
            // Only numbers of ours; backslashes would show in a summary.
            summary: format!("Canaries: {}", canaries::spend(jobs)),
            lines: Vec::new(),
            charts: Vec::new(),
            grid: Some(table(&runs)),
        });
    }
    let (lines, grid) = how_forecast(jobs);
    if !lines.is_empty() || grid.is_some() {
        folds.push(Fold {
            summary: "How the forecast was made".to_owned(),
            lines,
            charts: charts(jobs),
            grid,
        });
    }
    let budget = budget(jobs);
    if !budget.rows.is_empty() {
        folds.push(Fold {
            summary: "The budget, line by line".to_owned(),
            lines: Vec::new(),
            charts: Vec::new(),
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
                charts: Vec::new(),
                grid: None,
            });
        }
    }
    folds
}

/// What a drift is made of, and every check since the baseline: of the worst jobs that have one.
fn drift_folds(jobs: &[&JobReport]) -> Vec<Fold> {
    let fold = |job: &JobReport| {
        let drift = job.drift.as_ref()?;
        let causes = drift::causes(drift);
        let drawn = drift_chart::of(drift);
        if causes.rows.is_empty() && drawn.is_none() {
            return None;
        }
        Some(Fold {
            summary: "The drift: its causes, and every check".to_owned(),
            // Not in the summary, where no code can be set.
            lines: (jobs.len() > 1)
                .then(|| name(&job.name))
                .into_iter()
                .collect(),
            charts: drawn.into_iter().map(Drawing::from).collect(),
            grid: (!causes.rows.is_empty()).then(|| table(&causes)),
        })
    };
    comparison::worst_first(jobs)
        .into_iter()
        .filter_map(fold)
        .take(CHARTS_SHOWN)
        .collect()
}

impl From<Chart> for Drawing {
    fn from(chart: Chart) -> Self {
        Self {
            caption: prose(&chart.caption),
            block: chart.block,
        }
    }
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

/// Of the worst jobs that have a law.
fn charts(jobs: &[&JobReport]) -> Vec<Drawing> {
    let draw = |job: &JobReport| {
        let mut drawing = Drawing::from(chart::of(job)?);
        if jobs.len() > 1 {
            drawing.caption = format!("{}: {}", name(&job.name), drawing.caption);
        }
        Some(drawing)
    };
    comparison::worst_first(jobs)
        .into_iter()
        .filter_map(draw)
        .take(CHARTS_SHOWN)
        .collect()
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

/// A table by itself.
pub(super) fn table_text(grid: &Grid) -> String {
    let Table { header, rule, rows } = table(grid);
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let rule = format!("|{}|", rule.join("|"));
    let lines = [line(&header), rule];
    let lines: Vec<String> = lines
        .into_iter()
        .chain(rows.iter().map(|row| line(row)))
        .collect();
    lines.join("\n")
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
        assert_eq!(tables, 4);
    }
}
