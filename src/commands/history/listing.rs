//! Shared by the commands of the history: the existing records, and how a record is named.

use std::collections::BTreeSet;

use crate::console::{AppError, printable};
use crate::history::{History, Listing, Scope};
use crate::report::words::first_of;
use crate::spec::Spec;

/// Jobs named in the error about a job without records.
const JOBS_NAMED: usize = 20;

/// The records that this run may read, of one job or of all.
///
/// # Errors
///
/// A job with neither a record nor an entry in the spec. A job that was removed from the spec may have records.
pub(super) async fn list_of(
    history: &History,
    job: Option<&str>,
    spec: &Spec,
) -> Result<Listing, AppError> {
    let listing = history.list(job).await?;
    let is_empty = listing.entries.is_empty() && listing.damaged.is_empty();
    if let Some(job) = job.filter(|job| is_empty && spec.job(job).is_none()) {
        let recorded = history.list(None).await?;
        let names = recorded.entries.iter().map(|entry| entry.job.as_str());
        let names: BTreeSet<&str> = names
            .chain(spec.jobs.iter().map(|job| job.name.as_str()))
            .collect();
        let names: Vec<String> = names.into_iter().map(printable).collect();
        let what = format!("there is no record of a job `{}`", printable(job));
        let help = format!("the jobs are {}", first_of(&names, JOBS_NAMED));
        return Err(AppError::usage(what).help(help));
    }
    Ok(listing)
}

/// The text if there are no records.
pub(super) fn nothing(history: &History, job: Option<&str>) -> String {
    let of = job.map_or(String::new(), |job| {
        format!(" of the job `{}`", printable(job))
    });
    match history.scope() {
        Scope::Local => format!("there is no record{of} yet"),
        scope => format!("there is no record{of} that this run (`{scope}`) may read"),
    }
}
