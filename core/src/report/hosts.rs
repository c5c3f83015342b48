//! What each host of a canary used, by group: of every configuration with several hosts, its largest canary.

use super::JobReport;
use super::canaries::peak;
use super::document::{Align, Table};
use super::words::{self, Quantity};
use crate::instance::InstanceGroup;
use crate::measurement::{HostUsage, Measurement, Utilization};
use crate::metric::MemoryOf;

/// Rows of one canary: of more hosts the rest is counted.
const MOST_HOSTS: usize = 16;

/// A row for each host.
pub(super) fn hosts(jobs: &[&JobReport]) -> Option<Table> {
    let columns = [
        ("Instance", Align::Left),
        ("Group", Align::Left),
        ("Host", Align::Left),
        ("Data", Align::Right),
        ("Memory", Align::Right),
        ("CPU", Align::Right),
        ("GPU", Align::Right),
        ("GPU mem", Align::Right),
    ];
    Table::of_jobs(jobs, columns, |job| {
        largest(job).into_iter().flat_map(of_run).collect()
    })
}

/// The largest canary of each configuration whose hosts are known, the newest of several.
fn largest(job: &JobReport) -> Vec<&Measurement> {
    let mut chosen: Vec<&Measurement> = Vec::new();
    for run in job.measurements.iter().filter(|run| run.hosts.len() > 1) {
        let size = |run: &Measurement| (run.data_share(), run.work_share());
        let known = (chosen.iter_mut()).find(|other| other.instance == run.instance);
        match known {
            Some(other) if size(run) >= size(other) => *other = run,
            Some(_) => {}
            None => chosen.push(run),
        }
    }
    chosen
}

/// In the order of the configuration's groups; hosts of an unknown group are last.
fn of_run(run: &Measurement) -> Vec<[String; 8]> {
    let groups = run.instance.groups();
    let place = |host: &HostUsage| {
        let is_own = |group: &InstanceGroup| Some(&group.name) == host.group.as_ref();
        groups.iter().position(is_own).unwrap_or(groups.len())
    };
    let mut hosts: Vec<&HostUsage> = run.hosts.iter().collect();
    hosts.sort_by_key(|host| place(host));
    let data = words::requested_and_drawn(run.fraction, run.data_share());
    let left = hosts.len().saturating_sub(MOST_HOSTS);
    let mut rows: Vec<[String; 8]> = Vec::new();
    for host in hosts.into_iter().take(MOST_HOSTS) {
        let instance = match rows.is_empty() {
            true => format!("{} ({data})", run.instance),
            false => String::new(),
        };
        let (group, bytes) = match &host.group {
            None if !groups.is_empty() => ("unknown".to_owned(), String::new()),
            group => (group.clone().unwrap_or_default(), host.bytes.to_string()),
        };
        rows.push([
            instance,
            group,
            host.host.clone(),
            bytes,
            peak(&host.usage, MemoryOf::Machine).unwrap_or_default(),
            mean(host.usage.cpu_percent.as_ref()),
            mean(host.usage.gpu_percent.as_ref()),
            peak(&host.usage, MemoryOf::Gpu).unwrap_or_default(),
        ]);
    }
    if left > 0 {
        let mut rest = <[String; 8]>::default();
        rest[2] = format!("and {left} more");
        rows.push(rest);
    }
    rows
}

fn mean(utilization: Option<&Utilization>) -> String {
    utilization.map_or(String::new(), |utilization| {
        Quantity::Percent.figure(utilization.mean.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{Outcome, PeakMemory, Usage};
    use crate::report::samples;
    use crate::units::{Bytes, Fraction, Percent};

    fn host(name: &str, group: Option<&str>, percent: f64) -> HostUsage {
        HostUsage {
            host: name.to_owned(),
            group: group.map(str::to_owned),
            bytes: Bytes(3 << 20),
            usage: Usage {
                memory: Some(PeakMemory {
                    bytes: Some(Bytes(2 << 30)),
                    percent: Some(Percent(percent)),
                    source: "probe".to_owned(),
                    ..PeakMemory::default()
                }),
                cpu_percent: Some(Utilization {
                    mean: Percent(percent / 2.0),
                    p99: None,
                    source: "probe".to_owned(),
                }),
                ..Usage::default()
            },
        }
    }

    fn run(share: f64, hosts: Vec<HostUsage>) -> Measurement {
        Measurement {
            hosts,
            ..Measurement::without_figures(
                "bert".to_owned(),
                "data: 2x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge"
                    .parse()
                    .unwrap(),
                Fraction(share),
                Outcome::Completed,
            )
        }
    }

    fn rows(runs: Vec<Measurement>) -> Vec<String> {
        let mut report = samples::of("over-budget");
        report.jobs[0].measurements = runs;
        let table = hosts(&[&report.jobs[0]]);
        let rows = table.map_or(Vec::new(), |table| table.texts());
        rows.into_iter().map(|row| row.join(" | ")).collect()
    }

    #[test]
    fn the_largest_canary_is_shown_host_by_host_in_the_order_of_groups() {
        let of = |percent: f64| {
            vec![
                host("algo-1", Some("dnn"), percent),
                host("algo-2", Some("data"), 20.0),
                host("algo-3", Some("data"), 30.0),
            ]
        };
        assert_eq!(
            rows(vec![
                run(0.01, of(40.0)),
                run(0.05, of(50.0)),
                run(0.02, of(60.0))
            ]),
            [
                "data: 2x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge (5%) | data | algo-2 | 3.00 MiB | 20% | 10%",
                " | data | algo-3 | 3.00 MiB | 30% | 15%",
                " | dnn | algo-1 | 3.00 MiB | 50% | 25%",
            ]
        );
    }

    #[test]
    fn a_host_without_a_known_group_has_no_known_share_of_the_data() {
        let unknown = rows(vec![run(
            0.01,
            vec![
                host("algo-1", None, 20.0),
                host("algo-2", Some("data"), 20.0),
            ],
        )]);
        assert_eq!(unknown[1], " | unknown | algo-1 |  | 20% | 10%");
    }

    #[test]
    fn many_hosts_are_counted_and_a_single_one_is_no_row() {
        let many = (1..=40).map(|n| host(&format!("algo-{n}"), Some("data"), 20.0));
        let shown = rows(vec![run(0.01, many.collect())]);
        assert_eq!(shown.len(), 17);
        assert!(shown[16].contains("and 24 more"), "{}", shown[16]);
        assert_eq!(rows(vec![run(0.01, Vec::new())]), [""; 0]);
    }
}
