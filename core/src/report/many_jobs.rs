//! A page of many jobs: one headline with counts, headlines of what fails, and the rest folded, so that a reader sees on one
//! screen what there is to do.

use super::document::Headline;
use super::words::{self, grouped};
use super::{JobReport, Mark, Prose, Report};
use crate::verdict::Verdict;

/// The number of jobs from which on a report is one of many jobs.
const MANY: usize = 4;
/// Headlines of jobs below the one with counts.
pub(super) const HEADLINES_SHOWN: usize = 5;
/// Rows of the table; the others are folded.
pub(super) const ROWS_SHOWN: usize = 6;

pub(super) fn is_many(jobs: &[&JobReport]) -> bool {
    jobs.len() >= MANY
}

/// Whether somebody has to look at it: its row is not folded.
pub(super) fn is_failing(job: &JobReport) -> bool {
    job.verdict <= Verdict::Unknown || job.has_drifted()
}

/// Of jobs, the worst first: `7 of 20 over budget, 1 could not be decided`; what is fine is counted only where all is.
pub(super) fn counts(report: &Report, jobs: &[&JobReport]) -> Headline {
    let found = jobs.iter().map(|job| finding(job));
    let mut groups = grouped(found, |(_, one), (_, other)| one == other);
    let is_fine = |group: &Vec<(Mark, &str)>| matches!(group[0].0, Mark::GOOD | Mark::NOTHING);
    if !groups.iter().all(is_fine) {
        groups.retain(|group| !is_fine(group));
    }
    let mark = groups.first().map_or(Mark::NOTHING, |group| group[0].0);
    let total = jobs.len();
    let parts = groups.iter().enumerate().map(|(index, group)| {
        let (count, (_, what)) = (group.len(), group[0]);
        match index {
            0 => format!("{count} of {total} jobs {what}"),
            _ => format!("{count} {what}"),
        }
    });
    let outcome = words::outcome_of_check(report, report.verdict);
    Headline::of(mark, Prose::literal(words::joined(parts, ", ") + outcome))
}

/// The mark of a job, and the words that follow a count of such jobs: `over budget`.
fn finding(job: &JobReport) -> (Mark, &'static str) {
    let forecast = job.forecasts.first();
    let verdict = words::shown_verdict(job.verdict, forecast);
    let is_fine = verdict >= Verdict::AtRisk;
    match &job.drift {
        _ if job.policy.accepted.is_some() => (Mark::DOUBTFUL, "over budget and accepted"),
        Some(drift) if drift.drifted && is_fine => (Mark::ROSE, "drifted"),
        Some(_) if is_fine => (Mark::GOOD, "without drift"),
        _ => (verdict.into(), words::verdict_phrase(job.verdict, forecast)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{markdown, samples};
    use super::*;

    /// So many jobs, of which these first ones are over their budget.
    fn jobs(count: usize, over: usize) -> Report {
        let mut report = samples::of("over-budget");
        let (over_budget, within) = (
            samples::of("over-budget").jobs.remove(0),
            samples::of("within").jobs.remove(0),
        );
        report.jobs = (0..count)
            .map(|index| {
                let mut job = match index < over {
                    true => over_budget.clone(),
                    false => within.clone(),
                };
                job.name = format!("job-{index}");
                job
            })
            .collect();
        if over == 0 {
            (report.verdict, report.exit_code) = (Verdict::Within, 0);
        }
        report
    }

    fn above_the_folds(report: &Report) -> (String, String) {
        let page = markdown::render(report);
        let folds = page.find("<details>").unwrap();
        (page[..folds].to_owned(), page[folds..].to_owned())
    }

    #[test]
    fn twenty_jobs_have_one_headline_with_counts_and_those_of_what_fails() {
        let (page, folds) = above_the_folds(&jobs(20, 7));
        assert!(
            page.contains("\n\n### ❌ 7 of 20 jobs over budget\n"),
            "{page}"
        );
        assert_eq!(page.matches("### ").count(), 1 + HEADLINES_SHOWN, "{page}");
        assert_eq!(page.matches("| job-").count(), ROWS_SHOWN, "{page}");
        // Every job is in a row, here or there.
        for index in 0..20 {
            let row = format!("| job-{index} |");
            assert!(page.contains(&row) || folds.contains(&row), "{folds}");
        }
        insta::assert_snapshot!("twenty_jobs", page);
    }

    #[test]
    fn where_all_is_fine_the_rows_are_folded() {
        let (page, folds) = above_the_folds(&jobs(20, 0));
        assert!(page.ends_with("</sub>\n\n### ✅ 20 of 20 jobs within budget\n\n"));
        assert!(
            folds.contains("<summary>Further rows: 20 jobs</summary>"),
            "{folds}"
        );
    }
}
