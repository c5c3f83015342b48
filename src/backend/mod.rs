//! **Backends** run canaries. Each is an edge: it turns a [`CanaryRun`] into a process, a training job or a look into a
//! recording, and returns a [`Measurement`].

pub mod local;
pub mod project_paths;
pub mod replay;
mod rows;
pub mod sagemaker;
mod source;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use async_trait::async_trait;
use futures_util::future::LocalBoxFuture;
pub use sagemaker::{RunTags, SagemakerBackend};
/// The signal for running canaries to end.
pub use tokio_util::sync::CancellationToken as Cancellation;

use crate::canary::{CanaryRun, ChannelData, Dataset, Key};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType, Price};
use crate::measurement::Measurement;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::plan::{Plan, PlannedConfiguration, PoolPlan};
use crate::probe::{MOST_NAMED, ProbeReport};
use crate::spec::Job;
use crate::units::{Fraction, Seconds};

/// Something that runs canaries: it opens jobs. A job is listed, then prepared, then run, each by what the step before gave.
///
/// The contract: whatever way [`Ready::run`] ends, nothing that costs money or holds a machine is left running by it; where
/// it could not be stopped, the error names it, and it ends by itself.
/// That the training code failed is a result, an `Ok` with its outcome; that we could not run it is an `Err`.
#[async_trait(?Send)]
pub trait Backend {
    /// Opens a job; fails where it may not be run. Reads only.
    async fn open<'a>(&'a self, job: &'a Job) -> OutsideResult<BoxSession<'a>>;

    /// Ends a run of the gate: leaves nothing of it running but these training jobs, which go on unless a signal came.
    ///
    /// # Errors
    ///
    /// Where something may be left running; it is named.
    async fn finish(&self, _: &BTreeSet<String>) -> OutsideResult<BackendEnd> {
        Ok(BackendEnd::default())
    }

    /// What is billed of every run of a canary that this run of the gate has started, by an earlier process too. Reads only.
    async fn bills(&self) -> OutsideResult<Vec<BilledJob>> {
        Ok(Vec::new())
    }
}

/// A job that was opened by a backend.
pub type BoxSession<'a> = Box<dyn Session<'a> + 'a>;

/// A job that was opened. It spends nothing.
#[async_trait(?Send)]
pub trait Session<'a> {
    /// What machines of these types cost today, as far as the backend knows.
    async fn prices(&mut self, _: &BTreeSet<&InstanceType>) -> BTreeMap<InstanceType, Price> {
        BTreeMap::new()
    }

    /// Every object of every channel of the job. Reads only.
    ///
    /// Fails when a channel is missing, empty or cannot be read.
    async fn list(&mut self) -> OutsideResult<ListedData>;

    /// Fails if the backend has too few runs for the plan on `instance`. Drops alternatives for which it has too few, and
    /// returns why.
    fn check_supply(&self, _: &mut Plan) -> OutsideResult<Vec<OutsideError>> {
        Ok(Vec::new())
    }

    /// What canaries need of the account once they run: machines and rights. Reads only.
    async fn account(&mut self) -> Vec<AccountAnswer> {
        Vec::new()
    }

    /// Makes the job ready to run, and gives up alternatives that it cannot run.
    ///
    /// Fails where the job itself cannot be run. Nothing was spent then.
    async fn prepare(self: Box<Self>, planned: Planned<'_>) -> OutsideResult<BoxReady<'a>>;
}

/// What an account answers that is asked before it is needed.
#[derive(Debug)]
pub struct AccountAnswer {
    /// What it is about, such as `logs`.
    pub name: &'static str,
    /// What it gives, in a few words; `None` where that may not be read.
    pub answer: OutsideResult<Option<String>>,
}

/// What a job's data are.
#[derive(Debug)]
pub struct ListedData {
    /// Sorted by key.
    pub dataset: Dataset,
    /// Whether the sizes of the objects are real.
    pub knows_bytes: bool,
    /// What a reader of the job's plan should know, as sentences without a capital.
    pub notes: Vec<String>,
}

/// A job whose canaries are planned.
pub struct Planned<'p> {
    pub dataset: &'p Dataset,
    pub alternatives: &'p mut [PlannedConfiguration],
    /// The key of its code; `None` where git knows nothing of it.
    pub code: Option<Key>,
    /// The job as the commit itself writes it, before the base's policy.
    pub as_written: &'p Job,
    /// By which pools are chosen once the quotas are known; `None` where no machines are started.
    pub pools: Option<&'p PoolPlan>,
}

