//! The `sagemaker` backend: canaries are training jobs.
//!
//! Requests are built and answers are read by pure functions; the rest sends, waits and cleans up. AWS types stay in here.
//!
//! A canary is found before it is made: the name of its job is made from its [`Key`](crate::canary::Key), so that a second start of the gate, or
//! another pull request with the same code and data, finds what is there. Whatever way a run ends, its own jobs are
//! stopped, but for those that expired credentials keep it from stopping; what it or a killed gate left is found by the next
//! start, and by [`Sweep`], and ends at its time limit.

mod archive;
mod asked;
mod cleanup;
mod code;
mod collect;
mod description;
#[cfg(test)]
mod exchange;
mod failure;
mod find;
pub mod from_job;
pub mod iam_policy;
mod job_hosts;
mod launch;
pub mod listing;
mod logs;
mod metrics;
mod name;
mod named_keys;
mod pace;
mod placing;
mod pools;
pub mod price;
mod quota;
mod ready;
mod request;
mod result;
mod row_objects;
mod session;
mod staging;
mod sweep;
mod tags;
mod watch;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use async_trait::async_trait;
use tokio::sync::{Mutex, OnceCell};

use self::cleanup::StoppedRest;
use self::description::{JobDescription, JobState};
use self::name::JobName;
use self::pace::Pace;
use self::pools::Pools;
use self::ready::{CanaryUnderWay, Found, Notes, ProbeWay, ReadyJob};
use self::session::JobSession;
use self::staging::JobObjects;
use super::project_paths::ProjectPaths;
use super::{Backend, BackendEnd, BilledJob, BoxSession, Cancellation, Reuse, RunPart};
use crate::aws::Aws;
use crate::instance::{InstanceConfiguration, InstanceType, Price};
use crate::outside_error::OutsideResult;
use crate::spec::Job;

pub use code::check_source;
pub use sweep::{Leftover, LeftoverKind, Sweep};

/// Which run of the gate the jobs belong to; the default is for who starts none.
#[derive(Debug, Clone, Default)]
pub struct RunTags {
    /// The value of the tag `canary-gate:run`.
    pub run: String,
    /// Whether no other process has this value, so that every job with it is this one's to stop. The jobs of a GitHub
    /// workflow run share one.
    pub is_exclusive: bool,
    /// Whether an earlier process had this value, and may have left jobs.
    pub is_resumed: bool,
    /// The value of the tag `canary-gate:spec`.
    pub spec: String,
    /// The value of the tag `canary-gate:repository`; absent if the repository is unknown.
    pub repository: Option<String>,
    pub reuse: Reuse,
    /// What the run does with its jobs.
    pub part: RunPart,
    /// Ends the run.
    pub cancellation: Cancellation,
}

impl RunTags {
    /// No job of the run is older, by any clock; `None` where its id does not say when it began.
    fn begun(&self) -> Option<jiff::Timestamp> {
        let begun: jiff::Timestamp = self.run.split('/').next()?.parse().ok()?;
        begun.checked_sub(jiff::SignedDuration::from_hours(1)).ok()
    }
}

/// Runs canaries as SageMaker training jobs.
///
/// Of a run of the gate it holds what every job of it shares; what concerns one job is in its session.
#[derive(Debug)]
pub struct SagemakerBackend {
    paths: ProjectPaths,
    tags: RunTags,
    /// The program that runs as the probe in a container.
    program: PathBuf,
    pace: Pace,
    /// Made again when credentials expire.
    aws: RefCell<Aws>,
    state: RefCell<RunState>,
    /// When this process began.
    began: jiff::Timestamp,
    /// Set once AWS has answered to these credentials.
    access: OnceCell<()>,
    /// Set once it is known that training jobs may be looked at, listed and stopped.
    rights: OnceCell<()>,
    /// Held while something is asked that is asked once, so that jobs which begin together do not all ask it.
    asking: Mutex<()>,
}

/// The things that a run of the gate has done in AWS so far, and learned of it.
#[derive(Debug, Default)]
struct RunState {
    /// Training jobs that this run is to stop, and that may still be running.
    own: BTreeSet<String>,
    /// Training jobs that are waited for at this moment, with their machines.
    watched: BTreeMap<String, InstanceConfiguration>,
    /// Warm pools that this process is to end, and those ended that nobody has billed.
    pools: Pools,
    /// Last jobs of pools that could not be ended.
    kept_pools: Vec<String>,
    /// Whether a training job was asked for, or taken up.
    has_run: bool,
    /// Whether a training job was paid for without a result.
    has_unmeasured: bool,
    /// Tries of canaries that are billed with the last one.
    counted: BTreeSet<String>,
    /// Whether SageMaker has refused a request for its profiler.
    refuses_profiler: bool,
    /// The prices asked for so far; `None` for a type without a price.
    prices: BTreeMap<InstanceType, Option<Price>>,
    /// The reason for which the price list cannot be read; it is not asked again.
    no_prices: Option<String>,
    /// The account's quotas by name, as far as they were listed.
    quotas: BTreeMap<String, u32>,
    /// `Ok` once all quotas were listed, `Err` with the reason where they cannot be read; `None` before they are asked for.
    all_quotas: Option<Result<(), String>>,
}

impl SagemakerBackend {
    /// `pace` multiplies every wait; 1 but for tests.
    pub fn new(paths: ProjectPaths, tags: RunTags, program: PathBuf, aws: Aws, pace: f64) -> Self {
        Self {
            paths,
            tags,
            program,
            pace: Pace::new(pace),
            aws: RefCell::new(aws),
            state: RefCell::default(),
            began: jiff::Timestamp::now(),
            access: OnceCell::default(),
            rights: OnceCell::default(),
            asking: Mutex::default(),
        }
    }

    /// The clients as they are now.
    fn aws(&self) -> Aws {
        self.aws.borrow().clone()
    }
}

#[async_trait(?Send)]
impl Backend for SagemakerBackend {
    async fn open<'a>(&'a self, job: &'a Job) -> OutsideResult<BoxSession<'a>> {
        check_source(&self.paths, job)?;
        let session = JobSession {
            backend: self,
            job,
            bases: BTreeMap::new(),
            notes: Notes::default(),
        };
        session.check_access().await?;
        Ok(Box::new(session))
    }

    async fn bills(&self) -> OutsideResult<Vec<BilledJob>> {
        self.bills_of_run().await
    }

    async fn finish(&self, kept: &BTreeSet<String>) -> OutsideResult<BackendEnd> {
        let cancellation = &self.tags.cancellation;
        let (mut kept, nothing) = (kept, BTreeSet::new());
        let mut rest = StoppedRest::default();
        loop {
            if cancellation.is_cancelled() {
                self.state.borrow_mut().own.extend(kept.iter().cloned());
                kept = &nothing;
            }
            kept.iter().for_each(|name| self.forget(name));
            let stopped = self.stop_the_rest(kept, &mut rest).await;
            // The signal may have come while the rest was stopped.
            if kept.is_empty() || !cancellation.is_cancelled() {
                let state = self.state.borrow();
                return stopped.map(|()| BackendEnd {
                    stopped: rest.said(),
                    has_stopped_jobs: rest.jobs > 0,
                    has_run: state.has_run,
                    has_unmeasured: state.has_unmeasured,
                    may_keep_machines: !state.kept_pools.is_empty(),
                });
            }
        }
    }
}
