//! The worst-case cost of canaries, which must fit the spend limit before they are launched.

use crate::canary::CanaryRun;
use crate::instance::Price;
use crate::units::{Seconds, Usd};

/// A run is billed until it has stopped, which takes up to two minutes beyond its limit.
pub const TIME_TO_STOP: Seconds = Seconds(120.0);

/// The most that `runs` can cost; `None` without a price, in which case the spend limit does not apply.
pub fn worst_case(runs: &[CanaryRun], price: Option<&Price>) -> Option<Usd> {
    let price = price?;
    let of_run = |run: &CanaryRun| {
        let longest = run.max_runtime.unwrap_or_default();
        worst_case_of(longest, run.instance.total_count(), price)
    };
    Some(runs.iter().map(of_run).sum())
}

/// The most that one run of at most `max_runtime` can cost.
pub(super) fn worst_case_of(max_runtime: Seconds, machines: u32, price: &Price) -> Usd {
    price
        .usd_per_hour
        .cost(max_runtime + TIME_TO_STOP, machines)
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
