//! CSV tables: what each column says of a run; all problems are collected.
//!
//! The table of the seed library (aws-samples' canary training) has one row for each SageMaker training job. Its numbers differ from
//! ours: `PercentageDataTrainedOn` is a fraction of the number of objects, such as `0.01`, not a percentage. Every metric is the 99th
//! percentile of the profiler's samples. A metric that was not sampled is -1; the library then divides CPU and GPU figures by the
//! number of cores or GPUs, so a missing one may be -1/8.
//!
//! In a plain table of timings each run is one process, with the sizes of the data that it read.

use std::collections::HashMap;

use csv::StringRecord;

use super::{
    MOST_ROWS, MeasurementTable, TableError, TableProblem, job_names, quoted, sound, without_mark,
};
use crate::grammar::at_most;
use crate::measurement::{Measurement, Outcome, PeakMemory, SCHEMA_VERSION, Utilization};
use crate::units::{Bytes, Fraction, Percent, Seconds};

const STATUS: &str = "TrainingJobStatus";
const TIME: &str = "TrainingTimeInSeconds";
const INSTANCE: &str = "InstanceType";
const SHARE: &str = "PercentageDataTrainedOn";
const WORKLOAD: &str = "workload";
const FRACTION_ASKED: &str = "fraction_requested";
const WALL_TIME: &str = "wall_seconds";
const CPU_TIME: &str = "cpu_seconds";

/// The columns by which each kind of table is recognized.
pub(super) const OF_JOBS: [&str; 4] = [STATUS, TIME, INSTANCE, SHARE];
pub(super) const OF_TIMINGS: [&str; 3] = [WORKLOAD, FRACTION_ASKED, WALL_TIME];

/// A row without one of these has a problem.
const NEEDED: [&str; 6] = [STATUS, INSTANCE, SHARE, WORKLOAD, FRACTION_ASKED, WALL_TIME];

