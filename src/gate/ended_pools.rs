//! What machines cost that were kept between canaries, and what those may cost that could not be given back.

use crate::backend::{EndedPool, Ready};
use crate::console::say;
use crate::gate::runner::Runner;
use crate::measurement::Measurement;
use crate::plan::{Account, KeptMachines};
use crate::units::sum;
use crate::workspace::Project;

/// Enters pools that were ended into the account: what they cost, or could still cost where they may be kept.
pub(crate) fn bill(ended: &[EndedPool], account: &Account, kept: &KeptMachines, project: &Project) {
    for pool in ended {
        let offer = project.offer(&pool.instance);
        match &pool.idle {
            Ok(idle) => kept.end(account, [&*pool.training_job], offer.cost(*idle)),
            Err(_) => {
                if let Some(most) = offer.cost(pool.keep_alive) {
                    kept.keep(account, &pool.training_job, most);
                }
            }
        }
    }
}

/// Ends what is still kept, and enters what was kept until its end into the measurement of the last run on it. Returns a note for
/// each pool that may still be billed, which stays set aside, and says it. Nothing else is kept any more.
pub(crate) async fn end_all(
    ready: &dyn Ready,
    mut ended: Vec<EndedPool>,
    measurements: &mut [Measurement],
    (account, kept): (&Account, &KeptMachines),
    runner: &Runner<'_>,
) -> Vec<String> {
    let last = ready.end_pools(None).await;
    bill(&last, account, kept, runner.project);
    ended.extend(last);
    let mut notes = Vec::new();
    let mut still = Vec::new();
    let run = measurements.iter().find_map(|one| one.run.clone());
    let run = run.unwrap_or_else(|| "ID".to_owned());
    for pool in &ended {
        let offer = runner.project.offer(&pool.instance);
        match &pool.idle {
            Ok(idle) if idle.0 > 0.0 => {
                // Into the measurement of the last run on them, where that is known, else of another on the same machines.
                let name = &pool.training_job;
                let is_last = |run: &Measurement| run.training_job.as_ref() == Some(name);
                let is_alike = |run: &Measurement| run.is_on(&pool.instance);
                let place = measurements.iter().position(is_last);
                let place = place.or_else(|| measurements.iter().rposition(is_alike));
                if let Some(place) = place {
                    let run = &mut measurements[place];
                    run.idle_seconds = sum([run.idle_seconds, Some(*idle)]);
                    run.idle_usd = sum([run.idle_usd, offer.cost(*idle)]);
                } else {
                    runner.outputs.borrow_mut().lacks_some = true;
                }
            }
            Ok(_) => {}
            Err(why) => {
                still.push(&*pool.training_job);
                let most = (offer.cost(pool.keep_alive))
                    .map_or_else(String::new, |usd| format!(" ({})", usd.exact()));
                let note = format!(
                    "the warm pool of {} could not be ended ({why}): AWS may bill {} for {} more{most}; the next start of this run ends it, or `canary-gate sweep --run {run}`",
                    pool.training_job,
                    pool.instance,
                    pool.keep_alive.exact(),
                );
                say(&format!("warning: {note}"));
                notes.push(note);
            }
        }
    }
    kept.end_all_but(&still);
    notes
}
