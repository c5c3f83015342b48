//! Why canaries that did not complete leave a job undecided, and what to do.

use crate::measurement::{Abscissa, Measurement, Outcome};
use crate::units::Seconds;

/// The headline of a job that is unknown since a canary did not complete: the newest that says why. `None` where all completed,
/// or where the outcome is one of the training code.
pub(crate) fn cause(measurements: &[Measurement]) -> Option<String> {
    measurements.iter().rev().find_map(of_canary)
}

fn of_canary(run: &Measurement) -> Option<String> {
    let canary = format!("the {} canary", run.fraction);
    match run.outcome {
        Outcome::NoCapacity => Some(format!(
            "no capacity for {}; start the check again later, or choose another instance",
            run.instance
        )),
        Outcome::PlatformError => Some(format!(
            "an error of the platform's own, not of the training code, ended {canary}; start the check again"
        )),
        Outcome::Stopped => Some(format!(
            "{canary} was stopped by a person or another tool; start the check again"
        )),
        Outcome::TimedOut => {
            let after = run.time().map_or(String::new(), |Seconds(time)| {
                format!(" after {}", Seconds(time))
            });
            let smaller = match run.abscissa() {
                Abscissa::Data => "smaller canary.fractions",
                Abscissa::Work => "lower levels under work.canary",
            };
            Some(format!(
                "{canary} was stopped{after}, its time limit; raise canary.max_runtime, or write {smaller}"
            ))
        }
        Outcome::Completed | Outcome::Failed { .. } | Outcome::OutOfMemory { .. } => None,
    }
}
