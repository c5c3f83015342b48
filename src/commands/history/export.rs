//! `history export`: records for other programs.

use std::path::Path;

use crate::cli::{ExportFormat, HistoryExportArguments};
use crate::console::{AppError, files, print, printable};
use crate::history::History;
use crate::history::export::{CanaryFormat, Export};
use crate::workspace::project::Project;

use super::listing::{BATCH, list_of, warn_of};

pub(super) async fn export(
    history: &History,
    arguments: &HistoryExportArguments,
    project: &Project,
) -> Result<u8, AppError> {
    let root = &project.root;
    let format = format(arguments)?;
    if let Some(output) = &arguments.output {
        files::check_target(output, root)?;
    }
    let listing = list_of(history, arguments.job.as_deref(), &project.spec).await?;
    let mut damaged = listing.damaged;
    let mut export = match format {
        ExportFormat::Csv => Export::forecasts(),
        ExportFormat::Seed => Export::canaries(CanaryFormat::Seed),
        ExportFormat::Jsonl => Export::canaries(CanaryFormat::JsonLines),
    };
    for batch in listing.entries.chunks(BATCH) {
        let loaded = history.load(batch).await?;
        damaged.extend(loaded.damaged);
        for (entry, record) in loaded.records {
            export.add(&entry, &record);
        }
    }
    let text = export.finish();
    match &arguments.output {
        None => print(&text)?,
        Some(output) => files::write_new(output, text.as_bytes(), root)?,
    }
    warn_of(&damaged);
    Ok(0)
}

/// The format that is asked for, else by the file's extension, else the forecasts.
///
/// # Errors
///
/// The extension names another format than is asked for.
fn format(arguments: &HistoryExportArguments) -> Result<ExportFormat, AppError> {
    let output = arguments.output.as_deref();
    let extension = output.and_then(Path::extension);
    let is_lines = extension.is_some_and(|extension| extension == "jsonl");
    let is_table = extension.is_some_and(|extension| extension == "csv");
    let (asked, named) = match arguments.format {
        None if is_lines => return Ok(ExportFormat::Jsonl),
        None => return Ok(ExportFormat::Csv),
        Some(ExportFormat::Jsonl) if is_table => ("jsonl", "csv"),
        Some(ExportFormat::Csv) if is_lines => ("csv", "jsonl"),
        Some(ExportFormat::Seed) if is_lines => ("seed", "jsonl"),
        Some(format) => return Ok(format),
    };
    let output = output.map_or(String::new(), |output| output.display().to_string());
    Err(AppError::usage(format!(
        "--format {asked} contradicts the name of the file, {}, which says {named}",
        printable(&output)
    ))
    .help("give the file another name, or leave out --format"))
}
