//! The **pull request's ledger**, above those of all jobs of a run: what the checks of one pull request may cost over all its
//! pushes.

use std::cell::RefCell;

use super::{Ledger, Reservation};
use crate::units::Usd;
use crate::verdict::Reason;

/// The account of all checks of one pull request.
///
/// It has no part in which canaries are chosen, so that those of an earlier push are found again; it only refuses to start one.
/// A reused canary does not count: it was paid when it ran.
#[derive(Debug)]
pub struct PullRequestLedger {
    limit: Usd,
    ledger: RefCell<Ledger>,
    /// Why it is not known what the checks before this one cost: nothing is started then.
    not_known: Option<String>,
}

impl PullRequestLedger {
    /// `spent` is what the checks before this one cost, or why that is not known.
    pub fn new(limit: Usd, spent: Result<Usd, String>) -> Self {
        let mut ledger = Ledger::new(limit);
        ledger.bill(spent.as_ref().ok().copied());
        Self {
            limit,
            ledger: RefCell::new(ledger),
            not_known: spent.err(),
        }
    }

    /// Sets `worst` aside if it fits; else changes nothing. What costs nothing fits.
    pub(super) fn reserve(&self, worst: Usd) -> Option<Reservation> {
        let mut ledger = self.ledger.borrow_mut();
        if worst.0 <= 0.0 {
            return Some(ledger.set_aside(worst));
        }
        match self.not_known {
            Some(_) => None,
            None => ledger.reserve(worst),
        }
    }

    pub(super) fn fits(&self, worst: Usd) -> bool {
        let reserved = self.reserve(worst);
        reserved.is_some_and(|reserved| {
            self.settle(reserved, None);
            true
        })
    }

    pub(super) fn set_aside(&self, worst: Usd) {
        // The job's reservation stands for both.
        let _ = self.ledger.borrow_mut().set_aside(worst);
    }

    pub(super) fn settle(&self, reservation: Reservation, billed: Option<Usd>) {
        self.ledger.borrow_mut().settle(reservation, billed);
    }

    pub(super) fn bill(&self, billed: Option<Usd>) {
        self.ledger.borrow_mut().bill(billed);
    }

    /// What is left for canaries, 0 at least.
    pub fn left(&self) -> Usd {
        let left = self.ledger.borrow().left().unwrap_or_default();
        match self.not_known {
            None if left.0 > 0.0 => left,
            _ => Usd(0.0),
        }
    }

    /// What the checks cost so far, this one included.
    fn spent(&self) -> Usd {
        self.ledger.borrow().billed().unwrap_or_default()
    }

    /// Why a canary was not started, and what to do.
    pub fn refusal(&self) -> Reason {
        if let Some(why) = &self.not_known {
            return Reason::new(format!(
                "no canary was started, since it is not known what the checks of this pull request have cost: {why}"
            ));
        }
        Reason::new(format!(
            "of {} for the checks of this pull request {} are spent, and the rest ({}) does not cover the most that the next canaries may cost",
            self.limit.exact(),
            self.spent(),
            self.left()
        ))
        .advising("raise --max-spend-per-pull-request, or lower canary.max_runtime")
    }

    /// How much of the limit is spent, as a sentence.
    pub fn standing(&self) -> String {
        match &self.not_known {
            Some(why) => {
                format!("What the checks of this pull request have cost is not known: {why}.")
            }
            None => format!(
                "Checks of this pull request so far: {} of {}, {} left.",
                self.spent(),
                self.limit.exact(),
                self.left()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_checks_cost_is_gone() {
        let ledger = PullRequestLedger::new(Usd(20.0), Ok(Usd(19.4)));
        assert!(ledger.reserve(Usd(0.7)).is_none());
        let reserved = ledger.reserve(Usd(0.6)).unwrap();
        assert!(ledger.reserve(Usd(0.1)).is_none());
        ledger.settle(reserved, Some(Usd(0.2)));
        assert_eq!(
            ledger.standing(),
            "Checks of this pull request so far: 20 USD of 20 USD, 0.40 USD left."
        );
        assert!((ledger.left().0 - 0.4).abs() < 1e-9);
    }

    #[test]
    fn more_than_the_limit_leaves_nothing_and_not_less() {
        let ledger = PullRequestLedger::new(Usd(20.0), Ok(Usd(1e300)));
        assert_eq!(ledger.left(), Usd(0.0));
        assert!(ledger.reserve(Usd(0.01)).is_none());
    }

    #[test]
    fn where_the_sum_is_not_known_only_what_costs_nothing_is_started() {
        let ledger = PullRequestLedger::new(Usd(20.0), Err("a record is damaged".to_owned()));
        assert_eq!(ledger.left(), Usd(0.0));
        assert!(ledger.reserve(Usd(0.01)).is_none());
        assert!(ledger.reserve(Usd(0.0)).is_some());
        assert!(ledger.refusal().why.contains("a record is damaged"));
    }
}
