//! What the action found, and what ended it before its time.

use crate::console::AppError;
use crate::gate::Left;
use crate::report::Report;
use crate::workspace::project::Project;

/// What the story found.
pub(super) struct Checked {
    pub(super) report: Report,
    /// For the places of budget lines; `None` where no spec was read.
    pub(super) project: Option<Project>,
    /// What ended it before its time, or kept a job from being checked.
    pub(super) error: Option<AppError>,
    pub(super) left: Left,
}

impl Checked {
    /// A report that no canary was started for.
    pub(super) fn without_canaries(report: Report, project: Option<Project>) -> Self {
        Self {
            report,
            project,
            error: None,
            left: Left::Nothing,
        }
    }
}
