//! Overruns that a person accepted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget_lines::{estimate_of, over_rows};
use super::{JobReport, Report};
use crate::exit::{self, Strictness};
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::verdict::{BudgetRow, Verdict};

/// Who lets a known overrun pass. It is believed of the run that asked, and of no stored report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acceptance {
    /// The login of a person who may write to the repository.
    pub by: String,
    /// When they accepted, RFC 3339 in UTC.
    pub at: jiff::Timestamp,
}

impl JobReport {
    /// The verdict that a job over its budget has without the lines that it is over; `None` for any other job, and where no line
    /// shows the overrun. A training that crashes is [`Verdict::Failed`], whatever its lines are.
    pub fn beside_its_overrun(&self) -> Option<Verdict> {
        let made = self.forecasts.first()?.budget.iter();
        let made = made.filter_map(BudgetRow::makes);
        let is_over = |verdict: &Verdict| *verdict == Verdict::Exceeded;
        let (over, beside): (Vec<_>, Vec<_>) = made.partition(is_over);
        let is_overrun = is_over(&self.verdict) && !over.is_empty();
        is_overrun.then(|| match self.crashes() {
            true => Verdict::Failed,
            false => beside.into_iter().min().unwrap_or(Verdict::Within),
        })
    }

    /// Whether a canary failed or ran out of memory, of those that the forecast follows from: on the job's instance, or on another
    /// count of it where that has no time of its own.
    fn crashes(&self) -> bool {
        let stands_alone = self.forecasts.first().is_some_and(|forecast| {
            forecast.scale_out.is_none() && forecast.estimates[Metric::Time].is_some()
        });
        let kind = self.instance.single_type().filter(|_| !stands_alone);
        let is_source = |run: &Measurement| {
            run.is_on(&self.instance) || kind.is_some() && run.instance.single_type() == kind
        };
        let mut runs = self.measurements.iter();
        runs.any(|run| run.has_crashed() && is_source(run))
    }
}

/// How far each line of an overrun may go, by job and line, `churn/cost`: the end of its interval on the wrong side of the limit,
/// larger where it is worse; infinite where that is not known. Of a training that crashes nothing can be accepted.
pub fn overrun_ends(report: &Report) -> BTreeMap<String, f64> {
    let jobs = report.jobs.iter();
    let over = jobs.filter(|job| {
        let beside = job.beside_its_overrun();
        beside.is_some_and(|beside| beside != Verdict::Failed)
    });
    let rows = over.flat_map(|job| {
        let forecast = &job.forecasts[0];
        over_rows(forecast).map(move |row| {
            // Of an increase that a report has no estimate of, what increases.
            let whole = || forecast.estimates[row.line.metric()?];
            let estimate = estimate_of(row.line, forecast).or_else(whole);
            let end = estimate.map(|estimate| row.bound.pick(estimate.upper, -estimate.lower));
            let line = format!("{}/{}", job.name, row.line);
            (line, end.unwrap_or(f64::INFINITY))
        })
    });
    rows.collect()
}

/// Lets the overruns pass: the verdicts stay, and the exit code is that of all else. Of a job whose training crashes nothing is
/// accepted.
pub fn accept_overruns(report: &mut Report, acceptance: &Acceptance, strictness: Strictness) {
    let jobs = report.jobs.iter_mut();
    let verdicts = jobs.map(|job| match job.beside_its_overrun() {
        Some(Verdict::Failed) => Verdict::Failed,
        Some(beside) => {
            job.policy.accepted = Some(acceptance.clone());
            beside
        }
        None => job.verdict,
    });
    report.exit_code = exit::code_of_run(verdicts, [], strictness);
}

#[cfg(test)]
mod tests {
    use super::super::{merge, samples};
    use super::*;
    use crate::measurement::Outcome;
    use crate::spec::OnInconclusive;
    use crate::verdict::LineVerdict;

    const STRICT: Strictness = Strictness {
        strict: true,
        on_inconclusive: OnInconclusive::Fail,
    };

