//! How long forecasts take on this machine.

use std::time::{Duration, Instant};

use canary_gate_core::forecast::{Basis, forecast};
use canary_gate_core::instance::{Capacity, InstanceConfiguration, InstanceType, Offer, Price};
use canary_gate_core::measurement::{Measurement, Phases, Utilization};
use canary_gate_core::units::{Bytes, Percent, Seconds, UsdPerHour};

use crate::comparison::score::{mean, median};
use crate::comparison::workload::Workload;

/// Enough for a median, and a bound for a slow machine.
const MOST_TIME: Duration = Duration::from_secs(3);
const MOST_FORECASTS: usize = 10_000;

/// Two lines: what one forecast takes, the median of many over all workloads, and what 10,000 jobs take.
///
/// Each is of everything that can be asked of one job: the nine canaries carry made-up utilization, phases and step
/// times beside what was recorded, and there is a price and a capacity.
pub(crate) fn measure(workloads: &[Workload]) -> String {
    let jobs: Vec<Vec<Measurement>> = workloads
        .iter()
        .map(|workload| {
            let canaries = workload.canaries.iter();
            canaries
                .map(|run| with_every_metric(&run.measurement))
                .collect()
        })
        .collect();
    let capacity = Capacity {
        vcpus: 8,
        memory: Bytes(32 << 30),
        gpus: 1,
        gpu_memory: Some(Bytes(16 << 30)),
    };
    let price = Price::from_spec(UsdPerHour(1.0));
    let instance = InstanceConfiguration::one(InstanceType::local());
    let offer = Offer::of(&instance, &|_| Some(capacity.clone()), &|_| {
        Some(price.clone())
    });
    let start = Instant::now();
    let mut milliseconds = Vec::new();
    for measurements in jobs.iter().cycle() {
        if milliseconds.len() >= MOST_FORECASTS || start.elapsed() > MOST_TIME {
            break;
        }
        let before = own_time(start);
        let forecast = forecast(&Basis {
            offer: &offer,
            measurements,
        });
        milliseconds.push((own_time(start) - before).as_secs_f64() * 1e3);
        std::hint::black_box(forecast);
    }
    format!(
        "all quantities of one job from nine points: {:.3} ms, the median of {}\n10,000 jobs at this rate: {:.2} s",
        median(&milliseconds),
        milliseconds.len(),
        // Ten thousand times so many thousandths of a second.
        10.0 * mean(&milliseconds),
    )
}

/// The CPU time of this thread, which other work of the machine does not lengthen; since `start` where a system does not tell it.
fn own_time(start: Instant) -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().map(str::parse);
    match nanoseconds {
        Some(Ok(nanoseconds)) => Duration::from_nanos(nanoseconds),
        _ => start.elapsed(),
    }
}

fn with_every_metric(run: &Measurement) -> Measurement {
    let level = |percent| {
        Some(Utilization {
            mean: Percent(percent),
            p99: Some(Percent(percent + 5.0)),
            source: "made up".to_owned(),
        })
    };
    let time = run.training_seconds.unwrap_or_default();
    let mut run = run.clone();
    run.usage.cpu_percent = level(80.0);
    run.usage.gpu_percent = level(60.0);
    run.usage.gpu_memory_percent = level(40.0);
    run.usage.io_wait_percent = level(3.0);
    run.step_seconds = Some(Seconds(0.2));
    run.phases = Phases {
        startup: Some(Seconds(60.0)),
        download: Some(Seconds(time.0 * 0.1)),
        training: Some(Seconds(time.0 * 0.8)),
        upload: Some(Seconds(time.0 * 0.1)),
    };
    run
}
