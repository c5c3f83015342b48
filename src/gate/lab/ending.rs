//! Why the canaries of a job ended, in words.

use super::design::ConfigurationDesign;
use crate::assess::unfinished;
use crate::measurement::Measurement;
use crate::plan::{self, Limit, NARROW, Reached, StopReason};
use crate::verdict::Reason;

impl ConfigurationDesign<'_> {
    /// Why the adaptive design ended on `instance`, for the report.
    pub(super) fn ending(&self, done: StopReason) -> Reason {
        if let (StopReason::TooExpensive, Some(refusal)) = (done, self.refusal()) {
            return refusal;
        }
        let account = &self.one.account;
        let limit = account.limit();
        let whole = self.input.job.canary.spend_limit;
        let amount = match (limit, self.input.account.left(), account.most()) {
            (Limit::Run, Some(left), _) => format!("{left} left for the whole run"),
            (Limit::Run, None, _) => "for the whole run".to_owned(),
            (_, _, Some(part)) if part < whole => {
                format!("{part}, which `instance` has of {whole} beside its alternatives")
            }
            _ => whole.to_string(),
        };
        let limit = limit.name();
        let why = match done {
            StopReason::Reached(Reached::Decided) => {
                "No more canaries were run: the budget is decided as far as canaries can."
                    .to_owned()
            }
            StopReason::Reached(Reached::Narrow) => format!(
                "No more canaries were run: the upper end of the time is at most {NARROW} times the lower."
            ),
            StopReason::NothingHelps => format!(
                "No more canaries were run: every size of {} was run, or does not fit into {limit} and canary.max_runtime.",
                match self.input.job.differs_in_work_alone() {
                    true => "work.canary",
                    false => "canary.fractions",
                }
            ),
            StopReason::MaxRuntime => format!(
                "No more canaries were run: a larger one may take longer than canary.max_runtime ({}); a longer one would narrow the forecast.",
                self.input.job.canary.max_runtime
            ),
            StopReason::BeyondTheShare => format!(
                "No more canaries were run: with another one they would take more than canary.max_share ({}) of the full run.",
                self.input.job.canary.max_share
            ),
            StopReason::NoTimes => {
                "no canary measured a time, which the adaptive design plans with".to_owned()
            }
            StopReason::TooExpensive => format!(
                "the canaries that a forecast needs do not fit into {limit} ({amount}) and canary.max_runtime ({})",
                self.input.job.canary.max_runtime
            ),
            StopReason::Ended => match self.state.measured.iter().any(Measurement::is_unread) {
                true => "No more canaries were run after one that opened no file of its sample.",
                false => "No more canaries were run after one that did not complete.",
            }
            .to_owned(),
        };
        let reason = Reason::new(why);
        match done {
            StopReason::TooExpensive => reason.advising("raise one of them"),
            _ => reason,
        }
    }

    /// That there is no money for the fewest canaries on `instance`. One that did not complete says more than what could not follow
    /// it.
    pub(super) fn too_expensive(&self, ending: Option<&Reason>) -> Option<Reason> {
        let measured = &self.state.measured;
        if unfinished::cause(measured, None).is_some() {
            return None;
        }
        let is_ended = matches!(
            self.state.done,
            Some(StopReason::TooExpensive | StopReason::NoTimes)
        );
        let ending = ending.filter(|_| is_ended).cloned();
        ending.or_else(|| self.refusal().filter(|_| !plan::has_enough(measured)))
    }

    /// Why the pull request's limit refused a canary of this configuration, and what to do; `None` where it refused none.
    fn refusal(&self) -> Option<Reason> {
        let is_refused = self.one.account.limit() == Limit::PullRequest;
        (self.input.pull_request.refusal()).filter(|_| is_refused)
    }
}
