//! One run: its hosts side by side, and what came of them.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Instant;

use futures_util::future::join_all;

use super::cluster::Cluster;
use super::ending::{self, EndedHost};
use super::log_tail::LogTail;
use super::{Container, LaidOut, LinkedFile, LocalBackend, usage, workspace};
use crate::backend::{CanaryResult, Cancellation, note_opened, rows};
use crate::canary::{self, CanaryRun};
use crate::instance::Capacity;
use crate::measurement::printed_figures::{PrintedFigures, Sought};
use crate::measurement::{Measurement, Outcome, Phases, Usage};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::probe::{CHECKOUT, ProbeReport};
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
    ) -> OutsideResult<CanaryResult> {
        let started = Instant::now();
        let run_name = run_name(run);
        let cluster = Cluster::of(&run.instance).with_data(job, &run.channels);
        let region = self.region();
        let handed = run.handed(job);
        let (training, share) = (&job.training, handed.as_ref());
        let hyperparameters = canary::hyperparameters(training, share, run.work.as_ref());
        let hyperparameters = hyperparameters.into_iter().collect();
        let environment = canary::environment(training, share);
        let sought = Sought::of(job);
        let port = free_port();
        let mut hosts: Vec<LaidOut<'_>> = Vec::new();
        for host in &cluster.hosts {
            let sandbox = (self.workspace()?).sandbox(&format!("{run_name}-{}", host.name))?;
            let container = Container {
                job,
                hyperparameters: &hyperparameters,
                environment: &environment,
                run_name: &run_name,
                region: &region,
                cluster: &cluster,
                host,
                port,
                root: sandbox.path("ml"),
                code: sandbox.path("code"),
                capacity: self.host(),
            };
            hosts.push(self.lay_out(&container, sandbox)?);
        }
        let placing = hosts.iter().map(|host| host.took).sum();
        let startup = Seconds(started.elapsed().as_secs_f64()) - placing;

        // All at once. When one fails, the others are ended, as SageMaker ends a job whose host failed.
        let (together, sought) = (&cancellation.child_token(), &sought);
        let all = hosts.iter().map(|host| async move {
            let ended = self.run_host(host, sought, run.max_runtime, together).await;
            let report = ended.as_ref().ok().and_then(|host| host.report.as_ref());
            if report.is_none_or(|report| report.exit_code() != 0) {
                together.cancel();
            }
            ended.map_err(|error| OutsideError {
                what: format!("{}{}", host.host.prefix(": "), error.what),
                ..error
            })
        });
        let ended: OutsideResult<Vec<_>> = join_all(all).await.into_iter().collect();
        // Changed data are said however the canary ended.
        let mut linked = hosts.iter().flat_map(|host| &host.linked);
        linked.try_for_each(LinkedFile::check)?;
        let ended = ended?;
        let decisive = ending::decisive(&ended);
        let outcome = decisive.outcome.clone();
        let mut notes = ending::notes(&ended, decisive);
        // The rows are the same on every host that gets some.
        let mut drawn = hosts.iter().map(|host| host.rows);
        let drawn = drawn.rfind(|rows| *rows != Copied::default());
        let drawn = drawn.unwrap_or_default();
        notes.extend(rows::note_of_left(drawn.left));
        let printed: Vec<_> = ended.iter().map(|host| &host.printed).collect();
        let reports = || ended.iter().map(|host| host.report.as_ref());
        let walls = reports().flatten().map(|report| report.wall_seconds.0);
        let wall = Seconds(walls.fold(0.0, f64::max));
        let is_completed = outcome == Outcome::Completed;
        let figures = PrintedFigures::of_run(sought, &printed, is_completed, Some(wall));
        notes.extend(figures.notes);
        let (log_tail, log) = match outcome {
            Outcome::Completed => (log(&ended, |host| host.end.clone()), Vec::new()),
            Outcome::Stopped => Default::default(),
            _ => (
                log(&ended, |host| host.tail.lines([LOG_LINES; 2])),
                log(&ended, |host| host.tail.all()),
            ),
        };
        let checkout = format!("{}/", self.paths.checkout.display());
        let mut opened = reports().flatten().map(|host| &host.files_opened);
        let left_out = opened.find_map(|opened| opened.get(CHECKOUT)?.first());
        let mut measurement = Measurement {
            left_out_opened: left_out.map(|file| file.replace(&checkout, "")),
            phases: Phases {
                startup: Some(startup),
                download: Some(placing),
                training: Some(wall),
                upload: None,
            },
            training_seconds: Some(wall),
            billable_seconds: Some(wall),
            usage: usage::of_machine(&ended),
            hosts: usage::of_each_host(&cluster, &ended),
            step_seconds: figures.step_seconds,
            metrics: figures.metrics,
            progress: figures.progress,
            ended_at: Some(jiff::Timestamp::now()),
            notes,
            ..Measurement::of_run(run, BackendKind::Local, outcome)
        }
        .with_drawn_rows(run, drawn.bytes);
        note_opened(&mut measurement, run, &Vec::from_iter(reports()));
        Ok(CanaryResult {
            measurement,
            log_tail,
            log,
            ended_pools: Vec::new(),
        })
    }

    /// How a host ended. What the machine has distinguishes one that ran out of memory from a program that set itself a limit.
    pub(super) fn outcome(
        &self,
        report: Option<&ProbeReport>,
        tail: &LogTail,
        root: &Path,
    ) -> Outcome {
        let Some(report) = report else {
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
        ending::outcome(
            report.ending,
            failure_file.as_deref(),
            tail.last_line().as_deref(),
            memory_was_full(&report.usage, self.host()),
        )
    }
}

/// A port that no program listens at; the toolkit's own where there is no network.
fn free_port() -> u16 {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|one| one.local_addr());
    bound.map_or(7777, |address| address.port())
}

/// Unique among the runs of one gate.
fn run_name(run: &CanaryRun) -> String {
    // With an exponent a level is short and exact: `5e0`, `1-25e1`.
    let work = run.work.as_ref().map_or(String::new(), |work| {
        format!("-work{:e}", work.level).replace('.', "-")
    });
    let (job, hosts, replicate) = (&run.job, run.instance.total_count(), run.replicate);
    let (objects, total) = (run.objects, run.objects_total);
    format!("{job}-{hosts}-{objects}of{total}{work}-{replicate}")
}

/// Lines that each host printed; the host is named where there are several.
fn log(hosts: &[EndedHost<'_>], lines: impl Fn(&EndedHost<'_>) -> Vec<String>) -> Vec<String> {
    let of_host = |ended: &EndedHost<'_>| {
        let prefix = ended.host.prefix(" ");
        let lines = lines(ended).into_iter();
        lines.map(move |line| format!("{prefix}{line}"))
    };
    hosts.iter().flat_map(of_host).collect()
}

/// Whether the machine's memory was in use to an extent that an allocation could fail for it.
fn memory_was_full(usage: &Usage, capacity: &Capacity) -> bool {
    let memory = usage.memory.as_ref();
    let most = memory.and_then(|memory| memory.upper_bound.max(memory.bytes));
    most.is_some_and(|bytes| bytes.as_f64() >= FULL_MACHINE * capacity.memory.as_f64())
}
