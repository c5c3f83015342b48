//! How a run of the gate ended.

use crate::console::{AppError, say};
use crate::exit::Strictness;
use crate::gate::run_report;
use crate::report::{self, JobReport, Report};
use crate::units::Usd;
use crate::workspace::project::Project;

/// What it found.
pub(crate) struct GateOutcome {
    pub(crate) jobs: Vec<JobReport>,
    /// What a person must mend, with the job that it kept from being checked; `None`: the gate itself.
    pub(crate) failures: Vec<(Option<String>, AppError)>,
    pub(crate) left: Left,
}

/// What may still run, and cost, when the gate has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// Not everything could be stopped, or there was no time to see to it.
    Perhaps,
}

/// Why it ended without an answer.
pub(crate) struct GateFailure {
    pub(crate) error: AppError,
    /// What its canaries cost until then; `None` where none has ended, or without a price.
    pub(crate) spent: Option<Usd>,
    pub(crate) left: Left,
}

impl From<AppError> for GateFailure {
    /// Before the first canary.
    fn from(error: AppError) -> Self {
        Self {
            error,
            spent: None,
            left: Left::Nothing,
        }
    }
}

impl From<GateFailure> for AppError {
    fn from(broken: GateFailure) -> Self {
        broken.error
    }
}

impl GateOutcome {
    /// The report over all jobs, and the command's own error: the last of the failures, after the others were printed.
    pub(crate) fn report(
        self,
        project: &Project,
        notes: Vec<String>,
        strictness: Strictness,
    ) -> (Report, Option<AppError>) {
        let mut report = run_report::assemble(project, self.jobs, notes, strictness);
        report.failures = self
            .failures
            .iter()
            .map(|(job, error)| error.failure(job.as_deref()))
            .collect();
        let troubles = self.failures.iter().map(|(_, error)| error.code());
        report.exit_code = report::exit_code(&report.jobs, troubles, strictness);
        (report, one_error(self.failures))
    }
}

/// The last of the failures as the command's own, after the others were printed.
fn one_error(failures: Vec<(Option<String>, AppError)>) -> Option<AppError> {
    let mut errors = failures
        .into_iter()
        .map(|(name, error)| match name {
            None => error,
            Some(name) => error.of_job(&name),
        })
        .collect::<Vec<_>>();
    let last = errors.pop();
    for error in errors {
        say(error.render(false).trim_end());
    }
    last
}
