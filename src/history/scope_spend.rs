//! What the canaries of one scope have cost, by its records.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Known;
use std::ops::ControlFlow;

use jiff::Timestamp;

use super::record::{Content, Record, canary_identity};
use super::{Damaged, Entry, History, RecordKind};
use crate::instance::InstanceConfiguration;
use crate::measurement::{Measurement, Outcome};
use crate::outside_error::OutsideResult;
use crate::units::{Seconds, Usd};

/// What the canaries of one scope have cost.
#[derive(Debug, PartialEq)]
pub enum ScopeSpend {
    Known(PaidCanaries),
    /// Not known: this record cannot be read, and may be of a canary that was paid.
    Unreadable(Damaged),
    /// Not known: the folder of the history, at this path, is not there.
    NoHistory(String),
}

/// The canaries of one scope that were paid.
#[derive(Debug, Default, PartialEq)]
pub struct PaidCanaries {
    /// Each canary once, by whichever of its records has the higher bill.
    pub billed: Usd,
    /// Those whose bill is not known.
    pub unbilled: Vec<UnbilledCanary>,
}

/// A canary that a signal stopped before its bill was known, or whose machines had no price.
#[derive(Debug, PartialEq)]
pub struct UnbilledCanary {
    pub job: String,
    pub instance: InstanceConfiguration,
    /// Its worst case when it was started; absent where no price was known, and in older records.
    pub at_most: Option<Usd>,
    /// What it is billed for, with its kept machines; absent where it was stopped before that was known.
    pub time: Option<Seconds>,
}

/// Whether who wrote a record paid for a run in it as a canary: it is neither reused nor another run's, and no full run.
pub(super) fn is_paid_canary(record: &Record, run: &Measurement) -> bool {
    let is_own = match record.content {
        Content::Canary { is_adopted, .. } => !is_adopted,
        Content::Forecast(_) => true,
        Content::FullRun { .. } => false,
    };
    is_own && run.reused.is_none()
}

/// Whether its bill is not known: nobody waited for it, or its machines had no price.
fn is_unbilled(run: &Measurement) -> bool {
    let has_billed_time = run.billable_seconds.is_some_and(|time| time.0 > 0.0);
    run.cost.is_none() && (run.outcome == Outcome::Stopped || has_billed_time)
}

/// What a run was billed, kept machines included.
pub(super) fn bill(run: &Measurement) -> Usd {
    run.cost.into_iter().chain(run.idle_usd).sum()
}

/// The bill of each canary, by its training job; `Err` where the bill is unknown.
#[derive(Debug, Default)]
struct Bills(BTreeMap<String, Result<Usd, UnbilledCanary>>);

impl Bills {
    fn add(&mut self, record: &Record) {
        for run in record.measurements() {
            let is_whole = run.outcome != Outcome::Stopped;
            let took = run.billable_seconds.filter(|_| is_whole);
            let bill = match (&record.content, &run.training_job) {
                // Another run paid for a training job that was taken over; the record says the bill only where no account may have it.
                (Content::Canary { is_adopted, .. }, _) if *is_adopted => match record.at_most() {
                    Some(bill) => Ok(bill),
                    None => continue,
                },
                _ if !is_paid_canary(record, run) => continue,
                (_, Some(_)) if is_unbilled(run) => Err(UnbilledCanary {
                    job: run.job.clone(),
                    instance: run.instance.clone(),
                    at_most: record.at_most(),
                    time: took.map(|time| time + run.idle_seconds.unwrap_or_default()),
                }),
                _ => Ok(bill(run)),
            };
            let name = run.training_job.clone();
            match self.0.entry(name.unwrap_or_else(|| canary_identity(run))) {
                Known::Vacant(place) => drop(place.insert(bill)),
                Known::Occupied(mut known) => match (known.get_mut(), bill) {
                    // Kept machines are billed after a canary's own record was written.
                    (Ok(known), Ok(bill)) if bill > *known => *known = bill,
                    // A later run may have found the training job, and its bill.
                    (known @ Err(_), Ok(bill)) => *known = Ok(bill),
                    // The record of a forecast holds the canary as well, with its kept machine, but not its worst case.
                    (Err(known), Err(canary)) => {
                        known.at_most = canary.at_most.or(known.at_most);
                        let times = known.time.into_iter().chain(canary.time);
                        known.time = times.reduce(|one, other| Seconds(one.0.max(other.0)));
                    }
                    (Ok(_), _) => {}
                },
            }
        }
    }

    fn sum(self) -> PaidCanaries {
        let mut paid = PaidCanaries::default();
        for bill in self.0.into_values() {
            match bill {
                Ok(bill) => paid.billed = paid.billed + bill,
                Err(canary) => paid.unbilled.push(canary),
            }
        }
        paid
    }
}

impl History {
    /// What the canaries of this run's scope have cost, over all jobs.
    ///
    /// # Errors
    ///
    /// When the history as a whole cannot be read.
    pub async fn scope_spend(&self) -> OutsideResult<ScopeSpend> {
        let own = [self.scope.to_string()];
        let Some(listing) = self.list_below(&own, None, Timestamp::now()).await? else {
            return Ok(ScopeSpend::NoHistory(self.place("")));
        };
        if let Some(damaged) = listing.damaged.into_iter().next() {
            return Ok(ScopeSpend::Unreadable(damaged));
        }
        let is_of_canaries = |entry: &&Entry| entry.kind != RecordKind::FullRun;
        let mut bills = Bills::default();
        let add = |_: &Entry, record| {
            bills.add(&record);
            ControlFlow::Continue(())
        };
        let entries = listing.entries.iter().filter(is_of_canaries);
        let damaged = self.read(entries, add).await?;
        Ok(match damaged.into_iter().next() {
            Some(damaged) => ScopeSpend::Unreadable(damaged),
            None => ScopeSpend::Known(bills.sum()),
        })
    }
}

#[cfg(test)]
mod tests;
