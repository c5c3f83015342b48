//! The training jobs of a run, whichever start of it made them: their bills, and finding and stopping what a dead gate left.

use aws_sdk_sagemaker::operation::list_training_jobs::builders::ListTrainingJobsFluentBuilder;
use aws_sdk_sagemaker::primitives::DateTime;
use aws_sdk_sagemaker::types::{TrainingJobStatus, TrainingJobSummary, WarmPoolResourceStatus};
use futures_util::future::join_all;
use jiff::Timestamp;

use super::description::{age, is_open, kept_for};
use super::find::LONGEST_TO_COLLECT;
use super::name::{JobName, PREFIX};
use super::placing::output;
use super::staging;
use super::tags::{
    DETACHED_TAG, EXPIRES_TAG, JOB_TAG, REPOSITORY_TAG, RUN_TAG, SPEC_TAG, tags_of_job,
};
use crate::aws::call::{Call, CallError, CallResult};
use crate::aws::s3_uri::S3Uri;
use crate::backend::{BilledJob, SagemakerBackend};
use crate::grammar::distinct;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::Job;
use crate::units::Seconds;

/// What lies in S3 for longer without a training job waits for none.
const LONGEST_STAGING: Seconds = Seconds(86_400.0);
/// A gate has read the metrics of a canary by then, and removed what it left.
const LONGEST_READING: Seconds = Seconds(3600.0);

const LIST: Call<'_> = Call("sagemaker:ListTrainingJobs");

/// What of a training job is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverKind {
    Running,
    /// The job is over, and its machines are kept.
    WarmPool,
}

/// A training job of a gate that is still running, or whose machines are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub kind: LeftoverKind,
    pub training_job: String,
    /// The run of the gate that it belongs to.
    pub run: String,
    /// The job of the spec that it is a canary of.
    pub job: Option<String>,
    /// That spec, as its tag names it.
    pub spec: Option<String>,
    pub repository: Option<String>,
    /// After this its gate is dead.
    pub expires: Option<Timestamp>,
    /// Whether its gate has ended, and meant it to go on until it is collected.
    pub is_detached: bool,
}

/// Which leftovers are swept.
#[derive(Debug, Clone, Copy)]
pub enum Sweep<'a> {
    /// Those of one run of the gate, whether it lives or not.
    Run {
        id: &'a str,
        /// Of a spec, as its tag names it, and these jobs of it, without any all; `None` for those of all specs.
        of: Option<(&'a str, &'a [String])>,
        /// Whether those too that wait to be collected.
        detached: bool,
    },
    /// Those whose run should be over.
    Expired(Timestamp),
}

impl Sweep<'_> {
    /// Whether it is to be stopped.
    pub fn takes(&self, leftover: &Leftover) -> bool {
        match self {
            Self::Run { id, of, detached } => {
                let job = leftover.job.as_ref();
                let is_of_step = of.is_none_or(|(spec, jobs)| {
                    let is_of_job = jobs.is_empty() || jobs.iter().any(|one| Some(one) == job);
                    is_of_job && leftover.spec.as_deref() == Some(spec)
                });
                let is_swept = !leftover.is_detached || *detached;
                leftover.run == *id && is_swept && is_of_step
            }
            Self::Expired(now) => leftover.expires.is_some_and(|expires| expires < *now),
        }
    }
}

/// Why a training job may go on that was asked to stop.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotStopped {
    /// It may be there all the same where it was just created.
    #[error("AWS does not show it yet")]
    NotShown,
    #[error("{0}")]
    Refused(CallError),
}

/// Where a canary of this name may have left something below an output: its own output, and its copies.
pub(super) fn places_in(output: &S3Uri, name: &str) -> [S3Uri; 2] {
    [
        output.below(&format!("{name}/")),
        staging::stage(output, name),
    ]
}

impl SagemakerBackend {
    /// Below the outputs of `jobs`: what is left of canaries that are over, their copies and their own output.
    pub async fn left_in_s3(&self, jobs: &[Job]) -> OutsideResult<Vec<S3Uri>> {
        let mut left = Vec::new();
        for job in jobs {
            let output = output(job)?;
            for folder in [output.below(staging::STAGES), output] {
                for place in staging::folders(&self.aws().s3, &folder).await? {
                    if !left.contains(&place) && self.is_of_the_past(&folder, &place).await? {
                        left.push(place);
                    }
                }
            }
        }
        Ok(left)
    }

