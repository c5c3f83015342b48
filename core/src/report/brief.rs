//! The report in a few lines for each job: what a reader at a terminal decides by, nothing said twice. Several jobs begin
//! with a table of them all.

use std::cmp::Reverse;

use super::comparison::{self, Column, Comparison, ComparisonRow};
use super::document::{
    Align, Cell, Document, DocumentLine, Headline, Table, TableColumn, TableRow,
};
use super::label::Label;
use super::mark::Mark;
use super::text::Prose;
use super::{JobReport, Report, background, canaries, compose, policy_lines, what_to_do, words};
use crate::grammar;
use crate::instance::Price;
use crate::metric::Metric;
use crate::verdict::Verdict;

/// More configurations than this are not compared at a glance.
const ROWS_SHOWN: usize = 12;
/// Of several jobs that somebody must look at, so many have lines of their own.
const JOBS_SHOWN: usize = 5;
/// Of several different failures of canaries.
const FAILURES_SHOWN: usize = 3;
/// Notes of a job that is not decided, which mostly say why.
const NOTES_SHOWN: usize = 3;

/// What is always on top of several jobs: one row for each, worst first. `None` for fewer than two.
pub(super) fn overview(report: &Report) -> Option<Document> {
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    if jobs.len() < 2 {
        return None;
    }
    let rows: Vec<TableRow> = (comparison::worst_first(&jobs).into_iter())
        .map(overview_row)
        .collect();
    let columns = [
        ("Verdict", Align::Left),
        ("Job", Align::Left),
        ("Time", Align::Right),
        ("Cost", Align::Right),
        ("vs base", Align::Right),
    ];
    let is_said = |place: &usize| rows.iter().any(|row| !row.cells[*place].text.is_empty());
    let kept: Vec<usize> = (0..columns.len()).filter(is_said).collect();
    let column = |place: &usize| TableColumn {
        title: Prose::own(columns[*place].0),
        align: columns[*place].1,
        is_evident: false,
        weight: None,
    };
    let row = |row: &TableRow| TableRow {
        cells: kept.iter().map(|place| row.cells[*place].clone()).collect(),
        is_judged: row.is_judged,
    };
    Some(Document {
        table: Some(Table {
            columns: kept.iter().map(column).collect(),
            rows: rows.iter().map(row).collect(),
        }),
        ..Document::default()
    })
}

fn overview_row(job: &JobReport) -> TableRow {
    let jobs = [job];
    let comparison = Comparison::of(&jobs);
    let judged = comparison.rows.first();
    let figure = |column: Column| {
        let place = comparison.columns.iter().position(|one| *one == column);
        let figure = judged
            .zip(place)
            .and_then(|(row, place)| row.figures[place].as_ref());
        let point = figure.map(|figure| Prose::figure(figure.point.as_str()));
        Cell::from(point.unwrap_or_default())
    };
    let verdict = words::shown_verdict(job.verdict, job.forecasts.first());
    let mark = match job.has_drifted() {
        true => Mark::Bad,
        false => Mark::from(verdict),
    };
    let phrase = match (job.has_drifted(), &job.drift) {
        (true, _) => "drifted",
        (false, Some(_)) if !words::shows_verdict(job) => "no drift",
        _ => words::job_phrase(job),
    };
    let has_chance = words::shows_verdict(job) && !job.has_drifted();
    let chance = judged.filter(|row| row.is_measured && has_chance);
    let chance = chance.and_then(|row| row.standing.1.as_deref().filter(|said| is_chance(said)));
    TableRow {
        cells: vec![
            Cell {
                mark: Some(mark),
                detail: chance.map(Prose::few_words),
                is_strong: mark == Mark::Bad,
                ..Cell::from(Prose::own(phrase))
            },
            Cell::from(Prose::short(job.name.as_str())),
            figure(Column::Metric(Metric::Time)),
            figure(Column::Metric(Metric::Cost)),
            figure(Column::VersusBase),
        ],
        is_judged: true,
    }
}

