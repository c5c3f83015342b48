use super::super::samples::{at, baseline, canary, forecast, found, full_run, run_of, with};
use super::super::{Command, Content, Entry, Event, Record, RecordKind, Scope};
use super::Tally;
use crate::measurement::{Measurement, Outcome, Reused};
use crate::report::history_figures::{
    HistoryFigures, JobFigures, JobStanding, SeriesSource, Spent, month_of,
};
use crate::units::{Seconds, Usd};
use crate::verdict::Verdict;

const A_DAY: i64 = 24 * 60;

/// A record where it was kept.
type Kept = (Scope, Record);

fn main(record: Record) -> Kept {
    (Scope::Main, record)
}

fn figures_at(minutes: i64, kept: &[Kept]) -> HistoryFigures {
    let mut tally = Tally::default();
    for (scope, record) in kept {
        let entry = Entry {
            recorded_at: record.recorded_at,
            scope: *scope,
            job: record.job.clone(),
            kind: RecordKind::Canary,
            key: String::new(),
            id: String::new(),
        };
        tally.add(&entry, record);
    }
    tally.finish(&[], at(minutes))
}

fn figures(kept: &[Kept]) -> HistoryFigures {
    figures_at(A_DAY, kept)
}

fn job(kept: &[Kept]) -> JobFigures {
    figures(kept).jobs.remove(0)
}

fn judged(minutes: i64, verdict: Verdict) -> Record {
    with(forecast(minutes, 1), |record| {
        found(record).verdict = verdict;
    })
}

fn on_branch(record: Record, branch: &str) -> Record {
    with(record, |record| {
        record.writer.branch = Some(branch.to_owned());
    })
}

fn named(record: Record, job: &str) -> Record {
    with(record, |record| record.job = job.to_owned())
}

/// A canary of half a dollar, told apart by its replicate.
fn paid(minutes: i64, replicate: u32) -> Record {
    with(canary(minutes, 5), |record| {
        let run = run_of(record);
        run.replicate = replicate;
        run.cost = Some(Usd(0.5));
    })
}

#[test]
fn a_check_has_its_verdict_figures_and_day() {
    let record = with(forecast(7, 1), |record| {
        record.commit = Some("8d1f0c7a5b3e9d2c".to_owned());
    });
    let job = job(&[main(record)]);
    let check = job.newest().unwrap();
    assert_eq!(check.at, at(7));
    assert_eq!(check.phrase, "within budget");
    assert_eq!(check.time.unwrap().estimate.point, 3600.0);
    assert_eq!(check.cost, None);
    assert_eq!(check.commit.as_deref(), Some("8d1f0c7"));
    assert_eq!(job.standing(), Verdict::Within.into());
    assert_eq!(job.source, SeriesSource::Branch(Some("main".to_owned())));
    assert_eq!(job.newest_record, at(7));
}

#[test]
fn jobs_that_need_attention_come_first_and_quiet_ones_last() {
    let day = |minutes: i64| minutes + 100 * A_DAY;
    let records: Vec<Kept> = [
        named(judged(1, Verdict::Exceeded), "gone"),
        named(judged(day(1), Verdict::Within), "b"),
        named(judged(day(2), Verdict::Within), "a"),
        named(judged(day(3), Verdict::AtRisk), "risky"),
        named(judged(day(4), Verdict::Unknown), "unknown"),
        named(judged(day(5), Verdict::Exceeded), "over"),
    ]
    .map(main)
    .into();
    let figures = figures_at(day(10), &records);
    let names: Vec<&str> = figures.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["over", "unknown", "risky", "a", "b", "gone"]);
    assert!(figures.jobs.last().unwrap().is_quiet);
}

#[test]
fn a_canary_that_failed_after_the_newest_check_takes_its_green() {
    let failed = with(paid(2, 0), |record| {
        run_of(record).outcome = Outcome::Failed {
            exit_code: Some(1),
            last_line: None,
        };
    });
    let records = [
        main(judged(1, Verdict::Within)),
        main(failed),
        main(paid(3, 1)),
    ];
    let failing = job(&records);
    assert_eq!(failing.standing(), Verdict::Failed.into());
    let unfinished = failing.unfinished.unwrap();
    assert_eq!((unfinished.at, unfinished.canaries), (at(3), 2));
    assert_eq!(unfinished.ended, Some(("failed", Verdict::Failed)));
    // The check that these canaries were made for.
    let done = [&records[..], &[main(judged(4, Verdict::Within))]].concat();
    assert_eq!(job(&done).standing(), Verdict::Within.into());
    assert_eq!(job(&done).unfinished, None);
    // One that goes on says nothing against the job.
    let going_on = [main(judged(1, Verdict::Within)), main(paid(2, 0))];
    assert_eq!(job(&going_on).standing(), Verdict::Within.into());
    assert_eq!(job(&going_on).unfinished.unwrap().ended, None);
}

