//! The worst-case cost of canaries, which must fit the spend limit before they are launched.

use crate::canary::CanaryRun;
use crate::instance::Offer;
use crate::units::{Seconds, Usd};

/// A run is billed until it has stopped, which takes up to two minutes beyond its limit.
pub const TIME_TO_STOP: Seconds = Seconds(120.0);

/// The most that `runs` on these machines can cost; `None` without a price of each, in which case the spend limit does not apply.
pub fn worst_case(runs: &[CanaryRun], offer: &Offer) -> Option<Usd> {
    let longest = |run: &CanaryRun| run.max_runtime.unwrap_or_default() + TIME_TO_STOP;
    runs.iter().map(|run| offer.cost(longest(run))).sum()
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
