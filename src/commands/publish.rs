//! Publishes a report: to standard output in one format, to files in others.

use std::io::IsTerminal;

use crate::cli::Format;
use crate::console::files::{self, FileKind, Outputs};
use crate::console::{AppError, print, say, terminal};
use crate::gate::last_report;
use crate::report::{self, Report};
use crate::workspace::project::Project;

/// Publishes a report and keeps it. Returns the exit code, or the command's error with that code. The report is printed even
/// if a file cannot be written.
pub(crate) fn publish_and_keep(
    (report, failed): (Report, Option<AppError>),
    project: &Project,
    format: Format,
    outputs: &Outputs,
) -> Result<u8, AppError> {
    let published = publish(&report, format, outputs);
    let written = published.and(last_report::keep(&report, project));
    let Some(error) = failed else {
        return written.map(|()| report.exit_code);
    };
    // Of two errors the job's is returned, the other is printed.
    if let Err(unwritten) = written {
        say(unwritten.render(false).trim_end());
    }
    Err(error.ending_with(report.exit_code))
}

/// Prints the report first, so that a file that cannot be written does not suppress it.
pub(crate) fn publish(report: &Report, format: Format, outputs: &Outputs) -> Result<(), AppError> {
    print(&rendered(report, format))?;
    let mut failure = Ok(());
    for (path, kind) in &outputs.files {
        let text = match kind {
            FileKind::Json => report::to_json(report),
            FileKind::Markdown => report::markdown::render(report),
            FileKind::Csv => report::csv::render(report),
        };
        // A file that cannot be written does not prevent the others.
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
                    width: terminal::stdout_width(),
                },
            )
        }
    }
}
