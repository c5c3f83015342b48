//! A run as those before it let one expect it, for a design that asks for several at once.

use super::posterior::{Posterior, Prior};
use super::runs::Runs;
use super::{points, prior};
use crate::measurement::{Measurement, PeakMemory, Phases};
use crate::metric::MemoryOf;
use crate::units::{Bytes, Fraction, Percent, Seconds};

/// One more completed run of `share` of the data with `work` of the full run's, that takes `time`, holds the memory that the laws
/// give it, and is otherwise like the largest run so far. `None` before a run has completed.
pub fn supposed(
    measurements: &[Measurement],
    fraction: Fraction,
    (share, work): (f64, f64),
    time: Seconds,
) -> Option<Measurement> {
    let largest = (measurements.iter())
        .filter(|run| run.is_completed())
        .max_by(|a, b| a.data_share().total_cmp(&b.data_share()))?;
    let mut run = Measurement {
        fraction,
        bytes: largest.bytes_total.map(|total| part_of(total, share)),
        work: largest.work_total.map(|total| total * work),
        replicate: 0,
        phases: Phases::default(),
        training_seconds: Some(time),
        billable_seconds: None,
        ..largest.clone()
    };
    for (peak, of, prior) in [
        (&mut run.usage.memory, MemoryOf::Machine, &prior::MEMORY),
        (&mut run.usage.gpu_memory, MemoryOf::Gpu, &prior::GPU_MEMORY),
    ] {
        let bytes = median_peak(measurements, of, prior, (share, work));
        *peak = peak.take().map(|peak| with_bytes(peak, bytes));
    }
    Some(run)
}

fn part_of(total: Bytes, share: f64) -> Bytes {
    Bytes::from_f64(total.as_f64() * share)
}

fn with_bytes(peak: PeakMemory, bytes: Option<f64>) -> PeakMemory {
    let (Some(bytes), Some(seen)) = (bytes, peak.bytes.filter(|seen| seen.0 > 0)) else {
        return peak;
    };
    let times = bytes / seen.as_f64();
    PeakMemory {
        bytes: peak.bytes.map(|bytes| part_of(bytes, times)),
        percent: peak.percent.map(|percent| Percent(percent.0 * times)),
        upper_bound: peak.upper_bound.map(|bytes| part_of(bytes, times)),
        ..peak
    }
}

/// The median of a run's peak, in bytes.
fn median_peak(
    measurements: &[Measurement],
    of: MemoryOf,
    prior: &Prior,
    (share, work): (f64, f64),
) -> Option<f64> {
    let peak = |run: &Measurement| {
        let bytes = run.usage.peak(of)?.bytes?.as_f64();
        (bytes > 0.0).then_some(bytes)
    };
    let points = Runs::choose(measurements).measured(peak).ok()?;
    let is_measured = !points.is_empty();
    is_measured.then(|| {
        let observations = points::observations(&points, prior);
        let posterior = Posterior::fit(&observations, prior);
        posterior.predict_at(share, work).median()
    })
}
