//! The report of the last run of the gate, kept beside the spec.

use std::path::PathBuf;

use crate::console::{AppError, files};
use crate::report::Report;
use crate::workspace::project::Project;

/// In the gate's own folder.
const LAST_REPORT: &str = "last-report.json";

/// Where the last report is kept.
pub(crate) fn path(project: &Project) -> PathBuf {
    project.state_folder().join(LAST_REPORT)
}

/// Keeps a report that has something to say beside the spec, for `actuals` and for who looks later.
pub(crate) fn keep(report: &Report, project: &Project) -> Result<(), AppError> {
    if report.jobs.is_empty() {
        return Ok(());
    }
    let json = crate::report::to_json(report);
    files::write_new(&path(project), json.as_bytes(), &project.root)
}
