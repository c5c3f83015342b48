//! A job whose canaries can run as training jobs.

use std::cell::RefCell;
use std::collections::BTreeMap;

use async_trait::async_trait;

use super::metrics::probe;
use super::name::JobName;
use super::request::Script;
use crate::aws::s3_uri::S3Uri;
use crate::backend::{
    BackendKeys, CanaryPayer, CanaryReport, CanaryState, CanaryStep, EndedPool, JobNotes, Ready,
    Room, SagemakerBackend, Watcher,
};
use crate::canary::{CanaryRun, Dataset, Key, canary_key, without_probe};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::outside_error::OutsideResult;
use crate::plan::WarmPool;
use crate::probe::MARK_VARIABLE;
use crate::rows::Copied;
use crate::spec::{Channel, Job, ProbePolicy};

/// A job whose source is in S3 and whose quota is known.
#[derive(Debug)]
pub(super) struct ReadyJob<'a> {
    pub(super) backend: &'a SagemakerBackend,
    pub(super) job: &'a Job,
    pub(super) code: Key,
    pub(super) data: Key,
    pub(super) placed: PlacedCode,
    /// Whether the spec asks for a probe that cannot be sent.
    pub(super) lacks_probe: bool,
    /// The folder that the keys of a channel are relative to, by channel.
    pub(super) bases: BTreeMap<String, S3Uri>,
    pub(super) notes: Notes,
    pub(super) warm_pools: RefCell<Vec<KeptPool>>,
}

/// The pool of a configuration.
#[derive(Debug)]
pub(super) struct KeptPool {
    pub(super) pool: WarmPool,
    /// Whether its last canary has begun: machines that are free are for nobody.
    pub(super) is_closing: bool,
}

impl ReadyJob<'_> {
    pub(super) fn base(&self, channel: &Channel) -> &S3Uri {
        let known = self.bases.get(&channel.name);
        known.expect("what is sampled was listed before its canaries were planned")
    }

    /// The number of canaries of a configuration that run at a time; at least 1.
    pub(super) fn at_once(&self, instance: &InstanceConfiguration) -> u32 {
        self.of_quotas(instance, self.job.canary.parallel).max(1)
    }

    /// The number of canaries of a configuration that the quotas of all its types have room for; at most `most`.
    fn of_quotas(&self, instance: &InstanceConfiguration, most: u32) -> u32 {
        let scarcest = self.backend.scarcest(instance, most);
        scarcest.map_or(most, |scarcest| scarcest.at_once)
    }

    /// Whether one canary of a configuration fits into its quotas, as far as they are known.
    pub(super) fn has_quota(&self, instance: &InstanceConfiguration) -> bool {
        self.of_quotas(instance, 1) > 0
    }

    /// The name that the first attempt at a canary has, by its key.
    pub(super) fn first_name(&self, run: &CanaryRun) -> JobName {
        let key = canary_key(&self.code, &self.data, run);
        let key = match self.lacks_probe {
            true => without_probe(&key),
            false => key,
        };
        JobName::new(&self.job.name, &key.short(), 0)
    }
}

#[async_trait(?Send)]
impl Ready for ReadyJob<'_> {
    /// Those that its training jobs are named by: without git the packed source stands for the code.
    async fn keys(&self, _: &Dataset) -> OutsideResult<BackendKeys> {
        Ok(BackendKeys {
            code: Some(self.code),
            data: Some(self.data),
            lacks_probe: self.lacks_probe,
            ..BackendKeys::default()
        })
    }

    fn room(&self, instance: &InstanceConfiguration) -> Room {
        let at_once = self.at_once(instance);
        let pool = self.pool_for(instance);
        Room {
            at_once: (pool.as_ref()).map_or(at_once, |pool| at_once.min(pool.lanes.max(1))),
            keep_alive: pool.map(|pool| pool.keep_alive),
            host: None,
        }
    }

    fn has_room_for_all(&self, instances: &[&InstanceConfiguration]) -> bool {
        let mut needed: BTreeMap<&InstanceType, u32> = BTreeMap::new();
        for one in instances {
            for (kind, count) in one.machines_by_type() {
                let all = needed.entry(kind).or_default();
                *all = all.saturating_add(self.room(one).at_once.saturating_mul(count));
            }
        }
        (needed.into_iter()).all(|(kind, needed)| {
            let limit = self.backend.machine_quotas(kind).training;
            limit.is_none_or(|limit| needed <= limit)
        })
    }

    fn notes(&self) -> JobNotes {
        self.notes.all()
    }

    async fn run<'r>(&'r self, run: &'r CanaryRun, watcher: &'r Watcher<'r>) -> CanaryStep<'r> {
        let canary = CanaryUnderWay {
            ready: self,
            backend: self.backend,
            run,
            watcher,
        };
        canary.run_to_its_end().await
    }

    async fn look(&self, run: &CanaryRun, report: CanaryReport<'_>) -> OutsideResult<CanaryState> {
        let first = self.first_name(run);
        let found = self.find(run, &first, report).await?;
        let training_job = first.to_string();
        Ok(found.map_or(CanaryState::Missing { training_job }, |found| found.state()))
    }

    async fn stop(&self, training_jobs: &[String]) {
        let names = training_jobs.iter().filter_map(|name| JobName::parse(name));
        let started: Vec<Found> = names.map(Found::created).collect();
        for found in &started {
            self.backend.stop_if_ours(found).await;
        }
        // What costs most is stopped first.
        for found in &started {
            self.tidy(found).await;
        }
    }

    async fn end_pools(&self, on: Option<&InstanceConfiguration>) -> Vec<EndedPool> {
        self.backend.end_pools_of(&self.job.name, on).await
    }
}

