//! What is published of a verdict: why it is what it is, and each budget line with what was found of it.

use std::fmt;

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

/// Why, in words that stand alone, and what to do where that is known: two values, so that no renderer reads one out of the other.
///
/// As one line of text it has both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenReason", into = "WrittenReason")]
pub struct Reason {
    pub why: String,
    /// A sentence without its capital and its full stop.
    pub advice: Option<String>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl Reason {
    pub fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            advice: None,
        }
    }

    #[must_use]
    pub fn advising(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// As the JSON of a report has it: whole, and its end once more.
#[skip_serializing_none]
#[derive(Serialize, Deserialize, JsonSchema)]
struct WrittenReason {
    /// One sentence, without the job's name: `cost is 63 USD, 13 USD above 50 USD`. May hold text of the training code.
    reason: String,
    /// The end of `reason`, after `; `, where that says what to do about it.
    what_to_do: Option<String>,
}

impl From<Reason> for WrittenReason {
    fn from(reason: Reason) -> Self {
        Self {
            reason: reason.to_string(),
            what_to_do: reason.advice,
        }
    }
}

impl From<WrittenReason> for Reason {
    fn from(WrittenReason { reason, what_to_do }: WrittenReason) -> Self {
        let end = what_to_do.as_ref().map(|advice| format!("; {advice}"));
        match end.and_then(|end| Some(reason.strip_suffix(&end)?.to_owned())) {
            Some(why) => Self {
                why,
                advice: what_to_do,
            },
            // Somebody edited one of the two.
            None => Self::new(reason),
        }
    }
}
