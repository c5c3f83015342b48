//! What cgroups, v1 or v2, say and allow: those of the container, and the command's own.

mod own;

pub(super) use own::OwnCgroup;

use std::fs;
use std::path::{Path, PathBuf};

use super::procfs;
use crate::units::Bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CgroupVersion {
    V1,
    V2,
}

/// One cgroup of the memory controller, or of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cgroup {
    version: CgroupVersion,
    folder: PathBuf,
}

impl Cgroup {
    /// The memory in use that cannot be reclaimed, of all processes in it.
    ///
    /// - v1 (kernel, admin-guide/cgroup-v1/memory.rst): `rss` is anonymous memory and swap cache, huge pages included
    ///   (`rss_huge` is a part of it); shared memory is in `cache`, and apart as `shmem`. `total_` adds child cgroups.
    /// - v2 (kernel, admin-guide/cgroup-v2.rst): `anon` is anonymous memory; `shmem` is what is swap-backed in the
    ///   page cache, such as tmpfs and shared anonymous mappings.
    pub(super) fn level(&self) -> Option<Bytes> {
        let stat = self.read("memory.stat", "memory.stat")?;
        parse_level(self.version, stat.as_bytes())
    }

    /// The file of this name in v1 or in v2.
    fn read(&self, v1: &str, v2: &str) -> Option<String> {
        let name = match self.version {
            CgroupVersion::V1 => v1,
            CgroupVersion::V2 => v2,
        };
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// The highest memory use including page cache: an upper bound.
    pub(super) fn peak_with_cache(&self) -> Option<Bytes> {
        let peak = self.read("memory.max_usage_in_bytes", "memory.peak")?;
        peak.trim().parse().ok().map(Bytes)
    }

    /// How many of its processes the OOM killer has ended, for any shortage.
    pub(super) fn oom_kills(&self) -> Option<u64> {
        let events = self.read("memory.oom_control", "memory.events")?;
        procfs::number(events.as_bytes(), b"oom_kill")
    }

    pub(super) fn source(&self) -> &'static str {
        match self.version {
            CgroupVersion::V1 => "cgroup v1 memory.stat",
            CgroupVersion::V2 => "cgroup v2 memory.stat",
        }
    }
}

/// One controller's place in the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Controller {
    /// Where the hierarchy is mounted.
    mount: PathBuf,
    /// The probe's own cgroup in it.
    pub(super) own: Cgroup,
    /// The same as the kernel names it, `proc_pid_cgroup(5)`.
    own_name: String,
}

impl Controller {
    /// Of this process; `None` where the controller is not mounted.
    pub(super) fn of_this_process(name: &str) -> Option<Self> {
        let memberships = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        Self::find(name, &memberships, &mounts)
    }

    /// Reads `/proc/PID/cgroup`, `cgroups(7)`, and `/proc/PID/mountinfo`, `proc_pid_mountinfo(5)`. A controller that is
    /// in a v1 hierarchy is not in v2.
    fn find(name: &str, memberships: &str, mounts: &str) -> Option<Self> {
        let (version, path) = membership(name, memberships)?;
        mounts.lines().find_map(|line| {
            let (place, system) = line.split_once(" - ")?;
            let mut place = place.split(' ').skip(3);
            let (root, mount) = (place.next()?, place.next()?);
            let mut system = system.split(' ');
            let (kind, options) = (system.next()?, system.nth(1)?);
            let is_it = match version {
                CgroupVersion::V1 => kind == "cgroup" && options.split(',').any(|one| one == name),
                CgroupVersion::V2 => kind == "cgroup2",
            };
            if !is_it {
                return None;
            }
            // A container may see only a part of the hierarchy, with paths relative to its top.
            let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
            Some(Self {
                mount: PathBuf::from(mount),
                own: Cgroup {
                    version,
                    folder: Path::new(mount).join(below),
                },
                own_name: path.to_owned(),
            })
        })
    }

    /// The probe's own cgroup and its visible ancestors.
    fn ancestry(&self) -> impl Iterator<Item = Cgroup> {
        let folders = self.own.folder.ancestors();
        let visible = folders.take_while(|folder| folder.starts_with(&self.mount));
        visible.map(|folder| Cgroup {
            version: self.own.version,
            folder: folder.to_owned(),
        })
    }

