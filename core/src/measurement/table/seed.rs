//! The table of the seed library (aws-samples' canary training): one row for each SageMaker training job.
//!
//! Its numbers differ from ours: `PercentageDataTrainedOn` is a fraction of the number of objects, such as `0.01`, not a
//! percentage. Every metric is the 99th percentile of the profiler's samples. A metric that was not sampled is -1; the library
//! then divides CPU and GPU figures by the number of cores or GPUs, so a missing one may be -1/8.

use super::columns::{self, CsvColumn, FRACTION, Header, NumberedRecord};
use super::{MeasurementTable, Problems, TableError, job_names, quoted, sound};
use crate::measurement::{Measurement, Outcome, PeakMemory, Utilization};
use crate::units::{Percent, Seconds};

const STATUS: &str = "TrainingJobStatus";
const TIME: &str = "TrainingTimeInSeconds";
const INSTANCE: &str = "InstanceType";
const SHARE: &str = "PercentageDataTrainedOn";

/// The columns that a forecast needs.
pub(super) const REQUIRED: &[&str] = &[STATUS, TIME, INSTANCE, SHARE];

const PERCENT: &str = "a percentage of the whole instance, 0 to 100, or -1 where it is missing";
const WORK: &str = "a number above 0, or -1 where it is missing";

/// So many of the first columns are the library's, in the order in which it writes them.
const OF_THE_LIBRARY: usize = 11;

/// Ours after the library's are for runs with a work level: the level of the run and of the full run. Without them a run with less
/// work would look like a fast one. The last has the name that the library's documentation uses.
const COLUMNS: [CsvColumn; 14] = [
    CsvColumn::needed(
        STATUS,
        "Completed, Failed, Stopped, Stopping or InProgress",
        |row, cell| {
            row.run.outcome = match cell {
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
                _ => return None,
            };
            Some(())
        },
    ),
    CsvColumn::of(
        TIME,
        "a number of seconds, at most a hundred years, or -1 where it is missing",
        |row, cell| {
            row.run.training_seconds = or_missing(cell, is_missing, columns::seconds)?;
            Some(())
        },
    ),
    CsvColumn::needed(
        INSTANCE,
        "an instance such as ml.m5.2xlarge or 6x ml.m5.4xlarge",
        |row, cell| {
            row.run.instance = cell.parse().ok()?;
            Some(())
        },
    ),
    CsvColumn::ignored("ManifestLocation"),
    CsvColumn::of("job_name", "", |row, cell| {
        row.name = Some(cell.to_owned());
        Some(())
    }),
    CsvColumn::needed(SHARE, FRACTION, |row, cell| {
        row.run.fraction = columns::fraction(cell)?;
        Some(())
    }),
    CsvColumn::of("CPUUtilization", PERCENT, |row, cell| {
        level(&mut row.run.usage.cpu_percent, cell, is_missing_share)
    }),
    CsvColumn::of("I/OWaitPercentage", PERCENT, |row, cell| {
        level(&mut row.run.usage.io_wait_percent, cell, is_missing)
    }),
    CsvColumn::of("MemoryUsedPercent", PERCENT, |row, cell| {
        let memory = |percent| PeakMemory {
            percent: Some(percent),
            source: PERCENTILE_SOURCE.to_owned(),
            ..PeakMemory::default()
        };
        row.run.usage.memory = or_missing(cell, is_missing, percent)?.map(memory);
        Some(())
    }),
    CsvColumn::of("GPUUtilization", PERCENT, |row, cell| {
        level(&mut row.run.usage.gpu_percent, cell, is_missing_share)
    }),
    CsvColumn::of("GPUMemoryUtilization", PERCENT, |row, cell| {
        level(&mut row.run.usage.gpu_memory_percent, cell, is_missing)
    }),
    CsvColumn::of("WorkLevel", WORK, |row, cell| {
        row.run.work = or_missing(cell, is_missing, work)?;
        Some(())
    }),
    CsvColumn::of("FullWorkLevel", WORK, |row, cell| {
        row.run.work_total = or_missing(cell, is_missing, work)?;
        Some(())
    }),
    CsvColumn::of("OWaitPercentage", PERCENT, |row, cell| {
        level(&mut row.run.usage.io_wait_percent, cell, is_missing)
    }),
];

pub const PERCENTILE_SOURCE: &str = "canary-training table, 99th percentile";

/// A missing number in this table.
const MISSING: f64 = -1.0;

