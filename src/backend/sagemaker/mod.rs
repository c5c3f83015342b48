//! The `sagemaker` backend: canaries are training jobs.
//!
//! Requests are built and answers are read by pure functions; the rest sends, waits and cleans up. AWS types stay in here.
//!
//! A canary is found before it is made: the name of its job is made from its [`Key`], so that a second start of the gate, or
//! another pull request with the same code and data, finds what is there. Whatever way a run ends, its own jobs are
//! stopped, but for those that expired credentials keep it from stopping; what it or a killed gate left is found by the next
//! start, and by [`Sweep`], and ends at its time limit.

mod adoption;
mod archive;
mod code;
mod collect;
mod description;
#[cfg(test)]
mod exchange;
mod failure;
mod find;
pub mod from_job;
mod launch;
mod leftovers;
pub mod listing;
mod logs;
mod manifest;
mod metrics;
mod name;
mod pace;
mod placing;
pub mod policy;
mod preflight;
mod prepared;
mod price;
mod quota;
mod request;
mod result;
mod retries;
mod staging;
mod tags;
mod watch;

#[cfg(test)]
mod fake_s3;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use self::launch::Launched;
use self::pace::Pace;
use self::prepared::Prepared;
use self::retries::Retries;
use self::watch::Ended;
use super::place::Place;
use super::{Backend, BackendError, CanaryResult, Told, Watcher};
use crate::aws::s3_uri::S3Uri;
use crate::aws::{Aws, AwsError};
use crate::canary::{CanaryRun, ChannelData, Dataset, Key, Objects, canary_key};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType, tables};
use crate::spec::{Channel, FileSystem, Job};

pub use code::check_source;
pub use leftovers::{Leftover, Sweep, Swept};

/// Which run of the gate the jobs belong to.
#[derive(Debug, Clone)]
pub struct RunTags {
    /// The value of the tag `canary-gate:run`.
    pub run: String,
    /// Whether no other process has this value, so that every job with it is this one's to stop. The jobs of a GitHub
    /// workflow run share one.
    pub is_exclusive: bool,
    /// Whether an earlier process had this value, and may have left jobs.
    pub is_resumed: bool,
    /// The value of the tag `canary-gate:repository`; absent where nobody names it.
    pub repository: Option<String>,
    pub reuse: ReusePolicy,
}

impl RunTags {
    /// For who starts no job.
    pub fn of_nobody() -> Self {
        Self {
            run: String::new(),
            is_exclusive: false,
            is_resumed: false,
            repository: None,
            reuse: ReusePolicy::Own,
        }
    }
}

/// Whether jobs of other runs of the gate may stand for canaries of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReusePolicy {
    /// Those that are younger than the spec's `canary.reuse`.
    Young,
    /// Only those of this very run.
    Own,
}

/// Runs canaries as SageMaker training jobs.
#[derive(Debug)]
pub struct SagemakerBackend {
    place: Place,
    tags: RunTags,
    /// Made anew where credentials expire.
    aws: RefCell<Aws>,
    pace: Pace,
    /// The folder that the keys of a listed channel are relative to, by job and channel.
    bases: RefCell<BTreeMap<(String, String), S3Uri>>,
    /// What is known of each job once its preflight is over, by the job's name.
    prepared: RefCell<BTreeMap<String, Prepared>>,
    /// Training jobs that this run is to stop, and that may still be running.
    own: RefCell<BTreeSet<String>>,
    /// Whether AWS has ever answered to these credentials.
    has_access: Cell<bool>,
    /// Training jobs that are waited for at this moment.
    watched: RefCell<BTreeSet<String>>,
    /// What a reader of a job's report should know, by the job's name.
    notes: RefCell<BTreeMap<String, Vec<String>>>,
}

