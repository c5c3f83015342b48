//! The `local` backend: canaries as child processes of this machine, in SageMaker's container contract.
//!
//! Each host of a run is one process tree under a probe, in a copy of its source, with an environment built from
//! nothing. A probe that loses its gate ends its tree, so a killed gate leaves nothing running.

mod cache;
mod clock;
mod container;
mod contents;
mod failure;
mod file_digest;
mod linked_file;
mod process;
mod row_files;
mod usage;
mod workspace;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use futures_util::future::join_all;

use self::cache::Cache;
use self::container::Container;
use self::failure::HostEnding;
use self::file_digest::{FileDigest, StopWhenDropped};
use self::linked_file::LinkedFile;
use self::process::{HostCommand, HostResult, Probes};
use self::workspace::{Sandbox, Workspace};
use super::project_paths::ProjectPaths;
use super::{
    Backend, BackendError, BackendFuture, BackendKeys, CanaryResult, Cancellation, ListedData,
    Planned, Ready, Session, Watcher, files, source,
};
use crate::canary::{self, CanaryRun, ChannelData, ChannelListing, Dataset, Key};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType};
use crate::measurement::steps::{self, Printed, Sought};
use crate::measurement::{Measurement, Outcome, Phases, Usage, levels};
use crate::probe::{self, OptMl, ProbeReport};
use crate::rows::Copied;
use crate::secret::{CutAt, SecretMask};
use crate::spec::{BackendKind, Channel, ChannelSample, Distribution, Job};
use crate::units::Seconds;

/// What is read of `output/failure`; SageMaker takes 1,024 characters of it.
const FAILURE_BYTES: u64 = 8192;
/// A process that fails for lack of memory with this share of the machine's in use is believed.
const FULL_MACHINE: f64 = 0.5;
/// Lines of each stream that go to the job log when a canary fails.
const LOG_LINES: usize = 20;

/// What one host's folders hold.
struct LaidOut {
    /// How long the data took, without the drawing of rows.
    took: Seconds,
    linked: Vec<LinkedFile>,
    /// Of channels whose rows are drawn.
    rows: Copied,
}

