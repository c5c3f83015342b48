use super::super::samples;
use super::*;
use crate::metric::Metric;

#[test]
fn a_job_that_fails_the_check_leads_and_what_was_not_measured_ends() {
    let mut report = samples::of("two_jobs");
    report.jobs[1].forecasts[2].verdict = Verdict::Exceeded;
    report.jobs[1].forecasts.swap(1, 3);
    let comparison = Comparison::of(&report);
    let rows = comparison.rows.iter();
    let rows: Vec<String> = rows
        .map(|row| format!("{} {}", row.job.name, row.forecast.instance))
        .collect();
    assert_eq!(
        rows,
        [
            "churn ml.m5.2xlarge",
            "churn 6x ml.m5.4xlarge",
            "churn ml.c5.4xlarge",
            "churn ml.m5.24xlarge",
            "digits local",
        ]
    );
}

#[test]
fn drift_ranks_between_unknown_and_at_risk() {
    let reports = ["within", "at_risk", "drifted", "unknown"].map(samples::of);
    let jobs = worst_first(reports.iter().flat_map(|report| &report.jobs));
    let verdicts: Vec<Verdict> = jobs.iter().map(|job| job.verdict).collect();
    use Verdict::{AtRisk, Unknown, Within};
    assert_eq!(verdicts, [Unknown, Within, AtRisk, Within]);
    assert!(jobs[1].has_drifted());
}

#[test]
fn a_column_appears_only_where_it_says_something() {
    let titles = |comparison: Comparison<'_>| {
        let columns = comparison.columns.into_iter();
        let titles: Vec<String> = columns.map(|column| column.title().into_owned()).collect();
        titles.join(" ")
    };
    let of = |report: &Report| titles(Comparison::of(report));
    assert_eq!(of(&samples::of("failed")), "Time");
    let churn = samples::of("over-budget");
    assert_eq!(of(&churn), "Time Cost Memory CPU");
    // In a comment what the judged row is over comes first, and CPU has no line.
    let narrow = Comparison::of(&churn).narrow();
    assert_eq!(titles(narrow), "Cost Time Memory");
    let mut gpu = samples::of("gpu");
    let plain = "Time Cost Memory CPU GPU GPU mem";
    assert_eq!(of(&gpu), format!("{plain} Step Cost/step"));
    let judged = &mut gpu.jobs[0].forecasts[0];
    judged.estimates[Metric::StepTime] = None;
    judged.estimates[Metric::CostPerStep] = None;
    judged.budget[2].verdict = LineVerdict::NotApplicable;
    assert_eq!(of(&gpu), plain);
    gpu.jobs[0].forecasts[0].budget[2].verdict = LineVerdict::Unknown;
    assert_eq!(of(&gpu), format!("{plain} Cost/step"));
}
