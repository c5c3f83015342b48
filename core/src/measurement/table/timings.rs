//! A plain table of timed runs: each run is one process, with the sizes of the data that it read.

use super::cells::{self, Cells, FRACTION, NumberedRow, Replicates};
use super::{Header, MeasurementTable, Problems, TableError, contradictions};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::measurement::{Measurement, Outcome, PeakMemory, Usage};
use crate::units::Bytes;

const JOB: &str = "workload";
const FRACTION_ASKED: &str = "fraction_requested";
const REPLICATE: &str = "replicate";
const OBJECTS: &str = "files";
const OBJECTS_TOTAL: &str = "files_total";
const BYTES: &str = "bytes";
const BYTES_TOTAL: &str = "bytes_total";
const TIME: &str = "wall_seconds";
const CPU_TIME: &str = "cpu_seconds";
const MEMORY: &str = "peak_rss_bytes";

const COLUMNS: [&str; 10] = [
    JOB,
    FRACTION_ASKED,
    REPLICATE,
    OBJECTS,
    OBJECTS_TOTAL,
    BYTES,
    BYTES_TOTAL,
    TIME,
    CPU_TIME,
    MEMORY,
];

/// The columns that a forecast needs.
pub(super) const REQUIRED: &[&str] = &[JOB, FRACTION_ASKED, TIME];

pub(super) fn read(header: &Header, rows: &[NumberedRow]) -> Result<MeasurementTable, TableError> {
    if rows.is_empty() {
        return Err(TableError::NoRows);
    }
    let mut problems = Problems::default();
    header.refuse_twins(&COLUMNS, &mut problems);

    let mut replicates = Replicates::default();
    let measurements: Vec<Measurement> = rows
        .iter()
        .filter_map(|row| {
            read_row(
                &mut Cells::new(header, row, &mut problems)?,
                &mut replicates,
            )
        })
        .collect();

    let mut notes = Vec::new();
    if header.has(CPU_TIME) {
        notes.push(format!(
            "{CPU_TIME} is ignored: a share of the machine needs its number of cores, which the table does not have"
        ));
    }
    problems.or(MeasurementTable {
        measurements,
        notes,
        about_jobs: None,
    })
}

/// `None` if the row has a problem.
fn read_row(row: &mut Cells, replicates: &mut Replicates) -> Option<Measurement> {
    const COUNT: &str = "a whole number above 0";
    let positive = |cell: &str| cells::count(cell).filter(|count| *count > 0);

    let job = row.required(JOB, "the name of what was trained", |cell| {
        Some(cell.to_owned())
    });
    let fraction = row.required(FRACTION_ASKED, FRACTION, cells::fraction);
    let replicate = row.optional(REPLICATE, "a whole number from 0", |cell| {
        u32::try_from(cells::count(cell)?).ok()
    });
    let objects = row.optional(OBJECTS, COUNT, positive);
    let objects_total = row.optional(OBJECTS_TOTAL, COUNT, positive);
    let bytes = row.optional(BYTES, COUNT, positive);
    let bytes_total = row.optional(BYTES_TOTAL, COUNT, positive);
    let time = row.required(TIME, cells::SECONDS, cells::seconds);
    let memory = row.optional(MEMORY, COUNT, positive);
    for (part_column, part, whole_column, whole) in [
        (OBJECTS, objects, OBJECTS_TOTAL, objects_total),
        (BYTES, bytes, BYTES_TOTAL, bytes_total),
    ] {
        if let (Some(part), Some(whole)) = (part, whole)
            && part > whole
        {
            row.complain(
                Some(part_column),
                format!("found `{part}`, expected at most {whole_column}, which is {whole}"),
            );
        }
    }

    if !row.is_sound() {
        return None;
    }
    let (job, fraction) = (job?, fraction?);
    let counted = replicates.next(format!("{job}\n{}", fraction.0));
    let run = Measurement {
        objects,
        objects_total,
        bytes: bytes.map(Bytes),
        bytes_total: bytes_total.map(Bytes),
        replicate: replicate.unwrap_or(counted),
        training_seconds: time,
        usage: Usage {
            memory: memory.map(|bytes| PeakMemory {
                bytes: Some(Bytes(bytes)),
                source: "peak RSS of the process".to_owned(),
                ..PeakMemory::default()
            }),
            ..Usage::default()
        },
        ..Measurement::without_figures(
            job,
            InstanceConfiguration::one(InstanceType::local()),
            fraction,
            Outcome::Completed,
        )
    };
    let names = [FRACTION_ASKED, OBJECTS_TOTAL];
    match contradictions::share_of_bytes_words(&run, names) {
        Some(what) => {
            row.complain(Some(BYTES), what);
            None
        }
        None => Some(run),
    }
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
";
        assert_eq!(
            read_csv(text).unwrap_err().to_string(),
            "the table has 7 problems
  line 2, column workload: nothing found, expected the name of what was trained
  line 2, column fraction_requested: found `0`, expected a share of the data above 0 and at most 1, such as 0.03 or 3%
  line 3, column files: found `1.5`, expected a whole number above 0
  line 3, column wall_seconds: found `inf`, expected a number of seconds, at most a hundred years
  line 3, column bytes: found `20`, expected at most bytes_total, which is 10
  line 4, column wall_seconds: nothing found, expected a number of seconds, at most a hundred years
  line 5, column wall_seconds: found `1e10`, expected a number of seconds, at most a hundred years"
        );
    }
}
