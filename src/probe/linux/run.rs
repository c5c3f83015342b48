//! One run: start, watch, end, report.

mod report;

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::unistd::Pid;
use signal_hook::consts::{SIGKILL, SIGTERM};

use super::cgroup::{Cgroup, Controller, OomKills, OwnCgroup};
use super::command;
use super::container_host::TrainingContainer;
use super::ending::{GRACE_FOR_LEFTOVERS, Shutdown, leftovers};
use super::error::ProbeError;
use super::fewer_rights::with_fewer_rights;
use super::gpu::{GpuSampler, NVIDIA_SMI};
use super::host::{cores, memory_total};
use super::host_load::HostLoad;
use super::launched::LaunchedTree;
use super::memory::{HostMemory, LevelSource, MemoryGuard, Pressure, TreeMemory};
use super::opened::WatchedChannels;
use super::output::{CommandEnvironment, Output};
use super::procfs::KernelFileReader;
use super::sandbox::MountNamespace;
use super::signals::{CaughtSignals, Parent};
use super::tree::{Look, Process, ProcessTree};
use super::usage::CpuTime;
use super::{Destination, Ending, OptMl, ProbeOptions, ProbeReport, UsageScope};
use crate::measurement::Usage;
use crate::units::Bytes;

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

/// Runs the command to its end, samples its tree, ends the processes that it leaves, and writes the report as one JSON line.
///
/// Blocks. A command that fails, exceeds a limit or is stopped gives a report; an error means that it did not run, or that
/// the report could not be written. Call it once in a process, before a second thread starts.
pub fn run(options: &ProbeOptions) -> Result<ProbeReport, ProbeError> {
    // Opened first, so that an unwritable file fails before the command runs for hours.
    let output = Output::open(&options.output)?;
    let environment = output.environment()?;
    let report = WatchedRun::start(options, environment.as_ref())?.watch()?;
    output.write(&report)?;
    Ok(report)
}

/// A command that runs.
struct WatchedRun<'a> {
    options: &'a ProbeOptions,
    signals: CaughtSignals,
    parent: Option<Parent>,
    child: Child,
    started: Instant,
    tree: ProcessTree,
    /// Where the usage of a launcher's processes counts.
    launched: Option<LaunchedTree>,
    reader: KernelFileReader,
    memory: TreeMemory,
    memory_controller: Option<Controller>,
    memory_total: Option<Bytes>,
    guard: MemoryGuard,
    cores: f64,
    cpu: CpuTime,
    load: HostLoad,
    gpu: Option<GpuSampler>,
    oom_kills_before: OomKills,
    opt_ml: Option<OptMl>,
    container: Option<TrainingContainer>,
    channels: WatchedChannels,
    samples: u64,
    /// The longest time between two samples, where it was far longer than it should be.
    halted: Option<Duration>,
    notes: Vec<String>,
}

