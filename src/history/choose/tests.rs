use std::fs;

use super::*;
use crate::history::samples::{
    Sample, at, baseline, canary, canary_without_key, forecast, full_run, key, key_of, with,
};
use crate::outside_error::OutsideError;

const LATER: i64 = 24 * 60;

async fn entries(history: &History) -> Vec<Entry> {
    history.list_at(None, at(LATER)).await.unwrap().entries
}

fn minute(record: &Record) -> i64 {
    (record.recorded_at.as_second() - at(0).as_second()) / 60
}

/// The minute of the record that was found, and how many before it are damaged.
fn seen(found: Result<Loaded, OutsideError>) -> (Option<i64>, usize) {
    let found = found.unwrap();
    let record = found.records.first().map(|(_, record)| minute(record));
    (record, found.damaged.len())
}

/// The baseline of a code, by its key, and a branch.
async fn base(history: &History, code_key: Option<&str>, branch: &str) -> (Option<i64>, usize) {
    let wanted = BaseWanted {
        code_key,
        instance: None,
        branch,
    };
    let entries = entries(history).await;
    seen(history.baseline(&entries, &wanted, |_| true).await)
}

async fn newest_canary(history: &History, key: &str) -> (Option<i64>, usize) {
    let entries = entries(history).await;
    seen(history.newest_canary(&entries, key, |_| true).await)
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
    for kept in [
        forecast(1, 7),
        forecast(2, 8),
        by(forecast(3, 9), Event::Schedule, "main"),
        by(forecast(4, 10), Event::Dispatch, "main"),
        by(forecast(5, 11), Event::Push, "release"),
        canary(6, 7),
    ] {
        main.append(&kept).await.unwrap();
    }
    for (minutes, code) in [(7, 7), (8, 12)] {
        let own = by(forecast(minutes, code), Event::PullRequest, "main");
        sample.keep(&own).await;
    }
    // As if another pull request had been pushed.
    let theirs = sample.to(Scope::PullRequest(4));
    theirs.append(&forecast(9, 13)).await.unwrap();
    for (code, branch, expected) in [
        (Some(8), "main", Some(2)),
        (Some(7), "main", Some(1)),
        // What the pull request itself wrote is no base of its own, nor is what another did.
        (Some(12), "main", Some(3)),
        (Some(13), "main", Some(3)),
        (Some(99), "main", Some(3)),
        (None, "release", Some(5)),
        (Some(99), "elsewhere", None),
    ] {
        let code = code.map(key);
        let found = base(&sample.history, code.as_deref(), branch).await;
        assert_eq!(found, (expected, 0), "{code:?} {branch}");
    }
    let local = sample.to(Scope::Local);
    let newest = base(&local, Some(&key(7)), "elsewhere").await;
    assert_eq!(newest, (Some(7), 0));
}

#[tokio::test]
async fn a_canary_is_found_by_all_digits_of_its_key_and_nothing_without_one() {
    let sample = Sample::new(Scope::Main);
    let same_start = format!("{}{}", &key(5)[..16], "f".repeat(48));
    let other = with(canary(2, 5), |record| {
        *key_of(record) = Some(same_start.clone());
    });
    let mut other_code = forecast(2, 5);
    other_code.code_key = Some(same_start.clone());
    for record in [canary(1, 5), other, forecast(1, 5), other_code] {
        sample.keep(&record).await;
    }
    for record in [canary_without_key(3), full_run(4, 5)] {
        sample.keep(&record).await;
    }
    let history = &sample.history;
    for (wanted, minute) in [(key(5), Some(1)), (same_start, Some(2))] {
        assert_eq!(newest_canary(history, &wanted).await, (minute, 0));
        assert_eq!(base(history, Some(&wanted), "main").await, (minute, 0));
    }
    for none in [key(6), "0".repeat(64)] {
        assert_eq!(newest_canary(history, &none).await, (None, 0));
    }
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
    local.append(&forecast(7, 7)).await.unwrap();
    let other = sample.to(Scope::PullRequest(1));
    other.append(&baseline(8, 7)).await.unwrap();
    let empty = Sample::new(Scope::Main);
    // Without a baseline there is nothing to compare with.
    let none = Sample::new(Scope::Main);
    none.keep(&forecast(1, 7)).await;
    for (history, expected) in [
        (&sample.history, &[3, 4, 6][..]),
        (&local, &[3, 4, 6, 7]),
        (&other, &[3, 4, 6]),
        (&empty.history, &[]),
        (&none.history, &[]),
    ] {
        let entries = entries(history).await;
        let series = history.series(&entries, |_| true).await.unwrap();
        let minutes = series.records.iter().map(|(_, record)| minute(record));
        assert_eq!(minutes.collect::<Vec<i64>>(), expected);
    }
}

/// Old records are damaged, so that whoever reads one is caught.
#[tokio::test]
async fn of_a_thousand_records_only_what_is_wanted_is_read() {
    let sample = Sample::new(Scope::Main);
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
    }
    let history = &sample.history;
    // The last is one of four forecasts of its code that are damaged, and the fifth.
    for (code, expected) in [
        (99, (Some(998), 0)),
        (12345, (Some(998), 0)),
        (50, (Some(500), 4)),
    ] {
        assert_eq!(base(history, Some(&key(code)), "main").await, expected);
    }
    assert_eq!(newest_canary(history, &key(95)).await, (Some(959), 0));
    let entries = entries(history).await;
    let (key, is_before) = (key(95), |record: &Record| record.recorded_at < at(955));
    let found = history.newest_canary(&entries, &key, is_before);
    assert_eq!(seen(found.await), (Some(953), 0));
    let series = history.series(&entries, |_| true).await.unwrap();
    assert_eq!((series.records.len(), series.damaged), (10, vec![]));
    assert!(series.records[0].1.forecast().unwrap().is_baseline);
}
