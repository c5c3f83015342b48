//! GPUs that wait for the processors of their machine.

use super::cost;
use crate::forecast::scale_out::Measured;
use crate::grammar;
use crate::metric::Metric;
use crate::units::Seconds;

/// Percent of the time. GPUs that are busy for less wait for something, but idle ones for nothing.
const WAITING: std::ops::Range<f64> = 5.0..60.0;
/// Percent of the processors that nothing else could be waiting for.
const BUSY: f64 = 85.0;

/// Machines beside these save money where an hour of them costs less than what the time saved would have, for each hour that is left.
pub(super) fn advice(measured: &Measured) -> Option<String> {
    let median = |metric: Metric| Some(measured.forecast[metric].as_ref().ok()?.median());
    let (time, cpu) = (median(Metric::Time)?, median(Metric::CpuUtilization)?);
    let gpu = median(Metric::GpuUtilization).filter(|gpu| WAITING.contains(gpu) && cpu > BUSY)?;
    // The training process and the machine itself take two.
    let workers = measured.capacity()?.vcpus.saturating_sub(2).max(1);
    let workers = grammar::count(usize::try_from(workers).unwrap_or(usize::MAX), "worker");
    let (kind, count) = measured.instance().members()[0];
    let (time, by_gpu) = (Seconds(time), Seconds(time * gpu / 100.0));
    let most = measured.offer.cost(Seconds(3600.0 * (100.0 / gpu - 1.0)));
    let most = most.filter(|_| !kind.is_local()).map(|most| format!(" Or machines without a GPU prepare the data beside it, which saves money while they cost less than {most} an hour: `alternatives: [{{groups: {{data: 1x ml.c5.4xlarge, gpu: {count}x {kind}}}}}]`."));
    Some(format!(
        "Advice: the GPUs are busy {gpu:.0}% of the time and the processors {cpu:.0}%, so the GPUs wait for data. If the GPUs were the limit, the full run would take {by_gpu}{} of its {time}. A loader has room for {workers} on each machine.{}",
        cost(measured, by_gpu),
        most.unwrap_or_default(),
    ))
}
