//! What a command says: results on standard output, all else on standard error.

use std::io::Write;

use crate::cli::Verbosity;
use crate::report::escape;

use super::error::AppError;

/// What is quoted from elsewhere is cut after this many characters.
const LONGEST_LINE: usize = 2000;
/// Deeper is cut.
const DEEPEST_INDENTATION: usize = 40;

/// How much is said on standard error beside errors.
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

/// Writes to standard output. A reader that went away is not a failure.
pub(crate) fn print(text: &str) -> Result<(), AppError> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(AppError::failed("could not write to standard output")
                .help("if it is a file, see that its disk has space left")
                .caused_by(error))
        }
        _ => Ok(()),
    }
}

/// A remark on standard error.
pub(crate) fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(stderr, "{text}");
}

/// A doubt about one field of the spec.
pub(crate) fn warn(field: &str, message: &str) {
    say(&format!(
        "warning: {}: {}",
        printable(field),
        printable(message)
    ));
}

/// Text that may be hostile, for standard error or standard output: no control characters, no endless lines.
pub(crate) fn printable(text: &str) -> String {
    escape::for_terminal(text, LONGEST_LINE)
}

/// The same for a line of a log or a list, whose indentation says something.
pub(crate) fn indented(line: &str) -> String {
    let text = line.trim_start_matches(' ');
    let indentation = (line.len() - text.len()).min(DEEPEST_INDENTATION);
    format!("{}{}", " ".repeat(indentation), printable(text))
}
