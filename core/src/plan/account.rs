//! The **account**: what canaries may cost, and what they did.
//!
//! The accounts of a run stand below one another: a pull request's, a job's, a configuration's. The most that a run can cost is
//! reserved in its account and all above before it is launched; once it has ended, what was billed takes its place. As long as no
//! run is billed more than was reserved, no sum passes its limit.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::canary::CanaryRun;
use crate::instance::Offer;
use crate::spec::Job;
use crate::units::{Seconds, Usd, sum};

/// A run is billed until it has stopped, which takes up to two minutes beyond its limit.
pub const TIME_TO_STOP: Seconds = Seconds(120.0);

/// Sums of cents are not exact: this part of the limit may be rounding.
const ROUNDING: f64 = 1e-9;

/// Whose limit an account has, by the name that a user writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum Limit {
    #[display("canary.spend_limit")]
    Job,
    /// Of a job on machines without a price.
    #[display("canary.max_seconds")]
    MachineTime,
    /// Of a job that the base does not have: what such jobs may cost together.
    #[display("the cap of jobs that the base does not have")]
    NewJob,
    #[display("--max-spend")]
    Run,
    #[display("--max-spend-per-pull-request")]
    PullRequest,
}

impl Limit {
    pub fn of(job: &Job) -> Self {
        match job.is_capped {
            true => Self::NewJob,
            false => Self::Job,
        }
    }

    /// What somebody who wants more canaries raises.
    pub fn raised(self) -> String {
        match self {
            Self::Job => format!("{self} (of a pull request, on its base branch)"),
            Self::NewJob => format!("{} (or merge the spec first)", Self::Run),
            _ => self.to_string(),
        }
    }
}

/// An account; a clone is the same one.
#[derive(Debug, Clone)]
pub struct Account(Rc<Book>);

#[derive(Debug)]
struct Book {
    /// Absent where a person asked for the run, whatever it costs.
    limit: Option<Usd>,
    of: Limit,
    above: Option<Account>,
    sums: Cell<Sums>,
    refused_by: Cell<Option<Limit>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    reserved: Usd,
    /// Absent until a run was billed; there is none without a price.
    billed: Option<Usd>,
    /// What reused canaries would have cost; absent until a priced one was.
    saved: Option<Usd>,
    /// What machine time without a price counts.
    unpriced: Option<Usd>,
}

/// What was set aside for one run. One that is never settled stays reserved: the cost of its run is not known.
#[derive(Debug)]
#[must_use = "the run is over when this is settled"]
pub struct Reservation {
    account: Account,
    amount: Usd,
}

impl Account {
    pub fn new(limit: Option<Usd>, of: Limit) -> Self {
        Self::below(None, limit, of)
    }

    /// An account whose sums count in another one too.
    pub fn below(above: Option<&Self>, limit: Option<Usd>, of: Limit) -> Self {
        Self(Rc::new(Book {
            limit,
            of,
            above: above.cloned(),
            sums: Cell::default(),
            refused_by: Cell::new(None),
        }))
    }

    /// For a full run, which a person asks for.
    pub fn without_limit() -> Self {
        Self::new(None, Limit::Job)
    }

    /// A part of the account, with a limit of its own.
    pub fn slice(&self, limit: Option<Usd>) -> Self {
        Self::below(Some(self), limit, self.0.of)
    }

