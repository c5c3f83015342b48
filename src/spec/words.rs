//! Limits of a budget as they are said.

use super::{Bound, BudgetLine, LineKind};
use crate::units::{Percent, Seconds, Usd};

impl LineKind {
    /// A number of the line, exactly as it was meant: `36h 30m`, `12.50 USD`, `56.4%`; of an increase `+20%`.
    pub fn exact(self, number: f64) -> String {
        let (sign, exact) = match self {
            Self::Time => ("", Seconds(number).exact()),
            Self::Cost | Self::CostPerStep => ("", Usd(number).exact()),
            Self::CostIncrease | Self::TimeIncrease if number > 0.0 => {
                ("+", Percent(number).exact())
            }
            Self::CostIncrease
            | Self::TimeIncrease
            | Self::Memory
            | Self::GpuMemory
            | Self::CpuUtilization
            | Self::GpuUtilization
            | Self::IoWait => ("", Percent(number).exact()),
        };
        format!("{sign}{exact}")
    }
}

impl BudgetLine {
    /// The limit with its side where that is not the usual one: `50 USD`, `at least 20%`.
    pub fn limit_words(&self) -> String {
        let limit = self.kind.exact(self.limit);
        match self.bound {
            Bound::Max => limit,
            Bound::Min => format!("at least {limit}"),
        }
    }

    /// Whether another limit in place of its own would let more pass.
    pub fn would_be_widened_by(&self, limit: f64) -> bool {
        match self.bound {
            Bound::Max => limit > self.limit,
            Bound::Min => limit < self.limit,
        }
    }
}
