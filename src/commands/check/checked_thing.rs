//! One line of `check`: what was looked at, and what to do where it is missing.

use crate::console::{AppError, printable};

/// What was found of one thing.
pub(in crate::commands) struct CheckedThing {
    /// `data train`
    pub(super) what: String,
    pub(super) state: ThingState,
}

/// How it stands.
pub(super) enum ThingState {
    /// In a few words.
    Ready(String),
    /// What is wrong, and what to do.
    Missing { why: String, help: Option<String> },
    /// Why it could not be looked at.
    NotLookedAt(String),
}

impl CheckedThing {
    pub(super) fn ready(what: &str, said: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state: ThingState::Ready(said.into()),
        }
    }

    pub(super) fn missing(what: &str, why: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state: ThingState::Missing {
                why: why.into(),
                help: Some(help.into()),
            },
        }
    }

    pub(super) fn not_looked_at(what: &str, why: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state: ThingState::NotLookedAt(why.into()),
        }
    }

    pub(super) fn refused(what: &str, error: impl Into<AppError>) -> Self {
        let error = error.into();
        Self {
            what: what.to_owned(),
            state: ThingState::Missing {
                why: error.in_a_line(),
                help: error.remedy().map(str::to_owned),
            },
        }
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
