//! A report that an earlier run wrote to a file.

use std::path::Path;

use crate::console::{AppError, files};
use crate::report::{self, Report};

/// Reads a stored report.
pub(crate) fn read(file: &Path) -> Result<Report, AppError> {
    let refuse = || AppError::usage(format!("the report {} cannot be read", file.display()));
    let text = files::read_text(file).map_err(|source| {
        refuse()
            .help("a report is what `run --output report.json` wrote")
            .caused_by(source)
    })?;
    report::from_json(&text).map_err(|error| refuse().help(error.help()).caused_by(error))
}
