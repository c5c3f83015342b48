//! CPU time of the tree, and the host's I/O wait, as shares of the whole host.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};

use super::procfs::KernelFileReader;
use super::shares::Shares;
use super::tree::Process;
use crate::measurement::Utilization;
use crate::units::{Percent, Seconds};

/// User and system time; zero if the kernel does not report it.
fn cpu_time(of: UsageWho) -> Duration {
    getrusage(of).map_or(Duration::ZERO, |usage| {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    })
}

/// The unit of CPU times in `/proc`.
pub(super) fn ticks_per_second() -> f64 {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    ticks
        .and_then(|ticks| i32::try_from(ticks).ok())
        .map_or(100.0, f64::from)
}

/// CPU time that the calling thread has used.
pub(super) fn own_cpu_time() -> Duration {
    cpu_time(UsageWho::RUSAGE_THREAD)
}

/// CPU seconds of reaped children, including those that they reaped.
fn reaped_cpu_seconds() -> f64 {
    cpu_time(UsageWho::RUSAGE_CHILDREN).as_secs_f64()
}

/// The largest resident set of any reaped descendant, in bytes, including file-backed pages.
pub(super) fn largest_reaped_resident_set() -> u64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| {
        // In kilobytes, getrusage(2).
        u64::try_from(usage.max_rss()).unwrap_or(0) * 1024
    })
}

/// CPU time of the tree: of live and of reaped processes.
///
/// The time of a process that ends without being reaped (its parent ignores SIGCHLD) is lost from the sum; then the highest
/// sum ever seen counts.
pub(super) struct CpuTime {
    cores: f64,
    ticks_per_second: f64,
    reaped_before: f64,
    highest: f64,
    previous: Option<(Duration, f64)>,
    shares: Shares,
}

impl CpuTime {
    pub(super) fn new(cores: f64) -> Self {
        Self {
            cores,
            ticks_per_second: ticks_per_second(),
            reaped_before: reaped_cpu_seconds(),
            highest: 0.0,
            previous: Some((Duration::ZERO, 0.0)),
            shares: Shares::new(),
        }
    }

    /// Takes one sample. The processes are listed parents first, so that a child which ends meanwhile is missed once and not
    /// counted twice.
    pub(super) fn observe(&mut self, elapsed: Duration, processes: &[Process]) {
        let ticks: u64 = processes.iter().map(|process| process.cpu_ticks).sum();
        // Ticks as seconds: an exact conversion to a float.
        let living = Duration::from_secs(ticks).as_secs_f64() / self.ticks_per_second;
        self.take(elapsed, reaped_cpu_seconds() - self.reaped_before + living);
    }

    fn take(&mut self, elapsed: Duration, total: f64) {
        if let Some((before, previous)) = self.previous {
            let capacity = (elapsed.saturating_sub(before)).as_secs_f64() * self.cores;
            if capacity > 0.0 {
                self.shares.add((total - previous) / capacity * 100.0);
            }
        }
        self.previous = Some((elapsed, total));
        self.highest = self.highest.max(total);
    }

    /// The CPU time of the tree; call it when everything has been reaped.
    pub(super) fn total(&self) -> Seconds {
        Seconds((reaped_cpu_seconds() - self.reaped_before).max(self.highest))
    }

    /// The mean over the run, and the 99th percentile of the samples.
    pub(super) fn utilization(&self, total: Seconds, wall: Seconds) -> Option<Utilization> {
        let capacity = wall.0 * self.cores;
        (capacity > 0.0).then(|| Utilization {
            mean: Percent((total.0 / capacity * 100.0).clamp(0.0, 100.0)),
            p99: self.shares.p99(),
            source: "CPU time of the process tree".to_owned(),
        })
    }
}

/// The host's CPU time by use, in ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostCpu {
    io_wait: u64,
    idle: u64,
    total: u64,
}

impl HostCpu {
    pub(super) fn now(reader: &mut KernelFileReader) -> Option<Self> {
        reader.file("/proc/stat").ok().and_then(parse_host_cpu)
    }

