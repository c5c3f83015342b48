//! For tests: records, a folder, and what happens in them.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::record::{Command, Content, Event, ForecastRecord, Record, SCHEMA_VERSION, Writer};
use super::{Entry, History, Loaded, Scope};
use crate::measurement::{Measurement, Outcome};
use crate::units::{Fraction, Seconds};
use crate::verdict::Verdict;

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

pub(super) fn measurement(job: &str) -> Measurement {
    Measurement {
        training_seconds: Some(Seconds(61.5)),
        ..Measurement::without_figures(
            job.to_owned(),
            "ml.m5.2xlarge".parse().unwrap(),
            Fraction(0.02),
            Outcome::Completed,
        )
    }
}

fn record(minutes: i64, code: u64, content: Content) -> Record {
    Record {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".to_owned(),
        recorded_at: at(minutes),
        job: JOB.to_owned(),
        writer: Writer {
            event: Event::Push,
            command: Command::Run,
            branch: Some("main".to_owned()),
            pull_request: None,
            run_url: None,
            run: None,
        },
        commit: None,
        code_key: Some(key(code)),
        data_key: Some(key(77)),
        machine: None,
        content,
    }
}

pub(super) fn canary(minutes: i64, canary: u64) -> Record {
    let content = Content::Canary {
        canary_key: Some(key(canary)),
        measurement: Box::new(measurement(JOB)),
        is_adopted: false,
        at_most: None,
    };
    record(minutes, 1, content)
}

/// A canary of unknown code.
pub(super) fn canary_without_key(minutes: i64) -> Record {
    with(canary(minutes, 1), |record| {
        record.code_key = None;
        *key_of(record) = None;
    })
}

pub(super) fn full_run(minutes: i64, code: u64) -> Record {
    let measurement = Box::new(Measurement {
        fraction: Fraction(1.0),
        ..measurement(JOB)
    });
    record(minutes, code, Content::FullRun { measurement })
}

pub(super) fn forecast(minutes: i64, code: u64) -> Record {
    let instance = serde_json::json!({
        "instance": "ml.m5.2xlarge",
        "verdict": "within",
        "estimates": {"time_seconds": {"point": 3600.0, "lower": 3000.0, "upper": 4000.0, "level": 0.9}},
    });
    let forecast = ForecastRecord {
        verdict: Verdict::Within,
        forecasts: vec![serde_json::from_value(instance).unwrap()],
        measurements: vec![measurement(JOB), measurement(JOB)],
        is_baseline: false,
        settings: None,
        drifted: None,
    };
    record(minutes, code, Content::Forecast(Box::new(forecast)))
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
