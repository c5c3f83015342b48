//! What machines cost that were kept between canaries, and what those may cost that could not be given back.

use crate::backend::EndedPool;
use crate::console::say;
use crate::instance::OfferOf;
use crate::measurement::Measurement;
use crate::plan::JobLedger;
use crate::units::{Seconds, Usd};

/// Enters what was kept until the end into the ledger and into the measurement of the last run on it; what could not be ended
/// stays set aside at its longest. Returns a note for each pool that may still be billed, and says it.
pub(crate) fn settle(
    ended: &[EndedPool],
    measurements: &mut [Measurement],
    ledger: &JobLedger<'_>,
    offer_of: OfferOf<'_>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let mut kept = Vec::new();
    for pool in ended {
        let offer = offer_of(&pool.instance);
        match &pool.idle {
            Ok(idle) => {
                let cost = offer.cost(*idle);
                ledger.end_kept([&*pool.training_job], cost);
                if idle.0 > 0.0 {
                    notes.extend(enter(pool, *idle, cost, measurements));
                }
            }
            Err(why) => {
                let most = offer.cost(pool.keep_alive);
                if let Some(most) = most {
                    ledger.keep(&pool.training_job, most);
                }
                kept.push(&*pool.training_job);
                let most =
                    most.map_or_else(String::new, |usd| format!(", for up to {}", usd.exact()));
                let note = format!(
                    "the warm pool of {} could not be ended ({why}): AWS bills {} for up to {} more{most}; end it with `canary-gate sweep --run ID`, by its tag `canary-gate:run`, or allow sagemaker:UpdateTrainingJob",
                    pool.training_job,
                    pool.instance,
                    pool.keep_alive.exact(),
                );
                say(&format!("warning: {note}"));
                notes.push(note);
            }
        }
    }
    ledger.end_all_kept_but(&kept);
    notes
}

/// Enters the time into the measurement of the last run on a pool, where that is known, else of another on the same machines.
/// Returns a note where there is none.
fn enter(
    pool: &EndedPool,
    idle: Seconds,
    cost: Option<Usd>,
    measurements: &mut [Measurement],
) -> Option<String> {
    let is_last = |run: &Measurement| run.training_job.as_deref() == Some(&*pool.training_job);
    let place = (measurements.iter().position(is_last)).or_else(|| {
        measurements
            .iter()
            .rposition(|run| run.is_on(&pool.instance))
    });
    let Some(run) = place.and_then(|place| measurements.get_mut(place)) else {
        let cost = cost.map_or_else(String::new, |usd| format!(", for {}", usd.exact()));
        return Some(format!(
            "machines of {} were kept for {} after {}{cost}, which no measured canary holds",
            pool.instance,
            idle.exact(),
            pool.training_job,
        ));
    };
    run.idle_seconds = Some(run.idle_seconds.unwrap_or(Seconds(0.0)) + idle);
    let costs = run.idle_usd.into_iter().chain(cost);
    run.idle_usd = costs.reduce(|sum, more| sum + more);
    None
}