    /// The ticks since an earlier reading in which some work ran, on any CPU, and all of them. `None` if no tick passed.
    pub(super) fn busy_since(self, earlier: Self) -> Option<(u64, u64)> {
        let total = (self.total.checked_sub(earlier.total)).filter(|ticks| *ticks > 0)?;
        // `proc_stat(5)`: the I/O wait may decrease.
        let rest = (self.idle + self.io_wait).saturating_sub(earlier.idle + earlier.io_wait);
        Some((total.saturating_sub(rest), total))
    }
}

/// Reads the first line of `/proc/stat`, `proc_stat(5)`: user nice system idle iowait irq softirq steal, and the time of
/// guests, which is in user and nice already.
pub(super) fn parse_host_cpu(text: &[u8]) -> Option<HostCpu> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let mut words = str::from_utf8(line).ok()?.split_ascii_whitespace();
    if words.next()? != "cpu" {
        return None;
    }
    let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    Some(HostCpu {
        io_wait: *ticks.get(4)?,
        idle: *ticks.get(3)?,
        total: ticks.iter().sum(),
    })
}

fn io_wait_percent(from: HostCpu, to: HostCpu) -> Option<f64> {
    // `proc_stat(5)`: the I/O wait may decrease.
    let total = to
        .total
        .checked_sub(from.total)
        .filter(|ticks| *ticks > 0)?;
    let wait = to.io_wait.saturating_sub(from.io_wait);
    let share = f64::from(u32::try_from(wait).ok()?) / f64::from(u32::try_from(total).ok()?);
    Some((share * 100.0).clamp(0.0, 100.0))
}

/// The share of the host's CPU time in which a core was idle because a process waited for a disk.
pub(super) struct IoWait {
    first: Option<HostCpu>,
    previous: Option<HostCpu>,
    shares: Shares,
}

impl IoWait {
    pub(super) fn new(reader: &mut KernelFileReader) -> Self {
        let first = HostCpu::now(reader);
        Self {
            first,
            previous: first,
            shares: Shares::new(),
        }
    }

    pub(super) fn observe(&mut self, reader: &mut KernelFileReader) {
        let Some(reading) = HostCpu::now(reader) else {
            return;
        };
        if let Some(share) = self
            .previous
            .and_then(|previous| io_wait_percent(previous, reading))
        {
            self.shares.add(share);
        }
        self.previous = Some(reading);
    }

    /// `None` if the run was too short for the host's clock of ten milliseconds, or `/proc/stat` cannot be read.
    pub(super) fn utilization(&self) -> Option<Utilization> {
        Some(Utilization {
            mean: Percent(io_wait_percent(self.first?, self.previous?)?),
            p99: self.shares.p99(),
            source: "/proc/stat of the host".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_wait_is_a_share_of_all_cpu_time() {
        // 100 ticks later: 10 user, 60 idle, 30 waiting for a disk.
        let before = b"cpu  1000 0 500 8000 200 0 10 0 300 0\ncpu0 1 2 3\n";
        let after = b"cpu  1010 0 500 8060 230 0 10 0 305 0\n";
        let (from, to) = (
            parse_host_cpu(before).unwrap(),
            parse_host_cpu(after).unwrap(),
        );
        assert_eq!(from.total, 9710);
        assert_eq!(io_wait_percent(from, to), Some(30.0));
        assert_eq!(io_wait_percent(to, to), None);
        assert_eq!(io_wait_percent(to, from), None);
        assert_eq!(parse_host_cpu(b"intr 1 2 3 4 5 6\n"), None);
        assert_eq!(parse_host_cpu(b"cpu 1 2 3\n"), None);
    }

    #[test]
    fn cpu_is_a_share_of_every_core() {
        let mut cpu = CpuTime::new(4.0);
        for step in 1..=20_u32 {
            // Two of four cores busy.
            cpu.take(Duration::from_millis(500) * step, f64::from(step));
        }
        // A child that was counted in full by its parent's death a moment later.
        cpu.take(Duration::from_millis(10_500), 19.0);
        let usage = cpu.utilization(Seconds(20.0), Seconds(10.0)).unwrap();
        assert_eq!(usage.mean, Percent(50.0));
        assert_eq!(usage.p99, Some(Percent(50.0)));
        assert_eq!(cpu.highest, 20.0);
        assert_eq!(cpu.utilization(Seconds(1.0), Seconds(0.0)), None);
        let over = cpu.utilization(Seconds(99.0), Seconds(1.0)).unwrap();
        assert_eq!(over.mean, Percent(100.0));
    }
}
