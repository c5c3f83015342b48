//! A history as a page: all jobs, those that need attention first, what a full run of each takes over time, and what its checks
//! cost.

mod of_job;

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::super::document::Title::{Numbers, Words};
use super::super::document::{
    Block, Cell, Document, DocumentLine, Fold, FoldKind, Headline, Table,
};
use super::super::history_figures::{
    FigureAndLimit, HistoryFigures, JobFigures, JobStanding, Spent, UnreadableRecords,
};
use super::super::label::Label;
use super::super::mark::Mark;
use super::super::text::Prose;
use super::super::words::{self, Quantity, UNKNOWN, count};
use super::page;
use crate::units::{Seconds, Usd};
use of_job::of_job;

/// Jobs in the table; more nobody reads.
const MOST_JOBS: usize = 500;
/// Jobs with charts and tables of their own, each some 30 KB.
const MOST_DETAILED: usize = 20;
/// Months that are shown one by one.
const MOST_MONTHS: usize = 12;
/// Rows of the table of checks.
const NEWEST_CHECKS: usize = 6;
/// The most repositories that are named.
const MOST_REPOSITORIES: usize = 3;

/// The whole page. The same figures give the same page.
pub fn render(figures: &HistoryFigures) -> String {
    let (mark, said) = answer(figures);
    let text = Prose::literal(said);
    let sections = [checks(figures), legend(figures)].into_iter();
    let sections = sections.chain(details(figures));
    let version = env!("CARGO_PKG_VERSION");
    let footer = format!("canary-gate {version}. All times are UTC.");
    let document = Document {
        headlines: vec![Headline { mark, text }],
        warnings: unreadable(figures.unreadable).into_iter().collect(),
        table: jobs(figures),
        remarks: remarks(figures),
        folds: words::only_where(!figures.jobs.is_empty(), || sections.collect()),
        footer: Prose::literal(footer),
        ..Document::default()
    };
    page(&document, "All jobs")
}

/// What the page says first. Good is said of what is known alone: whatever is open takes it away.
fn answer(figures: &HistoryFigures) -> (Mark, String) {
    let jobs = figures.jobs.iter().filter(|job| !job.is_quiet);
    let of = |wanted: fn(&JobFigures) -> bool| jobs.clone().filter(|job| wanted(job)).count();
    let (all, wanting) = (of(|_| true), of(|job| job.standing().needs_attention()));
    let good = of(JobFigures::is_surely_within);
    let jobs = count(all, "job");
    if wanting > 0 {
        let need = if wanting == 1 { "needs" } else { "need" };
        return (Mark::BAD, format!("{wanting} of {jobs} {need} attention"));
    }
    let known = match all {
        0 => "No job was checked lately".to_owned(),
        _ => format!("{good} of {jobs} within budget"),
    };
    let open = open_ends(figures);
    let mark = match good > 0 && good == all && open.is_empty() {
        true => Mark::GOOD,
        false => Mark::NOTHING,
    };
    let said = [known].into_iter().chain(open);
    (mark, words::joined(said, "; "))
}

/// What may be wrong although no job that was checked lately needs attention, with numbers.
fn open_ends(figures: &HistoryFigures) -> Vec<String> {
    let of =
        |wanted: fn(&JobFigures) -> bool| figures.jobs.iter().filter(|job| wanted(job)).count();
    let UnreadableRecords { newer, damaged } = figures.unreadable;
    let waiting = of(JobFigures::awaits_forecast);
    let forgotten = of(|job| job.is_quiet && job.standing().needs_attention());
    let ends = [
        (waiting, "job", "with a newer check that has no forecast"),
        (forgotten, "job", "not checked lately that needs attention"),
        (newer.saturating_add(damaged), "record", "unreadable"),
    ];
    let ends = ends.into_iter().filter(|(number, ..)| *number > 0);
    ends.map(|(number, noun, said)| format!("{} {said}", count(number, noun)))
        .collect()
}

/// How many records are in no figure.
fn unreadable(UnreadableRecords { newer, damaged }: UnreadableRecords) -> Option<Headline> {
    let records = count(newer + damaged, "record");
    let said = format!(
        "In no figure of this page: {records} that could not be read. `canary-gate history list` names them."
    );
    (newer + damaged > 0).then(|| Headline::of(Mark::DOUBTFUL, Prose::sentence(said)))
}

