//! CloudWatch: one series for each host and metric, a point a minute.
//!
//! A minute's point hides what happens within it, and a run of a few minutes has as few points. Memory is therefore a
//! lower bound, and what does not come is absent. GPUs are counted together, so what the fullest of several held is at least their mean.

use aws_sdk_cloudwatch::types::{Dimension, Metric, MetricDataQuery, MetricDataResult, MetricStat};
use aws_smithy_types::DateTime;
use jiff::Timestamp;

use super::{Host, peak_memory, utilization};
use crate::instance::Capacity;
use crate::measurement::{PeakMemory, Usage};
use crate::units::{Bytes, Seconds};

/// What one GetMetricData call takes.
pub(in crate::backend) const MOST_QUERIES: usize = 500;
const NAMESPACE: &str = "/aws/sagemaker/TrainingJobs";
const PERIOD_SECONDS: i32 = 60;
const MEAN_SOURCE: &str = "CloudWatch, 1-minute averages";
const MEMORY_SOURCE: &str = "CloudWatch, 1-minute maximum, a lower bound";
/// A run that fits between two or three points has none.
pub(in crate::backend) const SEEN_FROM: Seconds = Seconds(180.0);
/// 28 days, a point a minute; more than that is no answer to what was asked.
const MOST_POINTS: usize = 28 * 24 * 60 + 2;

/// A metric of parts counts each part in full: 400 for 4 busy cores. 0 where their number is not known.
type Parts = fn(Option<&Capacity>) -> u32;
const CORES: Parts = |capacity| capacity.map_or(0, |it| it.vcpus);
const GPUS: Parts = |capacity| capacity.map_or(0, |it| it.gpus);

