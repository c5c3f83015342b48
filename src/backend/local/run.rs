//! One run: its hosts side by side, and what came of them.

use std::path::PathBuf;
use std::time::Instant;

use futures_util::future::join_all;

use super::LocalBackend;
use super::cache::Cache;
use super::container::Container;
use super::failure::{self, HostEnding};
use super::linked_file::LinkedFile;
use super::process::{self, HostCommand, HostResult, Probes};
use super::{usage, workspace};
use crate::backend::{BackendError, CanaryResult, Cancellation, Watcher, rows};
use crate::canary::{self, CanaryRun, ChannelData};
use crate::instance::Capacity;
use crate::measurement::printed_figures::PrintedFigures;
use crate::measurement::steps::Sought;
use crate::measurement::{Measurement, Outcome, Phases, Usage};
use crate::probe::{OptMl, ProbeReport};
use crate::rows::Copied;
use crate::secret::CutAt;
use crate::spec::{BackendKind, Distribution, Job};
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
        let mut drawn = Copied::default();
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
            drawn = laid_out.rows;
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
        notes.extend(rows::note_of_left(drawn.left));
        let printed: Vec<_> = results.iter().map(|result| &result.printed).collect();
        let sought = Sought {
            step: job.training.step_metric.as_ref(),
            levels: &judged,
        };
        let figures = PrintedFigures::of_run(&sought, &printed, outcome == Outcome::Completed);
        notes.extend(figures.notes);
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
                step_seconds: figures.step_seconds,
                metrics: figures.metrics,
                ended_at: Some(jiff::Timestamp::now()),
                notes,
                ..Measurement::of_run(run, BackendKind::Local, outcome)
            }
            .with_drawn_rows(run, drawn.bytes),
            log_tail,
            ended_pools: Vec::new(),
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
