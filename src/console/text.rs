//! Text from elsewhere, made harmless for a terminal.

use crate::report::escape;

/// What is quoted from elsewhere is cut after this many characters.
const LONGEST_LINE: usize = 2000;
/// Deeper is cut.
const DEEPEST_INDENTATION: usize = 40;

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
