//! Results go to standard output, all else to standard error.

use std::io::Write;

use crate::cli::Verbosity;
use crate::console::{AppError, AppResult, terminal};
use crate::report::escape;

/// Longer quotes are cut, in characters.
const LONGEST_LINE: usize = 2000;
/// Deeper indentation is cut, in spaces.
const DEEPEST_INDENTATION: usize = 40;

/// Makes hostile text safe to print: no control characters, no endless lines.
pub(crate) fn printable(text: &str) -> String {
    escape::for_terminal(text, LONGEST_LINE)
}

/// Makes a line safe to print and keeps its indentation.
pub(crate) fn indented(line: &str) -> String {
    let text = line.trim_start_matches(' ');
    let indentation = (line.len() - text.len()).min(DEEPEST_INDENTATION);
    format!("{}{}", " ".repeat(indentation), printable(text))
}

/// How much is printed to standard error beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loudness {
    Quiet,
    Normal,
    Verbose,
}

impl Loudness {
    pub(crate) fn of(verbosity: &Verbosity) -> Self {
        match verbosity {
            Verbosity { quiet: true, .. } => Self::Quiet,
            Verbosity { verbose: 0, .. } => Self::Normal,
            Verbosity { .. } => Self::Verbose,
        }
    }
}

/// Prints to standard output. A closed pipe is not a failure.
pub(crate) fn print(text: &str) -> AppResult<()> {
    let mut stdout = std::io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes());
    match printed.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(AppError::failed("could not write to standard output")
                .help("if it is a file, see that its disk has space left")
                .caused_by(error))
        }
        _ => Ok(()),
    }
}

/// Prints lines of prose to standard output, as wide as its terminal.
pub(crate) fn print_prose(text: &str) -> AppResult<()> {
    let width = terminal::stdout_width().map(usize::from);
    print(&terminal::wrapped(text, width))
}

/// Prints a line to standard error, as wide as its terminal.
pub(crate) fn say(text: &str) {
    let text = terminal::wrapped(text, terminal::stderr_width());
    let mut stderr = std::io::stderr().lock();
    // Without standard error there is nowhere to report to.
    let _ = writeln!(stderr, "{text}");
}

/// Warns about one field of the spec.
pub(crate) fn warn(field: &str, message: &str) {
    let (field, message) = (printable(field), printable(message));
    say(&format!("warning: {field}: {message}"));
}
