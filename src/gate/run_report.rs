//! The report over all jobs of a project.

use crate::assess::whole_report;
use crate::change::AffectedJob;
use crate::exit::Strictness;
use crate::report::{JobReport, Report};
use crate::workspace::checkout::Checkout;
use crate::workspace::project::Project;

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
    report.policy = Some(project.policy.reported());
    report.commit = project.checkout.as_ref().and_then(Checkout::commit);
    report.spec_hash = Some(project.spec.hash.clone());
    report
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
