//! [`AwsError`]: what AWS would not do, for whoever has to do something about it.

/// Why AWS did not do what it was asked. The texts are one line each, and may quote what AWS said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct AwsError {
    /// What went wrong and where.
    pub what: String,
    /// What to do about it.
    pub help: String,
    /// Whether it may be gone tomorrow.
    pub is_transient: bool,
}

impl AwsError {
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            help: help.into(),
            is_transient: false,
        }
    }

    pub(crate) fn transient(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            is_transient: true,
            ..Self::new(what, help)
        }
    }
}