    /// The smallest memory limit in effect.
    pub(super) fn memory_limit(&self) -> Option<Bytes> {
        let limit = match self.own.version {
            CgroupVersion::V1 => {
                // The smallest of all above, made by the kernel; without a limit a number near 2^63.
                let stat = self.own.read("memory.stat", "memory.stat")?;
                let limit = procfs::number(stat.as_bytes(), b"hierarchical_memory_limit");
                limit.filter(|limit| *limit < 1 << 62)
            }
            CgroupVersion::V2 => {
                let limit = |one: Cgroup| one.read("memory.max", "memory.max")?.trim().parse().ok();
                self.ancestry().filter_map(limit).min()
            }
        };
        limit.map(Bytes)
    }

    /// The CPU quota in effect, in cores.
    pub(super) fn cpu_quota(&self) -> Option<f64> {
        let quotas = self.ancestry().filter_map(|cgroup| {
            let quota = cgroup.read("cpu.cfs_quota_us", "cpu.max")?;
            let period = cgroup.read("cpu.cfs_period_us", "").unwrap_or_default();
            parse_quota(&format!("{quota} {period}"))
        });
        quotas.min_by(f64::total_cmp)
    }
}

/// The version of a controller's hierarchy and the cgroup in it.
fn membership<'a>(controller: &str, memberships: &'a str) -> Option<(CgroupVersion, &'a str)> {
    let mut unified = None;
    for line in memberships.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        if controllers.split(',').any(|one| one == controller) {
            return Some((CgroupVersion::V1, path));
        }
        if controllers.is_empty() {
            unified = Some((CgroupVersion::V2, path));
        }
    }
    unified
}

