use super::*;
use crate::history::Scope;
use crate::history::samples::{canary, canary_without_key, forecast, full_run};
use crate::metric::Metric;

fn entry_of(record: &Record) -> Entry {
    Entry::of(record, Scope::Main, None, "a".repeat(16))
}

fn complaint(record: &Record, from: &str, to: &str) -> String {
    let text = String::from_utf8(write(record)).unwrap();
    let changed = text.replace(from, to);
    assert_ne!(text, changed, "{from} does not stand in {text}");
    read(changed.as_bytes(), &entry_of(record)).unwrap_err()
}

#[test]
fn a_record_is_read_as_it_was_written() {
    for record in [
        canary(0, 5),
        canary_without_key(0),
        full_run(0, 7),
        forecast(0, 7),
    ] {
        let text = write(&record);
        assert_eq!(read(&text, &entry_of(&record)), Ok(record.clone()));
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}

#[test]
fn a_record_from_before_runs_were_named_is_read() {
    let record = canary(0, 5);
    let text = String::from_utf8(write(&record)).unwrap();
    assert!(!text.contains("\"run\":"), "{text}");
    let read = read(text.as_bytes(), &entry_of(&record)).unwrap();
    assert_eq!(read.writer.run, None);
}

#[test]
fn a_record_that_is_cut_short_anywhere_says_so() {
    let record = canary(0, 5);
    let text = write(&record);
    let line = text.len() - 1;
    assert_eq!(read(&[], &entry_of(&record)).unwrap_err(), "it is empty");
    for end in 1..line {
        let why = read(&text[..end], &entry_of(&record)).unwrap_err();
        assert_eq!(why, "it is cut short", "after {end} bytes");
    }
    assert_eq!(read(&text[..line], &entry_of(&record)), Ok(record));
}

#[test]
fn what_is_no_record_says_why() {
    let entry = entry_of(&canary(0, 5));
    let said = |content: &[u8]| read(content, &entry).unwrap_err();
    assert!(said(b"hello").starts_with("it is not a record: "));
    assert!(said(b"[]").starts_with("it is not a record: "));
    assert_eq!(
        said(b"{}"),
        "it is not a record: missing field `schema_version`"
    );
    assert!(said(&[b'[', 0xff, 0xfe]).starts_with("it is not a record: "));
    let record = canary(0, 5);
    let endless = format!("\"event\":\"{}\"", "x".repeat(1_000_000));
    let why = complaint(&record, "\"event\":\"push\"", &endless);
    assert!(why.starts_with("it is not a record: unknown variant `xxx") && why.len() < 300);
    assert!(said("[".repeat(100_000).as_bytes()).starts_with("it is not a record: "));
    assert_eq!(
        said(&vec![b' '; crate::history::LARGEST_RECORD + 1]),
        "it is larger than 8 MiB"
    );
}

#[test]
fn what_a_newer_version_wrote_is_left_to_it() {
    let newer =
        "it was written by a newer canary-gate (schema 2); this one reads up to 1: update it";
    let record = canary(0, 5);
    for old in [
        "\"schema_version\":1,\"tool_version\"",
        "\"schema_version\":1,\"job\"",
    ] {
        let new = old.replace('1', "2");
        assert_eq!(complaint(&record, old, &new), newer);
    }
    let other_form = br#"{"schema_version":2,"about":"something else"}"#;
    assert_eq!(read(other_form, &entry_of(&record)).unwrap_err(), newer);
}

#[test]
fn fields_that_are_not_known_are_passed_over() {
    let record = forecast(0, 7);
    let text = String::from_utf8(write(&record)).unwrap();
    let more = text
        .replacen('{', "{\"new\":{\"a\":[1]},", 1)
        .replace("\"job\":\"churn\"", "\"job\":\"churn\",\"colour\":\"red\"")
        .replace(
            "\"kind\":\"forecast\"",
            "\"kind\":\"forecast\",\"mood\":null",
        );
    assert_eq!(read(more.as_bytes(), &entry_of(&record)), Ok(record));
}

#[test]
fn a_record_that_contradicts_its_name_is_none() {
    let record = canary(0, 5);
    let mut other_job = entry_of(&record);
    other_job.job = "fraud".to_owned();
    let mut other_kind = entry_of(&record);
    other_kind.kind = crate::history::RecordKind::Forecast;
    let mut other_key = entry_of(&record);
    other_key.key = "0123456789abcdef".to_owned();
    for (entry, why) in [
        (other_job, "it is of another job than its folder"),
        (other_kind, "it is of another kind than its name says"),
        (other_key, "its key is another than in its name"),
    ] {
        assert_eq!(read(&write(&record), &entry).unwrap_err(), why);
    }
    let mut foreign = record.clone();
    if let Content::Canary { measurement, .. } = &mut foreign.content {
        measurement.job = "fraud".to_owned();
    }
    assert_eq!(
        read(&write(&foreign), &entry_of(&record)).unwrap_err(),
        "it holds a canary of another job"
    );
}

#[test]
fn amounts_that_cannot_be_are_no_record() {
    let record = canary(0, 5);
    let unsound = "it holds an impossible amount for a canary";
    for (from, to) in [
        ("\"training_seconds\":61.5", "\"training_seconds\":-1"),
        ("\"fraction\":0.02", "\"fraction\":0"),
        ("\"fraction\":0.02", "\"fraction\":-0.02"),
        ("\"fraction\":0.02", "\"fraction\":1.5"),
        (
            "\"fraction\":0.02",
            "\"fraction\":0.02,\"work\":1,\"work_total\":0",
        ),
        (
            "\"fraction\":0.02",
            "\"fraction\":0.02,\"phases\":{\"download\":-1}",
        ),
        ("\"fraction\":0.02", "\"fraction\":0.02,\"cost\":-3"),
    ] {
        assert_eq!(complaint(&record, from, to), unsound, "{to}");
    }
    for endless in ["1e999", "NaN", "null"] {
        let to = format!("\"fraction\":{endless}");
        let why = complaint(&record, "\"fraction\":0.02", &to);
        assert!(why.starts_with("it is not a record: "), "{why}");
    }
    for key in [
        "\"code_key\":\"0000",
        "\"data_key\":\"0000",
        "\"canary_key\":\"0000",
    ] {
        for broken in ["000", "000G", "00A0", "../x"] {
            let to = key.replace("0000", broken);
            assert_eq!(
                complaint(&record, key, &to),
                "one of its keys is not 64 hex digits",
                "{to}"
            );
        }
    }
    let mut empty = forecast(0, 7);
    if let Content::Forecast(forecast) = &mut empty.content {
        forecast.forecasts.clear();
    }
    assert_eq!(
        read(&write(&empty), &entry_of(&empty)).unwrap_err(),
        "it is a forecast record without a forecast"
    );
}

#[test]
fn a_number_that_json_cannot_hold_is_left_out() {
    let mut record = forecast(0, 7);
    if let Content::Forecast(forecast) = &mut record.content {
        forecast.forecasts[0].estimates[Metric::Time] = Some(crate::forecast::Estimate {
            point: f64::INFINITY,
            lower: 1.0,
            upper: 2.0,
            level: 0.9,
        });
    }
    let read = read(&write(&record), &entry_of(&record)).unwrap();
    assert_eq!(
        read.forecast().unwrap().forecasts[0].estimates[Metric::Time],
        None
    );
}
