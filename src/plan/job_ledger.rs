//! The **job's ledger**, below that of the whole run of the gate.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Ledger, Reservation};
use crate::units::Usd;

/// A job's ledger, and above it that of the whole run of the gate: what is set aside fits into both.
#[derive(Debug)]
pub struct JobLedger<'a> {
    job: RefCell<Ledger>,
    run: Option<&'a RefCell<Ledger>>,
    /// What machines may cost that are kept after a run, by that run: until it is known what they did cost.
    kept: RefCell<BTreeMap<String, Reservation>>,
}

/// The limit that has less left than the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TighterLimit {
    OfTheJob,
    OfTheRun,
}

impl TighterLimit {
    /// As a user knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OfTheJob => "canary.spend_limit",
            Self::OfTheRun => "--max-spend",
        }
    }
}

impl<'a> JobLedger<'a> {
    pub fn new(limit: Usd, run: &'a RefCell<Ledger>) -> Self {
        Self {
            job: RefCell::new(Ledger::new(limit)),
            run: Some(run),
            kept: RefCell::default(),
        }
    }

    /// For a full run, which a person asks for.
    pub fn without_limit() -> Self {
        Self {
            job: RefCell::new(Ledger::without_limit()),
            run: None,
            kept: RefCell::default(),
        }
    }

    /// Sets `worst` aside if it fits into both; else changes nothing.
    pub fn reserve(&self, worst: Usd) -> Option<Reservation> {
        let of_job = self.job.borrow_mut().reserve(worst)?;
        if let Some(run) = self.run
            && run.borrow_mut().reserve(worst).is_none()
        {
            self.job.borrow_mut().settle(of_job, None);
            return None;
        }
        Some(of_job)
    }

    /// The run is over: what it was billed takes the place of what was reserved.
    pub fn settle(&self, reservation: Reservation, billed: Option<Usd>) {
        if let Some(run) = self.run {
            let of_run = Reservation(reservation.0);
            run.borrow_mut().settle(of_run, billed);
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

    /// What is left by both limits; `None`: no limit.
    pub fn left(&self) -> Option<Usd> {
        match self.tighter() {
            TighterLimit::OfTheJob => self.job.borrow().left(),
            TighterLimit::OfTheRun => self.run?.borrow().left(),
        }
    }

    /// Which limit is reached first.
    pub fn tighter(&self) -> TighterLimit {
        let of_run = self.run.and_then(|run| run.borrow().left());
        match (self.job.borrow().left(), of_run) {
            (Some(job), Some(run)) if run < job => TighterLimit::OfTheRun,
            (None, Some(_)) => TighterLimit::OfTheRun,
            _ => TighterLimit::OfTheJob,
        }
    }
}

#[cfg(test)]
mod tests;