pub(super) fn read(
    header: &Header,
    records: &[NumberedRecord],
) -> Result<MeasurementTable, TableError> {
    let mut problems = Problems::default();
    let rows = columns::read(header, records, &COLUMNS, |_| None, &mut problems)?;
    let mut unfinished = Vec::new();
    let (mut ended, open): (Vec<_>, Vec<_>) =
        (rows.into_iter()).partition(|row| row.unfinished.is_none());
    for row in open {
        let status = quoted(row.unfinished.as_deref().unwrap_or_default());
        unfinished.push(format!(
            "line {}: this job is {status}; it has no outcome yet and is left out",
            row.line
        ));
    }
    let names: Vec<Option<&str>> = ended.iter().map(|row| row.name.as_deref()).collect();
    let (jobs, about_jobs) = job_names::jobs_of(&names);
    for (row, job) in ended.iter_mut().zip(jobs) {
        row.run.job = job;
    }
    let measurements = columns::numbered(ended);
    let mut notes = vec![format!(
        "the table has no number of bytes read; the share of the objects ({SHARE}) replaces it as the size of the data"
    )];
    if measurements.iter().any(|run| !run.usage.is_empty()) {
        notes.push(
            "memory, CPU, GPU and I/O wait are 99th percentiles, as the table has no means"
                .to_owned(),
        );
    }
    notes.extend(unfinished);
    problems.or(MeasurementTable {
        measurements,
        notes,
        about_jobs,
    })
}

/// The value of a cell, which may be missing; `None` where it is not what is expected.
fn or_missing<T>(
    cell: &str,
    missing: fn(&str) -> bool,
    read: fn(&str) -> Option<T>,
) -> Option<Option<T>> {
    match missing(cell) {
        true => Some(None),
        false => read(cell).map(Some),
    }
}

/// The 99th percentile is also used as the mean, since the table has no other number.
fn level(into: &mut Option<Utilization>, cell: &str, missing: fn(&str) -> bool) -> Option<()> {
    let level = |percent| Utilization {
        mean: percent,
        p99: Some(percent),
        source: PERCENTILE_SOURCE.to_owned(),
    };
    *into = or_missing(cell, missing, percent)?.map(level);
    Some(())
}

fn percent(cell: &str) -> Option<Percent> {
    columns::number(cell).and_then(sound::percentage)
}

fn work(cell: &str) -> Option<f64> {
    columns::number(cell).filter(|level| *level > 0.0)
}

/// -1, or pandas' text for a gap.
fn is_missing(cell: &str) -> bool {
    cell == "NaN" || cell == "nan" || columns::number(cell) == Some(MISSING)
}

/// -1 divided by a number of cores or GPUs.
fn is_missing_share(cell: &str) -> bool {
    const MOST_CORES: f64 = 1024.0;
    is_missing(cell)
        || columns::number(cell).is_some_and(|number| {
            let cores = MISSING / number;
            (1.0..=MOST_CORES).contains(&cores) && (cores - cores.round()).abs() < 1e-6
        })
}

/// The measurements as the seed library writes them: its column names and order, -1 for a missing number.
///
/// The table has no columns for bytes, phases, means and prices. The share is that of the data really read; a work level has
/// columns of its own. As in SageMaker, a run that ran out of memory or found no machine is `Failed`, and one that was stopped
/// at its time limit is `Stopped`.
pub fn write_seed_csv(measurements: &[Measurement]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let in_memory =
        "writing to memory does not fail, and every row has as many cells as the header";
    let has_work =
        (measurements.iter()).any(|run| run.work.is_some() && !run.differs_in_work_alone);
    let count = OF_THE_LIBRARY + if has_work { 2 } else { 0 };
    let header = COLUMNS[..count].iter().map(|column| column.name);
    writer.write_record(header).expect(in_memory);
    for run in measurements {
        let usage = &run.usage;
        let memory = usage.memory.as_ref().and_then(|memory| memory.percent);
        // Where canaries differ in their work alone the share is the work's, which must not count twice.
        let is_level = |_: &f64| !run.differs_in_work_alone;
        let level = |work: Option<f64>| number_or_missing(work.filter(is_level));
        let cells = [
            status(&run.outcome).to_owned(),
            number_or_missing(run.training_seconds.map(|Seconds(seconds)| seconds)),
            run.instance.to_string(),
            String::new(),
            run.job.clone(),
            run.data_share().to_string(),
            percent_or_missing(usage.cpu_percent.as_ref()),
            percent_or_missing(usage.io_wait_percent.as_ref()),
            number_or_missing(memory.map(|Percent(percent)| percent)),
            percent_or_missing(usage.gpu_percent.as_ref()),
            percent_or_missing(usage.gpu_memory_percent.as_ref()),
            level(run.work),
            level(run.work_total),
        ];
        writer.write_record(&cells[..count]).expect(in_memory);
    }
    let bytes = writer.into_inner().expect(in_memory);
    String::from_utf8(bytes).expect("only text was written")
}

