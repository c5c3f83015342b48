//! CPU time of the tree, as a share of the whole host, and what else the kernel says of children that were waited for.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};

use super::shares::Shares;
use super::tree::Process;
use crate::measurement::Utilization;
use crate::units::{Bytes, Seconds};

/// User and system time; zero if the kernel does not report it.
fn cpu_time(of: UsageWho) -> Duration {
    getrusage(of).map_or(Duration::ZERO, |usage| {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    })
}

/// A CPU time of `/proc`.
pub(super) fn of_ticks(ticks: u64) -> Seconds {
    // Ticks as seconds: an exact conversion to a float.
    Seconds(Duration::from_secs(ticks).as_secs_f64() / ticks_per_second())
}

/// The unit of CPU times in `/proc`.
pub(super) fn ticks_per_second() -> f64 {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    let ticks = ticks.and_then(|ticks| i32::try_from(ticks).ok());
    ticks.map_or(100.0, f64::from)
}

/// CPU time that the calling thread has used.
pub(super) fn own_cpu_time() -> Duration {
    cpu_time(UsageWho::RUSAGE_THREAD)
}

/// CPU seconds of reaped children, including those that they reaped.
fn reaped_cpu_seconds() -> f64 {
    cpu_time(UsageWho::RUSAGE_CHILDREN).as_secs_f64()
}

/// The largest resident set of any reaped descendant, including file-backed pages.
pub(super) fn largest_reaped_resident_set() -> Bytes {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok();
    let kilobytes = usage.and_then(|usage| u64::try_from(usage.max_rss()).ok());
    Bytes(kilobytes.unwrap_or(0) * Bytes::KIB)
}

/// CPU time of the tree: of live and of reaped processes.
///
/// The time of a process that ends without being reaped (its parent ignores SIGCHLD) is lost from the sum; then the highest
/// sum ever seen counts.
pub(super) struct CpuTime {
    cores: f64,
    reaped_before: f64,
    highest: f64,
    /// When the last sample was taken, and its sum.
    previous: (Duration, f64),
    shares: Shares,
}

impl CpuTime {
    pub(super) fn new(cores: f64) -> Self {
        Self {
            cores,
            reaped_before: reaped_cpu_seconds(),
            highest: 0.0,
            previous: (Duration::ZERO, 0.0),
            shares: Shares::default(),
        }
    }

    /// Takes one sample. The processes are listed parents first, so that a child which ends meanwhile is missed once and not
    /// counted twice.
    pub(super) fn observe(&mut self, elapsed: Duration, processes: &[Process]) {
        let ticks: u64 = processes.iter().map(|process| process.cpu_ticks).sum();
        self.take(elapsed, self.of_ended().0 + of_ticks(ticks).0);
    }

    fn take(&mut self, elapsed: Duration, total: f64) {
        let (before, previous) = std::mem::replace(&mut self.previous, (elapsed, total));
        let capacity = (elapsed.saturating_sub(before)).as_secs_f64() * self.cores;
        if capacity > 0.0 {
            self.shares.add((total - previous) / capacity * 100.0);
        }
        self.highest = self.highest.max(total);
    }

    /// The CPU time of the tree; call it when everything has been reaped.
    pub(super) fn total(&self) -> Seconds {
        Seconds(self.of_ended().0.max(self.highest))
    }

    /// The CPU time of processes that have been reaped.
    pub(super) fn of_ended(&self) -> Seconds {
        Seconds(reaped_cpu_seconds() - self.reaped_before)
    }

    /// The mean over the run, and the 99th percentile of the samples.
    pub(super) fn utilization(&self, total: Seconds, wall: Seconds) -> Option<Utilization> {
        let capacity = wall.0 * self.cores;
        (capacity > 0.0).then(|| {
            let mean = (total.0 / capacity * 100.0).clamp(0.0, 100.0);
            Utilization::new(mean, self.shares.p99(), "CPU time of the process tree")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Percent;

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
