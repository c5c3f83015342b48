//! What a canary used, from three sources in order of trust: the probe in its container, CloudWatch, Debugger's files.

pub(in crate::backend) mod cloudwatch;
pub(in crate::backend) mod debugger;
pub(in crate::backend) mod probe;
pub(in crate::backend) mod program;

use crate::measurement::{HostUsage, PeakMemory, Usage, Utilization};
use crate::units::{Bytes, Percent};

/// Fewer points have no 99th percentile: it would be the highest of them.
const FEWEST_FOR_P99: usize = 100;

/// What each source has of one host; empty if it has nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::backend) struct Sources {
    pub(in crate::backend) probe: Usage,
    pub(in crate::backend) cloudwatch: Usage,
    pub(in crate::backend) debugger: Usage,
}

impl Sources {
    /// Each value from the source that is trusted most among those that have it; of two that look at the peak of memory from
    /// time to time only, the higher one.
    pub(in crate::backend) fn merge(mut self) -> Usage {
        let peak = |usage: &Usage| usage.memory.as_ref().and_then(|memory| memory.bytes);
        if peak(&self.debugger) > peak(&self.cloudwatch) {
            self.cloudwatch.memory = self.debugger.memory.take();
        }
        [self.probe, self.cloudwatch, self.debugger]
            .into_iter()
            .reduce(|trusted, other| Usage {
                memory: trusted.memory.or(other.memory),
                cpu_percent: trusted.cpu_percent.or(other.cpu_percent),
                gpu_percent: trusted.gpu_percent.or(other.gpu_percent),
                gpu_memory_percent: trusted.gpu_memory_percent.or(other.gpu_memory_percent),
                io_wait_percent: trusted.io_wait_percent.or(other.io_wait_percent),
                // Only the probe knows these.
                other_cpu_percent: trusted.other_cpu_percent,
                cpu_pressure_percent: trusted.cpu_pressure_percent,
            })
            .unwrap_or_default()
    }
}

/// One host of a training job.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::backend) struct Host {
    /// `algo-1`
    pub(in crate::backend) name: String,
    /// Its instance group, where there are groups.
    pub(in crate::backend) group: Option<String>,
    /// What it was given of the sampled channels.
    pub(in crate::backend) bytes: Bytes,
    pub(in crate::backend) usage: Usage,
}

/// The usage of a canary: for each value the host that used most, since it is the one that limits. If a source has only some
/// of the hosts, the value says how many.
pub(in crate::backend) fn of_machine(hosts: &[Host]) -> Usage {
    let share = |of: &dyn Fn(&Usage) -> Option<&Utilization>| {
        let known: Vec<&Utilization> = hosts.iter().filter_map(|host| of(&host.usage)).collect();
        let most = known
            .iter()
            .max_by(|one, other| one.mean.0.total_cmp(&other.mean.0))?;
        Some(Utilization {
            source: source(&most.source, known.len(), hosts.len()),
            ..(*most).clone()
        })
    };
    let known: Vec<&PeakMemory> = hosts
        .iter()
        .filter_map(|host| host.usage.memory.as_ref())
        .collect();
    let memory = known.iter().max_by(|one, other| {
        let percent = |memory: &PeakMemory| memory.percent.map_or(0.0, |percent| percent.0);
        percent(one)
            .total_cmp(&percent(other))
            .then(one.bytes.cmp(&other.bytes))
    });
    Usage {
        memory: memory.map(|most| PeakMemory {
            source: source(&most.source, known.len(), hosts.len()),
            ..(*most).clone()
        }),
        cpu_percent: share(&|usage| usage.cpu_percent.as_ref()),
        gpu_percent: share(&|usage| usage.gpu_percent.as_ref()),
        gpu_memory_percent: share(&|usage| usage.gpu_memory_percent.as_ref()),
        io_wait_percent: share(&|usage| usage.io_wait_percent.as_ref()),
        other_cpu_percent: share(&|usage| usage.other_cpu_percent.as_ref()),
        cpu_pressure_percent: share(&|usage| usage.cpu_pressure_percent.as_ref()),
    }
}

fn source(source: &str, known: usize, hosts: usize) -> String {
    match hosts {
        0 | 1 => source.to_owned(),
        _ if known == hosts => format!("{source}, highest of {hosts} hosts"),
        _ => format!("{source}, highest of {known} of {hosts} hosts"),
    }
}

/// One entry for each of several hosts; none for a single one.
pub(in crate::backend) fn of_each_host(hosts: Vec<Host>) -> Vec<HostUsage> {
    if hosts.len() < 2 {
        return Vec::new();
    }
    hosts
        .into_iter()
        .map(|host| HostUsage {
            host: host.name,
            group: host.group,
            bytes: host.bytes,
            usage: host.usage,
        })
        .collect()
}

