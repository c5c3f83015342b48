//! For tests: records, a folder, and what happens in them.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Content, Entry, ForecastRecord, History, Loaded, Record, Scope};
use crate::measurement::Measurement;

pub(super) const JOB: &str = "churn";

/// 2026-11-21, so many minutes after midnight.
pub(super) fn at(minutes: i64) -> Timestamp {
    let midnight: Timestamp = "2026-11-21T00:00:00Z".parse().unwrap();
    midnight + SignedDuration::from_mins(minutes)
}

/// A key of 64 hex digits.
pub(super) fn key(number: u64) -> String {
    format!("{number:016x}").repeat(4)
}

/// Of a run of the whole data, or a part.
fn measurement(fraction: f64) -> Value {
    json!({
        "schema_version": 1, "job": JOB, "instance": "ml.m5.2xlarge", "fraction": fraction, "replicate": 0,
        "outcome": {"kind": "completed"}, "training_seconds": 61.5,
    })
}

fn record(minutes: i64, code: u64, content: &Value) -> Record {
    let record = json!({
        "schema_version": 1, "tool_version": "0.1.0", "recorded_at": at(minutes), "job": JOB,
        "writer": {"event": "push", "command": "run", "branch": "main"},
        "code_key": key(code), "data_key": key(77), "content": content,
    });
    serde_json::from_value(record).unwrap()
}

pub(super) fn canary(minutes: i64, canary: u64) -> Record {
    let content =
        json!({"kind": "canary", "canary_key": key(canary), "measurement": measurement(0.02)});
    record(minutes, 1, &content)
}

/// A canary of unknown code.
pub(super) fn canary_without_key(minutes: i64) -> Record {
    with(canary(minutes, 1), |record| {
        record.code_key = None;
        *key_of(record) = None;
    })
}

pub(super) fn full_run(minutes: i64, code: u64) -> Record {
    let content = json!({"kind": "full_run", "measurement": measurement(1.0)});
    record(minutes, code, &content)
}

pub(super) fn forecast(minutes: i64, code: u64) -> Record {
    let time = json!({"point": 3600.0, "lower": 3000.0, "upper": 4000.0, "level": 0.9});
    let row = json!({"instance": "ml.m5.2xlarge", "verdict": "within", "estimates": {"time_seconds": time}});
    let runs = [measurement(0.02), measurement(0.02)];
    let content =
        json!({"kind": "forecast", "verdict": "within", "forecasts": [row], "measurements": runs});
    record(minutes, code, &content)
}

pub(super) fn baseline(minutes: i64, code: u64) -> Record {
    with(forecast(minutes, code), |record| {
        found(record).is_baseline = true;
    })
}

pub(super) fn with(mut record: Record, change: impl FnOnce(&mut Record)) -> Record {
    change(&mut record);
    record
}

/// The forecast of a record.
pub(super) fn found(record: &mut Record) -> &mut ForecastRecord {
    match &mut record.content {
        Content::Forecast(forecast) => forecast,
        _ => panic!("it is a forecast"),
    }
}

/// The first run of a record.
pub(super) fn run_of(record: &mut Record) -> &mut Measurement {
    match &mut record.content {
        Content::Canary { measurement, .. } | Content::FullRun { measurement } => measurement,
        Content::Forecast(forecast) => &mut forecast.measurements[0],
    }
}

/// The key of a canary.
pub(super) fn key_of(record: &mut Record) -> &mut Option<String> {
    match &mut record.content {
        Content::Canary { canary_key, .. } => canary_key,
        _ => panic!("it is a canary"),
    }
}

/// A history in a folder that is removed with this.
pub(super) struct Sample {
    folder: tempfile::TempDir,
    pub(super) history: History,
}

impl Sample {
    pub(super) fn new(scope: Scope) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            history: History::in_folder(folder.path().join("records"), scope),
            folder,
        }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("records")
    }

    /// The same history, to another run.
    pub(super) fn to(&self, scope: Scope) -> History {
        History::in_folder(self.root(), scope)
    }

    pub(super) async fn keep(&self, record: &Record) -> Entry {
        self.history.append(record).await.unwrap()
    }

    pub(super) fn file(&self, entry: &Entry) -> PathBuf {
        self.root().join(entry.path())
    }

    /// Names and reasons of all that is passed over, and all records, on the day after.
    pub(super) async fn all(&self) -> (Loaded, Vec<String>) {
        let listing = self.history.list_at(None, at(24 * 60)).await.unwrap();
        let loaded = self.history.load(&listing.entries).await.unwrap();
        let damaged = listing.damaged.iter().chain(&loaded.damaged);
        let damaged = damaged.map(|damaged| {
            let name = Path::new(&damaged.place).file_name().unwrap();
            format!("{}: {}", name.to_str().unwrap(), damaged.why)
        });
        let damaged = damaged.collect();
        (loaded, damaged)
    }
}
