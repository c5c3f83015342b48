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

impl OutsideError {
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
