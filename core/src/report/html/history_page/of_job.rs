//! The section of one job on the page of a history.

use super::super::super::document::Title::{Numbers, Words};
use super::super::super::history_figures::{CheckFigures, FullRunFigures, SeriesSource};
use super::super::super::over_time::OverTime;
use super::{
    Block, Cell, Headline, JobFigures, Label, MOST_REPOSITORIES, Mark, NEWEST_CHECKS, Prose,
    Quantity, Table, UNKNOWN, count, estimate, standing, words,
};

/// A job's section: how it stands, its charts, and its newest checks.
pub(super) fn of_job(job: &JobFigures) -> Vec<Block> {
    let standing = standing(job);
    let text = Prose::joined([standing.text].into_iter().chain(standing.detail), " ");
    let standing = Headline::of(standing.mark.unwrap_or(Mark::NOTHING), text);
    let unfinished = job.unfinished.as_ref().map(|check| {
        let (canaries, at) = (count(check.canaries, "canary"), words::minute(check.at));
        let (mark, text) = match check.ended {
            None => (
                Mark::MEASURING,
                format!("A newer check has no forecast yet: {canaries}, the newest of {at}."),
            ),
            Some((outcome, verdict)) => (
                verdict.into(),
                format!("A newer check has no forecast: {canaries} until {at}, with the outcome {outcome}."),
            ),
        };
        Block::Headline(Headline::of(mark, Prose::literal(text)))
    });
    let charts = charts(job).into_iter().filter_map(OverTime::plot);
    let charts = charts.map(|plot| Block::Plot(Box::new(plot)));
    let about = Block::line(Label::MORE, Prose::paragraph(about(job)));
    let checks = (!job.checks.is_empty()).then(|| Block::Table(newest_checks(job)));
    ([Block::Headline(standing)].into_iter().chain(unfinished))
        .chain(charts)
        .chain([about])
        .chain(checks)
        .collect()
}

/// Cost and time of a full run, check by check.
fn charts(job: &JobFigures) -> [OverTime; 2] {
    [Quantity::Money, Quantity::Time].map(|quantity| {
        let is_cost = quantity == Quantity::Money;
        let of = |check: &CheckFigures| if is_cost { check.cost } else { check.time };
        let measured = |run: &FullRunFigures| match is_cost {
            true => run.cost.map(|cost| cost.0),
            false => run.time.map(|time| time.0),
        };
        let checks = job.checks.iter();
        let runs = job.full_runs.iter();
        OverTime {
            title: match is_cost {
                true => "Cost of a full run",
                false => "Time of a full run",
            },
            quantity,
            from: 0.0,
            points: (checks.clone())
                .filter_map(|check| Some((check.at, of(check)?.estimate)))
                .collect(),
            limit: checks.rev().find_map(of).and_then(|figure| figure.limit),
            measured: runs
                .filter_map(|run| Some((run.at, measured(run)?)))
                .collect(),
        }
    })
}

/// Where the figures come from.
fn about(job: &JobFigures) -> String {
    let source = match &job.source {
        SeriesSource::Branch(Some(branch)) => format!("Pushes and schedules of the branch {branch}."),
        SeriesSource::Branch(None) => "Pushes and schedules.".to_owned(),
        SeriesSource::OwnMachines if job.checks.is_empty() => {
            "No push, schedule or own machine has measured the job; only what its checks cost is known."
                .to_owned()
        }
        SeriesSource::OwnMachines => {
            "Runs on own machines; no push or schedule has measured the job.".to_owned()
        }
    };
    let instance = job.newest().map(|newest| &newest.instance);
    let mut checks = job.checks.iter();
    let before = checks.rfind(|check| Some(&check.instance) != instance);
    let others = count(job.other_branches, "check");
    let named = job.repositories.iter().take(MOST_REPOSITORIES);
    let named = named.map(|url| url.trim_start_matches("https://"));
    let named = words::joined(named, ", ");
    let sentences = [
        Some(source),
        instance.map(|instance| format!("{instance}.")),
        before.map(|it| format!("Until {} it was {}.", words::day(it.at), it.instance)),
        (job.other_branches > 0).then(|| format!("{others} of other branches not drawn.")),
        (job.repositories.len() > 1).then(|| {
            format!("Several repositories have a job of this name in the history, and stand here as one: {named}.")
        }),
    ];
    words::joined(sentences.into_iter().flatten(), " ")
}

/// The newest first.
fn newest_checks(job: &JobFigures) -> Table {
    let rows = job.checks.iter().rev().take(NEWEST_CHECKS).map(|check| {
        let drift = match (check.drifted, check.is_baseline) {
            (Some(true), true) => ", drift accepted",
            (Some(true), false) => ", drifted",
            (_, true) => ", baseline",
            (_, false) => "",
        };
        let verdict = format!("{}{drift}", words::capitalized(check.phrase));
        let run = check.run_url.as_deref().and_then(Prose::run);
        let commit = check.commit.as_deref().map(Prose::name);
        let at = check.at.strftime("%Y-%m-%d %H:%M").to_string();
        let verdict = Cell {
            mark: Some(Mark::from(check.verdict)),
            ..Cell::from(Prose::literal(verdict))
        };
        vec![
            Words("When (UTC)").over(Cell::figure(at, None)),
            Words("Verdict").over(verdict),
            Numbers("Cost").over(estimate(Quantity::Money, check.cost)),
            Numbers("Time").over(estimate(Quantity::Time, check.time)),
            Words("Commit").over(commit.unwrap_or(Prose::own(UNKNOWN)).into()),
            Words("Run").over(run.unwrap_or(Prose::own(UNKNOWN)).into()),
        ]
    });
    Table::titled(rows)
}
