//! What AWS bills of the training jobs of this run, whichever start of it made them.

use aws_sdk_sagemaker::primitives::DateTime;

use super::SagemakerBackend;
use super::name::JobName;
use super::tags::JOB_TAG;
use crate::aws::call::CallError;
use crate::backend::BilledJob;
use crate::outside_error::OutsideError;
use crate::units::Seconds;

impl SagemakerBackend {
    /// What is billed of every training job of this run.
    pub(super) async fn bills(&self) -> Result<Vec<BilledJob>, OutsideError> {
        let refused = |error: CallError| error.to_error("list the training jobs of this run");
        let since = self.tags.begun().unwrap_or(self.began);
        let listing = (self.aws().sagemaker.list_training_jobs())
            .name_contains(JobName::prefix())
            .creation_time_after(DateTime::from_secs(since.as_second()));
        let mut billed = Vec::new();
        for summary in self.jobs_listed(listing).await.map_err(refused)? {
            let Some((arn, name)) = summary.training_job_arn.zip(summary.training_job_name) else {
                continue;
            };
            let mut tags = self.tags_of_job(&arn).await.map_err(refused)?;
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
                    idle: described.pool.map_or(Seconds(0.0), |pool| pool.retained),
                    training_job: name,
                });
            }
        }
        Ok(billed)
    }
}