    fn accepted(mut report: Report) -> Report {
        let acceptance = Acceptance {
            by: "alice".to_owned(),
            at: "2026-11-21T09:20:00Z".parse().unwrap(),
        };
        accept_overruns(&mut report, &acceptance, STRICT);
        report
    }

    #[test]
    fn an_overrun_goes_as_far_as_its_interval() {
        let mut report = samples::of("over-budget");
        let row = &report.jobs[0].forecasts[0].budget[0];
        assert_eq!(row.line, Metric::Cost.into());
        let upper = report.jobs[0].forecasts[0].estimates[Metric::Cost]
            .unwrap()
            .upper;
        let ends = |report: &Report| overrun_ends(report).into_iter().collect::<Vec<_>>();
        assert_eq!(ends(&report), [("churn/cost".to_owned(), upper)]);
        // As where a canary that was ended at its time limit decides.
        report.jobs[0].forecasts[0].estimates[Metric::Cost] = None;
        assert_eq!(ends(&report), [("churn/cost".to_owned(), f64::INFINITY)]);
    }

    fn crash(run: &mut Measurement) {
        run.outcome = Outcome::Failed {
            exit_code: Some(1),
            last_line: None,
        };
    }

    fn crash_on_six(report: &mut Report) {
        let mut run = report.jobs[0].measurements[0].clone();
        run.instance = "6x ml.m5.2xlarge".parse().unwrap();
        crash(&mut run);
        report.jobs[0].measurements.push(run);
    }

    #[test]
    fn what_is_unknown_at_risk_or_failed_beside_it_does_not_pass() {
        type Change = fn(&mut Report);
        let cases: [(Change, u8); 11] = [
            (|_| {}, 0),
            (
                |report| report.jobs[0].forecasts[0].budget[1].verdict = LineVerdict::Unknown,
                exit::UNKNOWN,
            ),
            (
                |report| report.jobs[0].forecasts[0].budget[1].verdict = LineVerdict::AtRisk,
                exit::AT_RISK,
            ),
            (
                |report| report.jobs.extend(samples::of("failed").jobs),
                exit::FAILED,
            ),
            (
                |report| report.jobs.extend(samples::of("unknown").jobs),
                exit::UNKNOWN,
            ),
            // A verdict without a line that shows it.
            (
                |report| report.jobs[0].forecasts[0].budget.clear(),
                exit::EXCEEDED,
            ),
            (
                |report| crash(&mut report.jobs[0].measurements[2]),
                exit::FAILED,
            ),
            (
                |report| {
                    report.jobs[0].measurements[2].outcome = Outcome::out_of_memory(None);
                },
                exit::FAILED,
            ),
            // On other machines alone: nothing of the job's own forecast follows from it.
            (
                |report| {
                    let job = &mut report.jobs[0];
                    let runs = job.measurements.iter_mut();
                    runs.filter(|run| !run.is_on(&job.instance)).for_each(crash);
                },
                0,
            ),
            (crash_on_six, 0),
            // Where the forecast follows from another count.
            (
                |report| {
                    crash_on_six(report);
                    report.jobs[0].forecasts[0].estimates[Metric::Time] = None;
                },
                exit::FAILED,
            ),
        ];
        for (place, (change, code)) in cases.into_iter().enumerate() {
            let mut report = samples::of("over-budget");
            change(&mut report);
            let report = accepted(report);
            assert_eq!(
                (report.exit_code, report.verdict),
                (code, Verdict::Exceeded),
                "{place}"
            );
            let is_crash = code == exit::FAILED && report.jobs.len() == 1;
            assert!(
                !is_crash || report.jobs[0].policy.accepted.is_none(),
                "{place}"
            );
        }
    }

    #[test]
    fn a_stored_report_is_accepted_by_nobody() {
        let report = merge(vec![accepted(samples::of("over-budget"))]).unwrap();
        assert_eq!(report.exit_code, exit::EXCEEDED);
        assert_eq!(report.jobs[0].policy.accepted, None);
    }
}
