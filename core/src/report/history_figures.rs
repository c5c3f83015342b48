//! What the page of a history shows: figures of each job over time, and what its checks cost. Made of records by the history.

use std::collections::BTreeMap;

use derive_more::{Add, Sum};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::forecast::Estimate;
use crate::units::{Seconds, Usd};
use crate::verdict::Verdict;

/// All jobs of a history, those that need attention first.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryFigures {
    pub made_at: Timestamp,
    /// The records that were read.
    pub records: usize,
    /// When the oldest and the newest of them were written; `None` without a record.
    pub span: Option<[Timestamp; 2]>,
    pub unreadable: UnreadableRecords,
    /// What the checks of all jobs cost in each [month](month_of), those of pull requests included.
    pub spent: BTreeMap<Date, Spent>,
    pub jobs: Vec<JobFigures>,
}

/// Records that are in no figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnreadableRecords {
    /// Sound, and written by a newer program.
    pub newer: usize,
    pub damaged: usize,
}

/// One job. Records of several specs are of one job if they have one name.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFigures {
    /// Hostile text, as all texts here.
    pub name: String,
    /// Whether its newest record is older than [`QUIET_AFTER`]: perhaps the job is gone.
    pub is_quiet: bool,
    pub source: SeriesSource,
    /// The forecasts of that source, oldest first.
    pub checks: Vec<CheckFigures>,
    /// Full runs that were measured, oldest first.
    pub full_runs: Vec<FullRunFigures>,
    /// Canaries since the newest check: a check broke off, or goes on.
    pub unfinished: Option<UnfinishedCheck>,
    pub newest_record: Timestamp,
    /// Forecasts of other branches, which are in what was spent alone.
    pub other_branches: usize,
    /// Where the runs of its records say several, a name may stand for several jobs.
    pub repositories: Vec<String>,
}

/// A job without a record for so long is shown last.
pub const QUIET_AFTER: Seconds = Seconds(90.0 * Seconds::A_DAY);

/// What a job is shown as, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobStanding {
    /// Over budget, failed, or undecided.
    Bad(Verdict),
    Drifted,
    /// Any other verdict.
    Judged(Verdict),
    /// Nothing but records of pull requests and merge queues.
    Unmeasured,
}

/// Whose forecasts are the job's series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesSource {
    /// Pushes and schedules, of the branch that has most of them; `None` where the records do not say.
    Branch(Option<String>),
    /// Runs outside CI: there is none of a push or schedule.
    OwnMachines,
}

/// One check: what a full run was forecast to take.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckFigures {
    pub at: Timestamp,
    /// As a reader is shown it.
    pub verdict: Verdict,
    /// What follows the job's name.
    pub phrase: &'static str,
    /// What a check for drift found; `None` of others.
    pub drifted: Option<bool>,
    pub is_baseline: bool,
    pub instance: String,
    pub time: Option<FigureAndLimit>,
    pub cost: Option<FigureAndLimit>,
    /// The first digits.
    pub commit: Option<String>,
    pub run_url: Option<String>,
}

/// An estimate beside the budget's upper limit, in the same unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureAndLimit {
    pub estimate: Estimate,
    pub limit: Option<f64>,
}

/// A full run that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct FullRunFigures {
    pub at: Timestamp,
    pub time: Option<Seconds>,
    pub cost: Option<Usd>,
}

/// A check without a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedCheck {
    /// When its newest canary was recorded.
    pub at: Timestamp,
    pub canaries: usize,
    /// The newest outcome that is not completed, and what it makes of the job: failed by its training code, else unknown.
    pub ended: Option<(&'static str, Verdict)>,
}

/// The first day of its calendar month, UTC.
pub fn month_of(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date().first_of_month()
}

/// What canaries took, and what others did not take since they were reused.
#[derive(Debug, Clone, Copy, PartialEq, Default, Add, Sum)]
pub struct Spent {
    pub canaries: usize,
    pub time: Seconds,
    /// Of those that have a price.
    pub usd: Usd,
    /// Canaries without a price, whose cost is not in `usd`.
    pub unpriced: usize,
    pub reused: usize,
    pub saved_time: Seconds,
    /// At the price of the day on which they were reused, of those that have one.
    pub saved_usd: Usd,
}

impl JobFigures {
    pub fn newest(&self) -> Option<&CheckFigures> {
        self.checks.last()
    }

    /// The check that the newest ones are compared with for drift.
    pub fn baseline(&self) -> Option<&CheckFigures> {
        self.checks.iter().rfind(|check| check.is_baseline)
    }

    /// Whether the newest check for drift, or baseline, found drift that nobody accepted.
    pub fn has_drifted(&self) -> bool {
        let mut checks = self.checks.iter();
        let newest = checks.rfind(|check| check.is_baseline || check.drifted.is_some());
        newest.is_some_and(|check| !check.is_baseline && check.drifted == Some(true))
    }

    /// The worst of what is known of it.
    pub fn standing(&self) -> JobStanding {
        let ended = self.unfinished.as_ref().and_then(|check| check.ended);
        let ended = ended.map(|(_, verdict)| verdict.into());
        let verdict = self.newest().map(|check| check.verdict.into());
        let drifted = self.has_drifted().then_some(JobStanding::Drifted);
        let known = [verdict, drifted, ended].into_iter().flatten();
        known.min().unwrap_or(JobStanding::Unmeasured)
    }

    /// Whether its newest check found it within budget, and no newer one is open.
    pub fn is_surely_within(&self) -> bool {
        self.standing() == Verdict::Within.into() && self.unfinished.is_none()
    }

    /// Whether a newer check than its standing is of has canaries and no forecast; one that ended badly is in the standing.
    pub fn awaits_forecast(&self) -> bool {
        !self.standing().needs_attention() && self.unfinished.is_some()
    }
}

impl From<Verdict> for JobStanding {
    fn from(verdict: Verdict) -> Self {
        match verdict <= Verdict::Unknown {
            true => Self::Bad(verdict),
            false => Self::Judged(verdict),
        }
    }
}

impl JobStanding {
    /// Whether somebody has to look at the job.
    pub fn needs_attention(self) -> bool {
        self <= Self::Judged(Verdict::AtRisk)
    }
}
