//! The error of what is outside of the program.

use std::io;
use std::sync::Arc;

/// Something outside of the program did not do what was asked: a backend, a service, a file. Each text is one line and may quote it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}")]
pub struct OutsideError {
    /// What went wrong and where.
    pub what: String,
    /// What to do about it.
    pub help: String,
    /// Whether it may be gone tomorrow, as a quota or a throttled service, so that the outcome is unknown; else a person must fix it.
    pub is_transient: bool,
    #[source]
    pub source: Option<Arc<io::Error>>,
}

/// An error that does not say yet what to do about it.
#[must_use]
pub struct WithoutHelp(OutsideError);

impl WithoutHelp {
    /// What to do about it.
    pub fn help(self, text: impl Into<String>) -> OutsideError {
        OutsideError {
            help: text.into(),
            ..self.0
        }
    }
}

impl OutsideError {
    /// What went wrong and where. What to do about it comes next; an error that does not say it is none.
    pub fn of(what: impl Into<String>) -> WithoutHelp {
        WithoutHelp(Self::new(what, ""))
    }

    /// The same of what may be gone tomorrow.
    pub fn passing(what: impl Into<String>) -> WithoutHelp {
        WithoutHelp(Self::transient(what, ""))
    }

    pub fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            help: help.into(),
            is_transient: false,
            source: None,
        }
    }

    pub fn transient(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            is_transient: true,
            ..Self::new(what, help)
        }
    }

    pub fn io(what: impl Into<String>, help: impl Into<String>, source: io::Error) -> Self {
        Self {
            source: Some(Arc::new(source)),
            ..Self::new(what, help)
        }
    }
}
