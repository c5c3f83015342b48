//! One run: its hosts side by side, and what came of them.

use std::path::PathBuf;
use std::time::Instant;

use futures_util::future::join_all;

use super::LocalBackend;
use super::addresses::Addresses;
use super::cache::Cache;
use super::cluster::Cluster;
use super::container::Container;
use super::failure::{self, HostEnding};
use super::launcher;
use super::linked_file::LinkedFile;
use super::notes::{self, EndedHost};
use super::process::{self, HostCommand, HostResult, LogTail, Probes};
use super::{usage, workspace};
use crate::backend::{BackendError, CanaryResult, Cancellation, rows, sample_opened};
use crate::canary::{self, CanaryRun};
use crate::instance::Capacity;
use crate::measurement::printed_figures::{PrintedFigures, Sought};
use crate::measurement::{Measurement, Outcome, Phases, Usage};
use crate::probe::NamedHost;
use crate::rows::Copied;
use crate::secret::CutAt;
use crate::spec::{BackendKind, Job};
use crate::units::Seconds;

/// What is read of `output/failure`; SageMaker takes 1,024 characters of it.
const FAILURE_BYTES: u64 = 8192;
/// A process that fails for lack of memory with this share of the machine's in use is believed.
const FULL_MACHINE: f64 = 0.5;
/// Lines of each stream that go to the job log when a canary fails.
const LOG_LINES: usize = 20;

impl LocalBackend {
    pub(super) async fn run_canary(
        &self,
        job: &Job,
        run: &CanaryRun,
        cancellation: &Cancellation,
    ) -> Result<CanaryResult, BackendError> {
        let started = Instant::now();
        let run_name = run_name(run);
        let caches = Cache::of_job(&self.paths, job)?;
        let cluster = Cluster::of(&run.instance);
        let region = self.region();
        let addresses = Addresses::take();
        let hosts_file = addresses.hosts_file(&cluster, &workspace::hosts_of_machine());
        let shares = cluster.shares(job, &run.channels);
        let handed = run.handed(job);
        let (training, share) = (&job.training, handed.as_ref());
        let hyperparameters = canary::hyperparameters(training, share, run.work.as_ref());
        let environment = canary::environment(training, share);
        let mut commands = Vec::new();
        let mut sandboxes = Vec::new();
        let mut placing = Seconds(0.0);
        let mut linked = Vec::new();
        let mut drawn = Copied::default();
        let roots: Vec<(PathBuf, PathBuf)> = (cluster.hosts.iter())
            .map(|host| {
                let name = format!("{run_name}-{}", host.name);
                let sandbox = self.workspace()?.sandbox(&name)?;
                let folders = (sandbox.path("ml"), sandbox.path("code"));
                sandboxes.push(sandbox);
                Ok(folders)
            })
            .collect::<Result<_, BackendError>>()?;
        let judged = job.judged_metrics();
        let launched = training.distribution.as_ref();
        let launched = launched.and_then(|one| launcher::hosts(one, &cluster).into_iter().next());
        let launched_from = launched.unwrap_or(cluster.first());
        for ((host, channels), ((root, code), sandbox)) in
            (cluster.hosts.iter().zip(&shares)).zip(roots.iter().zip(&sandboxes))
        {
            let container = Container {
                job,
                hyperparameters: &hyperparameters,
                environment: &environment,
                run_name: &run_name,
                region: &region,
                cluster: &cluster,
                host,
                master: addresses.of(cluster.first()),
                launched_from: addresses.of(launched_from),
                channels,
                root,
                code,
                capacity: self.host(),
            };
            let laid_out = self.lay_out(&container, sandbox)?;
            let own_hosts_file = sandbox.path("hosts");
            workspace::write_file(&own_hosts_file, &hosts_file)?;
            placing = placing + laid_out.took;
            linked.extend(laid_out.linked);
            // The same on every host that gets them.
            if laid_out.rows != Copied::default() {
                drawn = laid_out.rows;
            }
            commands.push(HostCommand {
                program: &self.program,
                command: container.command().into_iter().map(Into::into).collect(),
                environment: self.host_environment(&container, sandbox),
                folder: code,
                opt_ml: root,
                host: NamedHost {
                    name: host.name.clone(),
                    hosts_file: own_hosts_file,
                },
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

        let results = run_hosts(&cluster, &commands, &self.probes, cancellation).await;
        // Changed data are said however the canary ended.
        self.check_linked(linked).await?;
        let results = results?;
        let ended: Vec<EndedHost<'_>> = (cluster.hosts.iter().zip(&results))
            .zip(&roots)
            .map(|((host, result), (root, _))| EndedHost {
                host,
                result,
                outcome: self.host_outcome(result, root),
            })
            .collect();
        let decisive = notes::decisive(&ended);
        let outcome = decisive.outcome.clone();
        let mut notes = notes::of_run(&cluster, &ended, decisive);
        notes.extend(rows::note_of_left(drawn.left));
        let printed: Vec<_> = results.iter().map(|result| &result.printed).collect();
        let sought = Sought {
            step: job.training.step_metric.as_ref(),
            levels: &judged,
        };
        let figures = PrintedFigures::of_run(&sought, &printed, outcome == Outcome::Completed);
        notes.extend(figures.notes);
        let (log_tail, log) = match outcome {
            Outcome::Completed | Outcome::Stopped => Default::default(),
            _ => (
                log(&cluster, &results, |said| said.lines(LOG_LINES)),
                log(&cluster, &results, LogTail::all),
            ),
        };
        let wall = results
            .iter()
            .filter_map(|result| result.report.as_ref())
            .map(|report| report.wall_seconds)
            .fold(
                Seconds(0.0),
                |longest, wall| if wall > longest { wall } else { longest },
            );
        Ok(CanaryResult {
            measurement: Measurement {
                phases: Phases {
                    startup: Some(startup),
                    download: Some(placing),
                    training: Some(wall),
                    upload: None,
                },
                training_seconds: Some(wall),
                billable_seconds: Some(wall),
                sample_opened: sample_opened::of_run(
                    run,
                    results
                        .iter()
                        .map(|result| result.report.as_ref()?.channels_opened.as_ref()),
                ),
                usage: usage::of_machine(&results),
                hosts: usage::of_each_host(&cluster, &shares, &results),
                step_seconds: figures.step_seconds,
                metrics: figures.metrics,
                ended_at: Some(jiff::Timestamp::now()),
                notes,
                ..Measurement::of_run(run, BackendKind::Local, outcome)
            }
            .with_drawn_rows(run, drawn.bytes),
            log_tail,
            log,
            ended_pools: Vec::new(),
        })
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

/// Runs all hosts at once. When one fails, the others are ended, as SageMaker ends a job whose host failed.
async fn run_hosts(
    cluster: &Cluster,
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
    let hosts = cluster.hosts.iter();
    let said = hosts.zip(results).map(|(host, result)| {
        result.map_err(|error| match cluster.hosts.len() {
            1 => error,
            _ => BackendError {
                what: format!("{}: {}", cluster.words(host), error.what),
                ..error
            },
        })
    });
    said.collect()
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

/// Lines that each host printed; the host is named where there are several.
fn log(
    cluster: &Cluster,
    results: &[HostResult],
    lines: impl Fn(&LogTail) -> Vec<String>,
) -> Vec<String> {
    let hosts = cluster.hosts.iter();
    hosts
        .zip(results)
        .flat_map(|(host, result)| {
            let lines = lines(&result.tail);
            let prefix = match cluster.hosts.len() {
                1 => String::new(),
                _ => format!("{} ", cluster.words(host)),
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
