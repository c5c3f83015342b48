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
    MOST_ROWS, MeasurementTable, Problems, TableError, TableProblem, job_names, quoted, sound,
    without_mark,
};
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
            return Err(TableError::UnknownColumns {
                found: header.shown(),
            });
        }
    };
    if records.is_empty() {
        return Err(TableError::NoRows);
    }
    let mut problems = Problems::default();
    for column in columns {
        if header.0.iter().filter(|name| name == column).count() > 1 {
            let what = "this column appears twice; remove one";
            problems.add(TableProblem::of(1, Some(column), what));
        }
    }
    let row = |(line, record): &NumberedRecord| {
        let before = problems.count();
        let row = read_row(&header, *line, record, columns, &mut problems);
        (problems.count() == before).then_some(row)
    };
    let rows: Vec<Row> = records.iter().filter_map(row).collect();
    problems.or(match has_all(&OF_JOBS) {
        true => of_jobs(rows),
        false => MeasurementTable {
            measurements: numbered(rows),
            notes: header.has(CPU_TIME).then(|| format!(
                "{CPU_TIME} is ignored: a share of the machine needs its number of cores, which the table does not have"
            )).into_iter().collect(),
            about_jobs: None,
        },
    })
}

fn read_row(
    header: &Header,
    line: u64,
    record: &StringRecord,
    columns: &[&str],
    problems: &mut Problems,
) -> Row {
    let mut row = Row {
        line,
        run: Measurement {
            schema_version: SCHEMA_VERSION,
            outcome: Outcome::Completed,
            ..Measurement::default()
        },
        name: None,
        replicate: None,
        unfinished: None,
    };
    let before = problems.count();
    let mut complain = |column, what: String| problems.add(TableProblem::of(line, column, what));
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
            && problems.count() == before
            && let Some((column, what)) = sound::contradiction(&row.run, [FRACTION_ASKED, "files"])
        {
            problems.add(TableProblem::of(line, Some(&column), what));
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
        let mut names: Vec<String> = self.0.iter().take(MOST).map(|n| quoted(n)).collect();
        if self.0.len() > MOST {
            names.push(format!("and {} more", self.0.len() - MOST));
        }
        names.join(", ")
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
    number(text)
        .filter(|number| (0.0..=sound::LONGEST_SECONDS).contains(number))
        .map(Seconds)
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
mod tests {
    use super::super::write_seed_csv;
    use super::*;
    use crate::measurement::Usage;

    #[test]
    fn rows_know_their_line_whatever_the_line_ends_and_blank_lines() {
        for text in [
            "\u{feff}a,b\n\n1,2\n \n,\n3,4",
            "a,b\r\n\r\n1,2\r\n \r\n,\r\n3,4\r\n",
            "a,b\r\r1,2\r \r,\r3,4\r",
        ] {
            let (header, rows) = split(text).ok().unwrap();
            assert!(header.has("a") && header.has("b"), "{text:?}");
            let lines: Vec<u64> = rows.iter().map(|(line, _)| *line).collect();
            assert_eq!(lines, [3, 6], "{text:?}");
        }
    }

    #[test]
    fn numbers_read_as_data_frames_write_them() {
        for (text, expected) in [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("18446744073709551615", Some(u64::MAX)),
            ("12.5", None),
            ("-1", None),
            ("1e3", None),
            ("18446744073709551616", None),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
        // Only loads are divided by a number of cores, also where they are missing.
        assert_eq!(percent(cell_of_share("-0.125")), Ok(None));
        assert_eq!(work("-1.0"), Ok(None));
        assert!(work("-0.5").is_err());
        assert_eq!(seconds("1.5e2"), Some(Seconds(150.0)));
        for text in ["-1", "NaN", "inf", "1e999", "8h"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        for (text, expected) in [("0.03", 0.03), ("3 %", 0.03), ("1", 1.0)] {
            assert_eq!(fraction(text), Some(Fraction(expected)));
        }
        for text in ["0", "3", "-0.1", "101%", "NaN", "%"] {
            assert_eq!(fraction(text), None, "{text}");
        }
    }

    /// Figures of three runs that the seed library's example notebooks show, in the form in which it writes them. From
    /// aws-samples/amazon-sagemaker-predict-training-resource-usage (Apache-2.0, Copyright Amazon.com, Inc. or its
    /// affiliates); bucket and ends of names are made up.
    const PUBLISHED: &str = "\
TrainingJobStatus,TrainingTimeInSeconds,InstanceType,ManifestLocation,job_name,PercentageDataTrainedOn,CPUUtilization,I/OWaitPercentage,MemoryUsedPercent,GPUUtilization,GPUMemoryUtilization
Completed,107,ml.m5.2xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2022-03-22-18-50-24-03891,0.01,12.5,95.920,5.1600,-1.0,-1
Completed,108,ml.m5.2xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2022-03-22-18-50-25-01037,0.01,12.5,95.830,5.1719,-1.0,-1
Completed,318,ml.m5.24xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2021-12-22-17-35-28-01832,0.007575757575757576,0.871563,0.0,1.34,-1.0,-1
";

    /// Three rows of a table measured for this project: XGBoost, 100 files of equal size.
    const TIMED: &str = "\
workload,fraction_requested,replicate,files,files_total,bytes,bytes_total,wall_seconds,cpu_seconds,peak_rss_bytes
xgb_reg,0.01,0,1,100,7689966,769051312,1.83,1.65,206888960
xgb_reg,0.01,1,1,100,7688938,769051312,1.549,1.5,207355904
xgb_reg,1.0,0,100,100,769051312,769051312,55.5,55.1,2068889600
";

    fn refusal(text: &str) -> String {
        read_csv(text).unwrap_err().to_string()
    }

    /// What the last of three rows says, and the notes of the table.
    #[test]
    fn the_published_runs_and_timed_ones_are_read() {
        let read = [PUBLISHED, TIMED].map(|text| {
            let mut table = read_csv(text).unwrap();
            assert_eq!(table.measurements.len(), 3);
            let json = serde_json::to_string(&table.measurements.remove(1)).unwrap();
            format!("{json}\n{}", table.notes.join("\n"))
        });
        insta::assert_snapshot!(read.join("\n"));
    }

    #[test]
    fn what_the_table_can_hold_comes_back_and_a_work_level_behind_the_columns_of_the_library() {
        let mut runs = read_csv(PUBLISHED).unwrap().measurements;
        runs[1].outcome = Outcome::Stopped;
        runs[1].training_seconds = None;
        runs[2].instance = "6x ml.m5.4xlarge".parse().unwrap();
        runs[2].usage = Usage::default();
        let again = |text: &str| read_csv(text).unwrap().measurements;
        assert_eq!(again(&write_seed_csv(&runs)), runs);
        (runs[1].work, runs[1].work_total, runs[1].replicate) = (Some(5.0), Some(50.0), 0);
        let text = write_seed_csv(&runs);
        assert!(text.contains("GPUMemoryUtilization,WorkLevel,FullWorkLevel\n"));
        assert!(text.lines().nth(2).unwrap().ends_with(",5,50"), "{text}");
        assert_eq!(again(&text), runs);
        let none = refusal(&text.replace(",5,50", ",0,50"));
        assert!(none.contains("column WorkLevel: found `0`, expected a number above 0"));
    }

    #[test]
    fn a_missing_metric_is_absent_also_where_it_was_divided_by_the_cores_and_an_open_job_is_left_out()
     {
        let table = read_csv(
            "TrainingJobStatus,TrainingTimeInSeconds,InstanceType,PercentageDataTrainedOn,CPUUtilization,GPUUtilization,MemoryUsedPercent,OWaitPercentage
Completed,-1,ml.m5.2xlarge,1%,-0.125,-1.0,-1,2.5
Failed,nan,ml.p3.16xlarge,1%,-0.015625,-0.125,,NaN
InProgress,60,ml.m5.2xlarge,0.01
Completed,9,ml.m5.2xlarge,1%
",
        )
        .unwrap();
        let usages = [
            r#"{"io_wait_percent":{"mean":2.5,"p99":2.5,"source":"canary-training table, 99th percentile"}}"#,
            "{}",
            "{}",
        ];
        for ((run, usage), (outcome, time)) in (table.measurements.iter().zip(usages)).zip([
            ("completed", None),
            ("failed", None),
            ("completed", Some(9.0)),
        ]) {
            assert_eq!(
                (run.outcome.words(), run.time().map(|time| time.0)),
                (outcome, time)
            );
            assert_eq!(serde_json::to_string(&run.usage).unwrap(), usage);
        }
        assert_eq!(
            table.notes.last().unwrap(),
            "line 4: this job is `InProgress`; it has no outcome yet and is left out"
        );
    }

    #[test]
    fn a_table_with_the_least_columns_counts_replicates_and_goes_by_the_fraction() {
        let table =
            read_csv("wall_seconds,workload,fraction_requested\n1,a,1%\n2,a,1%\n3,b,1%\n").unwrap();
        let replicates: Vec<u32> = table.measurements.iter().map(|run| run.replicate).collect();
        assert_eq!(replicates, [0, 1, 0]);
        // The forecast says which runs it has no bytes of.
        assert_eq!(table.notes, Vec::<String>::new());
    }

    /// Of jobs, of timings, and of bytes that contradict the fraction where no files explain them.
    #[test]
    fn every_bad_cell_is_named_at_once() {
        let refusals = [
            "TrainingJobStatus,TrainingTimeInSeconds,InstanceType,PercentageDataTrainedOn,CPUUtilization
Completed,8h,ml.m5.2xlarge,3,780
Finished\u{202e}\u{1b}[2J,-2,m5.large,,-0.3
Completed,1,ml.m5.2xlarge,1%,5,6
",
            "workload,fraction_requested,wall_seconds,bytes,bytes_total,files
,0,1.0,1,2,3
a,2%,inf,20,10,1.5
a,2%
a,2%,1e10,1,10,1
a,2%,1,20,10,1
",
            "workload,fraction_requested,wall_seconds,files,files_total,bytes,bytes_total
a,1%,1,,,500000,1000000
a,1%,1,1,13,80000,1000000
a,1%,1,,,20000,1000000
a,50%,1,,,100,1000000
",
        ]
        .map(refusal);
        insta::assert_snapshot!(refusals.join("\n"));
    }
}
