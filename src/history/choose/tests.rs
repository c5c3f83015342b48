use std::fs;

use super::*;
use crate::history::record::Content;
use crate::history::samples::{
    JOB, Sample, at, baseline, canary, canary_without_key, forecast, full_run, key,
};

const LATER: i64 = 24 * 60;

async fn entries(history: &History) -> Vec<Entry> {
    history.list_at(None, at(LATER)).await.unwrap().entries
}

fn minutes(found: &FirstReadable) -> Option<i64> {
    let (_, record) = found.record.as_ref()?;
    Some((record.recorded_at.as_second() - at(0).as_second()) / 60)
}

fn of<'a>(code_key: Option<&'a str>, branch: &'a str) -> BaseWanted<'a> {
    BaseWanted {
        code_key,
        instance: None,
        branch,
    }
}

/// A forecast by a pull request's run, or by a push elsewhere.
fn by(mut record: Record, event: Event, branch: &str) -> Record {
    record.writer.event = event;
    record.writer.branch = Some(branch.to_owned());
    record
}

#[tokio::test]
async fn the_baseline_is_of_the_bases_code_else_the_newest_of_its_branch() {
    let sample = Sample::new(Scope::PullRequest(3));
    let main = sample.to(Scope::Main);
    let record = |minutes, code| forecast(minutes, code);
    for kept in [
        record(1, 7),
        record(2, 8),
        by(record(3, 9), Event::Schedule, "main"),
        by(record(4, 10), Event::Dispatch, "main"),
        by(record(5, 11), Event::Push, "release"),
        canary(6, 7),
    ] {
        main.append(&kept, None).await.unwrap();
    }
    sample
        .keep(&by(record(7, 7), Event::PullRequest, "main"))
        .await;
    sample
        .keep(&by(record(8, 12), Event::PullRequest, "main"))
        .await;
    let entries = entries(&sample.history).await;
    let choose = async |code: Option<u64>, branch: &str| {
        let code = code.map(key);
        let wanted = of(code.as_deref(), branch);
        let found = sample.history.baseline(&entries, JOB, &wanted).await;
        let found = found.unwrap();
        assert_eq!(found.damaged, []);
        minutes(&found)
    };
    assert_eq!(choose(Some(8), "main").await, Some(2));
    assert_eq!(choose(Some(7), "main").await, Some(1));
    // What the pull request itself wrote is no base of its own.
    assert_eq!(choose(Some(12), "main").await, Some(3));
    assert_eq!(choose(Some(99), "main").await, Some(3));
    assert_eq!(choose(None, "release").await, Some(5));
    assert_eq!(choose(Some(99), "elsewhere").await, None);
    let local = sample.to(Scope::Local);
    let newest = local
        .baseline(&entries, JOB, &of(Some(&key(7)), "elsewhere"))
        .await;
    assert_eq!(minutes(&newest.unwrap()), Some(7));
    let none = sample
        .history
        .baseline(&entries, "fraud", &of(Some(&key(7)), "main"))
        .await;
    assert!(none.unwrap().record.is_none());
}

#[tokio::test]
async fn another_pull_request_is_no_baseline() {
    let sample = Sample::new(Scope::PullRequest(3));
    let theirs = sample.to(Scope::PullRequest(4));
    // As if it had been pushed.
    theirs.append(&forecast(1, 7), None).await.unwrap();
    let entries = entries(&sample.history).await;
    let found = sample
        .history
        .baseline(&entries, JOB, &of(Some(&key(7)), "main"))
        .await;
    assert!(found.unwrap().record.is_none());
    // Nor is one's own, unless its code is the base's.
    sample.keep(&forecast(2, 8)).await;
    let entries = self::entries(&sample.history).await;
    let found = sample
        .history
        .baseline(&entries, JOB, &of(Some(&key(7)), "main"))
        .await;
    assert!(found.unwrap().record.is_none());
}

#[tokio::test]
async fn a_canary_without_a_key_and_a_full_run_are_never_found() {
    let sample = Sample::new(Scope::Main);
    for record in [canary_without_key(1), full_run(2, 5)] {
        sample.keep(&record).await;
    }
    let entries = entries(&sample.history).await;
    for wanted in [key(5), "0".repeat(64)] {
        let canary = sample
            .history
            .newest_canary(&entries, JOB, &wanted, |_| true)
            .await;
        assert!(canary.unwrap().record.is_none());
    }
    assert_eq!(forecasts(&entries, JOB).count(), 0);
}

