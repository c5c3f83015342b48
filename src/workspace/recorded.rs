//! What earlier runs wrote to files: measurements, as JSON lines or a CSV table, and reports.

use std::path::Path;

use crate::console::{AppError, AppResult, StepResult, files};
use crate::measurement::table::{self, MeasurementTable};
use crate::report::{self, Report};
use crate::units::Bytes;

/// Reads a file of at most `limit`; `refused` is the error if it cannot be read.
///
/// A `.csv` file is read as a table, any other as JSON lines.
pub(crate) fn read(
    file: &Path,
    limit: Bytes,
    refused: impl Fn() -> AppError,
) -> AppResult<MeasurementTable> {
    let text = files::read_text_up_to(file, limit).or_fail(|| {
        refused().help("the file holds JSON lines (.jsonl) or a table (.csv), in UTF-8")
    })?;
    let is_csv = file.extension().is_some_and(|extension| extension == "csv");
    if is_csv { table::read_csv(&text) } else { table::read_json_lines(&text) }
        .or_fail(|| refused()
            .help("`canary-gate run --measurements FILE` writes such files; `canary-gate schema measurement` prints a line's form"))
}

/// Reads a report that an earlier run wrote.
pub(crate) fn report(file: &Path) -> AppResult<Report> {
    let refuse = || AppError::usage(format!("the report {} cannot be read", file.display()));
    let text = files::read_text(file)
        .or_fail(|| refuse().help("a report is what `run --output report.json` wrote"))?;
    report::from_json(&text).map_err(|error| refuse().help(&error.help).caused_by(error))
}
