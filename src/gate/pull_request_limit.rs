//! The limit for all checks of one pull request: what those before this one cost comes from the history.

use crate::console::{AppError, printable};
use crate::gate::run_history::RunHistory;
use crate::history::record::Event;
use crate::history::{PaidCanaries, Scope, ScopeSpend, UnbilledCanary};
use crate::instance::tables;
use crate::plan::{self, PullRequestLedger};
use crate::units::{Seconds, Usd};
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;

/// As a user writes it; the action's input has the same name without the hyphens before it.
const OPTION: &str = "--max-spend-per-pull-request";

/// The limit as one run has it.
pub(crate) enum PullRequestLimit {
    None,
    Holds(PullRequestLedger),
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
    ) -> Result<Self, AppError> {
        let Some(limit) = limit else {
            return Ok(Self::None);
        };
        match (origin.scope, origin.writer.event) {
            (Scope::PullRequest(_), _) => {}
            (_, Event::Push | Event::Schedule | Event::MergeGroup) => {
                return Ok(Self::OfNoPullRequest);
            }
            // Of a branch that a person has checked.
            (Scope::Main, _) => return Ok(Self::OfNoPullRequest),
            (Scope::Queue | Scope::Local, _) => return Err(of_no_pull_request()),
        }
        // A runner's own folder is empty at every check, and a history that the pull request names is a new one at every push.
        let base = project.policy.base.as_ref();
        let base = base.and_then(|base| base.spec.as_ref());
        if base.is_none_or(|spec| spec.history.is_none()) {
            return Err(AppError::usage(format!(
                "{OPTION} sums up what earlier checks cost in the `history` that the base's spec names, and there is none"
            ))
            .help("write `history: s3://BUCKET/PREFIX/` into the spec of the base branch first (docs/history.md); on the command line name the base by --base")
            .during("reading the history"));
        }
        let spent = history.scope_spend().await;
        let spent = spent.map_err(|error| error.during("reading the history"))?;
        let spent = match spent {
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
        Ok(Self::Holds(PullRequestLedger::new(limit, spent)))
    }

    pub(crate) fn ledger(&self) -> Option<&PullRequestLedger> {
        match self {
            Self::Holds(ledger) => Some(ledger),
            Self::None | Self::OfNoPullRequest => None,
        }
    }

    /// What a person reads of it, as a sentence.
    pub(crate) fn note(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Holds(ledger) => Some(ledger.standing()),
            Self::OfNoPullRequest => Some(format!(
                "{OPTION} limits nothing here: this run is no pull request's."
            )),
        }
    }
}

/// What was billed, and the most that stopped canaries may have cost; or why that is not known.
fn spent_at_most(project: &Project, paid: &PaidCanaries) -> Result<Usd, String> {
    let mut spent = paid.billed;
    for canary in &paid.unbilled {
        let offer = project.offer(&canary.instance, &tables::capacity);
        let of_spec = plan::worst_case_of(longest(project, canary), &offer);
        // The spec may have had a longer limit then.
        let most = of_spec.into_iter().chain(canary.at_most);
        let most = most.reduce(|one, other| if other > one { other } else { one });
        spent = spent
            + most.ok_or_else(|| {
                format!(
                    "a canary on {} was stopped before its bill was known, and no price of it is known now; write one under `prices`",
                    printable(&canary.instance.to_string())
                )
            })?;
    }
    Ok(spent)
}

/// By the job's own limit; of a job that the spec does not have any more by the longest of all.
fn longest(project: &Project, canary: &UnbilledCanary) -> Seconds {
    let jobs = || project.spec.jobs.iter();
    let own = jobs().find(|job| job.name == canary.job);
    let limits = own.map_or_else(|| jobs().collect(), |own| vec![own]);
    let limits = limits.into_iter().map(|job| job.canary.max_runtime.0);
    Seconds(limits.fold(0.0, f64::max))
}

fn of_no_pull_request() -> AppError {
    AppError::usage(format!(
        "{OPTION} is for the checks of a pull request, and this run is none as far as it can tell"
    ))
    .help("leave it out, or use --max-spend, which limits one run; in GitHub Actions run on the event `pull_request`, or name the pull request by the action's input `pull-request`")
    .during("reading the history")
}
