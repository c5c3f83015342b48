//! One run: start, watch, end, report.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::unistd::Pid;
use signal_hook::consts::SIGKILL;

use super::cgroup::{Cgroup, Controller, OomKills, OwnCgroup};
use super::command;
use super::container_host;
use super::ending::{GRACE_FOR_LEFTOVERS, PATIENCE_AFTER_KILL, Shutdown, leftovers};
use super::error::ProbeError;
use super::fewer_rights::with_fewer_rights;
use super::gpu::{GpuSampler, NVIDIA_SMI};
use super::host::{cores, memory_total};
use super::host_load::HostLoad;
use super::memory::{OF_CONTAINER, Pressure, TreeMemory};
use super::opened::WatchedChannels;
use super::output::{CommandEnvironment, Output};
use super::sandbox::MountNamespace;
use super::signals::CaughtSignals;
use super::tree::{Look, Process, ProcessTree};
use super::usage::CpuTime;
use super::{Ending, OptMl, ProbeOptions, ProbeReport, SCHEMA_VERSION};
use crate::measurement::{PeakMemory, Usage};
use crate::units::{Bytes, Seconds};

/// Two samples a second.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// A sample that is later shows that the probe, or the machine, was halted.
const LATE: Duration = Duration::from_millis(900);
/// The interval between looks at memory that rises fast.
const SOON: Duration = Duration::from_millis(100);
/// Additional looks at memory in the first second: most canaries are short.
const EARLY_LOOKS: u32 = 20;
const EARLY_LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// The highest value, `proc_pid_oom_score_adj(5)`: when memory runs out, the kernel kills the command, not the gate.
const OOM_SCORE_ADJUSTMENT: &str = "1000";
/// Less memory than this decides no budget.
const SMALL: Bytes = Bytes(64 * Bytes::MIB);

/// Runs the command to its end, samples its tree, ends the processes that it leaves, and writes the report as one JSON line.
///
/// Blocks. A command that fails, exceeds a limit or is stopped gives a report; an error means that it did not run, or that
/// the report could not be written. Call it once in a process, before a second thread starts.
pub fn run(options: &ProbeOptions) -> Result<ProbeReport, ProbeError> {
    // Opened first, so that an unwritable file fails before the command runs for hours.
    let mut output = Output::open(options)?;
    let environment = output.environment()?;
    let report = WatchedRun::start(options, environment.as_ref())?.watch()?;
    output.write(&report)?;
    Ok(report)
}

/// A command that runs.
struct WatchedRun<'a> {
    options: &'a ProbeOptions,
    signals: CaughtSignals,
    child: Child,
    started: Instant,
    tree: ProcessTree,
    /// Where the usage of a launcher's processes counts.
    launched: Option<ProcessTree>,
    memory: TreeMemory,
    cpu: CpuTime,
    load: HostLoad,
    gpu: Option<GpuSampler>,
    oom_kills: OomKills,
    channels: WatchedChannels,
    /// The longest time between two samples, where it was far longer than it should be.
    halted: Option<Duration>,
    /// As far as it is known.
    report: ProbeReport,
}

