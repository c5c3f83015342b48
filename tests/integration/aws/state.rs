//! What the server and the test share.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use s3s::service::S3Service;
use serde::Deserialize;
use tempfile::TempDir;

use super::cloudwatch::Metrics;
use super::exchanges::Exchanges;
use super::fault::{Fault, Refusal, Rule};
use super::job::Job;
use super::logs::Logs;
use super::operation::Operation;
use super::pools::PoolFate;
use super::prices::OfferFile;
use super::s3::Store;
use super::script_run::ScriptRun;
use super::sessions::Sessions;
use super::timeline::Timeline;

/// The fake behind its door.
pub(super) struct Core {
    pub(super) state: Mutex<State>,
    pub(super) s3: Arc<Store>,
    pub(super) s3_service: S3Service,
    pub(super) exchanges: Exchanges,
    /// Of the scripts that are really run.
    pub(super) folder: TempDir,
    pub(super) started: Mutex<Vec<Arc<ScriptRun>>>,
}

pub(super) type Script = dyn Fn(&Job) -> Timeline + Send + Sync;
pub(super) type Fate = dyn Fn(&Job) -> PoolFate + Send + Sync;
pub(super) type Profiles = dyn Fn(&Job) -> Option<String> + Send + Sync;

/// Everything that scripts say and that happened.
pub(super) struct State {
    pub(super) jobs: Vec<Job>,
    pub(super) script: Arc<Script>,
    /// How many seconds of a job one real second of its script is; none where no script is run.
    pub(super) run_scripts: Option<f64>,
    pub(super) polls: Polls,
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
    pub(super) logs: Logs,
    pub(super) prices: BTreeMap<String, f64>,
    pub(super) offer_file: OfferFile,
    pub(super) quotas: BTreeMap<String, f64>,
    /// Of those that nobody has changed, which the account's own list lacks.
    pub(super) default_quotas: BTreeMap<String, f64>,
    /// The most elements of one page, whatever is asked for.
    pub(super) page_size: u64,
    pub(super) calls: BTreeMap<Operation, u64>,
    /// Calls about the training job that is never there.
    pub(super) questions: u64,
    pub(super) faults: Vec<Rule>,
    /// The time between two jobs that may be created, and when the next one may.
    pub(super) between_creates: Option<(Duration, Instant)>,
    /// A fault of everything, and how many calls it still strikes.
    pub(super) lasting: Option<(Fault, u64)>,
    pub(super) profiles: Arc<Profiles>,
    pub(super) pool_fate: Arc<Fate>,
    pub(super) gives_newest_pool: bool,
    pub(super) sessions: Sessions,
}

/// What a call of DescribeTrainingJob does to the clock of its job, after it was answered.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) enum Polls {
    /// The next call sees the next status.
    NextStatus,
    /// So many seconds of the job's life pass.
    Seconds(f64),
    /// Jobs stand still until [`super::FakeAws::finish_jobs`].
    Nothing,
    /// Nothing either: time itself passes, so many seconds of a job's life in a real one.
    Clock { scale: f64 },
}

/// When jobs are created.
#[derive(Debug, Clone, Copy)]
pub(super) enum Clock {
    Wall,
    /// Always these epoch seconds.
    Still(f64),
}

impl Clock {
    /// Epoch seconds.
    pub(super) fn now(self) -> f64 {
        match self {
            Self::Wall => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                now.unwrap().as_secs_f64().floor()
            }
            Self::Still(seconds) => seconds,
        }
    }
}

impl Core {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A script that panicked has failed its test already.
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Polls::Clock { scale } = state.polls {
            for job in &mut state.jobs {
                job.elapsed = job.began.elapsed().as_secs_f64() * scale;
            }
        }
        state
    }

    /// Counts a call and returns what is to go wrong with it; `says` is whether the request holds a text.
    pub(super) fn count(
        &self,
        operation: Option<Operation>,
        says: impl Fn(&str) -> bool,
    ) -> Option<Fault> {
        let mut state = self.state();
        let state = &mut *state;
        match operation {
            Some(_) if says(super::NO_JOB) => state.questions += 1,
            Some(operation) => *state.calls.entry(operation).or_default() += 1,
            None => {}
        }
        if let Some((fault, calls)) = &mut state.lasting
            && *calls > 0
        {
            *calls -= 1;
            return Some(fault.clone());
        }
        let operation = operation?;
        let mut struck = None;
        // Every rule counts, also after one has struck.
        for rule in &mut state.faults {
            if rule.strikes(operation, &says) {
                struck = struck.or(Some(rule));
            }
        }
        let rule = struck?;
        state.lasting = rule
            .then_everything
            .map(|calls| (rule.fault.clone(), calls));
        Some(rule.fault.clone())
    }
}

pub(super) fn size(length: usize) -> u64 {
    u64::try_from(length).expect("a length is at most 64 bits")
}

pub(super) fn wrong_token(code: &str) -> Refusal {
    Refusal::new(code, "Invalid NextToken")
}

/// The part of a list that a page shows, and the token of the next one.
pub(super) fn page(
    token: Option<&str>,
    limit: u64,
    page_size: u64,
    total: usize,
) -> Result<(Range<usize>, Option<String>), Refusal> {
    let start: usize = match token {
        Some(token) => token
            .strip_prefix("from")
            .and_then(|start| start.parse().ok())
            .ok_or_else(|| wrong_token("ValidationException"))?,
        None => 0,
    };
    let limit = usize::try_from(limit.min(page_size)).unwrap_or(usize::MAX);
    let end = start.saturating_add(limit).min(total);
    let next = (end < total).then(|| format!("from{end}"));
    Ok((start.min(end)..end, next))
}
