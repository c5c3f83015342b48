//! What the hosts of one local run used. They are processes of one machine, so the machine carries their sum.

use crate::canary::ChannelData;
use crate::measurement::{HostUsage, PeakMemory, Usage, Utilization};
use crate::units::{Bytes, Percent};

use super::cluster::Cluster;
use super::ending::EndedHost;

/// The usage of the machine: one host's own, or the sum over several.
///
/// Peaks of several hosts need not coincide, so their sum may be more than the machine held at any one time; it is never
/// less.
pub(super) fn of_machine(hosts: &[EndedHost<'_>]) -> Usage {
    let reports = hosts.iter().filter_map(|host| host.report.as_ref());
    let hosts: Vec<&Usage> = reports.map(|report| &report.usage).collect();
    if hosts.len() < 2 {
        return hosts.into_iter().next().cloned().unwrap_or_default();
    }
    // GPUs and the disk are seen whole by every host. To each host the others are other work.
    let of_any = |of: fn(&Usage) -> &Option<Utilization>| {
        let mut shares = hosts.iter().map(|usage| of(usage));
        shares.find_map(Clone::clone)
    };
    let gpu_memory = hosts.iter().filter_map(|usage| usage.gpu_memory.as_ref());
    Usage {
        memory: sum_of_memory(&hosts),
        gpu_memory: gpu_memory.max_by_key(|peak| peak.bytes).cloned(),
        cpu_percent: sum_of_shares(hosts.iter().map(|usage| usage.cpu_percent.as_ref())),
        gpu_percent: of_any(|usage| &usage.gpu_percent),
        gpu_memory_percent: of_any(|usage| &usage.gpu_memory_percent),
        io_wait_percent: of_any(|usage| &usage.io_wait_percent),
        ..Usage::default()
    }
}

/// `None` unless every host was measured.
fn sum_of_memory(hosts: &[&Usage]) -> Option<PeakMemory> {
    let all = hosts.iter().map(|usage| usage.memory.as_ref());
    let all: Vec<&PeakMemory> = all.collect::<Option<_>>()?;
    let sum = |of: fn(&PeakMemory) -> Option<Bytes>| all.iter().map(|memory| of(memory)).sum();
    let percent = all.iter().map(|memory| Some(memory.percent?.0));
    Some(PeakMemory {
        bytes: sum(|memory| memory.bytes),
        // Peaks of different moments.
        percent: (percent.sum::<Option<f64>>()).map(|percent| Percent(percent.min(100.0))),
        source: format!("{}, sum over {} hosts", all.first()?.source, all.len()),
        upper_bound: sum(|memory| memory.upper_bound.or(memory.bytes)),
        is_lower_bound: all.iter().any(|memory| memory.is_lower_bound),
    })
}

/// Shares of the same machine add up. A p99 does not, so it is left out.
fn sum_of_shares<'a>(shares: impl Iterator<Item = Option<&'a Utilization>>) -> Option<Utilization> {
    let shares: Vec<&Utilization> = shares.collect::<Option<_>>()?;
    let sum: f64 = shares.iter().map(|share| share.mean.0).sum();
    let source = &shares.first()?.source;
    let source = format!("{source}, sum over {} hosts", shares.len());
    Some(Utilization::new(sum.min(100.0), None, source))
}

/// One entry for each of several hosts; none for a single one.
pub(super) fn of_each_host(cluster: &Cluster<'_>, hosts: &[EndedHost<'_>]) -> Vec<HostUsage> {
    if hosts.len() < 2 {
        return Vec::new();
    }
    let usages = hosts.iter().map(|EndedHost { host, report, .. }| {
        let data = host.channels.iter().map(|share| &share.data);
        HostUsage {
            host: host.name.clone(),
            group: (cluster.has_named_groups).then(|| host.group.clone()),
            bytes: data.filter(|one| one.sampled).map(ChannelData::bytes).sum(),
            usage: (report.as_ref()).map_or_else(Usage::default, |report| report.usage.clone()),
        }
    });
    usages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_with_a_lower_bound_is_one() {
        let host = |is_lower_bound| Usage {
            memory: Some(PeakMemory {
                bytes: Some(Bytes(1 << 30)),
                is_lower_bound,
                ..PeakMemory::default()
            }),
            ..Usage::default()
        };
        for other in [false, true] {
            let sum = sum_of_memory(&[&host(false), &host(other)]).unwrap();
            assert_eq!(sum.is_lower_bound, other);
        }
    }
}