/// What checks cost, what the table does not show, and what the page was made of.
fn remarks(figures: &HistoryFigures) -> Vec<DocumentLine> {
    let all: Spent = figures.spent.values().copied().sum();
    let reused = words::only_where(all.reused > 0, || {
        format!(", {} saved by reuse", saved(&all))
    });
    let cost = amount(all.canaries, all.canaries > all.unpriced, all.usd, all.time);
    let all = (!figures.spent.is_empty()).then(|| format!("All checks: {cost}{reused}."));
    let more = words::beyond(figures.jobs.len(), MOST_JOBS).map(|more| {
        let more = count(more, "further job");
        format!("{more} not shown, of those that need least attention.")
    });
    let made_at = words::minute(figures.made_at);
    let made = match figures.span {
        None => format!("Made {made_at}. The history has no record that can be read."),
        Some([first, newest]) => format!(
            "Made {made_at} of {}, from {} to {}. `canary-gate history export page.html` makes it again.",
            count(figures.records, "record"),
            words::day(first),
            words::minute(newest),
        ),
    };
    let lines = all.into_iter().chain(more).chain([made]);
    lines.map(Prose::sentence).map(DocumentLine::more).collect()
}

/// A row for each job; `None` without one.
fn jobs(figures: &HistoryFigures) -> Option<Table> {
    let row = |(place, job): (usize, &JobFigures)| {
        let newest = job.newest();
        let baseline = job.baseline().and_then(|check| {
            let cost = check.cost.map(|cost| (Quantity::Money, cost));
            let time = check.time.map(|time| (Quantity::Time, time));
            let (quantity, figure) = cost.or(time)?;
            let figure = quantity.figure(figure.estimate.point);
            Some(Cell::figure(figure, Some(words::day(check.at))))
        });
        let cost = estimate(Quantity::Money, newest.and_then(|check| check.cost));
        let time = estimate(Quantity::Time, newest.and_then(|check| check.time));
        vec![
            Words("Job").over(name(place, job).into()),
            Words("Newest check").over(standing(job)),
            Numbers("Full run: cost").over(cost),
            Numbers("Full run: time").over(time),
            Numbers("Baseline").over(baseline.unwrap_or_else(unknown)),
            Words("Newest record").over(Cell::figure(words::day(job.newest_record), None)),
        ]
    };
    let rows = figures.jobs.iter().take(MOST_JOBS).enumerate().map(row);
    (!figures.jobs.is_empty()).then(|| Table::titled(rows))
}

/// The name, with a link to what the page has of the job.
fn name(place: usize, job: &JobFigures) -> Prose {
    match place < MOST_DETAILED {
        true => Prose::link_to(address(place, job), job.name.as_str()),
        false => Prose::literal(job.name.as_str()),
    }
}

/// A plain name is its own address, so that a link lasts; no other contains a dot.
fn address(place: usize, job: &JobFigures) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match job.name.len() <= 60 && job.name.chars().all(is_plain) {
        true => format!("job-{}", job.name),
        false => format!("job.{place}"),
    }
}

/// The worst that is known of the job, and what else is wrong.
fn standing(job: &JobFigures) -> Cell {
    let standing = job.standing();
    let (mark, mut words) = match standing {
        JobStanding::Bad(verdict) | JobStanding::Judged(verdict) => {
            (verdict.into(), words::phrase(verdict))
        }
        JobStanding::Drifted => (Mark::ROSE, "drifted"),
        JobStanding::Unmeasured => (Mark::NOTHING, "not measured on a branch"),
    };
    let mut also = Vec::new();
    if let Some(newest) = job.newest() {
        let verdict = JobStanding::from(newest.verdict);
        if verdict == standing {
            words = newest.phrase;
        } else if verdict.needs_attention() {
            also.push(newest.phrase);
        }
    }
    if job.has_drifted() && standing != JobStanding::Drifted {
        also.push("drifted");
    }
    if job.awaits_forecast() {
        also.push("a newer check has no forecast");
    }
    Cell {
        mark: Some(match job.awaits_forecast() {
            true => Mark::MEASURING,
            false => mark,
        }),
        text: Prose::literal(words::capitalized(words)),
        detail: (!also.is_empty()).then(|| Prose::literal(format!("and {}", also.join(" and ")))),
        is_strong: false,
    }
}