impl<'a> WatchedRun<'a> {
    /// Without an environment the command has that of the probe.
    fn start(
        options: &'a ProbeOptions,
        environment: Option<&CommandEnvironment>,
    ) -> Result<Self, ProbeError> {
        let signals =
            CaughtSignals::catch(options.end_with_parent).map_err(failed("catching signals"))?;
        prctl::set_child_subreaper(true)
            .map_err(io::Error::from)
            .map_err(failed("becoming a child subreaper"))?;

        let memory_controller = Controller::of_this_process("memory");
        let memory_total = memory_total(memory_controller.as_ref());
        let cores = cores();
        let is_of_command = !options.launched;
        let own = memory_controller.as_ref().filter(|_| is_of_command);
        let cgroup = own.and_then(|own| OwnCgroup::create(own, Pid::this().as_raw()));
        // Before the command, which could write another.
        let is_on_stdout = !options.gate_socket && options.output.is_none();
        let container = (is_on_stdout && options.mark.is_some())
            .then(container_host::here)
            .flatten();
        let (container_host, container_base) = container.unzip();
        let oom_kills = OomKills::watch(memory_controller.as_ref());
        // Beside a launcher's first process the others may have opened theirs already.
        let base = options.opt_ml.as_deref().or(container_base.as_deref());
        let base = base.filter(|_| is_of_command);
        let mut channels = match &options.watched {
            Some(checkout) => WatchedChannels::checkout(checkout),
            None => base.map(WatchedChannels::below).unwrap_or_default(),
        };

        // After the cgroup, which a new namespace could put out of reach, and before any thread.
        let mut mounts = MountNamespace::default();
        let writes = options.writes.as_deref();
        let note = writes.and_then(|own| mounts.keep_temporary_apart(own, &options.shared));
        let mut notes = Vec::from_iter(note);
        let opt_ml = (options.opt_ml.as_deref()).map(|folder| match mounts.mount_opt_ml(folder) {
            Ok(()) => OptMl::Mounted,
            Err(reason) => OptMl::NotAllowed { reason },
        });
        if let Some(list) = &options.closed {
            let left = mounts.close(list).map_err(failed("closing files"))?;
            notes.extend(channels.add_files(&left, list));
        }
        (mounts.make_read_only(&options.read_only, writes)).map_err(ProbeError::NotReadOnly)?;
        let mut tree = ProcessTree::of_this_process();
        let mut launched = (options.launched).then(ProcessTree::of_the_launcher);
        let cpu = CpuTime::new(cores);
        let load = HostLoad::new(cgroup.as_ref());
        let started = Instant::now();
        let start = || {
            let start = || command::start(&options.command, environment);
            match options.read_only.is_empty() {
                true => start(),
                false => with_fewer_rights(start),
            }
        };
        let (child, cgroup) = match cgroup {
            Some(cgroup) => cgroup.start_inside(start),
            None => (start(), None),
        };
        let child = child?;
        let adjustment = format!("/proc/{}/oom_score_adj", child.id());
        let _ = fs::write(adjustment, OOM_SCORE_ADJUSTMENT);
        tree.main = Some(i32::try_from(child.id()).expect("process numbers fit pid_t"));

        let gpu = command::locate_tool(NVIDIA_SMI).map(|program| GpuSampler::start(&program));
        let gpu = gpu.and_then(|started| started.map_err(|note| notes.push(note)).ok());
        if let Some(sampler) = &gpu {
            for tree in [&mut tree].into_iter().chain(&mut launched) {
                tree.excluded.insert(sampler.pid());
            }
        }
        let level = match (&cgroup, &memory_controller) {
            (Some(own), _) => Some((own.cgroup.clone(), "")),
            (None, Some(controller)) if launched.is_some() && controller.own.level().is_some() => {
                Some((controller.own.clone(), OF_CONTAINER))
            }
            (None, _) => None,
        };
        tree.cgroup = cgroup;
        Ok(Self {
            options,
            signals,
            child,
            started,
            tree,
            launched,
            memory: TreeMemory::new(level),
            cpu,
            load,
            gpu,
            oom_kills,
            channels,
            halted: None,
            report: ProbeReport {
                schema_version: SCHEMA_VERSION,
                ending: Ending::Signaled { signal: SIGKILL },
                wall_seconds: Seconds(0.0),
                cpu_seconds: Seconds(0.0),
                usage: Usage::default(),
                samples: 0,
                opt_ml,
                container_host,
                files_opened: BTreeMap::new(),
                survivors_ended: 0,
                left_running: None,
                memory_total,
                cores,
                notes,
            },
        })
    }

