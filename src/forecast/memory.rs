//! Peak memory of the host and of its GPUs.

use super::runs::Runs;
use super::{Law, Predictive, Quantity, Unknown, prior};
use crate::instance::Capacity;
use crate::measurement::Measurement;

/// The forecast of the host's peak memory.
pub(super) struct MemoryForecast {
    pub(super) bytes: Quantity,
    pub(super) percent: Quantity,
    pub(super) law: Option<Law>,
}

/// Bytes by a law in the data; percent from the bytes and the machine, or by a law of their own if only percentages were
/// measured, as in the seed library's table.
pub(super) fn forecast(runs: &Runs, capacity: Option<&Capacity>) -> MemoryForecast {
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
            percent: percent_of(&bytes, capacity),
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

pub(super) fn peak_percent(run: &Measurement) -> Option<f64> {
    Some(run.usage.memory.as_ref()?.percent?.0)
}

pub(super) fn percent_of(bytes: &Predictive, capacity: Option<&Capacity>) -> Quantity {
    match capacity {
        Some(capacity) if capacity.memory.0 > 0 => {
            Ok(bytes.scaled(100.0 / capacity.memory.as_f64()))
        }
        _ => Err(Unknown("the machine's memory is not known".to_owned())),
    }
}
