//! What earlier runs of the gate found, for this one: canaries that need not be paid again, what to compare with, and where
//! this run's own findings are kept.

mod records;

pub(crate) use self::records::Records;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::assess::input::BaseResult;
use crate::backend::BackendKeys;
use crate::canary::Key;
use crate::console::{AppError, AppResult, printable};
use crate::drift::CheckRecord;
use crate::gate::open_history;
use crate::history::{
    self, BaseWanted, Command, Content, Damaged, Entry, History, Loaded, Record, Writer, record,
};
use crate::measurement::Measurement;
use crate::report::{Baseline, InstanceForecast, JobReport};
use crate::spec::{Job, TrainingSettings};
use crate::units::Seconds;
use crate::workspace::{BaseCommit, Checkout, Project, RunOrigin, written_spec};

/// The history as one run of the gate uses it.
pub(crate) struct RunHistory {
    pub(crate) kept: History,
    writer: Writer,
    /// The checked-out commit.
    pub(crate) commit: Option<String>,
    /// The checkout's root, and the spec's file from there.
    root: PathBuf,
    spec: String,
    /// Other specs of the checkout, by their names.
    others: Vec<PathBuf>,
    known: RefCell<KnownRecords>,
}

/// What is known of the records until now.
#[derive(Default)]
struct KnownRecords {
    /// Names by job, oldest first; listed once, and added to.
    entries: BTreeMap<String, Vec<Entry>>,
    /// The entries that this process wrote.
    written: Vec<Entry>,
    /// Records that cannot be read; each is named once.
    damaged: HashSet<Damaged>,
    /// The first error that kept a record from being written.
    failure: Option<AppError>,
}

/// A record of a forecast, and the forecast in it.
pub(crate) type RecordedForecast = (Record, record::ForecastRecord);

/// A recorded forecast as a check of a series.
pub(crate) fn check_of((record, found): &RecordedForecast) -> CheckRecord {
    let row = found.forecasts.first();
    let instance = row.map(|row| &row.instance);
    let runs = found.measurements.iter();
    CheckRecord {
        at: record.recorded_at,
        commit: record.commit.clone(),
        code_key: record.code_key.clone(),
        machine: record.machine.clone(),
        instance: instance.cloned(),
        settings: found.settings.clone(),
        measurements: runs
            .filter(|run| instance.is_some_and(|instance| run.is_on(instance)))
            .cloned()
            .collect(),
        price: row.and_then(InstanceForecast::usd_per_hour),
    }
}

impl RunHistory {
    /// The history that the spec names, for a run of `origin`.
    ///
    /// Records name it by `run_id`; `None` for who runs no gate.
    pub(crate) async fn open(
        project: &Project,
        origin: &RunOrigin,
        run_id: Option<&str>,
    ) -> AppResult<Self> {
        Ok(Self {
            kept: open_history::open(project, origin.scope).await?,
            writer: Writer {
                run: run_id.map(str::to_owned),
                ..origin.writer.clone()
            },
            commit: project.checkout.as_ref().and_then(Checkout::commit),
            root: project.root.clone(),
            spec: project.place.file.clone(),
            others: project.other_specs()?,
            known: RefCell::default(),
        })
    }

    /// The names of a job's records, oldest first. Asked for before anything is spent, so that a history that may not be read is an
    /// error in time.
    pub(crate) async fn of_job(&self, job: &str) -> AppResult<Vec<Entry>> {
        if let Some(known) = self.known.borrow().entries.get(job) {
            return Ok(known.clone());
        }
        let listed = self.kept.list(Some(job)).await?;
        self.warn_of(&listed.damaged);
        let entries = &mut self.known.borrow_mut().entries;
        entries.insert(job.to_owned(), listed.entries.clone());
        Ok(listed.entries)
    }

    /// Names what could not be read, once each, and passes over it.
    fn warn_of(&self, damaged: &[Damaged]) {
        let known = &mut self.known.borrow_mut().damaged;
        let is_new = |one: &&Damaged| known.insert((*one).clone());
        damaged
            .iter()
            .filter(is_new)
            .for_each(open_history::warn_of);
    }

    /// What reports of earlier starts of this very run have shown of a job since a time.
    pub(crate) async fn shown(&self, job: &str, since: Timestamp) -> AppResult<Vec<Measurement>> {
        let mut shown = Vec::new();
        let is_over = |record: &Record| {
            if record.writer.run == self.writer.run {
                shown.extend_from_slice(record.measurements());
            }
            record.recorded_at < since
        };
        let mut entries = self.of_job(job).await?;
        entries.retain(|entry| !self.known.borrow().written.contains(entry));
        let forecasts = history::forecasts(&entries);
        self.seen(self.kept.first(forecasts, is_over).await?);
        Ok(shown)
    }