/// The keys that identify a job's canaries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendKeys {
    /// `None` where neither the backend nor git knows the code.
    pub code: Option<Key>,
    pub data: Option<Key>,
    /// This machine in one line, where canaries run on it.
    pub machine: Option<String>,
    /// What they find on it beside code and data, and what stands for its content: caches, Python's packages.
    pub found: BTreeMap<String, Vec<u8>>,
    /// Whether canaries run without a probe that the spec asks for.
    pub lacks_probe: bool,
}

/// A job that a backend made ready.
pub type BoxReady<'a> = Box<dyn Ready + 'a>;

/// A job whose canaries may run.
#[async_trait(?Send)]
pub trait Ready {
    /// The keys of the job, without that of the code where it knows no better one than git's. Local data are read for it, every byte; no further file once the answer is dropped.
    async fn keys(&self, dataset: &Dataset) -> OutsideResult<BackendKeys>;

    /// How many more canaries of one size it can run; `None`: any number.
    fn supply(&self, _: &InstanceConfiguration, _: Fraction, _: Option<f64>) -> Option<u32> {
        None
    }

    /// How many canaries of a configuration run at a time, and for how long their machines are kept.
    fn room(&self, _: &InstanceConfiguration) -> Room;

    /// Whether canaries of all these configurations find machines at once, as far as that is known.
    fn has_room_for_all(&self, _: &[&InstanceConfiguration]) -> bool {
        true
    }

    /// What a reader of the job's report should know.
    fn notes(&self) -> JobNotes {
        JobNotes::default()
    }

    /// Runs one canary as far as the run of the gate goes: to its end, where it is measured, or until it is started.
    ///
    /// On cancellation a run that is waited for is ended first, and comes back as [`crate::measurement::Outcome::Stopped`].
    async fn run<'r>(&'r self, run: &'r CanaryRun, watcher: &'r Watcher<'r>) -> CanaryStep<'r>;

    /// What there is of one canary; `report` hears what is found under its name. Reads only.
    async fn look(&self, _: &CanaryRun, _: CanaryReport<'_>) -> OutsideResult<CanaryState> {
        Ok(CanaryState::HeldBack)
    }

    /// Stops these training jobs, which this process has started, and removes what was placed for them. What cannot be stopped
    /// the end of the run tries to stop again.
    async fn stop(&self, _: &[String]) {}

    /// Ends what is kept for further canaries, of one configuration or, after the last canary, of all.
    async fn end_pools(&self, _: Option<&InstanceConfiguration>) -> Vec<EndedPool> {
        Vec::new()
    }
}

/// The room that the canaries of a configuration have.
#[derive(Debug, Clone)]
pub struct Room {
    /// The number of canaries that run at a time; at least 1.
    pub at_once: u32,
    /// For how long machines are kept after a canary; `None` where none are.
    pub keep_alive: Option<Seconds>,
    /// What this machine has, where canaries run on it.
    pub host: Option<Capacity>,
}

/// What a reader of a job's report should know.
#[derive(Debug, Clone, Default)]
pub struct JobNotes {
    /// Without a capital.
    pub sentences: Vec<String>,
    /// Why canaries ran without a probe that the spec asks for; `None` where they had it, or none is asked for.
    pub lacks_probe: Option<String>,
}

/// The part of a run of the gate that a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunPart {
    /// All of it: canaries are started, waited for and measured.
    #[default]
    Whole,
    /// Canaries are started, and go on when the process has ended well.
    Detach,
    /// Canaries that are there are measured; none is started or waited for.
    Collect,
}

/// Whether canaries of earlier runs may be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reuse {
    /// Canaries younger than the spec's `canary.reuse` are.
    Young,
    /// Everything is measured again, but for what this very run has started.
    #[default]
    Never,
}

/// How far a canary is.
#[derive(Debug)]
pub enum CanaryState {
    /// It was never started, since its watcher would not have it.
    HeldBack,
    /// There is no room for it now, and nobody waits for it.
    NoRoom(OutsideError),
    /// No training job stands for it; with the name that its first attempt would have.
    Missing {
        training_job: String,
    },
    Running {
        training_job: String,
        payer: CanaryPayer,
    },
    Over {
        training_job: String,
    },
    Measured(Box<CanaryResult>),
}

/// Whose a canary is that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CanaryPayer {
    ThisRun,
    /// Another run of the gate has detached it.
    Nobody,
    /// The run that waits for it may stop it.
    AnotherRun,
}

