//! The memory of the tree: its level in each sample, its peak, and whether it leaves the host too little.
//!
//! Only memory that cannot be reclaimed counts: anonymous and shared pages. File-backed pages, including mapped ones
//! (`RssFile`), do not, unless they are locked: the kernel drops them when memory is short and reads them again from the file.

use std::time::Duration;

use signal_hook::consts::SIGTERM;

use super::cgroup::{Cgroup, OwnCgroup};
use super::ending::Ending;
use super::procfs::{self, KernelFileReader};
use super::resident::{MemoryLevel, Proportional, ResidentSum};
use super::spikes::{Holding, SpikeBound};
use super::tree::Process;
use super::usage::{largest_reaped_resident_set, own_cpu_time};
use crate::measurement::PeakMemory;
use crate::units::{Bytes, Percent};

/// A command with this share of a full host's memory is taken to be the cause.
const OWN_FAULT: f64 = 0.5;
/// With less than this share of its memory available a host starts to kill processes or to thrash.
const HOST_RESERVE: f64 = 0.02;
/// If this share of the headroom was used since the last look, the next look comes sooner.
const FAST_GROWTH: f64 = 0.2;

/// The memory of one process from `/proc/PID/status`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Resident {
    /// Anonymous and shared, or locked where that is more.
    kept: u64,
    high_water: u64,
}

/// Reads `/proc/PID/status`, `proc_pid_status(5)`. `None` for a process that is ending and has no memory any more.
fn parse_status(text: &[u8]) -> Option<Resident> {
    let kept = procfs::kibibytes(text, b"RssAnon:")? + procfs::kibibytes(text, b"RssShmem:")?;
    Some(Resident {
        kept: kept.max(procfs::kibibytes(text, b"VmLck:").unwrap_or(0)),
        high_water: procfs::kibibytes(text, b"VmHWM:")?,
    })
}

/// Reads `/proc/PID/smaps_rollup`, `proc_pid_smaps(5)`: the anonymous and shared part of the proportional set size.
fn parse_rollup(text: &[u8]) -> Option<u64> {
    Some(procfs::kibibytes(text, b"Pss_Anon:")? + procfs::kibibytes(text, b"Pss_Shmem:")?)
}

/// The host's memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostMemory {
    pub(super) total: u64,
    pub(super) available: u64,
}

impl HostMemory {
    pub(super) fn now(reader: &mut KernelFileReader) -> Option<Self> {
        Self::parse(reader.file("/proc/meminfo").ok()?)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        Some(Self {
            total: procfs::kibibytes(text, b"MemTotal:")?,
            available: procfs::kibibytes(text, b"MemAvailable:")?,
        })
    }
}

/// Where the level of memory is read.
pub(super) enum LevelSource {
    /// A cgroup that holds the tree alone.
    OwnCgroup(OwnCgroup),
    /// The container's, which holds the tree and what else runs there.
    Container(Cgroup),
    /// Process by process.
    Processes,
}

impl LevelSource {
    fn cgroup(&self) -> Option<&Cgroup> {
        match self {
            Self::OwnCgroup(own) => Some(&own.cgroup),
            Self::Container(cgroup) => Some(cgroup),
            Self::Processes => None,
        }
    }

    /// `None` where there is no cgroup.
    fn words(&self) -> Option<String> {
        let all = match self {
            Self::Container(_) => " of all processes",
            Self::OwnCgroup(_) | Self::Processes => "",
        };
        Some(format!("{}{all}", self.cgroup()?.source()))
    }
}

/// Measures one tree.
pub(super) struct TreeMemory {
    source: LevelSource,
    cgroup_peak: u64,
    /// What processes of the tree hold that left its cgroup, when they were last looked at.
    outside: u64,
    resident: ResidentSum,
    spikes: SpikeBound,
    sampled: bool,
}

impl TreeMemory {
    pub(super) fn new(source: LevelSource) -> Self {
        Self {
            source,
            cgroup_peak: 0,
            outside: 0,
            resident: ResidentSum::new(),
            spikes: SpikeBound::default(),
            sampled: false,
        }
    }

