//! What earlier runs wrote to files: measurements, as JSON lines or a CSV table, and reports.

use std::path::Path;

use crate::console::{AppError, AppResult, files};
use crate::measurement::table::{self, MeasurementTable};
use crate::report::{self, Report};
use crate::units::Bytes;

/// Reads a file of at most `limit`; `refused` is the error if it cannot be read.
///
/// A `.csv` file is read as a table, any other as JSON lines.
pub(crate) fn read(file: &Path, limit: Bytes, refused: AppError) -> AppResult<MeasurementTable> {
    let text = match files::read_text_up_to(file, limit) {
        Ok(text) => text,
        Err(source) => {
            return Err(refused
                .help("the file holds JSON lines (.jsonl) or a table (.csv), in UTF-8")
                .caused_by(source));
        }
    };
    let is_csv = file.extension().is_some_and(|extension| extension == "csv");
    if is_csv { table::read_csv(&text) } else { table::read_json_lines(&text) }
        .map_err(|error| refused
            .help("`canary-gate run --measurements FILE` writes such files; `canary-gate schema measurement` prints a line's form")
            .caused_by(error))
}

/// Reads a report that an earlier run wrote.
pub(crate) fn report(file: &Path) -> AppResult<Report> {
    let refuse = || AppError::usage(format!("the report {} cannot be read", file.display()));
    let text = files::read_text(file).map_err(|source| {
        refuse()
            .help("a report is what `run --output report.json` wrote")
            .caused_by(source)
    })?;
    report::from_json(&text).map_err(|error| refuse().help(error.help()).caused_by(error))
}
