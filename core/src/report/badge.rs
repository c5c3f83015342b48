//! The badge of a history: the file from which shields.io draws it, <https://shields.io/badges/endpoint-badge>.

use serde_json::json;

use super::history_figures::{HistoryFigures, JobFigures, JobStanding, UnreadableRecords};
use super::words;
use crate::verdict::Verdict;

/// Colour and words of a job, the worst first: red, then what is not known, which is never green.
type BadgeState = (u8, &'static str, &'static str);

const NOT_CHECKED: BadgeState = (4, "lightgrey", "not checked");

/// The worst state of these jobs, of how many it is, and the day of the oldest check that says so.
pub fn render(figures: &HistoryFigures, wanted: &[&str]) -> String {
    let states = wanted.iter().map(|name| {
        let job = figures.jobs.iter().find(|job| job.name == *name);
        let newest = job.and_then(JobFigures::newest);
        (state(job, figures.unreadable), newest.map(|check| check.at))
    });
    let states = Vec::from_iter(states);
    let worst = states.iter().map(|(state, _)| *state).min();
    let (_, color, said) = worst.unwrap_or(NOT_CHECKED);
    let days = states.iter().filter(|(state, _)| Some(*state) == worst);
    let days = Vec::from_iter(days.map(|(_, day)| *day));
    let jobs = match (days.len(), states.len()) {
        (_, ..=1) => String::new(),
        (so, all) if so == all => format!(", {all} jobs"),
        (so, all) => format!(", {so} of {all} jobs"),
    };
    let day = days.into_iter().min().flatten();
    let day = day.map_or(String::new(), |day| format!(", {}", words::day(day)));
    let message = format!("{said}{jobs}{day}");
    let badge =
        json!({"schemaVersion": 1, "label": "canary-gate", "message": message, "color": color});
    format!("{badge}\n")
}

fn state(job: Option<&JobFigures>, unreadable: UnreadableRecords) -> BadgeState {
    let judged = |rank, color, verdict| (rank, color, words::phrase(verdict));
    let Some(job) = job else {
        return NOT_CHECKED;
    };
    match job.standing() {
        JobStanding::Bad(verdict @ Verdict::Exceeded) => judged(0, "red", verdict),
        JobStanding::Bad(verdict @ Verdict::Failed) => judged(1, "red", verdict),
        JobStanding::Drifted => (2, "red", "drifted"),
        JobStanding::Bad(verdict) => judged(3, "lightgrey", verdict),
        JobStanding::Unmeasured => NOT_CHECKED,
        _ if job.is_quiet => (5, "lightgrey", "not checked lately"),
        _ if unreadable != UnreadableRecords::default() => (6, "lightgrey", "records unreadable"),
        JobStanding::Judged(verdict @ Verdict::AtRisk) => judged(7, "yellow", verdict),
        _ if job.awaits_forecast() => (8, "lightgrey", "newer check unfinished"),
        JobStanding::Judged(verdict @ Verdict::Within) => judged(9, "brightgreen", verdict),
        JobStanding::Judged(verdict) => judged(10, "lightgrey", verdict),
    }
}
