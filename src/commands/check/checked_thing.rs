//! One line of `check`: what was looked at, and what to do where it is missing.

use crate::console::{AppError, printable};

/// What was found of one thing.
pub(in crate::commands) struct CheckedThing {
    /// `data train`
    what: String,
    state: ThingState,
    /// A few words on it, or why it is missing or could not be looked at.
    said: String,
}

/// How it stands.
enum ThingState {
    Ready,
    /// It is missing. The text says what to do about it, if that is known.
    Missing(Option<String>),
    NotLookedAt,
}

impl CheckedThing {
    fn of(what: &str, state: ThingState, said: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state,
            said: said.into(),
        }
    }

    pub(super) fn ready(what: &str, said: impl Into<String>) -> Self {
        Self::of(what, ThingState::Ready, said)
    }

    pub(super) fn missing(what: &str, why: impl Into<String>, help: impl Into<String>) -> Self {
        Self::of(what, ThingState::Missing(Some(help.into())), why)
    }

    pub(super) fn not_looked_at(what: &str, why: impl Into<String>) -> Self {
        Self::of(what, ThingState::NotLookedAt, why)
    }

    pub(super) fn refused(what: &str, error: impl Into<AppError>) -> Self {
        let error = error.into();
        let said = error.in_a_line();
        Self::of(what, ThingState::Missing(error.reason().advice), said)
    }

    pub(in crate::commands) fn why_missing(&self) -> Option<&str> {
        matches!(self.state, ThingState::Missing(_)).then_some(&self.said)
    }

    /// Its lines, without anything that a terminal obeys.
    pub(super) fn lines(&self) -> String {
        let (sign, help) = match &self.state {
            ThingState::Ready => ('✓', None),
            ThingState::Missing(help) => ('✗', help.as_deref()),
            ThingState::NotLookedAt => ('–', None),
        };
        let (what, said) = (printable(&self.what), printable(&self.said));
        let help = help.unwrap_or_default().lines();
        let help = help.map(|line| format!("      {}\n", printable(line)));
        format!("  {sign} {what}: {said}\n{}", help.collect::<String>())
    }
}
