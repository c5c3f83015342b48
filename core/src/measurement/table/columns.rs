//! CSV tables by their **columns**: what is known of a column takes its cells over; all problems are collected.

use std::collections::HashMap;

use csv::StringRecord;

use super::{MOST_ROWS, Problems, TableError, TableProblem, quoted, without_mark};
use crate::measurement::{Measurement, Outcome, SCHEMA_VERSION};
use crate::units::{Fraction, Seconds};

/// What is known of a column.
pub(super) struct CsvColumn {
    pub(super) name: &'static str,
    /// What a cell holds, for a message.
    expected: &'static str,
    /// Whether a row without it has a problem.
    is_needed: bool,
    /// Takes a cell over; `None` where it is not what is expected.
    take: fn(&mut Row, &str) -> Option<()>,
}

impl CsvColumn {
    pub(super) const fn of(
        name: &'static str,
        expected: &'static str,
        take: fn(&mut Row, &str) -> Option<()>,
    ) -> Self {
        Self {
            name,
            expected,
            is_needed: false,
            take,
        }
    }

    pub(super) const fn needed(
        name: &'static str,
        expected: &'static str,
        take: fn(&mut Row, &str) -> Option<()>,
    ) -> Self {
        Self {
            is_needed: true,
            ..Self::of(name, expected, take)
        }
    }

    /// A column that says nothing of a run.
    pub(super) const fn ignored(name: &'static str) -> Self {
        Self::of(name, "", |_, _| Some(()))
    }
}

/// What a row says of a run.
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) run: Measurement,
    /// That of its training job, where it has a job of its own.
    pub(super) name: Option<String>,
    pub(super) replicate: Option<u32>,
    /// The status of a job that has no outcome yet.
    pub(super) unfinished: Option<String>,
}

/// The names of the columns.
pub(super) struct Header(Vec<String>);

impl Header {
    pub(super) fn has(&self, column: &str) -> bool {
        self.0.iter().any(|name| name == column)
    }

    /// The names for a message, shortened if there are many.
    pub(super) fn shown(&self) -> String {
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
pub(super) type NumberedRecord = (u64, StringRecord);

/// The header and the records below it; blank lines are skipped.
pub(super) fn split(text: &str) -> Result<(Header, Vec<NumberedRecord>), TableError> {
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

/// The rows without a problem, as their columns say them; other columns are ignored. `contradiction` is of a whole row: a column and
/// what is wrong with it.
pub(super) fn read(
    header: &Header,
    records: &[NumberedRecord],
    columns: &[CsvColumn],
    contradiction: fn(&Row) -> Option<(String, String)>,
    problems: &mut Problems,
) -> Result<Vec<Row>, TableError> {
    if records.is_empty() {
        return Err(TableError::NoRows);
    }
    for column in columns {
        if header.0.iter().filter(|name| *name == column.name).count() > 1 {
            let what = "this column appears twice; remove one";
            problems.add(TableProblem::of(1, Some(column.name), what));
        }
    }
    let row = |(line, record): &NumberedRecord| {
        let before = problems.count();
        let row = read_row(header, *line, record, columns, problems);
        if problems.count() == before
            && let Some((column, what)) = contradiction(&row)
        {
            problems.add(TableProblem::of(*line, Some(&column), what));
        }
        (problems.count() == before).then_some(row)
    };
    Ok(records.iter().filter_map(row).collect())
}

fn read_row(
    header: &Header,
    line: u64,
    record: &StringRecord,
    columns: &[CsvColumn],
    problems: &mut Problems,
) -> Row {
    let mut complain = |column, what: String| problems.add(TableProblem::of(line, column, what));
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
    if record.iter().any(|cell| cell.contains('\n')) {
        complain(
            None,
            "a cell holds a line break: a quote is opened and not closed".to_owned(),
        );
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
        for column in columns {
            let found = match header.cell(record, column.name) {
                Some(cell) if (column.take)(&mut row, cell).is_some() => continue,
                Some(cell) => format!("found {}", quoted(cell)),
                None if column.is_needed => "nothing found".to_owned(),
                None => continue,
            };
            complain(
                Some(column.name),
                format!("{found}, expected {}", column.expected),
            );
        }
    }
    row
}

/// The runs of the rows. Those of the same kind are numbered from 0, in their order, where their rows do not say it.
pub(super) fn numbered(rows: Vec<Row>) -> Vec<Measurement> {
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

/// A finite number; Rust's parser also accepts `inf` and `NaN`.
pub(super) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Longer than any training run; a larger value is an error that would dominate every sum.
pub(super) const LONGEST_SECONDS: f64 = 100.0 * 365.25 * 86_400.0;

pub(super) const SECONDS: &str = "a number of seconds, at most a hundred years";

pub(super) fn seconds(text: &str) -> Option<Seconds> {
    number(text)
        .filter(|number| (0.0..=LONGEST_SECONDS).contains(number))
        .map(Seconds)
}

pub(super) const FRACTION: &str = "a share of the data above 0 and at most 1, such as 0.03 or 3%";

/// `0.03` or `3%`.
pub(super) fn fraction(text: &str) -> Option<Fraction> {
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent.trim_end())? / 100.0,
        None => number(text)?,
    };
    (share > 0.0 && share <= 1.0).then_some(Fraction(share))
}

/// A whole number. pandas writes whole numbers of a column with gaps as `12.0`.
pub(super) fn count(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let is_whole = rest.bytes().all(|digit| digit == b'0');
    whole.parse().ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
