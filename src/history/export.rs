//! Records as tables for other programs, and as a page.

use std::collections::HashSet;

use jiff::Timestamp;

use super::record::{ForecastRecord, Record, canary_identity};
use super::tally::Tally;
use super::{Damaged, Entry, RecordKind};
use crate::measurement::Measurement;
use crate::measurement::table::{to_json_line, write_seed_csv};
use crate::metric::Metric;
use crate::report::csv::{number, word, written};
use crate::report::escape::{NAME_LIMIT, for_spreadsheet};
use crate::report::history_figures::HistoryFigures;
use crate::report::html::history_page;
use crate::report::{InstanceForecast, badge};

/// A line of the table of forecasts.
struct Line<'a> {
    entry: &'a Entry,
    record: &'a Record,
    forecast: &'a ForecastRecord,
    row: &'a InstanceForecast,
}

/// The name of a column, and what a line has in it.
type ExportColumn = (&'static str, fn(&Line<'_>) -> String);

/// The columns of the table of forecasts. Times are in seconds; `price_usd_per_hour` is for one machine.
const COLUMNS: [ExportColumn; 34] = [
    ("recorded_at", |line| line.entry.recorded_at.to_string()),
    ("id", |line| line.entry.id.clone()),
    ("scope", |line| line.entry.scope.to_string()),
    ("job", |line| text(&line.entry.job)),
    ("command", |line| word(&line.record.writer.command)),
    ("event", |line| word(&line.record.writer.event)),
    ("branch", |line| optional(&line.record.writer.branch)),
    ("pull_request", |line| {
        optional(&line.record.writer.pull_request)
    }),
    ("commit", |line| optional(&line.record.commit)),
    ("code_key", |line| optional(&line.record.code_key)),
    ("data_key", |line| optional(&line.record.data_key)),
    ("verdict", |line| word(&line.forecast.verdict)),
    ("is_baseline", |line| line.forecast.is_baseline.to_string()),
    ("drifted", |line| optional(&line.forecast.drifted)),
    ("instance", |line| text(&line.row.instance.to_string())),
    ("instance_verdict", |line| word(&line.row.verdict)),
    ("not_measured", |line| optional(&line.row.not_measured)),
    ("price_usd_per_hour", |line| {
        let price = line.row.price.as_ref();
        number(price.map(|price| price.usd_per_hour.0))
    }),
    ("interval_level", |line| {
        let metrics = [Metric::Time, Metric::Memory, Metric::CpuUtilization];
        let mut estimates = metrics.iter().filter_map(|of| line.row.estimates[*of]);
        number(estimates.next().map(|estimate| estimate.level))
    }),
    ("time_seconds", |line| line.point(Metric::Time)),
    ("time_seconds_lower", |line| line.lower(Metric::Time)),
    ("time_seconds_upper", |line| line.upper(Metric::Time)),
    ("cost_usd", |line| line.point(Metric::Cost)),
    ("cost_usd_lower", |line| line.lower(Metric::Cost)),
    ("cost_usd_upper", |line| line.upper(Metric::Cost)),
    ("memory_percent", |line| line.point(Metric::Memory)),
    ("memory_percent_lower", |line| line.lower(Metric::Memory)),
    ("memory_percent_upper", |line| line.upper(Metric::Memory)),
    ("cpu_percent", |line| line.point(Metric::CpuUtilization)),
    ("gpu_percent", |line| line.point(Metric::GpuUtilization)),
    ("gpu_memory_percent", |line| line.point(Metric::GpuMemory)),
    ("step_seconds", |line| line.point(Metric::StepTime)),
    ("canaries", |line| {
        line.forecast.measurements.len().to_string()
    }),
    ("run_url", |line| optional(&line.record.writer.run_url)),
];

impl Line<'_> {
    fn point(&self, metric: Metric) -> String {
        number(self.row.estimates[metric].map(|estimate| estimate.point))
    }

    fn lower(&self, metric: Metric) -> String {
        number(self.row.estimates[metric].map(|estimate| estimate.lower))
    }

    fn upper(&self, metric: Metric) -> String {
        number(self.row.estimates[metric].map(|estimate| estimate.upper))
    }
}

type RenderFigures = fn(&HistoryFigures, &[&str]) -> String;

/// An export, as far as its records were added.
#[derive(Debug)]
pub enum Export {
    /// The rows of the table, with its header.
    Forecasts(Vec<Vec<String>>),
    Canaries {
        /// Each canary once: it is in a record of its own and in those of its forecasts.
        seen: HashSet<String>,
        runs: Vec<Measurement>,
        write: fn(Vec<Measurement>) -> String,
    },
    /// One text about all jobs.
    Figures(Box<Tally>, RenderFigures),
}

impl Export {
    /// A table with a row for each configuration of each forecast.
    pub fn forecasts() -> Self {
        Self::Forecasts(vec![COLUMNS.map(|(name, _)| name.to_owned()).to_vec()])
    }

    /// Every canary once, in the table of the library that this program descends from.
    pub fn seed() -> Self {
        Self::canaries(|mut runs| {
            for run in &mut runs {
                run.job = for_spreadsheet(&run.job, NAME_LIMIT);
            }
            write_seed_csv(&runs)
        })
    }

    /// Every canary once, a line of JSON each.
    pub fn json_lines() -> Self {
        Self::canaries(|runs| runs.iter().map(to_json_line).collect())
    }

    fn canaries(write: fn(Vec<Measurement>) -> String) -> Self {
        Self::Canaries {
            seen: HashSet::new(),
            runs: Vec::new(),
            write,
        }
    }

    /// All jobs on one page.
    pub fn page() -> Self {
        Self::Figures(Box::default(), |figures, _| history_page::render(figures))
    }

    /// How jobs stand, for a badge.
    pub fn badge() -> Self {
        Self::Figures(Box::default(), badge::render)
    }

    /// Adds what the export has of one record. Records come oldest first.
    pub fn add(&mut self, entry: &Entry, record: &Record) {
        match self {
            Self::Figures(tally, ..) => tally.add(entry, record),
            Self::Forecasts(rows) => {
                let Some(forecast) = record.forecast() else {
                    return;
                };
                for row in &forecast.forecasts {
                    let line = Line {
                        entry,
                        record,
                        forecast,
                        row,
                    };
                    rows.push(COLUMNS.map(|(_, cell)| cell(&line)).to_vec());
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

    /// The text of the file, made at a time later than all records. A page says how many could not be read. `jobs` are those that a
    /// badge is of.
    pub fn finish(self, unreadable: &[Damaged], made_at: Timestamp, jobs: &[&str]) -> String {
        match self {
            Self::Figures(tally, render) => render(&tally.finish(unreadable, made_at), jobs),
            Self::Forecasts(rows) => written(rows.into_iter()),
            Self::Canaries { runs, write, .. } => write(runs),
        }
    }
}

fn text(text: &str) -> String {
    for_spreadsheet(text, NAME_LIMIT)
}

fn optional(value: &Option<impl ToString>) -> String {
    let value = value.as_ref();
    value.map_or(String::new(), |value| text(&value.to_string()))
}
