//! The width of the terminal.

/// The width of the terminal on standard output; `None` if it is not a terminal.
pub(crate) fn stdout_width() -> Option<u16> {
    console::Term::stdout()
        .size_checked()
        .map(|(_, columns)| columns)
}

/// The width of the terminal on standard error; `None` if it is not a terminal.
pub(crate) fn stderr_width() -> Option<usize> {
    console::Term::stderr()
        .size_checked()
        .map(|(_, columns)| usize::from(columns))
}
