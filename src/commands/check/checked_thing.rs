//! One line of `check`: what was looked at, and what to do where it is missing.

use crate::backend::AccountAnswer;
use crate::console::{AppError, printable};

/// What was found of one thing.
pub(in crate::commands) struct CheckedThing {
    sign: char,
    /// `data train`
    what: String,
    /// A few words on it, or why it is missing or could not be looked at.
    said: String,
    /// What to do where it is missing, if that is known.
    help: Option<String>,
}

const MISSING: char = '✗';

impl CheckedThing {
    fn of(sign: char, what: &str, said: impl Into<String>, help: Option<String>) -> Self {
        let (what, said) = (what.to_owned(), said.into());
        Self {
            sign,
            what,
            said,
            help,
        }
    }

    pub(super) fn ready(what: &str, said: impl Into<String>) -> Self {
        Self::of('✓', what, said, None)
    }

    pub(super) fn missing(what: &str, why: impl Into<String>, help: impl Into<String>) -> Self {
        Self::of(MISSING, what, why, Some(help.into()))
    }

    pub(super) fn not_looked_at(what: &str, why: impl Into<String>) -> Self {
        Self::of('–', what, why, None)
    }

    pub(super) fn refused(what: &str, error: impl Into<AppError>) -> Self {
        let error = error.into();
        Self::of(MISSING, what, error.in_a_line(), error.reason().advice)
    }

    pub(in crate::commands) fn why_missing(&self) -> Option<&str> {
        (self.sign == MISSING).then_some(&self.said)
    }

    /// Its lines, without anything that a terminal obeys.
    pub(super) fn lines(&self) -> String {
        let (sign, what, said) = (self.sign, printable(&self.what), printable(&self.said));
        let help = self.help.as_deref().unwrap_or_default().lines();
        let help = help.map(|line| format!("      {}\n", printable(line)));
        format!("  {sign} {what}: {said}\n{}", help.collect::<String>())
    }
}

impl From<AccountAnswer> for CheckedThing {
    fn from(AccountAnswer { name, answer }: AccountAnswer) -> Self {
        match answer {
            Ok(Some(said)) => Self::ready(name, said),
            Ok(None) => Self::not_looked_at(name, "it could not be read"),
            Err(error) => Self::refused(name, error),
        }
    }
}
