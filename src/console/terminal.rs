//! Whether output is coloured, the width of the terminal, and text laid out for it.

use anstream::{AutoStream, ColorChoice};
use same_file::Handle;

use crate::cli::ColourChoice;
use crate::grammar::wrap;

/// A label and the text behind it stand at most so far apart.
const WIDEST_LABEL: usize = 32;
/// Narrower than this nothing is laid out.
const NARROWEST: usize = 20;

/// Takes the flag's word for all output to come.
pub(crate) fn choose_colours(choice: ColourChoice) {
    let choice = match choice {
        ColourChoice::Auto => ColorChoice::Auto,
        ColourChoice::Always => ColorChoice::Always,
        ColourChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

pub(crate) fn colours_on_stdout() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

pub(crate) fn colours_on_stderr() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// The width of the terminal on standard output, else what COLUMNS says; `None` without both.
pub(crate) fn stdout_width() -> Option<u16> {
    let terminal = console::Term::stdout().size_checked();
    terminal.map(|(_, columns)| columns).or_else(named_width)
}

/// The same of standard error.
pub(crate) fn stderr_width() -> Option<usize> {
    let terminal = console::Term::stderr().size_checked();
    let columns = terminal.map(|(_, columns)| columns).or_else(named_width);
    columns.map(usize::from)
}

fn named_width() -> Option<u16> {
    let named: u16 = std::env::var("COLUMNS").ok()?.parse().ok()?;
    (usize::from(named) >= NARROWEST).then_some(named)
}

/// Whether standard output and standard error are one file, terminal or pipe.
pub(crate) fn is_shared() -> bool {
    let (out, error) = (Handle::stdout(), Handle::stderr());
    out.is_ok_and(|out| error.is_ok_and(|error| out == error))
}

/// Breaks lines at spaces where they are wider than `width`; those that follow stand below the text behind the label, else a little
/// further in. A longer word stays whole.
pub(crate) fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| *width >= NARROWEST) else {
        return text.to_owned();
    };
    let broken = |line| wrap(line, width, hanging(line).min(width / 2));
    let lines: Vec<String> = text.split('\n').flat_map(broken).collect();
    lines.join("\n")
}

/// Where the text behind a label begins, as in `  worst case      0.56 USD`, else two columns further in than the line.
fn hanging(line: &str) -> usize {
    let indentation = line.len() - line.trim_start_matches(' ').len();
    let behind_label = line[indentation..].find("  ").map(|gap| {
        let gap = indentation + gap;
        gap + (line[gap..].len() - line[gap..].trim_start_matches(' ').len())
    });
    let column = behind_label.map(|place| console::measure_text_width(&line[..place]));
    let column = column.filter(|column| *column <= WIDEST_LABEL);
    column.unwrap_or(indentation + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_continue_below_their_text() {
        for (line, lines) in [
            ("short", "short"),
            (
                "  worst case   0.56 USD of 1.00 USD; each ends after 2m",
                "  worst case   0.56 USD of\n               1.00 USD; each\n               ends after 2m",
            ),
            (
                "    put the data there, or correct the path",
                "    put the data there, or\n      correct the path",
            ),
            (
                "one two three four five sixsixsixsixsixsixsixsixsix seven",
                "one two three four five\n  sixsixsixsixsixsixsixsixsix\n  seven",
            ),
            (
                "\u{1b}[31mred\u{1b}[0m and some more that is plain",
                "\u{1b}[31mred\u{1b}[0m and some more that is\n  plain",
            ),
        ] {
            assert_eq!(wrapped(line, Some(30)), lines);
        }
        let long = "word ".repeat(100);
        assert_eq!(wrapped(&long, None), long);
        assert_eq!(wrapped(&long, Some(3)), long);
    }
}
