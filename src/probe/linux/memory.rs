//! The memory of the tree: its level in each sample, its peak, and whether it leaves the host too little.
//!
//! Only memory that cannot be reclaimed counts: anonymous and shared pages. File-backed pages, including mapped ones
//! (`RssFile`), do not, unless they are locked: the kernel drops them when memory is short and reads them again from the file.

use std::time::Duration;

use signal_hook::consts::SIGTERM;

use super::cgroup::Cgroup;
use super::resident::{MemoryLevel, Proportional, ResidentSum};
use super::spikes::{Holding, ProcessKey, SpikeBound};
use super::usage::{largest_reaped_resident_set, own_cpu_time};
use super::{Ending, OwnCgroup, Process, procfs};
use crate::measurement::PeakMemory;
use crate::units::{Bytes, Percent};

/// A command with this share of a full host's memory is taken to be the cause.
const OWN_FAULT: f64 = 0.5;
/// With less than this share of its memory available a host starts to kill processes or to thrash.
const HOST_RESERVE: f64 = 0.02;
/// If this share of the headroom was used since the last look, the next look comes sooner.
const FAST_GROWTH: f64 = 0.2;

/// Reads `/proc/PID/status`, `proc_pid_status(5)`: what it holds is anonymous and shared, or locked where that is more. `None` for a
/// process that is ending and has no memory any more.
fn parse_status(process: ProcessKey, text: &[u8]) -> Option<Holding> {
    let kept = procfs::size(text, b"RssAnon:")? + procfs::size(text, b"RssShmem:")?;
    Some(Holding {
        process,
        level: kept.max(procfs::size(text, b"VmLck:").unwrap_or_default()),
        high_water: procfs::size(text, b"VmHWM:")?,
    })
}

/// Reads `/proc/PID/smaps_rollup`, `proc_pid_smaps(5)`: the anonymous and shared part of the proportional set size.
fn parse_rollup(text: &[u8]) -> Option<Bytes> {
    Some(procfs::size(text, b"Pss_Anon:")? + procfs::size(text, b"Pss_Shmem:")?)
}

/// The host's memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HostMemory {
    pub(super) total: Bytes,
    available: Bytes,
}

impl HostMemory {
    pub(super) fn now() -> Option<Self> {
        let text = procfs::file("/proc/meminfo").ok()?;
        Some(Self {
            total: procfs::size(&text, b"MemTotal:")?,
            available: procfs::size(&text, b"MemAvailable:")?,
        })
    }
}

/// What a level is of that is read in the container's cgroup, which holds the tree and what else runs there.
pub(super) const OF_CONTAINER: &str = " of all processes";

