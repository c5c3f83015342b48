//! One line of `check`: what was looked at, and what to do where it is missing.

use crate::console::{AppError, printable};

/// What was found of one thing.
pub(in crate::commands) struct CheckedThing {
    /// `data train`
    what: String,
    state: ThingState,
    /// A few words on it, or why it is missing or could not be looked at.
    said: String,
    /// What to do; `None` unless it is missing.
    help: Option<String>,
}

/// How it stands.
#[derive(PartialEq)]
enum ThingState {
    Ready,
    Missing,
    NotLookedAt,
}

impl CheckedThing {
    fn of(what: &str, state: ThingState, said: impl Into<String>, help: Option<String>) -> Self {
        Self {
            what: what.to_owned(),
            state,
            said: said.into(),
            help,
        }
    }

    pub(super) fn ready(what: &str, said: impl Into<String>) -> Self {
        Self::of(what, ThingState::Ready, said, None)
    }

    pub(super) fn missing(what: &str, why: impl Into<String>, help: impl Into<String>) -> Self {
        Self::of(what, ThingState::Missing, why, Some(help.into()))
    }

    pub(super) fn not_looked_at(what: &str, why: impl Into<String>) -> Self {
        Self::of(what, ThingState::NotLookedAt, why, None)
    }

    pub(super) fn refused(what: &str, error: impl Into<AppError>) -> Self {
        let error = error.into();
        Self::of(
            what,
            ThingState::Missing,
            error.in_a_line(),
            error.reason().advice,
        )
    }

    pub(in crate::commands) fn why_missing(&self) -> Option<&str> {
        (self.state == ThingState::Missing).then_some(&self.said)
    }

    /// Its lines, without anything that a terminal obeys.
    pub(super) fn lines(&self) -> String {
        let sign = match self.state {
            ThingState::Ready => '✓',
            ThingState::Missing => '✗',
            ThingState::NotLookedAt => '–',
        };
        let (what, said) = (printable(&self.what), printable(&self.said));
        let help = self.help.iter().flat_map(|help| help.lines());
        let help = help.map(|line| format!("      {}\n", printable(line)));
        format!("  {sign} {what}: {said}\n{}", help.collect::<String>())
    }
}