/// Runs canaries as child processes.
#[derive(Debug)]
pub struct LocalBackend {
    paths: ProjectPaths,
    /// This program, started again as the probe.
    program: PathBuf,
    /// Variables handed on as they are, sorted by name.
    environment: Vec<(OsString, OsString)>,
    /// What a canary may say, and nobody may read.
    secrets: SecretMask,
    /// Asked for when first wanted: a GPU's driver may take its time.
    capacity: OnceCell<Capacity>,
    /// Made when the first canary is laid out, so that looking writes nothing.
    workspace: OnceCell<Workspace>,
    probes: Probes,
    /// What the data's files held that are too large to copy, by their real paths.
    large_files: RefCell<HashMap<PathBuf, FileDigest>>,
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
            environment,
            secrets,
            capacity: OnceCell::new(),
            workspace: OnceCell::new(),
            probes: Probes::default(),
            large_files: RefCell::default(),
        }
    }

    /// What lies in a channel, and its blocks where rows are drawn.
    fn list_channel(&self, job: &Job, channel: &Channel) -> Result<ChannelListing, BackendError> {
        let objects = files::list_channel(&self.paths, job, channel)?;
        let rows = match channel.sample {
            ChannelSample::Whole | ChannelSample::Objects => None,
            ChannelSample::Rows => {
                let path = files::channel_path(&self.paths, job, channel)?;
                let field = files::field(job, channel);
                Some(row_files::blocks(&self.paths, &field, &path, &objects)?)
            }
        };
        Ok(ChannelListing { objects, rows })
    }

    /// What this machine has.
    fn host(&self) -> &Capacity {
        self.capacity.get_or_init(probe::host_capacity)
    }

    fn workspace(&self) -> Result<&Workspace, BackendError> {
        if let Some(workspace) = self.workspace.get() {
            return Ok(workspace);
        }
        // A probe that is killed leaves its tree to this process.
        let others = probe::adopt_orphans().map_err(|source| {
            BackendError::io(
                "could not become a child subreaper",
                "the local backend needs Linux 3.4 or newer",
                source,
            )
        })?;
        self.probes.spare(others);
        let workspace = Workspace::create(&self.paths.state)?;
        Ok(self.workspace.get_or_init(|| workspace))
    }

    /// Prepares the folders of one host: source, data, config files.
    fn lay_out(
        &self,
        container: &Container<'_>,
        shard: &[ChannelData],
        sandbox: &Sandbox,
    ) -> Result<LaidOut, BackendError> {
        let source = source::find(&self.paths, container.job)?;
        workspace::copy_source(&source.folder, &source.files, container.code)?;
        for folder in container.folders() {
            workspace::make_folder(&folder)?;
        }
        for folder in ["home", "tmp"] {
            workspace::make_folder(&sandbox.path(folder))?;
        }
        for cache in Cache::of_job(&self.paths, container.job)? {
            cache.link_into(&sandbox.path("home"))?;
        }
        for (name, content) in container.config_files() {
            workspace::write_file(&container.config_folder().join(name), &content)?;
        }
        let placing = Instant::now();
        let mut linked = Vec::new();
        let mut rows = Copied::default();
        let mut drawing = Seconds(0.0);
        for (channel, data) in container.job.training.channels.iter().zip(shard) {
            let from = files::channel_path(&self.paths, container.job, channel)?;
            if let Some(drawn) = data.rows.as_ref().filter(|rows| !rows.is_all()) {
                let field = files::field(container.job, channel);
                let folder = container.channel_folder(&channel.name);
                let started = Instant::now();
                let copied = row_files::copy(&self.paths, &field, &from, drawn, &folder)?;
                rows.bytes = rows.bytes + copied.bytes;
                rows.left += copied.left;
                // The full run draws nothing: it is no time that grows with the data.
                drawing = drawing + Seconds(started.elapsed().as_secs_f64());
                continue;
            }
            linked.extend(workspace::place_objects(
                &self.paths,
                &from,
                &data.objects,
                &container.channel_folder(&channel.name),
            )?);
        }
        Ok(LaidOut {
            took: Seconds(placing.elapsed().as_secs_f64()) - drawing,
            linked,
            rows,
        })
    }

    /// What the probe has of the caller's environment: where its tools and their libraries are. Nothing of the spec's.
    fn probe_environment(&self) -> Vec<(OsString, OsString)> {
        let all = self.environment.iter();
        all.filter(|(name, _)| name == "PATH" || name == "LD_LIBRARY_PATH")
            .cloned()
            .collect()
    }

    /// The environment of one host, built from nothing; the spec's own `environment` wins.
    fn host_environment(
        &self,
        container: &Container<'_>,
        sandbox: &Sandbox,
    ) -> Vec<(OsString, OsString)> {
        let mut variables = self.environment.clone();
        let mut set = |name: OsString, value: OsString| {
            variables.retain(|(known, _)| *known != name);
            variables.push((name, value));
        };
        set("HOME".into(), sandbox.path("home").into());
        set("TMPDIR".into(), sandbox.path("tmp").into());
        for (name, value) in container.variables() {
            set(name.into(), value.into());
        }
        for (name, value) in container.environment {
            set(name.into(), value.into());
        }
        variables
    }

    /// Fails if a canary wrote to its data. In a thread of its own, for large files may have to be read again.
    async fn check_linked(&self, files: Vec<LinkedFile>) -> Result<(), BackendError> {
        let known = |file: &LinkedFile| self.large_files.borrow().get(file.path()).copied();
        let files: Vec<_> = files.into_iter().map(|file| (known(&file), file)).collect();
        let stop = StopWhenDropped::default();
        let is_over = stop.flag();
        let checking = tokio::task::spawn_blocking(move || {
            files
                .iter()
                .try_for_each(|(known, file)| file.check(known.as_ref(), &is_over))
        });
        match checking.await {
            Ok(result) => result,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }

    /// The command of a job with its hyperparameters as arguments.
    fn command(container: &Container<'_>) -> Vec<OsString> {
        container
            .job
            .training
            .local
            .command
            .iter()
            .cloned()
            .chain(container.arguments())
            .map(OsString::from)
            .collect()
    }
}

