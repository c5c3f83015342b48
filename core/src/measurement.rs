//! A **measurement**: what one canary run gave. Versioned JSON, one line each, append-only; a missing metric is absent.

mod memory;
pub mod mpirun_tags;
pub mod newest_data;
mod outcome;
pub mod printed_figures;
pub mod progress;
pub mod table;
mod thinned;

pub use memory::{MemorySource, PeakMemory, choose_memory_source, choose_memory_sources};
pub use outcome::Outcome;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::canary::CanaryRun;
use crate::grammar::{grouped, list};
use crate::instance::{InstanceConfiguration, Price};
use crate::metric::MetricName;
use crate::spec::BackendKind;
use crate::units::{Bytes, Fraction, Percent, Seconds, Usd, is_default};

/// The most runs that a note names; the others are counted.
const NAMED_RUNS: usize = 6;
/// What to do where a command ended with 0, though its work may have failed.
pub const LET_IT_FAIL: &str = "let the command fail where its work does (in bash `set -o pipefail`), or, where the error is harmless, do not print it";
/// The version written by this program. A reader refuses a newer one.
pub const SCHEMA_VERSION: u32 = 1;

/// What one canary run gave.
///
/// Memory is what cannot be reclaimed (anonymous and shared, not page cache). CPU, GPU and GPU memory are shares of
/// the whole instance, 0-100 %.
#[skip_serializing_none]
#[serde_with::apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[serde_with::apply(bool => #[serde(default, skip_serializing_if = "std::ops::Not::not")])]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    pub schema_version: u32,
    /// The id of the run of the gate: `2026-11-21T05:30:00Z/4711/0a1b2c3d`, in GitHub Actions the workflow run's number. Absent
    /// if the table that it was read from does not say.
    pub run: Option<String>,
    pub job: String,
    pub instance: InstanceConfiguration,
    /// The backend that ran it; absent if the table that it was read from does not say.
    pub backend: Option<BackendKind>,
    /// The share of the data that was asked for; of the work where runs differ in their work alone.
    pub fraction: Fraction,
    pub objects: Option<u64>,
    pub objects_total: Option<u64>,
    /// The bytes of the sampled channels that the run really had; absent if unknown, and then `fraction` counts in their place.
    pub bytes: Option<Bytes>,
    pub bytes_total: Option<Bytes>,
    /// Whether the script drew its own share, which `fraction` is then exactly.
    pub drawn_by_script: bool,
    /// Whether it held all of the data, and differs from the full run in its work alone; `fraction` is its share of that work
    /// then.
    pub differs_in_work_alone: bool,
    /// The work level of this run; absent if the spec has no `work`.
    pub work: Option<f64>,
    /// The work level of the full run; absent if the spec has no `work`.
    pub work_total: Option<f64>,
    /// The number of the replicate, from 0.
    pub replicate: u32,
    /// The number of the attempt, from 0: how often this canary was started before.
    #[serde(default)]
    pub attempt: u32,
    pub start: Option<Start>,
    pub outcome: Outcome,
    /// Whether drawn files of each sampled channel were opened while it ran; absent where that was not watched, or nothing was sampled.
    pub sample_opened: Option<bool>,
    /// The channels that canaries get whole and of which it opened no file, as far as they were watched.
    pub unopened: Vec<String>,
    /// A process that still ran when the command had ended, and worked on or had taken most of the CPU time. What it had still to do is
    /// not in the run's time.
    pub left_running: Option<String>,
    /// The error that it printed last, though it completed: a line of its log, to be escaped where shown.
    pub last_error: Option<String>,
    /// A file of the checkout that `paths` leaves out and that it opened all the same, where the machine does not prevent it.
    pub left_out_opened: Option<String>,
    /// What to do about the failure, where it is one of the likeliest first errors.
    pub way_out: Option<String>,
    /// Whether it failed on the smallest size alone, and the forecast is of the larger ones, which completed.
    pub passed_over: bool,
    /// Whether it is the full run, which the design began to read its progress, and ended.
    pub ended_early: bool,
    /// Other words of `command` that may mend it; not written down.
    #[serde(skip)]
    pub cure: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub phases: Phases,
    /// Of the training time, what passed before the script began, where the image installs the source's `requirements.txt` in it.
    /// Absent where it installs none, and where no probe says when the script began.
    pub installs_seconds: Option<Seconds>,
    /// The billed time of one instance: download, training and upload; locally the wall time of the process. Of a
    /// run that was ended at its time limit, that limit.
    pub training_seconds: Option<Seconds>,
    pub billable_seconds: Option<Seconds>,
    /// The usage of the host; of several hosts, of the one that used most.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// The usage of each host; empty for a single one.
    pub hosts: Vec<HostUsage>,
    /// The median time of a training step, without the first; absent if the spec has no `step_metric` or no line matched it.
    pub step_seconds: Option<Seconds>,
    /// The level of each metric that a budget line names; omitted if there is none. One that was printed too seldom is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<MetricName, printed_figures::PrintedLevel>,
    /// How far the job said that it was, over its time; absent if it printed nothing of the kind.
    pub progress: Option<progress::JobProgress>,
    pub price: Option<Price>,
    /// The cost of this run; absent without a price.
    pub cost: Option<Usd>,
    /// For how long each machine was kept in a warm pool and is billed with this run: before it, and after the last run of a
    /// pool. Absent where none was kept.
    pub idle_seconds: Option<Seconds>,
    /// The cost of that, beside `cost`; absent without a price.
    pub idle_usd: Option<Usd>,
    /// The name of the SageMaker training job; absent on other backends.
    pub training_job: Option<String>,
    /// Where the gate keeps all that a failed run printed, from its working directory, until the next run that has such a log;
    /// absent where nothing is kept.
    pub log: Option<String>,
    /// The reuse, if another run of the gate paid for it.
    pub reused: Option<Reused>,
    /// The time at which the run ended, RFC 3339 in UTC.
    pub ended_at: Option<jiff::Timestamp>,
    /// Cautions of this one run, e.g. that GPU figures could not be read.
    pub notes: Vec<String>,
}

