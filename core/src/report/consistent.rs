//! A stored report held against its own rows: one that was edited, or put together by hand, must not pass what its table shows
//! as failing.

use super::{InstanceForecast, JobReport, Report};
use crate::exit;
use crate::spec::LineKind;
use crate::verdict::{self, BudgetRow, LineVerdict, Reason, Verdict};

/// More likely than not.
const LIKELY: f64 = 0.5;

/// Makes every verdict at least as bad as the rows below it say, and the exit code one that these verdicts can have. Whether a
/// change was needed.
pub(super) fn make_consistent(part: &mut Report) -> bool {
    let before = part.clone();
    for job in &mut part.jobs {
        judge_by_rows(job);
        // Only the run that asked GitHub knows.
        job.policy.accepted = None;
    }
    part.verdict = verdict::worst(part.jobs.iter().map(|job| job.verdict));
    let possible = possible_codes(part);
    if !possible.contains(&part.exit_code) {
        part.exit_code = possible[0];
    }
    *part != before
}

fn judge_by_rows(job: &mut JobReport) {
    for forecast in &mut job.forecasts {
        for row in &mut forecast.budget {
            let estimate = match row.line {
                LineKind::Absolute(metric) => forecast.estimates[metric].as_ref(),
                LineKind::Named(name) => forecast.metrics.get(&name),
                LineKind::Increase(_) => continue,
            };
            if is_over(row, estimate.map(|estimate| estimate.point)) {
                row.verdict = LineVerdict::Exceeded;
            }
        }
        let lines = forecast.budget.iter().filter_map(BudgetRow::makes);
        forecast.verdict = worse(forecast.verdict, verdict::worst(lines));
    }
    let is_main = |forecast: &&InstanceForecast| forecast.instance.is_same_machines(&job.instance);
    let main = job.forecasts.iter().find(is_main);
    let Some(main) = main.or(job.forecasts.first()) else {
        return;
    };
    let by_rows = worse(job.verdict, main.verdict);
    if by_rows == job.verdict {
        return;
    }
    job.verdict = by_rows;
    let mut rows = main.budget.iter();
    let row = rows.find(|row| row.makes() == Some(by_rows));
    let line = row.map_or("a line of the budget".into(), |row| row.line.words());
    let what = match by_rows {
        Verdict::Exceeded => "over the limit",
        Verdict::AtRisk => "at risk",
        _ => "unknown",
    };
    job.reason = Reason::new(format!("{line}: {what}, by this report's own table"));
}

/// Whether a line is over by its own chance, whatever is said of it, or by the estimate beside it, which is a median.
fn is_over(row: &BudgetRow, median: Option<f64>) -> bool {
    if row.chance_of_breach.is_some_and(|chance| chance > LIKELY) {
        return true;
    }
    // A line that does not apply, or is unknown, has no chance.
    let is_said_to_hold = matches!(row.verdict, LineVerdict::Within | LineVerdict::AtRisk);
    if !is_said_to_hold && row.chance_of_breach.is_none() {
        return false;
    }
    median.is_some_and(|median| row.bound.is_breached_by(row.limit, median))
}

/// The worse of what is said and what rows show. What was not judged, since the tool failed, may have unknown rows.
fn worse(said: Verdict, shown: Verdict) -> Verdict {
    match (said, shown) {
        (Verdict::NotJudged, Verdict::Unknown) => said,
        _ => said.min(shown),
    }
}

/// The codes that a run with these jobs and failures can have; which, depends on a strictness that a report does not hold. The
/// first stands for any other.
fn possible_codes(part: &Report) -> Vec<u8> {
    let drifts = part.jobs.iter().any(JobReport::has_drifted);
    let is_at_risk = part.jobs.iter().any(|job| job.verdict == Verdict::AtRisk);
    let fails = !part.failures.is_empty();
    let possible = match part.verdict {
        Verdict::Exceeded => return vec![exit::EXCEEDED],
        Verdict::Failed => return vec![exit::FAILED],
        verdict => [
            (exit::UNKNOWN, verdict == Verdict::Unknown),
            (exit::DRIFT, drifts),
            (exit::AT_RISK, is_at_risk && !drifts),
            // Of a job that could not be run, and of one whose cause may be gone tomorrow.
            (exit::TOOL_FAILED, fails),
            (exit::USAGE, fails),
            (0, !fails && !drifts),
            // A fork, where that is to fail.
            (exit::UNKNOWN, fails || verdict == Verdict::NotJudged),
        ],
    };
    let possible = possible.into_iter().filter(|(_, is_possible)| *is_possible);
    possible.map(|(code, _)| code).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    /// What becomes of a report: verdict, code, and the first job's reason.
    fn judged(mut report: Report) -> (Verdict, u8, String) {
        make_consistent(&mut report);
        let reason = report.jobs[0].reason.to_string();
        (report.verdict, report.exit_code, reason)
    }

    /// A report over budget that says that it is within.
    fn whitewashed() -> Report {
        let mut report = samples::of("over-budget");
        (report.verdict, report.exit_code) = (Verdict::Within, 0);
        let job = &mut report.jobs[0];
        job.verdict = Verdict::Within;
        job.reason = Reason::new("cost is 1 USD, 49 USD below 50 USD");
        job.forecasts[0].verdict = Verdict::Within;
        report
    }

    #[test]
    fn rows_that_are_exceeded_decide() {
        let over = (
            Verdict::Exceeded,
            exit::EXCEEDED,
            "cost: over the limit, by this report's own table".to_owned(),
        );
        assert_eq!(judged(whitewashed()), over);
        // Also where only the numbers of a row are left.
        let mut report = whitewashed();
        for row in &mut report.jobs[0].forecasts[0].budget {
            row.verdict = LineVerdict::Within;
        }
        assert_eq!(judged(report.clone()), over);
        for row in &mut report.jobs[0].forecasts[0].budget {
            row.chance_of_breach = Some(0.0);
        }
        assert_eq!(judged(report), over);
        // Whatever is said of a row that is likelier over than not.
        for said in [LineVerdict::Unknown, LineVerdict::NotApplicable] {
            let mut report = whitewashed();
            for row in &mut report.jobs[0].forecasts[0].budget {
                row.verdict = said;
            }
            assert_eq!(judged(report), over, "{said:?}");
        }
        // Another instance before that of the job decides nothing.
        let mut report = whitewashed();
        let job = &mut report.jobs[0];
        let decoy = InstanceForecast {
            instance: "3x ml.m5.xlarge".parse().unwrap(),
            budget: Vec::new(),
            ..job.forecasts[0].clone()
        };
        job.forecasts.insert(0, decoy);
        assert_eq!(judged(report), over);
    }

    #[test]
    fn a_code_that_the_verdicts_cannot_have_is_not_believed() {
        for (report, said, code) in [
            (samples::of("within"), 77, 0),
            (samples::of("within"), 10, 0),
            (samples::of("over-budget"), 77, 10),
            (samples::of("over-budget"), 0, 10),
            (samples::of("unknown"), 77, 14),
            (samples::of("unknown"), 0, 0),
            (samples::of("drifted"), 0, 12),
            (samples::of("drifted"), 11, 12),
            (samples::of("one_failed"), 0, 1),
            (samples::of("one_failed"), 2, 2),
        ] {
            let mut report = report;
            report.exit_code = said;
            let verdict = report.verdict;
            assert_eq!(judged(report).1, code, "{verdict:?} {said}");
        }
    }
}
