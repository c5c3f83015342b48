//! The error of what is outside of the program.

use std::io;
use std::sync::Arc;

/// What something outside of the program gave, or why it did not.
pub type OutsideResult<T> = Result<T, OutsideError>;

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

/// Too many open files, of the system and of the process: [`io::ErrorKind`] has no name for them.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// What to do where a limit of the process or of the disk is reached, whatever it was that failed; `None` for other errors.
pub fn help_at_limit(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match (error.kind(), error.raw_os_error()) {
        (StorageFull | QuotaExceeded, _) => Some(
            "free some space on its disk; canaries on this machine run in folders beside the spec, in `.canary-gate`",
        ),
        (FileTooLarge, _) => Some("allow larger files: `ulimit -f unlimited`"),
        (_, Some(ENFILE | EMFILE)) => Some("allow more open files: `ulimit -n 4096`"),
        _ => None,
    }
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
    /// What went wrong and where; [`WithoutHelp::help`] completes it.
    pub fn of(what: impl Into<String>) -> WithoutHelp {
        WithoutHelp(Self {
            what: what.into(),
            help: String::new(),
            is_transient: false,
            source: None,
        })
    }

    /// The same, for what may succeed if it is tried again.
    pub fn transient(what: impl Into<String>) -> WithoutHelp {
        let WithoutHelp(error) = Self::of(what);
        WithoutHelp(Self {
            is_transient: true,
            ..error
        })
    }

    /// `help` is what to do where no limit is reached.
    pub fn io(what: impl Into<String>, help: impl Into<String>, source: io::Error) -> Self {
        let help = help_at_limit(&source).map_or_else(|| help.into(), str::to_owned);
        Self {
            source: Some(Arc::new(source)),
            ..Self::of(what).help(help)
        }
    }
}
