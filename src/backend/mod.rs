//! **Backends** run canaries. Each is an edge: it turns a [`CanaryRun`] into a process, a training job or a look into a
//! recording, and returns a [`Measurement`].

mod detaching;
mod files;
pub mod local;
pub mod project_paths;
pub mod replay;
mod rows;
pub mod sagemaker;
mod sample_opened;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::LocalBoxFuture;
use tokio::sync::watch;

use crate::canary::{CanaryRun, Dataset, DrawProblem, Key};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType, Price};
use crate::measurement::Measurement;
use crate::plan::{Plan, PlannedAlternative, PoolPlan, WarmPool};
use crate::spec::Job;
use crate::units::{Fraction, Seconds};

pub use detaching::{Detaching, RunPart, Standing, Started};

/// What a backend answers in the end. A box, since which backend it is shows only when the program runs.
pub type BackendFuture<'a, T> = LocalBoxFuture<'a, Result<T, BackendError>>;

/// Something that runs canaries: it opens jobs. A job is listed, then prepared, then run, each by what the step before gave.
///
/// The contract: whatever way [`Ready::run`] ends, nothing that costs money or holds a machine is left running by it; where
/// it could not be stopped, the error names it, and it ends by itself.
/// That the training code failed is a result, an `Ok` with its outcome; that we could not run it is an `Err`.
pub trait Backend {
    /// Opens a job; fails where it may not be run. Reads only.
    fn open<'a>(&'a self, job: &'a Job) -> BackendFuture<'a, Box<dyn Session<'a> + 'a>>;

    /// Ends a run of the gate: leaves nothing of it running.
    ///
    /// # Errors
    ///
    /// Where something may be left running; it is named.
    fn finish<'a>(&'a self, _: &'a Cancellation) -> BackendFuture<'a, BackendEnd> {
        Box::pin(async { Ok(BackendEnd::default()) })
    }

    /// What is billed of every run of a canary that this run of the gate has started, by an earlier process too. Reads only.
    fn bills(&self) -> BackendFuture<'_, Vec<BilledJob>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A job that was opened. It spends nothing.
pub trait Session<'a> {
    /// What machines of these types cost today, as far as the backend knows.
    fn prices<'s>(
        &'s mut self,
        _: &'s BTreeSet<&'s InstanceType>,
    ) -> LocalBoxFuture<'s, BTreeMap<InstanceType, Price>> {
        Box::pin(async { BTreeMap::new() })
    }

    /// Every object of every channel of the job. Reads only.
    ///
    /// Fails when a channel is missing, empty or cannot be read.
    fn list(&mut self) -> BackendFuture<'_, ListedData>;

    /// Fails if the backend has too few runs for the plan on `instance`. Drops alternatives for which it has too few, and
    /// returns why.
    fn check_supply(&self, _: &mut Plan) -> Result<Vec<BackendError>, BackendError> {
        Ok(Vec::new())
    }

    /// What the account's quotas give the job, in a few words; `None` where there are none, or they may not be read. Reads only, and
    /// fails where not one canary finds a machine.
    fn machines(&mut self) -> BackendFuture<'_, Option<String>> {
        Box::pin(async { Ok(None) })
    }

    /// Whether rights are there that are needed once canaries run. Reads only.
    fn rights(&self) -> LocalBoxFuture<'_, Vec<Right>> {
        Box::pin(async { Vec::new() })
    }

    /// What a reader of the job's report should know by now, as sentences without a capital.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Makes the job ready to run, and gives up alternatives that it cannot run.
    ///
    /// Fails where the job itself cannot be run. Nothing was spent then.
    fn prepare<'p>(self: Box<Self>, planned: Planned<'p>) -> BackendFuture<'p, Box<dyn Ready + 'a>>
    where
        'a: 'p;
}

/// A right that was asked for before it is needed.
#[derive(Debug)]
pub struct Right {
    /// What it is about, such as `logs`.
    pub name: &'static str,
    /// As the end of "may ...".
    pub for_what: String,
    pub denied: Option<BackendError>,
}

