//! Processors at their limit, and the next larger machine of the family.

use super::{BUSY, JobInput, Measured, in_place, median, others};
use crate::metric::Metric;
use crate::units::Seconds;

/// Percent of the time. GPUs that are busy for more are a limit too.
const AT_WORK: f64 = 60.0;

/// At best all of the time goes with the number of vCPUs, as far as the GPUs let it.
pub(super) fn advice(measured: &Measured, input: &JobInput<'_>) -> Option<String> {
    let [time, cpu, gpu] = [Metric::Time, Metric::CpuUtilization, Metric::GpuUtilization]
        .map(|metric| median(measured, metric));
    let (time, cpu) = (time?, cpu.filter(|cpu| *cpu > BUSY)?);
    let (own, others) = others(measured, input)?;
    let idle = (own.capacity.gpus == 0).then_some(0.0);
    let gpu = gpu.or(idle).filter(|gpu| *gpu < AT_WORK)?;
    let vcpus = own.capacity.vcpus;
    let larger = others.filter(|other| other.kind.family() == own.kind.family());
    let larger = larger.filter(|other| other.capacity.vcpus > vcpus);
    let larger = larger.min_by_key(|other| other.capacity.vcpus)?;
    let more = larger.capacity.vcpus;
    let part = (f64::from(vcpus) / f64::from(more)).max(gpu / 100.0);
    let (time, at_best) = (Seconds(time), Seconds(time * part));
    Some(format!(
        "the processors are busy {cpu:.0}% of the time and are the limit. With {more} vCPUs in place of {vcpus} the full run takes at best {at_best} of its {time}{}.",
        in_place(&own, input, &larger)?,
    ))
}