/// Each job that somebody must look at, a single job in any case, worst first; then what else concerns the run. The last
/// says what is left out.
pub(super) fn by_job(report: &Report) -> Vec<Document> {
    let all: Vec<&JobReport> = report.jobs.iter().collect();
    let several_jobs = all.len() > 1;
    let sorted = comparison::worst_first(&all).into_iter();
    let in_question: Vec<&JobReport> = sorted
        .filter(|job| !several_jobs || needs_a_look(job))
        .collect();
    let shown = &in_question[..in_question.len().min(JOBS_SHOWN)];
    let mut documents: Vec<Document> = shown.iter().map(|job| of_job(job)).collect();
    documents.extend(compose::beside_jobs(report));
    let spend = || Prose::literal(canaries::spend(&all));
    let spend = several_jobs.then(|| DocumentLine::new(Label::Canaries, spend()));
    let remarks: Vec<DocumentLine> = spend.into_iter().chain(left_out(&all, shown)).collect();
    documents.extend((!remarks.is_empty()).then(|| Document {
        remarks,
        ..Document::default()
    }));
    documents
}

fn needs_a_look(job: &JobReport) -> bool {
    let shown = words::shown_verdict(job.verdict, job.forecasts.first());
    let is_fine = matches!(shown, Verdict::Within | Verdict::NotJudged);
    !is_fine || job.has_drifted() || !job.warnings.is_empty()
}

fn of_job(job: &JobReport) -> Document {
    let jobs = [job];
    let mut comparison = Comparison::of(&jobs);
    let mut headlines = compose::job_headlines(job);
    if let Some(row) = comparison.rows.first_mut()
        && words::shows_verdict(job)
        && row.is_measured
    {
        row.standing.1 = (row.standing.1.take())
            .and_then(|detail| not_in_the_headline(job, &mut headlines, detail));
    }
    keep_the_best(&mut comparison);
    let is_empty = |row: &ComparisonRow<'_>| row.figures.iter().all(Option::is_none);
    let says_more = comparison.rows.len() > 1 || !comparison.rows.iter().all(is_empty);
    Document {
        headlines,
        warnings: compose::warnings(&jobs),
        table: comparison.table(false).filter(|_| says_more),
        remarks: (policy_lines::of_job(job).into_iter())
            .chain(remarks(job))
            .collect(),
        ..Document::default()
    }
}

/// Puts the chance beside a verdict into the headline. Returns what is still to be said in the table.
fn not_in_the_headline(
    job: &JobReport,
    headlines: &mut [Headline],
    detail: String,
) -> Option<String> {
    let shown = words::shown_verdict(job.verdict, job.forecasts.first());
    // The headline says that the base was over already.
    if shown != job.verdict {
        return None;
    }
    if !is_chance(&detail) {
        return Some(detail);
    }
    // `90% likely over` may stand there as `90% likely`.
    let likely = detail.split_inclusive("likely").next().unwrap_or_default();
    if job.reason.contains(likely) {
        return None;
    }
    let mark = Mark::from(shown);
    let verdict = headlines.iter_mut().find(|headline| headline.mark == mark);
    match verdict {
        // That is the chance of another line.
        Some(_) if is_chance(&job.reason) => Some(detail),
        Some(verdict) => {
            let text = std::mem::take(&mut verdict.text);
            verdict.text = Prose::fill("{}; {}", [text, Prose::literal(detail)]);
            None
        }
        None => Some(detail),
    }
}

/// Whether the words beside a verdict are a probability.
fn is_chance(words: &str) -> bool {
    words.contains("likely")
}

/// The judged configuration, and of many others those that fit best, in their order.
fn keep_the_best(comparison: &mut Comparison<'_>) {
    let mut ranked: Vec<usize> = (0..comparison.rows.len()).collect();
    ranked.sort_by_key(|place| {
        let row = &comparison.rows[*place];
        (!row.is_judged, !row.is_measured, Reverse(row.verdict))
    });
    ranked.truncate(ROWS_SHOWN);
    let mut place = 0;
    comparison.rows.retain(|_| {
        place += 1;
        ranked.contains(&(place - 1))
    });
}

