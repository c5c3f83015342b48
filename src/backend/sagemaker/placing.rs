//! A canary's data, put where its training job finds them.

use super::manifest;
use super::name::JobName;
use super::ready_job::ReadyJob;
use super::request::Input;
use super::staging::{self, Existing, StagedSample};
use crate::aws::s3_uri::S3Uri;
use crate::backend::BackendError;
use crate::canary::{CanaryRun, Objects};
use crate::spec::{Channel, InputMode, Job};

/// Where canaries of a job write, a folder.
pub(super) fn output(job: &Job) -> Result<S3Uri, BackendError> {
    let written = job.training.sagemaker.output.as_deref().unwrap_or_default();
    Ok(S3Uri::read(written, &format!("jobs.{}.training.output", job.name))?.as_folder())
}

impl<'a> ReadyJob<'a> {
    /// Places the data of a canary; it may be dropped half-way.
    pub(super) async fn place<'p>(
        &'p self,
        run: &CanaryRun,
        name: &JobName,
    ) -> Result<Vec<Input<'p>>, BackendError> {
        let job = self.job;
        let mut inputs = Vec::with_capacity(job.training.channels.len());
        for (channel, data) in job.training.channels.iter().zip(&run.channels) {
            inputs.push(if channel.sample {
                self.place_sample(channel, &data.objects, name).await?
            } else {
                Input::whole(channel)
            });
        }
        inputs.extend(self.prepared.probe_input());
        Ok(inputs)
    }

    /// A sample as a manifest, or for FastFile, which reads none, as copies under a prefix of their own.
    async fn place_sample(
        &self,
        channel: &'a Channel,
        objects: &Objects,
        name: &JobName,
    ) -> Result<Input<'a>, BackendError> {
        let job = self.job;
        let s3 = self.backend.aws().s3;
        let base = self.base(channel)?;
        let output = output(job)?;
        let key = job.training.sagemaker.output_kms_key.as_deref();
        if channel.mode == InputMode::FastFile && !self.prepared.is_too_large_to_copy(channel) {
            let stage = StagedSample::of(&output, &name.to_string());
            let field = format!("jobs.{}.training.channels.{}", job.name, channel.name);
            stage
                .place(&s3, &field, &channel.name, &base, objects, key)
                .await?;
            let place = stage.channel(&channel.name).to_string();
            return Ok(Input::of_prefix(channel, place));
        }
        let place = output.below(&format!("{name}/canary-gate/{}.manifest", channel.name));
        let mut content = Vec::new();
        let keys = objects.iter().map(|object| object.key);
        manifest::write(&base.to_string(), keys, &mut content).map_err(|source| {
            BackendError::io(
                format!(
                    "jobs.{}.training.channels.{}: no manifest can be written",
                    job.name, channel.name
                ),
                "rename the object that it names",
                source,
            )
        })?;
        let field = format!("jobs.{}.training.output", job.name);
        let json = "application/json";
        staging::upload(&s3, &field, &place, content, json, Existing::Replace, key).await?;
        Ok(Input::of_manifest(channel, place.to_string()))
    }
}
