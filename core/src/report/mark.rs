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
    /// Where colours and emoji are shown; on a terminal, one column wide in every font; and its tone.
    fn looks(self) -> (&'static str, &'static str, Tone) {
        match self {
            Self::Good => ("✅", "✓", Tone::Good),
            Self::Bad => ("❌", "✗", Tone::Bad),
            Self::Crashed => ("💥", "✗", Tone::Bad),
            Self::Doubtful => ("⚠️", "!", Tone::Doubtful),
            Self::Unknown => ("❔", "?", Tone::Doubtful),
            Self::Nothing => ("➖", "-", Tone::Plain),
            Self::Rose => ("📈", "✗", Tone::Bad),
            Self::Fell => ("📉", "✗", Tone::Bad),
            Self::Measuring => ("⏳", "-", Tone::Plain),
        }
    }

    pub(super) fn emoji(self) -> &'static str {
        self.looks().0
    }

    pub(super) fn sign(self) -> &'static str {
        self.looks().1
    }

    pub(super) fn tone(self) -> Tone {
        self.looks().2
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
