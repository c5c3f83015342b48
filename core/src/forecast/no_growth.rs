//! Canaries that take as long for far more of the data: the command may hide that its work failed, or skip it.

use super::runs::Runs;
use super::{Doubt, ROUGH_IF_FIXED, other_work, prior, progress, seconds};
use crate::measurement::Measurement;
use crate::units::Fraction;

/// Two times that differ by so many standard deviations of the noise differ by more than it.
const CLEAR: f64 = 3.0;
/// A difference of fewer seconds may come from the start alone.
const JITTER: f64 = 0.3;
/// The same of CPU time, spread over the machine.
const CPU_JITTER: f64 = 0.1;
/// Growth is looked for where the largest run did at least so many times what the smallest did.
const FAR: f64 = 2.0;

/// The doubt in a time that does not grow by more than noise up to the run that did most. There is none
///
/// - where that was the full run,
/// - where the runs are too near to each other for growth to show, unless all did little of the full run's work,
/// - where the CPU time grows, or all runs did as many steps, unless all did little of the work.
pub(super) fn seen(runs: &Runs) -> Option<Doubt> {
    let largest = runs.largest().filter(|run| run.reach() < 1.0)?;
    let reaches = runs.entered().iter().map(|run| run.reach());
    let is_far = largest.reach() >= FAR * reaches.reduce(f64::min)?;
    let did_little = largest.work_share() < 1.0 && largest.reach() < ROUGH_IF_FIXED;
    let grows = |value: fn(&Measurement) -> Option<f64>, jitter: f64| {
        let values = runs.entered().iter().filter_map(|run| value(run));
        let (least, most) = values.reduce(f64::min).zip(value(largest))?;
        Some(most - least > jitter.max(CLEAR * prior::TIME.noise * most))
    };
    let is_explained = || {
        grows(other_work::cpu_time, CPU_JITTER) == Some(true)
            || progress::all_do_as_many_steps(runs)
    };
    let is_flat = !grows(|run| seconds(run.time()), JITTER)?;
    let is_doubted = is_flat && (did_little || is_far && !is_explained());
    is_doubted.then(|| Doubt::NoGrowthSeen(Fraction(largest.reach())))
}
