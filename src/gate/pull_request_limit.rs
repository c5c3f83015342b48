//! The limit for all checks of one pull request: what those before this one cost comes from the history.

use crate::console::{AppError, AppResult, StepResult, printable};
use crate::gate::run_history::RunHistory;
use crate::history::{Event, PaidCanaries, Scope, ScopeSpend, UnbilledCanary};
use crate::plan::{self, Account, Limit};
use crate::report::DOCUMENTS;
use crate::units::{Seconds, Usd};
use crate::verdict::Reason;
use crate::workspace::{Project, RunOrigin};

/// As a user writes it; the action's input has the same name without the hyphens before it.
const OPTION: &str = "--max-spend-per-pull-request";

/// The limit as one run has it.
pub(crate) enum PullRequestLimit {
    None,
    Holds {
        limit: Usd,
        account: Account,
        /// Why it is not known what the checks before this one cost: nothing is started then.
        not_known: Option<String>,
    },
    /// The run is surely no pull request's: a push, a schedule, a merge queue.
    OfNoPullRequest,
}

impl PullRequestLimit {
    /// The limit of a run of `origin`, with what the pull request's checks cost until now.
    ///
    /// # Errors
    ///
    /// Where it is not known whether the run is a pull request's, or no history is shared by its checks; and where the history
    /// cannot be read as a whole. All before anything is spent.
    pub(crate) async fn open(
        limit: Option<Usd>,
        project: &Project,
        origin: &RunOrigin,
        history: &RunHistory,
    ) -> AppResult<Self> {
        let Some(limit) = limit else {
            return Ok(Self::None);
        };
        match (origin.scope, origin.writer.event) {
            (Scope::PullRequest(_), _) => {}
            // `Main` also of a branch that a person has checked.
            (Scope::Main, _) | (_, Event::Push | Event::Schedule | Event::MergeGroup) => {
                return Ok(Self::OfNoPullRequest);
            }
            (Scope::Queue | Scope::Local, _) => {
                return Err(AppError::usage(format!(
                    "{OPTION} is for the checks of a pull request, and this run is none as far as it can tell"
                ))
                .help("leave it out, or use --max-spend, which limits one run; in GitHub Actions run on the event `pull_request`, or name the pull request by the action's input `pull-request`")
                .during("reading the history"));
            }
        }
        // A runner's own folder is empty at every check, and a history that the pull request names is a new one at every push.
        let base = project.policy.base.as_ref();
        let base = base.and_then(|base| base.spec.as_ref());
        if base.is_none_or(|spec| spec.history.is_none()) {
            return Err(AppError::usage(format!(
                "{OPTION} sums up what earlier checks cost in the `history` that the base's spec names, and there is none"
            ))
            .help(format!("write `history: s3://BUCKET/PREFIX/` into the spec of the base branch first ({DOCUMENTS}docs/history.md); on the command line name the base by --base"))
            .during("reading the history"));
        }
        let spent = history.kept.scope_spend().await;
        let spent = match spent.during("reading the history")? {
            ScopeSpend::Known(paid) => spent_at_most(project, &paid),
            ScopeSpend::Unreadable(record) => Err(format!(
                "the record {} cannot be read ({}); update canary-gate if a newer one wrote it, else restore or remove it",
                printable(&record.place),
                printable(&record.why)
            )),
            ScopeSpend::NoHistory(folder) => Err(format!(
                "the history's folder {} is not there; restore it in a step before, or create it empty for the very first check",
                printable(&folder)
            )),
        };
        Ok(Self::with(limit, spent))
    }

    /// `spent` is what the checks before this one cost, or why that is not known.
    fn with(limit: Usd, spent: Result<Usd, String>) -> Self {
        let holds = if spent.is_ok() { limit } else { Usd(0.0) };
        let account = Account::new(Some(holds), Limit::PullRequest);
        account.bill(spent.as_ref().ok().copied());
        Self::Holds {
            limit,
            account,
            not_known: spent.err(),
        }
    }