impl LocalBackend {
    async fn run_canary(
        &self,
        job: &Job,
        run: &CanaryRun,
        watcher: &Watcher<'_>,
    ) -> Result<Option<CanaryResult>, BackendError> {
        let cancellation = watcher.cancellation;
        let started = Instant::now();
        let run_name = run_name(run);
        let caches = Cache::of_job(&self.paths, job)?;
        let hosts = host_names(run.instance.total_count());
        let shards = shards(job, run, &hosts);
        let handed = run.handed(job);
        let (training, share) = (&job.training, handed.as_ref());
        let hyperparameters = canary::hyperparameters(training, share, run.work.as_ref());
        let environment = canary::environment(training, share);
        let mut commands = Vec::new();
        let mut sandboxes = Vec::new();
        let mut placing = Seconds(0.0);
        let mut linked = Vec::new();
        let mut rows = Copied::default();
        let roots: Vec<(PathBuf, PathBuf)> = hosts
            .iter()
            .map(|host| {
                let sandbox = self.workspace()?.sandbox(&format!("{run_name}-{host}"))?;
                let folders = (sandbox.path("ml"), sandbox.path("code"));
                sandboxes.push(sandbox);
                Ok(folders)
            })
            .collect::<Result<_, BackendError>>()?;
        let judged = job.judged_metrics();
        for ((host, shard), ((root, code), sandbox)) in
            hosts.iter().zip(&shards).zip(roots.iter().zip(&sandboxes))
        {
            let container = Container {
                job,
                hyperparameters: &hyperparameters,
                environment: &environment,
                run_name: &run_name,
                hosts: &hosts,
                host,
                root,
                code,
                capacity: self.host(),
            };
            let laid_out = self.lay_out(&container, shard, sandbox)?;
            placing = placing + laid_out.took;
            linked.extend(laid_out.linked);
            // The same on every host.
            rows = laid_out.rows;
            commands.push(HostCommand {
                program: &self.program,
                command: Self::command(&container),
                environment: self.host_environment(&container, sandbox),
                folder: code,
                opt_ml: root,
                read_only: caches.iter().map(|cache| cache.real.clone()).collect(),
                probe_environment: self.probe_environment(),
                sought: Sought {
                    step: job.training.step_metric.as_ref(),
                    levels: &judged,
                },
                max_runtime: run.max_runtime,
                secrets: &self.secrets,
            });
        }
        linked.iter_mut().for_each(LinkedFile::watch);
        let startup = Seconds(started.elapsed().as_secs_f64()) - placing;

        let results = run_hosts(&commands, &self.probes, cancellation).await;
        // Changed data are said however the canary ended.
        self.check_linked(linked).await?;
        let results = results?;
        let mut outcomes = Vec::new();
        for (result, (root, _)) in results.iter().zip(&roots) {
            outcomes.push(self.host_outcome(result, root));
        }
        let outcome = failure::worst(outcomes);
        let mut notes = notes(&outcome, &results);
        notes.extend(crate::backend::rows::note_of_left(rows.left));
        let printed: Vec<_> = results.iter().map(|result| &result.printed).collect();
        let (metrics, why_no_level) = levels::of_run(&judged, &steps::levels_of(&printed));
        if outcome == Outcome::Completed {
            notes.extend(why_no_level);
        }
        let step_seconds = match step_time(job, &printed) {
            Some(Ok(seconds)) => Some(seconds),
            // A run that broke off may have had no step.
            Some(Err(why)) if outcome == Outcome::Completed => {
                notes.push(why);
                None
            }
            _ => None,
        };
        let log_tail = match outcome {
            Outcome::Completed | Outcome::Stopped => Vec::new(),
            _ => log_tail(&hosts, &results),
        };
        let wall = results
            .iter()
            .filter_map(|result| result.report.as_ref())
            .map(|report| report.wall_seconds)
            .fold(
                Seconds(0.0),
                |longest, wall| if wall > longest { wall } else { longest },
            );
        Ok(Some(CanaryResult {
            measurement: Measurement {
                phases: Phases {
                    startup: Some(startup),
                    download: Some(placing),
                    training: Some(wall),
                    upload: None,
                },
                training_seconds: Some(wall),
                billable_seconds: Some(wall),
                usage: usage::of_machine(&results),
                hosts: usage::of_each_host(&hosts, &shards, &results),
                step_seconds,
                metrics,
                ended_at: Some(jiff::Timestamp::now()),
                bytes: (run.share.is_none()).then(|| run.bytes_with_rows(rows.bytes)),
                notes,
                ..Measurement::of_run(run, BackendKind::Local, outcome)
            },
            log_tail,
        }))
    }