impl Measurement {
    /// Whether it ran on these machines. The script that starts a cluster's groups is not compared: a measurement does not
    /// have it.
    pub fn is_on(&self, instance: &InstanceConfiguration) -> bool {
        self.instance.is_same_machines(instance)
    }

    /// Whether both are of one canary of a design, perhaps before and after all of it was collected.
    pub fn is_same_run(&self, other: &Self) -> bool {
        let asked = |run: &Self| (run.fraction, run.replicate, run.work);
        self.job == other.job && self.is_on(&other.instance) && asked(self) == asked(other)
    }

    /// Whether its code ended well and had its sample, so that it is one point of a law.
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed && !self.is_unread()
    }

    /// Whether its code ended well and opened no file of its sample: what it took is that of other data, and says nothing of the
    /// full run.
    pub fn is_unread(&self) -> bool {
        self.outcome == Outcome::Completed && self.sample_opened == Some(false)
    }

    /// A run with only its outcome known.
    pub fn without_figures(
        job: String,
        instance: InstanceConfiguration,
        fraction: Fraction,
        outcome: Outcome,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            job,
            instance,
            fraction,
            outcome,
            ..Self::default()
        }
    }

    /// A run with no figures yet, only its request.
    pub fn of_run(run: &CanaryRun, backend: BackendKind, outcome: Outcome) -> Self {
        let differs_in_work_alone = run.differs_in_work_alone();
        // Nobody lists what a script draws itself, nor counts what all canaries have.
        let is_listed = run.share.is_none() && !differs_in_work_alone;
        Self {
            backend: Some(backend),
            objects: is_listed.then_some(run.objects),
            objects_total: is_listed.then_some(run.objects_total),
            bytes: is_listed.then_some(run.bytes),
            bytes_total: is_listed.then_some(run.bytes_total),
            drawn_by_script: run.share.is_some(),
            differs_in_work_alone,
            work: run.work.as_ref().map(|work| work.level),
            work_total: run.work.as_ref().map(|work| work.full),
            replicate: run.replicate,
            ..Self::without_figures(run.job.clone(), run.instance.clone(), run.fraction, outcome)
        }
    }

    /// The same, where the rows of the blocks that `run` asked for really have so many bytes. Every host has all of them.
    #[must_use]
    pub fn with_drawn_rows(mut self, run: &CanaryRun, drawn: Bytes) -> Self {
        let asked = run.bytes_of_blocks();
        let really = |bytes: Bytes| Bytes((bytes.0 + drawn.0).saturating_sub(asked.0));
        self.bytes = self.bytes.map(really);
        for host in &mut self.hosts {
            host.bytes = really(host.bytes);
        }
        self
    }

    /// What its `fraction` is a share of.
    pub fn abscissa(&self) -> Abscissa {
        match self.differs_in_work_alone {
            true => Abscissa::Work,
            false => Abscissa::Data,
        }
    }

    /// Its share of the full run's work per datum; 1 if the job has no levels of work, or canaries differ in them alone.
    pub fn work_share(&self) -> f64 {
        match (self.work, self.work_total) {
            (Some(work), Some(total)) if !self.differs_in_work_alone => work / total,
            _ => 1.0,
        }
    }

    /// The share of the full run that it did: of the data, and of the work on them.
    pub fn reach(&self) -> f64 {
        self.data_share() * self.work_share()
    }

    /// What that is a share of.
    pub fn reach_of(&self) -> Abscissa {
        match self.work_share() < 1.0 {
            true => Abscissa::Work,
            false => self.abscissa(),
        }
    }

    /// How it ended, in words: `timed out`. Not how far: of a bar that begins again with each pass it saw the first.
    pub fn how_it_ended(&self) -> String {
        match self.ended_early {
            false => self.outcome.to_string(),
            true => "ended early, as planned".to_owned(),
        }
    }

    /// How long it ran, as billed per instance without any discount; `None` if not measured.
    pub fn time(&self) -> Option<Seconds> {
        self.training_seconds.or(self.billable_seconds)
    }

    /// Where it was ended at its time limit, its time is that limit: what ending it took beyond is billed, and no training; and what it
    /// printed by then is its progress.
    #[must_use]
    pub fn within_limit(self, limit: Option<Seconds>) -> Self {
        let limit = limit.filter(|_| self.outcome == Outcome::TimedOut);
        let (Some(limit), Some(time)) = (limit, self.training_seconds) else {
            return self;
        };
        Self {
            training_seconds: Some(if time > limit { limit } else { time }),
            progress: self.progress.and_then(|progress| progress.until(limit)),
            billable_seconds: self.billable_seconds.or(Some(time)),
            ..self
        }
    }

    /// The same with the words of the training code and of AWS rewritten.
    #[must_use]
    pub fn with_words(mut self, rewritten: impl Fn(&str) -> String) -> Self {
        match &mut self.outcome {
            Outcome::Failed { last_line, .. } | Outcome::OutOfMemory { last_line, .. } => {
                *last_line = last_line.as_deref().map(&rewritten);
            }
            _ => {}
        }
        self.last_error = self.last_error.as_deref().map(&rewritten);
        self.way_out = self.way_out.as_deref().map(&rewritten);
        self.left_running = self.left_running.as_deref().map(&rewritten);
        self.left_out_opened = self.left_out_opened.as_deref().map(&rewritten);
        self.notes = self.notes.iter().map(|note| rewritten(note)).collect();
        self
    }

    /// Whether the training code failed, other than by running out of memory or time, and the job with it.
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. }) && !self.passed_over
    }

    /// Whether the training broke down by itself, so that a full run would too: it failed, or its memory ran out.
    pub fn has_crashed(&self) -> bool {
        self.has_failed() || matches!(self.outcome, Outcome::OutOfMemory { .. })
    }

    /// Its share of the full data: by bytes if known, else the fraction requested. Of the full work where canaries differ in that
    /// alone.
    pub fn data_share(&self) -> f64 {
        match (self.bytes, self.bytes_total) {
            (Some(bytes), Some(total)) if total.0 > 0 => bytes.as_f64() / total.as_f64(),
            _ => self.fraction.0,
        }
    }
}

