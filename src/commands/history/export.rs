//! `history export`: records for other programs.

use std::ops::ControlFlow;
use std::path::Path;

use jiff::Timestamp;

use crate::cli::{ExportFormat, HistoryExportArguments};
use crate::console::{AppResult, Loudness, files, print};
use crate::gate::open_history::warn_of;
use crate::history::export::Export;
use crate::history::{Entry, History, Record, Scope};
use crate::workspace::{Checkout, Project, RunOrigin};

use super::list::list_of;

/// A format, the extension of files that hold it, and what of the history it has.
type ExportRow = (ExportFormat, &'static str, fn() -> Export);

/// The first of an extension is what a file of that extension holds; the first of all is the default.
const FORMATS: [ExportRow; 5] = [
    (ExportFormat::Csv, "csv", Export::forecasts),
    (ExportFormat::Seed, "csv", Export::seed),
    (ExportFormat::Jsonl, "jsonl", Export::json_lines),
    (ExportFormat::Html, "html", Export::page),
    (ExportFormat::Badge, "json", Export::badge),
];

/// What a run of a scope reads for an export. A page shows what all runs spent, so on the default branch it has every scope, each
/// kept apart; it decides nothing.
pub(super) fn reader(arguments: &HistoryExportArguments, scope: Scope) -> Scope {
    match (format(arguments).0, scope) {
        (ExportFormat::Html, Scope::Main) => Scope::Local,
        _ => scope,
    }
}

pub(super) async fn export(
    history: &History,
    arguments: &HistoryExportArguments,
    project: &Project,
    origin: &RunOrigin,
    loudness: Loudness,
) -> AppResult<u8> {
    let root = &project.root;
    let (format, .., begin) = format(arguments);
    if let Some(output) = output(arguments) {
        files::check_target(output, root)?;
    }
    let mut listing = list_of(history, arguments.job.as_deref(), &project.spec).await?;
    let mut damaged = listing.damaged;
    let jobs: Vec<&str> = match &arguments.job {
        Some(job) => vec![job],
        None => project.spec.jobs.iter().map(|job| &*job.name).collect(),
    };
    let is_badge = *format == ExportFormat::Badge;
    if is_badge {
        let is_its = |entry: &Entry| entry.scope == Scope::Main && jobs.contains(&&*entry.job);
        listing.entries.retain(is_its);
    }
    let branch = branch_of(project, origin);
    let mut export = begin();
    let add = |entry: &Entry, record: Record| {
        // Where nobody knows which branch a badge is of, nothing was checked.
        if !is_badge || branch.is_some() && record.writer.branch == branch {
            export.add(entry, &record);
        }
        ControlFlow::Continue(())
    };
    damaged.extend(history.read(&listing.entries, add).await?);
    let text = export.finish(&damaged, Timestamp::now(), &jobs);
    match output(arguments) {
        None => print(&text)?,
        Some(output) => files::write_asked(output, text.as_bytes(), root, loudness)?,
    }
    damaged.iter().for_each(warn_of);
    Ok(0)
}

/// The branch that a badge is of: that of the push or schedule, else origin's default branch; `None` where neither is known.
fn branch_of(project: &Project, origin: &RunOrigin) -> Option<String> {
    let own = (origin.writer.branch.clone()).filter(|_| origin.scope == Scope::Main);
    let checkout = project.checkout.as_ref().and_then(Checkout::git);
    let default = || Some(checkout?.default_base()?.replacen("origin/", "", 1));
    own.or_else(default)
}

fn output(arguments: &HistoryExportArguments) -> Option<&Path> {
    let file = arguments.file.as_ref().or(arguments.output.as_ref());
    file.map(|file| file.as_path())
}

/// The format that is asked for, else by the file's extension, else the forecasts.
fn format(arguments: &HistoryExportArguments) -> &'static ExportRow {
    let extension = output(arguments).and_then(Path::extension);
    let is_it = |(format, known, _): &&ExportRow| match arguments.format {
        Some(asked) => asked == *format,
        None => extension.is_some_and(|it| it == *known),
    };
    FORMATS.iter().find(is_it).unwrap_or(&FORMATS[0])
}
