//! [`Reason`]: why a job's verdict is what it is, and what to do about it.

use std::fmt;

/// Why, in words that stand alone, and what to do where that is known: two values, so that no renderer reads one out of the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reason {
    pub why: String,
    /// A sentence without its capital and its full stop.
    pub advice: Option<String>,
}

impl Reason {
    pub fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            advice: None,
        }
    }

    #[must_use]
    pub fn advising(self, advice: impl Into<String>) -> Self {
        Self {
            advice: Some(advice.into()),
            ..self
        }
    }
}

/// Both, as one line of text has them.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}
