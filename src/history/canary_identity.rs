//! When two measurements are of one canary run: it is in a record of its own and in those of its forecasts.

use crate::measurement::Measurement;

/// What identifies a canary run, in whichever record and at whichever price.
pub(super) fn canary_identity(run: &Measurement) -> String {
    let parts = (
        &run.job,
        run.instance.to_string(),
        (run.fraction.0.to_bits(), run.work.map(f64::to_bits)),
        (run.replicate, run.attempt),
        (&run.ended_at, &run.training_job, &run.outcome),
        run.training_seconds.map(|time| time.0.to_bits()),
    );
    format!("{parts:?}")
}
