//! The rule of the alarm: large, certain, and something changed at all.

use super::chart::ControlChart;
use crate::units::Fraction;

/// When a rise is too much, and how sure that must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The highest level that is allowed, as a multiple of the reference's: 1 or more.
    pub limit: f64,
    pub certainty: Fraction,
}

/// Below this chance a rise that is known is more likely than not made up for by what is measured.
const MADE_UP_FOR: f64 = 0.5;

/// What the rule says of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    pub drifted: bool,
    /// P(today's level is above the limit), 0-1. `None` for a single check.
    pub chance_over_limit: Option<f64>,
}

impl Rule {
    /// `known` is by what multiple the newest check is above the reference for reasons that have no noise, prices and bytes;
    /// `chart` is of what remains, which is measured.
    ///
    /// - Where the chart sees a shift, today's level is that of all checks since.
    /// - Where it sees none, what is measured is taken to be as it was: then only what is known can be too much, and is, unless
    ///   the last check makes up for it. The chance is then that of the last check alone, for what it is worth.
    pub fn judge(&self, chart: &ControlChart, known: f64) -> Finding {
        let measured_limit = self.limit / known;
        if let Some(shift) = chart.shift() {
            let chance = shift.of_the_reference.chance_above(measured_limit);
            return Finding {
                drifted: chance >= self.certainty.0,
                chance_over_limit: Some(chance),
            };
        }
        let alone = chart.last_check.as_ref();
        let chance = alone.map(|last| last.chance_above(measured_limit));
        Finding {
            drifted: known > self.limit && chance.is_none_or(|chance| chance > MADE_UP_FOR),
            chance_over_limit: chance,
        }
    }
}

#[cfg(test)]
mod tests;