    /// Below the outputs of `jobs`: where canaries of these names may have left something.
    pub fn places_of(&self, jobs: &[Job], names: &[&str]) -> OutsideResult<Vec<S3Uri>> {
        let mut places = Vec::new();
        for job in jobs {
            let output = output(job)?;
            places.extend(names.iter().flat_map(|name| places_in(&output, name)));
        }
        Ok(distinct(places))
    }

    /// Whether a place in a folder is named like a canary's training job, and that is over, or never came.
    async fn is_of_the_past(&self, folder: &S3Uri, place: &S3Uri) -> OutsideResult<bool> {
        let name = place.key.strip_prefix(&folder.key);
        let name = name.map(|name| name.trim_end_matches('/'));
        let Some(name) = name.filter(|name| JobName::parse(name).is_some()) else {
            return Ok(false);
        };
        let described = self.describe(name).await;
        let described = described
            .map_err(|error| error.to_error(&format!("look at the training job {name}")))?;
        let Some(job) = described else {
            // Without a job one may be about to start; a sample is staged within hours.
            let youngest = staging::youngest(&self.aws().s3, place).await?;
            return Ok(youngest.is_some_and(|written| age(written) > LONGEST_STAGING));
        };
        // A run that waits for it removes that by itself, when it has read its metrics.
        let end = (job.ended_at.or(job.created_at)).filter(|_| job.state.is_final());
        let Some(end) = end.filter(|end| age(*end) > LONGEST_READING) else {
            return Ok(false);
        };
        if age(end) > LONGEST_TO_COLLECT {
            return Ok(true);
        }
        match self.tags_of_found(&job).await {
            Ok(tags) => Ok(!tags.contains_key(DETACHED_TAG)),
            Err(error) => {
                tracing::warn!("whether {name} was detached is not known: {error}");
                Ok(false)
            }
        }
    }

    /// Removes all objects below a place.
    pub async fn remove(&self, place: &S3Uri) -> OutsideResult<()> {
        staging::remove(&self.aws().s3, place).await
    }

    /// The running jobs of all gates, and the warm pools that they left.
    pub async fn left_on_machines(&self) -> OutsideResult<Vec<Leftover>> {
        let mut left = self.listed(LeftoverKind::Running).await?;
        left.extend(self.listed(LeftoverKind::WarmPool).await?);
        Ok(left)
    }

    /// Those of all gates of one kind.
    pub(super) async fn listed(&self, kind: LeftoverKind) -> OutsideResult<Vec<Leftover>> {
        let listing = self.aws().sagemaker.list_training_jobs();
        let listing = listing.name_contains(PREFIX);
        let with_pool = |status| listing.clone().warm_pool_status_equals(status);
        let listings = match kind {
            LeftoverKind::Running => vec![listing.status_equals(TrainingJobStatus::InProgress)],
            // A job that is being stopped, or has just ended, keeps its machines in a moment.
            LeftoverKind::WarmPool => vec![
                with_pool(WarmPoolResourceStatus::Available),
                with_pool(WarmPoolResourceStatus::Inuse),
            ],
        };
        let mut found: Vec<Leftover> = Vec::new();
        for listing in listings {
            let listed = self.jobs_listed(listing).await;
            for job in listed.map_err(|error| error.to_error("list the training jobs"))? {
                let is_known =
                    |known: &Leftover| Some(&known.training_job) == job.training_job_name.as_ref();
                if !found.iter().any(is_known) {
                    found.extend(self.leftover(kind, job).await);
                }
            }
        }
        Ok(found)
    }

