//! What other processes of the machine took while the command ran: CPU time, and the time in which something waited for a CPU.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cgroup::OwnCgroup;
use super::procfs::KernelFileReader;
use super::tree::Process;
use super::usage::{HostCpu, own_cpu_time, ticks_per_second};
use crate::measurement::Utilization;
use crate::units::{Percent, Seconds};

/// In `/proc/PID`, `Documentation/scheduler/sched-stats.rst`: for how many nanoseconds the main thread ran, and waited for a CPU.
const WAITED: &str = "schedstat";
/// The whole machine's.
const HOST_PRESSURE: &str = "/proc/pressure/cpu";

/// The time in which something on this machine waited for a CPU since it was started; `None` where the kernel does not say it.
pub fn cpu_pressure() -> Option<Duration> {
    parse_pressure(&std::fs::read(HOST_PRESSURE).ok()?)
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

/// The part of `total` ticks, in percent, that was busy and was not the command's `own` ticks.
fn other_percent((busy, total): (u64, u64), own: f64) -> f64 {
    // Ticks as seconds: an exact conversion to a float.
    let ticks = |count: u64| Duration::from_secs(count).as_secs_f64();
    ((ticks(busy) - own) / ticks(total) * 100.0).clamp(0.0, 100.0)
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

/// Readings at the start and at the end of the command.
pub(super) struct OtherWork {
    /// That of the command's own cgroup where it has one; else the machine's, in which other work may wait for other work.
    pressure_file: PathBuf,
    /// The longest that one process of the tree has waited for a CPU; absent where the kernel does not say it. It stands in for the
    /// machine's pressure: a job that sleeps beside busy work waits for nothing.
    waited: Option<Duration>,
    first: LoadReading,
    last: Option<LoadReading>,
}

impl OtherWork {
    pub(super) fn new(cgroup: Option<&OwnCgroup>, reader: &mut KernelFileReader) -> Self {
        let of_cgroup = cgroup.and_then(OwnCgroup::cpu_pressure_file);
        let pressure_file = of_cgroup.unwrap_or_else(|| PathBuf::from(HOST_PRESSURE));
        Self {
            first: Self::read(&pressure_file, reader),
            pressure_file,
            waited: None,
            last: None,
        }
    }

    /// Looks at how long the processes have waited.
    pub(super) fn observe(&mut self, reader: &mut KernelFileReader, processes: &[Process]) {
        let waited = |process: &Process| {
            let text = reader.process(process.pid, WAITED).ok()?;
            let nanoseconds = str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?;
            nanoseconds.parse().ok().map(Duration::from_nanos)
        };
        self.waited = processes.iter().filter_map(waited).chain(self.waited).max();
    }

    /// The command has ended.
    pub(super) fn end(&mut self, reader: &mut KernelFileReader) {
        self.last = Some(Self::read(&self.pressure_file, reader));
    }

    fn read(pressure_file: &PathBuf, reader: &mut KernelFileReader) -> LoadReading {
        LoadReading {
            at: Instant::now(),
            cpu: HostCpu::now(reader),
            probe: own_cpu_time(),
            pressure: reader.file(pressure_file).ok().and_then(parse_pressure),
        }
    }

    /// Of all CPU time of the machine what neither the command, which took `own`, nor the probe took.
    pub(super) fn cpu_percent(&self, own: Seconds) -> Option<Utilization> {
        let last = self.last?;
        let ticks = last.cpu?.busy_since(self.first.cpu?)?;
        let own = own.0 + (last.probe.saturating_sub(self.first.probe)).as_secs_f64();
        Some(Utilization {
            mean: Percent(other_percent(ticks, own * ticks_per_second())),
            p99: None,
            source: "/proc/stat of the host, less the process tree".to_owned(),
        })
    }

    /// Of the time of the command.
    pub(super) fn pressure_percent(&self) -> Option<Utilization> {
        let last = self.last?;
        let is_of_host = self.pressure_file == Path::new(HOST_PRESSURE);
        let (waited, source) = match self.waited.filter(|_| is_of_host) {
            Some(longest) => (
                longest,
                "schedstat of the process that waited longest".to_owned(),
            ),
            None => (
                last.pressure?.saturating_sub(self.first.pressure?),
                self.pressure_file.display().to_string(),
            ),
        };
        let wall = (last.at - self.first.at).as_secs_f64();
        let percent = (waited.as_secs_f64() / wall * 100.0).clamp(0.0, 100.0);
        (wall > 0.0).then_some(Utilization {
            mean: Percent(percent),
            p99: None,
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::usage::parse_host_cpu;
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
    fn other_work_is_what_was_busy_and_not_the_commands() {
        // 200 ticks later: 100 user, 20 system, 10 stolen, 60 idle, 10 waiting for a disk; 50 of them are the command's.
        let before = parse_host_cpu(b"cpu  1000 0 500 8000 200 0 10 0 300 0\n").unwrap();
        let after = parse_host_cpu(b"cpu  1100 0 520 8060 210 0 10 10 390 0\n").unwrap();
        let ticks = after.busy_since(before);
        assert_eq!(ticks, Some((130, 200)));
        assert_eq!(other_percent((130, 200), 50.0), 40.0);
        // The command's own clock is finer than a tick.
        assert_eq!(other_percent((130, 200), 131.0), 0.0);
        assert_eq!(before.busy_since(before), None);
        assert_eq!(before.busy_since(after), None);
    }
}
