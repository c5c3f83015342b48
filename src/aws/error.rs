//! [`AwsError`]: why AWS did not do what was asked, and what to do about it.

/// A failed request to AWS. Each text is one line and may quote AWS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct AwsError {
    /// What went wrong and where.
    pub what: String,
    /// What to do about it.
    pub help: String,
    /// Whether the same request may succeed later.
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
