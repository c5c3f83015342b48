//! Records as tables for other programs, and as a page.

use std::collections::HashSet;

use jiff::Timestamp;

use super::record::{ForecastRecord, Record, canary_identity};
use super::tally::Tally;
use super::{Damaged, Entry, RecordKind};
use crate::forecast::Estimate;
use crate::measurement::Measurement;
use crate::measurement::table::{to_json_line, write_seed_csv};
use crate::metric::Metric;
use crate::report::InstanceForecast;
use crate::report::escape::{NAME_LIMIT, for_json, for_spreadsheet};
use crate::report::html::history_page;

/// The columns of the table of forecasts. Times are in seconds; `price_usd_per_hour` is for one machine.
const HEADER: [&str; 34] = [
    "recorded_at",
    "id",
    "scope",
    "job",
    "command",
    "event",
    "branch",
    "pull_request",
    "commit",
    "code_key",
    "data_key",
    "verdict",
    "is_baseline",
    "drifted",
    "instance",
    "instance_verdict",
    "not_measured",
    "price_usd_per_hour",
    "interval_level",
    "time_seconds",
    "time_seconds_lower",
    "time_seconds_upper",
    "cost_usd",
    "cost_usd_lower",
    "cost_usd_upper",
    "memory_percent",
    "memory_percent_lower",
    "memory_percent_upper",
    "cpu_percent",
    "gpu_percent",
    "gpu_memory_percent",
    "step_seconds",
    "canaries",
    "run_url",
];

/// An export, as far as its records were added.
#[derive(Debug)]
pub enum Export {
    Forecasts(Box<csv::Writer<Vec<u8>>>),
    Canaries {
        format: CanaryFormat,
        /// Each canary once: it is in a record of its own and in those of its forecasts.
        seen: HashSet<String>,
        runs: Vec<Measurement>,
    },
    Page(Box<Tally>),
}

/// How canaries are written.
#[derive(Debug, Clone, Copy)]
pub enum CanaryFormat {
    /// The table of the library that this program descends from.
    Seed,
    JsonLines,
}

const IN_MEMORY: &str = "rows are equally long, and memory takes every byte";

impl Export {
    /// A table with a row for each configuration of each forecast.
    pub fn forecasts() -> Self {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(HEADER).expect(IN_MEMORY);
        Self::Forecasts(Box::new(writer))
    }

    /// Every canary once.
    pub fn canaries(format: CanaryFormat) -> Self {
        Self::Canaries {
            format,
            seen: HashSet::new(),
            runs: Vec::new(),
        }
    }

    /// All jobs on one page.
    pub fn page() -> Self {
        Self::Page(Box::default())
    }

    /// Adds what the export has of one record. Records come oldest first.
    pub fn add(&mut self, entry: &Entry, record: &Record) {
        match self {
            Self::Page(tally) => tally.add(entry, record),
            Self::Forecasts(writer) => {
                let forecast = record.forecast();
                for instance in forecast.iter().flat_map(|forecast| &forecast.forecasts) {
                    let forecast = forecast.expect("it has this instance");
                    let row = row(entry, record, forecast, instance);
                    writer.write_record(row).expect(IN_MEMORY);
                }
            }
            // No forecast is made from a full run.
            Self::Canaries { .. } if entry.kind == RecordKind::FullRun => {}
            Self::Canaries { seen, runs, .. } => {
                for run in record.measurements() {
                    if seen.insert(canary_identity(run)) {
                        runs.push(run.clone());
                    }
                }
            }
        }
    }

    /// The text of the file, made at a time later than all records. A page says how many could not be read.
    pub fn finish(self, unreadable: &[Damaged], made_at: Timestamp) -> String {
        match self {
            Self::Page(tally) => history_page::render(&tally.finish(unreadable, made_at)),
            Self::Forecasts(writer) => {
                let bytes = writer.into_inner().expect(IN_MEMORY);
                String::from_utf8(bytes).expect("only text was written")
            }
            Self::Canaries {
                format: CanaryFormat::JsonLines,
                runs,
                ..
            } => runs
                .iter()
                .map(|run| for_json(&to_json_line(run)))
                .collect(),
            Self::Canaries {
                format: CanaryFormat::Seed,
                mut runs,
                ..
            } => {
                for run in &mut runs {
                    run.job = for_spreadsheet(&run.job, NAME_LIMIT);
                }
                write_seed_csv(&runs)
            }
        }
    }
}

fn row(
    entry: &Entry,
    record: &Record,
    forecast: &ForecastRecord,
    instance: &InstanceForecast,
) -> [String; HEADER.len()] {
    let text = |text: &str| for_spreadsheet(text, NAME_LIMIT);
    let optional = |value: Option<&String>| value.map_or(String::new(), |value| text(value));
    let estimates = &instance.estimates;
    let [time, cost, memory] = [
        estimates[Metric::Time],
        estimates[Metric::Cost],
        estimates[Metric::Memory],
    ];
    let ends = |estimate: Option<Estimate>| {
        [
            number(estimate.map(|estimate| estimate.point)),
            number(estimate.map(|estimate| estimate.lower)),
            number(estimate.map(|estimate| estimate.upper)),
        ]
    };
    let point = |estimate: Option<Estimate>| number(estimate.map(|estimate| estimate.point));
    let [time_point, time_lower, time_upper] = ends(time);
    let [cost_point, cost_lower, cost_upper] = ends(cost);
    let [memory_point, memory_lower, memory_upper] = ends(memory);
    let level = [time, memory, estimates[Metric::CpuUtilization]]
        .into_iter()
        .flatten()
        .next();
    let writer = &record.writer;
    [
        entry.recorded_at.to_string(),
        entry.id.clone(),
        entry.scope.to_string(),
        text(&entry.job),
        word(&writer.command),
        word(&writer.event),
        optional(writer.branch.as_ref()),
        writer
            .pull_request
            .map_or(String::new(), |number| number.to_string()),
        optional(record.commit.as_ref()),
        optional(record.code_key.as_ref()),
        optional(record.data_key.as_ref()),
        word(&forecast.verdict),
        forecast.is_baseline.to_string(),
        forecast
            .drifted
            .map_or(String::new(), |drifted| drifted.to_string()),
        text(&instance.instance.to_string()),
        word(&instance.verdict),
        optional(instance.not_measured.as_ref()),
        number(instance.price.as_ref().map(|price| price.usd_per_hour.0)),
        number(level.map(|estimate| estimate.level)),
        time_point,
        time_lower,
        time_upper,
        cost_point,
        cost_lower,
        cost_upper,
        memory_point,
        memory_lower,
        memory_upper,
        point(estimates[Metric::CpuUtilization]),
        point(estimates[Metric::GpuUtilization]),
        point(estimates[Metric::GpuMemory]),
        point(estimates[Metric::StepTime]),
        forecast.measurements.len().to_string(),
        optional(writer.run_url.as_ref()),
    ]
}

/// As JSON has it.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("it is a word");
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map_or(String::new(), |value| value.to_string())
}