    /// How a host ended. What the machine has distinguishes one that ran out of memory from a program that set itself a limit.
    fn host_outcome(&self, result: &HostResult, root: &std::path::Path) -> Outcome {
        let Some(report) = &result.report else {
            return Outcome::Stopped;
        };
        let failure_file = workspace::first_bytes(&root.join("output/failure"), FAILURE_BYTES);
        let failure_file = failure_file.map(|text| {
            let cut = match text.len() as u64 >= FAILURE_BYTES {
                true => CutAt::End,
                false => CutAt::Nowhere,
            };
            self.secrets.mask_part(&text, cut)
        });
        failure::outcome(&HostEnding {
            ending: &report.ending,
            failure_file: failure_file.as_deref(),
            last_line: result.tail.last_line().as_deref(),
            machine_was_full: memory_was_full(&report.usage, self.host()),
        })
    }
}

impl Backend for LocalBackend {
    fn open<'a>(&'a self, job: &'a Job) -> BackendFuture<'a, Box<dyn Session<'a> + 'a>> {
        let opened = LocalJob { backend: self, job };
        Box::pin(async move {
            // Said before anything is run.
            Cache::of_job(&self.paths, job)?;
            Ok(Box::new(opened) as Box<dyn Session<'a> + 'a>)
        })
    }
}

/// Fails unless the job's source is there. Reads only.
pub fn check_source(paths: &ProjectPaths, job: &Job) -> Result<(), BackendError> {
    source::find(paths, job).map(|_| ())
}

/// A job whose canaries run here. There is nothing to prepare.
#[derive(Debug, Clone, Copy)]
struct LocalJob<'a> {
    backend: &'a LocalBackend,
    job: &'a Job,
}

impl<'a> Session<'a> for LocalJob<'a> {
    fn list(&mut self) -> BackendFuture<'_, ListedData> {
        let Self { backend, job } = *self;
        Box::pin(async move {
            let channels = job.training.channels.iter();
            let listed = channels
                .map(|channel| backend.list_channel(job, channel))
                .collect::<Result<_, _>>()?;
            Ok(ListedData {
                dataset: Dataset::of_listing(job, listed)?,
                knows_bytes: true,
            })
        })
    }

    fn prepare<'p>(self: Box<Self>, planned: Planned<'p>) -> BackendFuture<'p, Box<dyn Ready + 'a>>
    where
        'a: 'p,
    {
        let ready = ReadyLocalJob {
            opened: *self,
            code: planned.code,
        };
        Box::pin(async move { Ok(Box::new(ready) as Box<dyn Ready + 'a>) })
    }
}

/// A job whose code is known.
#[derive(Debug)]
struct ReadyLocalJob<'a> {
    opened: LocalJob<'a>,
    code: Option<Key>,
}

impl Ready for ReadyLocalJob<'_> {
    fn keys<'k>(&'k self, dataset: &'k Dataset) -> BackendFuture<'k, BackendKeys> {
        let LocalJob { backend, job } = self.opened;
        Box::pin(async move {
            Ok(BackendKeys {
                code: self.code,
                data: Some(backend.data_key(job, dataset).await?),
                machine: Some(probe::host_kind(backend.host())),
                lacks_probe: false,
            })
        })
    }

    fn capacity(&self, kind: &InstanceType) -> Option<Capacity> {
        kind.is_local().then(|| self.opened.backend.host().clone())
    }

    fn at_once(&self, _: &InstanceConfiguration) -> u32 {
        self.opened.job.canary.parallel
    }

    fn run<'r>(
        &'r self,
        run: &'r CanaryRun,
        watcher: &'r Watcher<'r>,
    ) -> BackendFuture<'r, Option<CanaryResult>> {
        let LocalJob { backend, job } = self.opened;
        Box::pin(backend.run_canary(job, run, watcher))
    }
}

