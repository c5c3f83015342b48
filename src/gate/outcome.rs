//! How a run of the gate ended, and its report.

use std::collections::BTreeSet;

use crate::assess::whole_report;
use crate::change::AffectedJob;
use crate::console::{AppError, say};
use crate::exit::Strictness;
use crate::report::{self, JobReport, Leftovers, Report};
use crate::units::Usd;
use crate::verdict::Verdict;
use crate::workspace::{Checkout, Project};

/// The result of a run, or of one of its jobs.
#[derive(Default)]
pub(crate) struct GateOutcome {
    pub(crate) jobs: Vec<JobReport>,
    /// What a person must fix, each with its job; without one if it concerns the gate itself.
    pub(crate) failures: Vec<(Option<String>, AppError)>,
    /// Training jobs that go on.
    pub(crate) detached: BTreeSet<String>,
    pub(crate) left: Leftovers,
    /// What counts against a limit of the run; machine time without a price counts with its stand-in.
    pub(crate) committed: Usd,
    /// About the whole run.
    pub(crate) notes: Vec<String>,
}

/// Why a run ended without a report.
pub(crate) struct GateFailure {
    pub(crate) error: AppError,
    /// The cost of its canaries; `None` if no canary has ended, or without a price.
    pub(crate) spent: Option<Usd>,
    pub(crate) left: Leftovers,
}

impl From<AppError> for GateFailure {
    /// An error before the first canary.
    fn from(error: AppError) -> Self {
        Self {
            error,
            spent: None,
            left: Leftovers::Nothing,
        }
    }
}

impl From<GateFailure> for AppError {
    fn from(broken: GateFailure) -> Self {
        broken.error
    }
}

impl GateOutcome {
    /// That of one job: its part of the report, and what a person must fix.
    pub(crate) fn of(report: JobReport, failure: Option<AppError>) -> Self {
        let failures = failure.map(|error| (Some(report.name.clone()), error));
        Self {
            failures: failures.into_iter().collect(),
            jobs: vec![report],
            ..Self::default()
        }
    }

    /// The report over all jobs, and the last failure as the command's error; prints the others.
    pub(crate) fn report(
        self,
        project: &Project,
        mut notes: Vec<String>,
        strictness: Strictness,
    ) -> (Report, Option<AppError>) {
        notes.extend(self.notes);
        let mut report = assemble(project, self.jobs, notes, strictness);
        let failures = self.failures.iter();
        let failures = failures.map(|(job, error)| error.failure(job.as_deref()));
        report.failures = failures.collect();
        // Of a job that could not be checked the answer is not known.
        if self.failures.iter().any(|(job, _)| job.is_some()) {
            report.verdict = report.verdict.min(Verdict::Unknown);
        }
        let troubles = self.failures.iter().map(|(_, error)| error.code());
        report.exit_code = report::exit_code(&report.jobs, troubles, strictness);
        let errors = self.failures.into_iter().map(|(name, error)| match name {
            None => error,
            Some(name) => error.of_job(&name),
        });
        // All but the last are said here.
        let last = errors.reduce(|one, next| {
            say(one.render_beside(false).trim_end());
            next
        });
        (report, last)
    }
}

/// The report over all jobs, with the project's policy, commit and spec.
pub(crate) fn assemble(
    project: &Project,
    mut jobs: Vec<JobReport>,
    notes: Vec<String>,
    strictness: Strictness,
) -> Report {
    for job in &mut jobs {
        job.policy = project.policy.reported_of(job);
    }
    let mut report = whole_report::report(jobs, notes, strictness, jiff::Timestamp::now());
    report.policy = Some(project.policy.reported(&project.spec));
    report.commit = project.checkout.as_ref().and_then(Checkout::commit);
    report.spec_hash = Some(project.spec.hash.clone());
    report.subject = Some(project.place.file.clone());
    report
}

/// A report that holds nothing but why there is none.
pub(crate) fn failed_report(error: &AppError, exit_code: u8, notes: Vec<String>) -> Report {
    let (strictness, now) = (Strictness::default(), jiff::Timestamp::now());
    Report {
        failures: vec![error.failure(None)],
        verdict: Verdict::Unknown,
        exit_code,
        ..whole_report::report(Vec::new(), notes, strictness, now)
    }
}

/// The report of an undecidable project: every affected job is unknown. `None` if the project can be judged, or if no job is
/// affected.
pub(crate) fn undecidable_report(
    project: &Project,
    affected: &[AffectedJob<'_>],
    strictness: Strictness,
) -> Option<Report> {
    let reason = project.policy.undecidable.as_ref()?;
    let unknown = |affected: &AffectedJob<'_>| {
        whole_report::unknown_report(affected.job, &affected.by, reason, Vec::new())
    };
    let jobs: Vec<_> = affected.iter().map(unknown).collect();
    let strictness = match project.policy.has_other_backend {
        true => strictness.without_passing(),
        false => strictness,
    };
    (!jobs.is_empty()).then(|| assemble(project, jobs, Vec::new(), strictness))
}
