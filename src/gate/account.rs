//! What a run of the gate was billed that no canary of its report holds: by a start of it that was killed or ended without a report,
//! or for a canary without a result.

use std::collections::BTreeMap;

use crate::console::{AppError, AppResult};
use crate::gate::{GateOutcome, RunHistory, Runner};
use crate::grammar::count;
use crate::report::Spend;
use crate::units::{Seconds, sum};

/// Whether all bills of a run are known, and in its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BillingState {
    Shown,
    /// The next start goes on with the run, and shows them.
    Open,
}

/// Enters into the report what is billed of training jobs that it has no canary of, and that no earlier report of this run has shown.
pub(crate) async fn complete(
    gated: &mut GateOutcome,
    runner: &Runner<'_>,
    history: &RunHistory,
) -> AppResult<BillingState> {
    let bills = runner.backend.bills().await?;
    let Some(since) = bills.iter().map(|bill| bill.created_at).min() else {
        return Ok(BillingState::Shown);
    };
    let mut state = BillingState::Shown;
    // The idle time that reports show, by job of the spec and configuration: a canary's measurement has that of the machines kept before
    // it, which the bill has at the canary that they were kept after.
    let mut idle_shown: BTreeMap<(String, String), Seconds> = BTreeMap::new();
    // For each job of the spec the number of training jobs, and their bill.
    let mut unshown: BTreeMap<String, (usize, Spend)> = BTreeMap::new();
    for bill in bills {
        let mut shown = history.shown(&bill.job, since).await?;
        let reports = gated.jobs.iter().filter(|job| job.name == bill.job);
        shown.extend(reports.flat_map(|job| job.measurements.iter().cloned()));
        let name = Some(&bill.training_job);
        let trained = match shown.iter().any(|run| run.training_job.as_ref() == name) {
            true => Some(Seconds(0.0)),
            false => bill.billed,
        };
        if trained.is_none() {
            state = BillingState::Open;
        }
        let on_it = shown.iter().filter(|run| run.is_on(&bill.instance));
        let left = idle_shown
            .entry((bill.job.clone(), bill.instance.to_string()))
            .or_insert_with(|| on_it.filter_map(|run| run.idle_seconds).sum());
        let idle = Seconds((bill.idle.0 - left.0).max(0.0));
        *left = Seconds((left.0 - bill.idle.0).max(0.0));
        let trained = trained.unwrap_or_default();
        if trained.0 + idle.0 > 0.0 {
            let offer = runner.project.offer(&bill.instance);
            let idle = Some(idle).filter(|idle| idle.0 > 0.0);
            let (training_jobs, spend) = unshown.entry(bill.job).or_default();
            // Idle time alone may be that of another one's machines.
            *training_jobs += usize::from(trained.0 > 0.0);
            let more = Spend {
                canary_usd: offer.cost(trained + idle.unwrap_or_default()),
                canary_seconds: trained,
                idle_usd: idle.and_then(|idle| offer.cost(idle)),
                idle_seconds: idle,
                ..Spend::default()
            };
            add(spend, &more);
        }
    }
    for (job, (training_jobs, spend)) in unshown {
        let all = spend.canary_seconds + spend.idle_seconds.unwrap_or_default();
        let note = format!(
            "{} was billed for what has no canary in this report, {} and machines kept for {}, as where an earlier start of the run was killed.",
            (spend.canary_usd).map_or_else(|| all.to_string(), |usd| usd.to_string()),
            count(training_jobs, "training job"),
            spend.idle_seconds.unwrap_or_default(),
        );
        let is_it = |(failed, _): &(Option<String>, AppError)| failed.as_ref() == Some(&job);
        match gated.jobs.iter_mut().find(|report| report.name == job) {
            Some(report) => {
                add(&mut report.spend, &spend);
                report.notes.push(note);
            }
            // The next start may come to its report.
            None if gated.failures.iter().any(is_it) => state = BillingState::Open,
            None => gated.notes.push(format!("Job `{job}`: {note}")),
        }
    }
    Ok(state)
}

fn add(spend: &mut Spend, more: &Spend) {
    let is_known = |one: &Spend| one.canary_usd.is_some() || one.canary_seconds.0 <= 0.0;
    // A sum over some of them is not what they were billed.
    let are_known = is_known(spend) && is_known(more);
    spend.canary_usd = sum([spend.canary_usd, more.canary_usd]).filter(|_| are_known);
    spend.canary_seconds = spend.canary_seconds + more.canary_seconds;
    spend.idle_usd = sum([spend.idle_usd, more.idle_usd]);
    spend.idle_seconds = sum([spend.idle_seconds, more.idle_seconds]);
}