    fn watch(mut self) -> Result<ProbeReport, ProbeError> {
        let started = self.started;
        let mut next_sample = started + SAMPLE_INTERVAL;
        let mut looks = (1..=EARLY_LOOKS).map(|look| started + EARLY_LOOK_INTERVAL * look);
        let mut next_look = looks.next();
        let time_limit = self.options.max_runtime;
        let time_limit = time_limit
            .and_then(|limit| started.checked_add(Duration::try_from_secs_f64(limit.0).ok()?));
        let grace = Duration::try_from_secs_f64(self.options.grace.0).unwrap_or(Duration::MAX);
        // Set once the probe ends the tree, with the reason.
        let mut ended: Option<(Ending, Shutdown)> = None;

        let status = loop {
            let due = match &ended {
                Some((_, shutdown)) => Some(shutdown.next_step()),
                None => time_limit,
            };
            let others = [next_look, due].into_iter().flatten();
            let wake = others.fold(next_sample, Instant::min);
            let time = wake.saturating_duration_since(Instant::now());
            self.signals.wait(time);
            let late = Instant::now().saturating_duration_since(next_sample);
            if late > LATE {
                self.halted = self.halted.max(Some(late + SAMPLE_INTERVAL));
            }

            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(source) => {
                    self.kill_everything();
                    self.end_sampler();
                    return Err(failed("waiting for the command")(source));
                }
            }

            let now = Instant::now();
            let pressure = if now >= next_sample {
                // After a suspend of the host, missed samples are not made up for.
                next_sample = (next_sample + SAMPLE_INTERVAL).max(now + SOON);
                self.sample()
            } else if next_look.is_some_and(|at| now >= at) {
                next_look = looks.next();
                self.memory.glance().unwrap_or_else(|| {
                    let processes = self.processes();
                    self.look_at_memory(&processes)
                })
            } else {
                Pressure::None
            };
            if matches!(pressure, Pressure::Rising) {
                next_look = Some(now + SOON);
            }

            let stop = self.signals.take_stop();
            match &mut ended {
                Some((_, shutdown)) => {
                    // A second request ends the grace period.
                    if stop.is_some() {
                        shutdown.hurry();
                    }
                    if Instant::now() >= shutdown.next_step() {
                        shutdown.step(&mut self.tree);
                    }
                }
                None => {
                    let stop = stop.or_else(|| self.signals.stop_without_parent());
                    let is_late = time_limit.is_some_and(|limit| now >= limit);
                    let reason = match (stop, pressure) {
                        (Some(signal), _) => Some(Ending::Stopped { signal }),
                        (None, Pressure::TooMuch { ending, note }) => {
                            self.report.notes.push(note);
                            Some(ending)
                        }
                        (None, _) => is_late.then_some(Ending::TimedOut),
                    };
                    if let Some(ending) = reason {
                        let grace = match ending {
                            // The command would use more memory meanwhile.
                            Ending::OutOfMemory => Duration::ZERO,
                            _ => grace,
                        };
                        ended = Some((ending, Shutdown::begin(&mut self.tree, grace)));
                    }
                }
            }
        };

