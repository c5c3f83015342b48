//! A budget line and what was found of it, as published.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{ExistingBreach, LineVerdict, Verdict};
use crate::spec::{Bound, BudgetLine, Level, LineKind, OverrideInForce};

/// One budget line held against the forecast. `limit` is in the unit of the line's estimate, and the one that counts.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetRow {
    pub line: LineKind,
    pub limit: f64,
    pub bound: Bound,
    pub level: Level,
    /// The probability that the limit is passed, 0-1; absent if the line is unknown or not applicable, or at risk since the growth is in doubt.
    pub chance_of_breach: Option<f64>,
    pub verdict: LineVerdict,
    /// Whether the forecast's verdict rests on this line; omitted if it does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
    /// The breach of this line by the base, for which it may count as another level than the written one; omitted if the base
    /// did not breach it, and if the line is within today.
    pub existing_breach: Option<ExistingBreach>,
    /// The override in force, whose ceiling is `limit`; omitted if there is none.
    #[serde(rename = "override")]
    pub overridden: Option<OverrideInForce>,
}

impl BudgetRow {
    /// Without anything known.
    pub(super) fn unknown(line: &BudgetLine) -> Self {
        Self {
            line: line.kind,
            limit: line.limit.number,
            bound: line.bound,
            level: line.level,
            chance_of_breach: None,
            verdict: LineVerdict::Unknown,
            decides: false,
            existing_breach: None,
            overridden: line.overridden.clone(),
        }
    }

    /// As what the line counts today: its level, unless the base was over it already.
    pub fn counts_as(&self) -> Level {
        match (self.level, &self.existing_breach) {
            (Level::Fail, Some(breach)) => breach.counts_as,
            (level, _) => level,
        }
    }

    /// What it makes of a job's verdict where it counts; `None` of a line that holds.
    pub fn makes(&self) -> Option<Verdict> {
        let made = match self.verdict {
            LineVerdict::Exceeded => Verdict::Exceeded,
            LineVerdict::Unknown => Verdict::Unknown,
            LineVerdict::AtRisk => Verdict::AtRisk,
            LineVerdict::Within | LineVerdict::NotApplicable => return None,
        };
        (self.counts_as() == Level::Fail).then_some(made)
    }

    /// The breach of the base that makes a line of level fail count as warn.
    pub fn excuse(&self) -> Option<&ExistingBreach> {
        let breach = self.existing_breach.as_ref();
        breach.filter(|_| self.level == Level::Fail && self.counts_as() == Level::Warn)
    }
}