/// What is asked of each host, the shares as they were on average, and memory at its highest: the name of its query, which begins
/// with a lowercase letter, as the API wants, the metric, the statistic, and its parts.
#[derive(Debug, Clone, Copy)]
struct Series(&'static str, &'static str, &'static str, Parts);

const CPU: Series = Series("cpu", "CPUUtilization", "Average", CORES);
const MEMORY: Series = Series("memory", "MemoryUtilization", "Maximum", |_| 1);
const GPU: Series = Series("gpu", "GPUUtilization", "Average", GPUS);
const GPU_MEMORY: Series = Series("gpu_memory", "GPUMemoryUtilization", "Average", GPUS);
const GPU_MEMORY_PEAK: Series = Series("gpu_memory_peak", "GPUMemoryUtilization", "Maximum", GPUS);

impl Series {
    fn query(self, host: usize) -> String {
        format!("{}_{host}", self.0)
    }
}

/// What to ask for the hosts of a job (`algo-1`, …), to be sent in chunks of [`MOST_QUERIES`].
///
/// No unit: with a wrong one nothing comes.
pub(in crate::backend) fn queries(job_name: &str, hosts: &[String]) -> Vec<MetricDataQuery> {
    let each = hosts.iter().enumerate();
    each.flat_map(|(index, host)| {
        [CPU, MEMORY, GPU, GPU_MEMORY, GPU_MEMORY_PEAK].map(|series| {
            let host = Dimension::builder()
                .name("Host")
                .value(format!("{job_name}/{host}"));
            let metric = Metric::builder().namespace(NAMESPACE).metric_name(series.1);
            let metric = metric.dimensions(host.build()).build();
            let statistic = MetricStat::builder().metric(metric).stat(series.2);
            let statistic = statistic.period(PERIOD_SECONDS).build();
            let query = MetricDataQuery::builder().id(series.query(index));
            query.metric_stat(statistic).return_data(true).build()
        })
    })
    .collect()
}

/// StartTime (inclusive) and EndTime (exclusive) that cover a run: whole minutes, and one more at the end.
pub(in crate::backend) fn window((start, end): (Timestamp, Timestamp)) -> (DateTime, DateTime) {
    let minutes = |time: Timestamp| time.as_duration().as_secs_f64() / f64::from(PERIOD_SECONDS);
    let at = |minute: f64| DateTime::from_secs_f64(minute * f64::from(PERIOD_SECONDS));
    (at(minutes(start).floor()), at(minutes(end).ceil() + 1.0))
}

/// Reads the answers to [`queries`], of all pages and calls together, for a host and its place; a value without a point is
/// absent. Of a host whose capacity is not known only the share of its memory is.
pub(in crate::backend) fn read(answers: &[MetricDataResult], index: usize, host: &Host) -> Usage {
    let capacity = host.capacity.as_ref();
    let shares = |series: Series| -> Vec<f64> {
        let parts = (series.3)(capacity);
        if parts == 0 {
            return Vec::new();
        }
        let query = series.query(index);
        let shares = points(answers, &query).map(|value| value / f64::from(parts));
        shares.map(|share| share.min(100.0)).collect()
    };
    let peak = |series, memory: Option<Bytes>| {
        let percent = shares(series).into_iter().reduce(f64::max)?;
        Some(PeakMemory {
            is_lower_bound: true,
            ..peak_memory(percent, memory, MEMORY_SOURCE)?
        })
    };
    Usage {
        memory: peak(MEMORY, capacity.map(|capacity| capacity.memory)),
        gpu_memory: (capacity.and_then(|capacity| capacity.gpu_memory))
            .and_then(|memory| peak(GPU_MEMORY_PEAK, Some(memory))),
        cpu_percent: utilization(&shares(CPU), MEAN_SOURCE),
        gpu_percent: utilization(&shares(GPU), MEAN_SOURCE),
        gpu_memory_percent: utilization(&shares(GPU_MEMORY), MEAN_SOURCE),
        ..Usage::default()
    }
}

/// A series' values; what is negative or no number is no value.
fn points<'a>(answers: &'a [MetricDataResult], id: &'a str) -> impl Iterator<Item = f64> + 'a {
    let of_series = answers.iter().filter(move |answer| answer.id() == Some(id));
    let values = of_series.flat_map(MetricDataResult::values).copied();
    let sound = values.filter(|value| value.is_finite() && *value >= 0.0);
    sound.take(MOST_POINTS)
}

/// Whether there is no use in waiting for more: every host has about a point for each minute of the run, one at least.
pub(in crate::backend) fn is_complete(
    answers: &[MetricDataResult],
    hosts: &[Host],
    (start, end): (Timestamp, Timestamp),
) -> bool {
    let minutes = (end.as_second() - start.as_second()) / i64::from(PERIOD_SECONDS);
    // The first and the last minute are cut.
    let expected = usize::try_from(minutes - 1)
        .unwrap_or(0)
        .clamp(1, MOST_POINTS);
    hosts.iter().enumerate().all(|(host, of_host)| {
        let series: &[Series] = match of_host.has_gpus() {
            true => &[CPU, MEMORY, GPU, GPU_MEMORY_PEAK],
            false => &[CPU, MEMORY],
        };
        let count = |series: &Series| points(answers, &series.query(host)).count();
        series.iter().all(|series| count(series) >= expected)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Percent;

    fn capacity() -> Capacity {
        Capacity {
            vcpus: 4,
            memory: Bytes(16 << 30),
            gpus: 2,
            gpu_memory: Some(Bytes(16 << 30)),
        }
    }

    /// The usage of so many hosts, of a capacity.
    fn read(answers: &[MetricDataResult], capacities: &[Option<Capacity>]) -> Vec<Usage> {
        let hosts = with(capacities);
        let hosts = hosts.iter().enumerate();
        let usages = hosts.map(|(index, host)| super::read(answers, index, host));
        usages.collect()
    }

    /// Hosts of these capacities.
    fn with(capacities: &[Option<Capacity>]) -> Vec<Host> {
        let hosts = hosts(capacities.len()).into_iter().zip(capacities);
        let hosts = hosts.map(|(name, capacity)| Host {
            name,
            group: None,
            capacity: capacity.clone(),
            bytes: Bytes(0),
            sources: super::super::Sources::default(),
        });
        hosts.collect()
    }

    fn hosts(count: usize) -> Vec<String> {
        (1..=count).map(|host| format!("algo-{host}")).collect()
    }

    fn answer(id: &str, values: &[f64]) -> MetricDataResult {
        MetricDataResult::builder()
            .id(id)
            .set_values(Some(values.to_vec()))
            .build()
    }

    #[test]
    fn each_host_has_its_own_series() {
        let queries = queries("cg-churn-0123-0", &hosts(200));
        assert_eq!(queries.len(), 1000);
        let mut calls = queries.chunks(MOST_QUERIES);
        assert_eq!(calls.next().unwrap().len(), 500);
        let ids: std::collections::HashSet<_> = queries.iter().map(|query| query.id()).collect();
        assert_eq!(ids.len(), 1000);

        let statistic = queries[6].metric_stat().unwrap();
        let metric = statistic.metric().unwrap();
        assert_eq!(metric.namespace(), Some("/aws/sagemaker/TrainingJobs"));
        assert_eq!(metric.metric_name(), Some("MemoryUtilization"));
        assert_eq!(metric.dimensions()[0].name(), Some("Host"));
        assert_eq!(
            metric.dimensions()[0].value(),
            Some("cg-churn-0123-0/algo-2")
        );
        assert_eq!(
            (statistic.stat(), statistic.period()),
            (Some("Maximum"), Some(60))
        );
        assert_eq!(statistic.unit(), None);
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_window_holds_every_minute_of_the_run() {
        let seconds = DateTime::from_secs;
        assert_eq!(window((at(119), at(181))), (seconds(60), seconds(300)));
        assert_eq!(window((at(120), at(180))), (seconds(120), seconds(240)));
        let later = Timestamp::new(180, 1).unwrap();
        assert_eq!(window((at(120), later)).1, seconds(300));
        let now = at(1_790_000_160);
        assert_eq!(window((now, now)).0, seconds(1_790_000_160));
        window((Timestamp::MIN, Timestamp::MAX));
    }

    #[test]
    fn sums_over_cores_and_gpus_become_shares_of_the_instance() {
        let answers = [
            answer("cpu_0", &[400.0, 200.0]),
            // A second page.
            answer("cpu_0", &[0.0]),
            answer("memory_0", &[25.0, 50.0]),
            answer("gpu_0", &[100.0]),
            answer("cpu_1", &[100.0]),
        ];
        let usages = read(&answers, &[Some(capacity()), Some(capacity())]);
        let first = &usages[0];
        let cpu = first.cpu_percent.as_ref().unwrap();
        assert_eq!((cpu.mean, cpu.p99), (Percent(50.0), None));
        assert_eq!(first.gpu_percent.as_ref().unwrap().mean, Percent(50.0));
        assert_eq!(
            (&first.gpu_memory_percent, &first.gpu_memory),
            (&None, &None)
        );
        let memory = first.memory.as_ref().unwrap();
        assert_eq!(memory.bytes, Some(Bytes(8 << 30)));
        assert!(memory.is_lower_bound);
        assert_eq!(usages[1].memory, None);
        let cpu = usages[1].cpu_percent.as_ref().unwrap();
        assert_eq!(cpu.mean, Percent(25.0));
    }

    #[test]
    fn the_fullest_gpu_held_at_least_the_mean_of_all() {
        let answers = [
            answer("gpu_memory_0", &[40.0, 60.0]),
            answer("gpu_memory_peak_0", &[50.0, 120.0]),
        ];
        let usages = read(&answers, &[Some(capacity())]);
        let usage = &usages[0];
        let peak = usage.gpu_memory.as_ref().unwrap();
        assert_eq!(peak.percent, Some(Percent(60.0)));
        assert_eq!(
            peak.bytes,
            Some(Bytes::from_f64(0.6 * Bytes(16 << 30).as_f64()))
        );
        assert!(peak.is_lower_bound);
        let mean = usage.gpu_memory_percent.as_ref().unwrap();
        assert_eq!(mean.mean, Percent(25.0));
    }

    #[test]
    fn odd_values_are_left_out_or_cut() {
        let answers = [
            answer("cpu_0", &[f64::NAN, -5.0, f64::INFINITY, 900.0]),
            answer("memory_0", &[100.4]),
            answer("gpu_0", &[-1.0]),
            answer("disk_0", &[7.0]),
        ];
        let usages = read(&answers, &[Some(capacity())]);
        let usage = &usages[0];
        assert_eq!(usage.cpu_percent.as_ref().unwrap().mean, Percent(100.0));
        assert_eq!(usage.memory.as_ref().unwrap().bytes, Some(Bytes(16 << 30)));
        assert_eq!(usage.gpu_percent, None);
        let no_gpu = Capacity {
            gpus: 0,
            ..capacity()
        };
        let usages = read(&[answer("gpu_0", &[50.0])], &[Some(no_gpu)]);
        assert_eq!(usages, [Usage::default()]);
    }

    #[test]
    fn of_a_host_that_is_not_known_only_the_share_of_memory_is() {
        let answers = [
            answer("cpu_0", &[200.0]),
            answer("memory_0", &[50.0]),
            answer("gpu_0", &[10.0]),
            answer("cpu_1", &[200.0]),
        ];
        let usages = read(&answers, &[None, Some(capacity())]);
        let unknown = &usages[0];
        let memory = unknown.memory.as_ref().unwrap();
        assert_eq!((memory.bytes, memory.percent), (None, Some(Percent(50.0))));
        assert_eq!((&unknown.cpu_percent, &unknown.gpu_percent), (&None, &None));
        let known = usages[1].cpu_percent.as_ref().unwrap();
        assert_eq!(known.mean, Percent(50.0));
    }

    #[test]
    fn waiting_ends_with_about_a_point_a_minute_on_every_host() {
        let complete = |points: usize, seconds: i64| {
            let values = vec![1.0; points];
            let answers = [
                answer("cpu_0", &values),
                answer("memory_0", &values),
                answer("cpu_1", &values),
                answer("memory_1", &values),
            ];
            let span = (at(1000), at(1000 + seconds));
            is_complete(&answers, &with(&[None, None]), span)
        };
        assert!(!complete(0, 30) && complete(1, 30));
        assert!(!complete(3, 300) && complete(4, 300));
        let one_host = [answer("cpu_0", &[1.0]), answer("memory_0", &[1.0])];
        let span = (at(0), at(60));
        assert!(!is_complete(&one_host, &with(&[None, None]), span));
        // Where there are GPUs, their points are waited for too.
        assert!(is_complete(&one_host, &with(&[None]), span));
        assert!(!is_complete(&one_host, &with(&[Some(capacity())]), span));
        let of_gpus = ["gpu_0", "gpu_memory_peak_0"].map(|id| answer(id, &[1.0]));
        let all = [one_host.as_slice(), &of_gpus].concat();
        assert!(is_complete(&all, &with(&[Some(capacity())]), span));
    }
}