/// A canary of a job, and who waits for it.
#[derive(Clone, Copy)]
pub(super) struct CanaryUnderWay<'r> {
    pub(super) ready: &'r ReadyJob<'r>,
    pub(super) backend: &'r SagemakerBackend,
    pub(super) run: &'r CanaryRun,
    pub(super) watcher: &'r Watcher<'r>,
}

/// A job that stands for a canary.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) name: JobName,
    /// It carries this run's tag, so this run pays for it.
    pub(super) is_own: bool,
    /// Created by this process.
    pub(super) is_new: bool,
    /// No other process waits for it as part of this run.
    pub(super) may_stop: bool,
    /// It was over when it was found.
    pub(super) is_over: bool,
    /// No run of the gate waits for it.
    pub(super) is_detached: bool,
    /// The rows that this process placed for it; absent where it placed none, or another process did.
    pub(super) rows: Option<Copied>,
}

impl Found {
    pub(super) fn created(name: JobName) -> Self {
        Self {
            name,
            is_own: true,
            is_new: true,
            may_stop: true,
            is_over: false,
            is_detached: false,
            rows: None,
        }
    }

    /// How far its training job was when it was found.
    pub(super) fn state(&self) -> CanaryState {
        let training_job = self.name.to_string();
        if self.is_over {
            return CanaryState::Over { training_job };
        }
        CanaryState::Running {
            training_job,
            payer: match (self.may_stop, self.is_detached) {
                (true, _) => CanaryPayer::ThisRun,
                (false, true) => CanaryPayer::Nobody,
                (false, false) => CanaryPayer::AnotherRun,
            },
        }
    }
}

/// Sentences that a reader of a job's report should know, each once.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<JobNotes>);

impl Notes {
    /// Notes why canaries run without the probe; the first reason counts. It may stand in the report's first line, which has no quotes
    /// for code.
    pub(super) fn set_lacks_probe(&self, why: &str) {
        if self.all().lacks_probe.is_none() {
            self.0.borrow_mut().lacks_probe = Some(why.to_owned());
            self.add(format!("canaries run without the probe: {why}"));
        }
    }

    /// Notes something, once.
    pub(super) fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let sentences = &mut self.0.borrow_mut().sentences;
        if !sentences.contains(&text) {
            sentences.push(text);
        }
    }

    pub(super) fn all(&self) -> JobNotes {
        self.0.borrow().clone()
    }
}

/// The code of a job, where its training jobs find it.
#[derive(Debug, Default)]
pub(super) struct PlacedCode {
    /// The address of the source, under its hash; absent where the job has none.
    pub(super) source: Option<String>,
    /// The script; absent outside of script mode.
    pub(super) script: Option<Script>,
    /// What brings code beside the job's own channels: the source's files, and the probe.
    pub(super) channels: Vec<Channel>,
    pub(super) probe: ProbeWay,
}

/// How the probe gets into the container.
#[derive(Debug, Clone, Default)]
pub(super) enum ProbeWay {
    #[default]
    None,
    /// Beside the source.
    Source {
        /// The user's own script.
        entry_point: String,
        /// Whether the image installs packages before it starts the script.
        has_requirements: bool,
    },
    /// Through a channel, around this command of a plain image.
    Channel(Vec<String>),
}

impl PlacedCode {
    /// The variables of a canary with a probe, and the command that its container starts in place of its own.
    pub(super) fn probe_parts(
        &self,
        instance: &InstanceConfiguration,
    ) -> (Vec<(String, String)>, Option<&[String]>) {
        // Not to be guessed by a script before it runs.
        let mark = format!("{:032x}", rand::random::<u128>());
        let mark = || (MARK_VARIABLE.to_owned(), mark);
        match &self.probe {
            ProbeWay::None => (Vec::new(), None),
            ProbeWay::Source { entry_point, .. } => {
                let script = instance.entry_point().unwrap_or(entry_point).to_owned();
                let entry = (probe::ENTRY_VARIABLE.to_owned(), script);
                (vec![mark(), entry], None)
            }
            ProbeWay::Channel(command) => (vec![mark()], Some(command)),
        }
    }

    /// The script of a configuration: groups may have one of their own, which the probe starts where it is started itself.
    pub(super) fn script_on(&self, instance: &InstanceConfiguration) -> Option<Script> {
        let mut script = self.script.clone()?;
        if !matches!(self.probe, ProbeWay::Source { .. })
            && let Some(own) = instance.entry_point()
        {
            own.clone_into(&mut script.program);
        }
        Some(script)
    }
}

/// Whether canaries of the job are to have the probe: there is something that it could start.
pub(super) fn wants_probe(job: &Job) -> bool {
    match job.canary.probe {
        ProbePolicy::Off => false,
        ProbePolicy::ScriptMode => job.training.sagemaker.has_known_start(),
        ProbePolicy::Command(_) => job.training.sagemaker.algorithm.is_none(),
    }
}
