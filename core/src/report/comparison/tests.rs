use super::super::{samples, terminal};
use super::*;
use crate::metric::Metric;
use crate::report::Report;
use crate::report::budget_lines::further_lines;

fn jobs(report: &Report) -> Vec<&JobReport> {
    report.jobs.iter().collect()
}

/// What the judged row of the first job rests on.
fn standing(job: &JobReport) -> (String, Option<String>) {
    let cell = Comparison::of(&[job]).rows[0].standing();
    let detail = cell.detail.as_ref().map(terminal::inline);
    (terminal::inline(&cell.text), detail)
}

#[test]
fn a_job_that_fails_the_check_leads_and_what_was_not_measured_ends() {
    let mut report = samples::of("two_jobs");
    report.jobs[1].forecasts[2].verdict = Verdict::Exceeded;
    report.jobs[1].forecasts.swap(1, 3);
    let comparison = Comparison::of(&jobs(&report));
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
fn the_table_shows_the_line_that_the_verdict_rests_on() {
    let mut job = samples::of("over-budget").jobs.remove(0);
    assert_eq!(standing(&job).0, "cost 126% of limit");
    let budget = &mut job.forecasts[0].budget;
    (budget[0].decides, budget[2].decides) = (false, true);
    assert!(standing(&job).0.starts_with("memory "));
    // A report that does not say, as one made by hand.
    job.forecasts[0].budget[2].decides = false;
    assert_eq!(standing(&job).0, "over budget");
}

#[test]
fn a_row_that_no_canary_ran_on_is_not_ticked() {
    let mut report = samples::of("within");
    let row = &mut report.jobs[0].forecasts[0];
    row.not_measured = Some("no canary ran on it".to_owned());
    row.estimated_from = Some("time follows from scale-out, measured on other counts".to_owned());
    row.budget[0].decides = true;
    let mark = |report: &Report| Comparison::of(&jobs(report)).rows[0].standing().mark;
    assert_eq!(mark(&report), Some(Mark::Nothing));
    assert!(standing(&report.jobs[0]).0.starts_with("not measured; "));
    // What is wrong is shown all the same.
    report.jobs[0].forecasts[0].verdict = Verdict::Exceeded;
    assert_eq!(mark(&report), Some(Mark::Bad));
}

#[test]
fn a_job_that_was_not_planned_says_why_once() {
    let mut job = samples::of("over-budget").jobs.remove(0);
    job.forecasts[0].not_measured = Some("the data is empty".to_owned());
    assert!(standing(&job).1.is_some());
    job.reason = "the data is empty".into();
    assert_eq!(standing(&job), ("not measured".to_owned(), None));
}

#[test]
fn a_change_carries_its_sign_and_is_noise_where_its_interval_holds_zero() {
    let mut forecast = samples::of("increased").jobs.remove(0).forecasts.remove(0);
    for (ends, point, interval) in [
        ([31.0, 24.0, 39.0], "+31%", Some("24–39")),
        ([-12.0, -15.0, -8.0], "-12%", Some("-15% to -8.0%")),
        ([31.0, -0.1, 39.0], "within noise", None),
    ] {
        let change = forecast.delta.cost_percent.as_mut().unwrap();
        [change.point, change.lower, change.upper] = ends;
        let expected = (point.to_owned(), interval.map(str::to_owned));
        assert_eq!(versus_base(&forecast), Some(expected));
    }
    forecast.delta = super::super::Delta::default();
    assert_eq!(versus_base(&forecast), None);
    // An older report says the amount alone: 0.0046 more than 0.0148 USD.
    let older = samples::of("at_risk").jobs.remove(0).forecasts.remove(0);
    assert_eq!(versus_base(&older).unwrap().0, "+31%");
}

#[test]
fn without_a_baseline_the_cell_is_empty_and_where_it_failed_unknown() {
    let mut report = samples::of("increased");
    let cell = |report: &Report| {
        let cell = Comparison::of(&jobs(report)).rows[1].cell(Column::VersusBase);
        terminal::inline(&cell.text)
    };
    assert_eq!(cell(&report), "");
    let mut line = report.jobs[0].forecasts[1].budget[0].clone();
    (line.line, line.verdict) = (LineKind::Increase(Metric::Cost), LineVerdict::Unknown);
    report.jobs[0].forecasts[1].budget.push(line);
    assert_eq!(cell(&report), words::UNKNOWN);
}

#[test]
fn drift_ranks_between_unknown_and_at_risk() {
    let reports = ["within", "at_risk", "drifted", "unknown"].map(samples::of);
    let jobs: Vec<&JobReport> = reports.iter().flat_map(|report| &report.jobs).collect();
    let verdicts: Vec<Verdict> = worst_first(&jobs).iter().map(|job| job.verdict).collect();
    use Verdict::{AtRisk, Unknown, Within};
    assert_eq!(verdicts, [Unknown, Within, AtRisk, Within]);
    assert!(worst_first(&jobs)[1].has_drifted());
}

#[test]
fn a_breach_of_the_base_is_shown_as_one_that_only_warns() {
    let job = samples::of("existing_breach").jobs.remove(0);
    assert_eq!(further_lines(&job), [""; 0]);
    let mut worse = job.clone();
    worse.forecasts[0].verdict = Verdict::Exceeded;
    worse.forecasts[0].budget[1].verdict = LineVerdict::Exceeded;
    assert_eq!(
        further_lines(&worse),
        [
            "cost is 63 USD, wanted at most 50 USD (>99% likely over); the base was over already (61 USD) and this change does not raise it for certain, so it counts as a warning"
        ]
    );
    let mut alone = job;
    alone.forecasts[0].budget.truncate(1);
    alone.forecasts[0].verdict = Verdict::NotJudged;
    // The headline says that the base was over already.
    assert_eq!(standing(&alone), ("cost 126% of limit".to_owned(), None));
}

#[test]
fn a_column_appears_only_where_it_says_something() {
    let titles = |comparison: Comparison<'_>| {
        let columns = comparison.columns.into_iter();
        let titles: Vec<String> = columns.map(|column| column.title().into_owned()).collect();
        titles.join(" ")
    };
    let of = |report: &Report| titles(Comparison::of(&jobs(report)));
    assert_eq!(of(&samples::of("failed")), "Time");
    let churn = samples::of("over-budget");
    assert_eq!(of(&churn), "Time Cost Memory CPU");
    // In a comment what the judged row is over comes first, and CPU has no line.
    let narrow = Comparison::of(&jobs(&churn)).narrow();
    assert_eq!(titles(narrow), "Cost Time Memory");
    let mut gpu = samples::of("gpu");
    let plain = "Time Cost Memory GPU GPU mem";
    assert_eq!(of(&gpu), format!("{plain} Step Cost/step"));
    let judged = &mut gpu.jobs[0].forecasts[0];
    judged.estimates[Metric::StepTime] = None;
    judged.estimates[Metric::CostPerStep] = None;
    judged.budget[2].verdict = LineVerdict::NotApplicable;
    assert_eq!(of(&gpu), plain);
    gpu.jobs[0].forecasts[0].budget[2].verdict = LineVerdict::Unknown;
    assert_eq!(of(&gpu), format!("{plain} Cost/step"));
}

#[test]
fn memory_without_an_estimate_shows_the_highest_canary_and_a_lower_bound_is_marked() {
    let mut job = samples::of("over-budget").jobs.remove(0);
    let forecast = &mut job.forecasts[0];
    let memory = Column::Metric(Metric::Memory);
    forecast.memory_is_lower_bound = true;
    let known = memory.figure(forecast).unwrap();
    assert!(known.0.starts_with("≥ "), "{known:?}");
    forecast.estimates[Metric::Memory] = None;
    assert_eq!(memory.figure(forecast), None);
    forecast.memory_at_least = Some(75.0);
    let seen = ("≥ 75%".to_owned(), Some("highest canary".to_owned()));
    assert_eq!(memory.figure(forecast), Some(seen));
    for row in &mut forecast.budget {
        row.decides = row.line == LineKind::Absolute(Metric::Memory);
        if row.decides {
            (row.verdict, row.chance_of_breach, row.limit) = (LineVerdict::AtRisk, None, 90.0);
        }
    }
    forecast.verdict = Verdict::AtRisk;
    let least = Some("a lower bound".to_owned());
    assert_eq!(standing(&job), ("memory 83% of limit".to_owned(), least));
}
