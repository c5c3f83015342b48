//! The rows and cells of a CSV table; all problems are collected.

use std::collections::HashMap;

use csv::StringRecord;

use super::{MOST_ROWS, Problems, TableError, TableProblem, quoted, without_mark};
use crate::units::{Fraction, Seconds};

/// The names and positions of the columns.
pub(super) struct Header {
    names: Vec<String>,
    positions: HashMap<String, usize>,
}

impl Header {
    fn new(record: &StringRecord) -> Self {
        let names: Vec<String> = record.iter().map(|name| name.trim().to_owned()).collect();
        let positions = names
            .iter()
            .enumerate()
            .rev()
            .map(|(position, name)| (name.clone(), position))
            .collect();
        Self { names, positions }
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.positions.contains_key(column)
    }

    /// The names for a message, shortened if there are many.
    pub(super) fn shown(&self) -> String {
        const MOST: usize = 20;
        let mut names: Vec<String> = self.names.iter().take(MOST).map(|n| quoted(n)).collect();
        if self.names.len() > MOST {
            names.push(format!("and {} more", self.names.len() - MOST));
        }
        names.join(", ")
    }

    /// Reports each of `columns` that appears twice, which is ambiguous.
    pub(super) fn refuse_twins(&self, columns: &[&str], problems: &mut Problems) {
        for column in columns {
            if self.names.iter().filter(|name| name == column).count() > 1 {
                problems.add(TableProblem {
                    line: 1,
                    column: Some((*column).to_owned()),
                    what: "this column appears twice; remove one".to_owned(),
                });
            }
        }
    }
}

/// A row and its line number, from 1.
pub(super) type NumberedRow = (u64, StringRecord);

/// The header and the rows below it; blank lines are skipped.
pub(super) fn split(text: &str) -> Result<(Header, Vec<NumberedRow>), TableError> {
    // One kind of line end, so that blank lines before a row can be counted.
    let text = without_mark(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    let mut record = StringRecord::new();
    let mut rest = text.as_str();
    let mut line = 1;
    while reader
        .read_record(&mut record)
        .expect("text in memory is UTF-8 and rows may differ in length")
    {
        // The reader skips blank lines silently and counts them as part of the next row.
        let row = rest.trim_start_matches('\n');
        line += line_ends(&rest[..rest.len() - row.len()]);
        if record.iter().any(|cell| !cell.trim().is_empty()) {
            rows.push((line, record.clone()));
        }
        // With the header.
        if rows.len() > MOST_ROWS + 1 {
            return Err(TableError::TooLong);
        }
        let next = usize::try_from(reader.position().byte())
            .expect("a position in a text that is in memory");
        line += line_ends(&row[..row.len() - (text.len() - next)]);
        rest = &text[next..];
    }
    if rows.is_empty() {
        return Err(TableError::Empty);
    }
    let (_, header) = rows.remove(0);
    let header = Header::new(&header);
    Ok((header, rows))
}

fn line_ends(text: &str) -> u64 {
    text.bytes().map(|byte| u64::from(byte == b'\n')).sum()
}

/// The cells of one row, by column.
pub(super) struct Cells<'a> {
    pub(super) line: u64,
    header: &'a Header,
    record: &'a StringRecord,
    problems: &'a mut Problems,
    sound: bool,
}

impl<'a> Cells<'a> {
    /// `None` and a problem if the row and the header have different numbers of cells.
    pub(super) fn new(
        header: &'a Header,
        (line, record): &'a NumberedRow,
        problems: &'a mut Problems,
    ) -> Option<Self> {
        let mut row = Self {
            line: *line,
            header,
            record,
            problems,
            sound: true,
        };
        if record.iter().any(|cell| cell.contains('\n')) {
            row.complain(
                None,
                "a cell holds a line break: a quote is opened and not closed".to_owned(),
            );
        } else if record.len() > header.names.len() {
            row.complain(
                None,
                format!(
                    "{} cells found, {} expected: a cell that holds a comma is written in quotes",
                    record.len(),
                    header.names.len()
                ),
            );
        }
        row.sound.then_some(row)
    }

    /// Whether this row has no problem so far.
    pub(super) fn is_sound(&self) -> bool {
        self.sound
    }

    pub(super) fn complain(&mut self, column: Option<&str>, what: String) {
        self.sound = false;
        self.problems.add(TableProblem {
            line: self.line,
            column: column.map(str::to_owned),
            what,
        });
    }

    /// The trimmed cell; `None` if it is empty, the row ends before it, or the table has no such column.
    pub(super) fn text(&self, column: &str) -> Option<&'a str> {
        let cell = self.record.get(*self.header.positions.get(column)?)?.trim();
        (!cell.is_empty()).then_some(cell)
    }

    /// The cell's value; `None` if it is missing, and a problem if `read` rejects it.
    pub(super) fn optional<T>(
        &mut self,
        column: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let cell = self.text(column)?;
        let value = read(cell);
        if value.is_none() {
            self.complain(
                Some(column),
                format!("found {}, expected {expected}", quoted(cell)),
            );
        }
        value
    }

    /// Like [`Cells::optional`], but a missing cell is a problem too.
    pub(super) fn required<T>(
        &mut self,
        column: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        if self.text(column).is_none() {
            self.complain(Some(column), format!("nothing found, expected {expected}"));
        }
        self.optional(column, expected, read)
    }
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

/// Numbers runs of the same kind from 0, in the order of the rows.
#[derive(Default)]
pub(super) struct Replicates(HashMap<String, u32>);

impl Replicates {
    pub(super) fn next(&mut self, kind: String) -> u32 {
        let seen = self.0.entry(kind).or_default();
        let replicate = *seen;
        *seen += 1;
        replicate
    }
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
        let (_, rows) = split("a\n\"1\n2\"\n3\n").ok().unwrap();
        assert_eq!((rows[0].0, rows[1].0), (2, 4));
    }

    #[test]
    fn numbers_read_as_data_frames_write_them() {
        assert_eq!(count("12"), Some(12));
        assert_eq!(count("12.0"), Some(12));
        assert_eq!(count("18446744073709551615"), Some(u64::MAX));
        for text in ["12.5", "-1", "1e3", "", "x", "18446744073709551616"] {
            assert_eq!(count(text), None, "{text}");
        }
        assert_eq!(seconds("1.5e2"), Some(Seconds(150.0)));
        for text in ["-1", "NaN", "inf", "1e999", "8h"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_share_is_a_fraction_or_carries_its_percent_sign() {
        assert_eq!(fraction("0.03"), Some(Fraction(0.03)));
        assert_eq!(fraction("3 %"), Some(Fraction(0.03)));
        assert_eq!(fraction("1"), Some(Fraction(1.0)));
        for text in ["0", "3", "-0.1", "101%", "NaN", "%"] {
            assert_eq!(fraction(text), None, "{text}");
        }
    }
}
