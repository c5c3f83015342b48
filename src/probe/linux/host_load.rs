//! What the machine did beside the command: waited for a disk, worked for other processes, and let the command wait for a CPU.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::shares::Shares;
use super::usage::{own_cpu_time, ticks_per_second};
use super::{OwnCgroup, Process, procfs};
use crate::measurement::{Usage, Utilization};
use crate::units::Seconds;

/// In `/proc/PID`, `Documentation/scheduler/sched-stats.rst`: for how many nanoseconds the main thread ran, and waited for a CPU.
const WAITED: &str = "schedstat";
/// The whole machine's.
const HOST_PRESSURE: &str = "/proc/pressure/cpu";

/// The time in which something on this machine waited for a CPU since it was started; `None` where the kernel does not say it.
pub fn cpu_pressure() -> Option<Duration> {
    parse_pressure(&procfs::file(HOST_PRESSURE).ok()?)
}

/// Reads `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, `Documentation/accounting/psi.rst`: the time in which at least
/// one process waited for a CPU. `None` if it is another text.
fn parse_pressure(text: &[u8]) -> Option<Duration> {
    let line = str::from_utf8(text).ok()?.lines().next()?;
    let mut words = line.split_ascii_whitespace();
    if words.next()? != "some" {
        return None;
    }
    let micros = words.find_map(|word| word.strip_prefix("total="))?;
    Some(Duration::from_micros(micros.parse().ok()?))
}

/// The host's CPU time by use, in ticks: since boot, or between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
struct HostCpu {
    /// A core was idle because a process waited for a disk.
    io_wait: f64,
    /// Idle, for a disk or for nothing.
    idle: f64,
    total: f64,
}

impl HostCpu {
    fn now() -> Option<Self> {
        Self::parse(&procfs::file("/proc/stat").ok()?)
    }

    /// Reads the first line of `/proc/stat`, `proc_stat(5)`: user nice system idle iowait irq softirq steal, and the time of
    /// guests, which is in user and nice already.
    fn parse(text: &[u8]) -> Option<Self> {
        let line = text.split(|byte| *byte == b'\n').next()?;
        let ticks = str::from_utf8(line).ok()?.strip_prefix("cpu ")?;
        let ticks = ticks.split_ascii_whitespace().take(8);
        let ticks: Vec<f64> = ticks.map_while(|word| word.parse().ok()).collect();
        let io_wait = *ticks.get(4)?;
        Some(Self {
            io_wait,
            idle: ticks[3] + io_wait,
            total: ticks.iter().sum(),
        })
    }

    /// The ticks since an earlier reading; `None` if none passed.
    fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            total: Some(self.total - earlier.total).filter(|ticks| *ticks > 0.0)?,
            // `proc_stat(5)`: the I/O wait may decrease.
            io_wait: (self.io_wait - earlier.io_wait).max(0.0),
            idle: (self.idle - earlier.idle).max(0.0),
        })
    }

    fn io_wait_percent(self) -> f64 {
        (self.io_wait / self.total * 100.0).min(100.0)
    }

    /// What was busy and was not the command's `own` ticks.
    fn other_percent(self, own: f64) -> f64 {
        ((self.total - self.idle - own) / self.total * 100.0).max(0.0)
    }
}

/// One reading of every source.
#[derive(Debug, Clone, Copy)]
struct LoadReading {
    at: Instant,
    cpu: Option<HostCpu>,
    /// CPU time of the probe itself.
    probe: Duration,
    pressure: Option<Duration>,
}

impl LoadReading {
    fn now(pressure_file: &Path) -> Self {
        Self {
            at: Instant::now(),
            cpu: HostCpu::now(),
            probe: own_cpu_time(),
            pressure: (procfs::file(pressure_file).ok()).and_then(|text| parse_pressure(&text)),
        }
    }
}

/// Readings at the start and at the end of the command, and samples between.
pub(super) struct HostLoad {
    /// That of the command's own cgroup where it has one; else the machine's, in which other work may wait for other work.
    pressure_file: PathBuf,
    /// The longest that one process of the tree has waited for a CPU; absent where the kernel does not say it. It stands in for the
    /// machine's pressure: a job that sleeps beside busy work waits for nothing.
    waited: Option<Duration>,
    /// How long lay before samples in which a process of the tree ran or could have: less its CPU time it waited so long, however short
    /// each process of a script lives.
    runnable: Duration,
    /// The samples' shares of I/O wait, and the last sample.
    io_waits: Shares,
    sampled: Option<HostCpu>,
    first: LoadReading,
    /// Until the end only its moment, which is that of the last sample.
    last: LoadReading,
}

impl HostLoad {
    pub(super) fn new(cgroup: Option<&OwnCgroup>) -> Self {
        let of_cgroup = cgroup.and_then(OwnCgroup::cpu_pressure_file);
        let pressure_file = of_cgroup.unwrap_or_else(|| PathBuf::from(HOST_PRESSURE));
        let first = LoadReading::now(&pressure_file);
        Self {
            pressure_file,
            waited: None,
            runnable: Duration::ZERO,
            io_waits: Shares::default(),
            sampled: first.cpu,
            first,
            last: first,
        }
    }

