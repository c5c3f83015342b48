//! Ends a tree: SIGTERM, a grace period, then SIGKILL until no process is left. The processes of a killed probe become children of
//! the gate, which ends them in the same way.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::Signal;

use super::procfs;
use super::signals::CaughtSignals;
use super::tree::{Look, Process, ProcessTree, kill_groups, send};
use super::usage::of_ticks;
use crate::units::Seconds;

/// The grace period of processes that outlive the command.
pub(super) const GRACE_FOR_LEFTOVERS: Duration = Duration::from_secs(2);
/// A helper process that ends shortly after its parent, as Python's resource tracker does, is not a leftover.
const SETTLING: Duration = Duration::from_millis(100);
/// A process that is stuck in the kernel does not end, and must not delay the report for ever.
pub(super) const PATIENCE_AFTER_KILL: Duration = Duration::from_secs(10);
/// As the gate does nothing else meanwhile.
const PATIENCE_FOR_ORPHANS: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// A tree that is being ended.
pub(super) struct Shutdown {
    asked: HashSet<(i32, u64)>,
    kill_at: Instant,
    stepped_at: Instant,
}

impl Shutdown {
    /// Sends SIGTERM to every process of the tree; [`Shutdown::step`] kills them when `grace` is over.
    pub(super) fn begin(tree: &mut ProcessTree, grace: Duration) -> Self {
        let now = Instant::now();
        let mut shutdown = Self {
            asked: HashSet::new(),
            // An endless grace is limited to a year.
            kill_at: now + grace.min(Duration::from_secs(365 * 86_400)),
            stepped_at: now,
        };
        shutdown.step(tree);
        shutdown
    }

    /// Ends the grace period now.
    pub(super) fn hurry(&mut self) {
        self.kill_at = Instant::now();
    }

    /// When to kill next.
    pub(super) fn next_step(&self) -> Instant {
        self.kill_at.max(self.stepped_at + PAUSE)
    }

    /// Sends SIGTERM to new processes, or SIGKILL to all if the grace period is over. Returns how many there are, and whether some were
    /// found for the first time.
    pub(super) fn step(&mut self, tree: &mut ProcessTree) -> (usize, bool) {
        let members = tree.members(Look::Thorough);
        self.stepped_at = Instant::now();
        let kill = self.stepped_at >= self.kill_at;
        if kill {
            if let Some(cgroup) = &tree.cgroup {
                cgroup.kill();
            }
            // Groups of dead processes too: another process may just have started in them.
            kill_groups(&members);
        }
        let mut any_new = false;
        for process in members.iter().filter(|process| !process.is_dead()) {
            let new = self.asked.insert((process.pid, process.started_at_ticks));
            any_new |= new;
            if kill {
                send(process.pid, Signal::SIGKILL);
            } else if new {
                send(process.pid, Signal::SIGTERM);
                // A stopped process does not handle SIGTERM.
                send(process.pid, Signal::SIGCONT);
            }
        }
        (members.len(), any_new)
    }

    /// Continues until the tree is empty, or until `patience` after the kill is over; returns how many processes could not be ended.
    pub(super) fn finish(
        &mut self,
        tree: &mut ProcessTree,
        mut signals: Option<&mut CaughtSignals>,
        patience: Duration,
    ) -> usize {
        loop {
            let (members, any_new) = self.step(tree);
            let now = Instant::now();
            if members == 0 || now > self.kill_at + patience {
                return members;
            }
            if let Some(caught) = &mut signals
                && caught.take_stop().is_some()
            {
                self.hurry();
            }
            // New processes appeared: kill again at once, to be faster than a process that forks.
            if now < self.kill_at || !any_new {
                match &mut signals {
                    Some(caught) => caught.wait(PAUSE),
                    None => std::thread::sleep(PAUSE),
                }
            }
        }
    }
}

/// What outlives the command's main process.
pub(super) struct Survivors {
    pub(super) count: usize,
    /// The name of the busiest process, where they work on, wait for a disk, or took more CPU time than all that has ended.
    pub(super) at_work: Option<String>,
}

/// Waits a little for what ends by itself; `ended` is the CPU time of what has ended.
pub(super) fn leftovers(
    tree: &mut ProcessTree,
    signals: &mut CaughtSignals,
    ended: Seconds,
) -> Survivors {
    let end = Instant::now() + SETTLING;
    let mut left = tree.members(Look::Thorough);
    let before = left.iter().map(|process| (process.pid, process.cpu_ticks));
    let before: HashMap<i32, u64> = before.collect();
    let (mut looks, mut waits) = (0, HashMap::<i32, u32>::new());
    while !left.is_empty() && Instant::now() < end {
        signals.wait(PAUSE);
        left = tree.members(Look::Thorough);
        looks += 1;
        // `proc_pid_stat(5)`. Between two writes a process does not wait for the disk, so not every look sees it.
        for process in left.iter().filter(|process| process.state == b'D') {
            *waits.entry(process.pid).or_default() += 1;
        }
    }
    let since = |process: &Process| {
        let before = before.get(&process.pid).copied();
        process.cpu_ticks.saturating_sub(before.unwrap_or_default())
    };
    let all = left.iter().map(|process| process.cpu_ticks).sum();
    let lately = left.iter().map(since).sum();
    let are_busy = 2.0 * of_ticks(lately).0 > SETTLING.as_secs_f64();
    let waits_of = |process: &Process| waits.get(&process.pid).copied().unwrap_or_default();
    let are_waiting = left.iter().any(|process| 4 * waits_of(process) > looks);
    let are_at_work = of_ticks(all) > ended || are_busy || are_waiting;
    let busiest = left.iter().filter(|_| are_at_work);
    let work = |process: &&Process| (since(process), waits_of(process), process.cpu_ticks);
    let busiest = busiest.max_by_key(work);
    let name = busiest.and_then(|process| procfs::process(process.pid, "comm").ok());
    Survivors {
        count: left.len(),
        at_work: name.map(|name| String::from_utf8_lossy(&name).trim_end().to_owned()),
    }
}

/// Makes this process adopt the orphans of its children. Call it once, before the first probe. Returns the processes that
/// are below this one already, which [`end_orphans`] has to keep: a shell may have started them before it `exec`ed this
/// program.
///
/// # Errors
///
/// If the kernel has no child subreapers.
pub fn adopt_orphans() -> std::io::Result<Vec<i32>> {
    prctl::set_child_subreaper(true)?;
    let here = ProcessTree::below_this_process().processes(Look::Thorough);
    Ok(here.iter().map(|process| process.pid).collect())
}

/// Kills every process below this one except `kept` and their descendants. Needs [`adopt_orphans`].
pub fn end_orphans(kept: &[i32]) {
    let mut tree = ProcessTree::below_this_process();
    tree.excluded.extend(kept);
    let mut shutdown = Shutdown::begin(&mut tree, Duration::ZERO);
    if shutdown.finish(&mut tree, None, PATIENCE_FOR_ORPHANS) > 0 {
        tracing::warn!("some processes of the training code could not be ended");
    }
}
