//! Values of a report that no probe gives. A report of another machine, or of another program, may hold any.

use super::ProbeReport;
use crate::units::Percent;

/// More cores than any machine has.
const MOST_CORES: f64 = 100_000.0;
/// SageMaker's longest run, with a day to spare; a local canary is shorter.
const LONGEST_RUN: f64 = 29.0 * 86_400.0;

impl ProbeReport {
    /// What in it no machine can have measured.
    pub fn impossible_value(&self) -> Option<&'static str> {
        let within = |value: f64, most: f64| (0.0..=most).contains(&value);
        let usage = &self.usage;
        let shares = [
            &usage.cpu_percent,
            &usage.gpu_percent,
            &usage.gpu_memory_percent,
            &usage.io_wait_percent,
            &usage.other_cpu_percent,
            &usage.cpu_pressure_percent,
        ];
        let is_share = |percent: Percent| within(percent.0, 100.0);
        let memory = usage.memory.as_ref();
        let peaks = [memory, usage.gpu_memory.as_ref()].into_iter().flatten();
        let mut shares = shares.into_iter().flatten();
        let has_shares = shares.all(|one| is_share(one.mean) && one.p99.is_none_or(is_share))
            && peaks.filter_map(|peak| peak.percent).all(is_share);
        let bytes = memory.and_then(|memory| memory.bytes);
        let fits = (bytes.zip(self.memory_total)).is_none_or(|(bytes, total)| bytes <= total);
        let has_cores = within(self.cores, MOST_CORES) && self.cores > 0.0;
        let has_cpu_time = within(self.cpu_seconds.0, LONGEST_RUN * MOST_CORES);
        let checks = [
            ("its time", within(self.wall_seconds.0, LONGEST_RUN)),
            ("its number of cores", has_cores),
            ("its CPU time", has_cpu_time),
            ("a share beyond 0-100 %", has_shares),
            ("more memory than there is", fits),
        ];
        let failed = checks.into_iter().find(|(_, is_possible)| !is_possible);
        failed.map(|(what, _)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Utilization;
    use crate::units::{Bytes, Seconds};

    const REPORT: &str = r#"{"schema_version": 1, "ending": {"kind": "exited", "code": 0}, "wall_seconds": 10.0,
        "cpu_seconds": 10.0, "usage": {"memory": {"bytes": 1073741824, "percent": 25.0, "source": "cgroup v2 memory.stat"}},
        "samples": 20, "survivors_ended": 0, "memory_total": 4294967296, "cores": 2.0}"#;

    #[test]
    fn what_no_machine_gives_is_named() {
        let changed = |change: &dyn Fn(&mut ProbeReport)| {
            let mut report = serde_json::from_str(REPORT).unwrap();
            change(&mut report);
            report.impossible_value()
        };
        assert_eq!(changed(&|_| ()), None);
        let share = |value| Utilization {
            mean: Percent(value),
            p99: None,
            source: "CPU time".to_owned(),
        };
        for value in [-0.001, f64::NAN, f64::INFINITY, 1e300] {
            for (found, said) in [
                (
                    changed(&|report| report.wall_seconds = Seconds(value)),
                    "its time",
                ),
                (
                    changed(&|report| report.cpu_seconds = Seconds(value)),
                    "its CPU time",
                ),
                (
                    changed(&|report| report.cores = value),
                    "its number of cores",
                ),
                (
                    changed(&|report| report.usage.cpu_percent = Some(share(value))),
                    "a share beyond 0-100 %",
                ),
            ] {
                assert_eq!(found, Some(said));
            }
        }
        let more = changed(&|report| report.memory_total = Some(Bytes(1)));
        assert_eq!(more, Some("more memory than there is"));
    }
}
