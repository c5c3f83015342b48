//! What a job may cost: the lines of its budget, written and implicit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Level, LineKind};
use crate::metric::{Amount, MemoryOf, Metric};
use crate::units::{Fraction, Percent, Seconds};

/// Whether the limit is an upper or a lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    Max,
    Min,
}

/// One line of a budget. `limit` is in the unit of the line's estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetLine {
    pub kind: LineKind,
    pub bound: Bound,
    pub limit: Amount,
    pub level: Level,
    /// Of an increase: what it must pass too, in the unit of what increases. Absent of other lines.
    pub at_least: Option<Amount>,
    pub origin: LineOrigin,
    /// Where an override is in force: then `limit` is its ceiling.
    pub overridden: Option<OverrideInForce>,
}

/// A known overrun that was agreed to and counts today.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverrideInForce {
    /// The limit that the budget names, in the unit of the line's estimate.
    pub written_limit: f64,
    /// The last day on which the override counts, UTC, such as `2026-12-31`.
    #[schemars(with = "String")]
    pub until: jiff::civil::Date,
    pub reason: String,
}

impl BudgetLine {
    /// The limit of the implicit lines of memory, a share of the machine's or of the GPU's.
    pub const ALL_MEMORY: Percent = Percent(100.0);

    /// That no more of a memory is used than there is.
    fn all_of(of: MemoryOf) -> Self {
        Self::implicit(Metric::share_of(of), Self::ALL_MEMORY)
    }

    /// A line that always holds, without being written.
    pub fn implicit(metric: Metric, limit: impl Into<Amount>) -> Self {
        Self {
            kind: metric.into(),
            bound: Bound::Max,
            limit: limit.into(),
            level: Level::Fail,
            at_least: None,
            origin: LineOrigin::Implicit,
            overridden: None,
        }
    }
}

/// Whether a person wrote the line or it always holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOrigin {
    Written,
    /// Memory within the machine and its GPUs, time within `training.max_runtime`.
    Implicit,
}

/// What a job may cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The written lines in the order of [`LineKind::ALL`], those about what the script prints in the order of the file, then the implicit ones that no written line covers.
    pub lines: Vec<BudgetLine>,
    /// Certainty c, in (0.5, 1): within means P(over) <= 1 - c.
    pub certainty: Fraction,
    /// What a line counts that the base was over already.
    pub existing_breach: Level,
    /// How the time grows by the owner's word; `None` where only the canaries say it.
    pub growth: Option<StatedGrowth>,
}

/// The most that the time of the full run grows with the data, by the owner's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedGrowth {
    /// Not at all, as of a fixed number of steps.
    None,
    Linear,
}

impl StatedGrowth {
    /// As a spec has it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Linear => "linear",
        }
    }
}

impl Budget {
    /// Where none is written: 95 % certain, a 90 % interval.
    pub const DEFAULT_CERTAINTY: Fraction = Fraction(0.95);

    /// That memory fits the machine and its GPUs, and nothing else: what holds where there is no spec.
    pub fn unwritten() -> Self {
        Self {
            lines: MemoryOf::ALL.map(BudgetLine::all_of).to_vec(),
            certainty: Self::DEFAULT_CERTAINTY,
            existing_breach: Level::Warn,
            growth: None,
        }
    }

    /// The share of a memory that its strictest line which can fail the check allows.
    pub fn memory_allowed(&self, of: MemoryOf) -> Fraction {
        let percent = self
            .lines
            .iter()
            .filter(|line| line.kind == Metric::share_of(of).into() && line.bound == Bound::Max)
            .filter(|line| line.level == Level::Fail)
            .map(|line| line.limit.number)
            .fold(BudgetLine::ALL_MEMORY.0, f64::min);
        Percent(percent).as_fraction()
    }

    pub fn written(&self) -> impl Iterator<Item = &BudgetLine> {
        self.lines
            .iter()
            .filter(|line| line.origin == LineOrigin::Written)
    }

    /// The written line of a kind, of which there is at most one.
    pub fn written_line(&self, kind: LineKind) -> Option<&BudgetLine> {
        self.written().find(|line| line.kind == kind)
    }

    /// Puts the implicit lines behind the written ones: memory within the machine and its GPUs, and time within the full run's own
    /// `max_runtime`. One is left out where a written line is as tight and as strict.
    pub fn renew_implicit_lines(&mut self, max_runtime: Option<Seconds>) {
        self.lines.retain(|line| line.origin == LineOrigin::Written);
        let time = max_runtime.map(|limit| BudgetLine::implicit(Metric::Time, limit));
        for implicit in MemoryOf::ALL
            .map(BudgetLine::all_of)
            .into_iter()
            .chain(time)
        {
            let is_covered = self.lines.iter().any(|line| {
                line.kind == implicit.kind
                    && line.bound == Bound::Max
                    && line.level == Level::Fail
                    && line.limit <= implicit.limit
            });
            if !is_covered {
                self.lines.push(implicit);
            }
        }
    }
}
