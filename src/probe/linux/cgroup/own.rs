//! A cgroup of the command's own. It must be a child of the probe's own cgroup: anywhere else the command would escape the limits of the
//! CI job.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::Process;
use super::{Cgroup, CgroupVersion, Controller, membership};

/// How often a removal is tried, with a pause between: on a busy host the kernel releases the last process late.
const REMOVAL_ATTEMPTS: u32 = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);
pub(super) const FOLDER_PREFIX: &str = "canary-gate-";

/// A cgroup made for one command; removed when dropped.
pub(in super::super) struct OwnCgroup {
    pub(in super::super) cgroup: Cgroup,
    above: Controller,
    /// Whether the memory controller was enabled for it, and has to be disabled again.
    switched_on: bool,
}

impl OwnCgroup {
    /// `None` if it cannot be created: no permission, a read-only mount, or (v2) other processes in the probe's own cgroup,
    /// which then cannot have children with controllers.
    pub(in super::super) fn create(controller: &Controller, pid: i32) -> Option<Self> {
        let Cgroup { version, folder } = &controller.own;
        let switch = folder.join("cgroup.subtree_control");
        let mut switched_on = false;
        if *version == CgroupVersion::V2 {
            let enabled = fs::read_to_string(&switch).ok()?;
            let mut enabled = enabled.split_ascii_whitespace();
            if enabled.all(|name| name != "memory") {
                fs::write(&switch, "+memory").ok()?;
                switched_on = true;
            }
        }
        remove_orphans(folder, pid);
        let folder = folder.join(format!("{FOLDER_PREFIX}{pid}"));
        let made = fs::create_dir(&folder);
        let own = Self {
            cgroup: Cgroup {
                version: *version,
                folder,
            },
            above: controller.clone(),
            switched_on,
        };
        made.ok()?;
        own.cgroup.level().is_some().then_some(own)
    }

    /// Runs `start` inside the cgroup, so that the memory of a process it starts counts from its first page, and leaves again. Returns
    /// the cgroup too where it could be entered and left.
    pub(in super::super) fn start_inside<T>(self, start: impl FnOnce() -> T) -> (T, Option<Self>) {
        let pid = std::process::id().to_string();
        let enter = |cgroup: &Cgroup| fs::write(cgroup.folder.join("cgroup.procs"), &pid).is_ok();
        let entered = enter(&self.cgroup);
        let result = start();
        let has_left = entered && enter(&self.above.own);
        (result, has_left.then_some(self))
    }

    /// Whether a process is in it, by the text of its `/proc/PID/cgroup`: one with the rights to may have moved elsewhere.
    pub(in super::super) fn holds(&self, memberships: &[u8]) -> bool {
        let memberships = String::from_utf8_lossy(memberships);
        let own_name = self.cgroup.folder.file_name().unwrap_or_default();
        let own = Path::new(&self.above.own_name).join(own_name);
        let there = membership("memory", &memberships);
        there.is_some_and(|(_, path)| Path::new(path).starts_with(&own))
    }

    /// Where the kernel says how long its processes waited for a CPU; v1 has no such file.
    pub(in super::super) fn cpu_pressure_file(&self) -> Option<PathBuf> {
        let file = self.cgroup.folder.join("cpu.pressure");
        (self.cgroup.version == CgroupVersion::V2 && file.exists()).then_some(file)
    }

    /// Kills every process in it at once, including new ones; only v2 supports this.
    pub(in super::super) fn kill(&self) {
        let _ = fs::write(self.cgroup.folder.join("cgroup.kill"), "1");
    }
}

/// Removes cgroups that killed probes left, with all that runs in them: those named after this process or one that no longer runs,
/// though nobody has waited for it yet.
fn remove_orphans(own: &Path, this: i32) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let owner: Option<i32> = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER_PREFIX)?.parse().ok());
        let is_over = |pid| Process::read(pid).is_none_or(|owner| owner.is_dead());
        if owner.is_some_and(|pid| pid == this || is_over(pid)) {
            empty(&entry.path());
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Ends what a canary left that killed its probe, such as a daemon. The kernel removes only empty cgroups.
fn empty(folder: &Path) {
    for _ in 0..REMOVAL_ATTEMPTS {
        let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        let processes = processes.lines().filter_map(|line| line.parse().ok());
        let ended = processes.map(|pid: i32| kill(Pid::from_raw(pid), Signal::SIGKILL));
        if ended.count() == 0 {
            return;
        }
        thread::sleep(REMOVAL_PAUSE);
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        for _ in 0..REMOVAL_ATTEMPTS {
            match fs::remove_dir(&self.cgroup.folder) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    thread::sleep(REMOVAL_PAUSE);
                }
                _ => break,
            }
        }
        if self.switched_on {
            let switch = self.above.own.folder.join("cgroup.subtree_control");
            let _ = fs::write(switch, "-memory");
        }
    }
}
