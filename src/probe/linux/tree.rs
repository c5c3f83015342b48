//! The process tree below the probe.
//!
//! The probe is a child subreaper (`prctl(2)`), so a process whose parent ends becomes the probe's own child, also after
//! `setsid` and a double fork: the tree below the probe is everything that the command started. It is found by one pass
//! over `/proc`. (`/proc/PID/task/TID/children` is not used: it needs one read for each thread, many kernels are built
//! without it, and it may miss a child while a thread ends.)

use std::collections::HashSet;
use std::fs;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpgrp, getppid};

use super::{OwnCgroup, procfs};

/// The number of quick passes between two passes over every process of the host.
const QUICK_PASSES: u32 = 20;

/// A process from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) state: u8,
    /// User and system time, of the process and of its descendants that were waited for.
    pub(super) cpu_ticks: u64,
    /// Since boot; with the pid it identifies a process uniquely.
    pub(super) started_at_ticks: u64,
}

impl Process {
    /// `None` for a process that has ended, as it may between its listing and its reading.
    pub(super) fn read(pid: i32) -> Option<Self> {
        parse_stat(&procfs::process(pid, "stat").ok()?)
    }

    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// Reads one line of `/proc/PID/stat`, `proc_pid_stat(5)`. `None` if it is malformed.
fn parse_stat(line: &[u8]) -> Option<Process> {
    // The name in the second field may hold spaces, parentheses and bytes that are not UTF-8; the last `)` ends it.
    let pid_end = line.iter().position(|byte| *byte == b' ')?;
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let pid = str::from_utf8(&line[..pid_end]).ok()?.parse().ok()?;
    let rest = str::from_utf8(&line[name_end + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
    // Field 3 of the man page is the first one here.
    let field = |number: usize| fields.get(number - 3).copied();
    let ticks = |number| {
        let ticks: i64 = field(number)?.parse().ok()?;
        Some(u64::try_from(ticks).unwrap_or(0))
    };
    Some(Process {
        pid,
        state: *field(3)?.as_bytes().first()?,
        parent: field(4)?.parse().ok()?,
        group: field(5)?.parse().ok()?,
        cpu_ticks: ticks(14)? + ticks(15)? + ticks(16)? + ticks(17)?,
        started_at_ticks: ticks(22)?,
    })
}

/// Those of `candidates` that descend from `root`, parents before children, without `excluded` and their descendants.
fn descendants(root: i32, candidates: &[Process], excluded: &HashSet<i32>) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut members = HashSet::from([root]);
    loop {
        let before = found.len();
        for process in candidates {
            if members.contains(&process.parent)
                && !excluded.contains(&process.pid)
                && members.insert(process.pid)
            {
                found.push(*process);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Skips processes that are known to be outside the tree. A process of the tree that reuses such a number is missed for
    /// at most ten seconds.
    Quick,
    Thorough,
}

/// Finds the processes below the probe.
#[derive(Default)]
pub(super) struct ProcessTree {
    root: i32,
    /// Numbers of processes outside the tree. They cannot move in: only the tree's own orphans become the probe's children.
    foreign: HashSet<i32>,
    /// Descendants of the probe that do not belong to the command, nor do their own descendants.
    pub(super) excluded: HashSet<i32>,
    /// The command's main process: the waiting for this child is left to its owner.
    pub(super) main: Option<i32>,
    /// The command's own cgroup, where it has one.
    pub(super) cgroup: Option<OwnCgroup>,
    /// The CPU time that the root had before; absent where the root does not belong to the tree.
    root_before: Option<u64>,
    quick_passes: u32,
}

impl ProcessTree {
    /// The tree below this process. Existing descendants do not belong to the command: a shell may have started them before
    /// it `exec`ed the probe.
    pub(super) fn of_this_process() -> Self {
        let mut tree = Self::below_this_process();
        let here = tree.processes(Look::Thorough).into_iter();
        tree.excluded = here.map(|process| process.pid).collect();
        tree
    }

    /// Everything below this process.
    pub(super) fn below_this_process() -> Self {
        Self::below(Pid::this().as_raw())
    }

    /// The launcher that started this process, such as torchrun or mpirun, and everything below it, this process apart. It is looked
    /// at and never ended: its processes are the launcher's.
    pub(super) fn of_the_launcher() -> Self {
        let mut tree = Self::below(getppid().as_raw());
        let launcher = Process::read(tree.root);
        tree.root_before = Some(launcher.map_or(0, |process| process.cpu_ticks));
        tree
    }

    fn below(root: i32) -> Self {
        Self {
            root,
            ..Self::default()
        }
    }

    /// The live processes, parents before their children. Reaps orphans that have ended. A launcher's CPU time holds that of its
    /// processes which have ended.
    pub(super) fn processes(&mut self, look: Look) -> Vec<Process> {
        let mut live = Vec::new();
        if let Some(before) = self.root_before
            && let Some(launcher) = Process::read(self.root)
        {
            live.push(Process {
                cpu_ticks: launcher.cpu_ticks.saturating_sub(before),
                ..launcher
            });
        }
        let members = self.members(look).into_iter();
        let own = Pid::this().as_raw();
        live.extend(members.filter(|process| !process.is_dead() && process.pid != own));
        live
    }

    /// The live processes, and the ended ones that this call reaped.
    ///
    /// The tree is empty only if there are neither. A pass may miss processes that start one another and end; but a child of
    /// the probe stays in `/proc` until the probe waits for it, and there is such a child as long as any process lives.
    pub(super) fn members(&mut self, look: Look) -> Vec<Process> {
        self.quick_passes += 1;
        if look == Look::Thorough || self.quick_passes > QUICK_PASSES {
            self.foreign.clear();
            self.quick_passes = 0;
        }
        let mut candidates = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.parse().ok());
            let pid = pid.filter(|pid| *pid != self.root && !self.foreign.contains(pid));
            candidates.extend(pid.and_then(Process::read));
        }
        let found = descendants(self.root, &candidates, &self.excluded);
        let members: HashSet<i32> = found.iter().map(|process| process.pid).collect();
        let seen = candidates.iter().map(|process| process.pid);
        let foreign = seen.filter(|pid| !members.contains(pid));
        self.foreign.extend(foreign);
        let is_orphan = |process: &&Process| {
            process.is_dead() && process.parent == self.root && self.main != Some(process.pid)
        };
        for orphan in found.iter().filter(is_orphan) {
            let _ = waitpid(Pid::from_raw(orphan.pid), Some(WaitPidFlag::WNOHANG));
        }
        found
    }
}

/// Kills the process groups of these processes, except the probe's own: no process can escape a signal to its group by
/// forking.
pub(super) fn kill_groups(processes: &[Process]) {
    let groups: HashSet<i32> = processes.iter().map(|process| process.group).collect();
    for group in groups {
        if group > 1 && group != getpgrp().as_raw() {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

/// Sends a signal to a process that may have ended.
pub(super) fn send(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str) -> Vec<u8> {
        format!("4242 ({name}) S 17 4242 4242 0 -1 4194304 10 20 0 0 150 50 30 -7 20 0 1 0 987654 1000 200 0\n")
            .into_bytes()
    }

    #[test]
    fn a_process_name_cannot_hide_the_fields_after_it() {
        for name in ["python3", "a) b (c", ") R 1 1 (", "", "two\nlines"] {
            assert_eq!(
                parse_stat(&line(name)),
                Some(Process {
                    pid: 4242,
                    parent: 17,
                    group: 4242,
                    state: b'S',
                    cpu_ticks: 230,
                    started_at_ticks: 987_654,
                }),
                "{name}"
            );
        }
        let mut bytes = line("x");
        bytes[6] = 0xff;
        assert!(parse_stat(&bytes).is_some());
        let whole = line("python3");
        // A torn line is no process.
        for length in [0, 4, 9, 20, 60] {
            assert_eq!(parse_stat(&whole[..length]), None, "{length}");
        }
    }

    fn process(pid: i32, parent: i32) -> Process {
        Process {
            pid,
            parent,
            group: pid,
            state: b'S',
            cpu_ticks: 0,
            started_at_ticks: 0,
        }
    }

    #[test]
    fn descendants_are_found_whatever_the_order_of_their_numbers() {
        // 5 is a child of 90, whose number is higher since numbers wrap around.
        let all = [(5, 90), (6, 5), (7, 1), (90, 2), (91, 7), (92, 2), (93, 92)]
            .map(|(pid, parent)| process(pid, parent));
        let pids = |excluded: &[i32]| -> Vec<i32> {
            descendants(2, &all, &excluded.iter().copied().collect())
                .iter()
                .map(|process| process.pid)
                .collect()
        };
        assert_eq!(pids(&[]), [90, 92, 93, 5, 6]);
        assert_eq!(pids(&[92]), [90, 5, 6]);
    }

    #[test]
    fn a_child_is_in_the_tree_of_this_process_and_in_that_of_its_launcher() {
        let mut own = ProcessTree::below_this_process();
        let mut launched = ProcessTree::of_the_launcher();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        own.main = Some(pid);
        let pids = |tree: &mut ProcessTree| -> Vec<i32> {
            let found = tree.processes(Look::Thorough);
            found.iter().map(|process| process.pid).collect()
        };
        assert!(pids(&mut own).contains(&pid));
        let around = pids(&mut launched);
        let has = |pid: i32| around.contains(&pid);
        assert!(has(getppid().as_raw()) && has(pid) && !has(Pid::this().as_raw()));
        // One that is counted twice would double its memory and its time.
        let distinct: HashSet<&i32> = around.iter().collect();
        assert_eq!(distinct.len(), around.len());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!pids(&mut own).contains(&pid));
    }
}
