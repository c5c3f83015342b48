use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::super::tests::read;
use super::*;
use crate::forecast::Estimate;
use crate::report::history_figures::{
    CheckFigures, FullRunFigures, SeriesSource, UnfinishedCheck, month_of,
};
use crate::units::Seconds;
use crate::verdict::Verdict;

fn day(number: i64) -> Timestamp {
    let first: Timestamp = "2026-01-05T04:17:00Z".parse().unwrap();
    first + SignedDuration::from_hours(24 * number)
}

fn figure(point: f64, limit: Option<f64>) -> Option<FigureAndLimit> {
    let estimate = Estimate {
        point,
        lower: 0.9 * point,
        upper: 1.15 * point,
        level: 0.9,
    };
    Some(FigureAndLimit { estimate, limit })
}

fn check(number: i64, cost: f64, verdict: Verdict) -> CheckFigures {
    CheckFigures {
        at: day(number),
        verdict,
        phrase: words::phrase(verdict),
        drifted: None,
        is_baseline: number == 0,
        instance: "ml.m5.2xlarge".to_owned(),
        time: figure(cost * 7000.0, None),
        cost: figure(cost, Some(70.0)),
        commit: Some("8d1f0c7".to_owned()),
        run_url: Some("https://github.com/acme/churn/actions/runs/7".to_owned()),
    }
}

fn job(name: &str, checks: Vec<CheckFigures>) -> JobFigures {
    let newest_record = checks.last().map_or(day(0), |check| check.at);
    JobFigures {
        name: name.to_owned(),
        is_quiet: false,
        source: SeriesSource::Branch(Some("main".to_owned())),
        checks,
        full_runs: Vec::new(),
        unfinished: None,
        newest_record,
        other_branches: 0,
        repositories: Vec::new(),
    }
}

fn page_of(jobs: Vec<JobFigures>) -> HistoryFigures {
    let of_month = Spent {
        canaries: 9,
        time: Seconds(700.0),
        usd: Usd(0.12),
        reused: 3,
        saved_time: Seconds(200.0),
        saved_usd: Usd(0.04),
        ..Spent::default()
    };
    let mut spent: BTreeMap<Date, Spent> = BTreeMap::new();
    for job in &jobs {
        let months = job.checks.iter().map(|check| month_of(check.at));
        for month in BTreeSet::from_iter(months) {
            let sum = spent.entry(month).or_default();
            *sum = *sum + of_month;
        }
    }
    HistoryFigures {
        made_at: day(400),
        records: jobs.iter().map(|job| job.checks.len()).sum(),
        span: Some([day(0), day(300)]),
        unreadable: UnreadableRecords::default(),
        spent,
        jobs,
    }
}

fn weekly(weeks: u16, cost: impl Fn(u16) -> f64) -> Vec<CheckFigures> {
    let checks = (0..weeks).map(|week| check(7 * i64::from(week), cost(week), Verdict::Within));
    checks.collect()
}

/// What a reader sees, a piece of text each.
fn texts(figures: &HistoryFigures) -> String {
    read(&render(figures)).texts.join("|")
}

#[test]
fn the_answer_counts_what_needs_attention_and_what_is_open_is_never_good() {
    let over = job("over", vec![check(1, 90.0, Verdict::Exceeded)]);
    let good = job("good", vec![check(1, 50.0, Verdict::Within)]);
    let quiet = |job: &JobFigures| JobFigures {
        is_quiet: true,
        ..job.clone()
    };
    let broken = JobFigures {
        unfinished: broken_off(60),
        ..good.clone()
    };
    for (jobs, newer, damaged, said) in [
        (vec![], 0, 0, "No job was checked lately"),
        (
            vec![],
            2,
            0,
            "No job was checked lately; 2 records unreadable",
        ),
        (vec![&good], 0, 0, "1 of 1 job within budget"),
        (vec![&good, &good], 0, 0, "2 of 2 jobs within budget"),
        (vec![&over], 0, 0, "1 of 1 job needs attention"),
        (vec![&over, &good], 0, 0, "1 of 2 jobs needs attention"),
        (vec![&over, &over], 0, 0, "2 of 2 jobs need attention"),
        (vec![&quiet(&good)], 0, 0, "No job was checked lately"),
        (
            vec![&good, &quiet(&over)],
            0,
            0,
            "1 of 1 job within budget; 1 job not checked lately that needs attention",
        ),
        (
            vec![&good, &broken],
            0,
            0,
            "1 of 2 jobs within budget; 1 job with a newer check that has no forecast",
        ),
        (
            vec![&good],
            0,
            1,
            "1 of 1 job within budget; 1 record unreadable",
        ),
    ] {
        let mut figures = page_of(jobs.into_iter().cloned().collect());
        figures.unreadable = UnreadableRecords { newer, damaged };
        assert_eq!(answer(&figures).1, said);
        let is_good = answer(&figures).0 == Mark::GOOD;
        let is_whole = ["1 of 1 job within budget", "2 of 2 jobs within budget"];
        assert_eq!(is_good, is_whole.contains(&said));
    }
}

