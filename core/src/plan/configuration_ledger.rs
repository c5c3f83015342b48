//! A job's ledger as its configurations share it: `instance` first, then the alternatives in the order of the spec.

use std::cell::Cell;

use super::ledger::seconds_paid_by;
use super::{JobLedger, Reservation, TighterLimit};
use crate::instance::Offer;
use crate::units::{Seconds, Usd, count_as_float};
use crate::verdict::Reason;

/// The account of each configuration of a job. What one has left takes no notice of those after it, for they get only what it
/// cannot need any more.
#[derive(Debug)]
pub struct ConfigurationLedgers<'a> {
    job: &'a JobLedger<'a>,
    booked: Vec<Cell<Booked>>,
}

/// What one configuration has cost and may cost yet.
#[derive(Debug, Clone, Copy, Default)]
struct Booked {
    /// A part of what counts against the job's limit.
    committed: Usd,
    /// The part of it that was set aside for runs under way.
    reserved: Usd,
    /// The part of it that was set aside for machines that are kept.
    kept: Usd,
    under_way: usize,
    /// Whether the pull request's limit refused a canary of it.
    is_refused: bool,
}

/// One configuration's part of a job's ledger.
#[derive(Debug, Clone, Copy)]
pub struct ConfigurationLedger<'a> {
    all: &'a ConfigurationLedgers<'a>,
    place: usize,
}

/// What the configurations before one in the list still take of its money.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TakenBefore {
    /// No more than what was billed until now: even their canaries under way and the machines they keep turn out to cost nothing.
    Nothing,
    /// All that their canaries under way may cost, and so much besides.
    AtMost(Usd),
}

/// What the canaries of a configuration that may still come can cost at most, by their number and by what each can cost.
/// Those under way are among them, for which the ledger has set their money aside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StillNeeded {
    pub canaries: usize,
    pub each: Usd,
}

impl<'a> ConfigurationLedgers<'a> {
    /// Of a job with so many configurations.
    pub fn new(job: &'a JobLedger<'a>, configurations: usize) -> Self {
        Self {
            job,
            booked: vec![Cell::default(); configurations],
        }
    }

    /// Of the configuration at a place of the list.
    pub fn of(&'a self, place: usize) -> ConfigurationLedger<'a> {
        ConfigurationLedger { all: self, place }
    }

    fn sum(places: &[Cell<Booked>], amount: impl Fn(Booked) -> Usd) -> Usd {
        places.iter().map(|booked| amount(booked.get())).sum()
    }
}

impl<'a> ConfigurationLedger<'a> {
    /// Sets `worst` aside for a run if it fits; else changes nothing.
    pub fn reserve(&self, worst: Usd) -> Option<Reservation> {
        let reserved = self.book(|job| job.try_reserve(worst));
        if let Err(TighterLimit::OfThePullRequest) = reserved {
            self.change(|booked| booked.is_refused = true);
        }
        let reserved = reserved.ok()?;
        self.change(|booked| {
            booked.reserved = booked.reserved + worst;
            booked.under_way += 1;
        });
        Some(reserved)
    }

    /// The run is over: what it was billed takes the place of what was reserved.
    pub fn settle(&self, reservation: Reservation, billed: Option<Usd>) {
        let worst = reservation.amount();
        self.book(|job| job.settle(reservation, billed));
        self.change(|booked| {
            booked.reserved = booked.reserved - worst;
            booked.under_way -= 1;
        });
    }

    /// Does something else with the job's ledger, for this configuration.
    pub fn book<T>(&self, does: impl FnOnce(&JobLedger<'_>) -> T) -> T {
        let job = self.all.job;
        let (committed, kept) = (job.committed(), job.kept());
        let done = does(job);
        self.change(|booked| {
            booked.committed = booked.committed + (job.committed() - committed);
            booked.kept = booked.kept + (job.kept() - kept);
        });
        done
    }

    fn change(&self, change: impl FnOnce(&mut Booked)) {
        let mut booked = self.all.booked[self.place].get();
        change(&mut booked);
        self.all.booked[self.place].set(booked);
    }

    /// What the job's runs that have ended were billed, on all configurations.
    pub fn billed(&self) -> Option<Usd> {
        self.all.job.billed()
    }

    /// Of `still`, what is not set aside yet.
    pub fn not_launched(&self, still: StillNeeded) -> Usd {
        let under_way = self.all.booked[self.place].get().under_way;
        still.each * count_as_float(still.canaries.saturating_sub(under_way))
    }

    /// What is left by both limits; `None`: no limit.
    pub fn left(&self, before: TakenBefore) -> Option<Usd> {
        let left = self.all.job.left()? + self.taken_after();
        Some(match before {
            TakenBefore::Nothing => left + self.set_aside_before(),
            TakenBefore::AtMost(more) => left - more,
        })
    }

    /// What those after it have committed, as if they had not.
    fn taken_after(&self) -> Usd {
        ConfigurationLedgers::sum(&self.all.booked[self.place + 1..], |one| one.committed)
    }

    fn set_aside_before(&self) -> Usd {
        ConfigurationLedgers::sum(&self.all.booked[..self.place], |one| {
            one.reserved + one.kept
        })
    }

    /// Which limit is reached first, or was.
    pub fn tighter(&self) -> TighterLimit {
        match self.is_refused() {
            true => TighterLimit::OfThePullRequest,
            false => self.all.job.tighter(),
        }
    }

    /// Whether the pull request has a limit of its own.
    pub fn is_of_pull_request(&self) -> bool {
        self.all.job.is_of_pull_request()
    }

    /// Whether the pull request's limit covers so much; that it does not is a refusal.
    pub fn fits_pull_request(&self, worst: Usd) -> bool {
        let fits = self.all.job.fits_pull_request(worst);
        self.change(|booked| booked.is_refused |= !fits);
        fits
    }

    fn is_refused(&self) -> bool {
        self.all.booked[self.place].get().is_refused
    }

    /// Why the pull request's limit refused a canary of this configuration, and what to do; `None` where it refused none.
    pub fn refusal(&self) -> Option<Reason> {
        self.all.job.refusal().filter(|_| self.is_refused())
    }

    /// How long a run on these machines may still take within both limits, the time to stop it set aside; `None`: no limit, or no
    /// price.
    pub fn seconds_left(&self, offer: &Offer, before: TakenBefore) -> Option<Seconds> {
        seconds_paid_by(self.left(before)?, offer)
    }
}

#[cfg(test)]
mod tests;
