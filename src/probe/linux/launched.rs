//! The processes of a launcher, such as torchrun or mpirun, that started the probe as one of several on this host.

use nix::unistd::{Pid, getppid};

use super::procfs::KernelFileReader;
use super::tree::{Look, Process, ProcessTree, parse_stat};

/// The launcher and everything below it, the probe's own process apart. It is looked at and never ended: its processes are the
/// launcher's.
pub(super) struct LaunchedTree {
    launcher: i32,
    /// What the launcher had used when the probe began.
    ticks_before: u64,
    tree: ProcessTree,
    reader: KernelFileReader,
}

impl LaunchedTree {
    /// Of the process that started this one.
    pub(super) fn around_this_process() -> Self {
        let launcher = getppid().as_raw();
        let mut tree = Self {
            launcher,
            ticks_before: 0,
            tree: ProcessTree::below(launcher),
            reader: KernelFileReader::default(),
        };
        tree.ticks_before = tree.launcher().map_or(0, |process| process.cpu_ticks);
        tree
    }

    /// Excludes a descendant and its own descendants.
    pub(super) fn exclude(&mut self, pid: i32) {
        self.tree.exclude(pid);
    }

    /// The live processes, parents before their children. The launcher's CPU time holds that of its processes which have ended.
    pub(super) fn processes(&mut self) -> Vec<Process> {
        let launcher = self.launcher();
        let own = Pid::this().as_raw();
        let below = self.tree.processes(Look::Quick).into_iter();
        let below = below.filter(|process| process.pid != own);
        launcher.into_iter().chain(below).collect()
    }

    fn launcher(&mut self) -> Option<Process> {
        let process = parse_stat(self.reader.process(self.launcher, "stat").ok()?)?;
        Some(Process {
            cpu_ticks: process.cpu_ticks.saturating_sub(self.ticks_before),
            ..process
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_the_launcher_started_beside_the_probe_is_seen_once() {
        let own = Pid::this().as_raw();
        let mut tree = LaunchedTree::around_this_process();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let processes = tree.processes();
        let has = |pid: i32| processes.iter().any(|process| process.pid == pid);
        assert!(has(getppid().as_raw()) && has(pid) && !has(own));
        // One that is counted twice would double its memory and its time.
        let distinct: HashSet<i32> = processes.iter().map(|process| process.pid).collect();
        assert_eq!(distinct.len(), processes.len());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
