//! Recorded measurements as text: JSON lines and a CSV table. Pure: reads and writes text, not files.
//!
//! The program's own format is one JSON object per line (`json_lines`). The one CSV table that is known, by its columns (`columns`), is
//! that of the seed library for canary training, which is written too (`seed`). A reader reports all problems at once, each with its
//! line; a caution about a valid table is a note.

mod columns;
mod job_names;
mod json_lines;
mod seed;
mod sound;

use crate::grammar::at_most;
use crate::measurement::Measurement;

pub use columns::read_csv;
pub use json_lines::{plain_words, read_json_lines, to_json_line};
pub use seed::{write_seed_csv, written};

/// The content of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurementTable {
    /// In the order of the rows.
    pub measurements: Vec<Measurement>,
    /// Assumptions and omissions, as sentences without a capital. They may quote the table, escaped and shortened.
    pub notes: Vec<String>,
    /// A caution if the names of the rows did not say which belong together; of no interest to who knows their job.
    pub about_jobs: Option<String>,
}

/// A longer table is refused: a forecast holds all of its runs at once.
pub const MOST_ROWS: usize = 20_000;

/// The text is not a table of measurements. The message has one line for each problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error(
        "the table is empty; expected a header and one row for each run, or one JSON object per line"
    )]
    Empty,
    #[error("the table has a header and no rows; expected one row for each run")]
    NoRows,
    #[error(
        "the table has more than {MOST_ROWS} rows; keep those of the newest runs, or of one job"
    )]
    TooLong,
    #[error(
        "the columns are not those of canary-training's table\n  found:    {found}\n  expected: {}\n  write other runs as JSON lines, one object for each, in a file that does not end in .csv",
        columns::NEEDED.join(", ")
    )]
    UnknownColumns { found: String },
    #[error("this is a report, not measurements; render it with `canary-gate report --from FILE`")]
    Report,
    /// At least one, in the order of the lines.
    #[error("{}", shown(.0))]
    Problems(Vec<TableProblem>),
}

/// The most problems shown; a table with one wrong column has a problem in every row.
const SHOWN: usize = 20;

fn shown(problems: &[TableProblem]) -> String {
    let count = match problems.len() {
        1 => "a problem".to_owned(),
        count => format!("{count} problems"),
    };
    let shown = at_most(problems.iter().map(ToString::to_string), SHOWN);
    format!("the table has {count}\n  {}", shown.join("\n  "))
}

impl MeasurementTable {
    fn unless(self, problems: Vec<TableProblem>) -> Result<Self, TableError> {
        match problems.is_empty() {
            true => Ok(self),
            false => Err(TableError::Problems(problems)),
        }
    }
}

/// A problem of one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {what}", .column.as_ref().map_or(String::new(), |it| format!(", column {it}")))]
pub struct TableProblem {
    /// From 1.
    pub line: u64,
    /// The column's name; absent if the problem concerns the whole line.
    pub column: Option<String>,
    /// What was found and what was expected; quotes from the table are escaped and shortened.
    pub what: String,
}

impl TableProblem {
    fn of(line: u64, column: Option<&str>, what: impl Into<String>) -> Self {
        Self {
            line,
            column: column.map(str::to_owned),
            what: what.into(),
        }
    }
}

/// Text of a table for a message: shortened, with control and format characters escaped.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(LONGEST).collect();
    let dots = characters.next().map_or("", |_| "…");
    format!("`{}{dots}`", start.escape_debug())
}

/// The text without a byte order mark.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: &str =
        "InstanceType,TrainingJobStatus,TrainingTimeInSeconds,PercentageDataTrainedOn";

    proptest! {
        /// Any text is read or refused; a problem stands on a line that the text has.
        #[test]
        fn no_text_is_too_odd(
            header in "(InstanceType,TrainingJobStatus,TrainingTimeInSeconds,PercentageDataTrainedOn)?",
            body in "[a,\"\r\n 1%.é-]{0,60}",
        ) {
            let text = format!("{header}\n{body}");
            for result in [read_csv(&text), read_json_lines(&text), read_json_lines(&body)] {
                if let Err(TableError::Problems(problems)) = result {
                    let lines = text.replace("\r\n", "\n").matches(['\n', '\r']).count() + 1;
                    let last = problems.last().map_or(0, |problem| problem.line);
                    prop_assert!((1..=u64::try_from(lines).unwrap()).contains(&last));
                }
            }
        }
    }

    #[test]
    fn nothing_and_a_header_alone_are_refused() {
        for text in ["", "\u{feff}", "\n\r\n", " , ,\n"] {
            assert_eq!(read_csv(text), Err(TableError::Empty), "{text:?}");
        }
        assert_eq!(read_csv(&format!("{HEADER}\n\n")), Err(TableError::NoRows));
    }

    #[test]
    fn a_table_of_too_many_rows_is_refused() {
        let csv = |rows| format!("{HEADER}\n{}", "local,Completed,1,1%\n".repeat(rows));
        assert_eq!(
            read_csv(&csv(MOST_ROWS)).unwrap().measurements.len(),
            MOST_ROWS
        );
        assert_eq!(read_csv(&csv(MOST_ROWS + 1)), Err(TableError::TooLong));
        assert_eq!(
            read_json_lines(&"{}\n".repeat(MOST_ROWS + 1)),
            Err(TableError::TooLong)
        );
    }

    /// Unknown columns, many of them, a quote that is not closed, a column that stands twice and one that is ignored, and problems
    /// beyond the first.
    #[test]
    fn a_table_that_is_none_says_why() {
        let row = "local,Completed,1,1%";
        let refusals = [
            "workload,fraction_requested,wall_seconds\na,1%,2\n".to_owned(),
            vec!["column"; 30].join(","),
            format!("{HEADER},note\n{row},\"oops\n{row},\n{row},\n"),
            format!("{HEADER},x,x,InstanceType\n{row},,,local\n"),
            format!("{HEADER}\n{}", "local,Completed,1,x\n".repeat(SHOWN + 5)),
        ]
        .map(|text| read_csv(&text).unwrap_err().to_string());
        insta::assert_snapshot!(refusals.join("\n"));
    }

    #[test]
    fn a_quote_from_the_table_is_short_and_harmless() {
        assert_eq!(quoted("a\u{1b}[0m\nb"), "`a\\u{1b}[0m\\nb`");
        assert_eq!(quoted(&"é".repeat(100)).chars().count(), 63);
    }
}
