//! What running needs, whichever job's canaries are run.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::backend::{Backend, BackendEnd, BackendError, Cancellation, Ready, Reuse, RunPart};
use crate::canary::CanaryRun;
use crate::console::progress::Progress;
use crate::console::{AppError, Loudness, files, printable, say};
use crate::gate::failure_logs::FailureLogs;
use crate::gate::gate_run::GateRun;
use crate::gate::job_keys::JobKeys;
use crate::gate::measurements_file::MeasurementsFile;
use crate::gate::run_history::RunHistory;
use crate::gate::{backend, pass_env};
use crate::measurement::{Measurement, Reused};
use crate::plan::{Account, KeptMachines};
use crate::secret::SecretMask;
use crate::spec::Job;
use crate::units::{Seconds, Usd};
use crate::workspace::project::Project;

/// What the measurements of a run hold of its bills.
#[derive(Debug, Default)]
pub(crate) struct Accounted {
    /// The last training jobs of pools.
    pub(crate) pools: BTreeSet<String>,
    /// Whether a job ended without its measurements, or a pool has none to be billed with.
    pub(crate) lacks_some: bool,
}

/// What running needs, whichever job's canaries are run.
pub(crate) struct Runner<'a> {
    pub(crate) project: &'a Project,
    /// Every measurement names it.
    pub(crate) gate_run: GateRun,
    pub(crate) part: RunPart,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) outputs: RefCell<RunOutputs>,
    pub(crate) progress: Progress,
    pub(crate) cancellation: Cancellation,
    /// What no canary's words may show.
    pub(crate) secrets: SecretMask,
    /// How many there are: of several, each line names its own.
    pub(crate) jobs: usize,
}

/// What a run leaves beside its report and the history.
pub(crate) struct RunOutputs {
    /// What measurements hold of the bills.
    pub(crate) held: Accounted,
    pub(crate) file: MeasurementsFile,
    pub(crate) logs: FailureLogs,
}

impl<'a> Runner<'a> {
    /// For one job, with measurements in the history alone.
    pub(crate) async fn open(
        project: &'a Project,
        gate_run: GateRun,
        (part, reuse): (RunPart, Reuse),
        pass_env: &[String],
        cancellation: Cancellation,
        loudness: Loudness,
    ) -> Result<Self, AppError> {
        let tags = gate_run.tags(reuse, part);
        let backend = backend::backend_of(project, pass_env, tags).await?;
        files::make_state_folder(&project.state_folder())?;
        Ok(Self {
            gate_run,
            part,
            backend,
            outputs: RefCell::new(RunOutputs {
                held: Accounted::default(),
                file: MeasurementsFile::default(),
                logs: FailureLogs::of(project),
            }),
            progress: Progress::new(loudness),
            cancellation,
            secrets: pass_env::secrets(pass_env),
            jobs: 1,
            project,
        })
    }

    /// Ends what was started, but for these training jobs; says what it had to stop.
    pub(crate) async fn finish(&self, kept: &BTreeSet<String>) -> Result<BackendEnd, BackendError> {
        let finished = self.backend.finish(kept, &self.cancellation).await;
        if let Ok(BackendEnd {
            stopped: Some(stopped),
            ..
        }) = &finished
        {
            say(stopped);
        }
        finished
    }

    /// Says something about a job.
    pub(crate) fn say_of(&self, job: &Job, text: &str) {
        self.progress.say(&self.line_of(job, text));
    }

    pub(crate) fn line_of(&self, job: &Job, text: &str) -> String {
        let of = match self.jobs {
            0 | 1 => String::new(),
            _ => format!("{}: ", printable(&job.name)),
        };
        format!("  {of}{text}")
    }
}

/// A job whose canaries are run.
#[derive(Clone, Copy)]
pub(crate) struct RunningJob<'a> {
    pub(crate) job: &'a Job,
    /// Among the jobs of the run.
    pub(crate) place: usize,
    pub(crate) ready: &'a dyn Ready,
    /// `None` if no run of the job is kept, and none is reused.
    pub(crate) records: Option<&'a Records<'a>>,
    pub(crate) kept: &'a KeptMachines,
}

/// A configuration of it, whose canaries are run.
#[derive(Clone, Copy)]
pub(crate) struct RunningConfiguration<'a> {
    pub(crate) of: RunningJob<'a>,
    /// `instance` first, then the alternatives.
    pub(crate) place: usize,
    pub(crate) account: &'a Account,
    /// False where nothing more may be launched.
    pub(crate) is_wanted: &'a Cell<bool>,
}

/// The records of one job's canaries: read before a canary is run, written after.
pub(crate) struct Records<'a> {
    pub(crate) job: &'a Job,
    pub(crate) history: &'a RunHistory,
    pub(crate) keys: JobKeys,
    /// Whether this run may reuse canaries of earlier runs.
    pub(crate) reuse: Reuse,
    pub(crate) part: RunPart,
    /// Training jobs that another run has in its account, with the days since they ended.
    pub(crate) paid: RefCell<BTreeMap<String, f64>>,
}

impl Records<'_> {
    /// The canary of an earlier run that replaces this one.
    pub(crate) async fn found(&self, run: &CanaryRun) -> Result<Option<Measurement>, AppError> {
        let key = self.keys.canary(run);
        match (self.reuse, key) {
            (Reuse::Young, Some(key)) => self.history.canary(self.job, run, &key, self.part).await,
            _ => Ok(None),
        }
    }

    /// Whether a training job that is over gives this run a measurement of its canary. One that another run has measured does so
    /// as a reused canary would, and costs nothing again.
    pub(crate) async fn may_measure(
        &self,
        run: &CanaryRun,
        training_job: &str,
    ) -> Result<bool, AppError> {
        let Some(key) = self.keys.canary(run) else {
            return Ok(true);
        };
        let measured = self
            .history
            .measured_by_another_run(self.job, &key, training_job);
        let Some(ended) = measured.await? else {
            return Ok(true);
        };
        let age = jiff::Timestamp::now().duration_since(ended).as_secs_f64();
        let days = Seconds(age.max(0.0)).in_days();
        (self.paid.borrow_mut()).insert(training_job.to_owned(), days);
        Ok(self.reuse == Reuse::Young && age.abs() <= self.job.canary.reuse.0)
    }

    /// That a measurement is of a training job which another run has in its account.
    pub(crate) fn paid(&self, measurement: &Measurement) -> Option<Reused> {
        let paid = self.paid.borrow();
        let age_days = *paid.get(measurement.training_job.as_ref()?)?;
        Some(Reused {
            age_days,
            saved_usd: None,
        })
    }

    /// Keeps a measurement of a canary that may have cost `worst`. One of unknown code has no key, and is never reused.
    pub(crate) async fn keep(
        &self,
        run: &CanaryRun,
        measurement: &Measurement,
        worst: Option<Usd>,
    ) {
        let key = self.keys.canary(run);
        self.history
            .keep_canary(&self.keys, key.as_ref(), measurement, worst)
            .await;
    }
}
