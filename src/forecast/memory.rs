//! Peak memory of the host and of its GPUs.

use super::runs::Runs;
use super::{Law, Predictive, Quantity, Unknown, prior};
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::units::Bytes;

/// The forecast of the host's peak memory.
pub(super) struct MemoryForecast {
    pub(super) bytes: Quantity,
    pub(super) percent: Quantity,
    pub(super) law: Option<Law>,
}

/// Bytes by a law in the data; percent from the bytes and the machine, or by a law of their own if only percentages were
/// measured, as in the seed library's table.
pub(super) fn forecast(runs: &Runs, offer: &Offer) -> MemoryForecast {
    if runs.out_of_memory() {
        let settled =
            || Unknown("a canary ran out of memory, and the full run will too".to_owned());
        return MemoryForecast {
            bytes: Err(settled()),
            percent: Err(settled()),
            law: None,
        };
    }
    match extrapolate(runs, peak_bytes) {
        Ok((bytes, law)) => MemoryForecast {
            percent: match (offer.memory_of_each(), offer.members.len()) {
                (None, 2..) => worst_percent(runs),
                (memory, _) => percent_of(&bytes, memory),
            },
            bytes: Ok(bytes),
            law: Some(law),
        },
        Err(no_bytes) => match extrapolate(runs, peak_percent) {
            Ok((percent, law)) => MemoryForecast {
                bytes: Err(Unknown(
                    "memory was measured in percent of the machine, not in bytes".to_owned(),
                )),
                percent: Ok(percent),
                law: Some(law),
            },
            Err(_) => MemoryForecast {
                bytes: Err(no_bytes.clone()),
                percent: Err(no_bytes),
                law: None,
            },
        },
    }
}

/// Of groups whose machines differ, bytes on the fullest host are no percentage of all; the host that is nearest to its own
/// limit decides, and only what was measured in percent says which that is.
fn worst_percent(runs: &Runs) -> Quantity {
    let percent = extrapolate(runs, peak_percent).map(|(percent, _)| percent);
    percent.map_err(|_| {
        Unknown(
            "the machines of the groups differ in memory, and it was not measured in percent of each"
                .to_owned(),
        )
    })
}

/// From the 99th percentile if every run has it, else from the mean: a short peak of memory counts.
pub(super) fn forecast_gpu(runs: &Runs) -> Quantity {
    let usage = |run: &Measurement| run.usage.gpu_memory_percent.clone();
    let high = |run: &Measurement| usage(run).and_then(|usage| usage.p99);
    let all_high = runs.all_have(|run| usage(run).is_none() || high(run).is_some());
    runs.utilization("GPU memory", |run| {
        let percent = if all_high {
            high(run)
        } else {
            usage(run).map(|usage| usage.mean)
        };
        percent.map(|percent| percent.0)
    })
}

fn extrapolate(
    runs: &Runs,
    value: impl Fn(&Measurement) -> Option<f64>,
) -> Result<(Predictive, Law), Unknown> {
    runs.extrapolate("memory", &prior::MEMORY, value)
}

pub(super) fn peak_bytes(run: &Measurement) -> Option<f64> {
    Some(run.usage.memory.as_ref()?.bytes?.as_f64())
}

/// On the host that used the largest share of its memory.
pub(super) fn peak_percent(run: &Measurement) -> Option<f64> {
    let usages = run.hosts.iter().map(|host| &host.usage);
    let percents = usages.chain([&run.usage]).filter_map(|usage| {
        let memory = usage.memory.as_ref()?;
        memory.percent.map(|percent| percent.0)
    });
    percents.reduce(f64::max)
}

pub(super) fn percent_of(bytes: &Predictive, memory_of_each: Option<Bytes>) -> Quantity {
    match memory_of_each {
        Some(memory) if memory.0 > 0 => Ok(bytes.scaled(100.0 / memory.as_f64())),
        _ => Err(Unknown("the machine's memory is not known".to_owned())),
    }
}
