//! Who draws a canary's share of the data, and what a script is handed that draws it itself.

use std::fmt;

use serde::Serialize;

use super::ChannelSample;

/// Who draws the share of the data that a canary holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::spec) enum SampledBy {
    /// Objects of channels.
    Gate,
    /// The same where a channel is sampled; where none is, canaries differ in their work alone.
    GateIfAny,
    /// By the share that it is handed.
    Script,
}

impl SampledBy {
    /// What a canary gets of a channel that does not say.
    pub(in crate::spec) fn default_sample(self) -> ChannelSample {
        match self {
            Self::Gate | Self::GateIfAny => ChannelSample::Objects,
            Self::Script => ChannelSample::Whole,
        }
    }
}

/// The script is handed its share of the data, and draws it itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptShare {
    pub place: SharePlace,
    pub full: FullShare,
}

/// Where a script is handed its share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum SharePlace {
    /// Of this name; it need not be one of `training.hyperparameters`.
    Hyperparameter(String),
    /// The variable of this name.
    Environment(String),
}

impl SharePlace {
    pub fn name(&self) -> &str {
        match self {
            Self::Hyperparameter(name) | Self::Environment(name) => name,
        }
    }

    /// Its key in the spec.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hyperparameter(_) => "hyperparameter",
            Self::Environment(_) => "environment",
        }
    }
}

/// A count of examples that the script is handed, in proportion to what is drawn of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FollowingCount {
    pub place: SharePlace,
    /// In the full run.
    pub full: u64,
    /// The channel's name; it is sampled.
    pub channel: String,
}

impl fmt::Display for FollowingCount {
    /// `{hyperparameter: num_training_samples, full: 50000, follows: train}`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, name) = (self.place.kind(), self.place.name());
        write!(
            f,
            "{{{place}: {name}, full: {}, follows: {}}}",
            self.full, self.channel
        )
    }
}

impl fmt::Display for ScriptShare {
    /// `{hyperparameter: max_train_samples, full: 120000}`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.kind();
        let full = self.full.text().unwrap_or_else(|| "omit".to_owned());
        write!(f, "{{{place}: {}, full: {full}}}", self.place.name())
    }
}

/// What the full run is handed as its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum FullShare {
    /// `1.0`; canaries get a part of it, such as `0.01`.
    One,
    /// Nothing; canaries as with [`FullShare::One`].
    Omitted,
    /// The number of all examples; canaries get a smaller one.
    Examples(u64),
}

impl FullShare {
    /// The parts of which a canary draws some: examples, or millionths.
    pub fn parts(self) -> u64 {
        match self {
            Self::One | Self::Omitted => 1_000_000,
            Self::Examples(examples) => examples,
        }
    }

    /// What the full run is handed; `None`: nothing.
    pub fn text(self) -> Option<String> {
        match self {
            Self::One => Some("1.0".to_owned()),
            Self::Omitted => None,
            Self::Examples(examples) => Some(examples.to_string()),
        }
    }
}