fn remarks(job: &JobReport) -> Vec<DocumentLine> {
    let is_fine = matches!(job.verdict, Verdict::Within | Verdict::NotJudged);
    let mut failures = 0;
    let mut lines: Vec<DocumentLine> = compose::job_remarks(job)
        .into_iter()
        .filter(|(label, _)| match label {
            Label::FailedRuns => {
                failures += 1;
                failures <= FAILURES_SHOWN
            }
            Label::Log => failures <= FAILURES_SHOWN,
            Label::WhyChanged | Label::FurtherBudgetLine | Label::Fitting => true,
            Label::Advice => !is_fine,
            Label::Remedy => what_to_do::is_cut_from_the_headline(job),
            _ => false,
        })
        .map(|(label, text)| DocumentLine::new(label, text))
        .collect();
    let jobs = [job];
    if !job.measurements.is_empty() {
        let spend = Prose::literal(canaries::spend(&jobs));
        let spend = match price(job) {
            Some(price) => Prose::fill("{}; {}", [spend, Prose::literal(price)]),
            None => spend,
        };
        let place = (lines.iter())
            .position(|line| matches!(line.label, Label::Fitting | Label::Advice))
            .unwrap_or(lines.len());
        lines.insert(place, DocumentLine::new(Label::Canaries, spend));
    }
    let notes = shown_notes(job).map(|note| DocumentLine::new(Label::Note, Prose::literal(note)));
    lines.extend(notes);
    let prices = job.forecasts.iter().flat_map(|forecast| forecast.prices());
    let mark = prices.into_iter().any(Price::is_estimate);
    if let Some(interval) = background::interval_words(&jobs) {
        let interval = match mark {
            true => format!("{interval}; ~ marks a cost that rests on an estimated price"),
            false => interval,
        };
        lines.push(DocumentLine::new(Label::Interval, Prose::literal(interval)));
    }
    lines
}

/// Why a job is not decided, and what to do about it, stands in its notes.
fn shown_notes(job: &JobReport) -> impl Iterator<Item = &str> {
    let shown = match job.verdict {
        Verdict::Unknown | Verdict::NotJudged => NOTES_SHOWN,
        _ => 0,
    };
    job.notes.iter().take(shown).map(String::as_str)
}

/// `price 11.0526 USD/h`
fn price(job: &JobReport) -> Option<String> {
    let forecast = job.forecasts.first()?;
    let price = forecast.price.as_ref()?;
    let mark = if price.is_estimate() { "~" } else { "" };
    let machines = match forecast.instance.total_count() {
        0 | 1 => "",
        _ => " per machine",
    };
    Some(format!("price {mark}{}{machines}", words::hourly(price)))
}

/// `law, prices, 2 notes and 5 jobs: --details`
fn left_out(all: &[&JobReport], shown: &[&JobReport]) -> Option<DocumentLine> {
    let has_law = |job: &&JobReport| job.forecasts.iter().any(|row| row.law.time.is_some());
    let notes: usize = (all.iter())
        .map(|job| {
            let is_shown = shown.iter().any(|one| std::ptr::eq(*one, *job));
            let of_runs = background::run_notes(job).len();
            let said = if is_shown {
                shown_notes(job).count()
            } else {
                0
            };
            job.notes.len() + of_runs - said
        })
        .sum();
    let rows = shown
        .iter()
        .map(|job| job.forecasts.len().saturating_sub(ROWS_SHOWN));
    let rows: usize = rows.sum();
    let jobs = all.len() - shown.len();
    let counted = |number: usize, noun: &str| (number > 0).then(|| grammar::count(number, noun));
    let parts: Vec<String> = [
        counted(jobs, "job"),
        counted(rows, "configuration"),
        all.iter().any(has_law).then(|| "laws".to_owned()),
        counted(notes, "note"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let hint = format!("{}: add --details", grammar::list(&parts));
    (!parts.is_empty()).then(|| DocumentLine::new(Label::Hidden, Prose::literal(hint)))
}
