//! What the canaries of one scope have cost, by its records.

use std::collections::{BTreeMap, BTreeSet};

use super::canary_identity::canary_identity;
use super::record::{Content, Record};
use super::{Damaged, Entry, History, HistoryError, RecordKind};
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
}

impl Bills {
    fn add(&mut self, record: &Record) {
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

    fn sum(self) -> PaidCanaries {
        let unbilled = self.unbilled.into_iter();
        PaidCanaries {
            billed: self.known.values().copied().sum(),
            // A later run may have found the training job, and its bill.
            unbilled: unbilled
                .filter(|(name, _)| !self.billed_jobs.contains(name))
                .map(|(_, canary)| canary)
                .collect(),
        }
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
        Ok(ScopeSpend::Known(bills.sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Scope;
    use crate::history::samples::{Sample, baseline, canary, forecast, full_run};
    use crate::measurement::Reused;

    const OURS: Scope = Scope::PullRequest(7);

    /// A canary that was billed so much, as the `number`th of its job.
    fn billed(number: u64, cost: f64, idle: Option<f64>) -> Record {
        let mut record = canary(0, number);
        if let Content::Canary { measurement, .. } = &mut record.content {
            measurement.training_job = Some(format!("cg-churn-{number}"));
            measurement.cost = Some(Usd(cost));
            measurement.idle_usd = idle.map(Usd);
        }
        record
    }

    fn first(record: &mut Record) -> &mut Measurement {
        match &mut record.content {
            Content::Canary { measurement, .. } | Content::FullRun { measurement } => measurement,
            Content::Forecast(forecast) => &mut forecast.measurements[0],
        }
    }

    /// A forecast of these canaries.
    fn forecast_of(canaries: &[&Record]) -> Record {
        let mut record = forecast(1, 1);
        if let Content::Forecast(forecast) = &mut record.content {
            let runs = canaries.iter().flat_map(|one| one.measurements());
            forecast.measurements = runs.cloned().collect();
        }
        record
    }

    fn known(usd: f64) -> ScopeSpend {
        ScopeSpend::Known(PaidCanaries {
            billed: Usd(usd),
            unbilled: Vec::new(),
        })
    }

    async fn spent(records: &[Record]) -> ScopeSpend {
        let sample = Sample::new(OURS);
        for record in records {
            sample.keep(record).await;
        }
        sample.history.scope_spend().await.unwrap()
    }

    #[tokio::test]
    async fn each_canary_counts_once_whatever_records_it_is_in() {
        let (one, other) = (billed(1, 1.5, None), billed(2, 0.25, Some(0.5)));
        let both = forecast_of(&[&one, &other]);
        let all = [one, other, both.clone(), both];
        assert_eq!(spent(&all).await, known(2.25));
    }

    #[tokio::test]
    async fn machines_that_were_kept_after_a_canary_count_from_its_forecast() {
        let one = billed(1, 1.5, None);
        let with_idle = forecast_of(&[&billed(1, 1.5, Some(0.5))]);
        for all in [
            [one.clone(), with_idle.clone()],
            [with_idle.clone(), one.clone()],
        ] {
            assert_eq!(spent(&all).await, known(2.0));
        }
    }

    #[tokio::test]
    async fn what_another_run_paid_and_full_runs_do_not_count() {
        let mut adopted = billed(1, 1.0, None);
        if let Content::Canary { is_adopted, .. } = &mut adopted.content {
            *is_adopted = true;
        }
        let mut reused = forecast_of(&[&billed(2, 1.0, None)]);
        first(&mut reused).reused = Some(Reused {
            age_days: 1.0,
            saved_usd: Some(Usd(1.0)),
        });
        let mut asked_for = full_run(0, 1);
        first(&mut asked_for).cost = Some(Usd(70.0));
        let all = [adopted, reused, asked_for, billed(3, 0.5, None)];
        assert_eq!(spent(&all).await, known(0.5));
    }

    #[tokio::test]
    async fn a_stopped_canary_has_no_bill_until_a_later_run_finds_it() {
        let mut stopped = billed(1, 1.0, None);
        first(&mut stopped).cost = None;
        first(&mut stopped).outcome = Outcome::Stopped;
        if let Content::Canary { at_most, .. } = &mut stopped.content {
            *at_most = Some(Usd(0.75));
        }
        let ScopeSpend::Known(paid) = spent(&[stopped.clone(), forecast_of(&[&stopped])]).await
        else {
            panic!("it is known");
        };
        assert_eq!(paid.billed, Usd(0.0));
        assert_eq!(paid.unbilled[0].job, "churn");
        assert_eq!(paid.unbilled[0].at_most, Some(Usd(0.75)));
        let found = billed(1, 0.25, None);
        assert_eq!(spent(&[stopped, found]).await, known(0.25));
    }

    #[tokio::test]
    async fn only_the_scope_of_the_run_counts() {
        let sample = Sample::new(OURS);
        sample.keep(&billed(1, 1.0, None)).await;
        for other in [Scope::Main, Scope::PullRequest(70), Scope::Queue] {
            let history = sample.to(other);
            history.append(&billed(2, 5.0, None), None).await.unwrap();
            history.append(&baseline(0, 1), None).await.unwrap();
        }
        let spent = sample.history.scope_spend().await.unwrap();
        assert_eq!(spent, known(1.0));
    }

    #[tokio::test]
    async fn a_record_that_gives_money_back_makes_the_sum_unknown() {
        let sample = Sample::new(OURS);
        let kept = sample.keep(&billed(1, 1.0, None)).await;
        for (found, forged) in [
            ("\"cost\":1.0", "\"cost\":-50.0"),
            ("\"cost\":1.0", "\"cost\":1e999"),
            (
                "\"kind\":\"canary\"",
                "\"kind\":\"canary\",\"at_most\":-9.0",
            ),
            ("\"schema_version\":1", "\"schema_version\":99"),
        ] {
            let file = sample.file(&kept);
            let sound = std::fs::read_to_string(&file).unwrap();
            assert!(sound.contains(found), "{sound}");
            std::fs::write(&file, sound.replace(found, forged)).unwrap();
            let spent = sample.history.scope_spend().await.unwrap();
            assert!(matches!(spent, ScopeSpend::Unreadable(_)), "{spent:?}");
            std::fs::write(&file, sound).unwrap();
        }
        let spent = sample.history.scope_spend().await.unwrap();
        assert_eq!(spent, known(1.0));
    }

    #[tokio::test]
    async fn a_file_that_is_no_record_makes_the_sum_unknown() {
        let sample = Sample::new(OURS);
        let kept = sample.keep(&billed(1, 1.0, None)).await;
        let odd = sample.file(&kept).with_file_name("odd.json");
        std::fs::write(odd, "{}").unwrap();
        let spent = sample.history.scope_spend().await.unwrap();
        assert!(matches!(spent, ScopeSpend::Unreadable(_)), "{spent:?}");
    }

    #[tokio::test]
    async fn without_its_folder_nothing_is_known_and_in_an_empty_one_nothing_was_spent() {
        let sample = Sample::new(OURS);
        let spent = sample.history.scope_spend().await.unwrap();
        assert!(matches!(spent, ScopeSpend::NoHistory(_)), "{spent:?}");
        std::fs::create_dir(sample.root()).unwrap();
        let spent = sample.history.scope_spend().await.unwrap();
        assert_eq!(spent, known(0.0));
    }
}