/// What a job's data are.
#[derive(Debug)]
pub struct ListedData {
    /// Sorted by key.
    pub dataset: Dataset,
    /// Whether the sizes of the objects are real.
    pub knows_bytes: bool,
}

/// A job whose canaries are planned.
pub struct Planned<'p> {
    pub dataset: &'p Dataset,
    pub alternatives: &'p mut [PlannedAlternative],
    /// The key of its code; `None` where git knows nothing of it.
    pub code: Option<Key>,
    /// The job as the commit itself writes it, before the base's policy.
    pub as_written: &'p Job,
    /// By which pools are chosen once the quotas are known; `None` where no machines are started.
    pub pools: Option<&'p PoolPlan>,
}

/// The keys that identify a job's canaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendKeys {
    /// `None` where neither git nor the backend knows the code.
    pub code: Option<Key>,
    pub data: Option<Key>,
    /// This machine in one line, where canaries run on it.
    pub machine: Option<String>,
    /// Whether canaries run without a probe that the spec asks for.
    pub lacks_probe: bool,
}

/// A job whose canaries may run.
pub trait Ready {
    /// The keys of the job. Local data are read for it, every byte, until the answer is dropped.
    fn keys<'k>(&'k self, dataset: &'k Dataset) -> BackendFuture<'k, BackendKeys>;

    /// What one machine of a type has; `None` where this backend does not know the type.
    fn capacity(&self, kind: &InstanceType) -> Option<Capacity>;

    /// How many more canaries of one size it can run; `None`: any number.
    fn supply(&self, _: &InstanceConfiguration, _: Fraction, _: Option<f64>) -> Option<u32> {
        None
    }

    /// How many canaries of a configuration it runs at a time.
    fn at_once(&self, instance: &InstanceConfiguration) -> u32;

    /// Whether canaries of all these configurations find machines at once, as far as that is known.
    fn has_room_for_all(&self, _: &[&InstanceConfiguration]) -> bool {
        true
    }

    /// What a reader of the job's report should know, as sentences without a capital.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why canaries ran without a probe that the spec asks for; `None` where they had it, or none is asked for.
    fn lacks_probe(&self) -> Option<String> {
        None
    }

    /// For how long machines are kept after a canary of a configuration, and how many canaries at a time have such; `None`
    /// where none are.
    fn warm_pool(&self, _: &InstanceConfiguration) -> Option<&WarmPool> {
        None
    }

    /// Ends what is kept for further canaries of a configuration: when the last one has freed its machines.
    fn end_pools_on<'e>(
        &'e self,
        _: &'e InstanceConfiguration,
        _: &'e Cancellation,
    ) -> LocalBoxFuture<'e, Vec<EndedPool>> {
        Box::pin(async { Vec::new() })
    }

    /// Ends what is kept for further canaries: after the last one, however it ended.
    fn end_pools<'e>(&'e self, _: &'e Cancellation) -> LocalBoxFuture<'e, Vec<EndedPool>> {
        Box::pin(async { Vec::new() })
    }

    /// How its canaries are started by one process and collected by another; `None` where they end with the gate.
    fn detaching(&self) -> Option<&dyn Detaching> {
        None
    }

    /// Runs one canary to its end and measures it; `None` where it was never started, since its watcher would not have it.
    ///
    /// On cancellation the run is ended first and comes back as [`crate::measurement::Outcome::Stopped`].
    fn run<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> BackendFuture<'r, Option<CanaryResult>>;
}

/// One that waits for a canary.
#[derive(Clone, Copy)]
pub struct Watcher<'a> {
    /// Hears how far it is.
    pub report: &'a dyn Fn(CanaryProgress<'_>),
    /// Whether it may still be started: not after another one of the same code has failed.
    pub may_start: &'a dyn Fn() -> bool,
    /// Whether another one of its configuration may follow on its machines.
    pub has_successor: bool,
    /// Whether no canary of its configuration begins after it.
    pub is_last: bool,
    /// Hears, at most once, that the machines are free again while what they used is still collected: the measurement as far as it
    /// is known, with outcome and times.
    pub freed: &'a dyn Fn(Measurement),
    /// Hears, at most once, of a run that was paid and has no result: what is known of its bill, as one that was stopped.
    pub paid_for_nothing: &'a dyn Fn(Measurement),
    /// Ends it.
    pub cancellation: &'a Cancellation,
}

