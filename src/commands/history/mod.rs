//! `history list`, `show` and `export`: what earlier runs of the gate found. Reads only.

mod export;
mod facts;
mod list;
mod show;
mod table;

use std::collections::BTreeSet;

use crate::cli::HistoryCommand;
use crate::console::{AppError, printable, say};
use crate::gate::open_history;
use crate::history::record::Command;
use crate::history::{Damaged, Entry, History, Listing, Scope};
use crate::spec::Spec;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;

/// Of those that have records, where one is asked for that has none.
const JOBS_NAMED: usize = 20;

/// So many records are held at a time.
const BATCH: usize = 200;

pub(super) async fn history(command: &HistoryCommand) -> Result<u8, AppError> {
    match command {
        HistoryCommand::List(arguments) => {
            let project = Project::load(&arguments.spec)?;
            let history = open(&project).await?;
            list::list(&history, arguments, &project.spec).await
        }
        HistoryCommand::Show(arguments) => {
            let project = Project::load(&arguments.spec)?;
            let history = open(&project).await?;
            show::show(&history, arguments).await
        }
        HistoryCommand::Export(arguments) => {
            let project = Project::load(&arguments.spec)?;
            let history = open(&project).await?;
            export::export(&history, arguments, &project).await
        }
    }
}

/// What this run may read.
async fn open(project: &Project) -> Result<History, AppError> {
    let origin = RunOrigin::of_environment(project, Command::Run);
    open_history::open(project, origin.scope).await
}

/// The names of all records that this run may read, of one job or of all.
///
/// # Errors
///
/// A job that has no record and is none of the spec's; one that is gone from the spec may have some.
async fn list_of(history: &History, job: Option<&str>, spec: &Spec) -> Result<Listing, AppError> {
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
fn nothing(history: &History, job: Option<&str>) -> String {
    let of = job.map_or(String::new(), |job| {
        format!(" of the job `{}`", printable(job))
    });
    match history.scope() {
        Scope::Local => format!("there is no record{of} yet"),
        scope => format!("there is no record{of} that this run (`{scope}`) may read"),
    }
}

/// Names what was passed over.
fn warn_of(damaged: &[Damaged]) {
    for Damaged { place, why } in damaged {
        say(&format!(
            "warning: a record of the history is passed over: {}: {}",
            printable(place),
            printable(why)
        ));
    }
}

/// What a person calls a record in a list: what makes its name unique.
fn id(entry: &Entry) -> &str {
    &entry.unique
}
