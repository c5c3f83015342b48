//! What canaries may cost at worst, held against the spend limit before anything is launched.

use crate::canary::CanaryRun;
use crate::instance::Price;
use crate::units::{Seconds, Usd};

/// A run is billed until it has stopped; ending it takes up to two minutes beyond its limit.
pub const TIME_TO_STOP: Seconds = Seconds(120.0);

/// The most that `runs` can cost; `None` without a price, and then the spend rule does not apply.
pub fn worst_case(runs: &[CanaryRun], price: Option<&Price>) -> Option<Usd> {
    let price = price?;
    Some(
        runs.iter()
            .map(|run| {
                let longest = run.max_runtime.unwrap_or_default() + TIME_TO_STOP;
                price.usd_per_hour.cost(longest, run.instance.total_count())
            })
            .sum(),
    )
}

/// What is left of a spend limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Headroom(Usd);

impl Headroom {
    pub fn new(limit: Usd) -> Self {
        Self(limit)
    }

    /// Sets `amount` aside if it fits; else changes nothing and says no.
    pub fn take(&mut self, amount: Usd) -> bool {
        let fits = amount <= self.0;
        if fits {
            self.0 = self.0 - amount;
        }
        fits
    }
}
