//! The sign before a verdict, and its colour.

use serde::Serialize;

use crate::verdict::Verdict;

/// What a line says of its subject, at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Where colours and emoji are shown.
    pub(super) emoji: &'static str,
    /// On a terminal, one column wide in every font.
    pub(super) sign: &'static str,
    pub(super) tone: Tone,
}

/// What a mark means for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tone {
    Good,
    Bad,
    Doubtful,
    Plain,
}

impl Mark {
    pub(super) const GOOD: Self = Self::of("✅", "✓", Tone::Good);
    pub(super) const BAD: Self = Self::of("❌", "✗", Tone::Bad);
    /// The training code failed.
    pub(super) const CRASHED: Self = Self::of("💥", "✗", Tone::Bad);
    pub(super) const DOUBTFUL: Self = Self::of("⚠️", "!", Tone::Doubtful);
    pub(super) const UNKNOWN: Self = Self::of("❔", "?", Tone::Doubtful);
    /// Not judged.
    pub(super) const NOTHING: Self = Self::of("➖", "-", Tone::Plain);
    /// Drifted to more.
    pub(super) const ROSE: Self = Self::of("📈", "✗", Tone::Bad);
    /// Drifted to less.
    pub(super) const FELL: Self = Self::of("📉", "✗", Tone::Bad);
    pub(super) const MEASURING: Self = Self::of("⏳", "-", Tone::Plain);

    const fn of(emoji: &'static str, sign: &'static str, tone: Tone) -> Self {
        Self { emoji, sign, tone }
    }
}

impl From<Verdict> for Mark {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Exceeded => Self::BAD,
            Verdict::Failed => Self::CRASHED,
            Verdict::Unknown => Self::UNKNOWN,
            Verdict::AtRisk => Self::DOUBTFUL,
            Verdict::Within => Self::GOOD,
            Verdict::NotJudged => Self::NOTHING,
        }
    }
}
