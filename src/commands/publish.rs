//! Publishes a report: to standard output in one format, to files in others.

use std::path::Path;

use crate::cli::OutputArguments;
use crate::console::files::Outputs;
use crate::console::{AppError, Loudness, colours, print, say, terminal};
use crate::report::format::ReportFormat;
use crate::report::terminal::{ReportDepth, TerminalStyle};
use crate::report::{Report, markdown};

/// The files and the layout that a command line names, checked before anything is spent.
pub(crate) fn prepare(
    arguments: &OutputArguments,
    root: &Path,
    loudness: Loudness,
) -> Result<Outputs, AppError> {
    let template = arguments.template.as_ref();
    Outputs::prepare(&arguments.outputs, template, root, loudness)
}

/// Publishes what a command found. Returns the exit code, or the command's error with that code. The report is printed even
/// if a file cannot be written.
pub(crate) fn publish_found(
    (report, failed): (Report, Option<AppError>),
    arguments: &OutputArguments,
    outputs: &Outputs,
) -> Result<u8, AppError> {
    let written = publish(&report, arguments, outputs);
    let Some(error) = failed else {
        return written.map(|()| report.exit_code);
    };
    // Whoever reads both has read it above.
    let is_said = arguments.format.is_for_terminal() && terminal::is_shared();
    if is_said {
        return written.map(|()| report.exit_code);
    }
    // Of two errors the job's is returned, the other is printed.
    if let Err(unwritten) = written {
        say(unwritten.render_beside(false).trim_end());
    }
    Err(error.ending_with(report.exit_code))
}

/// Prints the report first, so that a file that cannot be written does not suppress it.
pub(crate) fn publish(
    report: &Report,
    arguments: &OutputArguments,
    outputs: &Outputs,
) -> Result<(), AppError> {
    let style = TerminalStyle {
        colours: colours::on_stdout(),
        width: terminal::stdout_width(),
        depth: match arguments.details {
            true => ReportDepth::Whole,
            false => ReportDepth::Brief,
        },
    };
    let render = |format: ReportFormat, style| match &outputs.template {
        Some(template) if format.is_markdown() => markdown::render_by(template, report),
        _ => format.render(report, style),
    };
    print(&render(arguments.format, style))?;
    let mut failure = Ok(());
    for (path, format) in &outputs.files {
        let text = render(*format, TerminalStyle::default());
        // A file that cannot be written does not prevent the others.
        failure = failure.and(outputs.write(path, &text));
    }
    failure
}
