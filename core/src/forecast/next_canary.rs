//! The next canary as those before it let one expect it: its time, for the adaptive design, and the whole run, for a design that asks for
//! several at once.

use super::{Posterior, Predictive, Prior, Runs, memory, points, prior, progress, seconds};
use crate::measurement::{Measurement, PeakMemory, Phases};
use crate::metric::MemoryOf;
use crate::units::{Bytes, Fraction, Percent, Seconds};

/// The predicted time of one more run of any size, in seconds. Available from the first run on, with a wide interval.
#[derive(Debug, Clone)]
pub struct CanaryTime {
    law: Posterior,
    /// Of no data and of all, by the steps that canaries printed.
    by_steps: Option<[f64; 2]>,
}

impl CanaryTime {
    /// `None` if no completed run has a time.
    pub fn learn(measurements: &[Measurement]) -> Option<Self> {
        let runs = Runs::choose(measurements);
        let time = |run: &Measurement| seconds(run.time());
        let law = law_of_any(&runs, &prior::TIME, time)?;
        Some(Self {
            law: law.given_at_least(&runs.lower_bounds()),
            by_steps: progress::time_by_steps(&runs),
        })
    }

    /// The distribution for a run of `share` of the data with `work` of the full run's work, both in (0, 1].
    pub fn at(&self, share: f64, work: f64) -> Predictive {
        let by_law = self.law.predict_at(share, work);
        let of_steps = |[none, all]: [f64; 2]| none + share * (all - none);
        let at_least = self.by_steps.filter(|_| work == 1.0).map_or(0.0, of_steps);
        by_law.scaled((at_least / by_law.median()).max(1.0))
    }
}

/// A law of however few runs have a value above 0; `None` without one.
fn law_of_any(
    runs: &Runs,
    prior: &Prior,
    value: impl Fn(&Measurement) -> Option<f64>,
) -> Option<Posterior> {
    let points = runs.measured(|run| value(run).filter(|value| *value >= f64::MIN_POSITIVE));
    let points = points.ok().filter(|points| !points.is_empty())?;
    Some(Posterior::fit(&points::observations(&points, prior), prior))
}

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
    let runs = Runs::choose(measurements);
    for (peak, of) in [
        (&mut run.usage.memory, MemoryOf::Machine),
        (&mut run.usage.gpu_memory, MemoryOf::Gpu),
    ] {
        let seen = |run: &Measurement| Some(run.usage.peak(of)?.bytes?.as_f64());
        let law = law_of_any(&runs, memory::prior_of(of), seen);
        let bytes = law.map(|law| law.predict_at(share, work).median());
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