    async fn newest_canary(
        &self,
        job: &Job,
        key: &Key,
        is_wanted: impl FnMut(&Record) -> bool,
    ) -> AppResult<Option<Record>> {
        let (entries, key) = (self.of_job(&job.name).await?, key.to_string());
        let found = self.kept.newest_canary(&entries, &key, is_wanted);
        Ok(self.seen(found.await?))
    }

    fn seen(&self, found: Loaded) -> Option<Record> {
        self.warn_of(&found.damaged);
        Some(found.records.into_iter().next()?.1)
    }

    /// The newest forecast of a job on its instance, from the same code and data; `None` where there is none.
    pub(crate) async fn newest_forecast(
        &self,
        job: &Job,
        keys: &BackendKeys,
    ) -> AppResult<Option<RecordedForecast>> {
        let [code, data] = [keys.code, keys.data].map(|key| key.map(|key| key.to_string()));
        let is_same = |record: &Record| {
            record.code_key == code && record.data_key == data && is_of_instance(record, job)
        };
        self.newest(&job.name, is_same).await
    }

    /// The canaries of the newest check of a job on its instance; empty without one.
    pub(crate) async fn last_check(&self, job: &Job) -> AppResult<Vec<Measurement>> {
        let is_on_it = |record: &Record| {
            let runs = record.forecast().map(|found| &found.measurements);
            runs.is_some_and(|runs| runs.iter().any(|run| run.is_on(&job.instance)))
        };
        let found = self.newest(&job.name, is_on_it).await?;
        Ok(found.map_or_else(Vec::new, |(_, check)| check.measurements))
    }

    /// The newest forecast of a job on record that is so.
    async fn newest(
        &self,
        job: &str,
        is_so: impl FnMut(&Record) -> bool,
    ) -> AppResult<Option<RecordedForecast>> {
        let entries = self.of_job(job).await?;
        let forecasts = history::forecasts(&entries);
        let found = self.seen(self.kept.first(forecasts, is_so).await?);
        Ok(found.and_then(with_forecast))
    }

    /// Keeps the forecast of a job.
    pub(crate) async fn keep_forecast(
        &self,
        job: &Job,
        report: &JobReport,
        keys: &BackendKeys,
        is_baseline: bool,
    ) {
        // A job of which nothing was measured is nothing to compare with.
        if !report.measurements.iter().any(Measurement::is_completed) {
            return;
        }
        let content = Content::Forecast(Box::new(record::ForecastRecord {
            verdict: report.verdict,
            // A record leaves out what only a drawing needs.
            forecasts: (report.forecasts.iter())
                .map(|row| InstanceForecast {
                    time_by_share: Vec::new(),
                    ..row.clone()
                })
                .collect(),
            measurements: report.measurements.clone(),
            is_baseline,
            settings: Some(TrainingSettings::of(job)),
            drifted: report.drift.as_ref().map(|drift| drift.drifted),
        }));
        self.keep(&report.name, keys, content).await;
    }

    /// Keeps what this run found about a job.
    pub(crate) async fn keep(&self, job: &str, keys: &BackendKeys, content: Content) {
        let hex = |key: Option<Key>| key.map(|key| key.to_string());
        let record = Record {
            schema_version: record::SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            recorded_at: Timestamp::now(),
            job: job.to_owned(),
            spec: Some(self.spec.clone()),
            writer: self.writer.clone(),
            commit: self.commit.clone(),
            code_key: hex(keys.code),
            data_key: hex(keys.data),
            machine: keys.machine.clone(),
            content,
        };
        self.append(record).await;
    }

    async fn append(&self, record: Record) {
        match self.kept.append(&record).await {
            Ok(entry) => {
                let known = &mut self.known.borrow_mut();
                known.written.push(entry.clone());
                known.entries.entry(record.job).or_default().push(entry);
            }
            Err(error) => {
                let failure = &mut self.known.borrow_mut().failure;
                failure.get_or_insert_with(|| error.into());
            }
        }
    }

    /// Why something of this run could not be kept; returned once.
    pub(crate) fn take_failure(&self) -> Option<AppError> {
        self.known.borrow_mut().failure.take()
    }

