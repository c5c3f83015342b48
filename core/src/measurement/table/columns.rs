//! The table of the seed library (aws-samples' canary training), as it is read: what each column says of a run; all problems are
//! collected.
//!
//! It has one row for each SageMaker training job. Its numbers differ from ours: `PercentageDataTrainedOn` is a fraction of the number
//! of objects, such as `0.01`, not a percentage. Every metric is the 99th percentile of the profiler's samples. A metric that was not
//! sampled is -1; the library then divides CPU and GPU figures by the number of cores or GPUs, so a missing one may be -1/8.

use std::collections::HashMap;

use csv::StringRecord;

use super::{
    MOST_ROWS, MeasurementTable, TableError, TableProblem, job_names, quoted, sound, without_mark,
};
use crate::grammar::at_most;
use crate::measurement::{Measurement, Outcome, PeakMemory, SCHEMA_VERSION, Utilization};
use crate::units::{Fraction, Percent, Seconds};

const STATUS: &str = "TrainingJobStatus";
const TIME: &str = "TrainingTimeInSeconds";
const INSTANCE: &str = "InstanceType";
const SHARE: &str = "PercentageDataTrainedOn";

/// The columns by which the table is recognized.
pub(super) const NEEDED: [&str; 4] = [STATUS, TIME, INSTANCE, SHARE];

/// All columns: those of the library, in the order in which it writes them, and ours for runs with a work level, the
/// level of the run and of the full run. Without them a run with less work would look like a fast one. The last has the name that the
/// library's documentation uses.
pub(super) const COLUMNS: [&str; 14] = [
    STATUS,
    TIME,
    INSTANCE,
    "ManifestLocation",
    "job_name",
    SHARE,
    "CPUUtilization",
    "I/OWaitPercentage",
    "MemoryUsedPercent",
    "GPUUtilization",
    "GPUMemoryUtilization",
    "WorkLevel",
    "FullWorkLevel",
    "OWaitPercentage",
];

const PERCENTILE_SOURCE: &str = "canary-training table, 99th percentile";
/// A missing number.
pub(super) const MISSING: f64 = -1.0;

/// What a row says of a run.
#[derive(Default)]
struct Row {
    line: u64,
    run: Measurement,
    /// That of its training job, where it has a job of its own.
    name: Option<String>,
    /// The status of a job that has no outcome yet.
    unfinished: Option<String>,
}

/// Takes a cell over, or says what is expected there.
fn take(row: &mut Row, column: &str, cell: &str) -> Result<(), &'static str> {
    let run = &mut row.run;
    match column {
        STATUS => {
            run.outcome = match cell {
                "Completed" => Outcome::Completed,
                "Failed" => Outcome::Failed {
                    exit_code: None,
                    last_line: None,
                },
                "Stopped" => Outcome::Stopped,
                "InProgress" | "Stopping" => {
                    row.unfinished = Some(cell.to_owned());
                    Outcome::Stopped
                }
                _ => return Err("Completed, Failed, Stopped, Stopping or InProgress"),
            };
        }
        TIME => {
            run.training_seconds = or_missing(cell, seconds)
                .ok_or("a number of seconds, at most a hundred years, or -1 where it is missing")?;
        }
        INSTANCE => {
            let instance = cell.parse().ok();
            run.instance =
                instance.ok_or("an instance such as ml.m5.2xlarge or 6x ml.m5.4xlarge")?;
        }
        "job_name" => row.name = Some(cell.to_owned()),
        SHARE => {
            run.fraction = fraction(cell)
                .ok_or("a share of the data above 0 and at most 1, such as 0.03 or 3%")?;
        }
        "MemoryUsedPercent" => {
            run.usage.memory = percent(cell)?.map(|percent| PeakMemory {
                percent: Some(percent),
                source: PERCENTILE_SOURCE.to_owned(),
                ..PeakMemory::default()
            });
        }
        "CPUUtilization" => run.usage.cpu_percent = level(cell_of_share(cell))?,
        "GPUUtilization" => run.usage.gpu_percent = level(cell_of_share(cell))?,
        "GPUMemoryUtilization" => run.usage.gpu_memory_percent = level(cell)?,
        "I/OWaitPercentage" | "OWaitPercentage" => run.usage.io_wait_percent = level(cell)?,
        "WorkLevel" => run.work = work(cell)?,
        "FullWorkLevel" => run.work_total = work(cell)?,
        _ => {}
    }
    Ok(())
}