/// `200000 100000` are two cores; `max` and -1 mean no quota.
fn parse_quota(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// OOM kills that may have hit a command without a cgroup of its own: those in the probe's cgroup and on the whole host.
pub(super) struct OomKills {
    cgroup: Option<Cgroup>,
    before: [Option<u64>; 2],
}

impl OomKills {
    /// From now on.
    pub(super) fn watch(controller: Option<&Controller>) -> Self {
        let cgroup = controller.map(|controller| controller.own.clone());
        let before = Self::now(cgroup.as_ref());
        Self { cgroup, before }
    }

    fn now(cgroup: Option<&Cgroup>) -> [Option<u64>; 2] {
        let of_host = fs::read("/proc/vmstat").ok();
        let of_host = of_host.and_then(|text| procfs::number(&text, b"oom_kill"));
        [cgroup.and_then(Cgroup::oom_kills), of_host]
    }

    /// Whether a process was killed since the watch began.
    pub(super) fn have_risen(&self) -> bool {
        let now = Self::now(self.cgroup.as_ref());
        let mut kills = now.into_iter().zip(self.before);
        kills.any(|(now, before)| now > before)
    }
}

fn parse_level(version: CgroupVersion, stat: &[u8]) -> Option<Bytes> {
    let (anonymous, shared, locked): (&[u8], &[u8], &[u8]) = match version {
        CgroupVersion::V1 => (b"total_rss", b"total_shmem", b"total_unevictable"),
        CgroupVersion::V2 => (b"anon", b"shmem", b"unevictable"),
    };
    // Locked pages of files cannot be reclaimed either; locked ones of the others are counted already.
    let bytes = |key| procfs::number(stat, key).map(Bytes);
    let kept = bytes(anonymous)? + bytes(shared)?;
    Some(kept.max(bytes(locked).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::{own::FOLDER_PREFIX, *};

    const HYBRID: &str = "9:name=systemd:/\n4:memory:/ci/job 1\n2:cpu,cpuacct:/\n0::/\n";
    const HYBRID_MOUNTS: &str = "\
        30 25 0:26 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
        33 25 0:29 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
        34 25 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        35 25 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const UNIFIED: &str = "35 25 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
    /// A container sees its own part of the hierarchy.
    const OF_CONTAINER: &str =
        "33 25 0:29 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";

    #[test]
    fn a_controller_is_found_where_it_is_mounted_in_v1_before_v2() {
        use CgroupVersion::{V1, V2};
        let container = |path: &str| format!("4:memory:{path}\n");
        for (name, memberships, mounts, expected) in [
            (
                "memory",
                HYBRID,
                HYBRID_MOUNTS,
                Some((V1, "/memory/ci/job 1")),
            ),
            ("cpu", HYBRID, HYBRID_MOUNTS, Some((V1, "/cpu,cpuacct"))),
            (
                "memory",
                "0::/user.slice/run\n",
                UNIFIED,
                Some((V2, "/user.slice/run")),
            ),
            (
                "memory",
                &container("/docker/abc"),
                OF_CONTAINER,
                Some((V1, "/memory")),
            ),
            (
                "memory",
                &container("/docker/abc/sub"),
                OF_CONTAINER,
                Some((V1, "/memory/sub")),
            ),
            ("memory", "0::/\n", "", None),
        ] {
            let found = Controller::find(name, memberships, mounts).map(|found| found.own);
            let expected = expected.map(|(version, below)| Cgroup {
                version,
                folder: format!("/sys/fs/cgroup{below}").into(),
            });
            assert_eq!(found, expected, "{name} of {memberships}");
        }
    }

    #[test]
    fn the_level_is_anonymous_and_shared_memory_without_page_cache() {
        use CgroupVersion::{V1, V2};
        let v1 = "cache 900\nrss 1\nrss_huge 1\nshmem 2\ntotal_cache 9000\ntotal_rss 400\ntotal_rss_huge 300\ntotal_shmem 50\n";
        for (version, stat, level) in [
            (V1, v1, Some(450)),
            (
                V2,
                "anon 400\nfile 9000\nanon_thp 300\nshmem_thp 9\nshmem 50\n",
                Some(450),
            ),
            (V2, "file 9000\n", None),
            // Locked.
            (
                V2,
                "anon 400\nfile 9000\nshmem 50\nunevictable 8000\n",
                Some(8000),
            ),
        ] {
            let level = level.map(Bytes);
            assert_eq!(parse_level(version, stat.as_bytes()), level, "{stat}");
        }
    }

    fn controller(version: CgroupVersion, mount: &Path, below: &str) -> Controller {
        Controller {
            mount: mount.to_owned(),
            own: Cgroup {
                version,
                folder: mount.join(below),
            },
            own_name: format!("/{below}"),
        }
    }

    #[test]
    fn the_smallest_limit_above_holds() {
        let mount = tempfile::tempdir().unwrap();
        fs::create_dir_all(mount.path().join("job/step")).unwrap();
        let controller = controller(CgroupVersion::V2, mount.path(), "job/step");
        for (own, above, quota) in [
            ("400000 100000\n", "50000 100000\n", Some(0.5)),
            ("150000 100000\n", "max 100000\n", Some(1.5)),
            ("-1\n 100000\n", "max 100000\n", None),
        ] {
            for (file, text) in [
                ("job/step/memory.max", "max\n"),
                ("job/memory.max", "1048576\n"),
                ("job/step/cpu.max", own),
                ("job/cpu.max", above),
            ] {
                fs::write(mount.path().join(file), text).unwrap();
            }
            assert_eq!(controller.memory_limit(), Some(Bytes(1_048_576)));
            assert_eq!(controller.cpu_quota(), quota);
        }
    }

    #[test]
    fn a_killed_probes_cgroup_is_removed_by_the_next_one_and_none_is_made_elsewhere() {
        let mount = tempfile::tempdir().unwrap();
        let living = std::process::id().to_string();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let zombie = i32::try_from(ended.id()).unwrap();
        while !super::super::Process::read(zombie).unwrap().is_dead() {}
        for name in ["999999999", &living, &zombie.to_string(), "x"] {
            fs::create_dir(mount.path().join(format!("{FOLDER_PREFIX}{name}"))).unwrap();
        }
        let controller = controller(CgroupVersion::V1, mount.path(), "");
        assert!(OwnCgroup::create(&controller, 7).is_none());
        ended.wait().unwrap();
        let left = fs::read_dir(mount.path()).unwrap();
        let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(
            left,
            [format!("canary-gate-{living}"), "canary-gate-x".to_owned()]
        );
    }
}
