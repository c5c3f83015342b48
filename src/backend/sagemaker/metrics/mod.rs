//! What a canary used, from three sources: the probe in its container, Debugger's files, CloudWatch.

pub(in crate::backend) mod cloudwatch;
pub(in crate::backend) mod debugger;
pub(in crate::backend) mod probe;
pub(in crate::backend) mod program;

use crate::instance::Capacity;
use crate::measurement::{HostUsage, PeakMemory, Usage, Utilization};
use crate::metric::MemoryOf;
use crate::units::{Bytes, Percent, count_as_float};

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
    /// In order of trust where it comes to memory: Debugger looks more than a hundred times as often as CloudWatch.
    fn peaks(&self, of: MemoryOf) -> [Option<&PeakMemory>; 3] {
        [&self.probe, &self.debugger, &self.cloudwatch].map(|usage| usage.peak(of))
    }

    /// A share from the source that is trusted most among those that have it.
    fn share(&self, slot: Slot) -> Option<Utilization> {
        let mut trusted = [&self.probe, &self.cloudwatch, &self.debugger].map(Clone::clone);
        trusted.iter_mut().find_map(|usage| slot(usage).take())
    }
}

type Slot = fn(&mut Usage) -> &mut Option<Utilization>;

/// The shares among the figures of a usage: the name in a note, whether it is one of GPUs, and the figure.
const SHARES: [(&str, bool, Slot); 6] = [
    ("CPU utilization", false, |usage| &mut usage.cpu_percent),
    ("GPU utilization", true, |usage| &mut usage.gpu_percent),
    ("GPU memory", true, |usage| &mut usage.gpu_memory_percent),
    ("I/O wait", false, |usage| &mut usage.io_wait_percent),
    ("other work", false, |usage| &mut usage.other_cpu_percent),
    ("CPU pressure", false, |usage| {
        &mut usage.cpu_pressure_percent
    }),
];

/// One host of a training job.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::backend) struct Host {
    /// `algo-1`
    pub(in crate::backend) name: String,
    /// Its instance group, where there are groups.
    pub(in crate::backend) group: Option<String>,
    /// What its machine has; absent where its group or its type is not known.
    pub(in crate::backend) capacity: Option<Capacity>,
    /// What it was given of the sampled channels.
    pub(in crate::backend) bytes: Bytes,
    pub(in crate::backend) sources: Sources,
}

impl Host {
    pub(in crate::backend) fn has_gpus(&self) -> bool {
        (self.capacity.as_ref()).is_some_and(|capacity| capacity.gpus > 0)
    }

    /// `algo-2 (group dnn)`
    pub(in crate::backend) fn words(&self) -> String {
        match &self.group {
            Some(group) => format!("{} (group {group})", self.name),
            None => self.name.clone(),
        }
    }
}

/// The usage of a canary: for each value the source that is trusted most, and the host that used most, since it is the one that
/// limits; with all readings of memory. Where only some of the hosts are known, a note says of how many.
pub(in crate::backend) fn of_machine(hosts: &[Host]) -> (Usage, Vec<String>) {
    let mut notes = Vec::new();
    let with_gpus = hosts.iter().filter(|host| host.has_gpus()).count();
    let mut note = |what: &str, known: usize, is_of_gpus: bool| {
        let all = if is_of_gpus { with_gpus } else { hosts.len() };
        if known > 0 && known < all {
            notes.push(format!(
                "{what} is known of {known} of {all} hosts, of which the highest counts"
            ));
        }
    };
    let mut shares = Usage::default();
    for (what, is_of_gpus, slot) in SHARES {
        let known = hosts.iter().filter_map(|host| host.sources.share(slot));
        let known: Vec<Utilization> = known.collect();
        note(what, known.len(), is_of_gpus);
        let most = known.into_iter();
        *slot(&mut shares) = most.max_by(|one, other| one.mean.0.total_cmp(&other.mean.0));
    }
    let mut highest = |of: MemoryOf, source: usize| {
        let known = hosts.iter().map(|host| host.sources.peaks(of)[source]);
        let known: Vec<&PeakMemory> = known.flatten().collect();
        let most = known.iter().max_by(|one, other| {
            let percent = |memory: &PeakMemory| memory.percent.map_or(0.0, |percent| percent.0);
            (percent(one).total_cmp(&percent(other))).then(one.bytes.cmp(&other.bytes))
        })?;
        let what = format!("{} by {}", of.words(), most.source);
        note(&what, known.len(), of == MemoryOf::Gpu);
        Some((*most).clone())
    };
    let sources = 0..Sources::default().peaks(MemoryOf::Machine).len();
    let usage = MemoryOf::ALL.into_iter().fold(shares, |usage, of| {
        usage.with_readings(of, sources.clone().filter_map(|source| highest(of, source)))
    });
    (usage, notes)
}

