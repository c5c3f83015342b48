//! A plain table of timed runs: each run is one process, with the sizes of the data that it read.

use super::columns::{self, CsvColumn, FRACTION, Header, NumberedRecord, Row, SECONDS};
use super::{MeasurementTable, Problems, TableError, sound};
use crate::measurement::PeakMemory;
use crate::units::Bytes;

const JOB: &str = "workload";
const FRACTION_ASKED: &str = "fraction_requested";
const TIME: &str = "wall_seconds";
const CPU_TIME: &str = "cpu_seconds";

/// The columns that a forecast needs.
pub(super) const REQUIRED: &[&str] = &[JOB, FRACTION_ASKED, TIME];

const COUNT: &str = "a whole number above 0";

const COLUMNS: [CsvColumn; 10] = [
    CsvColumn::needed(JOB, "the name of what was trained", |row, cell| {
        row.run.job = cell.to_owned();
        Some(())
    }),
    CsvColumn::needed(FRACTION_ASKED, FRACTION, |row, cell| {
        row.run.fraction = columns::fraction(cell)?;
        Some(())
    }),
    CsvColumn::of("replicate", "a whole number from 0", |row, cell| {
        row.replicate = Some(u32::try_from(columns::count(cell)?).ok()?);
        Some(())
    }),
    CsvColumn::of("files", COUNT, |row, cell| {
        row.run.objects = Some(positive(cell)?);
        Some(())
    }),
    CsvColumn::of("files_total", COUNT, |row, cell| {
        row.run.objects_total = Some(positive(cell)?);
        Some(())
    }),
    CsvColumn::of("bytes", COUNT, |row, cell| {
        row.run.bytes = Some(Bytes(positive(cell)?));
        Some(())
    }),
    CsvColumn::of("bytes_total", COUNT, |row, cell| {
        row.run.bytes_total = Some(Bytes(positive(cell)?));
        Some(())
    }),
    CsvColumn::needed(TIME, SECONDS, |row, cell| {
        row.run.training_seconds = Some(columns::seconds(cell)?);
        Some(())
    }),
    CsvColumn::ignored(CPU_TIME),
    CsvColumn::of("peak_rss_bytes", COUNT, |row, cell| {
        row.run.usage.memory = Some(PeakMemory {
            bytes: Some(Bytes(positive(cell)?)),
            source: "peak RSS of the process".to_owned(),
            ..PeakMemory::default()
        });
        Some(())
    }),
];

fn positive(cell: &str) -> Option<u64> {
    columns::count(cell).filter(|count| *count > 0)
}

pub(super) fn read(
    header: &Header,
    records: &[NumberedRecord],
) -> Result<MeasurementTable, TableError> {
    let mut problems = Problems::default();
    let contradiction = |row: &Row| sound::contradiction(&row.run, [FRACTION_ASKED, "files"]);
    let rows = columns::read(header, records, &COLUMNS, contradiction, &mut problems)?;
    let notes = header.has(CPU_TIME).then(|| {
        format!(
            "{CPU_TIME} is ignored: a share of the machine needs its number of cores, which the table does not have"
        )
    });
    problems.or(MeasurementTable {
        measurements: columns::numbered(rows),
        notes: notes.into_iter().collect(),
        about_jobs: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::table::read_csv;
    use crate::units::{Fraction, Seconds};

    /// Three rows of a table measured for this project: XGBoost, 100 files of equal size.
    const RUNS: &str = "\
workload,fraction_requested,replicate,files,files_total,bytes,bytes_total,wall_seconds,cpu_seconds,peak_rss_bytes
xgb_reg,0.01,0,1,100,7689966,769051312,1.83,1.65,206888960
xgb_reg,0.01,1,1,100,7688938,769051312,1.549,1.5,207355904
xgb_reg,1.0,0,100,100,769051312,769051312,55.5,55.1,2068889600
";

    #[test]
    fn a_table_of_timed_runs_becomes_local_measurements() {
        let table = read_csv(RUNS).unwrap();
        let run = &table.measurements[1];
        assert_eq!(
            (run.job.as_str(), run.instance.to_string().as_str()),
            ("xgb_reg", "local")
        );
        assert_eq!((run.fraction, run.replicate), (Fraction(0.01), 1));
        assert_eq!((run.objects, run.objects_total), (Some(1), Some(100)));
        assert_eq!(
            (run.bytes, run.bytes_total),
            (Some(Bytes(7_688_938)), Some(Bytes(769_051_312)))
        );
        assert_eq!(run.training_seconds, Some(Seconds(1.549)));
        let memory = run.usage.memory.as_ref().unwrap();
        assert_eq!(
            (memory.bytes, memory.percent),
            (Some(Bytes(207_355_904)), None)
        );
        assert!(run.is_completed());
        assert_eq!(table.measurements[2].fraction, Fraction(1.0));
        assert_eq!(
            table.notes,
            [
                "cpu_seconds is ignored: a share of the machine needs its number of cores, which the table does not have"
            ]
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

    #[test]
    fn bytes_that_contradict_the_fraction_are_a_problem_unless_the_files_explain_them() {
        let text = "\
workload,fraction_requested,wall_seconds,files,files_total,bytes,bytes_total
a,1%,1,,,500000,1000000
a,1%,1,1,13,80000,1000000
a,1%,1,,,20000,1000000
a,50%,1,,,100,1000000
";
        assert_eq!(
            read_csv(text).unwrap_err().to_string(),
            "the table has 2 problems
  line 2, column bytes: 500000 of 1000000 is 50% of the data, but fraction_requested is 1%; expected within twice of each other; if few or uneven objects are the reason, give files_total
  line 5, column bytes: 100 of 1000000 is 0.01% of the data, but fraction_requested is 50%; expected within twice of each other; if few or uneven objects are the reason, give files_total"
        );
    }

    #[test]
    fn every_bad_cell_is_named_at_once() {
        let text = "\
workload,fraction_requested,wall_seconds,bytes,bytes_total,files
,0,1.0,1,2,3
a,2%,inf,20,10,1.5
a,2%
a,2%,1e10,1,10,1
a,2%,1,20,10,1
";
        assert_eq!(
            read_csv(text).unwrap_err().to_string(),
            "the table has 7 problems
  line 2, column workload: nothing found, expected the name of what was trained
  line 2, column fraction_requested: found `0`, expected a share of the data above 0 and at most 1, such as 0.03 or 3%
  line 3, column files: found `1.5`, expected a whole number above 0
  line 3, column wall_seconds: found `inf`, expected a number of seconds, at most a hundred years
  line 4, column wall_seconds: nothing found, expected a number of seconds, at most a hundred years
  line 5, column wall_seconds: found `1e10`, expected a number of seconds, at most a hundred years
  line 6, column bytes: found 20, expected at most bytes_total, which is 10"
        );
    }
}
