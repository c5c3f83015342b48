//! Finding the training job that stands for a canary already.

use super::adoption;
use super::asked::AskedJob;
use super::description::JobDescription;
use super::name::JobName;
use super::ready_job::ReadyJob;
use super::tags::DETACHED_TAG;
use crate::aws::call::CallError;
use crate::backend::{BackendError, CanaryProgress, CanaryReport, RunPart};
use crate::canary::CanaryRun;
use crate::grammar::list;
use crate::rows::Copied;

/// Attempts at one canary that are looked at, the newest first; older ones are too old by then.
const ATTEMPTS_LOOKED_AT: usize = 10;

/// A job that stands for a canary.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) name: JobName,
    /// It carries this run's tag, so this run pays for it.
    pub(super) is_own: bool,
    /// Created by this process.
    pub(super) is_new: bool,
    /// No other process waits for it as part of this run.
    pub(super) may_stop: bool,
    /// It was over when it was found.
    pub(super) is_over: bool,
    /// No run of the gate waits for it.
    pub(super) is_detached: bool,
    /// The rows that this process placed for it; absent where it placed none, or another process did.
    pub(super) rows: Option<Copied>,
}

impl Found {
    pub(super) fn created(name: JobName) -> Self {
        Self {
            name,
            is_own: true,
            is_new: true,
            may_stop: true,
            is_over: false,
            is_detached: false,
            rows: None,
        }
    }
}

impl ReadyJob<'_> {
    /// The job that stands for a canary, the newest of several, else the name of the first attempt that is free. `report` hears of the
    /// first of those that are other jobs than this run would start: somebody else's, or of another gate.
    pub(super) async fn find(
        &self,
        run: &CanaryRun,
        first: &JobName,
        report: CanaryReport<'_>,
    ) -> Result<Result<Found, JobName>, BackendError> {
        let look_for =
            |error: CallError| error.to_error(&format!("look for the training job {first}"));
        let there = self.backend.describe(&first.to_string()).await;
        let Some(there) = there.map_err(look_for)? else {
            return Ok(Err(first.clone()));
        };
        let attempts = self.attempts(first).await.map_err(look_for)?;
        let mut others = Vec::new();
        for attempt in attempts.iter().take(ATTEMPTS_LOOKED_AT) {
            let name = first.with_attempt(*attempt);
            let described = self.backend.describe(&name.to_string()).await;
            if let Some(description) = described.map_err(look_for)?
                && let Some(found) = self.adopted(run, &name, &description, &mut others).await?
            {
                return Ok(Ok(found));
            }
        }
        if let Some(found) = self.adopted(run, first, &there, &mut others).await? {
            return Ok(Ok(found));
        }
        if let Some((name, differences)) = others.first() {
            let differs = format!(
                "differs from what this run would start in {}",
                list(differences)
            );
            report(CanaryProgress::Fact(&format!(
                "training job {name} {differs}; not taken"
            )));
            self.note(format!(
                "a training job with a canary's name {differs}, so it does not stand for the canary, and another attempt was started"
            ));
        }
        let newest = attempts.first().copied().unwrap_or(0);
        Ok(Err(first.with_attempt(newest.saturating_add(1))))
    }

    /// The job, if it stands for the canary; one that would, but is another job than this run would start, is kept in `others`.
    async fn adopted(
        &self,
        run: &CanaryRun,
        name: &JobName,
        description: &JobDescription,
        others: &mut Vec<(JobName, Vec<String>)>,
    ) -> Result<Option<Found>, BackendError> {
        let tags = self.backend.tags_of_found(description).await?;
        // Who collects a canary gives the account of what it cost.
        let is_collected = self.backend.collects(&tags);
        let is_own = is_collected || self.backend.is_own(&tags);
        let now = jiff::Timestamp::now();
        let seeker = &self.backend.tags;
        let stands = match is_collected {
            true => adoption::stands_detached(description, now),
            false => adoption::stands(self.job, run, description, is_own, seeker, now),
        };
        if !stands {
            return Ok(None);
        }
        let ours = self.request(run, name)?.build();
        // The model has required fields; our request has them all.
        let ours = ours.as_ref().map(AskedJob::of_request).unwrap_or_default();
        let mut differences = ours.differences(&description.asked);
        differences.extend(self.backend.is_tagged_otherwise(&tags, run));
        if !differences.is_empty() {
            let differences = differences.into_iter().map(str::to_owned).collect();
            others.push((name.clone(), differences));
            return Ok(None);
        }
        let state = &mut *self.backend.state.borrow_mut();
        let is_over = description.state.is_final();
        let may_stop = match seeker.part {
            // A job that is over may be tidied up; one that runs goes on.
            RunPart::Collect => is_own && is_over,
            _ => is_own && (seeker.is_exclusive || state.own.contains(&name.to_string())),
        };
        state.has_run |= is_own;
        if may_stop && !is_over {
            state.own.insert(name.to_string());
        }
        Ok(Some(Found {
            name: name.clone(),
            is_own,
            is_new: false,
            may_stop,
            is_over,
            is_detached: tags.contains_key(DETACHED_TAG),
            rows: None,
        }))
    }

    /// Whether a job that was adopted, and is over by now, still stands for the canary.
    pub(super) fn still_stands(
        &self,
        run: &CanaryRun,
        found: &Found,
        description: &JobDescription,
    ) -> bool {
        let (seeker, now) = (&self.backend.tags, jiff::Timestamp::now());
        seeker.part == RunPart::Collect
            || adoption::stands(self.job, run, description, found.is_own, seeker, now)
    }

    /// The numbers of all attempts after the first, the newest first.
    async fn attempts(&self, first: &JobName) -> Result<Vec<u32>, CallError> {
        let listing = self.backend.aws().sagemaker.list_training_jobs();
        let listing = listing.name_contains(first.stem());
        let listed = self.backend.jobs_listed(listing).await?;
        let names = listed
            .iter()
            .filter_map(|job| JobName::parse(job.training_job_name()?));
        let names = names.filter(|name| name.is_same_canary(first) && name.attempt() > 0);
        let mut attempts: Vec<u32> = names.map(|name| name.attempt()).collect();
        attempts.sort_unstable_by(|one, other| other.cmp(one));
        Ok(attempts)
    }
}
