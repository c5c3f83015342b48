//! What machines cost that were kept between canaries, and what those may cost that could not be given back.

use crate::backend::EndedPool;
use crate::console::say;
use crate::instance::OfferOf;
use crate::measurement::Measurement;
use crate::plan::JobLedger;
use crate::units::{Seconds, Usd};

/// Enters what was kept until the end into the ledger and into the measurement of the last run on it. Returns a note for each pool
/// that may still be billed, and says it.
pub(crate) fn settle(
    ended: &[EndedPool],
    measurements: &mut [Measurement],
    ledger: &JobLedger<'_>,
    offer_of: OfferOf<'_>,
) -> Vec<String> {
    let mut billed: Option<Usd> = None;
    let mut notes = Vec::new();
    for pool in ended {
        let offer = offer_of(&pool.instance);
        match &pool.idle {
            Ok(idle) => {
                let cost = offer.cost(*idle);
                billed = billed
                    .into_iter()
                    .chain(cost)
                    .reduce(|sum, more| sum + more);
                if let Some(run) = last_on(pool, measurements)
                    && idle.0 > 0.0
                {
                    run.idle_seconds = Some(run.idle_seconds.unwrap_or(Seconds(0.0)) + *idle);
                    let costs = run.idle_usd.into_iter().chain(cost);
                    run.idle_usd = costs.reduce(|sum, more| sum + more);
                }
            }
            Err(why) => {
                let most = offer
                    .cost(pool.keep_alive)
                    .map_or_else(String::new, |usd| format!(", for up to {}", usd.exact()));
                notes.push(format!(
                    "the warm pool of {} could not be ended ({why}): AWS bills {} for up to {} more{most}; end it with `canary-gate sweep`, or allow sagemaker:UpdateTrainingJob",
                    pool.training_job,
                    pool.instance,
                    pool.keep_alive.exact(),
                ));
            }
        }
    }
    ledger.end_kept(billed);
    for note in &notes {
        say(&format!("warning: {note}"));
    }
    notes
}

/// The last run on a pool's machines; where that is not among them, another on the same configuration.
fn last_on<'m>(
    pool: &EndedPool,
    measurements: &'m mut [Measurement],
) -> Option<&'m mut Measurement> {
    let is_last = |run: &Measurement| run.training_job.as_deref() == Some(&*pool.training_job);
    let is_alike = |run: &Measurement| run.is_on(&pool.instance) && run.reused.is_none();
    let place = (measurements.iter().position(is_last))
        .or_else(|| measurements.iter().rposition(is_alike))?;
    measurements.get_mut(place)
}
