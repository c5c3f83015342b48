//! Memory that a full run does not use, and a smaller machine that holds what it does.

use std::cmp::Reverse;

use super::{BUSY, JobInput, Measured, in_place, others};
use crate::forecast::scale_out::peak_bytes;
use crate::metric::{MemoryOf, Metric};
use crate::units::Bytes;

/// Whoever uses less of a machine's memory pays for memory.
const LITTLE: f64 = 1.0 / 3.0;

/// The other machine has as many vCPUs, or as many as the load needs. It is cheaper, where both prices are known. It holds growth that no
/// canary could show.
pub(super) fn advice(measured: &Measured, input: &JobInput<'_>) -> Option<String> {
    let (own, others) = others(measured, input)?;
    let peak = peak_bytes(measured, MemoryOf::Machine)?;
    let known = measured.forecast.memory;
    let (certainty, memory) = (input.budget.certainty.0, own.capacity.memory.as_f64());
    let most = peak.quantile(certainty);
    if known.doubt.is_some() || known.at_least.is_some() || most > LITTLE * memory {
        return None;
    }
    let unseen = known.unseen.map_or(0.0, |percent| memory * percent / 100.0);
    let needed = peak.if_steeper().quantile(certainty).max(unseen);
    let needed = needed / input.budget.memory_allowed(MemoryOf::Machine).0;
    let load = measured.forecast[Metric::CpuUtilization].as_ref();
    let load = load.map(|load| load.quantile(certainty) * f64::from(own.capacity.vcpus));
    let fits = others.filter(|other| {
        let (there, vcpus) = (other.capacity.memory, other.capacity.vcpus);
        let has_room = |load: &f64| *load <= BUSY * f64::from(vcpus);
        let is_as_fast = vcpus == own.capacity.vcpus
            || vcpus < own.capacity.vcpus && load.as_ref().is_ok_and(has_room);
        let prices = other.price.as_ref().zip(own.price.as_ref());
        let is_cheaper = prices.is_none_or(|(there, here)| there.usd_per_hour < here.usd_per_hour);
        is_as_fast && is_cheaper && there < own.capacity.memory && there.as_f64() >= needed
    });
    let fit = fits.max_by_key(|other| (other.capacity.vcpus, Reverse(other.capacity.memory)))?;
    Some(format!(
        "the full run is likely to use at most {} of a machine's {}. {} vCPUs with {} hold it{}.",
        Bytes::from_f64(most),
        own.capacity.memory,
        fit.capacity.vcpus,
        fit.capacity.memory,
        in_place(&own, input, &fit)?,
    ))
}