    /// The tree's own, if it has one.
    pub(super) fn cgroup(&self) -> Option<&OwnCgroup> {
        match &self.source {
            LevelSource::OwnCgroup(cgroup) => Some(cgroup),
            LevelSource::Container(_) | LevelSource::Processes => None,
        }
    }

    /// The level now, if a cgroup reports it without a look at every process.
    pub(super) fn glance(&mut self) -> Option<Bytes> {
        let level = self.source.cgroup()?.level()? + self.outside;
        self.cgroup_peak = self.cgroup_peak.max(level);
        Some(Bytes(level))
    }

    /// Takes one sample and returns the level.
    pub(super) fn observe(
        &mut self,
        reader: &mut KernelFileReader,
        elapsed: Duration,
        processes: &[Process],
    ) -> Bytes {
        let residents: Vec<(&Process, Resident)> = processes
            .iter()
            .filter_map(|process| {
                let status = reader.process(process.pid, "status").ok()?;
                Some((process, parse_status(status)?))
            })
            .collect();
        self.sampled |= !residents.is_empty();
        if let LevelSource::OwnCgroup(cgroup) = &self.source {
            let mut has_left = |process: &Process| {
                (reader.process(process.pid, "cgroup")).is_ok_and(|text| !cgroup.holds(text))
            };
            self.outside = residents
                .iter()
                .filter(|(process, _)| has_left(process))
                .map(|(_, resident)| resident.kept)
                .sum();
        }
        let plain = Bytes(residents.iter().map(|(_, resident)| resident.kept).sum()).as_f64();
        let level = match self.glance() {
            Some(level) => MemoryLevel::Known(level.as_f64()),
            None => self.resident.observe(plain, residents.len(), elapsed, || {
                read_proportional(reader, &residents)
            }),
        };
        let level = match level {
            MemoryLevel::Known(level) => level,
            // An estimate is no basis for a bound.
            MemoryLevel::Estimated(level) => return Bytes::from_f64(level),
        };
        // Shared pages are split among the processes that share them.
        let ratio = if plain > 0.0 {
            (level / plain).min(1.0)
        } else {
            1.0
        };
        let holdings: Vec<Holding> = residents
            .iter()
            .map(|(process, resident)| Holding {
                process: (process.pid, process.started_at_ticks),
                level: Bytes(resident.kept).as_f64() * ratio,
                high_water: Bytes(resident.high_water).as_f64(),
            })
            .collect();
        self.spikes.observe(
            level,
            &holdings,
            Bytes(largest_reaped_resident_set()).as_f64(),
        );
        Bytes::from_f64(level)
    }

    /// The peak over the run and a note on its accuracy; call it when everything has ended.
    pub(super) fn peak(&self, total: Option<Bytes>) -> (PeakMemory, Option<String>) {
        let spikes = Bytes::from_f64(self.spikes.bound());
        let (bytes, source, bound, note) = match self.source.words() {
            Some(words) if self.cgroup_peak > 0 => {
                // The lower of two bounds: the cgroup's contains page cache, the other contains mapped files.
                let with_cache = self.source.cgroup().and_then(Cgroup::peak_with_cache);
                let with_cache = with_cache.map_or(spikes, Bytes);
                (Bytes(self.cgroup_peak), words, spikes.min(with_cache), None)
            }
            None if self.sampled => match self.resident.peak() {
                MemoryLevel::Known(peak) => (
                    Bytes::from_f64(peak),
                    "RSS of the process tree, PSS corrected".to_owned(),
                    spikes,
                    None,
                ),
                MemoryLevel::Estimated(peak) => (
                    Bytes::from_f64(peak),
                    "RSS of the process tree, estimated".to_owned(),
                    spikes.max(Bytes::from_f64(self.resident.uncorrected())),
                    Some(
                        "peak memory is an estimate: its processes were not seen long enough to find which pages they share",
                    ),
                ),
            },
            _ => (
                spikes,
                "rusage of the children".to_owned(),
                spikes,
                Some(
                    "the run was too short to sample memory: the peak is an upper bound, the largest resident set of one process with its mapped files",
                ),
            ),
        };
        // A sum over processes counts shared pages twice.
        let bytes = total.map_or(bytes, |total| bytes.min(total));
        let peak = PeakMemory {
            bytes: Some(bytes),
            percent: total
                .and_then(|total| Percent::of_bytes(bytes, total))
                .map(|percent| Percent(percent.0.min(100.0))),
            source,
            upper_bound: (bound > bytes).then_some(bound),
            is_lower_bound: false,
        };
        (peak, note.map(str::to_owned))
    }
}