/// Reads a table, which is recognized by its columns. Other columns are ignored.
pub fn read_csv(text: &str) -> Result<MeasurementTable, TableError> {
    let (header, records) = split(text)?;
    let has = |column: &&str| header.0.iter().any(|name| name == column);
    if !NEEDED.iter().all(has) {
        let found = header.shown();
        return Err(TableError::UnknownColumns { found });
    }
    if records.is_empty() {
        return Err(TableError::NoRows);
    }
    let twice = COLUMNS.iter().filter(|column| header.count(column) > 1);
    let what = "this column appears twice; remove one";
    let twice = twice.map(|column| TableProblem::of(1, Some(column), what));
    let mut problems: Vec<TableProblem> = twice.collect();
    let rows = records
        .iter()
        .map(|record| header.read(record, &mut problems))
        .collect();
    of_jobs(rows).unless(problems)
}

/// The jobs that have an outcome, each under the name of what it trained.
fn of_jobs(rows: Vec<Row>) -> MeasurementTable {
    let mut notes = vec![format!(
        "the table has no number of bytes read; the share of the objects ({SHARE}) replaces it as the size of the data"
    )];
    let (mut ended, open): (Vec<_>, Vec<_>) =
        (rows.into_iter()).partition(|row| row.unfinished.is_none());
    let names: Vec<Option<&str>> = ended.iter().map(|row| row.name.as_deref()).collect();
    let (jobs, about_jobs) = job_names::jobs_of(&names);
    for (row, job) in ended.iter_mut().zip(jobs) {
        row.run.job = job;
    }
    if ended.iter().any(|row| !row.run.usage.is_empty()) {
        notes.push(
            "memory, CPU, GPU and I/O wait are 99th percentiles, as the table has no means"
                .to_owned(),
        );
    }
    notes.extend(open.iter().map(|row| {
        format!(
            "line {}: this job is {}; it has no outcome yet and is left out",
            row.line,
            quoted(row.unfinished.as_deref().unwrap_or_default())
        )
    }));
    MeasurementTable {
        measurements: numbered(ended.into_iter().map(|row| row.run)),
        notes,
        about_jobs,
    }
}

/// Those of the same kind are numbered from 0, in their order.
fn numbered(runs: impl Iterator<Item = Measurement>) -> Vec<Measurement> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let number = |mut run: Measurement| {
        let (share, work) = (run.fraction.0, run.work);
        let kind = format!("{}\n{}\n{share}\n{work:?}", run.job, run.instance);
        let next = seen.entry(kind).or_default();
        run.replicate = *next;
        *next += 1;
        run
    };
    runs.map(number).collect()
}

/// The names of the columns.
struct Header(Vec<String>);

impl Header {
    fn count(&self, column: &str) -> usize {
        self.0.iter().filter(|name| *name == column).count()
    }

    /// The names for a message, shortened if there are many.
    fn shown(&self) -> String {
        const MOST: usize = 20;
        at_most(self.0.iter().map(|name| quoted(name)), MOST).join(", ")
    }

    /// The trimmed cell; `None` if it is empty, the row ends before it, or the table has no such column.
    fn cell<'r>(&self, record: &'r StringRecord, column: &str) -> Option<&'r str> {
        let place = self.0.iter().position(|name| name == column)?;
        Some(record.get(place)?.trim()).filter(|cell| !cell.is_empty())
    }

    fn read(&self, (line, record): &NumberedRecord, problems: &mut Vec<TableProblem>) -> Row {
        let mut row = Row {
            line: *line,
            ..Row::default()
        };
        row.run.schema_version = SCHEMA_VERSION;
        let mut complain =
            |column, what: String| problems.push(TableProblem::of(*line, column, what));
        let (cells, expected) = (record.len(), self.0.len());
        if record.iter().any(|cell| cell.contains('\n')) {
            let what = "a cell holds a line break: a quote is opened and not closed";
            complain(None, what.to_owned());
        } else if cells > expected {
            let what = format!(
                "{cells} cells found, {expected} expected: a cell that holds a comma is written in quotes"
            );
            complain(None, what);
        } else {
            for column in COLUMNS {
                let cell = self.cell(record, column);
                if cell.is_none() && !NEEDED.contains(&column) {
                    continue;
                }
                if let Err(expected) = take(&mut row, column, cell.unwrap_or_default()) {
                    let found = cell.map(|cell| format!("found {}", quoted(cell)));
                    let found = found.unwrap_or("nothing found".to_owned());
                    complain(Some(column), format!("{found}, expected {expected}"));
                }
            }
        }
        row
    }
}

