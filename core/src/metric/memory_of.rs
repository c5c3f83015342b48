//! The memories that may run out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose memory.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryOf {
    #[default]
    Machine,
    /// The fullest GPU.
    Gpu,
}

impl MemoryOf {
    pub const ALL: [Self; 2] = [Self::Machine, Self::Gpu];

    /// The one of the two that is of this memory.
    pub fn pick<T>(self, machine: T, gpu: T) -> T {
        match self {
            Self::Machine => machine,
            Self::Gpu => gpu,
        }
    }

    /// The name for a reader.
    pub fn words(self) -> &'static str {
        self.pick("memory", "GPU memory")
    }

    /// Whose memory a percentage is of.
    pub fn owner(self) -> &'static str {
        self.pick("machine", "GPU")
    }
}
