//! The `local` backend: canaries as child processes of this machine, in SageMaker's container contract.
//!
//! Each host of a run is one process tree under a probe, in a copy of its source, with an environment built from
//! nothing. A probe that loses its gate ends its tree, so a killed gate leaves nothing running.

mod cache;
mod channel;
mod clock;
mod cluster;
mod container;
mod ending;
mod log_tail;
mod packages;
mod process;
mod run;
mod tables;
mod usage;
mod workspace;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use self::cache::Cache;
use self::channel::{LinkedFile, LocalChannel};
use self::cluster::{ChannelShare, ClusterHost};
use self::container::Container;
use self::process::Probes;
use self::workspace::{Sandbox, Workspace};
use super::project_paths::ProjectPaths;
use super::{
    Backend, BackendKeys, BoxReady, BoxSession, CanaryState, CanaryStep, ListedData, Planned,
    Ready, Room, Session, Watcher, source,
};
use crate::canary::{CanaryRun, Dataset, data_key};
use crate::code::CodeTree;
use crate::instance::{Capacity, InstanceConfiguration};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::probe;
use crate::rows::Copied;
use crate::secret::SecretMask;
use crate::spec::Job;
use crate::units::Seconds;

/// One host, ready to start.
struct LaidOut<'a> {
    host: &'a ClusterHost<'a>,
    command: Vec<String>,
    /// Of the command, not of its probe.
    environment: Vec<(OsString, OsString)>,
    /// Folders that it reads and does not change.
    read_only: Vec<PathBuf>,
    /// The checkout and the data, which are the machine's also below /tmp.
    shared: Vec<PathBuf>,
    /// Where it runs. Removed on drop.
    sandbox: Sandbox,
    /// The name of its TMPDIR. Kept to be removed with it.
    _temporary: Sandbox,
    /// How long the data took, without the drawing of rows.
    took: Seconds,
    linked: Vec<LinkedFile>,
    /// The copies for channels whose rows are drawn.
    rows: Copied,
}

/// Runs canaries as child processes.
#[derive(Debug)]
pub struct LocalBackend {
    paths: ProjectPaths,
    /// This program, started again as the probe.
    program: PathBuf,
    /// Variables handed on as they are.
    environment: BTreeMap<OsString, OsString>,
    /// What a canary may say, and nobody may read.
    secrets: SecretMask,
    /// Asked for when first wanted: a GPU's driver may take its time.
    capacity: OnceCell<Capacity>,
    /// Made when the first canary is laid out, so that looking writes nothing.
    workspace: OnceCell<Workspace>,
    probes: Probes,
}

impl LocalBackend {
    /// `environment` is what a canary may see of the caller's environment: PATH, LANG, LD_LIBRARY_PATH, CUDA_* and what
    /// `--pass-env` names; `secrets` is what none of its output shows.
    pub fn new(
        paths: ProjectPaths,
        program: PathBuf,
        environment: Vec<(OsString, OsString)>,
        secrets: SecretMask,
    ) -> Self {
        Self {
            paths,
            program,
            environment: environment.into_iter().collect(),
            secrets,
            capacity: OnceCell::new(),
            workspace: OnceCell::new(),
            probes: Probes::default(),
        }
    }

    /// What this machine has.
    fn host(&self) -> &Capacity {
        self.capacity.get_or_init(probe::host_capacity)
    }

    fn workspace(&self) -> OutsideResult<&Workspace> {
        if let Some(workspace) = self.workspace.get() {
            return Ok(workspace);
        }
        // A probe that is killed leaves its tree to this process.
        let others = probe::adopt_orphans().map_err(|source| {
            OutsideError::io(
                "could not become a child subreaper",
                "the local backend needs Linux 3.4 or newer",
                source,
            )
        })?;
        // They are left out of every clean-up.
        self.probes.borrow_mut().extend(others);
        let workspace = Workspace::create(&self.paths.state)?;
        Ok(self.workspace.get_or_init(|| workspace))
    }

