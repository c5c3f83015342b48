//! `history export`: records for other programs.

use std::ops::ControlFlow;
use std::path::Path;

use jiff::Timestamp;

use crate::cli::{ExportFormat, HistoryExportArguments};
use crate::console::{AppError, Loudness, files, print, printable};
use crate::gate::open_history::warn_of;
use crate::history::export::Export;
use crate::history::record::Record;
use crate::history::{Entry, History, Scope};
use crate::workspace::checkout::Checkout;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;

use super::list::list_of;

/// A format, its name, the extension of files that hold it, and what of the history it has.
type ExportRow = (ExportFormat, &'static str, &'static str, fn() -> Export);

/// The first of an extension is what a file of that extension holds; the first of all is the default.
const FORMATS: [ExportRow; 5] = [
    (ExportFormat::Csv, "csv", "csv", Export::forecasts),
    (ExportFormat::Seed, "seed", "csv", Export::seed),
    (ExportFormat::Jsonl, "jsonl", "jsonl", Export::json_lines),
    (ExportFormat::Html, "html", "html", Export::page),
    (ExportFormat::Badge, "badge", "json", Export::badge),
];

/// What a run of a scope reads for an export. A page shows what all runs spent, so on the default branch it has every scope, each
/// kept apart; it decides nothing.
pub(super) fn reader(arguments: &HistoryExportArguments, scope: Scope) -> Result<Scope, AppError> {
    Ok(match (format(arguments)?.0, scope) {
        (ExportFormat::Html, Scope::Main) => Scope::Local,
        _ => scope,
    })
}

pub(super) async fn export(
    history: &History,
    arguments: &HistoryExportArguments,
    project: &Project,
    origin: &RunOrigin,
    loudness: Loudness,
) -> Result<u8, AppError> {
    let root = &project.root;
    let (format, .., begin) = format(arguments)?;
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
///
/// # Errors
///
/// The extension names another format than is asked for.
fn format(arguments: &HistoryExportArguments) -> Result<&'static ExportRow, AppError> {
    let output = output(arguments);
    let extension = output.and_then(Path::extension);
    let mut formats = FORMATS.iter();
    let named = formats.find(|(_, _, known, _)| extension.is_some_and(|it| it == *known));
    let mut formats = FORMATS.iter();
    let asked = formats.find(|(format, ..)| arguments.format == Some(*format));
    match (asked, named) {
        (Some((_, asked, written, _)), Some((_, name, known, _))) if written != known => {
            let output = output.map_or(String::new(), |output| output.display().to_string());
            Err(AppError::usage(format!(
                "--format {asked} contradicts the name of the file, {}, which says {name}",
                printable(&output)
            ))
            .help("give the file another name, or leave out --format"))
        }
        (asked, named) => Ok(asked.or(named).unwrap_or(&FORMATS[0])),
    }
}
