//! The canaries on an alternative: beside those of `instance`, once one of these has completed.

use super::{DesignLoop, EndedConfiguration};
use crate::canary::CanaryRun;
use crate::plan::{NotMeasured, PlannedRuns, StopReason};

impl DesignLoop<'_> {
    /// Runs the canaries of an alternative. It never fails the job: one that cannot be run says why.
    pub(super) async fn run_alternative(mut self) -> EndedConfiguration {
        let why_not = match self.begin().await {
            Ok(runs) => self.run_begun(&runs).await,
            Err(why_not) => Some(why_not),
        };
        self.configurations.end(self.place);
        self.settle_late().await;
        EndedConfiguration {
            why_not,
            ..self.ended()
        }
    }

    /// Waits until it may begin.
    async fn begin(&mut self) -> Result<PlannedRuns, NotMeasured> {
        let configurations = self.configurations;
        let runs = configurations.at(self.place).runs.clone()?;
        loop {
            if let Some(why_not) = configurations.why_not() {
                return Err(why_not);
            }
            if self.has_late_failure.get() {
                return Err(NotMeasured::CouldNotRun);
            }
            let changed = configurations.changed.notified();
            // Before a signal it did not come to its turn.
            let is_cancelled = self.runner.cancellation.is_cancelled();
            if is_cancelled || configurations.may_begin(self.place) {
                return match self.lacks_base().filter(|_| !is_cancelled) {
                    Some(why_not) => Err(why_not),
                    None => Ok(self.within_the_money(runs)),
                };
            }
            self.wait_for(changed).await;
        }
    }

    async fn run_begun(&mut self, runs: &PlannedRuns) -> Option<NotMeasured> {
        let done = self.run(runs).await;
        let is_empty = self.measured().is_empty();
        let nothing_left = || Some(NotMeasured::NothingLeft(self.account().limit()));
        match done {
            Some(StopReason::TooExpensive) if is_empty => nothing_left(),
            // Others ran on fewer of its machines, and its own canary was refused.
            None if is_empty && self.broke_off.is_none() && !self.is_over() => {
                let has_own = matches!(runs, PlannedRuns::Fixed(runs) if !runs.is_empty());
                let is_refused = self.configuration().follows && has_own;
                is_refused.then(nothing_left).flatten()
            }
            _ if self.broke_off.is_none() => None,
            _ => {
                if let Some(error) = self.failure.take() {
                    self.runner.say_of(self.input.of.job, &error.in_a_line());
                }
                Some(NotMeasured::CouldNotRun)
            }
        }
    }

    /// The canary on a further count of machines, with a time limit that the money pays for.
    fn within_the_money(&self, runs: PlannedRuns) -> PlannedRuns {
        let limited = |run: CanaryRun| CanaryRun {
            max_runtime: self.limit_of_count(&run).or(run.max_runtime),
            ..run
        };
        match runs {
            PlannedRuns::Fixed(runs) if self.configuration().follows => {
                PlannedRuns::Fixed(runs.into_iter().map(limited).collect())
            }
            runs => runs,
        }
    }
}
