//! Text from elsewhere, made harmless for a terminal.

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
