//! What a run of the gate was billed that no canary of its report holds: by a start of it that was killed or ended without a report,
//! or for a canary without a result.

use std::collections::BTreeMap;

use crate::backend::BilledJob;
use crate::console::AppError;
use crate::gate::outcome::GateOutcome;
use crate::gate::run_history::RunHistory;
use crate::gate::runner::Runner;
use crate::grammar::count;
use crate::units::{Seconds, Usd};
use crate::workspace::project::Project;

/// Whether all bills of a run are known, and in its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BillingState {
    Shown,
    /// The next start goes on with the run, and shows them.
    Open,
}

/// The bills of one job of the spec.
#[derive(Default)]
struct Unshown {
    training_jobs: usize,
    usd: Option<Usd>,
    seconds: Seconds,
    idle: Seconds,
    idle_usd: Option<Usd>,
}

/// Enters into the report what is billed of training jobs that it has no canary of, and that no earlier report of this run has shown.
pub(crate) async fn complete(
    gated: &mut GateOutcome,
    runner: &Runner<'_>,
    history: &RunHistory,
) -> Result<BillingState, AppError> {
    let bills = runner.backend.bills().await?;
    let Some(since) = bills.iter().map(|bill| bill.created_at).min() else {
        return Ok(BillingState::Shown);
    };
    let mut state = BillingState::Shown;
    let mut unshown: BTreeMap<String, Unshown> = BTreeMap::new();
    for mut bill in bills {
        if runner
            .outputs
            .borrow()
            .held
            .pools
            .contains(&bill.training_job)
        {
            bill.idle = Seconds(0.0);
        }
        let mut measured = gated.jobs.iter().flat_map(|job| &job.measurements);
        let is_measured = measured.any(|run| run.training_job.as_ref() == Some(&bill.training_job));
        let shown = history.shown(&bill.job, since).await?;
        if shown.contains(&bill.training_job) {
            continue;
        }
        if is_measured {
            bill.billed = Some(Seconds(0.0));
        }
        if bill.billed.is_none() {
            state = BillingState::Open;
        }
        unshown
            .entry(bill.job.clone())
            .or_default()
            .add(&bill, runner.project);
    }
    for (job, bills) in unshown {
        if bills.seconds.0 + bills.idle.0 <= 0.0 {
            continue;
        }
        let note = bills.note();
        match gated.jobs.iter_mut().find(|report| report.name == job) {
            Some(report) => {
                let spend = &mut report.spend;
                spend.canary_usd = sum(spend.canary_usd, bills.usd);
                spend.canary_seconds = spend.canary_seconds + bills.seconds;
                spend.idle_usd = sum(spend.idle_usd, bills.idle_usd);
                let idle = Some(bills.idle).filter(|idle| idle.0 > 0.0);
                spend.idle_seconds =
                    (spend.idle_seconds.into_iter().chain(idle)).reduce(|sum, time| sum + time);
                report.notes.push(note);
            }
            // The next start may come to its report.
            None if gated
                .failures
                .iter()
                .any(|(failed, _)| failed.as_ref() == Some(&job)) =>
            {
                state = BillingState::Open;
            }
            None => gated.notes.push(format!("Job `{job}`: {note}")),
        }
    }
    Ok(state)
}

impl Unshown {
    fn add(&mut self, bill: &BilledJob, project: &Project) {
        let offer = project.offer(&bill.instance);
        let trained = bill.billed.unwrap_or_default();
        let is_billed = trained.0 + bill.idle.0 > 0.0;
        self.training_jobs += usize::from(is_billed);
        self.usd = sum(
            self.usd,
            offer.cost(trained + bill.idle).filter(|_| is_billed),
        );
        self.seconds = self.seconds + trained;
        self.idle = self.idle + bill.idle;
        let idle_usd = offer.cost(bill.idle).filter(|_| bill.idle.0 > 0.0);
        self.idle_usd = sum(self.idle_usd, idle_usd);
    }

    fn note(&self) -> String {
        let cost = self
            .usd
            .map_or_else(|| (self.seconds + self.idle).exact(), Usd::exact);
        format!(
            "{cost} was billed for {} of this run without a canary in this report, as where an earlier start of it was killed.",
            count(self.training_jobs, "training job"),
        )
    }
}

fn sum(one: Option<Usd>, other: Option<Usd>) -> Option<Usd> {
    one.into_iter().chain(other).reduce(|sum, usd| sum + usd)
}
