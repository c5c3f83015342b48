//! A table of timed runs: one row for each process that trained, with the sizes of the data that it read.

use canary_gate_core::instance::InstanceConfiguration;
use canary_gate_core::measurement::{Measurement, Outcome, PeakMemory};
use canary_gate_core::units::{Bytes, Fraction, Seconds};
use csv::StringRecord;

use super::workload::{COLUMNS, ReadError};

/// The runs of the rows, in their order. A cell may be empty where a measurement can be without its figure. Runs of the same workload and
/// fraction are numbered from 0, where the table has no column `replicate`.
pub(crate) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .from_reader(text.as_bytes());
    let known = "text in memory is UTF-8, and rows may differ in length";
    let header = reader.headers().expect(known).clone();
    if header.is_empty() {
        return Err(ReadError::Empty);
    }
    let has = |column: &&str| header.iter().any(|name| name == *column);
    let missing: Vec<&str> = (COLUMNS.into_iter())
        .filter(|column| !has(column))
        .collect();
    if !missing.is_empty() {
        return Err(ReadError::MissingColumns { missing });
    }
    let mut runs: Vec<Measurement> = Vec::new();
    for record in reader.records() {
        let record = record.expect(known);
        let row = Row {
            header: &header,
            cells: &record,
        };
        let mut run = row.run()?;
        if !has(&"replicate") {
            let is_same =
                |other: &&Measurement| other.job == run.job && other.fraction == run.fraction;
            let before = runs.iter().filter(is_same).count();
            run.replicate = before.try_into().expect("a table has few rows");
        }
        runs.push(run);
    }
    Ok(runs)
}

struct Row<'a> {
    /// The names of the columns.
    header: &'a StringRecord,
    cells: &'a StringRecord,
}

const COUNT: &str = "a whole number above 0";
const SECONDS: &str = "a number of seconds, at most a hundred years";
const MOST_SECONDS: f64 = 100.0 * 365.25 * 86_400.0;

impl Row<'_> {
    fn run(&self) -> Result<Measurement, ReadError> {
        let name = |cell: &str| Some(cell.to_owned());
        let whole = |cell: &str| cell.parse().ok();
        let seconds = |cell: &str| {
            let seconds = cell.parse().ok();
            seconds.filter(|seconds| (0.0..=MOST_SECONDS).contains(seconds))
        };
        let mut run = Measurement {
            objects: self.count("files")?,
            objects_total: self.count("files_total")?,
            bytes: self.count("bytes")?.map(Bytes),
            bytes_total: self.count("bytes_total")?.map(Bytes),
            replicate: (self.value("replicate", "a whole number from 0", whole)?)
                .unwrap_or_default(),
            training_seconds: Some(Seconds(self.needed("wall_seconds", SECONDS, seconds)?)),
            ..Measurement::without_figures(
                self.needed("workload", "the name of what was trained", name)?,
                InstanceConfiguration::default(),
                self.needed("fraction_requested", "a share such as 0.03 or 3%", share)?,
                Outcome::Completed,
            )
        };
        let peak = self.count("peak_rss_bytes")?;
        run.usage.memory = peak.map(|peak| PeakMemory {
            bytes: Some(Bytes(peak)),
            source: "peak RSS of the process".to_owned(),
            ..PeakMemory::default()
        });
        Ok(run)
    }

    fn count(&self, column: &'static str) -> Result<Option<u64>, ReadError> {
        let count = |cell: &str| cell.parse().ok().filter(|count| *count > 0);
        self.value(column, COUNT, count)
    }

    fn needed<T>(
        &self,
        column: &'static str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ReadError> {
        let value = self.value(column, expected, read)?;
        value.ok_or_else(|| self.refused(column, "nothing found".to_owned(), expected))
    }

    /// `None` where the cell is empty, or the table has no such column.
    fn value<T>(
        &self,
        column: &'static str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ReadError> {
        let place = self.header.iter().position(|name| name == column);
        let cell = place.and_then(|place| self.cells.get(place));
        let cell = cell.unwrap_or_default();
        if cell.is_empty() {
            return Ok(None);
        }
        let found = || format!("found `{}`", cell.escape_debug());
        let refused = || self.refused(column, found(), expected);
        read(cell).map(Some).ok_or_else(refused)
    }

    fn refused(&self, column: &'static str, found: String, expected: &'static str) -> ReadError {
        ReadError::Cell {
            line: self.cells.position().map_or(0, csv::Position::line),
            column,
            found,
            expected,
        }
    }
}

/// `0.03` or `3%`.
fn share(cell: &str) -> Option<Fraction> {
    let number = |text: &str| text.parse::<f64>().ok();
    let share = match cell.strip_suffix('%') {
        Some(percent) => number(percent)? / 100.0,
        None => number(cell)?,
    };
    (share > 0.0 && share <= 1.0).then_some(Fraction(share))
}
