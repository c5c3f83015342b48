//! What the commands of the history share: the records that there are, and how a record is named.

use std::collections::BTreeSet;

use crate::console::{AppError, printable, say};
use crate::history::{Damaged, Entry, History, Listing, Scope};
use crate::spec::Spec;

/// Of those that have records, where one is asked for that has none.
const JOBS_NAMED: usize = 20;

/// So many records are held at a time.
pub(super) const BATCH: usize = 200;

/// The names of all records that this run may read, of one job or of all.
///
/// # Errors
///
/// A job that has no record and is none of the spec's; one that is gone from the spec may have some.
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
        let named: Vec<String> = names
            .iter()
            .take(JOBS_NAMED)
            .map(|name| printable(name))
            .collect();
        let more = match names.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return Err(
            AppError::usage(format!("there is no record of a job `{}`", printable(job)))
                .help(format!("the jobs are {}{more}", named.join(", "))),
        );
    }
    Ok(listing)
}

/// What is said where there is nothing to show.
pub(super) fn nothing(history: &History, job: Option<&str>) -> String {
    let of = job.map_or(String::new(), |job| {
        format!(" of the job `{}`", printable(job))
    });
    match history.scope() {
        Scope::Local => format!("there is no record{of} yet"),
        scope => format!("there is no record{of} that this run (`{scope}`) may read"),
    }
}

/// Names what was passed over.
pub(super) fn warn_of(damaged: &[Damaged]) {
    for Damaged { place, why } in damaged {
        say(&format!(
            "warning: a record of the history is passed over: {}: {}",
            printable(place),
            printable(why)
        ));
    }
}

/// What a person calls a record in a list: what makes its name unique.
pub(super) fn id(entry: &Entry) -> &str {
    &entry.unique
}
