//! What the lines of a report are about.

use Lead::{Nothing, Strong, Words};

/// What a line is about. No two are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    /// At most nine letters, where lines stand below each other; empty where none is needed.
    pub(super) word: &'static str,
    /// What stands before the line in a paragraph or a list.
    pub(super) lead: Lead,
    /// Whether a brief report has the line of any job.
    pub(super) is_brief: bool,
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
    /// A line that goes on with the one before.
    pub(super) const MORE: Self = Self::of("", Nothing);
    /// What was being done when something went wrong.
    pub(super) const WHILE: Self = Self::of("while", Strong("What was being done."));
    pub(super) const REASON: Self = Self::of("why", Strong("Why."));
    /// One of several reasons.
    pub(super) const CAUSE: Self = Self::of("why", Nothing);
    pub(super) const REMEDY: Self = Self::of("do", Strong("What to do.")).brief();
    pub(super) const SPENT_SO_FAR: Self = Self::of("cost", Strong("What it has cost."));
    pub(super) const MAY_STILL_COST: Self = Self::of("cost", Strong("What may still cost."));
    pub(super) const EXIT_CODE: Self = Self::of("", Strong("What it means."));
    pub(super) const FAILED_RUNS: Self = Self::of("failed", Strong("What failed.")).brief();
    /// The path of a failed canary's whole log.
    pub(super) const LOG: Self = Self::of("log", Words("Its whole log")).brief();
    pub(super) const WHY_CHANGED: Self = Self::of("why", Strong("Why it changed.")).brief();
    pub(super) const CHANGE: Self = Self::of("change", Nothing);
    pub(super) const FURTHER_BUDGET_LINE: Self = Self::of("also", Words("Also")).brief();
    /// How the change's own policy differs.
    pub(super) const POLICY: Self = Self::of("policy", Strong("Policy.")).brief();
    pub(super) const FITTING: Self = Self::of("fits", Strong("What would fit.")).brief();
    /// Groups of machines beside machines of one type.
    pub(super) const GROUPS: Self = Self::of("groups", Strong("Groups or one type."));
    pub(super) const ADVICE: Self = Self::of("advice", Nothing);
    pub(super) const LAW: Self = Self::of("law", Nothing);
    pub(super) const PRICE: Self = Self::of("price", Words("price"));
    pub(super) const CHANGED_FILES: Self = Self::of("changed", Words("changed"));
    pub(super) const NOTE: Self = Self::of("note", Nothing);
    pub(super) const INTERVAL: Self = Self::of("interval", Words("interval")).brief();
    /// What a brief report leaves out.
    pub(super) const HIDDEN: Self = Self::of("more", Nothing);
    pub(super) const LEFT_OUT: Self = Self::of("", Strong("Left out, to fit a comment:"));
    /// How an issue comes to be closed.
    pub(super) const END: Self = Self::of("", Strong("How it ends."));
    pub(super) const NOT_POSTED: Self = Self::of("", Strong("The comment could not be posted."));

    const fn of(word: &'static str, lead: Lead) -> Self {
        Self {
            word,
            lead,
            is_brief: false,
        }
    }

    const fn brief(mut self) -> Self {
        self.is_brief = true;
        self
    }
}
