//! How a canary run ended.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::metric::MemoryOf;
use crate::units::is_default;

/// How a run ended. Only completed runs enter a fit; the others are listed with their reason.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    /// The training code failed.
    Failed {
        exit_code: Option<i32>,
        /// The script's own reason: `output/failure`, else its last line; as it came, to be escaped where shown.
        last_line: Option<String>,
    },
    OutOfMemory {
        /// Whose memory ran out; omitted if it was the machine's.
        #[serde(default, skip_serializing_if = "is_default")]
        of: MemoryOf,
        last_line: Option<String>,
    },
    /// Ended at `max_runtime`: a lower bound of its time.
    TimedOut,
    /// Ended by us or by a person.
    #[default]
    Stopped,
    NoCapacity,
    /// The platform failed, not the training code.
    PlatformError,
}

impl Outcome {
    /// The machine's memory ran out.
    pub fn out_of_memory(last_line: Option<String>) -> Self {
        let of = MemoryOf::Machine;
        Self::OutOfMemory { of, last_line }
    }

    /// The outcome in words, without the script's text.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::OutOfMemory { of, .. } => of.pick("out of memory", "out of GPU memory"),
            Self::TimedOut => "timed out",
            Self::Stopped => "stopped",
            Self::NoCapacity => "no capacity",
            Self::PlatformError => "platform error",
        }
    }

    /// What became of the training code: `ended with exit code 1`.
    pub fn ending(&self) -> String {
        match self {
            Self::Failed { exit_code, .. } => match exit_code {
                Some(code) => format!("ended with exit code {code}"),
                None => "ended with an error".to_owned(),
            },
            Self::OutOfMemory { of, .. } => format!("ran out of {}", of.words()),
            outcome => outcome.to_string(),
        }
    }

    /// The last line of the output of a script that failed. Hostile text.
    pub fn last_line(&self) -> Option<&str> {
        match self {
            Self::Failed { last_line, .. } | Self::OutOfMemory { last_line, .. } => {
                last_line.as_deref()
            }
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())?;
        match self {
            Self::Failed {
                exit_code: Some(code),
                ..
            } => write!(f, " (exit code {code})"),
            _ => Ok(()),
        }
    }
}
