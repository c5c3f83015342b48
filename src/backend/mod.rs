//! **Backends** run canaries. Each is an edge: it turns a [`CanaryRun`] into a process, a training job or a look into a
//! recording, and gives back a [`Measurement`].

pub mod local;
pub mod place;
pub mod replay;
pub mod sagemaker;
mod source;

use std::future::Future;

use tokio::sync::watch;

use crate::canary::{CanaryRun, Dataset};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType};
use crate::measurement::Measurement;
use crate::spec::Job;
use crate::units::Fraction;

/// Something that runs canaries.
///
/// The contract: whatever way [`Backend::run`] ends, nothing that costs money or holds a machine is left running by it; where
/// it could not be stopped, the error names it, and it ends by itself.
/// That the training code failed is a result, an `Ok` with its outcome; that we could not run it is an `Err`.
pub trait Backend {
    /// Every object of every channel of a job, sorted by key. Reads only.
    ///
    /// Fails when a channel is missing, empty or cannot be read.
    fn list(&self, job: &Job) -> impl Future<Output = Result<Dataset, BackendError>>;

    /// What one machine of a type has; `None` where this backend does not know the type.
    fn capacity(&self, kind: &InstanceType) -> Option<Capacity>;

    /// How many more canaries of one size it can run; `None`: any number.
    fn supply(
        &self,
        _: &Job,
        _: &InstanceConfiguration,
        _: Fraction,
        _: Option<f64>,
    ) -> Option<u32> {
        None
    }

    /// How many canaries of a configuration it runs at a time.
    fn at_once(&self, job: &Job, _: &InstanceConfiguration) -> u32 {
        job.canary.parallel
    }

    /// Whether the first canary of a job runs alone, as the check of what can be checked in no other way.
    fn tries_one_first(&self) -> bool {
        false
    }

    /// Runs one canary to its end and measures it; `None` where it was never started, since its watcher would not have it.
    ///
    /// On cancellation the run is ended first and comes back as [`crate::measurement::Outcome::Stopped`].
    fn run(
        &self,
        job: &Job,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
    ) -> impl Future<Output = Result<Option<CanaryResult>, BackendError>>;
}

/// Whoever waits for a canary.
#[derive(Clone, Copy)]
pub struct Watcher<'a> {
    /// Hears how far it is.
    pub tell: &'a dyn Fn(Told<'_>),
    /// Whether it may still be started: not after another one of the same code has failed.
    pub may_start: &'a dyn Fn() -> bool,
    /// Ends it.
    pub cancellation: &'a Cancellation,
}

impl Watcher<'_> {
    pub fn tell(&self, told: Told<'_>) {
        (self.tell)(told);
    }

    /// Whether nothing is to be started any more.
    pub fn holds_back(&self) -> bool {
        self.cancellation.is_cancelled() || !(self.may_start)()
    }
}

/// What a backend tells of a canary under way, in a few words.
#[derive(Debug, Clone, Copy)]
pub enum Told<'a> {
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
}

/// Who or what can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// A person must mend something: credentials, a permission, a path.
    Mend,
    /// What may be different tomorrow: a quota, a throttled service, a session that expired.
    Wait,
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
            remedy: Remedy::Mend,
            what: what.into(),
            help: help.into(),
            source: None,
        }
    }

    /// One that may be gone tomorrow; it leaves the outcome unknown.
    pub fn passing(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            remedy: Remedy::Wait,
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

/// Tells running canaries that they should end.
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