/// Runs all hosts at once. When one fails, the others are ended, as SageMaker ends a job whose host failed.
async fn run_hosts(
    commands: &[HostCommand<'_>],
    probes: &Probes,
    cancellation: &Cancellation,
) -> Result<Vec<HostResult>, BackendError> {
    let (end_all, together) = Cancellation::new();
    let hosts = commands.iter().map(|command| {
        let (end_all, together) = (&end_all, &together);
        async move {
            let result = process::run(command, probes, together).await;
            let failed = !result.as_ref().is_ok_and(|host| {
                host.report
                    .as_ref()
                    .is_some_and(|report| report.exit_code() == 0)
            });
            if failed {
                end_all.send_replace(true);
            }
            result
        }
    });
    let all = join_all(hosts);
    tokio::pin!(all);
    let results = tokio::select! {
        results = &mut all => results,
        () = cancellation.cancelled() => {
            end_all.send_replace(true);
            all.await
        }
    };
    results.into_iter().collect()
}

/// Unique among the runs of one gate.
fn run_name(run: &CanaryRun) -> String {
    // With an exponent a level is short and exact: `5e0`, `1-25e1`.
    let work = run.work.as_ref().map_or(String::new(), |work| {
        format!("-work{:e}", work.level).replace('.', "-")
    });
    format!(
        "{}-{}-{}of{}{work}-{}",
        run.job,
        run.instance.total_count(),
        run.objects,
        run.objects_total,
        run.replicate
    )
}

/// What the output says of the time of a step; `None` without a step metric.
fn step_time(job: &Job, printed: &[&[Printed; 2]]) -> Option<Result<Seconds, String>> {
    let metric = job.training.step_metric.as_ref()?;
    Some(steps::of_run(metric, printed))
}

/// `algo-1`, `algo-2`, ... sorted as strings, as SageMaker lists them: algo-10 before algo-2.
fn host_names(count: u32) -> Vec<String> {
    let mut names: Vec<String> = (1..=count).map(|number| format!("algo-{number}")).collect();
    names.sort();
    names
}

/// What each host gets of each channel: everything, or its share of whole objects in turn.
fn shards(job: &Job, run: &CanaryRun, hosts: &[String]) -> Vec<Vec<ChannelData>> {
    (0..hosts.len())
        .map(|host| {
            job.training
                .channels
                .iter()
                .zip(&run.channels)
                .map(|(channel, data)| match channel.distribution {
                    Distribution::FullyReplicated => data.clone(),
                    Distribution::ShardedByS3Key => data.with(
                        (data.objects).select((host..data.objects.len()).step_by(hosts.len())),
                    ),
                })
                .collect()
        })
        .collect()
}

/// What the probes had to say, each sentence once; and why `/opt/ml` may be the reason of a failure.
fn notes(outcome: &Outcome, results: &[HostResult]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for ProbeReport { notes: said, .. } in
        results.iter().filter_map(|result| result.report.as_ref())
    {
        for note in said {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
    }
    let failed = matches!(outcome, Outcome::Failed { .. });
    for result in results {
        if let Some(OptMl::NotAllowed { reason }) = result
            .report
            .as_ref()
            .and_then(|report| report.opt_ml.as_ref())
            && failed
            && result.tail.mentions("/opt/ml")
        {
            notes.push(format!(
                "The script uses /opt/ml, which could not be mounted for it on this machine ({reason}); let it read SM_MODEL_DIR and SM_CHANNEL_*, or allow user namespaces."
            ));
            break;
        }
    }
    notes
}

/// The end of what each host printed; the host is named where there are several.
fn log_tail(hosts: &[String], results: &[HostResult]) -> Vec<String> {
    hosts
        .iter()
        .zip(results)
        .flat_map(|(host, result)| {
            let lines = result.tail.lines(LOG_LINES);
            let prefix = if hosts.len() > 1 {
                format!("{host} ")
            } else {
                String::new()
            };
            lines.into_iter().map(move |line| format!("{prefix}{line}"))
        })
        .collect()
}

/// Whether the machine's memory was in use to an extent that an allocation could fail for it.
fn memory_was_full(usage: &Usage, capacity: &Capacity) -> bool {
    usage
        .memory
        .as_ref()
        .and_then(|memory| memory.upper_bound.max(memory.bytes))
        .is_some_and(|bytes| bytes.as_f64() >= FULL_MACHINE * capacity.memory.as_f64())
}
