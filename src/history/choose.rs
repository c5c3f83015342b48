//! Selects records: by name where that is enough, else by reading, newest first, and no more than needed.

use std::ops::ControlFlow::{Break, Continue};

use super::{Entry, Event, ForecastRecord, History, Loaded, Record, RecordKind, Scope};
use crate::instance::InstanceConfiguration;
use crate::outside_error::OutsideResult;

/// The most records that are read to find one.
const MOST_LOOKED_AT: usize = 1000;

/// The baseline of a change, derived from its base commit.
#[derive(Debug, Clone, Copy)]
pub struct BaseWanted<'a> {
    /// Of the job's code at the base, 64 hex digits; `None` if unknown.
    pub code_key: Option<&'a str>,
    /// The job's instance at the base; `None` accepts any.
    pub instance: Option<&'a InstanceConfiguration>,
    /// The base branch, as the records of its own runs name it.
    pub branch: &'a str,
}

/// The forecasts among the entries of a job, newest first.
pub fn forecasts(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    let newest = entries.iter().rev();
    newest.filter(|entry| entry.kind == RecordKind::Forecast)
}

/// Whether a name's key is the start of a full key.
fn is_start(key: &str, of: &str) -> bool {
    !key.is_empty() && of.starts_with(key)
}

impl History {
    /// The first readable records that are wanted, `most` of them, one or more, and those before that could not be read.
    pub async fn choose<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e Entry>,
        most: usize,
        mut is_wanted: impl FnMut(&Record) -> bool,
    ) -> OutsideResult<Loaded> {
        let mut records = Vec::new();
        let look = |entry: &Entry, record| {
            if is_wanted(&record) {
                records.push((entry.clone(), record));
            }
            match records.len() < most {
                true => Continue(()),
                false => Break(()),
            }
        };
        let damaged = self.read(entries, look).await?;
        Ok(Loaded { records, damaged })
    }

    /// The first readable record that is wanted, among so many as are looked at to find one.
    pub async fn first<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e Entry>,
        is_wanted: impl FnMut(&Record) -> bool,
    ) -> OutsideResult<Loaded> {
        let entries = entries.into_iter().take(MOST_LOOKED_AT);
        self.choose(entries, 1, is_wanted).await
    }

    /// The newest canary of a job with a key of 64 hex digits that is wanted, e.g. because it completed and is young enough.
    pub async fn newest_canary(
        &self,
        entries: &[Entry],
        canary_key: &str,
        mut is_wanted: impl FnMut(&Record) -> bool,
    ) -> OutsideResult<Loaded> {
        // The name holds only a part of the key.
        let canaries = entries
            .iter()
            .rev()
            .filter(|entry| entry.kind == RecordKind::Canary && is_start(&entry.key, canary_key));
        let is_same = |record: &Record| record.key() == Some(canary_key) && is_wanted(record);
        self.first(canaries, is_same).await
    }

    /// The forecast that a job's change is compared with: the newest of the base's code and instance, else the newest that a
    /// push or a schedule wrote on the base branch.
    ///
    /// In GitHub Actions only records from runs of that branch count, so that a change cannot choose its own baseline. Outside
    /// GitHub Actions records from any run count, such as one on this machine. Of another spec's job none does.
    pub async fn baseline(
        &self,
        entries: &[Entry],
        base: &BaseWanted<'_>,
        is_own: impl Fn(&Record) -> bool,
    ) -> OutsideResult<Loaded> {
        let is_of_branch = |record: &Record| record.writer.branch.as_deref() == Some(base.branch);
        let is_comparable = |record: &Record| {
            record.forecast().is_some_and(ForecastRecord::is_comparable) && is_own(record)
        };
        let mut found = Loaded::default();
        if let Some(code_key) = base.code_key {
            let is_local = self.scope() == Scope::Local;
            let of_code = forecasts(entries)
                .filter(|entry| is_start(&entry.key, code_key))
                .filter(|entry| is_local || entry.scope == Scope::Main);
            let is_same = |record: &Record| {
                let row = record.forecast().and_then(|found| found.forecasts.first());
                record.code_key.as_deref() == Some(code_key)
                    && base.instance.is_none_or(|wanted| {
                        row.is_some_and(|known| known.instance.is_same_machines(wanted))
                    })
                    && (is_local || is_of_branch(record))
                    && is_comparable(record)
            };
            found = self.first(of_code, is_same).await?;
        }
        if !found.records.is_empty() {
            return Ok(found);
        }
        let is_meant = |record: &Record| {
            matches!(record.writer.event, Event::Push | Event::Schedule)
                && is_of_branch(record)
                && is_comparable(record)
        };
        let of_main = forecasts(entries).filter(|entry| entry.scope == Scope::Main);
        let mut newest = self.first(of_main, is_meant).await?;
        // Both searches may have met the same one.
        (newest.damaged).retain(|known| !found.damaged.contains(known));
        newest.damaged.splice(0..0, found.damaged);
        Ok(newest)
    }

    /// A job's checks for drift on the default branch, oldest first, starting with the newest baseline. Outside GitHub Actions
    /// local checks count too. Empty without a baseline.
    pub async fn series(
        &self,
        entries: &[Entry],
        is_check: impl Fn(&Record) -> bool,
    ) -> OutsideResult<Loaded> {
        let is_readable = |scope: Scope| {
            scope == Scope::Main || (scope == Scope::Local && self.scope() == Scope::Local)
        };
        let (mut records, mut has_baseline) = (Vec::new(), false);
        let look = |entry: &Entry, record: Record| {
            if is_check(&record) {
                has_baseline = record.forecast().is_some_and(|found| found.is_baseline);
                records.push((entry.clone(), record));
            }
            match has_baseline {
                true => Break(()),
                false => Continue(()),
            }
        };
        let entries = forecasts(entries)
            .filter(|entry| is_readable(entry.scope))
            .take(MOST_LOOKED_AT);
        let damaged = self.read(entries, look).await?;
        if !has_baseline {
            records.clear();
        }
        records.reverse();
        Ok(Loaded { records, damaged })
    }
}

#[cfg(test)]
mod tests;