    /// Prepares the folders of one host: source, data, config files.
    fn lay_out<'a>(
        &self,
        container: &Container<'a>,
        sandbox: Sandbox,
    ) -> OutsideResult<LaidOut<'a>> {
        let source = source::find(&self.paths, container.job)?;
        workspace::copy_source(&source.files, &container.code)?;
        let caches = Cache::of_job(&self.paths, container.job)?;
        let folders = container::FOLDERS.lines();
        let folders = Vec::from_iter(folders.map(|folder| container.root.join(folder)));
        let own = [sandbox.path("home"), sandbox.path("tmp")];
        for folder in folders.iter().chain(&own) {
            workspace::make_folder(folder)?;
        }
        for cache in &caches {
            cache.link_into(&own[0])?;
        }
        for (name, content) in container.config_files() {
            workspace::write_file(&folders[0].join(name), content.to_string())?;
        }
        let placing = Instant::now();
        let mut linked = Vec::new();
        let mut rows = Copied::default();
        let mut drawing = Seconds(0.0);
        let mut shared = vec![self.paths.checkout.clone()];
        for ChannelShare { channel, data } in &container.host.channels {
            let from = LocalChannel::of(&self.paths, container.job, channel)?;
            let to = container.channel_folder(&channel.name);
            shared.push(from.path.clone());
            let Some(drawn) = data.rows.as_ref().filter(|rows| !rows.is_all()) else {
                linked.extend(from.place(&data.objects, &to)?);
                continue;
            };
            let started = Instant::now();
            rows = rows + from.copy(drawn, &to)?;
            // The full run draws nothing: it is no time that grows with the data.
            drawing = drawing + Seconds(started.elapsed().as_secs_f64());
        }
        let closed = self.closed(container, &linked);
        workspace::write_file(&sandbox.path("closed"), closed)?;
        // Built from nothing; the spec's own `environment` wins.
        let mut environment = self.environment.clone();
        environment.insert("HOME".into(), sandbox.path("home").into());
        let temporary = Sandbox::short_name(&own[1]);
        environment.insert("TMPDIR".into(), temporary.folder.clone().into());
        let set = container.variables().into_iter();
        let set = set.chain(container.environment.iter().cloned());
        environment.extend(set.map(|(name, value)| (name.into(), value.into())));
        Ok(LaidOut {
            host: container.host,
            took: Seconds(placing.elapsed().as_secs_f64()) - drawing,
            linked,
            rows,
            command: container.command(),
            environment: environment.into_iter().collect(),
            read_only: caches.into_iter().map(|cache| cache.real).collect(),
            shared,
            sandbox,
            _temporary: temporary,
        })
    }

    /// The files of the checkout that `paths` leaves out and that a canary was not handed, which it may not open: the probe's list.
    fn closed(&self, container: &Container<'_>, linked: &[LinkedFile]) -> Vec<u8> {
        let command = container.command();
        let command = command.iter().map(Path::new);
        let linked = linked.iter().map(|file| &*file.path);
        let handed: HashSet<&Path> = command.chain(linked).collect();
        let code = self.paths.code.get(&container.job.name);
        let left_out = code.map_or(&[][..], CodeTree::left_out).iter();
        let left_out = left_out.map(|path| self.paths.checkout.join(path));
        let closed = left_out.filter(|path| !handed.contains(&**path));
        let closed: Vec<OsString> = closed.map(PathBuf::into_os_string).collect();
        closed.join(OsStr::new("\0")).into_vec()
    }

    /// The region that a canary gets: one that `--pass-env` hands on, else one for a script that wants any.
    fn region(&self) -> String {
        let passed = self.environment.get(OsStr::new("AWS_REGION"));
        passed.map_or("us-east-1".into(), |region| region.to_string_lossy().into())
    }
}

