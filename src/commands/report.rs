//! `report --from`, and publishing a report: to standard output in one form, to files in others.

use std::io::IsTerminal;
use std::path::Path;

use crate::cli::{Format, ReportArguments};
use crate::console::files::{self, FileKind, Outputs};
use crate::console::{AppError, print, progress};
use crate::report::{self, Report};

pub(crate) fn report(arguments: &ReportArguments) -> Result<u8, AppError> {
    let here = std::env::current_dir()
        .map_err(|source| AppError::failed("the current folder is gone").caused_by(source))?;
    let outputs = Outputs::prepare(&arguments.output.outputs, &here)?;
    let mut parts = Vec::new();
    for file in &arguments.from {
        parts.push(read(file)?);
    }
    let report = report::merge(parts).map_err(|error| {
        AppError::usage("the reports cannot be merged")
            .help("each job belongs in one part; name each part once")
            .caused_by(error)
    })?;
    publish(&report, arguments.output.format, &outputs)?;
    Ok(report.exit_code)
}

/// Reads a stored report.
pub(crate) fn read(file: &Path) -> Result<Report, AppError> {
    let refuse = || AppError::usage(format!("the report {} cannot be read", file.display()));
    let text = files::read_text(file).map_err(|source| {
        refuse()
            .help("a report is what `run --output report.json` wrote")
            .caused_by(source)
    })?;
    report::from_json(&text).map_err(|error| refuse().help(error.help()).caused_by(error))
}

/// Standard output first, so that a file that cannot be written does not swallow the report.
pub(crate) fn publish(report: &Report, format: Format, outputs: &Outputs) -> Result<(), AppError> {
    print(&rendered(report, format))?;
    let mut failure = Ok(());
    for (path, kind) in &outputs.files {
        let text = match kind {
            FileKind::Json => report::to_json(report),
            FileKind::Markdown => report::markdown::render(report),
            FileKind::Csv => report::csv::render(report),
        };
        // One that cannot be written does not keep the others from it.
        failure = failure.and(files::write_new(path, text.as_bytes(), &outputs.root));
    }
    failure
}

fn rendered(report: &Report, format: Format) -> String {
    match format {
        Format::Json => report::to_json(report),
        Format::Markdown => report::markdown::render(report),
        Format::Terminal => {
            let is_terminal = std::io::stdout().is_terminal();
            report::terminal::render(
                report,
                report::terminal::TerminalStyle {
                    colours: is_terminal && std::env::var_os("NO_COLOR").is_none(),
                    width: progress::stdout_width(),
                },
            )
        }
    }
}
