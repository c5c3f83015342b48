//! [`Record`]: one canary, one full run or one forecast, as immutable, versioned JSON.

use derive_more::{Display, FromStr};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::measurement::{Measurement, Outcome};
use crate::metric::Metric;
use crate::report::InstanceForecast;
use crate::spec::TrainingSettings;
use crate::units::Usd;
use crate::verdict::Verdict;

/// The version that this program writes. A reader skips a newer one and reports it.
pub const SCHEMA_VERSION: u32 = 1;

/// One canary, one full run, or one forecast of a job.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub schema_version: u32,
    pub tool_version: String,
    /// By the writer's clock.
    pub recorded_at: Timestamp,
    pub job: String,
    /// The spec's file, from the checkout's root: specs of one checkout may share a history. Absent in older records.
    pub spec: Option<String>,
    pub writer: Writer,
    /// The checked-out commit, in full; absent without git.
    pub commit: Option<String>,
    /// Of the code and of the data, 64 hex digits; absent if unknown.
    pub code_key: Option<String>,
    pub data_key: Option<String>,
    /// The machine of the gate, if the canaries ran on it.
    pub machine: Option<String>,
    pub content: Content,
}

/// What the record is about.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Content {
    /// A canary run, written when it ended.
    Canary {
        /// 64 hex digits; absent if the code or the data are unknown. Such a canary is never reused.
        canary_key: Option<String>,
        measurement: Box<Measurement>,
        /// Whether the training job is another run's, which has it in its account.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_adopted: bool,
        /// The most that its training job cost, where the measurement says nothing of it: of one whose bill is unknown its worst
        /// case, of another run's its bill. Absent in older records.
        at_most: Option<Usd>,
    },
    /// A full run, which is compared with a forecast. No forecast uses it.
    FullRun { measurement: Box<Measurement> },
    /// What one run of the gate found about a job.
    Forecast(Box<ForecastRecord>),
}

/// A job's forecast and the canaries behind it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastRecord {
    pub verdict: Verdict,
    /// `forecasts[0]` is the job's `instance`.
    pub forecasts: Vec<InstanceForecast>,
    pub measurements: Vec<Measurement>,
    /// Whether later checks for drift start from here: a push measured it, or a person accepted it.
    #[serde(default)]
    pub is_baseline: bool,
    /// The settings of the job; absent in records of older versions.
    pub settings: Option<TrainingSettings>,
    /// The result of a check for drift; absent without a check.
    pub drifted: Option<bool>,
}

impl ForecastRecord {
    fn has_time(&self) -> bool {
        let row = self.forecasts.first();
        row.is_some_and(|row| row.estimates[Metric::Time].is_some())
    }

    /// Whether a change can be compared with it: it has the time of a full run on the job's instance, or an out-of-memory
    /// failure.
    pub fn is_comparable(&self) -> bool {
        let runs_out = |run: &Measurement| matches!(run.outcome, Outcome::OutOfMemory { .. });
        self.has_time() || self.measurements.iter().any(runs_out)
    }

    /// Whether later checks can be compared with it: it was completed and has a time.
    pub fn is_whole(&self) -> bool {
        !matches!(self.verdict, Verdict::Failed | Verdict::Unknown) && self.has_time()
    }
}

/// Who wrote a record.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Writer {
    pub event: Event,
    pub command: Command,
    /// The branch of the run; absent if unknown.
    pub branch: Option<String>,
    pub pull_request: Option<u64>,
    pub run_url: Option<String>,
    /// The id of the run of the gate, also that of its measurements and training jobs; absent in old records, and if a person
    /// accepted a check.
    pub run: Option<String>,
}

/// What started the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Push,
    Schedule,
    PullRequest,
    MergeGroup,
    Dispatch,
    Local,
}

/// Which command wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    Run,
    Drift,
    Actuals,
}

impl Record {
    pub(super) fn kind(&self) -> RecordKind {
        match self.content {
            Content::Canary { .. } => RecordKind::Canary,
            Content::FullRun { .. } => RecordKind::FullRun,
            Content::Forecast(_) => RecordKind::Forecast,
        }
    }

    /// The key in its name: the canary key of a canary, else the code key; `None` if unknown.
    pub(super) fn key(&self) -> Option<&str> {
        match &self.content {
            Content::Canary { canary_key, .. } => canary_key.as_deref(),
            Content::FullRun { .. } | Content::Forecast(_) => self.code_key.as_deref(),
        }
    }

    /// Every run in it.
    pub fn measurements(&self) -> &[Measurement] {
        match &self.content {
            Content::Canary { measurement, .. } | Content::FullRun { measurement } => {
                std::slice::from_ref(measurement)
            }
            Content::Forecast(forecast) => &forecast.measurements,
        }
    }

    /// The most that a canary cost whose measurement says nothing of it.
    pub(super) fn at_most(&self) -> Option<Usd> {
        match &self.content {
            Content::Canary { at_most, .. } => *at_most,
            Content::FullRun { .. } | Content::Forecast(_) => None,
        }
    }

    /// The forecast; `None` for the record of a run.
    pub fn forecast(&self) -> Option<&ForecastRecord> {
        match &self.content {
            Content::Forecast(forecast) => Some(forecast),
            Content::Canary { .. } | Content::FullRun { .. } => None,
        }
    }
}

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, FromStr)]
#[display(rename_all = "lowercase")]
#[from_str(rename_all = "lowercase")]
pub enum RecordKind {
    Canary,
    FullRun,
    Forecast,
}

/// What identifies a canary run: it is in a record of its own and in those of its forecasts, at whichever price.
pub(super) fn canary_identity(run: &Measurement) -> String {
    let parts = (
        &run.job,
        run.instance.to_string(),
        (run.fraction.0.to_bits(), run.work.map(f64::to_bits)),
        (run.replicate, run.attempt),
        (&run.ended_at, &run.training_job, &run.outcome),
        run.training_seconds.map(|time| time.0.to_bits()),
    );
    format!("{parts:?}")
}
