use super::super::samples;
use super::*;
use crate::metric::Metric;
use crate::report::Report;

fn jobs(report: &Report) -> Vec<&JobReport> {
    report.jobs.iter().collect()
}

#[test]
fn a_job_that_fails_the_check_leads_and_what_was_not_measured_ends() {
    let mut report = samples::of("two_jobs");
    report.jobs[1].forecasts[2].verdict = Verdict::Exceeded;
    report.jobs[1].forecasts.swap(1, 3);
    let comparison = Comparison::of(&jobs(&report));
    let rows: Vec<String> = comparison
        .rows
        .iter()
        .map(|row| format!("{} {}", row.job, row.instance))
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
    let mut report = samples::of("over-budget");
    let standing = |report: &Report| Comparison::of(&jobs(report)).rows[0].standing.clone();
    assert!(standing(&report).0.starts_with("cost "));
    let judged = &mut report.jobs[0].forecasts[0];
    (judged.budget[0].decides, judged.budget[2].decides) = (false, true);
    assert!(standing(&report).0.starts_with("memory "));
    // A report that does not say, as one made by hand.
    report.jobs[0].forecasts[0].budget[2].decides = false;
    assert_eq!(standing(&report).0, "over budget");
}

#[test]
fn a_row_that_no_canary_ran_on_is_not_ticked() {
    let mut report = samples::of("within");
    let row = &mut report.jobs[0].forecasts[0];
    row.not_measured = Some("no canary ran on it".to_owned());
    row.estimated_from = Some("time follows from scale-out, measured on other counts".to_owned());
    row.budget[0].decides = true;
    let shown = |report: &Report| {
        let page = crate::report::markdown::render(report);
        let row = page.lines().find(|line| line.contains("not measured; "));
        row.unwrap_or_else(|| panic!("{page}")).to_owned()
    };
    assert!(!shown(&report).contains('✅'), "{}", shown(&report));
    // What is wrong is shown all the same.
    report.jobs[0].forecasts[0].verdict = Verdict::Exceeded;
    assert!(shown(&report).contains('❌'), "{}", shown(&report));
}

#[test]
fn a_job_that_was_not_planned_says_why_once() {
    let mut report = samples::of("over-budget");
    let job = &mut report.jobs[0];
    job.forecasts[0].not_measured = Some("the data is empty".to_owned());
    let standing = |job: &JobReport| Comparison::of(&[job]).rows[0].standing.clone();
    assert!(standing(job).1.is_some());
    job.reason = "the data is empty".to_owned();
    assert_eq!(standing(job), ("not measured".to_owned(), None));
}

#[test]
fn a_change_whose_interval_holds_zero_is_noise() {
    let mut report = samples::of("at_risk");
    let forecast = &mut report.jobs[0].forecasts[0];
    // 0.0046 more than 0.0148 USD.
    assert_eq!(versus_base(forecast).unwrap().point, "+31%");
    forecast.delta.cost_usd.as_mut().unwrap().lower = -0.001;
    assert_eq!(versus_base(forecast).unwrap().point, "within noise");
    forecast.delta = super::super::Delta::default();
    assert_eq!(versus_base(forecast), None);
}

#[test]
fn a_change_carries_its_sign_and_an_interval_that_can_be_read() {
    let mut forecast = samples::of("increased").jobs.remove(0).forecasts.remove(0);
    let shown = |forecast: &InstanceForecast| {
        let figure = versus_base(forecast).unwrap();
        (figure.point, figure.interval.unwrap(), figure.is_strong)
    };
    assert_eq!(
        shown(&forecast),
        ("+31%".to_owned(), "24–39".to_owned(), true)
    );
    let change = forecast.delta.cost_percent.as_mut().unwrap();
    (change.point, change.lower, change.upper) = (-12.0, -15.0, -8.0);
    assert_eq!(
        shown(&forecast),
        ("-12%".to_owned(), "-15% to -8.0%".to_owned(), false)
    );
}

#[test]
fn the_column_is_named_by_the_branch_of_all_baselines() {
    let mut report = samples::of("increased");
    let title = |report: &Report| Comparison::of(&jobs(report)).title(Column::VersusBase);
    assert_eq!(title(&report), "vs main");
    report.jobs.push(report.jobs[0].clone());
    report.jobs.push(samples::of("within").jobs.remove(0));
    assert_eq!(title(&report), "vs main");
    report.jobs[1].baseline.as_mut().unwrap().branch = Some("next".to_owned());
    assert_eq!(title(&report), "vs base");
    report.jobs.truncate(1);
    report.jobs[0].baseline.as_mut().unwrap().branch = Some("x".repeat(21));
    assert_eq!(title(&report), "vs base");
}