    /// This account, and all above it.
    fn upwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |one| one.0.above.as_ref())
    }

    /// Sets `worst` aside if it fits into this account and all above; else changes nothing. What costs nothing fits.
    pub fn reserve(&self, worst: Usd) -> Option<Reservation> {
        if let Some(full) = self.upwards().find(|one| !one.fits(worst)) {
            if self.limit() != Limit::PullRequest {
                self.0.refused_by.set(Some(full.0.of));
            }
            return None;
        }
        Some(self.set_aside(worst))
    }

    /// Whether `worst` fits into this account and all above.
    pub fn covers(&self, worst: Usd) -> bool {
        self.upwards().all(|one| one.fits(worst))
    }

    /// Whether the pull request's limit covers `worst`; that it does not counts as refused.
    pub fn fits_pull_request(&self, worst: Usd) -> bool {
        let mut above = self.upwards();
        let of_pull_request = above.find(|one| one.0.of == Limit::PullRequest);
        let fits = of_pull_request.is_none_or(|one| one.fits(worst));
        if !fits {
            self.0.refused_by.set(Some(Limit::PullRequest));
        }
        fits
    }

    /// Whether the accounts above cover all that is left of this one.
    pub fn is_covered(&self) -> bool {
        let left = self.left().unwrap_or_default();
        self.upwards().skip(1).all(|one| one.fits(left))
    }

    /// Sets `worst` aside for good, if it fits.
    pub fn takes(&self, worst: Usd) -> bool {
        self.reserve(worst).is_some()
    }

    fn fits(&self, worst: Usd) -> bool {
        let committed = self.committed() + worst;
        worst.0 <= 0.0
            || (self.0.limit).is_none_or(|limit| committed.0 <= limit.0 * (1.0 + ROUNDING))
    }

    /// Reserves what cannot be held back any more.
    fn set_aside(&self, worst: Usd) -> Reservation {
        change_each(self.upwards(), |sums| sums.reserved = sums.reserved + worst);
        Reservation {
            account: self.clone(),
            amount: worst,
        }
    }

    /// This account, and all above it but the pull request's, which has counted when it was paid.
    fn of_run(&self) -> impl Iterator<Item = &Self> {
        self.upwards().filter(|one| one.0.of != Limit::PullRequest)
    }

    /// What was never set aside by itself, a run or machines that were kept between runs, was billed so much.
    pub fn bill(&self, billed: Option<Usd>) {
        change_each(self.upwards(), |sums| {
            sums.billed = sum([sums.billed, billed]);
        });
    }

    /// An earlier start of this run was billed so much.
    pub fn carry(&self, billed: Option<Usd>) {
        change_each(self.of_run(), |sums| {
            sums.billed = sum([sums.billed, billed]);
        });
    }

    /// A canary of an earlier run was reused, which would have cost `saved`: that counts against the limit, so that a run which
    /// reuses canaries goes no further than one that pays for them.
    pub fn reuse(&self, saved: Option<Usd>) {
        change_each(self.of_run(), |sums| sums.saved = sum([sums.saved, saved]));
    }

    /// Machine time without a price counts so much against the limits; what was billed for it is not known.
    pub fn count(&self, charge: Option<Usd>) {
        change_each(self.upwards(), |sums| {
            sums.unpriced = sum([sums.unpriced, charge]);
        });
    }

    /// The account of all canaries that this one is a part of, below the pull request's.
    pub fn whole(&self) -> &Self {
        self.of_run().last().unwrap_or(self)
    }

    /// What the runs that have ended were billed.
    pub fn billed(&self) -> Option<Usd> {
        self.0.sums.get().billed
    }

    /// What counts against the limit.
    pub fn committed(&self) -> Usd {
        let sums = self.0.sums.get();
        let counted = [sums.billed, sums.saved, sums.unpriced];
        sums.reserved + counted.into_iter().flatten().sum()
    }

    /// What is left of its own limit; `None`: no limit. Canaries are chosen by it, and not by what the pull request has left, so
    /// that those of an earlier push are found again.
    pub fn left(&self) -> Option<Usd> {
        Some(self.0.limit? - self.committed())
    }

    /// Its own limit; `None`: no limit.
    pub fn most(&self) -> Option<Usd> {
        self.0.limit
    }

    /// How long a run on these machines may still take, the time to stop it set aside; `None`: no limit, or no price.
    pub fn seconds_left(&self, offer: &Offer) -> Option<Seconds> {
        let left = seconds_for_each(self.left()?, std::iter::once(offer.clone()))?;
        Some(Seconds(left.0.max(0.0)))
    }

    /// The limit that refused something, else its own.
    pub fn limit(&self) -> Limit {
        self.0.refused_by.get().unwrap_or(self.0.of)
    }

    /// Whether an account above it has a limit for all checks of the pull request.
    pub fn is_of_pull_request(&self) -> bool {
        self.upwards().any(|one| one.0.of == Limit::PullRequest)
    }
}

impl Reservation {
    /// The run is over: what it was billed takes the place of what was reserved; nothing where it was never started, or without a
    /// price.
    pub fn settle(self, billed: Option<Usd>) {
        change_each(self.account.upwards(), |sums| {
            sums.reserved = sums.reserved - self.amount;
            sums.billed = sum([sums.billed, billed]);
        });
    }
}

/// What machines may cost that are kept after a run, by that run: set aside until it is known what they did cost.
#[derive(Debug, Default)]
pub struct KeptMachines(RefCell<BTreeMap<String, Reservation>>);

impl KeptMachines {
    /// Machines are kept after a run, for `longest` at most. It was a part of what was set aside for the run itself, so that there
    /// is room for it; once for each run.
    pub fn keep(&self, account: &Account, run: &str, longest: Usd) {
        let mut kept = self.0.borrow_mut();
        let once = kept.entry(run.to_owned());
        once.or_insert_with(|| account.set_aside(longest));
    }

    /// The machines that were kept after `runs` are so no more, and `idle` is billed for all of them.
    pub fn end<'n>(
        &self,
        account: &Account,
        runs: impl IntoIterator<Item = &'n str>,
        idle: Option<Usd>,
    ) {
        for run in runs {
            if let Some(reservation) = self.0.borrow_mut().remove(run) {
                reservation.settle(None);
            }
        }
        account.bill(idle);
    }

    /// Whatever else was kept is so no more, but for `runs`.
    pub fn end_all_but(&self, runs: &[&str]) {
        let mut kept = self.0.borrow_mut();
        let ended = kept.extract_if(.., |run, _| !runs.contains(&run.as_str()));
        ended.for_each(|(_, reservation)| reservation.settle(None));
    }
}

fn change_each<'a>(accounts: impl Iterator<Item = &'a Account>, change: impl Fn(&mut Sums)) {
    for account in accounts {
        let mut sums = account.0.sums.get();
        change(&mut sums);
        account.0.sums.set(sums);
    }
}

/// How long each of several runs may take that `left` pays for together, each on machines of its own and with the time to stop it;
/// below 0 where it pays for none, `None` where a price is missing.
pub fn seconds_for_each(left: Usd, offers: impl Iterator<Item = Offer>) -> Option<Seconds> {
    let a_second: Option<Usd> = offers.map(|offer| offer.charge(Seconds(1.0))).sum();
    let a_second = a_second.filter(|usd| usd.0 > 0.0)?;
    Some(Seconds(left.0 / a_second.0 - TIME_TO_STOP.0))
}

/// The most that `runs` can count against a limit; `None` where nothing does, without a price or `canary.max_seconds`.
pub fn worst_case(runs: &[CanaryRun], offer: &Offer) -> Option<Usd> {
    let longest = |run: &CanaryRun| run.max_runtime.unwrap_or_default();
    let of_run = |run| worst_case_of(longest(run), offer);
    runs.iter().map(of_run).sum()
}

/// The most that a run of at most `max_runtime` can count.
pub fn worst_case_of(max_runtime: Seconds, offer: &Offer) -> Option<Usd> {
    offer.charge(max_runtime + TIME_TO_STOP)
}

#[cfg(test)]
mod tests;
