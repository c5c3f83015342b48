//! A machine is free when its job ends: what its canary used is collected while others run.

use std::collections::BTreeMap;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::StreamExt;
use tokio::sync::mpsc;

use super::{DesignLoop, provisional};
use crate::canary::CanaryRun;
use crate::console::progress::Earlier;
use crate::gate::request::Purpose;
use crate::gate::runner::{self, Ran, RunningConfiguration};
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::plan::{self, Aim};
use crate::spec::{Budget, BudgetLine, Level, LineKind, LineOrigin};

/// Canaries whose points were late.
pub(super) struct LateBatch {
    /// Where the first of them stands among the job's measurements.
    place: usize,
    ran: Ran,
}

impl DesignLoop<'_> {
    /// Runs canaries until their machines are free. Where all have completed, what they used is collected while others run.
    pub(super) async fn run_canaries(&mut self, runs: Vec<CanaryRun>, earlier: Earlier) -> Ran {
        self.show_standing(&BTreeMap::new());
        let (runner, configurations, count) = (self.runner, self.configurations, runs.len());
        let configuration = configurations.at(self.place);
        let of = RunningConfiguration {
            of: self.input.of,
            place: self.place,
            offer: configuration.offer_on(runs.first().map(|run| &run.instance)),
            account: &configuration.account,
            kept: self.input.money.kept,
            is_wanted: &configuration.is_wanted,
        };
        let (freed, mut heard) = mpsc::unbounded_channel();
        let mut running: LocalBoxFuture<'_, Ran> = Box::pin(async move {
            // Nobody hears it once all are free.
            let freed = |index, measurement| drop(freed.send((index, measurement)));
            runner::run(runner, of, &runs, earlier, &freed).await
        });
        let mut free: BTreeMap<usize, Measurement> = BTreeMap::new();
        while free.len() < count || !free.values().all(Measurement::is_completed) {
            tokio::select! {
                // A configuration that has ended as a whole is not late.
                biased;
                ran = &mut running => return ran,
                Some(late) = self.late.next(), if !self.late.is_empty() => self.revise(late),
                Some((index, measurement)) = heard.recv() => {
                    configurations.hear(self.place, &measurement);
                    free.insert(index, measurement);
                    self.show_standing(&free);
                }
            }
        }
        let place = configuration.measured.borrow().len();
        self.late.push(Box::pin(async move {
            let ran = running.await;
            LateBatch { place, ran }
        }));
        Ran {
            measurements: free.into_values().collect(),
            failure: None,
            too_expensive: 0,
        }
    }

    /// Takes what was measured for what was known of it.
    pub(super) fn revise(&mut self, late: LateBatch) {
        let mut measured = self.configurations.at(self.place).measured.borrow_mut();
        let known = &mut measured[late.place..];
        // One whose points could not be had is missing here, and stays as it is known.
        for measured in late.ran.measurements {
            if let Some(known) = known.iter_mut().find(|known| known.is_same_run(&measured)) {
                *known = measured;
            }
        }
        self.late_failure = self.late_failure.take().or(late.ran.failure);
        if self.late_failure.is_some() {
            self.has_late_failure.set(true);
        }
    }

    /// Waits until all that the canaries used is collected.
    pub(super) async fn settle_late(&mut self) {
        while let Some(late) = self.late.next().await {
            self.revise(late);
        }
    }

    /// Whether another canary is needed, and the same one, whatever else is still to be known of those that have ended. Nothing is
    /// spent out of impatience.
    pub(super) fn goes_on_in_any_case(&self, measurements: &[Measurement]) -> bool {
        if plan::has_enough(measurements) || self.needs_memory() {
            return false;
        }
        let of_times = |line: &&BudgetLine| {
            matches!(line.kind, LineKind::Absolute(Metric::Time | Metric::Cost))
        };
        let lines = self.input.of.job.budget.lines.iter();
        let timed = Budget {
            lines: lines.filter(of_times).cloned().collect(),
            ..self.input.of.job.budget.clone()
        };
        let forecast = provisional(self.judged_offer(), measurements);
        let is_written =
            |line: &BudgetLine| line.origin == LineOrigin::Written && line.level == Level::Fail;
        let is_of_times = self.input.purpose == Purpose::Drift
            || timed.lines.iter().any(is_written)
            || !self.input.of.job.budget.lines.iter().any(is_written);
        is_of_times
            && self.aim_of(&timed, self.judged_offer(), measurements, &forecast) == Aim::GoOn
    }
}