/// A record and its line number, from 1.
type NumberedRecord = (u64, StringRecord);

/// The header and the records below it; blank lines are skipped.
fn split(text: &str) -> Result<(Header, Vec<NumberedRecord>), TableError> {
    let text = without_mark(text).replace("\r\n", "\n").replace('\r', "\n");
    let records = (1..)
        .zip(text.split('\n'))
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| (number, record_of(line)))
        .filter(|(_, record)| record.iter().any(|cell| !cell.trim().is_empty()));
    // With the header, and one too many.
    let mut records = records.take(MOST_ROWS + 2);
    let Some((_, header)) = records.next() else {
        return Err(TableError::Empty);
    };
    let rows: Vec<NumberedRecord> = records.collect();
    if rows.len() > MOST_ROWS {
        return Err(TableError::TooLong);
    }
    let names = header.iter().map(|name| name.trim().to_owned());
    Ok((Header(names.collect()), rows))
}

/// The cells of a line. A quote that is not closed swallows the line end.
fn record_of(line: &str) -> StringRecord {
    let text = format!("{line}\n.");
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    reader
        .read_record(&mut record)
        .expect("text in memory is UTF-8 and rows may differ in length");
    record
}

/// A finite number; Rust's parser also accepts `inf` and `NaN`.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn seconds(text: &str) -> Option<Seconds> {
    let seconds = number(text)?;
    let is_possible = (0.0..=sound::LONGEST_SECONDS).contains(&seconds);
    is_possible.then_some(Seconds(seconds))
}

/// `0.03` or `3%`.
fn fraction(text: &str) -> Option<Fraction> {
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent.trim_end())? / 100.0,
        None => number(text)?,
    };
    (share > 0.0 && share <= 1.0).then_some(Fraction(share))
}

/// The value of a cell, which may be missing; `None` where it is not what is expected.
fn or_missing<T>(cell: &str, read: fn(&str) -> Option<T>) -> Option<Option<T>> {
    match is_missing(cell) {
        true => Some(None),
        false => read(cell).map(Some),
    }
}

fn percent(cell: &str) -> Result<Option<Percent>, &'static str> {
    or_missing(cell, |cell| number(cell).and_then(sound::percentage))
        .ok_or("a percentage of the whole instance, 0 to 100, or -1 where it is missing")
}

/// The 99th percentile is also used as the mean, since the table has no other number.
fn level(cell: &str) -> Result<Option<Utilization>, &'static str> {
    let level = |percent| Utilization {
        mean: percent,
        p99: Some(percent),
        source: PERCENTILE_SOURCE.to_owned(),
    };
    Ok(percent(cell)?.map(level))
}

fn work(cell: &str) -> Result<Option<f64>, &'static str> {
    or_missing(cell, |cell| number(cell).filter(|level| *level > 0.0))
        .ok_or("a number above 0, or -1 where it is missing")
}

/// -1, nothing, or pandas' text for a gap.
fn is_missing(cell: &str) -> bool {
    ["", "NaN", "nan"].contains(&cell) || number(cell) == Some(MISSING)
}

/// The cell of a figure that the seed library divides by a number of cores or GPUs, also where it is missing.
fn cell_of_share(cell: &str) -> &str {
    const MOST_CORES: f64 = 1024.0;
    let cores = number(cell).map_or(0.0, |number| MISSING / number);
    let is_divided = (1.0..=MOST_CORES).contains(&cores) && (cores - cores.round()).abs() < 1e-6;
    if is_divided { "-1" } else { cell }
}

#[cfg(test)]
mod tests;