#[tokio::test]
async fn a_key_is_the_same_in_all_its_digits() {
    let sample = Sample::new(Scope::Main);
    let mut other = canary(2, 5);
    let same_start = format!("{}{}", &key(5)[..16], "f".repeat(48));
    if let Content::Canary { canary_key, .. } = &mut other.content {
        *canary_key = Some(same_start.clone());
    }
    let mut other_code = forecast(2, 5);
    other_code.code_key = Some(same_start.clone());
    for record in [canary(1, 5), other, forecast(1, 5), other_code] {
        sample.keep(&record).await;
    }
    let entries = entries(&sample.history).await;
    for (wanted, minute) in [(key(5), 1), (same_start, 2)] {
        let canary = sample
            .history
            .newest_canary(&entries, JOB, &wanted, |_| true)
            .await;
        assert_eq!(minutes(&canary.unwrap()), Some(minute));
        let base = sample
            .history
            .baseline(&entries, JOB, &of(Some(&wanted), "main"))
            .await;
        assert_eq!(minutes(&base.unwrap()), Some(minute));
    }
    let none = sample
        .history
        .newest_canary(&entries, JOB, &key(6), |_| true)
        .await;
    assert!(none.unwrap().record.is_none());
}

#[tokio::test]
async fn the_newest_that_will_do_is_taken() {
    let sample = Sample::new(Scope::Main);
    let mut kept = Vec::new();
    for minute in 0..20 {
        kept.push(sample.keep(&canary(minute, 5)).await);
    }
    fs::write(sample.file(&kept[19]), "{").unwrap();
    let entries = entries(&sample.history).await;
    assert_eq!(newest(&entries, JOB), kept.last());
    assert_eq!(newest(&entries, "fraud"), None);
    let before = at(12);
    let found = sample
        .history
        .newest_canary(&entries, JOB, &key(5), |record| record.recorded_at < before)
        .await
        .unwrap();
    assert_eq!(minutes(&found), Some(11));
    assert_eq!(found.damaged.len(), 1);
    assert_eq!(found.damaged[0].why, "it is cut short");
}

#[tokio::test]
async fn a_series_begins_with_the_newest_baseline() {
    let sample = Sample::new(Scope::Main);
    for record in [
        baseline(1, 7),
        forecast(2, 7),
        baseline(3, 7),
        forecast(4, 7),
        canary(5, 7),
        forecast(6, 7),
    ] {
        sample.keep(&record).await;
    }
    let local = sample.to(Scope::Local);
    local.append(&forecast(7, 7), None).await.unwrap();
    let other = sample.to(Scope::PullRequest(1));
    other.append(&baseline(8, 7), None).await.unwrap();
    let series = async |history: &History| {
        let series = history
            .series(&entries(history).await, JOB, |_| true)
            .await
            .unwrap();
        let of = |(_, record): &(Entry, Record)| {
            (record.recorded_at.as_second() - at(0).as_second()) / 60
        };
        series.records.iter().map(of).collect::<Vec<i64>>()
    };
    assert_eq!(series(&sample.history).await, [3, 4, 6]);
    assert_eq!(series(&local).await, [3, 4, 6, 7]);
    assert_eq!(series(&other).await, [3, 4, 6]);
    let empty = Sample::new(Scope::Main);
    assert_eq!(series(&empty.history).await, [0; 0]);
    empty.keep(&forecast(1, 7)).await;
    empty.keep(&forecast(2, 7)).await;
    // Without a baseline there is nothing to compare with.
    assert_eq!(series(&empty.history).await, [0; 0]);
}

/// Old records are damaged, so that whoever reads one is caught.
#[tokio::test]
async fn of_a_thousand_records_only_what_is_wanted_is_read() {
    let sample = Sample::new(Scope::Main);
    let mut kept = Vec::new();
    for number in 0..1000_u32 {
        let minute = i64::from(number);
        let code = u64::from(number / 10);
        let record = match number {
            980 => baseline(minute, code),
            _ if number % 2 == 0 => forecast(minute, code),
            _ => canary(minute, code),
        };
        let entry = sample.keep(&record).await;
        if number < 900 && number != 500 {
            fs::write(sample.file(&entry), "{").unwrap();
        }
        kept.push(entry);
    }
    let history = &sample.history;
    let entries = entries(history).await;
    assert_eq!(entries, kept);

    let base = history
        .baseline(&entries, JOB, &of(Some(&key(99)), "main"))
        .await
        .unwrap();
    assert_eq!((minutes(&base), base.damaged), (Some(998), vec![]));
    let branch = history
        .baseline(&entries, JOB, &of(Some(&key(12345)), "main"))
        .await
        .unwrap();
    assert_eq!((minutes(&branch), branch.damaged), (Some(998), vec![]));
    let canary = history
        .newest_canary(&entries, JOB, &key(95), |_| true)
        .await
        .unwrap();
    assert_eq!((minutes(&canary), canary.damaged), (Some(959), vec![]));
    let series = history.series(&entries, JOB, |_| true).await.unwrap();
    assert_eq!((series.records.len(), series.damaged), (10, vec![]));
    assert!(series.records[0].1.forecast().unwrap().is_baseline);

    // One of four forecasts of its code that are damaged, and the fifth.
    let old = history
        .baseline(&entries, JOB, &of(Some(&key(50)), "main"))
        .await
        .unwrap();
    assert_eq!((minutes(&old), old.damaged.len()), (Some(500), 4));
}
