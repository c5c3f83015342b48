use super::*;
use crate::history::Scope;
use crate::history::samples::{
    Sample, canary, canary_without_key, forecast, found, full_run, run_of, with,
};
use crate::metric::Metric;

const NEWER: &str =
    "it was written by a newer canary-gate (schema 2); this one reads up to 1: update it";
const NO_RECORD: &str = "it is not a record: ";
const NO_KEY: &str = "one of its keys is not 64 hex digits";

fn entry_of(record: &Record) -> Entry {
    Entry::of(record, Scope::Main, "a".repeat(16))
}

fn text_of(record: &Record) -> String {
    String::from_utf8(write(record)).unwrap()
}

#[test]
fn a_record_is_read_as_it_was_written() {
    for record in [
        canary(0, 5),
        canary_without_key(0),
        full_run(0, 7),
        forecast(0, 7),
    ] {
        let text = text_of(&record);
        assert_eq!(
            read(text.as_bytes(), &entry_of(&record)),
            Ok(record.clone())
        );
        assert_eq!(text.lines().count(), 1);
        // As before runs were named.
        assert!(!text.contains("\"run\":"), "{text}");
        // Fields that are not known are passed over.
        let more = text
            .replacen('{', "{\"new\":{\"a\":[1]},", 1)
            .replace("\"job\":\"churn\"", "\"job\":\"churn\",\"colour\":\"red\"")
            .replace("\"content\":{", "\"content\":{\"mood\":null,");
        assert_eq!(read(more.as_bytes(), &entry_of(&record)), Ok(record));
    }
}

#[test]
fn a_record_that_is_cut_short_anywhere_says_so() {
    let record = canary(0, 5);
    let text = write(&record);
    let line = text.len() - 1;
    for end in 1..line {
        let why = read(&text[..end], &entry_of(&record)).unwrap_err();
        assert_eq!(why, "it is cut short", "after {end} bytes");
    }
    assert_eq!(read(&text[..line], &entry_of(&record)), Ok(record));
}

#[test]
fn what_is_no_record_says_why() {
    let entry = entry_of(&canary(0, 5));
    let other_form = br#"{"schema_version":2,"about":"something else"}"#;
    for (content, why) in [
        (&b"hello"[..], NO_RECORD),
        (b"[]", NO_RECORD),
        (b"{}", "it is not a record: missing field `schema_version`"),
        (&[b'[', 0xff, 0xfe], NO_RECORD),
        ("[".repeat(100_000).as_bytes(), NO_RECORD),
        (other_form, NEWER),
    ] {
        let said = read(content, &entry).unwrap_err();
        assert!(said.starts_with(why), "{said}");
    }
}

/// What of a record somebody changed, into what, and the complaint's beginning.
const CHANGED: &str = r#"
"event":"push" | "event":"endless" | it is not a record: unknown variant `xxx
"schema_version":1,"tool | "schema_version":2,"tool | NEWER
"schema_version":1,"job | "schema_version":2,"job | NEWER
"training_seconds":61.5 | "training_seconds":-1 | IMPOSSIBLE
"fraction":0.02 | "fraction":0 | IMPOSSIBLE
"fraction":0.02 | "fraction":-0.02 | IMPOSSIBLE
"fraction":0.02 | "fraction":1.5 | IMPOSSIBLE
"fraction":0.02 | "fraction":0.02,"work":1,"work_total":0 | IMPOSSIBLE
"fraction":0.02 | "fraction":0.02,"phases":{"download":-1} | IMPOSSIBLE
"fraction":0.02 | "fraction":0.02,"cost":-3 | IMPOSSIBLE
"fraction":0.02 | "fraction":1e999 | NO_RECORD
"fraction":0.02 | "fraction":NaN | NO_RECORD
"fraction":0.02 | "fraction":null | NO_RECORD
"code_key":"0000 | "code_key":"000 | NO_KEY
"data_key":"0000 | "data_key":"000G | NO_KEY
"canary_key":"0000 | "canary_key":"00A0 | NO_KEY
"code_key":"0000 | "code_key":"../x | NO_KEY"#;

#[test]
fn what_a_record_cannot_say_is_refused() {
    for row in CHANGED.trim_start().lines() {
        let [from, to, why] = row.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let to = to.replace("endless", &"x".repeat(1_000_000));
        let why = match why {
            "NEWER" => NEWER,
            "IMPOSSIBLE" => IMPOSSIBLE,
            "NO_RECORD" => NO_RECORD,
            "NO_KEY" => NO_KEY,
            why => why,
        };
        let record = canary(0, 5);
        let changed = text_of(&record).replace(from, &to);
        assert_ne!(changed, text_of(&record), "{from} does not stand in it");
        let said = read(changed.as_bytes(), &entry_of(&record)).unwrap_err();
        assert!(
            said.starts_with(why) && said.len() < 300,
            "{to:.80}: {said}"
        );
    }
}

#[test]
fn a_record_that_contradicts_its_name_or_itself_is_none() {
    let record = canary(0, 5);
    let entry = || entry_of(&record);
    let foreign = with(canary(0, 5), |record| {
        run_of(record).job = "fraud".to_owned();
    });
    let empty = with(forecast(0, 7), |record| found(record).forecasts.clear());
    let [mut other_job, mut other_kind, mut other_key] = [entry(), entry(), entry()];
    other_job.job = "fraud".to_owned();
    other_kind.kind = crate::history::RecordKind::Forecast;
    other_key.key = "0123456789abcdef".to_owned();
    let other_name = "its job, kind or key is another than its path says";
    for (record, entry, why) in [
        (&record, other_job, other_name),
        (&record, other_kind, other_name),
        (&record, other_key, other_name),
        (&foreign, entry(), "it holds a canary of another job"),
        (
            &empty,
            entry_of(&empty),
            "it is a forecast record without a forecast",
        ),
    ] {
        assert_eq!(read(&write(record), &entry).unwrap_err(), why);
    }
}

#[test]
fn a_number_that_json_cannot_hold_is_left_out() {
    let mut record = forecast(0, 7);
    let estimate =
        |record: &Record| record.forecast().unwrap().forecasts[0].estimates[Metric::Time];
    let estimates = &mut found(&mut record).forecasts[0].estimates;
    estimates[Metric::Time].as_mut().unwrap().point = f64::INFINITY;
    let read = read(&write(&record), &entry_of(&record)).unwrap();
    assert_eq!(estimate(&read), None);
}

#[tokio::test]
async fn what_could_not_be_read_again_is_not_kept() {
    let sample = Sample::new(Scope::Main);
    let record = with(forecast(0, 7), |record| {
        record.code_key = Some("3f9c".to_owned());
    });
    let error = sample.history.append(&record).await.unwrap_err();
    let what = format!("a record of the job `churn` cannot be kept: {NO_KEY}");
    assert_eq!(error.what, what);
    assert!(!sample.root().exists());
}
