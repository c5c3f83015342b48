//! What the lines of a report are about.

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Label {
    /// What the line before was about.
    More,
    /// What was being done when something went wrong.
    While,
    Reason,
    /// One of several reasons.
    Cause,
    Remedy,
    SpentSoFar,
    MayStillCost,
    ExitCode,
    FailedRuns,
    /// Where all is that a failed canary printed.
    Log,
    WhyChanged,
    Change,
    FurtherBudgetLine,
    /// How the change's own policy differs.
    Policy,
    Fitting,
    /// Groups of machines beside machines of one type.
    Groups,
    Advice,
    Law,
    Price,
    ChangedFiles,
    Note,
    Interval,
    /// What only the whole report has.
    Hidden,
    LeftOut,
    /// How an issue comes to be closed.
    End,
    NotPosted,
}

/// What stands before a line where lines follow each other as a paragraph or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    Nothing,
    /// After the names that the line is about.
    Words(&'static str),
    /// Before them.
    Strong(&'static str),
}

impl Label {
    /// At most nine letters, where lines stand below each other, empty where none is needed; and what stands before the line in a
    /// paragraph or a list.
    fn words(self) -> (&'static str, Lead) {
        use Lead::{Nothing, Strong, Words};
        match self {
            Self::More => ("", Nothing),
            Self::ExitCode => ("", Strong("What it means.")),
            Self::LeftOut => ("", Strong("Left out, to fit a comment:")),
            Self::End => ("", Strong("How it ends.")),
            Self::NotPosted => ("", Strong("The comment could not be posted.")),
            Self::While => ("while", Strong("What was being done.")),
            Self::Reason => ("why", Strong("Why.")),
            Self::Cause => ("why", Nothing),
            Self::WhyChanged => ("why", Strong("Why it changed.")),
            Self::Remedy => ("do", Strong("What to do.")),
            Self::SpentSoFar => ("cost", Strong("What it has cost.")),
            Self::MayStillCost => ("cost", Strong("What may still cost.")),
            Self::FailedRuns => ("failed", Strong("What failed.")),
            Self::Log => ("log", Words("Its whole log")),
            Self::Change => ("change", Nothing),
            Self::FurtherBudgetLine => ("also", Words("Also")),
            Self::Fitting => ("fits", Strong("What would fit.")),
            Self::Policy => ("policy", Strong("Policy.")),
            Self::Groups => ("groups", Strong("Groups or one type.")),
            Self::Advice => ("advice", Nothing),
            Self::Law => ("law", Nothing),
            Self::Price => ("price", Words("price")),
            Self::ChangedFiles => ("changed", Words("changed")),
            Self::Note => ("note", Nothing),
            Self::Interval => ("interval", Words("interval")),
            Self::Hidden => ("more", Nothing),
        }
    }

    pub(super) fn word(self) -> &'static str {
        self.words().0
    }

    pub(super) fn lead(self) -> Lead {
        self.words().1
    }

    /// Whether a brief report has the line of any job.
    pub(super) fn is_brief(self) -> bool {
        matches!(
            self,
            Self::FailedRuns
                | Self::Log
                | Self::WhyChanged
                | Self::FurtherBudgetLine
                | Self::Policy
                | Self::Fitting
                | Self::Interval
        )
    }
}
