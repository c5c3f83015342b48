//! One line of `check`: what was looked at, and what to do where it is missing.

use crate::console::{AppError, printable};

/// What was found of one thing.
pub(in crate::commands) struct CheckedThing {
    /// `data train`
    what: String,
    state: ThingState,
}

/// How it stands.
enum ThingState {
    /// In a few words.
    Ready(String),
    /// What is wrong, and what to do.
    Missing { why: String, help: Option<String> },
    /// Why it could not be looked at.
    NotLookedAt(String),
}

impl CheckedThing {
    fn of(what: &str, state: ThingState) -> Self {
        let what = what.to_owned();
        Self { what, state }
    }

    pub(super) fn ready(what: &str, said: impl Into<String>) -> Self {
        Self::of(what, ThingState::Ready(said.into()))
    }

    pub(super) fn missing(what: &str, why: impl Into<String>, help: impl Into<String>) -> Self {
        let (why, help) = (why.into(), Some(help.into()));
        Self::of(what, ThingState::Missing { why, help })
    }

    pub(super) fn not_looked_at(what: &str, why: impl Into<String>) -> Self {
        Self::of(what, ThingState::NotLookedAt(why.into()))
    }

    pub(super) fn refused(what: &str, error: impl Into<AppError>) -> Self {
        let error = error.into();
        let (why, help) = (error.in_a_line(), error.reason().advice);
        Self::of(what, ThingState::Missing { why, help })
    }

    pub(in crate::commands) fn why_missing(&self) -> Option<&str> {
        match &self.state {
            ThingState::Missing { why, .. } => Some(why),
            ThingState::Ready(_) | ThingState::NotLookedAt(_) => None,
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.state, ThingState::Missing { .. })
    }

    /// Its lines, without anything that a terminal obeys.
    pub(super) fn lines(&self) -> String {
        let what = printable(&self.what);
        match &self.state {
            ThingState::Ready(said) => format!("  ✓ {what}: {}\n", printable(said)),
            ThingState::NotLookedAt(why) => format!("  – {what}: {}\n", printable(why)),
            ThingState::Missing { why, help } => {
                let mut text = format!("  ✗ {what}: {}\n", printable(why));
                for line in help.iter().flat_map(|help| help.lines()) {
                    text.push_str(&format!("      {}\n", printable(line)));
                }
                text
            }
        }
    }
}