    pub(crate) fn account(&self) -> Option<&Account> {
        match self {
            Self::Holds { account, .. } => Some(account),
            Self::None | Self::OfNoPullRequest => None,
        }
    }

    /// Why a canary was not started, and what to do; `None` where there is no limit.
    pub(crate) fn refusal(&self) -> Option<Reason> {
        let Self::Holds {
            limit,
            account,
            not_known,
        } = self
        else {
            return None;
        };
        if let Some(why) = not_known {
            return Some(Reason::new(format!(
                "no canary was started, since it is not known what the checks of this pull request have cost: {why}"
            )).advising("make the history readable, and start the check again"));
        }
        let why = format!(
            "{} of {} is spent for this pull request; the {} left cannot cover the next canaries",
            account.billed().unwrap_or_default(),
            limit.exact(),
            left_of(account)
        );
        let advice = "raise --max-spend-per-pull-request, or lower canary.max_runtime";
        Some(Reason::new(why).advising(advice))
    }

    /// What a person reads of it, as a sentence.
    pub(crate) fn note(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Holds {
                not_known: Some(why),
                ..
            } => Some(format!(
                "What the checks of this pull request have cost is not known: {why}."
            )),
            Self::Holds { limit, account, .. } => Some(format!(
                "Checks of this pull request so far: {} of {}, {} left.",
                account.billed().unwrap_or_default(),
                limit.exact(),
                left_of(account)
            )),
            Self::OfNoPullRequest => Some(format!(
                "{OPTION} limits nothing here: this run is no pull request's."
            )),
        }
    }
}

/// What is left for canaries, 0 at least.
fn left_of(account: &Account) -> Usd {
    Usd(account.left().unwrap_or_default().0.max(0.0))
}

/// What was billed, what canaries cost whose price was not known then, and the most that stopped ones may have cost; or why that is
/// not known.
fn spent_at_most(project: &Project, paid: &PaidCanaries) -> Result<Usd, String> {
    let mut spent = paid.billed;
    for canary in &paid.unbilled {
        let offer = project.offer(&canary.instance);
        let of_spec = || plan::worst_case_of(longest(project, canary), &offer);
        let most = match canary.time {
            Some(time) => offer.cost(time),
            // The spec may have had a longer limit then.
            None => (of_spec().into_iter().chain(canary.at_most))
                .reduce(|one, other| if other > one { other } else { one }),
        };
        spent = spent
            + most.ok_or_else(|| {
                format!(
                    "the bill of a canary on {} is not known, and no price of it is now; write one under `prices`",
                    printable(&canary.instance.to_string())
                )
            })?;
    }
    Ok(spent)
}

/// By the job's own limit; of a job that the spec does not have any more by the longest of all.
fn longest(project: &Project, canary: &UnbilledCanary) -> Seconds {
    let jobs = || project.spec.jobs.iter();
    let is_gone = !jobs().any(|job| job.name == canary.job);
    let limited = jobs().filter(|job| is_gone || job.name == canary.job);
    Seconds((limited.map(|job| job.canary.max_runtime.0)).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_checks_cost_is_gone_and_no_more() {
        // Spent before, what may be started, left.
        let cases = [
            (Ok(Usd(19.4)), Usd(0.6), 0.6),
            (Ok(Usd(1e300)), Usd(0.0), 0.0),
            (Err("a record is damaged".to_owned()), Usd(0.0), 0.0),
        ];
        for (spent, most, left) in cases {
            let limit = PullRequestLimit::with(Usd(20.0), spent.clone());
            let account = limit.account().unwrap();
            assert!((left_of(account).0 - left).abs() < 1e-9, "{spent:?}");
            assert!(account.covers(most), "{spent:?}");
            assert!(!account.covers(most + Usd(0.1)), "{spent:?}");
            let refusal = limit.refusal().unwrap().why;
            assert_eq!(refusal.contains("a record is damaged"), spent.is_err());
        }
    }
}