/// The columns of a table of jobs: those of the library, in the order in which it writes them, and ours for runs with a work level, the
/// level of the run and of the full run. Without them a run with less work would look like a fast one. The last has the name that the
/// library's documentation uses.
pub(super) const JOB_COLUMNS: [&str; 14] = [
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
const TIMING_COLUMNS: [&str; 10] = [
    WORKLOAD,
    FRACTION_ASKED,
    "replicate",
    "files",
    "files_total",
    "bytes",
    "bytes_total",
    WALL_TIME,
    CPU_TIME,
    "peak_rss_bytes",
];

const PERCENTILE_SOURCE: &str = "canary-training table, 99th percentile";
/// A missing number in a table of jobs.
pub(super) const MISSING: f64 = -1.0;

/// What a row says of a run.
#[derive(Default)]
struct Row {
    line: u64,
    run: Measurement,
    /// That of its training job, where it has a job of its own.
    name: Option<String>,
    replicate: Option<u32>,
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
        WORKLOAD if cell.is_empty() => return Err("the name of what was trained"),
        WORKLOAD => run.job = cell.to_owned(),
        SHARE | FRACTION_ASKED => {
            run.fraction = fraction(cell)
                .ok_or("a share of the data above 0 and at most 1, such as 0.03 or 3%")?;
        }
        "replicate" => {
            let number = count(cell).and_then(|number| number.try_into().ok());
            row.replicate = Some(number.ok_or("a whole number from 0")?);
        }
        "files" => run.objects = Some(positive(cell)?),
        "files_total" => run.objects_total = Some(positive(cell)?),
        "bytes" => run.bytes = Some(Bytes(positive(cell)?)),
        "bytes_total" => run.bytes_total = Some(Bytes(positive(cell)?)),
        WALL_TIME => run.training_seconds = Some(seconds(cell).ok_or(SECONDS)?),
        "peak_rss_bytes" => {
            run.usage.memory = Some(PeakMemory {
                bytes: Some(Bytes(positive(cell)?)),
                source: "peak RSS of the process".to_owned(),
                ..PeakMemory::default()
            });
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

/// Reads a table of either kind, recognized by its columns. Other columns are ignored.
pub fn read_csv(text: &str) -> Result<MeasurementTable, TableError> {
    let (header, records) = split(text)?;
    let has_all = |required: &[&str]| required.iter().all(|column| header.has(column));
    let columns = match (has_all(&OF_JOBS), has_all(&OF_TIMINGS)) {
        (true, _) => &JOB_COLUMNS[..],
        (false, true) => &TIMING_COLUMNS,
        (false, false) => {
            let found = header.shown();
            return Err(TableError::UnknownColumns { found });
        }
    };
    if records.is_empty() {
        return Err(TableError::NoRows);
    }
    let mut problems = Vec::new();
    for column in columns {
        if header.0.iter().filter(|name| name == column).count() > 1 {
            let what = "this column appears twice; remove one";
            problems.push(TableProblem::of(1, Some(column), what));
        }
    }
    let row = |(line, record): &NumberedRecord| {
        let before = problems.len();
        let row = read_row(&header, *line, record, columns, &mut problems);
        (problems.len() == before).then_some(row)
    };
    let rows: Vec<Row> = records.iter().filter_map(row).collect();
    let table = match has_all(&OF_JOBS) {
        true => of_jobs(rows),
        false => MeasurementTable {
            measurements: numbered(rows),
            notes: header.has(CPU_TIME).then(|| format!(
                "{CPU_TIME} is ignored: a share of the machine needs its number of cores, which the table does not have"
            )).into_iter().collect(),
            about_jobs: None,
        },
    };
    table.unless(problems)
}

fn read_row(
    header: &Header,
    line: u64,
    record: &StringRecord,
    columns: &[&str],
    problems: &mut Vec<TableProblem>,
) -> Row {
    let mut row = Row {
        line,
        run: Measurement {
            schema_version: SCHEMA_VERSION,
            outcome: Outcome::Completed,
            ..Measurement::default()
        },
        ..Row::default()
    };
    let before = problems.len();
    let mut complain = |column, what: String| problems.push(TableProblem::of(line, column, what));
    if record.iter().any(|cell| cell.contains('\n')) {
        let what = "a cell holds a line break: a quote is opened and not closed";
        complain(None, what.to_owned());
    } else if record.len() > header.0.len() {
        complain(
            None,
            format!(
                "{} cells found, {} expected: a cell that holds a comma is written in quotes",
                record.len(),
                header.0.len()
            ),
        );
    } else {
        for &column in columns {
            let cell = header.cell(record, column);
            if cell.is_none() && !NEEDED.contains(&column) {
                continue;
            }
            if let Err(expected) = take(&mut row, column, cell.unwrap_or_default()) {
                let found = cell.map_or("nothing found".to_owned(), |cell| {
                    format!("found {}", quoted(cell))
                });
                complain(Some(column), format!("{found}, expected {expected}"));
            }
        }
        if columns.contains(&FRACTION_ASKED)
            && problems.len() == before
            && let Some((column, what)) = sound::contradiction(&row.run, [FRACTION_ASKED, "files"])
        {
            problems.push(TableProblem::of(line, Some(&column), what));
        }
    }
    row
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
        measurements: numbered(ended),
        notes,
        about_jobs,
    }
}

/// The runs of the rows. Those of the same kind are numbered from 0, in their order, where their rows do not say it.
fn numbered(rows: Vec<Row>) -> Vec<Measurement> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let run = |row: Row| {
        let (run, work) = (&row.run, row.run.work);
        let kind = format!(
            "{}\n{}\n{}\n{work:?}",
            run.job, run.instance, run.fraction.0
        );
        let next = seen.entry(kind).or_default();
        let replicate = row.replicate.unwrap_or(*next);
        *next += 1;
        Measurement {
            replicate,
            ..row.run
        }
    };
    rows.into_iter().map(run).collect()
}

/// The names of the columns.
struct Header(Vec<String>);

impl Header {
    fn has(&self, column: &str) -> bool {
        self.0.iter().any(|name| name == column)
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

pub(super) const SECONDS: &str = "a number of seconds, at most a hundred years";

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

/// A whole number. pandas writes whole numbers of a column with gaps as `12.0`.
fn count(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let is_whole = rest.bytes().all(|digit| digit == b'0');
    whole.parse().ok().filter(|_| is_whole)
}

fn positive(cell: &str) -> Result<u64, &'static str> {
    let count = count(cell).filter(|count| *count > 0);
    count.ok_or("a whole number above 0")
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

/// -1, or pandas' text for a gap.
fn is_missing(cell: &str) -> bool {
    cell == "NaN" || cell == "nan" || number(cell) == Some(MISSING)
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
