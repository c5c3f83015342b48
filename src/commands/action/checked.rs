//! The result of the action's check.

use crate::console::AppError;
use crate::gate::Left;
use crate::report::Report;
use crate::workspace::project::Project;

/// The result of the action's check.
pub(super) struct Checked {
    pub(super) report: Report,
    /// For the places of budget lines; `None` if no spec was read.
    pub(super) project: Option<Project>,
    /// Why it ended early, or why a job could not be checked.
    pub(super) error: Option<AppError>,
    pub(super) left: Left,
}

impl Checked {
    /// A result without a canary.
    pub(super) fn without_canaries(report: Report, project: Option<Project>) -> Self {
        Self {
            report,
            project,
            error: None,
            left: Left::Nothing,
        }
    }
}
