//! What the lines of a report are about.

use crate::verdict::Verdict;

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
    /// What the check itself took.
    Canaries,
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
    /// At most nine letters, where lines stand below each other; empty where none is needed.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::More | Self::ExitCode | Self::LeftOut | Self::End | Self::NotPosted => "",
            Self::While => "while",
            Self::Reason | Self::Cause | Self::WhyChanged => "why",
            Self::Remedy => "do",
            Self::SpentSoFar | Self::MayStillCost => "cost",
            Self::FailedRuns => "failed",
            Self::Log => "log",
            Self::Change => "change",
            Self::FurtherBudgetLine => "also",
            Self::Fitting => "fits",
            Self::Policy => "policy",
            Self::Groups => "groups",
            Self::Advice => "advice",
            Self::Law => "law",
            Self::Price => "price",
            Self::ChangedFiles => "changed",
            Self::Note => "note",
            Self::Interval => "interval",
            Self::Canaries => "canaries",
            Self::Hidden => "more",
        }
    }

    /// Whether a brief report has the line, of a job with this verdict.
    pub(super) fn is_brief(self, verdict: Verdict) -> bool {
        match self {
            Self::FailedRuns | Self::Log | Self::WhyChanged | Self::FurtherBudgetLine => true,
            Self::Policy | Self::Fitting | Self::Canaries | Self::Interval => true,
            Self::Advice => !matches!(verdict, Verdict::Within | Verdict::NotJudged),
            // The headline of any other says it.
            Self::Remedy => verdict == Verdict::Unknown,
            // They mostly say why.
            Self::Note => matches!(verdict, Verdict::Unknown | Verdict::NotJudged),
            _ => false,
        }
    }

    pub(super) fn lead(self) -> Lead {
        match self {
            Self::More
            | Self::Cause
            | Self::Change
            | Self::Advice
            | Self::Law
            | Self::Canaries
            | Self::Hidden
            | Self::Note => Lead::Nothing,
            Self::FurtherBudgetLine => Lead::Words("Also"),
            Self::Log => Lead::Words("Its whole log"),
            Self::Price => Lead::Words("price"),
            Self::ChangedFiles => Lead::Words("changed"),
            Self::Interval => Lead::Words("interval"),
            Self::While => Lead::Strong("What was being done."),
            Self::Reason => Lead::Strong("Why."),
            Self::Remedy => Lead::Strong("What to do."),
            Self::SpentSoFar => Lead::Strong("What it has cost."),
            Self::MayStillCost => Lead::Strong("What may still cost."),
            Self::ExitCode => Lead::Strong("What it means."),
            Self::FailedRuns => Lead::Strong("What failed."),
            Self::WhyChanged => Lead::Strong("Why it changed."),
            Self::Policy => Lead::Strong("Policy."),
            Self::Fitting => Lead::Strong("What would fit."),
            Self::Groups => Lead::Strong("Groups or one type."),
            Self::LeftOut => Lead::Strong("Left out, to fit a comment:"),
            Self::End => Lead::Strong("How it ends."),
            Self::NotPosted => Lead::Strong("The comment could not be posted."),
        }
    }
}
