//! Why something could not be checked, for every renderer: what was being done, what went wrong, and what to do.

use super::canaries;
use super::words;
use super::{Failure, JobReport, Report};
use crate::units::Usd;

/// More failures than this are counted: they mostly have one cause.
pub(super) const SHOWN: usize = 5;

/// More causes than this are counted.
pub(super) const CAUSES_SHOWN: usize = 20;

/// What a report has no verdict for.
pub(super) fn has_only_failures(report: &Report) -> bool {
    report.jobs.is_empty() && !report.failures.is_empty()
}

/// How many failures are not shown, as words.
pub(super) fn further(report: &Report) -> Option<String> {
    let further = report.failures.len().saturating_sub(SHOWN);
    (further > 0).then(|| format!("{further} more could not be checked"))
}

/// `Exit code 1: the tool failed, or a person must mend something first.`
pub(super) fn exit(report: &Report) -> String {
    format!(
        "Exit code {}: {}.",
        report.exit_code,
        words::exit_words(report.exit_code)
    )
}

/// What was spent until then: `3 runs, 0.12 USD.`.
pub(super) fn cost_so_far(report: &Report) -> String {
    let runs: usize = report.jobs.iter().map(|job| job.measurements.len()).sum();
    let usd: Option<Usd> = report
        .jobs
        .iter()
        .filter_map(|job| job.spend.canary_usd)
        .reduce(|sum, usd| sum + usd);
    if runs == 0 && usd.is_none() {
        return "Nothing known: no canary run was recorded.".to_owned();
    }
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    format!("{}.", canaries::spend(&jobs))
}

/// Whether a failure's causes are to be set as they are, in lines of their own.
pub(super) fn has_excerpts(failure: &Failure) -> bool {
    failure.causes.iter().any(|cause| cause.contains('\n'))
}

/// Causes that are not shown, as words.
pub(super) fn further_causes(failure: &Failure) -> Option<String> {
    let further = failure.causes.len().saturating_sub(CAUSES_SHOWN);
    (further > 0).then(|| format!("and {further} more"))
}
