//! The sign before a verdict, and its colour.

use crate::verdict::Verdict;

/// What a line says of its subject, at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Good,
    Bad,
    /// The training code failed.
    Crashed,
    Doubtful,
    Unknown,
    /// Not judged.
    Nothing,
    /// Drifted to more.
    Rose,
    /// Drifted to less.
    Fell,
    Measuring,
}

/// What a mark means for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    Doubtful,
    Plain,
}

impl Mark {
    /// Where colours and emoji are shown.
    pub(super) fn emoji(self) -> &'static str {
        match self {
            Self::Good => "✅",
            Self::Bad => "❌",
            Self::Crashed => "💥",
            Self::Doubtful => "⚠️",
            Self::Unknown => "❔",
            Self::Nothing => "➖",
            Self::Rose => "📈",
            Self::Fell => "📉",
            Self::Measuring => "⏳",
        }
    }

    /// On a terminal: one column wide in every font.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Bad | Self::Crashed | Self::Rose | Self::Fell => "✗",
            Self::Doubtful => "!",
            Self::Unknown => "?",
            Self::Nothing | Self::Measuring => "-",
        }
    }

    pub(super) fn tone(self) -> Tone {
        match self {
            Self::Good => Tone::Good,
            Self::Bad | Self::Crashed | Self::Rose | Self::Fell => Tone::Bad,
            Self::Doubtful | Self::Unknown => Tone::Doubtful,
            Self::Nothing | Self::Measuring => Tone::Plain,
        }
    }
}

impl From<Verdict> for Mark {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Exceeded => Self::Bad,
            Verdict::Failed => Self::Crashed,
            Verdict::Unknown => Self::Unknown,
            Verdict::AtRisk => Self::Doubtful,
            Verdict::Within => Self::Good,
            Verdict::NotJudged => Self::Nothing,
        }
    }
}