    /// What a job is compared with: the newest that has the base commit's code, else the newest of the base branch that a
    /// push or a schedule wrote; `None` where there is neither.
    pub(crate) async fn base(
        &self,
        job: &Job,
        keys: &BackendKeys,
        commit: Option<&BaseCommit>,
    ) -> AppResult<Option<BaseResult>> {
        let Some(commit) = commit else {
            return Ok(None);
        };
        let code = commit.code.get(&job.name).map(Key::to_string);
        let entries = self.of_job(&job.name).await?;
        let wanted = BaseWanted {
            code_key: code.as_deref(),
            instance: commit.instances.get(&job.name),
            branch: commit.branch(),
        };
        let is_own = |record: &Record| !self.is_of_another(record);
        let found = self.kept.baseline(&entries, &wanted, is_own).await?;
        let Some((record, forecast)) = self.seen(found).and_then(with_forecast) else {
            return Ok(None);
        };
        let age = Timestamp::now().duration_since(record.recorded_at);
        Ok(Some(BaseResult {
            baseline: Baseline {
                changed: (forecast.settings.as_ref()).map_or(Vec::new(), |theirs| {
                    theirs.changes_to(&TrainingSettings::of(job))
                }),
                is_same_code: code.is_some() && record.code_key == code,
                data_changed: match (&record.data_key, keys.data) {
                    (Some(theirs), Some(ours)) => *theirs != ours.to_string(),
                    _ => false,
                },
                age_days: Seconds(age.as_secs_f64().max(0.0)).in_days(),
                commit: record.commit,
                branch: record.writer.branch,
                instance: None,
            },
            other_machine: record
                .machine
                .clone()
                .filter(|theirs| keys.machine.as_ref().is_some_and(|ours| ours != theirs)),
            has_other_data: false,
            forecasts: forecast.forecasts,
            measurements: forecast.measurements,
        }))
    }

    /// Whether a record is of a job of that name in another spec of the checkout. An older record does not name its spec, and may be of any
    /// that has such a job. A spec that is gone may have been moved here.
    fn is_of_another(&self, record: &Record) -> bool {
        let has_job = |spec: &Path| {
            let bytes = written_spec::read_limited(&self.root.join(spec));
            let spec = bytes.map(|bytes| written_spec::parse(&spec.to_string_lossy(), &bytes));
            matches!(spec, Ok(Ok(spec)) if spec.job(&record.job).is_some())
        };
        match &record.spec {
            Some(spec) => *spec != self.spec && has_job(Path::new(spec)),
            None => self.others.iter().any(|spec| has_job(spec)),
        }
    }

    /// The checks for drift of a job on this branch since its baseline, which is the first; oldest first. Only those that came
    /// to their end. Empty where there is no baseline.
    ///
    /// # Errors
    ///
    /// Where there is no baseline and a record cannot be read: it may be the one.
    pub(crate) async fn checks(&self, job: &str) -> AppResult<Vec<RecordedForecast>> {
        let is_check = |record: &Record| {
            let is_drift = record.writer.command == Command::Drift;
            let is_meant = record.writer.branch == self.writer.branch;
            let found = record.forecast().filter(|found| found.is_whole());
            is_meant
                && found.is_some_and(|found| found.is_baseline || is_drift)
                && !self.is_of_another(record)
        };
        let entries = self.of_job(job).await?;
        let series = self.kept.series(&entries, is_check).await?;
        self.warn_of(&series.damaged);
        if let (true, Some(unreadable)) = (series.records.is_empty(), series.damaged.first()) {
            return Err(AppError::failed(format!(
                "the baseline of the checks for drift may be {}, which cannot be read",
                printable(&unreadable.place)
            ))
            .help("restore it, or remove it: then the next check is the baseline")
            .ending_with(crate::exit::UNKNOWN));
        }
        let checks = series.records.into_iter();
        Ok(checks
            .filter_map(|(_, record)| with_forecast(record))
            .collect())
    }

    /// Whether what this run found is another training than that of the baseline of the checks for drift: of other code, or on
    /// another instance. So it is where there is none.
    pub(crate) async fn is_another_training(
        &self,
        report: &JobReport,
        keys: &BackendKeys,
    ) -> AppResult<bool> {
        let checks = self.checks(&report.name).await?;
        let Some((baseline, found)) = checks.first() else {
            return Ok(true);
        };
        let instance = found.forecasts.first().map(|row| &row.instance);
        let code = keys.code.map(|key| key.to_string());
        let is_same = instance.is_some_and(|known| known.is_same_machines(&report.instance));
        Ok(baseline.code_key != code || !is_same)
    }

    /// Writes a check once more as the baseline of those to come.
    pub(crate) async fn accept(&self, record: &Record, forecast: &record::ForecastRecord) {
        self.append(Record {
            recorded_at: Timestamp::now(),
            spec: Some(self.spec.clone()),
            writer: self.writer.clone(),
            content: Content::Forecast(Box::new(record::ForecastRecord {
                is_baseline: true,
                ..forecast.clone()
            })),
            ..record.clone()
        })
        .await;
    }
}

fn with_forecast(record: Record) -> Option<RecordedForecast> {
    let forecast = record.forecast()?.clone();
    Some((record, forecast))
}

/// Whether a record is of a forecast of the job on its instance.
fn is_of_instance(record: &Record, job: &Job) -> bool {
    let row = record.forecast().and_then(|found| found.forecasts.first());
    row.is_some_and(|row| row.instance.is_same_machines(&job.instance))
}
