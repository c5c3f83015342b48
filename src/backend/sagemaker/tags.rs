//! The tags of training jobs: whose they are, and until when anybody may want them.

use std::collections::BTreeMap;

use aws_sdk_sagemaker::Client;

use super::description::JobDescription;
use crate::aws::call::{Call, CallResult};
use crate::backend::{RunPart, SagemakerBackend};
use crate::canary::CanaryRun;
use crate::outside_error::OutsideResult;
use crate::units::Seconds;

/// The tags that canary-gate sets itself.
pub(super) const RUN_TAG: &str = "canary-gate:run";
pub(super) const JOB_TAG: &str = "canary-gate:job";
/// The specs of one workflow run may have jobs of the same name.
pub(super) const SPEC_TAG: &str = "canary-gate:spec";
pub(super) const REPOSITORY_TAG: &str = "canary-gate:repository";
pub(super) const EXPIRES_TAG: &str = "canary-gate:expires";
/// Of a job that nobody waits for until it is collected.
pub(super) const DETACHED_TAG: &str = "canary-gate:detached";

/// After its time limit a job may still wait for machines; after this time, too, no run waits for it.
const GRACE: Seconds = Seconds(6.0 * 3600.0);

const LIST_TAGS: Call<'_> = Call("sagemaker:ListTags");

/// The tags of a training job, by their keys.
pub(super) type Tags = BTreeMap<String, String>;

impl SagemakerBackend {
    /// The tags that a canary gets beside the spec's.
    pub(super) fn tags_of(&self, run: &CanaryRun) -> Vec<(String, String)> {
        let limit = run.max_runtime.unwrap_or(Seconds(0.0)) + GRACE;
        let expires = jiff::Timestamp::now()
            .checked_add(jiff::SignedDuration::from_secs_f64(limit.0))
            .unwrap_or(jiff::Timestamp::MAX);
        let is_detached = self.tags.part == RunPart::Detach;
        let all = [
            (RUN_TAG, Some(self.tags.run.clone())),
            // Its name in the spec, of which the training job's name holds the beginning only.
            (JOB_TAG, Some(run.job.clone())),
            (SPEC_TAG, Some(self.tags.spec.clone())),
            (EXPIRES_TAG, Some(format!("{expires:.0}"))),
            (REPOSITORY_TAG, self.tags.repository.clone()),
            (DETACHED_TAG, is_detached.then(|| "true".to_owned())),
        ];
        let given = |(tag, value): (&str, Option<String>)| Some((tag.to_owned(), value?));
        all.into_iter().filter_map(given).collect()
    }

    /// The tags of a job that was found.
    pub(super) async fn tags_of_found(&self, description: &JobDescription) -> OutsideResult<Tags> {
        let arn = description.answer.training_job_arn();
        let tags = tags_of_job(&self.aws().sagemaker, arn).await;
        tags.map_err(|error| error.to_error("read the tags of a training job"))
    }

    /// Whether a job with these tags is this run's.
    pub(super) fn is_own(&self, tags: &Tags) -> bool {
        tags.get(RUN_TAG) == Some(&self.tags.run)
    }

    /// `its tags` where a job lacks the job or the repository that this run would write. The run and the day on which it expires
    /// are another run's. On a machine that knows no repository any will do.
    pub(super) fn is_tagged_otherwise(&self, tags: &Tags, run: &CanaryRun) -> Option<&'static str> {
        let repository = self.tags.repository.as_ref();
        let is_same = tags.contains_key(RUN_TAG)
            && tags.get(JOB_TAG) == Some(&run.job)
            && repository.is_none_or(|own| tags.get(REPOSITORY_TAG) == Some(own));
        (!is_same).then_some("its tags")
    }
}

/// The tags of a job; none where it has no ARN.
pub(super) async fn tags_of_job(client: &Client, arn: Option<&str>) -> CallResult<Tags> {
    let Some(arn) = arn else {
        return Ok(Tags::new());
    };
    let listing = client.list_tags().resource_arn(arn).into_paginator();
    let listed = LIST_TAGS.heard(listing.items().send().try_collect().await)?;
    let tags = listed.into_iter().filter_map(|tag| tag.key.zip(tag.value));
    Ok(tags.collect())
}