fn read_proportional(
    reader: &mut KernelFileReader,
    residents: &[(&Process, Resident)],
) -> Option<Proportional> {
    let start = own_cpu_time();
    let (mut bytes, mut plain) = (0, 0);
    for (process, resident) in residents {
        match reader.process(process.pid, "smaps_rollup") {
            // The file is empty for a process that is ending.
            Ok(text) => {
                if let Some(proportional) = parse_rollup(text) {
                    bytes += proportional;
                    plain += resident.kept;
                }
            }
            // An unreadable process may share pages with the others; a ratio without it would be wrong.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
            Err(_) => {}
        }
    }
    Some(Proportional {
        bytes: Bytes(bytes).as_f64(),
        plain_bytes: Bytes(plain).as_f64(),
        cost: own_cpu_time().saturating_sub(start),
    })
}

/// Watches the level against the host's reserve.
#[derive(Debug, Default)]
pub(super) struct MemoryGuard {
    previous_level: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressure {
    None,
    /// Look again soon.
    Rising,
    TooMuch(Ending),
}

impl MemoryGuard {
    pub(super) fn judge(&mut self, level: Bytes, host: Option<HostMemory>) -> Pressure {
        let grown = level.as_f64() - self.previous_level;
        self.previous_level = level.as_f64();
        let above_reserve = host.map_or(f64::INFINITY, |host| {
            Bytes(host.available).as_f64() - Bytes(host.total).as_f64() * HOST_RESERVE
        });
        if above_reserve < 0.0 {
            // The host is short of memory; this command is only to blame for its own part.
            let is_ours =
                host.is_some_and(|host| level.as_f64() >= Bytes(host.total).as_f64() * OWN_FAULT);
            return Pressure::TooMuch(if is_ours {
                Ending::OutOfMemory
            } else {
                Ending::Stopped { signal: SIGTERM }
            });
        }
        if grown > above_reserve * FAST_GROWTH {
            Pressure::Rising
        } else {
            Pressure::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_backed_pages_do_not_count() {
        let status = b"Name:\tpython3\nVmHWM:\t  900 kB\nVmRSS:\t  700 kB\nRssAnon:\t  400 kB\nRssFile:\t  250 kB\nRssShmem:\t   50 kB\n";
        assert_eq!(
            parse_status(status),
            Some(Resident {
                kept: 450 * 1024,
                high_water: 900 * 1024
            })
        );
        assert_eq!(parse_status(b"Name:\tpython3\nState:\tZ (zombie)\n"), None);
        let rollup =
            b"Rss: 700 kB\nPss: 500 kB\nPss_Anon: 300 kB\nPss_File: 180 kB\nPss_Shmem: 20 kB\n";
        assert_eq!(parse_rollup(rollup), Some(320 * 1024));
    }

    #[test]
    fn a_host_that_runs_out_is_protected() {
        let mut guard = MemoryGuard::default();
        let host = |available| {
            Some(HostMemory {
                total: 100_000,
                available,
            })
        };
        assert_eq!(guard.judge(Bytes(5_000), host(60_000)), Pressure::None);
        assert_eq!(guard.judge(Bytes(30_000), host(35_000)), Pressure::Rising);
        assert_eq!(
            guard.judge(Bytes(63_000), host(1_900)),
            Pressure::TooMuch(Ending::OutOfMemory)
        );
        // What others hold is not the command's fault.
        assert_eq!(
            guard.judge(Bytes(1_000), host(1_900)),
            Pressure::TooMuch(Ending::Stopped { signal: SIGTERM })
        );
        assert_eq!(guard.judge(Bytes(63_000), None), Pressure::None);
    }
}
