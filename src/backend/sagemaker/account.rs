//! What AWS bills of the training jobs of this run, whichever start of it made them.

use aws_sdk_sagemaker::primitives::DateTime;

use super::SagemakerBackend;
use super::description::JobDescription;
use super::name::JobName;
use super::tags::JOB_TAG;
use crate::aws::call::CallError;
use crate::backend::{BackendError, BilledJob};
use crate::units::Seconds;

impl SagemakerBackend {
    /// What is billed of every training job of this run.
    pub(super) async fn bills(&self) -> Result<Vec<BilledJob>, BackendError> {
        let jobs = self.own_jobs().await;
        let jobs = jobs.map_err(|error| error.to_error("list the training jobs of this run"))?;
        let counted = &self.state.borrow().counted;
        let billed = jobs.into_iter().filter_map(|(job, described)| {
            let training_job = described.name.filter(|name| !counted.contains(name))?;
            Some(BilledJob {
                job,
                instance: described.instance?,
                created_at: described.created_at?,
                billed: (described.state.is_final())
                    .then(|| described.billable_seconds.unwrap_or_default()),
                idle: described.pool.map_or(Seconds(0.0), |pool| pool.retained),
                training_job,
            })
        });
        Ok(billed.collect())
    }

    /// Every training job of this run, with the job of the spec that it is a canary of.
    pub(super) async fn own_jobs(&self) -> Result<Vec<(String, JobDescription)>, CallError> {
        let since = self.tags.begun().unwrap_or(self.began);
        let listing = (self.aws().sagemaker.list_training_jobs())
            .name_contains(JobName::prefix())
            .creation_time_after(DateTime::from_secs(since.as_second()));
        let mut found = Vec::new();
        for summary in self.jobs_listed(listing).await? {
            let name = summary.training_job_name().unwrap_or_default();
            let Some(arn) = summary.training_job_arn() else {
                continue;
            };
            let tags = self.tags_of_job(arn).await?;
            let of = tags.iter().find(|(key, _)| key == JOB_TAG);
            if let Some((_, job)) = of.filter(|_| self.is_own(&tags))
                && let Some(described) = self.describe(name).await?
            {
                found.push((job.clone(), described));
            }
        }
        Ok(found)
    }
}
