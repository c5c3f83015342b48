//! Records as tables for other programs, and as a page.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::record::{Record, canary_identity};
use super::tally::Tally;
use super::{Damaged, Entry, RecordKind};
use crate::measurement::Measurement;
use crate::measurement::table::{to_json_line, write_seed_csv};
use crate::report::badge;
use crate::report::csv::{number, written};
use crate::report::escape::{NAME_LIMIT, for_spreadsheet};
use crate::report::history_figures::HistoryFigures;
use crate::report::html::history_page;

/// The columns of the table of forecasts: the name, and where a line has it; of several places the first that is there counts. Times
/// are in seconds; `price_usd_per_hour` is for one machine.
const COLUMNS: &str = include_str!("export/columns.txt");

fn columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLUMNS.lines().filter_map(|line| line.split_once(' '))
}

/// What a line has in a column.
fn cell(line: &Value, places: &str) -> String {
    match places.split(' ').find_map(|place| line.pointer(place)) {
        None | Some(Value::Null) => String::new(),
        Some(Value::Number(amount)) => number(amount.as_f64()),
        Some(Value::String(text)) => for_spreadsheet(text, NAME_LIMIT),
        Some(other) => other.to_string(),
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
        Self::Forecasts(vec![columns().map(|(name, _)| name.to_owned()).collect()])
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
                let mut line = json!({
                    "id": entry.id, "scope": entry.scope.to_string(), "recorded_at": entry.recorded_at,
                    "record": record, "canaries": forecast.measurements.len(),
                });
                for row in &forecast.forecasts {
                    line["row"] = json!(row);
                    rows.push(columns().map(|(_, places)| cell(&line, places)).collect());
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
