//! Records to bytes and back. A file may be cut short, from another program, or forged.

use serde_json::Value;

use super::entry::{Entry, is_hex};
use super::record::{Content, Record, SCHEMA_VERSION};
use crate::measurement::table::plain_words;
use crate::measurement::{self, Measurement};
use crate::report;
use crate::units::Usd;

const KEY_DIGITS: usize = 64;
/// The start of the complaint about a sound record of a newer version.
pub(super) const OF_NEWER: &str = "it was written by a newer canary-gate";
const IMPOSSIBLE: &str = "it holds an impossible amount for a canary";
/// In characters; an unknown word in a record may be as long as the record.
const LONGEST_COMPLAINT: usize = 200;

/// The record on one line. A number that JSON cannot hold is left out, as in a report.
pub(super) fn write(record: &Record) -> Vec<u8> {
    let mut value =
        serde_json::to_value(record).expect("a record holds only text, numbers and lists of them");
    report::omit_nulls(&mut value);
    format!("{value}\n").into_bytes()
}

/// The record of an entry, or what is wrong with it; the complaint may hold hostile text.
pub(super) fn read(content: &[u8], entry: &Entry) -> Result<Record, String> {
    if content.len() > super::LARGEST_RECORD {
        return Err(too_large());
    }
    let record: Record = serde_json::from_slice(content).map_err(|error| {
        // A newer format may differ in any other field.
        let version = serde_json::from_slice::<Value>(content).ok();
        let version = version.and_then(|value| value["schema_version"].as_u64());
        (version.and_then(newer)).unwrap_or_else(|| malformed(content, &error))
    })?;
    let newer = newer(u64::from(record.schema_version));
    match newer.or_else(|| contradiction(&record, entry)) {
        Some(why) => Err(why),
        None => Ok(record),
    }
}

pub(super) fn too_large() -> String {
    format!("it is larger than {} MiB", super::LARGEST_RECORD >> 20)
}

fn malformed(content: &[u8], error: &serde_json::Error) -> String {
    if content.is_empty() {
        "it is empty".to_owned()
    } else if error.is_eof() {
        "it is cut short".to_owned()
    } else {
        let words = plain_words(error);
        let start = format!("{words:.LONGEST_COMPLAINT$}");
        let dots = if start == words { "" } else { "…" };
        format!("it is not a record: {start}{dots}")
    }
}

fn newer(version: u64) -> Option<String> {
    (version > u64::from(SCHEMA_VERSION)).then(|| {
        format!("{OF_NEWER} (schema {version}); this one reads up to {SCHEMA_VERSION}: update it")
    })
}

/// What in a record is impossible or contradicts its name.
fn contradiction(record: &Record, entry: &Entry) -> Option<String> {
    let is_key = |key: &&str| is_hex(key, KEY_DIGITS);
    let (code, data) = (record.code_key.as_deref(), record.data_key.as_deref());
    let keys = [record.key(), code, data];
    let named = Entry {
        recorded_at: entry.recorded_at,
        ..Entry::of(record, entry.scope, entry.id.clone())
    };
    if !keys.iter().flatten().all(is_key) {
        return Some(format!("one of its keys is not {KEY_DIGITS} hex digits"));
    }
    if named != *entry {
        return Some("its job, kind or key is another than its path says".to_owned());
    }
    if matches!(&record.content, Content::Forecast(forecast) if forecast.forecasts.is_empty()) {
        return Some("it is a forecast record without a forecast".to_owned());
    }
    let is_amount = |most: Usd| most.0.is_finite() && most.0 >= 0.0;
    if !record.at_most().is_none_or(is_amount) {
        return Some(IMPOSSIBLE.to_owned());
    }
    let mut measurements = record.measurements().iter();
    measurements.find_map(|measurement| problem(measurement, &record.job))
}

fn problem(run: &Measurement, job: &str) -> Option<String> {
    if run.schema_version > measurement::SCHEMA_VERSION {
        return newer(u64::from(run.schema_version));
    }
    if run.job != job {
        return Some("it holds a canary of another job".to_owned());
    }
    (!is_sound(run)).then(|| IMPOSSIBLE.to_owned())
}

/// Whether a canary run is possible: positive shares, times of at least 0, no NaN.
fn is_sound(run: &Measurement) -> bool {
    let phases = &run.phases;
    let phases = [
        phases.startup,
        phases.download,
        phases.training,
        phases.upload,
    ];
    let is_amount = |amount: f64| amount.is_finite() && amount >= 0.0;
    let is_work = |work: f64| work.is_finite() && work > 0.0;
    run.has_sound_amounts()
        && (run.fraction.0 > 0.0 && run.fraction.0 <= 1.0)
        && (run.work.into_iter().chain(run.work_total)).all(is_work)
        && phases.into_iter().flatten().all(|time| is_amount(time.0))
        && (run.reused.iter()).all(|reused| is_amount(reused.age_days))
}

#[cfg(test)]
mod tests;
