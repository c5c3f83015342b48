//! [`Reason`]: why a job's verdict is what it is, and what to do about it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Why, in words that stand alone, and what to do where that is known: two values, so that no renderer reads one out of the other.
///
/// As one line of text it has both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenReason", into = "WrittenReason")]
pub struct Reason {
    pub why: String,
    /// A sentence without its capital and its full stop.
    pub advice: Option<String>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl Reason {
    pub fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            advice: None,
        }
    }

    #[must_use]
    pub fn advising(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// As the JSON of a report has it: whole, and its end once more.
#[skip_serializing_none]
#[derive(Serialize, Deserialize, JsonSchema)]
struct WrittenReason {
    /// One sentence, without the job's name: `cost is 63 USD, 13 USD above 50 USD`. May hold text of the training code.
    reason: String,
    /// The end of `reason`, after `; `, where that says what to do about it.
    what_to_do: Option<String>,
}

impl From<Reason> for WrittenReason {
    fn from(reason: Reason) -> Self {
        Self {
            reason: reason.to_string(),
            what_to_do: reason.advice,
        }
    }
}

impl From<WrittenReason> for Reason {
    fn from(WrittenReason { reason, what_to_do }: WrittenReason) -> Self {
        let end = what_to_do.as_ref().map(|advice| format!("; {advice}"));
        match end.and_then(|end| Some(reason.strip_suffix(&end)?.to_owned())) {
            Some(why) => Self {
                why,
                advice: what_to_do,
            },
            // Somebody edited one of the two.
            None => Self::new(reason),
        }
    }
}
