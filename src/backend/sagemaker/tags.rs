//! The tags of training jobs: whose they are, and until when anybody may want them.

use super::SagemakerBackend;
use super::description::JobDescription;
use crate::aws::call::{Call, CallError};
use crate::backend::BackendError;
use crate::canary::CanaryRun;
use crate::units::Seconds;

/// The tags that canary-gate sets itself.
pub(super) const RUN_TAG: &str = "canary-gate:run";
pub(super) const JOB_TAG: &str = "canary-gate:job";
pub(super) const REPOSITORY_TAG: &str = "canary-gate:repository";
pub(super) const EXPIRES_TAG: &str = "canary-gate:expires";

/// After its time limit a job may still wait for machines; after this time, too, no run waits for it.
const GRACE: Seconds = Seconds(6.0 * 3600.0);

const LIST_TAGS: Call<'_> = Call("sagemaker:ListTags");

impl SagemakerBackend {
    /// The tags that a canary gets beside the spec's.
    pub(super) fn tags_of(&self, run: &CanaryRun) -> Vec<(String, String)> {
        let limit = run.max_runtime.unwrap_or(Seconds(0.0)) + GRACE;
        let expires = jiff::Timestamp::now()
            .checked_add(jiff::SignedDuration::from_secs_f64(limit.0))
            .unwrap_or(jiff::Timestamp::MAX);
        let mut tags = vec![
            (RUN_TAG.to_owned(), self.tags.run.clone()),
            // Its name in the spec, of which the training job's name holds the beginning only.
            (JOB_TAG.to_owned(), run.job.clone()),
            (EXPIRES_TAG.to_owned(), format!("{expires:.0}")),
        ];
        tags.extend(
            self.tags
                .repository
                .clone()
                .map(|repository| (REPOSITORY_TAG.to_owned(), repository)),
        );
        tags
    }

    /// Whether the job carries this run's tag.
    pub(super) async fn is_own(&self, description: &JobDescription) -> Result<bool, BackendError> {
        let Some(arn) = &description.arn else {
            return Ok(false);
        };
        let tags = self
            .tags_of_job(arn)
            .await
            .map_err(|error| error.to_error("read the tags of a training job"))?;
        Ok(tags
            .iter()
            .any(|(key, value)| key == RUN_TAG && *value == self.tags.run))
    }

    pub(super) async fn tags_of_job(&self, arn: &str) -> Result<Vec<(String, String)>, CallError> {
        let mut tags = Vec::new();
        let mut pages = self
            .aws()
            .sagemaker
            .list_tags()
            .resource_arn(arn)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| CallError::of(LIST_TAGS, &error))?;
            tags.extend(page.tags().iter().map(|tag| {
                (
                    tag.key().unwrap_or_default().to_owned(),
                    tag.value().unwrap_or_default().to_owned(),
                )
            }));
        }
        Ok(tags)
    }
}