/// A share over a run from equally spaced points, each 0-100; the 99th percentile by nearest rank, absent below 100 points.
/// `None` without a point.
fn utilization(points: &[f64], source: &str) -> Option<Utilization> {
    let count = u32::try_from(points.len())
        .ok()
        .filter(|count| *count > 0)?;
    let mean = points.iter().sum::<f64>() / f64::from(count);
    let p99 = (points.len() >= FEWEST_FOR_P99).then(|| {
        let mut sorted = points.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Percent(sorted[(sorted.len() * 99).div_ceil(100) - 1])
    });
    Some(Utilization {
        // A sum of equal points can be off by the last digit.
        mean: Percent(mean.clamp(0.0, 100.0)),
        p99,
        source: source.to_owned(),
    })
}

/// A peak that is known as a share of the host's memory; `None` where the host has none.
fn peak_memory(percent: f64, memory: Bytes, source: &str) -> Option<PeakMemory> {
    (memory.0 > 0).then(|| PeakMemory {
        bytes: Some(Bytes::from_f64(percent / 100.0 * memory.as_f64())),
        percent: Some(Percent(percent)),
        source: source.to_owned(),
        upper_bound: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(mean: f64, source: &str) -> Option<Utilization> {
        Some(Utilization {
            mean: Percent(mean),
            p99: None,
            source: source.to_owned(),
        })
    }

    #[test]
    fn each_value_comes_from_the_most_trusted_source_that_has_it() {
        let sources = Sources {
            probe: Usage {
                cpu_percent: share(10.0, "probe"),
                ..Usage::default()
            },
            cloudwatch: Usage {
                memory: peak_memory(50.0, Bytes(100), "CloudWatch"),
                cpu_percent: share(20.0, "CloudWatch"),
                ..Usage::default()
            },
            debugger: Usage {
                memory: peak_memory(60.0, Bytes(100), "Debugger"),
                cpu_percent: share(30.0, "Debugger"),
                io_wait_percent: share(2.0, "Debugger"),
                ..Usage::default()
            },
        };
        let merged = sources.merge();
        assert_eq!(merged.cpu_percent, share(10.0, "probe"));
        // Both look from time to time only, so the higher one saw more of the peak.
        assert_eq!(merged.memory, peak_memory(60.0, Bytes(100), "Debugger"));
        assert_eq!(merged.io_wait_percent, share(2.0, "Debugger"));
        assert_eq!(merged.gpu_percent, None);
        assert_eq!(Sources::default().merge(), Usage::default());
    }

    #[test]
    fn the_machine_is_the_host_that_used_most_and_says_how_many_were_silent() {
        let host = |name: &str, cpu: Option<f64>, memory: f64| Host {
            name: name.to_owned(),
            group: None,
            bytes: Bytes(10),
            usage: Usage {
                cpu_percent: cpu.and_then(|cpu| share(cpu, "CloudWatch")),
                memory: peak_memory(memory, Bytes(1000), "CloudWatch"),
                ..Usage::default()
            },
        };
        let hosts = [
            host("algo-1", Some(40.0), 20.0),
            host("algo-2", Some(30.0), 70.0),
            host("algo-3", None, 10.0),
        ];
        let usage = of_machine(&hosts);
        assert_eq!(
            usage.cpu_percent,
            share(40.0, "CloudWatch, highest of 2 of 3 hosts")
        );
        let memory = usage.memory.unwrap();
        assert_eq!(memory.bytes, Some(Bytes(700)));
        assert_eq!(memory.source, "CloudWatch, highest of 3 hosts");
        let entries = of_each_host(hosts.to_vec());
        assert_eq!(entries.len(), 3);
        assert_eq!(
            (entries[1].host.as_str(), entries[1].bytes),
            ("algo-2", Bytes(10))
        );

        let single = &hosts[..1];
        assert_eq!(of_machine(single), single[0].usage);
        assert!(of_each_host(single.to_vec()).is_empty());
        assert_eq!(of_machine(&[]), Usage::default());
    }

    #[test]
    fn a_percentile_needs_a_hundred_points() {
        let points: Vec<f64> = (1..=100).map(f64::from).collect();
        let all = utilization(&points, "x").unwrap();
        // Nearest rank of 1..=100 at 99 % is the 99th value.
        assert_eq!((all.mean, all.p99), (Percent(50.5), Some(Percent(99.0))));
        assert_eq!(utilization(&points[1..], "x").unwrap().p99, None);
        assert_eq!(utilization(&[], "x"), None);
    }
}