impl<'a> WatchedRun<'a> {
    /// Without an environment the command has that of the probe.
    fn start(
        options: &'a ProbeOptions,
        environment: Option<&CommandEnvironment>,
    ) -> Result<Self, ProbeError> {
        let signals = CaughtSignals::catch().map_err(failed("catching signals"))?;
        let parent = options
            .end_with_parent
            .map(Parent::watch)
            .transpose()
            .map_err(failed("watching the parent"))?;
        prctl::set_child_subreaper(true)
            .map_err(io::Error::from)
            .map_err(failed("becoming a child subreaper"))?;

        let mut reader = KernelFileReader::default();
        let memory_controller = Controller::of_this_process("memory");
        let memory_total = memory_total(&mut reader, memory_controller.as_ref());
        let cores = cores();
        let cgroup = memory_controller
            .as_ref()
            .filter(|_| options.scope == UsageScope::Command)
            .and_then(|controller| OwnCgroup::create(controller, Pid::this().as_raw()));
        // Before the command, which could write another.
        let container = match &options.output {
            Destination::Stdout { mark: Some(_) } => TrainingContainer::here(),
            _ => None,
        };
        let oom_kills_before = OomKills::now(memory_controller.as_ref());
        let container_base = container.as_ref().map(|container| container.base.as_path());
        // Beside a launcher's first process the others may have opened theirs already.
        let channels = (options.opt_ml.as_deref().or(container_base))
            .filter(|_| options.scope == UsageScope::Command)
            .map(WatchedChannels::below)
            .unwrap_or_default();

        // After the cgroup, which a new namespace could put out of reach, and before any thread.
        let mut mounts = MountNamespace::default();
        let opt_ml = (options.opt_ml.as_deref()).map(|folder| match mounts.mount_opt_ml(folder) {
            Ok(()) => OptMl::Mounted,
            Err(reason) => OptMl::NotAllowed { reason },
        });
        (mounts.make_read_only(&options.read_only))
            .map_err(|reason| ProbeError::NotReadOnly { reason })?;
        let mut tree = ProcessTree::of_this_process();
        let mut launched =
            (options.scope == UsageScope::Launcher).then(LaunchedTree::around_this_process);
        let cpu = CpuTime::new(cores);
        let load = HostLoad::new(cgroup.as_ref(), &mut reader);
        let started = Instant::now();
        let start = || {
            let start = || command::start(&options.command, environment);
            match options.read_only.is_empty() {
                true => start(),
                false => with_fewer_rights(start),
            }
        };
        let (child, cgroup) = match cgroup {
            Some(cgroup) => match cgroup.start_inside(start) {
                Ok(child) => (child?, Some(cgroup)),
                Err(child) => (child?, None),
            },
            None => (start()?, None),
        };
        let _ = fs::write(
            format!("/proc/{}/oom_score_adj", child.id()),
            OOM_SCORE_ADJUSTMENT,
        );
        tree.set_main(i32::try_from(child.id()).expect("process numbers fit pid_t"));

        let mut notes = Vec::new();
        let gpu = command::locate_tool(NVIDIA_SMI).and_then(|program| {
            GpuSampler::start(&program)
                .inspect(|sampler| {
                    tree.exclude(sampler.pid());
                    if let Some(launched) = &mut launched {
                        launched.exclude(sampler.pid());
                    }
                })
                .map_err(|note| notes.push(note))
                .ok()
        });
        let level = match (cgroup, &memory_controller) {
            (Some(cgroup), _) => LevelSource::OwnCgroup(cgroup),
            (None, Some(controller)) if launched.is_some() && controller.own.level().is_some() => {
                LevelSource::Container(controller.own.clone())
            }
            (None, _) => LevelSource::Processes,
        };
        Ok(Self {
            options,
            signals,
            parent,
            child,
            started,
            tree,
            launched,
            reader,
            memory: TreeMemory::new(level),
            memory_controller,
            memory_total,
            guard: MemoryGuard::default(),
            cores,
            cpu,
            load,
            gpu,
            oom_kills_before,
            opt_ml,
            container,
            channels,
            samples: 0,
            halted: None,
            notes,
        })
    }

