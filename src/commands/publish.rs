//! Publishing a report: to standard output in one form, to files in others.

use std::io::IsTerminal;

use crate::cli::Format;
use crate::console::files::{self, FileKind, Outputs};
use crate::console::{AppError, print, say, terminal};
use crate::gate::last_report;
use crate::report::{self, Report};
use crate::workspace::project::Project;

/// Publishes what a command found and keeps it; gives back the exit code, or the command's own error with it. Whoever reads
/// standard output has the report even if a file of it cannot be written.
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
    // Two troubles are both said; the job's is the command's own.
    if let Err(unwritten) = written {
        say(unwritten.render(false).trim_end());
    }
    Err(error.ending_with(report.exit_code))
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
                    width: terminal::stdout_width(),
                },
            )
        }
    }
}
