//! The terminal that a stream leads to, if it is one.

/// The width of the terminal on standard output; `None` where it is none.
pub(crate) fn stdout_width() -> Option<u16> {
    console::Term::stdout()
        .size_checked()
        .map(|(_, columns)| columns)
}

/// The width of the terminal on standard error; `None` where it is none.
pub(crate) fn stderr_width() -> Option<usize> {
    console::Term::stderr()
        .size_checked()
        .map(|(_, columns)| usize::from(columns))
}