/// The figure with its interval below.
fn estimate(quantity: Quantity, figure: Option<FigureAndLimit>) -> Cell {
    let known = figure.map(|FigureAndLimit { estimate, .. }| {
        let interval = quantity.interval(&estimate);
        Cell::figure(quantity.figure(estimate.point), interval)
    });
    known.unwrap_or_else(unknown)
}

fn unknown() -> Cell {
    Cell::figure(UNKNOWN, None)
}

/// What reuse saved.
fn saved(spent: &Spent) -> String {
    let (usd, time) = (spent.saved_usd, spent.saved_time);
    amount(spent.reused, usd.0 > 0.0, usd, time)
}

/// `12 USD`, the time where there is no price, and no figure where there was no run.
fn amount(runs: usize, has_price: bool, usd: Usd, time: Seconds) -> String {
    match (runs, has_price) {
        (0, _) => UNKNOWN.to_owned(),
        (_, true) => Quantity::Money.figure(usd.0),
        (_, false) => Quantity::Time.figure(time.0),
    }
}

/// What the checks of all jobs cost.
fn checks(figures: &HistoryFigures) -> Fold {
    let months = &figures.spent;
    let note = match months.is_empty() {
        true => "No canary is on record.",
        false => {
            "Time and cost are those of the canaries and of machines kept for them, at the prices of their records. Records that were \
             removed are not counted."
        }
    };
    let mut blocks = vec![Block::line(Label::MORE, Prose::own(note))];
    blocks.extend(by_month(months).map(Block::Table));
    section("checks", Prose::own("What checks cost"), blocks)
}

fn section(id: impl Into<String>, title: Prose, blocks: Vec<Block>) -> Fold {
    Fold {
        kind: FoldKind::Compared,
        id: id.into(),
        title,
        detail: Prose::default(),
        blocks,
    }
}

/// A row for each of the newest months, and one for all; `None` without a month.
fn by_month(months: &BTreeMap<Date, Spent>) -> Option<Table> {
    let newest = months.iter().rev().take(MOST_MONTHS);
    let newest = newest.map(|(month, spent)| (month.strftime("%Y-%m").to_string(), *spent));
    let all = months.values().copied().sum();
    let all = (months.len() > 1).then(|| ("all".to_owned(), all));
    let rows = newest.chain(all).map(|(title, spent)| {
        let unpriced = (spent.unpriced > 0).then(|| format!("{} without a price", spent.unpriced));
        let usd = match spent.canaries > spent.unpriced {
            true => Cell::figure(Quantity::Money.figure(spent.usd.0), unpriced),
            false => unknown(),
        };
        let figure = |figure| Cell::figure(figure, None);
        vec![
            Words("Month").over(figure(title)),
            Numbers("Canaries").over(figure(spent.canaries.to_string())),
            Numbers("Time").over(figure(Quantity::Time.figure(spent.time.0))),
            Numbers("Cost").over(usd),
            Numbers("Reused").over(figure(spent.reused.to_string())),
            Numbers("Saved").over(figure(saved(&spent))),
        ]
    });
    (!months.is_empty()).then(|| Table::titled(rows))
}

/// Explains the charts of the sections of jobs, and says how many jobs have no section.
fn legend(figures: &HistoryFigures) -> Fold {
    let legend = Prose::own(
        "A purple line is the forecast of a full run, check by check; its band, or the bar of a single check, is the interval that \
         one new full run lies in with the chance that the spec asks for. Green dashes are the budget of the newest check. Blue \
         points are full runs that were measured.",
    );
    let more = words::beyond(figures.jobs.len(), MOST_DETAILED).map(|more| {
        let verb = if more == 1 { "is" } else { "are" };
        let more = count(more, "further job");
        Prose::sentence(format!(
            "{more} {verb} in the table above alone; `canary-gate history export --job NAME page.html` has one job whole."
        ))
    });
    let lines = [legend].into_iter().chain(more);
    let lines = Block::Lines(lines.map(DocumentLine::more).collect());
    section("each", Prose::own("Each job"), vec![lines])
}

/// A section for each of the first [`MOST_DETAILED`] jobs.
fn details(figures: &HistoryFigures) -> impl Iterator<Item = Fold> {
    let jobs = figures.jobs.iter().take(MOST_DETAILED).enumerate();
    jobs.map(|(place, job)| {
        let title = Prose::literal(job.name.as_str());
        section(address(place, job), title, of_job(job))
    })
}

#[cfg(test)]
mod tests;