#[test]
fn without_a_baseline_the_cell_is_empty_and_where_it_failed_unknown() {
    let mut report = samples::of("increased");
    let cell = |report: &Report| {
        let comparison = Comparison::of(&jobs(report));
        let place = comparison
            .columns
            .iter()
            .position(|column| *column == Column::VersusBase);
        comparison.rows[1].figures[place.unwrap()].clone()
    };
    assert_eq!(cell(&report).unwrap().point, "");
    let mut line = report.jobs[0].forecasts[1].budget[0].clone();
    (line.line, line.verdict) = (LineKind::Increase(Metric::Cost), LineVerdict::Unknown);
    report.jobs[0].forecasts[1].budget.push(line);
    assert_eq!(cell(&report), None);
}

#[test]
fn drift_ranks_between_unknown_and_at_risk() {
    let reports = [
        samples::of("within"),
        samples::of("at_risk"),
        samples::of("drifted"),
        samples::of("unknown"),
    ];
    let jobs: Vec<&JobReport> = reports.iter().flat_map(|report| &report.jobs).collect();
    let verdicts: Vec<Verdict> = worst_first(&jobs).iter().map(|job| job.verdict).collect();
    use Verdict::{AtRisk, Unknown, Within};
    assert_eq!(verdicts, [Unknown, Within, AtRisk, Within]);
    assert!(worst_first(&jobs)[1].has_drifted());
}

#[test]
fn a_breach_of_the_base_is_shown_as_one_that_only_warns() {
    let report = samples::of("existing_breach");
    let job = &report.jobs[0];
    assert_eq!(further_lines(job), [""; 0]);
    let mut worse = job.clone();
    worse.forecasts[0].verdict = Verdict::Exceeded;
    worse.forecasts[0].budget[1].verdict = LineVerdict::Exceeded;
    assert_eq!(
        further_lines(&worse),
        [
            "cost is 63 USD, wanted at most 50 USD (>99% likely over); the base was over already (61 USD) and this change does not raise it for certain, so it counts as a warning"
        ]
    );
    assert_eq!(budget_rows(job).last().unwrap()[0], "cost (warns today)");
    let mut alone = job.clone();
    alone.forecasts[0].budget.truncate(1);
    alone.forecasts[0].verdict = Verdict::NotJudged;
    // The headline says that the base was over already.
    let standing = &Comparison::of(&[&alone]).rows[0].standing;
    assert_eq!(*standing, ("cost 126% of limit".to_owned(), None));
}

#[test]
fn a_column_appears_only_where_it_says_something() {
    let titles = |report: &Report| -> Vec<String> {
        let comparison = Comparison::of(&jobs(report));
        comparison
            .columns
            .iter()
            .map(|c| c.title().into_owned())
            .collect()
    };
    assert_eq!(titles(&samples::of("failed")), ["Time"]);
    assert_eq!(
        titles(&samples::of("over-budget")),
        ["Time", "Cost", "Memory", "CPU"]
    );
    // In a comment what the judged row is over comes first, and CPU has no line.
    let churn = samples::of("over-budget");
    let columns = Comparison::for_comment(&jobs(&churn)).columns;
    let titles_of: Vec<_> = columns.iter().map(|column| column.title()).collect();
    assert_eq!(titles_of, ["Cost", "Time", "Memory"]);
    let mut gpu = samples::of("gpu");
    let plain = ["Time", "Cost", "Memory", "GPU", "GPU mem"];
    assert_eq!(titles(&gpu), [&plain[..], &["Step", "Cost/step"]].concat());
    let judged = &mut gpu.jobs[0].forecasts[0];
    judged.estimates[Metric::StepTime] = None;
    judged.estimates[Metric::CostPerStep] = None;
    judged.budget[2].verdict = LineVerdict::NotApplicable;
    assert_eq!(titles(&gpu), plain);
    gpu.jobs[0].forecasts[0].budget[2].verdict = LineVerdict::Unknown;
    assert_eq!(titles(&gpu), [&plain[..], &["Cost/step"]].concat());
}

#[test]
fn memory_without_an_estimate_shows_the_highest_canary_and_a_lower_bound_is_marked() {
    let mut report = samples::of("over-budget");
    let forecast = &mut report.jobs[0].forecasts[0];
    let memory = Column::Metric(Metric::Memory);
    forecast.memory_is_lower_bound = true;
    let known = memory.figure(forecast).unwrap();
    assert!(known.point.starts_with("≥ "), "{known:?}");
    forecast.estimates[Metric::Memory] = None;
    assert_eq!(memory.figure(forecast), None);
    forecast.memory_at_least = Some(75.0);
    let seen = memory.figure(forecast).unwrap();
    assert_eq!(
        (seen.point.as_str(), seen.interval.as_deref()),
        ("≥ 75%", Some("highest canary"))
    );
    for row in &mut forecast.budget {
        row.decides = row.line == LineKind::Absolute(Metric::Memory);
        if row.decides {
            (row.verdict, row.chance_of_breach, row.limit) = (LineVerdict::AtRisk, None, 90.0);
        }
    }
    forecast.verdict = Verdict::AtRisk;
    let comparison = Comparison::of(&jobs(&report));
    let judged = comparison.rows.iter().find(|row| row.is_judged).unwrap();
    assert_eq!(
        judged.standing,
        (
            "memory 83% of limit".to_owned(),
            Some("a lower bound".to_owned())
        )
    );
}