impl Watcher<'_> {
    pub fn report(&self, progress: CanaryProgress<'_>) {
        (self.report)(progress);
    }

    /// Whether nothing is to be started any more.
    pub fn holds_back(&self) -> bool {
        self.cancellation.is_cancelled() || !(self.may_start)()
    }
}

/// What a backend reports of a canary under way, in a few words.
#[derive(Debug, Clone, Copy)]
pub enum CanaryProgress<'a> {
    /// Worth a line of a log.
    Fact(&'a str),
    /// For who watches: the next one takes its place.
    Phase(&'a str),
}

/// What a canary run gave: the measurement, and what belongs into the job log.
#[derive(Debug)]
pub struct CanaryResult {
    pub measurement: Measurement,
    /// The last lines that a failed run printed; hostile text, for the job log only.
    pub log_tail: Vec<String>,
    /// All that is kept of what a failed run printed, as lines; hostile text, for a file only.
    pub log: Vec<String>,
    /// The training jobs whose machines are kept no more: what these were billed for is in the measurement, if anything.
    pub ended_pools: Vec<String>,
}

/// The bill of one run of a canary.
#[derive(Debug, Clone)]
pub struct BilledJob {
    /// The job of the spec.
    pub job: String,
    pub training_job: String,
    pub instance: InstanceConfiguration,
    pub created_at: jiff::Timestamp,
    /// Of each machine; `None` while it is not over.
    pub billed: Option<Seconds>,
    /// For how long its machines were kept after it.
    pub idle: Seconds,
}

/// How a backend ended a run of the gate.
#[derive(Debug, Default)]
pub struct BackendEnd {
    /// What it had to stop, as a sentence without a capital.
    pub stopped: Option<String>,
    /// Whether it started canaries that outlive the gate, or took such up.
    pub has_run: bool,
    /// Whether it paid for a canary without a result.
    pub has_unmeasured: bool,
    /// Whether machines may still be kept, which was said.
    pub may_keep_machines: bool,
}

/// Machines that were kept for a further canary, at their end.
#[derive(Debug)]
pub struct EndedPool {
    /// The last training job that ran on them.
    pub training_job: String,
    pub instance: InstanceConfiguration,
    /// The longest that they can be kept.
    pub keep_alive: Seconds,
    /// For how long they were kept, each of them, and billed; or why they may still be.
    pub idle: Result<Seconds, String>,
}

/// Who or what can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// A person must fix something: credentials, a permission, a path.
    Permanent,
    /// It may be gone tomorrow: a quota, a throttled service, an expired session.
    Transient,
}

/// Why a backend could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct BackendError {
    pub remedy: Remedy,
    /// What went wrong and where.
    pub what: String,
    /// What to do about it.
    pub help: String,
    #[source]
    pub source: Option<std::io::Error>,
}

impl BackendError {
    pub fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            remedy: Remedy::Permanent,
            what: what.into(),
            help: help.into(),
            source: None,
        }
    }

    /// A transient error; it leaves the outcome unknown.
    pub fn transient(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            remedy: Remedy::Transient,
            ..Self::new(what, help)
        }
    }

    pub fn io(what: impl Into<String>, help: impl Into<String>, source: std::io::Error) -> Self {
        Self {
            source: Some(source),
            ..Self::new(what, help)
        }
    }
}

impl From<DrawProblem> for BackendError {
    fn from(problem: DrawProblem) -> Self {
        Self::new(problem.to_string(), problem.help())
    }
}

/// The signal for running canaries to end.
#[derive(Debug, Clone)]
pub struct Cancellation(watch::Receiver<bool>);

impl Cancellation {
    /// The switch and what it switches.
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until cancelled; for ever if that never happens.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