/// `3.0% #2 and 5.0% #1`; only the first few by name.
pub(crate) fn named(runs: &[&Measurement]) -> String {
    let mut runs = runs.to_vec();
    runs.sort_by(|a, b| {
        let by_size = a.fraction.0.total_cmp(&b.fraction.0);
        by_size.then(a.replicate.cmp(&b.replicate))
    });
    let number = |run: &Measurement| run.replicate.saturating_add(1);
    let shown = runs.iter().take(NAMED_RUNS);
    let names = shown.map(|run| format!("{} #{}", run.fraction, number(run)));
    let mut names = Vec::from_iter(names);
    if runs.len() > NAMED_RUNS {
        names.push(format!("{} more", runs.len() - NAMED_RUNS));
    }
    list(&names)
}

/// The runs on these machines.
pub fn on(runs: &[Measurement], instance: &InstanceConfiguration) -> Vec<Measurement> {
    let here = runs.iter().filter(|run| run.is_on(instance));
    here.cloned().collect()
}

/// The machines that these runs were on, in the order of the runs.
pub fn machines_of<'a>(
    runs: impl IntoIterator<Item = &'a Measurement>,
) -> Vec<&'a InstanceConfiguration> {
    let same = grouped(runs, |one, other| other.is_on(&one.instance));
    same.iter().map(|same| &same[0].instance).collect()
}

