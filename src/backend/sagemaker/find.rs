//! Finding the training job that stands for a canary already, which depends on how far it is, how it ended and how old it is.

use super::asked::AskedJob;
use super::failure::FailureClass;
use super::tags::DETACHED_TAG;
use super::{Found, JobDescription, JobName, JobState, ReadyJob};
use crate::aws::call::{CallError, CallResult};
use crate::backend::{CanaryProgress, CanaryReport, Reuse, RunPart};
use crate::canary::CanaryRun;
use crate::grammar::list;
use crate::measurement::Outcome;
use crate::outside_error::OutsideResult;
use crate::units::Seconds;

/// Attempts at one canary that are looked at, the newest first; older ones are too old by then.
const ATTEMPTS_LOOKED_AT: usize = 10;

/// A detached job that is over waits for so long to be collected.
pub(super) const LONGEST_TO_COLLECT: Seconds = Seconds(7.0 * 86_400.0);

impl ReadyJob<'_> {
    /// The job that stands for a canary, the newest of several, else the name of the first attempt that is free. `report` hears of the
    /// first of those that are other jobs than this run would start: somebody else's, or of another gate.
    pub(super) async fn find(
        &self,
        run: &CanaryRun,
        first: &JobName,
        report: CanaryReport<'_>,
    ) -> OutsideResult<Result<Found, JobName>> {
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
            let parts = list(differences);
            let differs = format!("differs from what this run would start in {parts}");
            let fact = format!("training job {name} {differs}; not taken");
            report(CanaryProgress::Fact(&fact));
            self.notes.add(format!(
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
        others: &mut Vec<(JobName, Vec<&'static str>)>,
    ) -> OutsideResult<Option<Found>> {
        let tags = self.backend.tags_of_found(description).await?;
        let seeker = &self.backend.tags;
        let is_detached = tags.contains_key(DETACHED_TAG);
        // Who collects a canary gives the account of what it cost.
        let is_collected = is_detached && seeker.part == RunPart::Collect;
        let is_own = is_collected || self.backend.is_own(&tags);
        let stands = match is_collected {
            // Whatever became of a job that was detached is the canary's result, as if this run had waited for it.
            true => match description.state {
                JobState::Running(_) | JobState::Stopping => true,
                JobState::Deleting => false,
                _ => description.is_over_for_at_most(LONGEST_TO_COLLECT),
            },
            false => self.stands(run, description, is_own),
        };
        if !stands {
            return Ok(None);
        }
        let ours = self.request(run, name, None)?.build();
        // The model has required fields; our request has them all.
        let ours = ours.as_ref().map(AskedJob::of_request).unwrap_or_default();
        let mut differences = ours.differences(&AskedJob::of_description(&description.answer));
        differences.extend(self.backend.is_tagged_otherwise(&tags, run));
        if !differences.is_empty() {
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
            is_own,
            is_new: false,
            may_stop,
            is_over,
            is_detached,
            ..Found::created(name.clone())
        }))
    }

    /// Whether a job under the name of a canary's attempt stands for the canary, over or still running; the result of another job does
    /// not count. A failure of the training code is a result of the canary as a success is: the same code on the same data would fail
    /// again.
    pub(super) fn stands(&self, run: &CanaryRun, found: &JobDescription, is_own: bool) -> bool {
        let seeker = &self.backend.tags;
        if seeker.reuse == Reuse::Never && !is_own {
            return false;
        }
        let is_as_long = || {
            let limits = found.max_runtime.zip(run.max_runtime);
            limits.is_some_and(|(had, wanted)| had.0 + 1.0 >= wanted.0)
        };
        let has_result = match &found.state {
            // A run that waits for it gets another attempt if its limit ends it.
            JobState::Running(_) => {
                return is_own || seeker.part == RunPart::Whole || is_as_long();
            }
            JobState::Completed => true,
            JobState::Failed(reason) => matches!(
                FailureClass::of(reason),
                FailureClass::Outcome(Outcome::OutOfMemory { .. } | Outcome::Failed { .. })
            ),
            // A lower bound of the time, unless this run may take longer.
            JobState::TimedOut => is_as_long(),
            JobState::Stopped | JobState::Stopping | JobState::Deleting => false,
        };
        let is_young = || found.is_over_for_at_most(self.job.canary.reuse);
        has_result && (seeker.reuse == Reuse::Never || is_young())
    }

    /// The numbers of all attempts after the first, the newest first.
    async fn attempts(&self, first: &JobName) -> CallResult<Vec<u32>> {
        let listing = self.backend.aws().sagemaker.list_training_jobs();
        let listing = listing.name_contains(first.stem());
        let listed = self.backend.jobs_listed(listing).await?;
        let names = listed
            .iter()
            .filter_map(|job| JobName::parse(job.training_job_name()?));
        let names = names.filter(|name| name.is_same_canary(first) && name.attempt > 0);
        let mut attempts = Vec::from_iter(names.map(|name| name.attempt));
        attempts.sort_unstable_by(|one, other| other.cmp(one));
        Ok(attempts)
    }
}
