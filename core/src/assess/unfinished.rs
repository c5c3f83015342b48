//! Why canaries that did not complete leave a job undecided, and what to do.

use crate::grammar::only_where;
use crate::measurement::{Abscissa, Measurement, Outcome};
use crate::units::Seconds;
use crate::verdict::Reason;

/// The headline of a job that is unknown since a canary did not complete: the newest that says why. `None` where all completed,
/// or where the outcome is one of the training code.
///
/// `max_runtime` is `canary.max_runtime`, where it is known.
pub fn cause(measurements: &[Measurement], max_runtime: Option<Seconds>) -> Option<Reason> {
    let mut newest = measurements.iter().rev();
    newest.find_map(|run| {
        let is_elsewhere = |other: &Measurement| other.instance != run.instance;
        of_canary(run, measurements.iter().any(is_elsewhere), max_runtime)
    })
}

/// `on_several` is whether the canaries ran on more than one configuration.
fn of_canary(run: &Measurement, on_several: bool, max_runtime: Option<Seconds>) -> Option<Reason> {
    let on = only_where(on_several, || format!(" on {}", run.instance));
    let canary = format!("the {} canary{on}", run.fraction);
    let again = || "start the check again".to_owned();
    let (why, advice) = match run.outcome {
        Outcome::NoCapacity => (
            format!("no capacity for {}", run.instance),
            "start the check again later, or choose another instance".to_owned(),
        ),
        Outcome::PlatformError => (
            format!("an error of the platform's own, not of the training code, ended {canary}"),
            again(),
        ),
        Outcome::Stopped => (
            format!("{canary} was stopped by a person or another tool"),
            again(),
        ),
        // It did what it was to do.
        Outcome::TimedOut if run.ended_early => return None,
        Outcome::TimedOut => {
            let after = run.time().map(|time| format!(" after {time}"));
            let after = after.unwrap_or_default();
            let smaller = match run.abscissa() {
                Abscissa::Data => "smaller canary.fractions",
                Abscissa::Work => "lower levels under work.canary",
            };
            // SageMaker takes whole seconds.
            let is_shorter = |(time, longest): (Seconds, Seconds)| time.0 + 1.0 < longest.0;
            let (limit, raise) = match run.time().zip(max_runtime).is_some_and(is_shorter) {
                true => (
                    ", as long as what was left of the spend limit paid for",
                    "canary.spend_limit or --max-spend (of a job that the base lacks, --max-spend alone)",
                ),
                false => ("", "canary.max_runtime"),
            };
            (
                format!("{canary} was stopped{after}, its time limit{limit}"),
                format!("raise {raise}, or write {smaller}"),
            )
        }
        Outcome::Completed if run.is_unread() => {
            let why = format!("{canary} opened no file of its sample");
            let way_out = run.way_out.as_deref();
            let way_out = way_out.unwrap_or("let the script read its channels");
            (why, way_out.to_owned())
        }
        Outcome::Completed | Outcome::Failed { .. } | Outcome::OutOfMemory { .. } => return None,
    };
    Some(Reason::new(why).advising(advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Fraction;

    #[test]
    fn what_shortened_a_time_limit_is_what_to_raise() {
        let stopped = Measurement {
            training_seconds: Some(Seconds(600.0)),
            ..Measurement::without_figures(
                "churn".to_owned(),
                "local".parse().unwrap(),
                Fraction(0.01),
                Outcome::TimedOut,
            )
        };
        let said = |max_runtime| {
            let reason = cause(std::slice::from_ref(&stopped), max_runtime);
            reason.unwrap().to_string()
        };
        for by_itself in [None, Some(Seconds(600.0))] {
            assert_eq!(
                said(by_itself),
                "the 1% canary was stopped after 10m, its time limit; raise canary.max_runtime, or write smaller canary.fractions"
            );
        }
        assert_eq!(
            said(Some(Seconds(1800.0))),
            "the 1% canary was stopped after 10m, its time limit, as long as what was left of the spend limit paid for; raise canary.spend_limit or --max-spend (of a job that the base lacks, --max-spend alone), or write smaller canary.fractions"
        );
    }
}