/// Measures one tree.
#[derive(Default)]
pub(super) struct TreeMemory {
    /// The cgroup that the level is read of, and whose it is in words; `None` where it is read process by process.
    cgroup: Option<(Cgroup, &'static str)>,
    cgroup_peak: Bytes,
    /// What processes of the tree hold that left its cgroup, when they were last looked at.
    outside: Bytes,
    resident: ResidentSum,
    spikes: SpikeBound,
    sampled: bool,
    /// The level at the last look.
    previous_level: Bytes,
}

impl TreeMemory {
    pub(super) fn new(cgroup: Option<(Cgroup, &'static str)>) -> Self {
        Self {
            cgroup,
            ..Self::default()
        }
    }

    /// Looks at the level alone, if a cgroup reports it without a look at every process.
    pub(super) fn glance(&mut self) -> Option<Pressure> {
        let level = self.level_of_cgroup()?;
        Some(self.judge(level))
    }

    fn level_of_cgroup(&mut self) -> Option<Bytes> {
        let level = self.cgroup.as_ref()?.0.level()? + self.outside;
        self.cgroup_peak = self.cgroup_peak.max(level);
        Some(level)
    }

    /// Takes one sample of the processes whose cgroup is `own`, where they have one.
    pub(super) fn observe(
        &mut self,
        elapsed: Duration,
        processes: &[Process],
        own: Option<&OwnCgroup>,
    ) -> Pressure {
        let read = |process: &Process| {
            let key = (process.pid, process.started_at_ticks);
            parse_status(key, &procfs::process(process.pid, "status").ok()?)
        };
        let mut holdings: Vec<Holding> = processes.iter().filter_map(read).collect();
        self.sampled |= !holdings.is_empty();
        if let Some(cgroup) = own {
            let has_left = |one: &&Holding| {
                (procfs::process(one.process.0, "cgroup")).is_ok_and(|text| !cgroup.holds(&text))
            };
            let outside = holdings.iter().filter(has_left);
            self.outside = outside.map(|one| one.level).sum();
        }
        let plain: Bytes = holdings.iter().map(|one| one.level).sum();
        let level = match self.level_of_cgroup() {
            Some(level) => MemoryLevel::Known(level),
            None => (self.resident).observe(plain, holdings.len(), elapsed, || {
                read_proportional(&holdings)
            }),
        };
        let level = match level {
            MemoryLevel::Known(level) => level,
            // An estimate is no basis for a bound.
            MemoryLevel::Estimated(level) => return self.judge(level),
        };
        if plain > level {
            // Shared pages are split among the processes that share them.
            let ratio = level.as_f64() / plain.as_f64();
            for holding in &mut holdings {
                holding.level = Bytes::from_f64(holding.level.as_f64() * ratio);
            }
        }
        let reaped = largest_reaped_resident_set();
        self.spikes.observe(level, &holdings, reaped);
        self.judge(level)
    }

    fn judge(&mut self, level: Bytes) -> Pressure {
        let before = std::mem::replace(&mut self.previous_level, level);
        let grown = Bytes(level.0.saturating_sub(before.0));
        HostMemory::now().map_or(Pressure::None, |host| pressure(level, grown, &host))
    }

    /// The peak over the run and a note on its accuracy; call it when everything has ended.
    pub(super) fn peak(&self, total: Option<Bytes>) -> (PeakMemory, Option<String>) {
        let spikes = self.spikes.bound;
        let (bytes, source, bound, note) = match (&self.cgroup, self.resident.peak()) {
            (Some((cgroup, whose)), _) if self.cgroup_peak > Bytes(0) => {
                // The lower of two bounds: the cgroup's contains page cache, the other contains mapped files.
                let with_cache = cgroup.peak_with_cache();
                let bound = with_cache.map_or(spikes, |bound| bound.min(spikes));
                let source = format!("{}{whose}", cgroup.source());
                (self.cgroup_peak, source, bound, None)
            }
            (None, MemoryLevel::Known(peak)) if self.sampled => {
                let source = "RSS of the process tree, PSS corrected".to_owned();
                (peak, source, spikes, None)
            }
            (None, MemoryLevel::Estimated(peak)) if self.sampled => (
                peak,
                "RSS of the process tree, estimated".to_owned(),
                spikes.max(self.resident.uncorrected),
                Some(
                    "peak memory is an estimate: its processes were not seen long enough to find which pages they share",
                ),
            ),
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
        let percent = total.and_then(|total| Percent::of_bytes(bytes, total));
        let peak = PeakMemory {
            bytes: Some(bytes),
            percent: percent.map(|percent| Percent(percent.0.min(100.0))),
            source,
            upper_bound: (bound > bytes).then_some(bound),
            is_lower_bound: false,
        };
        (peak, note.map(str::to_owned))
    }
}

fn read_proportional(holdings: &[Holding]) -> Option<Proportional> {
    let start = own_cpu_time();
    let (mut bytes, mut plain) = (Bytes(0), Bytes(0));
    for holding in holdings {
        match procfs::process(holding.process.0, "smaps_rollup") {
            // The file is empty for a process that is ending.
            Ok(text) => {
                if let Some(proportional) = parse_rollup(&text) {
                    bytes = bytes + proportional;
                    plain = plain + holding.level;
                }
            }
            // An unreadable process may share pages with the others; a ratio without it would be wrong.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
            Err(_) => {}
        }
    }
    Some(Proportional {
        bytes,
        plain,
        cost: own_cpu_time().saturating_sub(start),
    })
}

/// What a level means for the host.
#[derive(Debug, PartialEq)]
pub(super) enum Pressure {
    None,
    /// Look again soon.
    Rising,
    /// The command must end, and the note says why.
    TooMuch {
        ending: Ending,
        note: String,
    },
}

/// Holds a level, which has grown by so much since the last look, against the host's reserve.
fn pressure(level: Bytes, grown: Bytes, host: &HostMemory) -> Pressure {
    let (available, total) = (host.available.as_f64(), host.total.as_f64());
    let above_reserve = available - total * HOST_RESERVE;
    if above_reserve >= 0.0 {
        return match grown.as_f64() > above_reserve * FAST_GROWTH {
            true => Pressure::Rising,
            false => Pressure::None,
        };
    }
    // The host is short of memory; this command is only to blame for its own part.
    let stopped = Ending::Stopped { signal: SIGTERM };
    let (ending, whose) = match level.as_f64() >= total * OWN_FAULT {
        true => (Ending::OutOfMemory, ""),
        false => (stopped, ", most of it used by other processes"),
    };
    let note = format!(
        "the command was ended at {level} because the host had less than 2% of its memory left{whose}"
    );
    Pressure::TooMuch { ending, note }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_backed_pages_do_not_count() {
        let status = b"Name:\tpython3\nVmHWM:\t  900 kB\nVmRSS:\t  700 kB\nRssAnon:\t  400 kB\nRssFile:\t  250 kB\nRssShmem:\t   50 kB\n";
        let process = (7, 0);
        let held = Holding {
            process,
            level: Bytes(450 * Bytes::KIB),
            high_water: Bytes(900 * Bytes::KIB),
        };
        assert_eq!(parse_status(process, status), Some(held));
        let zombie = b"Name:\tpython3\nState:\tZ (zombie)\n";
        assert_eq!(parse_status(process, zombie), None);
        let rollup =
            b"Rss: 700 kB\nPss: 500 kB\nPss_Anon: 300 kB\nPss_File: 180 kB\nPss_Shmem: 20 kB\n";
        assert_eq!(parse_rollup(rollup), Some(Bytes(320 * Bytes::KIB)));
    }

    #[test]
    fn a_host_that_runs_out_is_protected() {
        let judged = |level, grown, available| {
            let (total, available) = (Bytes(100_000), Bytes(available));
            pressure(Bytes(level), Bytes(grown), &HostMemory { total, available })
        };
        assert_eq!(judged(5_000, 5_000, 60_000), Pressure::None);
        assert_eq!(judged(30_000, 25_000, 35_000), Pressure::Rising);
        for (level, ending, words) in [
            (63_000, Ending::OutOfMemory, "memory left"),
            // What others hold is not the command's fault.
            (
                1_000,
                Ending::Stopped { signal: SIGTERM },
                "by other processes",
            ),
        ] {
            let Pressure::TooMuch { ending: said, note } = judged(level, 0, 1_900) else {
                panic!("it is too much");
            };
            assert_eq!(said, ending);
            assert!(note.ends_with(words), "{note}");
        }
    }
}