/// A check whose canaries completed, and which has no forecast.
fn broken_off(number: i64) -> Option<UnfinishedCheck> {
    Some(UnfinishedCheck {
        at: day(number),
        canaries: 2,
        ended: None,
    })
}

#[test]
fn a_page_of_two_jobs() {
    let mut failing = job("ranker", weekly(3, |_| 12.0));
    failing.unfinished = Some(UnfinishedCheck {
        at: day(16),
        canaries: 2,
        ended: Some(("failed", Verdict::Failed)),
    });
    failing.full_runs = vec![FullRunFigures {
        at: day(15),
        time: Some(Seconds(90_000.0)),
        cost: Some(Usd(12.6)),
    }];
    let mut figures = page_of(vec![
        failing,
        job("churn", weekly(6, |week| 50.0 + 0.2 * f64::from(week))),
    ]);
    figures.unreadable = UnreadableRecords {
        newer: 2,
        damaged: 1,
    };
    let page = render(&figures);
    assert_eq!(page, render(&figures));
    let without_drawings: String = page
        .split("<svg")
        .enumerate()
        .map(|(index, part)| match index {
            0 => part,
            _ => part.split_once("</svg>").map_or("", |(_, rest)| rest),
        })
        .collect();
    let (_, body) = without_drawings.split_once("<body>").unwrap();
    let lines = body.replace("</p>", "</p>\n").replace("</tr>", "</tr>\n");
    let lines = lines
        .replace("</figure>", "</figure>\n")
        .replace("</div>", "</div>\n");
    insta::assert_snapshot!("history_page", lines);
}

#[test]
fn what_is_wrong_beside_the_worst_is_said_too() {
    let mut checks = weekly(3, |_| 60.0);
    checks[2].drifted = Some(true);
    for (verdict, said) in [
        (Verdict::Within, "Drifted"),
        (Verdict::AtRisk, "Drifted|and may exceed the budget"),
        (Verdict::Exceeded, "Over budget|and drifted"),
    ] {
        checks[2].verdict = verdict;
        checks[2].phrase = words::phrase(verdict);
        let texts = texts(&page_of(vec![job("churn", checks.clone())]));
        assert!(texts.contains(&format!(" {said}|60 USD")), "{texts}");
    }
}

#[test]
fn many_jobs_are_a_small_page() {
    let jobs = (0..600).map(|number| {
        job(
            &format!("job {number}"),
            weekly(110, |week| 50.0 + f64::from(week)),
        )
    });
    let figures = page_of(jobs.collect());
    let page = render(&figures);
    assert!(page.len() < 1_000_000, "{}", page.len());
    let said = texts(&figures);
    for expected in [
        "100 further jobs not shown",
        "580 further jobs are in the table above alone",
        "The newest 100 of 110 checks are drawn.",
    ] {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn names_with_markup_are_shown_literally() {
    let page = |name: &str| {
        let mut hostile = job(name, weekly(2, |_| 50.0));
        hostile.source = SeriesSource::Branch(Some(name.to_owned()));
        hostile.repositories = vec![name.to_owned(), "b".to_owned()];
        hostile.checks[0].instance = name.to_owned();
        hostile.checks[1].commit = Some(name.to_owned());
        hostile.checks[1].run_url = Some(name.to_owned());
        read(&render(&page_of(vec![hostile])))
    };
    let plain = page("PLAIN x");
    for hostile in [
        "<script>alert(1)</script>",
        "\" onload=\"alert(1)",
        "' onload='alert(1)",
        "</title></style></svg><img src=x onerror=alert(1)>",
        "javascript:alert(1)",
    ] {
        let found = page(hostile);
        assert_eq!(found.elements, plain.elements, "{hostile}");
        let names = |values: &[(String, String)]| {
            values
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&found.values), names(&plain.values), "{hostile}");
        let links = found.values.iter().filter(|(name, _)| name == "href");
        for (_, address) in links {
            assert!(!address.starts_with("javascript"), "{address}");
        }
    }
}

#[test]
fn numbers_of_a_forger_leave_the_page_whole() {
    let mut checks = weekly(4, |_| 50.0);
    for (check, point) in checks.iter_mut().zip([1e300, f64::NAN, -5.0]) {
        check.cost = figure(point, Some(f64::INFINITY));
        check.time = figure(point, None);
    }
    let mut figures = page_of(vec![job("churn", checks)]);
    let most = Spent {
        canaries: usize::MAX / 4,
        usd: Usd(1e308),
        ..Spent::default()
    };
    figures.spent.insert(month_of(day(0)), most);
    let page = render(&figures);
    assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
}

#[test]
fn an_address_of_a_job_is_its_name_where_that_is_plain() {
    let plain = job("churn-2_b", Vec::new());
    assert_eq!(address(3, &plain), "job-churn-2_b");
    for name in ["", "a b", "é", "a.b", &"x".repeat(61)] {
        let expected = if name.is_empty() { "job-" } else { "job.3" };
        assert_eq!(address(3, &job(name, Vec::new())), expected);
    }
}
