//! The canaries on an alternative: beside those before it in the list where that changes nothing, else after them.

use super::beside::Outlook;
use super::{DesignLoop, EndedConfiguration};
use crate::canary::CanaryRun;
use crate::plan::{NotMeasured, PlannedRuns, StopReason};
use crate::units::count_as_float;

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

    /// Waits until it may begin, and whether it may is known.
    async fn begin(&mut self) -> Result<PlannedRuns, NotMeasured> {
        let configurations = self.configurations;
        let runs = configurations.at(self.place).runs.clone()?;
        loop {
            if let Some(why_not) = configurations.why_not(self.place) {
                return Err(why_not);
            }
            if self.has_late_failure.get() {
                return Err(NotMeasured::CouldNotRun);
            }
            let changed = configurations.changed.notified();
            if configurations.at(self.place).follows {
                if !configurations.have_ended_before(self.place)
                    && !self.runner.cancellation.is_cancelled()
                {
                    self.wait_for(changed).await;
                    continue;
                }
                if let Some(why_not) = self.lacks_base() {
                    return Err(why_not);
                }
            }
            let has_room = |outlook| (self.has_room_for(&runs, outlook), self.pays(&runs, outlook));
            match configurations.settled(self.place, has_room) {
                // Before a signal it did not come to its turn.
                _ if self.runner.cancellation.is_cancelled() => return Ok(runs),
                Some((true, true)) => return Ok(self.within_the_money(runs)),
                Some((false, _)) => {
                    let share = self.input.of.job.canary.max_share;
                    return Err(NotMeasured::BeyondTheShare(share));
                }
                _ => self.wait_for(changed).await,
            }
        }
    }

    async fn run_begun(&mut self, runs: &PlannedRuns) -> Option<NotMeasured> {
        let done = self.run(runs).await;
        let is_empty = self.measured().is_empty();
        let share = self.input.of.job.canary.max_share;
        match done {
            Some(StopReason::TooExpensive) if is_empty => {
                Some(NotMeasured::NothingLeft(self.ledger.tighter()))
            }
            Some(StopReason::BeyondTheShare) if is_empty => {
                Some(NotMeasured::BeyondTheShare(share))
            }
            // Others ran on fewer of its machines, and its own canary was refused.
            None if is_empty && self.broke_off.is_none() && !self.is_over() => {
                let has_own = matches!(runs, PlannedRuns::Fixed(runs) if !runs.is_empty());
                (self.configuration().follows && has_own)
                    .then(|| NotMeasured::NothingLeft(self.ledger.tighter()))
            }
            _ if self.broke_off.is_none() => None,
            _ => {
                if let Some(error) = self.failure.take() {
                    self.runner.say_of(self.input.of.job, &error.in_a_line());
                }
                self.configurations.lose_money(self.place);
                Some(NotMeasured::CouldNotRun)
            }
        }
    }

    /// Whether it can be measured within `canary.max_share`.
    fn has_room_for(&self, runs: &PlannedRuns, outlook: Outlook) -> bool {
        self.with_share(outlook, |share| match runs {
            // On so many times the machines it takes so much less, as far as that is known.
            PlannedRuns::Ladder(sizes) => {
                share.has_room_for_the_fewest(sizes, &self.configuration().base_offer)
            }
            PlannedRuns::Fixed(runs) => {
                share.fitting(runs, &self.configuration().base_offer) == runs.len()
            }
        })
    }

    /// The canary on a further count of machines, which waits for those before: with a time limit that the money pays for.
    fn within_the_money(&self, runs: PlannedRuns) -> PlannedRuns {
        let limited = |run: CanaryRun| CanaryRun {
            max_runtime: (self.limit_of_count(&run, Outlook::Known)).or(run.max_runtime),
            ..run
        };
        match runs {
            PlannedRuns::Fixed(runs) if self.configuration().follows => {
                PlannedRuns::Fixed(runs.into_iter().map(limited).collect())
            }
            runs => runs,
        }
    }

    /// Whether the money covers all canaries of the fixed design beside those before; those of the adaptive one are looked at round
    /// by round.
    fn pays(&self, runs: &PlannedRuns, outlook: Outlook) -> bool {
        match (runs, outlook) {
            (PlannedRuns::Ladder(_), _) | (_, Outlook::Known) => true,
            (PlannedRuns::Fixed(runs), Outlook::Most | Outlook::Nothing) => {
                let before = self.configurations.taken_before(self.place, outlook);
                let each = self.configurations.worst_of(self.configuration());
                let worst = each.unwrap_or_default() * count_as_float(runs.len());
                (self.ledger.left(before)).is_none_or(|left| left.0 >= worst.0)
            }
        }
    }
}