    /// Reads the tags of a listed job. `None` if it is no leftover of this kind, or its tags do not say that it is a canary.
    async fn leftover(&self, kind: LeftoverKind, job: TrainingJobSummary) -> Option<Leftover> {
        let is_running = job.training_job_status() == Some(&TrainingJobStatus::InProgress);
        let is_meant = match kind {
            LeftoverKind::Running => is_running,
            // A filter that is not known to who answers lets all jobs through.
            LeftoverKind::WarmPool => !is_running && job.warm_pool_status().is_some_and(is_open),
        };
        let arn = job.training_job_arn.filter(|_| is_meant)?;
        let training_job = job.training_job_name?;
        let tags = tags_of_job(&self.aws().sagemaker, Some(&arn)).await;
        let tags = tags.inspect_err(|error| {
            // It may be anybody's; the others are looked at all the same.
            tracing::warn!("{training_job} is left alone, since its tags cannot be read: {error}");
        });
        let mut tags = tags.ok()?;
        Some(Leftover {
            kind,
            training_job,
            // By its name it may be a canary; by this tag it is one.
            run: tags.remove(RUN_TAG)?,
            job: tags.remove(JOB_TAG),
            spec: tags.remove(SPEC_TAG),
            repository: tags.remove(REPOSITORY_TAG),
            expires: tags.get(EXPIRES_TAG).and_then(|time| time.parse().ok()),
            is_detached: tags.contains_key(DETACHED_TAG),
        })
    }

    /// All jobs of a listing that are canaries by their names.
    pub(super) async fn jobs_listed(
        &self,
        listing: ListTrainingJobsFluentBuilder,
    ) -> CallResult<Vec<TrainingJobSummary>> {
        let listed = listing.into_paginator().items().send().try_collect().await;
        let mut listed = LIST.heard(listed)?;
        let name_of = TrainingJobSummary::training_job_name;
        listed.retain(|job| name_of(job).and_then(JobName::parse).is_some());
        Ok(listed)
    }

    /// Stops each job, and ends each pool: all jobs first, since each bills until it is asked to stop. A job that is over or being
    /// stopped leaves its machines too; without a pool that is one look. With each comes what became of it.
    pub async fn stop_all(&self, leftovers: Vec<Leftover>) -> Vec<(Leftover, OutsideResult<()>)> {
        let mut swept = Vec::with_capacity(leftovers.len());
        for leftover in leftovers {
            let name = &leftover.training_job;
            let stopped = match leftover.kind {
                LeftoverKind::Running => self.stop(name).await,
                LeftoverKind::WarmPool => Ok(()),
            };
            let result = match stopped {
                Err(NotStopped::Refused(error)) => Err(error.to_error(&format!("stop {name}"))),
                Ok(()) | Err(NotStopped::NotShown) => {
                    self.forget(name);
                    Ok(())
                }
            };
            swept.push((leftover, result));
        }
        let end = async |(leftover, mut result): (Leftover, OutsideResult<()>)| {
            let (training_job, run) = (&leftover.training_job, &leftover.run);
            if result.is_ok()
                && let Err(why) = self.end_pool(training_job).await
            {
                let what = format!("the warm pool of {training_job} could not be ended: {why}");
                result = Err(OutsideError::transient(what).help(format!(
                    "allow sagemaker:UpdateTrainingJob where it is denied, and run `canary-gate sweep --run {run}`; until then AWS bills its machines, for an hour at most"
                )));
            }
            (leftover, result)
        };
        join_all(swept.into_iter().map(end)).await
    }

    /// What is billed of every training job of this run.
    pub(super) async fn bills_of_run(&self) -> OutsideResult<Vec<BilledJob>> {
        let refused = |error: CallError| error.to_error("list the training jobs of this run");
        let since = self.tags.begun().unwrap_or(self.began);
        let listing = (self.aws().sagemaker.list_training_jobs())
            .name_contains(PREFIX)
            .creation_time_after(DateTime::from_secs(since.as_second()));
        let mut billed = Vec::new();
        for summary in self.jobs_listed(listing).await.map_err(refused)? {
            let Some((arn, name)) = summary.training_job_arn.zip(summary.training_job_name) else {
                continue;
            };
            let tags = tags_of_job(&self.aws().sagemaker, Some(&arn)).await;
            let mut tags = tags.map_err(refused)?;
            if self.is_own(&tags)
                && let Some(job) = tags.remove(JOB_TAG)
                && !self.state.borrow().counted.contains(&name)
                && let Some(described) = self.describe(&name).await.map_err(refused)?
                && let Some((instance, created_at)) = described.instance.zip(described.created_at)
            {
                billed.push(BilledJob {
                    job,
                    instance,
                    created_at,
                    billed: (described.state.is_final())
                        .then(|| described.billable_seconds.unwrap_or_default()),
                    idle: described.pool.as_ref().map(kept_for).unwrap_or_default(),
                    training_job: name,
                });
            }
        }
        Ok(billed)
    }
}
