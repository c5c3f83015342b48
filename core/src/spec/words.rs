//! Limits of a budget as they are said.

use super::{Bound, BudgetLine};
use crate::metric::Amount;

impl BudgetLine {
    /// The limit with its side where that is not the usual one: `50 USD`, `at least 20%`.
    pub fn limit_words(&self) -> String {
        self.words_of(self.limit)
    }

    /// Another limit in place of its own, as that is said.
    pub fn words_of(&self, limit: Amount) -> String {
        let limit = self.kind.exact(limit.number);
        match self.bound {
            Bound::Max => limit,
            Bound::Min => format!("at least {limit}"),
        }
    }

    /// Whether another limit in place of its own would let more pass.
    pub fn would_be_widened_by(&self, limit: Amount) -> bool {
        match self.bound {
            Bound::Max => limit > self.limit,
            Bound::Min => limit < self.limit,
        }
    }
}