    fn watch(mut self) -> Result<ProbeReport, ProbeError> {
        let started = self.started;
        let mut next_sample = started + SAMPLE_INTERVAL;
        let mut looks = (1..=EARLY_LOOKS).map(|look| started + EARLY_LOOK_INTERVAL * look);
        let mut next_look = looks.next();
        let time_limit = self.options.max_runtime.and_then(|limit| {
            self.started
                .checked_add(Duration::try_from_secs_f64(limit.0).ok()?)
        });
        // Set once the probe ends the tree, with the reason.
        let mut ended: Option<(Ending, Shutdown)> = None;

        let status = loop {
            let due = match &ended {
                Some((_, shutdown)) => Some(shutdown.next_step()),
                None => time_limit,
            };
            let wake = [next_look, due]
                .into_iter()
                .flatten()
                .fold(next_sample, Instant::min);
            self.signals
                .wait(wake.saturating_duration_since(Instant::now()));
            let late = Instant::now().saturating_duration_since(next_sample);
            if late > LATE {
                self.halted = self.halted.max(Some(late + SAMPLE_INTERVAL));
            }

            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(source) => {
                    self.end_everything(Duration::ZERO);
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
                self.look_at_memory()
            } else {
                Pressure::None
            };
            if pressure == Pressure::Rising {
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
                        shutdown.step(&mut self.tree, self.memory.cgroup());
                    }
                }
                None => {
                    let reason = if let Some(signal) = stop {
                        Some(Ending::Stopped { signal })
                    } else if self.parent.as_ref().is_some_and(Parent::is_gone) {
                        Some(Ending::Stopped { signal: SIGTERM })
                    } else if let Pressure::TooMuch(ending) = pressure {
                        Some(ending)
                    } else {
                        time_limit
                            .is_some_and(|limit| now >= limit)
                            .then_some(Ending::TimedOut)
                    };
                    if let Some(ending) = reason {
                        ended = Some((ending, self.begin_shutdown(ending)));
                    }
                }
            }
        };

        let wall = self.started.elapsed();
        self.load.end(&mut self.reader);
        if self.launched.is_some() {
            // The command's own time is counted once it was waited for, that of the others is not.
            let processes = self.processes();
            self.cpu.observe(wall, &processes);
        }
        let survivors = leftovers(&mut self.tree, &mut self.signals);
        let stuck = match &mut ended {
            Some((_, shutdown)) => {
                shutdown.finish(&mut self.tree, self.memory.cgroup(), &mut self.signals)
            }
            None if survivors > 0 => self.end_everything(GRACE_FOR_LEFTOVERS),
            None => 0,
        };
        let ending = ended.map_or_else(|| self.own_ending(status), |(ending, _)| ending);
        let ending = self.launched_ending(ending);
        let gpu = self.end_sampler();
        Ok(self.report(ending, wall, survivors, stuck, gpu))
    }

    /// Ends the GPU sampler and all that it started: a daemon of it would outlive the probe.
    fn end_sampler(&mut self) -> Option<(Usage, Option<String>)> {
        let sampler = self.gpu.take()?;
        let pid = sampler.pid();
        let usage = sampler.stop();
        self.tree.include(pid);
        if !self.tree.members(Look::Thorough).is_empty() {
            self.end_everything(Duration::ZERO);
        }
        Some(usage)
    }

    fn end_everything(&mut self, grace: Duration) -> usize {
        let cgroup = self.memory.cgroup();
        Shutdown::begin(&mut self.tree, cgroup, grace).finish(
            &mut self.tree,
            cgroup,
            &mut self.signals,
        )
    }

    fn begin_shutdown(&mut self, ending: Ending) -> Shutdown {
        let grace = match ending {
            // Without a grace period: the command would use more memory meanwhile.
            Ending::OutOfMemory => Duration::ZERO,
            _ => Duration::try_from_secs_f64(self.options.grace.0).unwrap_or(Duration::MAX),
        };
        Shutdown::begin(&mut self.tree, self.memory.cgroup(), grace)
    }

    /// The live processes whose usage counts.
    fn processes(&mut self) -> Vec<Process> {
        match &mut self.launched {
            Some(launched) => launched.processes(),
            None => self.tree.processes(Look::Quick),
        }
    }

    /// One sample of everything.
    fn sample(&mut self) -> Pressure {
        let processes = self.processes();
        let elapsed = self.started.elapsed();
        self.samples += 1;
        self.channels.look();
        self.cpu.observe(elapsed, &processes);
        self.load.observe(&mut self.reader, &processes);
        let level = self.memory.observe(&mut self.reader, elapsed, &processes);
        self.judge(level)
    }

    fn look_at_memory(&mut self) -> Pressure {
        let level = match self.memory.glance() {
            Some(level) => level,
            None => {
                let processes = self.processes();
                self.memory
                    .observe(&mut self.reader, self.started.elapsed(), &processes)
            }
        };
        self.judge(level)
    }

    fn judge(&mut self, level: Bytes) -> Pressure {
        let pressure = self.guard.judge(level, HostMemory::now(&mut self.reader));
        if let Pressure::TooMuch(ending) = pressure {
            let whose = match ending {
                Ending::OutOfMemory => "",
                _ => ", most of it used by other processes",
            };
            self.notes.push(format!(
                "the command was ended at {level} because the host had less than 2% of its memory left{whose}"
            ));
        }
        pressure
    }

    /// Whether the kernel ended a process for lack of memory that may be one of these.
    fn was_short_of_memory(&self) -> bool {
        let now = OomKills::now(self.memory_controller.as_ref());
        self.oom_kills_before.rose_to(now)
    }

    /// The same where the command failed, or was asked to stop, since another process of its launcher was killed for lack of memory.
    fn launched_ending(&self, ending: Ending) -> Ending {
        let is_well = ending == Ending::Exited { code: 0 };
        match self.launched.is_some() && !is_well && self.was_short_of_memory() {
            true => Ending::OutOfMemory,
            false => ending,
        }
    }

    /// The ending of a command that the probe did not end.
    fn own_ending(&mut self, status: ExitStatus) -> Ending {
        let own = self.memory.cgroup().map(|own| &own.cgroup);
        let killed_inside = own.and_then(Cgroup::oom_kills).unwrap_or(0);
        if killed_inside > 0 {
            if !status.success() {
                return Ending::OutOfMemory;
            }
            self.notes.push(format!(
                "the kernel ended {killed_inside} of the command's processes for lack of memory"
            ));
        }
        match (status.signal(), status.code()) {
            (Some(SIGKILL), _) if self.was_short_of_memory() => Ending::OutOfMemory,
            (Some(signal), _) => Ending::Signaled { signal },
            (None, code) => Ending::Exited {
                code: code.expect("a process that no signal ended has a code"),
            },
        }
    }
}

fn failed(action: &'static str) -> impl Fn(io::Error) -> ProbeError {
    move |source| ProbeError::Process { action, source }
}