impl SagemakerBackend {
    /// `pace` multiplies every wait; 1 but for tests.
    pub fn new(place: Place, tags: RunTags, aws: Aws, pace: f64) -> Self {
        Self {
            place,
            tags,
            aws: RefCell::new(aws),
            pace: Pace::new(pace),
            bases: RefCell::default(),
            prepared: RefCell::default(),
            own: RefCell::default(),
            has_access: Cell::new(false),
            watched: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// The clients as they are now.
    fn aws(&self) -> Aws {
        self.aws.borrow().clone()
    }

    /// Fails unless the job's source is there, with its entry point. Asks AWS nothing.
    pub fn check_source(&self, job: &Job) -> Result<(), BackendError> {
        check_source(&self.place, job)
    }

    /// What a reader of the job's report should know, as sentences without a capital.
    pub fn notes(&self, job: &Job) -> Vec<String> {
        self.notes
            .borrow()
            .get(&job.name)
            .cloned()
            .unwrap_or_default()
    }

    /// Notes something for the job's report, once.
    fn note(&self, job: &str, text: impl Into<String>) {
        let text = text.into();
        let mut notes = self.notes.borrow_mut();
        let notes = notes.entry(job.to_owned()).or_default();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    fn base(&self, job: &Job, channel: &Channel) -> Result<S3Uri, BackendError> {
        let listed = (job.name.clone(), channel.name.clone());
        match self.bases.borrow().get(&listed) {
            Some(base) => Ok(base.clone()),
            None => Ok(S3Uri::read(
                &channel.uri,
                &format!("jobs.{}.training.channels.{}.uri", job.name, channel.name),
            )?),
        }
    }

    /// Whether the account's quota takes a canary of a configuration, as far as anybody says; once the job is prepared.
    pub fn has_quota(&self, job: &Job, instance: &InstanceConfiguration) -> bool {
        self.prepared(job).has_quota(instance)
    }

    fn prepared(&self, job: &Job) -> Prepared {
        self.prepared
            .borrow()
            .get(&job.name)
            .cloned()
            .expect("a job is prepared before its canaries run")
    }
}

impl From<AwsError> for BackendError {
    fn from(error: AwsError) -> Self {
        let of_kind = if error.is_transient {
            Self::passing
        } else {
            Self::new
        };
        of_kind(error.what, error.help)
    }
}

impl Backend for SagemakerBackend {
    async fn list(&self, job: &Job) -> Result<Dataset, BackendError> {
        let aws = self.aws();
        let mut channels = Vec::with_capacity(job.training.channels.len());
        for channel in &job.training.channels {
            let field = format!("jobs.{}.training.channels.{}", job.name, channel.name);
            let objects = if FileSystem::of_uri(&channel.uri).is_some() {
                Objects::default()
            } else {
                let listed = listing::list(&aws.s3, &field, channel).await?;
                self.bases
                    .borrow_mut()
                    .insert((job.name.clone(), channel.name.clone()), listed.base);
                listed.objects
            };
            channels.push(ChannelData {
                name: channel.name.clone(),
                sampled: channel.sample,
                objects,
            });
        }
        Ok(Dataset { channels })
    }

    fn capacity(&self, kind: &InstanceType) -> Option<Capacity> {
        tables::capacity(kind)
    }

    fn at_once(&self, job: &Job, instance: &InstanceConfiguration) -> u32 {
        self.prepared(job).at_once(instance, job.canary.parallel)
    }

    /// Role, image and network are proved by a job alone.
    fn tries_one_first(&self) -> bool {
        true
    }

    async fn run(
        &self,
        job: &Job,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
    ) -> Result<Option<CanaryResult>, BackendError> {
        let prepared = self.prepared(job);
        let key: Key = canary_key(&prepared.code, &prepared.data, run);
        let mut retries = Retries::of(run);
        loop {
            let launched = self
                .launch(job, run, &prepared, &key, &retries, watcher)
                .await?;
            let Launched::Job(found) = launched else {
                return Ok(None);
            };
            let ended = match self.watch(&found, watcher).await {
                Ended::Lost { error, is_left } => {
                    if !is_left {
                        self.stop_if_ours(&found).await;
                    }
                    self.tidy(job, &found, watcher).await;
                    return Err(error);
                }
                Ended::Cancelled => None,
                Ended::Description(description) => Some(description),
            };
            if let Some(description) = &ended {
                if retries.try_again(&found, description) {
                    watcher.tell(Told::Fact("an error of SageMaker's own; trying again"));
                    self.tidy(job, &found, watcher).await;
                    continue;
                }
                // Somebody else's canary may have been stopped by them.
                if !found.is_new && !self.still_stands(job, run, &found, description) {
                    continue;
                }
            }
            let result = self
                .result(job, run, &found, ended, &retries, watcher)
                .await;
            self.tidy(job, &found, watcher).await;
            return result.map(Some);
        }
    }
}
