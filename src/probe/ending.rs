//! Ending a tree: SIGTERM, some time, SIGKILL, until nothing is left.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

pub(super) use super::Ending;
use super::cgroup::OwnCgroup;
use super::signals::CaughtSignals;
use super::tree::{Look, ProcessTree, kill_groups, send};

/// For what the command left behind when it ended by itself.
pub(super) const GRACE_FOR_LEFTOVERS: Duration = Duration::from_secs(2);
/// A helper process that ends with its parent, as Python's resource tracker does, is no leftover.
const SETTLING: Duration = Duration::from_millis(100);
/// A process that is stuck in the kernel does not end, and must not hold up the report for ever.
const PATIENCE_AFTER_KILL: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// A tree that is being ended.
pub(super) struct Shutdown {
    asked: HashSet<(i32, u64)>,
    kill_at: Instant,
    stepped_at: Instant,
}

/// What one round of asking or killing found.
struct Step {
    members: usize,
    /// Some of them for the first time.
    any_new: bool,
}

impl Shutdown {
    /// Every process of the tree is asked to end, and is killed when `grace` is over.
    pub(super) fn begin(
        tree: &mut ProcessTree,
        cgroup: Option<&OwnCgroup>,
        grace: Duration,
    ) -> Self {
        let now = Instant::now();
        let mut shutdown = Self {
            asked: HashSet::new(),
            // A grace without end is a year.
            kill_at: now + grace.min(Duration::from_secs(365 * 86_400)),
            stepped_at: now,
        };
        shutdown.step(tree, cgroup);
        shutdown
    }

    /// The rest of the time to end in peace is taken away.
    pub(super) fn hurry(&mut self) {
        self.kill_at = Instant::now();
    }

    /// When to kill, first or again.
    pub(super) fn next_step(&self) -> Instant {
        self.kill_at.max(self.stepped_at + PAUSE)
    }

    /// Kills, when the time has come.
    pub(super) fn go_on(&mut self, tree: &mut ProcessTree, cgroup: Option<&OwnCgroup>) {
        self.step(tree, cgroup);
    }

    /// Asks whom it has not asked, or kills when the time has come.
    fn step(&mut self, tree: &mut ProcessTree, cgroup: Option<&OwnCgroup>) -> Step {
        let members = tree.members(Look::Thorough);
        self.stepped_at = Instant::now();
        let kill = self.stepped_at >= self.kill_at;
        if kill {
            if let Some(cgroup) = cgroup {
                cgroup.kill();
            }
            // Of the dead, too: in such a group another may just have been started.
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
                // A stopped process does not hear otherwise.
                send(process.pid, Signal::SIGCONT);
            }
        }
        Step {
            members: members.len(),
            any_new,
        }
    }

    /// Goes on until the tree is empty; gives how many processes could not be ended.
    pub(super) fn finish(
        &mut self,
        tree: &mut ProcessTree,
        cgroup: Option<&OwnCgroup>,
        signals: &mut CaughtSignals,
    ) -> usize {
        loop {
            let step = self.step(tree, cgroup);
            let now = Instant::now();
            if step.members == 0 || now > self.kill_at + PATIENCE_AFTER_KILL {
                return step.members;
            }
            if signals.take_stop().is_some() {
                self.hurry();
            }
            // Where new ones appear at a kill, at once again: a process that forks is caught only by being faster.
            if now < self.kill_at || !step.any_new {
                signals.wait(PAUSE);
            }
        }
    }
}

/// How many processes are still there when the command's main process has ended.
pub(super) fn leftovers(tree: &mut ProcessTree, signals: &mut CaughtSignals) -> usize {
    let end = Instant::now() + SETTLING;
    loop {
        let members = tree.members(Look::Thorough).len();
        if members == 0 || Instant::now() >= end {
            return members;
        }
        signals.wait(PAUSE);
    }
}