/// One entry for each of several hosts; none for a single one.
pub(in crate::backend) fn of_each_host(hosts: &[Host]) -> Vec<HostUsage> {
    let each = hosts.iter().filter(|_| hosts.len() > 1);
    let each = each.map(|host| HostUsage {
        host: host.name.clone(),
        group: host.group.clone(),
        bytes: host.bytes,
        usage: of_machine(std::slice::from_ref(host)).0,
    });
    each.collect()
}

/// A share over a run from equally spaced points, each 0-100; the 99th percentile by nearest rank, absent below 100 points.
/// `None` without a point.
fn utilization(points: &[f64], source: &str) -> Option<Utilization> {
    let mean = points.iter().sum::<f64>() / count_as_float(points.len());
    let p99 = (points.len() >= FEWEST_FOR_P99).then(|| {
        let mut sorted = points.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Percent(sorted[(sorted.len() * 99).div_ceil(100) - 1])
    });
    // A sum of equal points can be off by the last digit.
    let all = || Utilization::new(mean.clamp(0.0, 100.0), p99, source);
    (!points.is_empty()).then(all)
}

/// A peak that is known as a share of the host's memory, which may not be known itself; `None` where the host has none.
fn peak_memory(percent: f64, memory: Option<Bytes>, source: &str) -> Option<PeakMemory> {
    memory
        .is_none_or(|memory| memory.0 > 0)
        .then(|| PeakMemory {
            bytes: memory.map(|memory| Bytes::from_f64(percent / 100.0 * memory.as_f64())),
            percent: Some(Percent(percent)),
            source: source.to_owned(),
            ..PeakMemory::default()
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
                memory: peak_memory(50.0, Some(Bytes(100)), "CloudWatch"),
                cpu_percent: share(20.0, "CloudWatch"),
                ..Usage::default()
            },
            debugger: Usage {
                memory: peak_memory(60.0, Some(Bytes(100)), "Debugger"),
                cpu_percent: share(30.0, "Debugger"),
                io_wait_percent: share(2.0, "Debugger"),
                ..Usage::default()
            },
        };
        let host = Host {
            name: "algo-1".to_owned(),
            group: None,
            capacity: None,
            bytes: Bytes(10),
            sources,
        };
        let (merged, _) = of_machine(&[host]);
        assert_eq!(merged.cpu_percent, share(10.0, "probe"));
        assert_eq!(
            merged.memory,
            peak_memory(60.0, Some(Bytes(100)), "Debugger")
        );
        assert_eq!(
            merged.other_memory,
            Vec::from_iter(peak_memory(50.0, Some(Bytes(100)), "CloudWatch"))
        );
        assert_eq!(merged.io_wait_percent, share(2.0, "Debugger"));
        assert_eq!(merged.gpu_percent, None);
    }

    #[test]
    fn the_machine_is_the_host_that_used_most_and_says_how_many_were_silent() {
        let host = |name: &str, cpu: Option<f64>, memory: f64| Host {
            name: name.to_owned(),
            group: None,
            capacity: None,
            bytes: Bytes(10),
            sources: Sources {
                cloudwatch: Usage {
                    cpu_percent: cpu.and_then(|cpu| share(cpu, "CloudWatch")),
                    memory: peak_memory(memory, Some(Bytes(1000)), "CloudWatch"),
                    ..Usage::default()
                },
                ..Sources::default()
            },
        };
        let mut hosts = [
            host("algo-1", Some(40.0), 20.0),
            host("algo-2", Some(30.0), 70.0),
            host("algo-3", None, 10.0),
        ];
        hosts[0].sources.probe.memory = peak_memory(25.0, Some(Bytes(1000)), "probe");
        let (usage, notes) = of_machine(&hosts);
        assert_eq!(usage.cpu_percent, share(40.0, "CloudWatch"));
        assert_eq!(usage.memory, peak_memory(25.0, Some(Bytes(1000)), "probe"));
        assert_eq!(
            usage.other_memory,
            Vec::from_iter(peak_memory(70.0, Some(Bytes(1000)), "CloudWatch"))
        );
        assert_eq!(
            notes,
            [
                "CPU utilization is known of 2 of 3 hosts, of which the highest counts",
                "memory by probe is known of 1 of 3 hosts, of which the highest counts",
            ]
        );
        let entries = of_each_host(&hosts);
        assert_eq!(entries.len(), 3);
        assert_eq!(
            (entries[1].host.as_str(), entries[1].bytes),
            ("algo-2", Bytes(10))
        );

        assert!(of_each_host(&hosts[1..2]).is_empty());
        assert_eq!(of_machine(&[]), (Usage::default(), Vec::new()));
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
