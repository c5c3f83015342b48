//! One job: its charts, its newest checks, and what they cost.

use super::super::super::history_figures::{
    CheckFigures, Fault, JobFigures, SeriesSource, UnfinishedCheck,
};
use super::super::super::mark::Mark;
use super::super::super::text::Prose;
use super::super::super::words::{self, Quantity, UNKNOWN, count};
use super::super::blocks::marked;
use super::super::markup::{Markup, element};
use super::grid::MarkupGrid;
use super::over_time::{self, Charted};
use super::{estimate, fold, note, spent, standing};

/// Rows of the table of checks.
const NEWEST_CHECKS: usize = 12;
/// Of a repository that is named.
const MOST_NAMED: usize = 3;

const CHARTS: [Charted; 2] = [
    Charted {
        title: "Cost of a full run",
        quantity: Quantity::Money,
        figure: |check| check.cost,
        full_run: |run| run.cost.map(|cost| cost.0),
    },
    Charted {
        title: "Time of a full run",
        quantity: Quantity::Time,
        figure: |check| check.time,
        full_run: |run| run.time.map(|time| time.0),
    },
];

/// What the page has of a job, at its address; charts draw so many checks.
pub(super) fn article(address: &str, job: &JobFigures, points: usize) -> Markup {
    let heading = element("h3", &[("id", address)], Markup::text(&job.name));
    let charts = CHARTS.iter();
    let charts = charts.filter_map(|charted| over_time::plot(job, charted, points));
    let charts: Markup = charts.map(|plot| plot.figure()).collect();
    let charts = match charts.is_empty() {
        true => Markup::default(),
        false => element("div", &[("class", "figures")], charts),
    };
    let newest = match job.checks.is_empty() {
        true => Markup::default(),
        false => fold("The newest checks", newest_checks(job)),
    };
    let spent = match job.spent.is_empty() {
        true => Markup::default(),
        false => fold(
            "What its checks cost",
            spent::table(
                &job.spent,
                &format!("What checks of {} cost by month", job.name),
            ),
        ),
    };
    heading
        .then(element("p", &[("class", "headline")], standing(job)))
        .then(
            job.unfinished
                .as_ref()
                .map_or(Markup::default(), unfinished),
        )
        .then(charts)
        .then(note(Markup::paragraph(&about(job))))
        .then(newest)
        .then(spent)
}

/// A check that has no forecast.
fn unfinished(check: &UnfinishedCheck) -> Markup {
    let canaries = match check.canaries {
        1 => "1 canary".to_owned(),
        several => format!("{several} canaries"),
    };
    let at = words::minute(check.at);
    let (mark, said) = match check.ended {
        None => (
            Mark::Measuring,
            format!("A newer check has no forecast yet: {canaries}, the newest of {at}."),
        ),
        Some((outcome, fault)) => (
            match fault {
                Fault::TrainingCode => Mark::Crashed,
                Fault::Other => Mark::Unknown,
            },
            format!(
                "A newer check has no forecast: {canaries} until {at}, with the outcome {outcome}."
            ),
        ),
    };
    marked("p", "", mark, Markup::text(&said))
}

/// Where the figures come from.
fn about(job: &JobFigures) -> String {
    let mut said = match &job.source {
        SeriesSource::Branch(Some(branch)) => {
            format!("Pushes and schedules of the branch {}.", branch)
        }
        SeriesSource::Branch(None) => "Pushes and schedules.".to_owned(),
        SeriesSource::OwnMachines if job.checks.is_empty() => {
            "No push, schedule or own machine has measured the job; only what its checks cost is known."
                .to_owned()
        }
        SeriesSource::OwnMachines => {
            "Runs on own machines; no push or schedule has measured the job.".to_owned()
        }
    };
    if let Some(newest) = job.newest() {
        said.push_str(&format!(" {}.", newest.instance));
        let other = job
            .checks
            .iter()
            .rfind(|check| check.instance != newest.instance);
        if let Some(other) = other {
            let day = words::day(other.at);
            said.push_str(&format!(" Until {day} it was {}.", other.instance));
        }
    }
    if job.other_branches > 0 {
        let others = count(job.other_branches, "check");
        said.push_str(&format!(" {others} of other branches not drawn."));
    }
    if job.repositories.len() > 1 {
        let named = job.repositories.iter().take(MOST_NAMED);
        let named: Vec<&str> = named
            .map(|url| url.trim_start_matches("https://"))
            .collect();
        said.push_str(&format!(
            " Several repositories have a job of this name in the history, and stand here as one: {}.",
            named.join(", ")
        ));
    }
    said
}

/// The newest first.
fn newest_checks(job: &JobFigures) -> Markup {
    let mut grid = MarkupGrid::new(format!("The newest checks of {}", job.name))
        .text("When (UTC)")
        .text("Verdict")
        .number("Cost")
        .number("Time")
        .text("Commit")
        .text("Run");
    for check in job.checks.iter().rev().take(NEWEST_CHECKS) {
        grid.row([
            Markup::unbroken(&check.at.strftime("%Y-%m-%d %H:%M").to_string()),
            verdict(check),
            estimate(Quantity::Money, check.cost),
            estimate(Quantity::Time, check.time),
            match &check.commit {
                None => Markup::text(UNKNOWN),
                Some(commit) => Markup::code(commit),
            },
            run(check),
        ]);
    }
    grid.markup()
}

fn verdict(check: &CheckFigures) -> Markup {
    let mut words = words::capitalized(check.phrase);
    match (check.drifted, check.is_baseline) {
        (Some(true), true) => words.push_str(", drift accepted"),
        (Some(true), false) => words.push_str(", drifted"),
        (_, true) => words.push_str(", baseline"),
        (_, false) => {}
    }
    marked("span", "", Mark::from(check.verdict), Markup::text(&words))
}

fn run(check: &CheckFigures) -> Markup {
    let link = check.run_url.as_deref().and_then(Prose::run);
    link.map_or(Markup::text(UNKNOWN), |link| Markup::prose(&link))
}
