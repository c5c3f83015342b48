//! What the canaries of one scope have cost, by its records.

use std::collections::{BTreeMap, BTreeSet};

use super::choose::is_start;
use super::record::{Content, Record, canary_identity};
use super::{Damaged, Entry, History, HistoryError, RecordKind, Scope};
use crate::instance::InstanceConfiguration;
use crate::measurement::{Measurement, Outcome};
use crate::units::Usd;

/// How many records are read before the next.
const BATCH: usize = 64;

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
    /// Those that a signal stopped before their bill was known.
    pub unbilled: Vec<UnbilledCanary>,
}

/// A canary whose bill nobody waited for.
#[derive(Debug, PartialEq)]
pub struct UnbilledCanary {
    pub job: String,
    pub instance: InstanceConfiguration,
    /// Its worst case when it was started; absent where no price was known, and in older records.
    pub at_most: Option<Usd>,
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

/// What a run was billed, kept machines included.
pub(super) fn bill(run: &Measurement) -> Usd {
    run.cost.into_iter().chain(run.idle_usd).sum()
}

/// The bill of each canary.
#[derive(Debug, Default)]
struct Bills {
    known: BTreeMap<String, Usd>,
    /// Training jobs with a bill, and those that were stopped without one.
    billed_jobs: BTreeSet<String>,
    unbilled: BTreeMap<String, UnbilledCanary>,
    /// Those that canaries of this scope took over from another run.
    adopted: BTreeMap<String, AdoptedCanary>,
}

/// A canary whose training job another run started: that run has it in its account, if it came so far.
#[derive(Debug, Clone)]
struct AdoptedCanary {
    training_job: String,
    job: String,
    canary_key: Option<String>,
    cost: Usd,
}

impl AdoptedCanary {
    fn of(record: &Record) -> Option<Self> {
        let Content::Canary {
            canary_key,
            measurement,
            is_adopted: true,
            at_most: Some(cost),
        } = &record.content
        else {
            return None;
        };
        Some(Self {
            training_job: measurement.training_job.clone()?,
            job: record.job.clone(),
            canary_key: canary_key.clone(),
            cost: *cost,
        })
    }

    fn is_paid_by(&self, record: &Record) -> bool {
        let runs = record.measurements().iter();
        let mut paid = runs.filter(|run| is_paid_canary(record, run));
        paid.any(|run| run.training_job.as_ref() == Some(&self.training_job))
    }
}

impl Bills {
    fn add(&mut self, record: &Record) {
        if let Some(canary) = AdoptedCanary::of(record) {
            let known = self.adopted.entry(canary.training_job.clone());
            let known = known.or_insert_with(|| canary.clone());
            if canary.cost > known.cost {
                *known = canary;
            }
        }
        let runs = record.measurements().iter();
        for run in runs.filter(|run| is_paid_canary(record, run)) {
            if let Some(name) = &run.training_job {
                match (run.cost, &run.outcome) {
                    (Some(_), _) => drop(self.billed_jobs.insert(name.clone())),
                    (None, Outcome::Stopped) => {
                        let known = self.unbilled.remove(name);
                        let canary = UnbilledCanary {
                            job: run.job.clone(),
                            instance: run.instance.clone(),
                            // A forecast holds the canary as well, and not its worst case.
                            at_most: record.at_most().or(known.and_then(|one| one.at_most)),
                        };
                        self.unbilled.insert(name.clone(), canary);
                    }
                    // Nothing was billed, as where its machines never started.
                    (None, _) => {}
                }
            }
            let bill = bill(run);
            let known = self.known.entry(canary_identity(run)).or_default();
            // Kept machines are billed after a canary's own record was written.
            if bill > *known {
                *known = bill;
            }
        }
    }

    /// Adopted training jobs that no run of this scope has in its account, with their bill or without.
    fn of_others(&self) -> Vec<AdoptedCanary> {
        let adopted = self.adopted.values();
        let is_of_others = |one: &&AdoptedCanary| {
            let name = &one.training_job;
            !self.billed_jobs.contains(name) && !self.unbilled.contains_key(name)
        };
        adopted.filter(is_of_others).cloned().collect()
    }

    fn sum(self) -> PaidCanaries {
        let known: Usd = self.known.values().copied().sum();
        let mut paid = PaidCanaries {
            billed: known,
            unbilled: Vec::new(),
        };
        for (name, canary) in self.unbilled {
            // A later run may have found the training job, and its bill.
            match self.adopted.get(&name) {
                _ if self.billed_jobs.contains(&name) => {}
                Some(adopted) => paid.billed = paid.billed + adopted.cost,
                None => paid.unbilled.push(canary),
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
    pub async fn scope_spend(&self) -> Result<ScopeSpend, HistoryError> {
        let Some(listing) = self.list_own_scope().await? else {
            return Ok(ScopeSpend::NoHistory(self.place("")));
        };
        if let Some(damaged) = listing.damaged.into_iter().next() {
            return Ok(ScopeSpend::Unreadable(damaged));
        }
        let is_of_canaries = |entry: &Entry| entry.kind != RecordKind::FullRun;
        let entries: Vec<Entry> = (listing.entries.into_iter())
            .filter(is_of_canaries)
            .collect();
        let mut bills = Bills::default();
        for batch in entries.chunks(BATCH) {
            let loaded = self.load(batch).await?;
            if let Some(damaged) = loaded.damaged.into_iter().next() {
                return Ok(ScopeSpend::Unreadable(damaged));
            }
            for (_, record) in &loaded.records {
                bills.add(record);
            }
        }
        let mut of_nobody = Usd(0.0);
        for adopted in bills.of_others() {
            if !self.is_paid_by_main(&adopted).await? {
                of_nobody = of_nobody + adopted.cost;
            }
        }
        let mut paid = bills.sum();
        paid.billed = paid.billed + of_nobody;
        Ok(ScopeSpend::Known(paid))
    }

    /// Whether the default branch has it in its account.
    async fn is_paid_by_main(&self, adopted: &AdoptedCanary) -> Result<bool, HistoryError> {
        let Some(key) = &adopted.canary_key else {
            return Ok(false);
        };
        let listing = self.list(Some(&adopted.job)).await?;
        let entries: Vec<Entry> = (listing.entries.into_iter())
            .filter(|entry| entry.scope == Scope::Main && is_start(&entry.key, key))
            .filter(|entry| entry.kind == RecordKind::Canary)
            .collect();
        let loaded = self.load(&entries).await?;
        let mut records = loaded.records.iter();
        Ok(records.any(|(_, record)| adopted.is_paid_by(record)))
    }
}

#[cfg(test)]
mod tests;
