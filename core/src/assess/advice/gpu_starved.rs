//! GPUs that wait for the processors of their machine.

use super::{BUSY, JobInput, Measured, cost, median};
use crate::grammar::count;
use crate::metric::Metric;
use crate::report::BUSY_GPU;
use crate::units::Seconds;

/// Percent of the time. Idle GPUs wait for nothing.
const WAITING: std::ops::Range<f64> = 5.0..BUSY_GPU;

/// Machines beside these save money where an hour of them costs less than what the time saved would have, for each hour that is left.
pub(super) fn advice(measured: &Measured, input: &JobInput<'_>) -> Option<String> {
    let [time, cpu] = [Metric::Time, Metric::CpuUtilization].map(|of| median(measured, of));
    let (time, cpu) = (time?, cpu.filter(|cpu| *cpu > BUSY)?);
    let gpu = median(measured, Metric::GpuUtilization).filter(|gpu| WAITING.contains(gpu))?;
    let (kind, hosts) = measured.instance().members()[0];
    let capacity = measured.capacity()?;
    let processes = (input.job).map_or(1, |job| job.training.processes(capacity.gpus, hosts));
    let beside = (processes > 1).then(|| format!(" beside the job's {processes} processes"));
    let beside = beside.unwrap_or_default();
    // The machine itself takes one.
    let workers = capacity.vcpus.saturating_sub(1 + processes).max(1);
    let workers = count(usize::try_from(workers).unwrap_or(usize::MAX), "worker");
    let (time, by_gpu) = (Seconds(time), Seconds(time * gpu / 100.0));
    let most = measured.offer.cost(Seconds(3600.0 * (100.0 / gpu - 1.0)));
    let most = most.filter(|_| !kind.is_local()).map(|most| format!(" Or machines without a GPU prepare the data beside it, which saves money while they cost less than {most} an hour: `alternatives: [{{groups: {{data: 1x ml.c5.4xlarge, gpu: {hosts}x {kind}}}}}]`."));
    Some(format!(
        "the GPUs are busy {gpu:.0}% of the time and the processors {cpu:.0}%, so the GPUs wait for data. If the GPUs were the limit, the full run would take {by_gpu}{} of its {time}. A loader has room for {workers} on each machine{beside}.{}",
        cost(measured, by_gpu),
        most.unwrap_or_default(),
    ))
}