#[async_trait(?Send)]
impl Backend for LocalBackend {
    async fn open<'a>(&'a self, job: &'a Job) -> OutsideResult<BoxSession<'a>> {
        // Said before anything is run.
        workspace::refuse_links(&self.paths.state)?;
        Cache::of_job(&self.paths, job)?;
        Ok(Box::new(LocalJob { backend: self, job }))
    }
}

/// Fails unless the job's source is there. Reads only.
pub fn check_source(paths: &ProjectPaths, job: &Job) -> OutsideResult<()> {
    source::find(paths, job).map(|_| ())
}

/// A job whose canaries run here.
#[derive(Debug, Clone, Copy)]
struct LocalJob<'a> {
    backend: &'a LocalBackend,
    job: &'a Job,
}

#[async_trait(?Send)]
impl<'a> Session<'a> for LocalJob<'a> {
    async fn list(&mut self) -> OutsideResult<ListedData> {
        let Self { backend, job, .. } = *self;
        let channels = job.training.channels.iter();
        let listed = channels
            .map(|channel| LocalChannel::of(&backend.paths, job, channel)?.list())
            .collect::<Result<_, _>>()?;
        Ok(ListedData {
            dataset: Dataset::of_listing(job, listed)?,
            knows_bytes: true,
            notes: Vec::new(),
        })
    }

    async fn prepare(self: Box<Self>, _: Planned<'_>) -> OutsideResult<BoxReady<'a>> {
        // Listing and planning work where there is no probe.
        probe::check_system().map_err(|_| OutsideError::of(format!(
                "the local backend runs canaries on Linux only, and this is {}: their memory and CPU are read from Linux's /proc, and their processes ended by Linux's means",
                std::env::consts::OS
            )).help("run it on a Linux machine, in CI or in a Linux container that has what the training needs; `validate`, `plan`, `forecast`, `report`, `backend: replay` and `backend: sagemaker` work here"))?;
        Ok(self)
    }
}

#[async_trait(?Send)]
impl Ready for LocalJob<'_> {
    async fn keys(&self, dataset: &Dataset) -> OutsideResult<BackendKeys> {
        let Self { backend, job, .. } = *self;
        let mut digests = Vec::new();
        for (data, channel) in dataset.channels.iter().zip(&job.training.channels) {
            let channel = LocalChannel::of(&backend.paths, job, channel)?;
            digests.push((data.name.as_str(), channel.digest(&data.objects).await?));
        }
        let mut found = BTreeMap::new();
        let handed = backend.environment.iter().filter_map(|(name, value)| {
            let real = Path::new(value).canonicalize().ok()?;
            // What holds the gate's own records never stays the same.
            let is_apart = real.is_dir() && !backend.paths.state.starts_with(&real);
            let below = name.into();
            (is_apart && Path::new(value).is_absolute()).then_some(Cache { below, real })
        });
        let caches = Cache::of_job(&backend.paths, job)?.into_iter();
        for cache in caches.chain(handed) {
            found.insert(cache.below.display().to_string(), cache.digest().to_vec());
        }
        if let Some(path) = backend.environment.get(OsStr::new("PATH")) {
            let packages = packages::installed(&job.training.local.command, path);
            let packages = Vec::from_iter(packages).join("\n");
            // They may have a million files.
            let packages = Sha256::digest(packages).to_vec();
            found.insert("packages of Python".to_owned(), packages);
        }
        Ok(BackendKeys {
            data: Some(data_key(digests)),
            machine: Some(probe::host_kind(backend.host())),
            found,
            ..BackendKeys::default()
        })
    }

    fn room(&self, _: &InstanceConfiguration) -> Room {
        Room {
            at_once: self.job.canary.parallel.max(1),
            keep_alive: None,
            host: Some(self.backend.host().clone()),
        }
    }

    async fn run<'r>(&'r self, run: &'r CanaryRun, watcher: &'r Watcher<'r>) -> CanaryStep<'r> {
        let running = (self.backend).run_canary(self.job, run, watcher.cancellation);
        let measured = (running.await).map(|result| CanaryState::Measured(Box::new(result)));
        measured.into()
    }
}