/// What canaries have a share of: their sizes differ in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
#[display(rename_all = "lowercase")]
pub enum Abscissa {
    Data,
    /// All canaries hold all of the data.
    Work,
}

impl Abscissa {
    /// What a canary did with its share of it: it held data, or did work.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Data => "held",
            Self::Work => "did",
        }
    }
}

/// A measurement that was not paid for again.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reused {
    /// The days since the run ended.
    pub age_days: f64,
    /// The cost that it would have today; absent without a price.
    pub saved_usd: Option<Usd>,
}

/// Whether the machine was fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    Cold,
    Warm,
}

/// The time of each phase.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// The wait for machines; not billed.
    pub startup: Option<Seconds>,
    pub download: Option<Seconds>,
    pub training: Option<Seconds>,
    pub upload: Option<Seconds>,
}

/// What a host used during a run; each value with its source.
#[skip_serializing_none]
#[serde_with::apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// The peak memory, without page cache, by the source that is trusted most.
    pub memory: Option<PeakMemory>,
    /// The peak as further sources read it, by trust; each is trusted less than that of `memory`.
    pub other_memory: Vec<PeakMemory>,
    /// How long a run must be for its memory to be seen, if no source saw any of this one's, or of its GPUs', since it is shorter.
    pub memory_seen_from: Option<Seconds>,
    /// The peak of the fullest GPU, by the source that is trusted most; with what its allocators keep for later.
    pub gpu_memory: Option<PeakMemory>,
    /// The peak of the fullest GPU as further sources read it, by trust.
    pub other_gpu_memory: Vec<PeakMemory>,
    pub cpu_percent: Option<Utilization>,
    pub gpu_percent: Option<Utilization>,
    /// The mean over all GPUs; their peak is `gpu_memory`.
    pub gpu_memory_percent: Option<Utilization>,
    pub io_wait_percent: Option<Utilization>,
    /// The share of the machine's CPU time that other work took while the canary ran; absent if the source does not know it.
    pub other_cpu_percent: Option<Utilization>,
    /// The share of the run in which something waited for a CPU, the kernel's CPU pressure; absent on kernels without it.
    pub cpu_pressure_percent: Option<Utilization>,
}

impl Usage {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A share of the whole instance over one run, 0-100 %.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Utilization {
    pub mean: Percent,
    /// The 99th percentile; absent if there are too few samples.
    pub p99: Option<Percent>,
    pub source: String,
}

impl Utilization {
    pub fn new(mean: f64, p99: Option<Percent>, source: impl Into<String>) -> Self {
        Self {
            mean: Percent(mean),
            p99,
            source: source.into(),
        }
    }
}

/// What one host of several used.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostUsage {
    /// `algo-1`, `algo-2`, ...
    pub host: String,
    pub group: Option<String>,
    pub bytes: Bytes,
    pub usage: Usage,
}
