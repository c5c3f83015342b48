//! Holds the probe's clock against the gate's own: the training code may halt the probe.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::outside_error::{OutsideError, OutsideResult};
use crate::probe::{ProbeReport, cpu_pressure};

/// Starting the probe and ending what the command left take less than this, even on a busy machine.
const AROUND_THE_COMMAND: Duration = Duration::from_secs(5);
/// Both clocks are the same one, read in two processes.
const READING: Duration = Duration::from_millis(100);

/// The time from the start of a probe to its end.
#[derive(Debug)]
pub(super) struct GateClock {
    started: Instant,
    pressure: Option<Duration>,
    ended: JoinHandle<Instant>,
}

impl GateClock {
    /// Of a probe, started at that time with so much pressure before it. Its end is waited for in a thread of its own, for the gate may
    /// be busy with another canary then; the process is left to be waited for.
    pub(super) fn of(pid: i32, started: Instant, pressure: Option<Duration>) -> Self {
        let wait = move || {
            wait_for_the_end_of(pid);
            Instant::now()
        };
        Self {
            started,
            pressure,
            ended: thread::spawn(wait),
        }
    }

    /// Fails if the report of the probe, which has ended, is contradicted or cannot be.
    pub(super) fn check(self, report: &ProbeReport) -> OutsideResult<()> {
        let ended = self.ended.join().unwrap_or_else(|_| Instant::now());
        if let Some(value) = report.impossible_value() {
            return Err(OutsideError::of(format!(
                    "the probe's report holds an impossible value: {value}; the figures of this canary are not believed"
                )).help("this is a bug in canary-gate; please report it"));
        }
        let stalled = (cpu_pressure().zip(self.pressure))
            .map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before));
        let waited = ended.saturating_duration_since(self.started);
        check(report, waited, stalled)
    }
}

/// Waits for a child, and leaves it to be waited for.
#[cfg(target_os = "linux")]
fn wait_for_the_end_of(pid: i32) {
    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    let child = || Id::Pid(nix::unistd::Pid::from_raw(pid));
    while waitid(child(), flags) == Err(nix::Error::EINTR) {}
}

/// Elsewhere no probe runs, so none is waited for.
#[cfg(not(target_os = "linux"))]
fn wait_for_the_end_of(_: i32) {}

/// Fails if the report's time is longer than the gate waited for the probe, or shorter by more than the probe needs for itself. Where
/// nothing outlived the command nothing trained meanwhile, and the probe itself may have waited for a CPU as long as something did.
fn check(report: &ProbeReport, waited: Duration, stalled: Duration) -> OutsideResult<()> {
    let around = match report.survivors_ended {
        0 => AROUND_THE_COMMAND + stalled,
        _ => AROUND_THE_COMMAND,
    };
    let earliest = waited.saturating_sub(around).as_secs_f64();
    let latest = (waited + READING).as_secs_f64();
    if (earliest..=latest).contains(&report.wall_seconds.0) {
        return Ok(());
    }
    Err(OutsideError::of(format!(
            "the probe says that the canary took {}, the gate's own clock {}; the figures of this canary are not believed",
            in_seconds(report.wall_seconds.0),
            in_seconds(waited.as_secs_f64())
        )).help("check that the training code sends no signals to its parent process, and that the gate was not halted meanwhile"))
}

/// To the millisecond: `0.001s`.
fn in_seconds(seconds: f64) -> String {
    format!("{}s", (seconds * 1000.0).round() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Ending;
    use crate::units::Seconds;

    const REPORT: &str = r#"{"schema_version": 1, "ending": {"kind": "timed_out"}, "wall_seconds": 0.0, "cpu_seconds": 0.0,
        "usage": {}, "samples": 0, "survivors_ended": 0, "cores": 1.0}"#;

    #[test]
    fn a_time_that_the_gates_clock_contradicts_is_refused() {
        let well = Ending::Exited { code: 0 };
        let checked = |seconds, ending, survivors_ended, waited, stalled| {
            let report = ProbeReport {
                ending,
                wall_seconds: Seconds(seconds),
                survivors_ended,
                ..serde_json::from_str(REPORT).unwrap()
            };
            let (waited, stalled) = (
                Duration::from_secs_f64(waited),
                Duration::from_secs(stalled),
            );
            check(&report, waited, stalled)
        };
        for (seconds, ending, survivors, waited, stalled, is_believed) in [
            (0.001, well, 0, 0.05, 0, true),
            (0.001, well, 0, 4.9, 0, true),
            (12.0, well, 0, 12.3, 0, true),
            (3600.0, well, 0, 3601.0, 0, true),
            (0.001, well, 0, 12.0, 0, false),
            (13.0, well, 0, 12.0, 0, false),
            (3500.0, well, 0, 3600.0, 0, false),
            (-1.0, well, 0, 0.1, 0, false),
            (f64::NAN, well, 0, 0.1, 0, false),
            (f64::INFINITY, well, 0, 0.1, 0, false),
            // The time of a tree that the probe ended has its grace period in it.
            (16.0, Ending::TimedOut, 1, 20.0, 0, true),
            (6.0, Ending::TimedOut, 1, 20.0, 0, false),
            // Fifty gates at once on two cores: an honest canary is believed, and one that left a daemon is not.
            (2.0, well, 0, 20.0, 18, true),
            (2.0, well, 0, 20.0, 3, false),
            (2.0, well, 1, 20.0, 18, false),
        ] {
            let checked = checked(seconds, ending, survivors, waited, stalled);
            assert_eq!(
                checked.is_ok(),
                is_believed,
                "{seconds} {ending:?} {waited}"
            );
        }
        assert_eq!(
            checked(0.001, well, 0, 12.0, 0).unwrap_err().to_string(),
            "the probe says that the canary took 0.001s, the gate's own clock 12s; the figures of this canary are not believed"
        );
    }
}
