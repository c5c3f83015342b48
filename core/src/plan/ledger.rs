//! The **ledger**: what the canaries of one job may cost, and what they did.

use crate::canary::CanaryRun;
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::units::{Seconds, Usd};

/// A run is billed until it has stopped, which takes up to two minutes beyond its limit.
pub const TIME_TO_STOP: Seconds = Seconds(120.0);

/// Sums of cents are not exact: this part of the limit may be rounding.
const ROUNDING: f64 = 1e-9;

/// The account of one job's canaries.
///
/// The most that a run can cost is reserved before it is launched; once it has ended, what was billed takes its place. A
/// reused canary counts against the limit with what it would have cost, so that a run which reuses canaries goes no further
/// than one that pays for them. As long as no run is billed more than was reserved, the sum never passes the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ledger {
    /// Absent where a person asked for the run, whatever it costs.
    limit: Option<Usd>,
    reserved: Usd,
    /// Absent until a run was billed; there is none without a price.
    billed: Option<Usd>,
    /// Absent until a priced canary was reused.
    saved: Option<Usd>,
}

/// What was set aside for one run. One that is never settled stays reserved: the cost of its run is not known.
#[derive(Debug, PartialEq)]
#[must_use = "the run is over when this is settled"]
pub struct Reservation(pub(super) Usd);

impl Reservation {
    pub(super) fn amount(&self) -> Usd {
        self.0
    }
}

impl Ledger {
    pub fn new(limit: Usd) -> Self {
        Self {
            limit: Some(limit),
            ..Self::without_limit()
        }
    }

    /// For a full run, which a person asks for.
    pub fn without_limit() -> Self {
        Self {
            limit: None,
            reserved: Usd(0.0),
            billed: None,
            saved: None,
        }
    }

    /// The account of runs that have ended.
    pub fn of(measurements: &[Measurement]) -> Self {
        let mut ledger = Self::without_limit();
        for run in measurements {
            ledger.bill(run.cost);
            ledger.bill(run.idle_usd);
            ledger.reuse(run.reused.and_then(|reused| reused.saved_usd));
        }
        ledger
    }

    /// Sets `worst` aside if it fits; else changes nothing.
    pub fn reserve(&mut self, worst: Usd) -> Option<Reservation> {
        let committed = self.committed() + worst;
        if (self.limit).is_some_and(|limit| committed.0 > limit.0 * (1.0 + ROUNDING)) {
            return None;
        }
        Some(self.set_aside(worst))
    }

    /// The same for what cannot be held back any more.
    pub(super) fn set_aside(&mut self, worst: Usd) -> Reservation {
        self.reserved = self.reserved + worst;
        Reservation(worst)
    }

    /// The run is over: what it was billed takes the place of what was reserved; nothing where it was never started, or
    /// without a price.
    pub fn settle(&mut self, Reservation(worst): Reservation, billed: Option<Usd>) {
        self.reserved = self.reserved - worst;
        self.bill(billed);
    }

    /// A canary of an earlier run was reused, which would have cost `saved`.
    pub fn reuse(&mut self, saved: Option<Usd>) {
        self.saved = sum(self.saved, saved);
    }

    /// What was never set aside by itself, a run or machines that were kept between runs, was billed so much.
    pub fn bill(&mut self, billed: Option<Usd>) {
        self.billed = sum(self.billed, billed);
    }

    /// What the runs that have ended were billed.
    pub fn billed(&self) -> Option<Usd> {
        self.billed
    }

    /// What the reused canaries would have cost.
    pub fn saved(&self) -> Option<Usd> {
        self.saved
    }

    /// What counts against the limit.
    pub(super) fn committed(&self) -> Usd {
        self.reserved + self.billed.unwrap_or_default() + self.saved.unwrap_or_default()
    }

    /// What is left of the limit; `None`: no limit.
    pub(super) fn left(&self) -> Option<Usd> {
        Some(self.limit? - self.committed())
    }
}

/// How long a run on these machines may take that is paid by `left`, the time to stop it set aside; `None` without a price.
pub fn seconds_paid_by(left: Usd, offer: &Offer) -> Option<Seconds> {
    let a_second = offer.cost(Seconds(1.0))?;
    (a_second.0 > 0.0).then(|| Seconds((left.0 / a_second.0 - TIME_TO_STOP.0).max(0.0)))
}

/// How long each of several runs may take that `left` pays for together, each on machines of its own and with the time to stop it;
/// below 0 where it pays for none, `None` where a price is missing.
pub fn seconds_for_each(left: Usd, offers: impl Iterator<Item = Offer>) -> Option<Seconds> {
    let a_second: Option<Usd> = offers.map(|offer| offer.cost(Seconds(1.0))).sum();
    let a_second = a_second.filter(|usd| usd.0 > 0.0)?;
    Some(Seconds(left.0 / a_second.0 - TIME_TO_STOP.0))
}

fn sum(one: Option<Usd>, other: Option<Usd>) -> Option<Usd> {
    one.into_iter().chain(other).reduce(|sum, usd| sum + usd)
}

/// The most that `runs` can cost; `None` without a price, in which case the spend limit does not apply.
pub fn worst_case(runs: &[CanaryRun], offer: &Offer) -> Option<Usd> {
    let longest = |run: &CanaryRun| run.max_runtime.unwrap_or_default();
    let of_run = |run| worst_case_of(longest(run), offer);
    runs.iter().map(of_run).sum()
}

/// The most that a run of at most `max_runtime` can cost; `None` without a price.
pub fn worst_case_of(max_runtime: Seconds, offer: &Offer) -> Option<Usd> {
    offer.cost(max_runtime + TIME_TO_STOP)
}

#[cfg(test)]
mod tests;
