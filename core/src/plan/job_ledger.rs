//! The **job's ledger**, below that of the whole run of the gate.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Ledger, PullRequestLedger, Reservation};
use crate::units::Usd;
use crate::verdict::Reason;

/// A job's ledger, and above it those of the whole run of the gate and of the pull request: what is set aside fits into all.
#[derive(Debug)]
pub struct JobLedger<'a> {
    job: RefCell<Ledger>,
    run: Option<&'a RefCell<Ledger>>,
    pull_request: Option<&'a PullRequestLedger>,
    /// What machines may cost that are kept after a run, by that run: until it is known what they did cost.
    kept: RefCell<BTreeMap<String, Reservation>>,
}

/// The limit that has less left than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TighterLimit {
    OfTheJob,
    OfTheRun,
    OfThePullRequest,
}

impl TighterLimit {
    /// As a user knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OfTheJob => "canary.spend_limit",
            Self::OfTheRun => "--max-spend",
            Self::OfThePullRequest => "--max-spend-per-pull-request",
        }
    }
}

impl<'a> JobLedger<'a> {
    pub fn new(limit: Usd, run: &'a RefCell<Ledger>) -> Self {
        Self {
            job: RefCell::new(Ledger::new(limit)),
            run: Some(run),
            ..Self::without_limit()
        }
    }

    /// The same, of a check of a pull request with a limit of its own.
    pub fn of_pull_request(self, pull_request: Option<&'a PullRequestLedger>) -> Self {
        Self {
            pull_request,
            ..self
        }
    }

    /// For a full run, which a person asks for.
    pub fn without_limit() -> Self {
        Self {
            job: RefCell::new(Ledger::without_limit()),
            run: None,
            pull_request: None,
            kept: RefCell::default(),
        }
    }

    /// Sets `worst` aside if it fits into all; else changes nothing.
    pub fn reserve(&self, worst: Usd) -> Option<Reservation> {
        self.try_reserve(worst).ok()
    }

    /// The same; else the limit that refused it.
    pub(super) fn try_reserve(&self, worst: Usd) -> Result<Reservation, TighterLimit> {
        let of_job = (self.job.borrow_mut().reserve(worst)).ok_or(TighterLimit::OfTheJob)?;
        if let Some(run) = self.run
            && run.borrow_mut().reserve(worst).is_none()
        {
            self.job.borrow_mut().settle(of_job, None);
            return Err(TighterLimit::OfTheRun);
        }
        if let Some(pull_request) = self.pull_request
            && pull_request.reserve(worst).is_none()
        {
            if let Some(run) = self.run {
                let of_run = Reservation(worst);
                run.borrow_mut().settle(of_run, None);
            }
            self.job.borrow_mut().settle(of_job, None);
            return Err(TighterLimit::OfThePullRequest);
        }
        Ok(of_job)
    }

    /// The run is over: what it was billed takes the place of what was reserved.
    pub fn settle(&self, reservation: Reservation, billed: Option<Usd>) {
        if let Some(run) = self.run {
            let of_run = Reservation(reservation.0);
            run.borrow_mut().settle(of_run, billed);
        }
        if let Some(pull_request) = self.pull_request {
            pull_request.settle(Reservation(reservation.0), billed);
        }
        self.job.borrow_mut().settle(reservation, billed);
    }

    /// Machines are kept after a run, for `longest` at most: that stays set aside until [`Self::end_kept`] hears what it came to. It
    /// was a part of what was set aside for the run itself, so that there is room for it; once for each run.
    pub fn keep(&self, run: &str, longest: Usd) {
        let mut kept = self.kept.borrow_mut();
        if kept.contains_key(run) {
            return;
        }
        if let Some(of_gate) = self.run {
            // The job's reservation stands for both.
            let _ = of_gate.borrow_mut().set_aside(longest);
        }
        if let Some(pull_request) = self.pull_request {
            pull_request.set_aside(longest);
        }
        kept.insert(run.to_owned(), self.job.borrow_mut().set_aside(longest));
    }

    /// The machines that were kept after `runs` are so no more, and `idle` is billed for all of them.
    pub fn end_kept<'n>(&self, runs: impl IntoIterator<Item = &'n str>, idle: Option<Usd>) {
        for run in runs {
            let kept = self.kept.borrow_mut().remove(run);
            if let Some(reservation) = kept {
                self.settle(reservation, None);
            }
        }
        if let Some(of_gate) = self.run {
            of_gate.borrow_mut().bill(idle);
        }
        if let Some(pull_request) = self.pull_request {
            pull_request.bill(idle);
        }
        self.job.borrow_mut().bill(idle);
    }

    /// Whatever else was kept is so no more, but for `runs`.
    pub fn end_all_kept_but(&self, runs: &[&str]) {
        let over: Vec<String> = (self.kept.borrow().keys())
            .filter(|run| !runs.contains(&run.as_str()))
            .cloned()
            .collect();
        self.end_kept(over.iter().map(String::as_str), None);
    }

    /// An earlier start of this run was billed so much, which the pull request's limit has counted by then.
    pub fn carry(&self, billed: Option<Usd>) {
        if let Some(run) = self.run {
            run.borrow_mut().bill(billed);
        }
        self.job.borrow_mut().bill(billed);
    }

    /// A canary of an earlier run was reused, which would have cost `saved`.
    pub fn reuse(&self, saved: Option<Usd>) {
        if let Some(run) = self.run {
            run.borrow_mut().reuse(saved);
        }
        self.job.borrow_mut().reuse(saved);
    }

    /// What the job's runs that have ended were billed.
    pub fn billed(&self) -> Option<Usd> {
        self.job.borrow().billed()
    }

    /// What counts against the job's limit: reserved, billed and saved.
    pub fn committed(&self) -> Usd {
        self.job.borrow().committed()
    }

    /// The part of it that is set aside for machines that are kept.
    pub(super) fn kept(&self) -> Usd {
        self.kept.borrow().values().map(Reservation::amount).sum()
    }

    /// What is left by the limits of the job and of the run; `None`: no limit. Canaries are chosen by it.
    pub fn left(&self) -> Option<Usd> {
        match self.tighter() {
            TighterLimit::OfTheRun => self.run?.borrow().left(),
            _ => self.job.borrow().left(),
        }
    }

    /// Which of the limits of the job and of the run is reached first.
    pub fn tighter(&self) -> TighterLimit {
        let of_run = self.run.and_then(|run| run.borrow().left());
        match (self.job.borrow().left(), of_run) {
            (Some(job), Some(run)) if run < job => TighterLimit::OfTheRun,
            (None, Some(_)) => TighterLimit::OfTheRun,
            _ => TighterLimit::OfTheJob,
        }
    }

    /// Whether the pull request has a limit of its own.
    pub fn is_of_pull_request(&self) -> bool {
        self.pull_request.is_some()
    }

    /// Whether the pull request's limit covers so much.
    pub(super) fn fits_pull_request(&self, worst: Usd) -> bool {
        self.pull_request.is_none_or(|one| one.fits(worst))
    }

    /// Why the pull request's limit refused a canary, and what to do; `None` where it has none.
    pub(super) fn refusal(&self) -> Option<Reason> {
        Some(self.pull_request?.refusal())
    }
}

#[cfg(test)]
mod tests;