fn status(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "Completed",
        Outcome::Failed { .. }
        | Outcome::OutOfMemory { .. }
        | Outcome::NoCapacity
        | Outcome::PlatformError => "Failed",
        Outcome::TimedOut | Outcome::Stopped => "Stopped",
    }
}

fn number_or_missing(number: Option<f64>) -> String {
    number.unwrap_or(MISSING).to_string()
}

/// The 99th percentile, as the library writes it; the mean if there were too few samples for one.
fn percent_or_missing(utilization: Option<&Utilization>) -> String {
    number_or_missing(utilization.map(|levels| levels.p99.unwrap_or(levels.mean).0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Usage;
    use crate::measurement::table::read_csv;
    use crate::units::{Bytes, Fraction};

    /// Figures of three runs that the seed library's example notebooks show, in the form in which it writes them. From
    /// aws-samples/amazon-sagemaker-predict-training-resource-usage (Apache-2.0, Copyright Amazon.com, Inc. or its
    /// affiliates); bucket and ends of names are made up.
    const PUBLISHED: &str = "\
TrainingJobStatus,TrainingTimeInSeconds,InstanceType,ManifestLocation,job_name,PercentageDataTrainedOn,CPUUtilization,I/OWaitPercentage,MemoryUsedPercent,GPUUtilization,GPUMemoryUtilization
Completed,107,ml.m5.2xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2022-03-22-18-50-24-03891,0.01,12.5,95.920,5.1600,-1.0,-1
Completed,108,ml.m5.2xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2022-03-22-18-50-25-01037,0.01,12.5,95.830,5.1719,-1.0,-1
Completed,318,ml.m5.24xlarge,s3://bucket/manifests/the_manifest_0.manifest,canary-training--job-2021-12-22-17-35-28-01832,0.007575757575757576,0.871563,0.0,1.34,-1.0,-1
";

    /// A row below the least columns and these.
    fn table(columns: &str, rows: &[&str]) -> String {
        let mut text = format!(
            "TrainingJobStatus,TrainingTimeInSeconds,InstanceType,PercentageDataTrainedOn{columns}\n"
        );
        for row in rows {
            text.push_str(row);
            text.push('\n');
        }
        text
    }

    #[test]
    fn the_published_runs_are_read() {
        let MeasurementTable {
            measurements,
            notes,
            ..
        } = read_csv(PUBLISHED).unwrap();
        let run = &measurements[1];
        assert_eq!(run.job, "canary-training--job");
        assert_eq!(run.instance.to_string(), "ml.m5.2xlarge");
        assert_eq!((run.fraction, run.replicate), (Fraction(0.01), 1));
        assert_eq!(run.training_seconds, Some(Seconds(108.0)));
        assert_eq!((run.bytes, run.data_share()), (None, 0.01));
        let usage = &run.usage;
        assert_eq!(
            usage.memory.as_ref().unwrap().percent,
            Some(Percent(5.1719))
        );
        assert_eq!(usage.cpu_percent.as_ref().unwrap().p99, Some(Percent(12.5)));
        assert_eq!(usage.io_wait_percent.as_ref().unwrap().mean, Percent(95.83));
        assert_eq!(
            (&usage.gpu_percent, &usage.gpu_memory_percent),
            (&None, &None)
        );
        // One object of 132.
        assert_eq!(measurements[2].fraction, Fraction(1.0 / 132.0));
        assert_eq!(measurements[2].replicate, 0);
        assert_eq!(
            notes,
            [
                "the table has no number of bytes read; the share of the objects (PercentageDataTrainedOn) replaces it as the size of the data",
                "memory, CPU, GPU and I/O wait are 99th percentiles, as the table has no means",
            ]
        );
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
        assert!(
            text.contains("GPUMemoryUtilization,WorkLevel,FullWorkLevel\n"),
            "{text}"
        );
        assert!(text.lines().nth(2).unwrap().ends_with(",5,50"), "{text}");
        assert_eq!(again(&text), runs);
        let none = read_csv(&text.replace(",5,50", ",0,50"))
            .unwrap_err()
            .to_string();
        assert!(
            none.contains("column WorkLevel: found `0`, expected a number above 0"),
            "{none}"
        );
    }

    #[test]
    fn the_table_is_written_with_the_names_and_the_minus_one_of_the_library() {
        let mut run = read_csv(PUBLISHED).unwrap().measurements.remove(0);
        run.job = "churn, \"new\"".to_owned();
        run.outcome = Outcome::OutOfMemory {
            of: crate::metric::MemoryOf::Machine,
            last_line: None,
        };
        run.bytes = Some(Bytes(3));
        run.bytes_total = Some(Bytes(200));
        run.usage.cpu_percent = Some(Utilization {
            mean: Percent(7.5),
            p99: None,
            source: String::new(),
        });
        assert_eq!(
            write_seed_csv(&[run]),
            "\
TrainingJobStatus,TrainingTimeInSeconds,InstanceType,ManifestLocation,job_name,PercentageDataTrainedOn,CPUUtilization,I/OWaitPercentage,MemoryUsedPercent,GPUUtilization,GPUMemoryUtilization
Failed,107,ml.m5.2xlarge,,\"churn, \"\"new\"\"\",0.015,7.5,95.92,5.16,-1,-1
"
        );
    }

    #[test]
    fn a_missing_metric_is_absent_also_where_it_was_divided_by_the_cores_and_an_open_job_is_left_out()
     {
        let table = read_csv(&table(
            ",CPUUtilization,GPUUtilization,MemoryUsedPercent,OWaitPercentage",
            &[
                "Completed,-1,ml.m5.2xlarge,1%,-0.125,-1.0,-1,2.5",
                "Failed,nan,ml.p3.16xlarge,1%,-0.015625,-0.125,,NaN",
                "InProgress,60,ml.m5.2xlarge,0.01",
                "Completed,9,ml.m5.2xlarge,1%",
            ],
        ))
        .unwrap();
        let io_wait = |run: &Measurement| run.usage.io_wait_percent.as_ref().map(|one| one.mean);
        let found: Vec<_> = (table.measurements.iter())
            .map(|run| (run.outcome.words(), run.training_seconds, io_wait(run)))
            .collect();
        assert_eq!(
            found,
            [
                ("completed", None, Some(Percent(2.5))),
                ("failed", None, None),
                ("completed", Some(Seconds(9.0)), None),
            ]
        );
        for mut run in table.measurements {
            run.usage.io_wait_percent = None;
            assert!(run.usage.is_empty(), "{:?}", run.usage);
        }
        assert_eq!(
            table.notes.last().unwrap(),
            "line 4: this job is `InProgress`; it has no outcome yet and is left out"
        );
    }

    #[test]
    fn every_bad_cell_is_named_at_once() {
        let text = table(
            ",CPUUtilization",
            &[
                "Completed,8h,ml.m5.2xlarge,3,780",
                "Finished\u{202e}\u{1b}[2J,-2,m5.large,,-0.3",
                "Completed,1,ml.m5.2xlarge,1%,5,6",
            ],
        );
        assert_eq!(
            read_csv(&text).unwrap_err().to_string(),
            "the table has 9 problems
  line 2, column TrainingTimeInSeconds: found `8h`, expected a number of seconds, at most a hundred years, or -1 where it is missing
  line 2, column PercentageDataTrainedOn: found `3`, expected a share of the data above 0 and at most 1, such as 0.03 or 3%
  line 2, column CPUUtilization: found `780`, expected a percentage of the whole instance, 0 to 100, or -1 where it is missing
  line 3, column TrainingJobStatus: found `Finished\\u{202e}\\u{1b}[2J`, expected Completed, Failed, Stopped, Stopping or InProgress
  line 3, column TrainingTimeInSeconds: found `-2`, expected a number of seconds, at most a hundred years, or -1 where it is missing
  line 3, column InstanceType: found `m5.large`, expected an instance such as ml.m5.2xlarge or 6x ml.m5.4xlarge
  line 3, column PercentageDataTrainedOn: nothing found, expected a share of the data above 0 and at most 1, such as 0.03 or 3%
  line 3, column CPUUtilization: found `-0.3`, expected a percentage of the whole instance, 0 to 100, or -1 where it is missing
  line 4: 6 cells found, 5 expected: a cell that holds a comma is written in quotes"
        );
    }
}