        let mut wall = self.started.elapsed();
        self.load.end();
        if self.launched.is_some() {
            // The command's own time is counted once it was waited for, that of the others is not.
            let processes = self.processes();
            self.cpu.observe(wall, &processes);
        }
        let left = leftovers(&mut self.tree, &mut self.signals, self.cpu.of_ended());
        let survivors = left.count;
        self.report.left_running = left.at_work;
        let (ending, mut shutdown) = ended.unzip();
        if shutdown.is_none() && survivors > 0 {
            shutdown = Some(Shutdown::begin(&mut self.tree, GRACE_FOR_LEFTOVERS));
        }
        let stuck = shutdown.map_or(0, |shutdown| self.finish(shutdown));
        // The main process may be a shell that ends at SIGTERM, while its children ignore it and hold the machine.
        if ending.is_some() || self.oom_kills.have_risen() {
            wall = self.started.elapsed();
        }
        let ending = ending.unwrap_or_else(|| self.own_ending(status));
        // Also where it failed, or was asked to stop, since another process of its launcher was killed for lack of memory.
        let is_well = ending == Ending::Exited { code: 0 };
        self.report.ending = match &self.launched {
            Some(_) if !is_well && self.oom_kills.have_risen() => Ending::OutOfMemory,
            _ => ending,
        };
        self.report.wall_seconds = Seconds(wall.as_secs_f64());
        let stopped = survivors.saturating_sub(stuck);
        self.report.survivors_ended = u32::try_from(stopped).unwrap_or(u32::MAX);
        Ok(self.with_figures(stuck))
    }

    /// The report of a run that ended.
    fn with_figures(mut self, stuck: usize) -> ProbeReport {
        let (gpu, gpu_note) = self.end_sampler().unwrap_or_default();
        // A last sample, for the resident sets of processes that have ended.
        self.look_at_memory(&[]);
        let mut report = self.report;
        let (mut memory, memory_note) = self.memory.peak(report.memory_total);
        if let Some(halted) = self.halted
            && might_have_been_far_higher(&memory)
        {
            memory.is_lower_bound = true;
            report.notes.push(format!(
                "memory was not looked at for {:.1} s, since something halted the probe: it was at least this",
                halted.as_secs_f64()
            ));
        }
        report.notes.extend(memory_note.into_iter().chain(gpu_note));
        if stuck > 0 {
            report.notes.push(format!(
                "{stuck} processes of the command did not end when they were killed"
            ));
        }
        report.cpu_seconds = self.cpu.total();
        report.usage = Usage {
            memory: Some(memory),
            cpu_percent: (self.cpu).utilization(report.cpu_seconds, report.wall_seconds),
            ..self.load.add_to(gpu, report.cpu_seconds)
        };
        report.files_opened = self.channels.opened();
        report
    }

    /// Ends the GPU sampler and all that it started: a daemon of it would outlive the probe.
    fn end_sampler(&mut self) -> Option<(Usage, Option<String>)> {
        let sampler = self.gpu.take()?;
        let pid = sampler.pid();
        let usage = sampler.stop();
        // What it left behind belongs to the tree.
        self.tree.excluded.remove(&pid);
        if !self.tree.members(Look::Thorough).is_empty() {
            self.kill_everything();
        }
        Some(usage)
    }

    fn finish(&mut self, mut shutdown: Shutdown) -> usize {
        let signals = Some(&mut self.signals);
        shutdown.finish(&mut self.tree, signals, PATIENCE_AFTER_KILL)
    }

    /// Without a grace period.
    fn kill_everything(&mut self) {
        let shutdown = Shutdown::begin(&mut self.tree, Duration::ZERO);
        self.finish(shutdown);
    }

    /// The live processes whose usage counts.
    fn processes(&mut self) -> Vec<Process> {
        let tree = self.launched.as_mut().unwrap_or(&mut self.tree);
        tree.processes(Look::Quick)
    }

    /// One sample of everything.
    fn sample(&mut self) -> Pressure {
        let processes = self.processes();
        self.report.samples += 1;
        self.channels.look();
        if let Some(gpu) = &mut self.gpu {
            gpu.look();
        }
        self.cpu.observe(self.started.elapsed(), &processes);
        self.load.observe(&processes);
        self.look_at_memory(&processes)
    }

    fn look_at_memory(&mut self, processes: &[Process]) -> Pressure {
        let own = self.tree.cgroup.as_ref();
        self.memory.observe(self.started.elapsed(), processes, own)
    }

    /// The ending of a command that the probe did not end.
    fn own_ending(&mut self, status: ExitStatus) -> Ending {
        let own = self.tree.cgroup.as_ref().map(|own| &own.cgroup);
        let killed_inside = own.and_then(Cgroup::oom_kills).unwrap_or(0);
        if killed_inside > 0 {
            if !status.success() {
                return Ending::OutOfMemory;
            }
            self.report.notes.push(format!(
                "the kernel ended {killed_inside} of the command's processes for lack of memory"
            ));
        }
        match (status.signal(), status.code()) {
            (Some(SIGKILL), _) if self.oom_kills.have_risen() => Ending::OutOfMemory,
            (Some(signal), _) => Ending::Signaled { signal },
            (None, code) => Ending::Exited {
                code: code.expect("a process that no signal ended has a code"),
            },
        }
    }
}

/// Whether what is known of memory between two samples leaves open that it was several times as high.
fn might_have_been_far_higher(memory: &PeakMemory) -> bool {
    let seen = memory.bytes.zip(memory.upper_bound);
    seen.is_some_and(|(bytes, bound)| {
        let open = bound.0.saturating_sub(bytes.0);
        open > bytes.0 && open > SMALL.0
    })
}

fn failed(action: &'static str) -> impl Fn(io::Error) -> ProbeError {
    move |source| ProbeError::Process(action, source)
}