#[test]
fn drift_lasts_until_it_is_gone_or_accepted() {
    let check = |minutes: i64, drifted: bool, is_baseline: bool| {
        main(with(judged(minutes, Verdict::Within), |record| {
            record.writer.command = Command::Drift;
            record.writer.event = Event::Schedule;
            let found = found(record);
            (found.drifted, found.is_baseline) = (Some(drifted), is_baseline);
        }))
    };
    let first = main(baseline(1, 1));
    let drifted = job(&[first.clone(), check(2, true, false), main(forecast(3, 1))]);
    assert_eq!(drifted.standing(), JobStanding::Drifted);
    assert_eq!(drifted.baseline().unwrap().at, at(1));
    for last in [
        check(3, false, false),
        check(3, true, true),
        main(baseline(3, 2)),
    ] {
        let job = job(&[first.clone(), check(2, true, false), last]);
        assert_eq!(job.standing(), Verdict::Within.into());
    }
}

#[test]
fn the_series_is_that_of_the_branch_which_is_checked_most_else_of_own_machines() {
    let mut records: Vec<Kept> = (0..10)
        .map(|minute| main(on_branch(judged(minute, Verdict::Within), "master")))
        .collect();
    records.extend((10..30).map(|minute| main(judged(minute, Verdict::AtRisk))));
    records.push(main(on_branch(judged(30, Verdict::Exceeded), "release")));
    let of_pull_request = (Scope::PullRequest(3), judged(31, Verdict::Exceeded));
    let local = (Scope::Local, judged(32, Verdict::Unknown));
    records.extend([of_pull_request.clone(), local.clone()]);
    let main = SeriesSource::Branch(Some("main".to_owned()));
    let own = SeriesSource::OwnMachines;
    for (records, source, checks, standing) in [
        (&records[..], main, (20, 11), Verdict::AtRisk.into()),
        (
            &[of_pull_request.clone(), local],
            own.clone(),
            (1, 0),
            Verdict::Unknown.into(),
        ),
        (&[of_pull_request], own, (0, 0), JobStanding::Unmeasured),
    ] {
        let job = job(records);
        assert_eq!((job.checks.len(), job.other_branches), checks);
        assert_eq!((&job.source, job.standing()), (&source, standing));
    }
}

#[test]
fn a_canary_is_paid_once_in_its_month_by_the_run_that_started_it() {
    let of_forecast = |minutes: i64, runs: Vec<Measurement>| {
        with(forecast(minutes, 1), |record| {
            found(record).measurements = runs;
        })
    };
    let mut kept: Vec<Record> = vec![paid(1, 0), paid(2, 1)];
    let runs: Vec<Measurement> = kept
        .iter_mut()
        .map(|record| run_of(record).clone())
        .collect();
    let reused = Measurement {
        reused: Some(Reused {
            age_days: 3.0,
            saved_usd: Some(Usd(0.6)),
        }),
        cost: None,
        ..runs[0].clone()
    };
    let adopted = with(paid(31 * A_DAY, 7), |record| {
        if let Content::Canary { is_adopted, .. } = &mut record.content {
            *is_adopted = true;
        }
    });
    let records = [
        main(kept[0].clone()),
        main(kept[1].clone()),
        main(of_forecast(3, runs)),
        main(full_run(4, 1)),
        (Scope::PullRequest(8), adopted),
        (Scope::PullRequest(8), paid(31 * A_DAY, 2)),
        (Scope::PullRequest(8), of_forecast(31 * A_DAY, vec![reused])),
    ];
    let figures = figures_at(32 * A_DAY, &records);
    let paid = Spent {
        canaries: 2,
        time: Seconds(123.0),
        usd: Usd(1.0),
        ..Spent::default()
    };
    let of_pull_request = Spent {
        canaries: 1,
        time: Seconds(61.5),
        usd: Usd(0.5),
        reused: 1,
        saved_time: Seconds(61.5),
        saved_usd: Usd(0.6),
        ..Spent::default()
    };
    let [first, second] = [at(0), at(31 * A_DAY)].map(month_of);
    assert_eq!(
        [first.to_string(), second.to_string()],
        ["2026-11-01", "2026-12-01"]
    );
    assert_eq!(
        Vec::from_iter(figures.spent),
        [(first, paid), (second, of_pull_request)]
    );
    assert_eq!(figures.jobs[0].full_runs.len(), 1);
}

#[test]
fn a_name_in_several_repositories_says_so_and_long_texts_are_not_kept() {
    let of = |minutes: i64, url: &str| {
        main(with(forecast(minutes, 1), |record| {
            record.writer.run_url = Some(url.to_owned());
            record.commit = Some("é".repeat(100_000));
            record.writer.branch = Some("b".repeat(100_000));
        }))
    };
    let job = job(&[
        of(1, "https://github.com/acme/churn/actions/runs/7"),
        of(2, "https://github.com/acme/churn/actions/runs/8"),
        of(3, "https://github.com/acme/other/actions/runs/9"),
        of(4, "javascript:alert(1)/actions/runs/9"),
        of(5, &"https://".repeat(100_000)),
    ]);
    assert_eq!(
        job.repositories,
        [
            "https://github.com/acme/churn",
            "https://github.com/acme/other"
        ]
    );
    assert!(format!("{job:?}").len() < 10_000);
}