/// How far a canary came.
pub enum CanaryStep<'r> {
    Ended(CanaryEnd),
    /// Its machines are free, while what they used is still to be collected: the measurement as far as it is known, with outcome and
    /// times, and the rest of it. What is held for it others get once that is begun.
    Free(Box<Measurement>, LocalBoxFuture<'r, CanaryEnd>),
}

/// What came of a canary that was run.
#[derive(Debug)]
pub struct CanaryEnd {
    pub state: OutsideResult<CanaryState>,
    /// What is known of the bill of a run that was paid and has no result, as one that was stopped; else `None`.
    pub paid_for_nothing: Option<Box<Measurement>>,
}

impl From<OutsideResult<CanaryState>> for CanaryStep<'_> {
    fn from(state: OutsideResult<CanaryState>) -> Self {
        Self::Ended(CanaryEnd {
            state,
            paid_for_nothing: None,
        })
    }
}

/// Hears how far a canary is.
pub type CanaryReport<'a> = &'a dyn Fn(CanaryProgress<'_>);

/// One that waits for a canary.
#[derive(Clone, Copy)]
pub struct Watcher<'a> {
    pub report: CanaryReport<'a>,
    /// Whether it may still be started: not after another one of the same code has failed.
    pub may_start: &'a dyn Fn() -> bool,
    /// Whether another one of its configuration may follow on its machines.
    pub has_successor: bool,
    /// Whether no canary of its configuration begins after it.
    pub is_last: bool,
    /// Ends it.
    pub cancellation: &'a Cancellation,
}

impl Watcher<'_> {
    pub fn fact(&self, text: &str) {
        (self.report)(CanaryProgress::Fact(text));
    }

    pub fn phase(&self, text: &str) {
        (self.report)(CanaryProgress::Phase(text));
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

/// Lines of each host in which an error that ended its work is looked for, though it completed.
const END_LINES: usize = 100;

/// What a canary run gave: the measurement, and what belongs into the job log.
#[derive(Debug, Default)]
pub struct CanaryResult {
    pub measurement: Measurement,
    /// The last lines that a run printed; of one that completed, those of its last moments. An error is looked for in them, and those of
    /// a failed run are shown. Hostile text.
    pub log_tail: Vec<String>,
    /// All that is kept of what a failed run printed, as lines; hostile text, for a file only.
    pub log: Vec<String>,
    /// The training jobs whose machines are kept no more: what these were billed for is in the measurement, if anything.
    pub ended_pools: Vec<String>,
}

/// Whether a file of a channel was opened that not every canary gets, on one host at least; `None` where that is not known.
fn was_read(channel: &ChannelData, hosts: &[Option<&ProbeReport>]) -> Option<bool> {
    let given: HashSet<&String> = channel.always.iter().map(|one| &one.key).collect();
    let mut is_known = true;
    for host in hosts {
        let opened = host.and_then(|report| report.files_opened.get(&channel.name));
        let Some(opened) = opened else {
            is_known = false;
            continue;
        };
        // Where it is so many, the others are not named.
        if opened.len() == MOST_NAMED || opened.iter().any(|file| !given.contains(file)) {
            return Some(true);
        }
    }
    is_known.then_some(false)
}

/// Notes in a measurement whether its sample was read: of each sampled channel a drawn file. Of a run that holds all of the data
/// nobody asks. And what of the full run it may lack: files of other channels, and the work of processes that it left.
fn note_opened(measurement: &mut Measurement, run: &CanaryRun, hosts: &[Option<&ProbeReport>]) {
    let sampled = run.channels.iter().filter(|channel| channel.sampled);
    let whole = run.channels.iter().filter(|channel| !channel.sampled);
    let unopened = whole.filter(|channel| was_read(channel, hosts) == Some(false));
    measurement.unopened = unopened.map(|channel| channel.name.clone()).collect();
    let mut hosts_with_report = hosts.iter().flatten();
    measurement.left_running = hosts_with_report.find_map(|host| host.left_running.clone());
    let mut read = Vec::new();
    for channel in sampled.filter(|_| !run.is_full()) {
        let was_read = was_read(channel, hosts);
        if was_read == Some(false) {
            let note = format!("no drawn file of channel `{}` was opened", channel.name);
            measurement.notes.push(note);
        }
        read.push(was_read);
    }
    measurement.sample_opened = match read.contains(&Some(false)) {
        true => Some(false),
        false => (!read.is_empty() && !read.contains(&None)).then_some(true),
    };
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
    /// Whether training jobs are among it, which are billed for a little longer.
    pub has_stopped_jobs: bool,
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
