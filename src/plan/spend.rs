//! The worst-case cost of canaries, which must fit the spend limit before they are launched.

use crate::canary::CanaryRun;
use crate::instance::Price;
use crate::units::{Seconds, Usd};

/// A run is billed until it has stopped, which takes up to two minutes beyond its limit.
pub const TIME_TO_STOP: Seconds = Seconds(120.0);

/// The most that `runs` can cost; `None` without a price, in which case the spend limit does not apply.
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

/// The remaining part of a spend limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Headroom(Usd);

impl Headroom {
    pub fn new(limit: Usd) -> Self {
        Self(limit)
    }

    /// Reserves `amount` if it fits; else changes nothing and returns false.
    pub fn take(&mut self, amount: Usd) -> bool {
        let fits = amount <= self.0;
        if fits {
            self.0 = self.0 - amount;
        }
        fits
    }
}