    /// Takes one sample.
    pub(super) fn observe(&mut self, processes: &[Process]) {
        let waited = |process: &Process| {
            let text = procfs::process(process.pid, WAITED).ok()?;
            let mut words = str::from_utf8(&text).ok()?.split_ascii_whitespace();
            words.nth(1)?.parse().ok().map(Duration::from_nanos)
        };
        let before = std::mem::replace(&mut self.last.at, Instant::now());
        if processes.iter().any(|process| process.state == b'R') {
            self.runnable += self.last.at - before;
        }
        self.waited = processes.iter().filter_map(waited).chain(self.waited).max();
        if let Some(now) = HostCpu::now() {
            let before = self.sampled.replace(now);
            if let Some(passed) = before.and_then(|before| now.since(before)) {
                self.io_waits.add(passed.io_wait_percent());
            }
        }
    }

    /// The command has ended.
    pub(super) fn end(&mut self) {
        self.last = LoadReading::now(&self.pressure_file);
    }

    /// Adds to a usage, by the CPU time that the command took itself: the share of the machine's CPU time in which a core waited for a
    /// disk, and what neither the command nor the probe took; both absent if the run was too short for the machine's clock of ten
    /// milliseconds, or `/proc/stat` cannot be read. And the share of the command's time in which it waited for a CPU.
    pub(super) fn add_to(&self, usage: Usage, own: Seconds) -> Usage {
        let (first, last) = (self.first, self.last);
        let passed = (last.cpu.zip(first.cpu)).and_then(|(last, first)| last.since(first));
        let runnable = (self.runnable).saturating_sub(Duration::from_secs_f64(own.0));
        let own = own.0 + (last.probe.saturating_sub(first.probe)).as_secs_f64();
        let is_of_host = self.pressure_file == Path::new(HOST_PRESSURE);
        let waited = match self.waited.filter(|_| is_of_host) {
            Some(longest) => {
                let source = "schedstat and state of the processes";
                Some((longest.max(runnable), source.to_owned()))
            }
            None => (last.pressure.zip(first.pressure)).map(|(last, first)| {
                let file = self.pressure_file.display().to_string();
                (last.saturating_sub(first), file)
            }),
        };
        let wall = (last.at - first.at).as_secs_f64();
        Usage {
            io_wait_percent: passed.map(|passed| {
                let p99 = self.io_waits.p99();
                Utilization::new(passed.io_wait_percent(), p99, "/proc/stat of the host")
            }),
            other_cpu_percent: passed.map(|passed| {
                let source = "/proc/stat of the host, less the process tree";
                Utilization::new(passed.other_percent(own * ticks_per_second()), None, source)
            }),
            cpu_pressure_percent: waited.filter(|_| wall > 0.0).map(|(waited, source)| {
                let percent = waited.as_secs_f64() / wall * 100.0;
                Utilization::new(percent.min(100.0), None, source)
            }),
            ..usage
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = b"some avg10=7.04 avg60=29.33 avg300=44.10 total=1482900053\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(
            parse_pressure(text),
            Some(Duration::from_micros(1_482_900_053))
        );
        for other in ["", "full avg10=0 total=7\n", "some total=x\n", "some\n"] {
            assert_eq!(parse_pressure(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn without_cgroup_and_schedstat_the_wait_is_that_of_the_machine() {
        let mut load = HostLoad::new(None);
        load.end();
        let usage = load.add_to(Usage::default(), Seconds(0.0));
        let source = usage.cpu_pressure_percent.map(|wait| wait.source);
        assert_eq!(source, cpu_pressure().map(|_| HOST_PRESSURE.to_owned()));
    }

    #[test]
    fn many_short_processes_waited_as_long_as_one_could_run_and_took_no_cpu_time() {
        for (state, own, waited) in [(b'R', 0.0, true), (b'S', 0.0, false), (b'R', 1e4, false)] {
            let mut load = HostLoad::new(None);
            load.waited = Some(Duration::ZERO);
            let other = Process::default();
            load.observe(&[Process { state, ..other }]);
            load.end();
            let usage = load.add_to(Usage::default(), Seconds(own));
            assert_eq!(usage.cpu_pressure_percent.unwrap().mean.0 > 0.0, waited);
        }
    }

    #[test]
    fn io_wait_and_other_work_are_shares_of_all_cpu_time() {
        // 200 ticks later: 100 user, 20 system, 10 stolen, 60 idle, 10 waiting for a disk; 50 of them are the command's.
        let before =
            HostCpu::parse(b"cpu  1000 0 500 8000 200 0 10 0 300 0\ncpu0 1 2 3\n").unwrap();
        let after = HostCpu::parse(b"cpu  1100 0 520 8060 210 0 10 10 390 0\n").unwrap();
        assert_eq!(before.total, 9710.0);
        let passed = after.since(before).unwrap();
        assert_eq!(passed.io_wait_percent(), 5.0);
        assert_eq!(passed.other_percent(50.0), 40.0);
        // The command's own clock is finer than a tick.
        assert_eq!(passed.other_percent(131.0), 0.0);
        assert_eq!(before.since(before), None);
        assert_eq!(before.since(after), None);
        for other in ["intr 1 2 3 4 5 6\n", "cpu 1 2 3\n", "cpu 1 2 3 4\n", ""] {
            assert_eq!(HostCpu::parse(other.as_bytes()), None, "{other}");
        }
    }
}
