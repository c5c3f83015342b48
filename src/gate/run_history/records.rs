//! The records of one job's canaries: read before a canary is run, written after.

use std::cell::RefCell;
use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::backend::{BackendKeys, Reuse, RunPart};
use crate::canary::{CanaryRun, Key, canary_key, machine_key, on_machine, without_probe};
use crate::console::AppResult;
use crate::gate::{RunHistory, RunRequest, pass_env};
use crate::history::{Content, Record};
use crate::measurement::{Measurement, Outcome, Reused};
use crate::spec::Job;
use crate::units::{Seconds, Usd};

/// The records of one job's canaries.
pub(crate) struct Records<'a> {
    pub(crate) job: &'a Job,
    pub(crate) history: &'a RunHistory,
    pub(crate) keys: BackendKeys,
    pub(crate) request: &'a RunRequest<'a>,
    /// Training jobs that another run has in its account, with the days since they ended.
    pub(crate) paid: RefCell<BTreeMap<String, f64>>,
}

impl Records<'_> {
    /// The measurement of an earlier run that stands for a canary: completed, or of a full run that was begun, and younger than the
    /// job's `canary.reuse`.
    pub(crate) async fn found(&self, run: &CanaryRun) -> AppResult<Option<Measurement>> {
        let key = self.key_of(run);
        let Some(key) = key.filter(|_| self.request.reuse == Reuse::Young) else {
            return Ok(None);
        };
        let stands = |record: &Record| {
            // Who collects a canary pays for it, unless another run has.
            if is_adopted(record) && self.request.part == RunPart::Collect {
                return false;
            }
            // As far as it is asked to go now; SageMaker takes whole seconds.
            let is_as_long = |one: &Measurement| {
                let limits = one.time().zip(run.max_runtime);
                limits.is_some_and(|(had, wanted)| had.0 + 1.0 >= wanted.0)
            };
            let is_begun = |one: &Measurement| run.ends_early && one.ended_early && is_as_long(one);
            let stands = |one: &Measurement| one.is_completed() || is_begun(one);
            record.measurements().first().is_some_and(stands) && self.is_young(record)
        };
        let found = self.history.newest_canary(self.job, &key, stands).await?;
        let Some(record) = found else {
            return Ok(None);
        };
        let run_id = &self.history.writer.run;
        let is_own = !is_adopted(&record) && run_id.is_some() && record.writer.run == *run_id;
        let shown = match is_own {
            true => (self.history.shown(&self.job.name, record.recorded_at)).await?,
            false => Vec::new(),
        };
        let measurement = record.measurements().first().cloned();
        Ok(measurement.map(|measurement| {
            let name = &measurement.training_job;
            let is_shown = shown.iter().any(|run| run.training_job == *name);
            let is_unshown = is_own && name.is_some() && !is_shown;
            Measurement {
                // The same objects may have been drawn for another fraction; this run's design counts by its own.
                fraction: run.fraction,
                // What this run was billed before it was killed is in no report yet.
                reused: (!is_unshown).then(|| Reused {
                    age_days: days_since(&record),
                    saved_usd: None,
                }),
                ..measurement
            }
        }))
    }

    /// Whether a training job that is over gives this run a measurement of its canary. One that another run has measured, and has in
    /// its account, does so as a reused canary would, and costs nothing again.
    pub(crate) async fn may_measure(&self, run: &CanaryRun, training_job: &str) -> AppResult<bool> {
        let Some(key) = self.key_of(run) else {
            return Ok(true);
        };
        let is_of_another = |record: &Record| {
            let is_it = |one: &&Measurement| one.training_job.as_deref() == Some(training_job);
            let mut found = record.measurements().iter().filter(is_it);
            !is_adopted(record) && found.any(|one| one.run != self.history.writer.run)
        };
        let measured = self.history.newest_canary(self.job, &key, is_of_another);
        let Some(record) = measured.await? else {
            return Ok(true);
        };
        (self.paid.borrow_mut()).insert(training_job.to_owned(), days_since(&record));
        Ok(self.request.reuse == Reuse::Young && self.is_young(&record))
    }

    /// How a measurement is reused whose training job another run has in its account; `None` for any other.
    pub(crate) fn paid(&self, measurement: &Measurement) -> Option<Reused> {
        let paid = self.paid.borrow();
        let age_days = *paid.get(measurement.training_job.as_ref()?)?;
        Some(Reused {
            age_days,
            saved_usd: None,
        })
    }

    /// Keeps what a canary of this run measured, or one that it adopted, and may have cost `worst`. Without a `run`, and of unknown
    /// code, it has no key, and is never reused. A record that cannot be written loses nothing: the measurement is in the report, and
    /// the run ends with the error.
    pub(crate) async fn keep(
        &self,
        run: Option<&CanaryRun>,
        measurement: &Measurement,
        worst: Option<Usd>,
    ) {
        let key = run.and_then(|run| self.key_of(run));
        let at_most = match (measurement.reused, &measurement.outcome) {
            (Some(reused), _) => reused.saved_usd,
            (None, Outcome::Stopped) if measurement.cost.is_none() => worst,
            (None, _) => None,
        };
        let content = Content::Canary {
            canary_key: key.as_ref().map(Key::to_string),
            // A run that reads it reuses it, for what it cost another.
            measurement: Box::new(Measurement {
                reused: None,
                ..measurement.clone()
            }),
            is_adopted: measurement.reused.is_some(),
            at_most,
        };
        (self.history.keep(&measurement.job, &self.keys, content)).await;
    }

    fn key_of(&self, run: &CanaryRun) -> Option<Key> {
        self.keys.canary(run, self.request.pass_env)
    }

    /// Whether it is younger than `canary.reuse`. A clock that was set back makes a young record one of the future.
    fn is_young(&self, record: &Record) -> bool {
        age(record).abs() <= self.job.canary.reuse.0
    }
}

/// Whether a record is of another run's training job, which its writer did not pay.
fn is_adopted(record: &Record) -> bool {
    matches!(record.content, Content::Canary { is_adopted, .. } if is_adopted)
}

/// The seconds since the run of a record ended.
fn age(record: &Record) -> f64 {
    let first = record.measurements().first();
    let ended = first.and_then(|one| one.ended_at);
    let ended = ended.unwrap_or(record.recorded_at);
    Timestamp::now().duration_since(ended).as_secs_f64()
}

fn days_since(record: &Record) -> f64 {
    Seconds(age(record).max(0.0)).in_days()
}

impl BackendKeys {
    /// The key of a canary of the job. On this machine it holds for the values that canaries are handed, too.
    pub(crate) fn canary(&self, run: &CanaryRun, pass_env: &[String]) -> Option<Key> {
        let key = canary_key(&self.code?, &self.data?, run);
        Some(match &self.machine {
            Some(machine) => on_machine(&key, &self.here(machine, pass_env)),
            None if self.lacks_probe => without_probe(&key),
            None => key,
        })
    }

    /// The key of this machine, of the variables that canaries are handed, and of what they find on it.
    fn here(&self, machine: &str, pass_env: &[String]) -> Key {
        let handed = pass_env::environment(pass_env).unwrap_or_default();
        let handed = (handed.iter())
            .filter_map(|(name, value)| Some((name.to_str()?, value.as_encoded_bytes())));
        let handed = handed.collect::<BTreeMap<_, _>>();
        let found = self.found.iter();
        let found = found.map(|(name, content)| (name.as_str(), content.as_slice()));
        machine_key(machine, handed.into_iter().chain(found))
    }
}

#[cfg(test)]
mod tests;
