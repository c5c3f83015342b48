//! A canary's data, put where its training job finds them.

use serde_json::{Value, json};

use super::name::JobName;
use super::ready_job::ReadyJob;
use super::request::Input;
use super::row_objects::RowCopy;
use super::staging::{self, Existing, StagedSample};
use crate::aws::s3_uri::S3Uri;
use crate::backend::BackendError;
use crate::canary::{CanaryRun, ChannelData, Objects};
use crate::rows::RowBlocks;
use crate::spec::{Channel, InputMode, Job};

/// Where canaries of a job write, a folder.
pub(super) fn output(job: &Job) -> Result<S3Uri, BackendError> {
    let written = job.training.sagemaker.output.as_deref().unwrap_or_default();
    Ok(S3Uri::read(written, &format!("jobs.{}.training.output", job.name))?.as_folder())
}

/// The manifest of a canary's channel, by which it gets some of the objects below the channel's own prefix, so that files lie in the
/// container where they lie in a full run: `[{"prefix": "s3://bucket/churn/train/"}, "part-000.csv", "2026/part-001.csv"]`.
/// Fails where an object has no name of its own, which would stand for all of the folder.
fn manifest(field: &str, base: &S3Uri, objects: &Objects) -> Result<Vec<u8>, BackendError> {
    if objects.is_empty() || objects.iter().any(|object| object.key.is_empty()) {
        return Err(BackendError::new(
            format!("{field}: no manifest can be written: an object has no name below its prefix"),
            "rename the object",
        ));
    }
    // As a bare prefix `train` would take `train-old/` as well.
    let prefix = json!({"prefix": base.as_folder().to_string()});
    let keys = objects
        .iter()
        .map(|object| Value::from(object.key.as_str()));
    let lines: Vec<Value> = [prefix].into_iter().chain(keys).collect();
    Ok(Value::from(lines).to_string().into_bytes())
}

impl ReadyJob<'_> {
    /// Where a canary of this name finds its data once they are placed.
    pub(super) fn inputs(
        &self,
        run: &CanaryRun,
        name: &JobName,
    ) -> Result<Vec<Input<'_>>, BackendError> {
        let output = output(self.job)?;
        let channels = self.job.training.channels.iter();
        let mut inputs: Vec<Input<'_>> = channels
            .zip(&run.channels)
            .map(|(channel, data)| match channel.sample.is_drawn() {
                false => Input::whole(channel),
                true if drawn_rows(data).is_some() || is_copied(channel) => {
                    let stage = StagedSample::of(&output, &name.to_string());
                    Input::of_prefix(channel, stage.channel(&channel.name).to_string())
                }
                true => {
                    Input::of_manifest(channel, manifest_of(&output, name, channel).to_string())
                }
            })
            .collect();
        inputs.extend(self.placed.source_input());
        inputs.extend(self.placed.probe_input());
        Ok(inputs)
    }

    /// Places the data of a canary; it may be dropped half-way.
    pub(super) async fn place(
        &self,
        run: &CanaryRun,
        name: &JobName,
    ) -> Result<Vec<Input<'_>>, BackendError> {
        // An attempt before it may have ended half-way.
        self.placed_rows.borrow_mut().remove(&name.to_string());
        for (channel, data) in self.job.training.channels.iter().zip(&run.channels) {
            if let Some(rows) = drawn_rows(data) {
                self.place_rows(channel, rows, name).await?;
            } else if channel.sample.is_drawn() {
                self.place_sample(channel, &data.objects, name).await?;
            }
        }
        self.inputs(run, name)
    }

    /// The drawn rows, as objects under a prefix of their own.
    async fn place_rows(
        &self,
        channel: &Channel,
        drawn: &RowBlocks,
        name: &JobName,
    ) -> Result<(), BackendError> {
        let job = self.job;
        let copy = RowCopy {
            s3: &self.backend.aws().s3,
            field: &format!("jobs.{}.training.channels.{}", job.name, channel.name),
            base: &self.base(channel)?,
        };
        let stage = StagedSample::of(&output(job)?, &name.to_string());
        let key = job.training.sagemaker.output_kms_key.as_deref();
        let folder = stage.channel(&channel.name);
        let copied = copy.place(drawn, &folder, key).await?;
        let mut placed = self.placed_rows.borrow_mut();
        let of_job = placed.entry(name.to_string()).or_default();
        of_job.bytes = of_job.bytes + copied.bytes;
        of_job.left += copied.left;
        Ok(())
    }

    /// A sample as a manifest, or for FastFile, which reads none, as copies under a prefix of their own.
    async fn place_sample(
        &self,
        channel: &Channel,
        objects: &Objects,
        name: &JobName,
    ) -> Result<(), BackendError> {
        let job = self.job;
        let s3 = self.backend.aws().s3;
        let base = self.base(channel)?;
        let field = format!("jobs.{}.training.channels.{}", job.name, channel.name);
        let output = output(job)?;
        let key = job.training.sagemaker.output_kms_key.as_deref();
        if is_copied(channel) {
            let stage = StagedSample::of(&output, &name.to_string());
            return stage
                .place(&s3, &field, &channel.name, &base, objects, key)
                .await;
        }
        let place = manifest_of(&output, name, channel);
        let content = manifest(&field, &base, objects)?;
        let field = format!("jobs.{}.training.output", job.name);
        let json = "application/json";
        staging::upload(&s3, &field, &place, content, json, Existing::Replace, key).await
    }
}

/// Whether canaries read copies of the channel's objects, since FastFile reads no manifest.
fn is_copied(channel: &Channel) -> bool {
    channel.mode == InputMode::FastFile
}

/// The rows that a run gets of a channel; `None` where it gets whole objects, or all.
fn drawn_rows(data: &ChannelData) -> Option<&RowBlocks> {
    data.rows.as_ref().filter(|rows| !rows.is_all())
}

/// Where the manifest of a canary's sample lies.
fn manifest_of(output: &S3Uri, name: &JobName, channel: &Channel) -> S3Uri {
    output.below(&format!("{name}/canary-gate/{}.manifest", channel.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary::DataObject;
    use crate::units::Bytes;

    #[test]
    fn a_manifest_names_objects_below_a_folder_and_never_stands_for_all_of_it() {
        let written = |uri: &str, keys: &[&str]| {
            let object = |key: &&str| DataObject {
                key: (*key).to_owned(),
                bytes: Bytes(1),
            };
            let objects = keys.iter().map(object).collect();
            let base = S3Uri::read(uri, "uri").unwrap();
            let content = manifest("field", &base, &objects).ok()?;
            Some(String::from_utf8(content).unwrap())
        };
        for (uri, prefix) in [
            ("s3://b/train/", "s3://b/train/"),
            ("s3://b/train", "s3://b/train/"),
            ("s3://b", "s3://b/"),
        ] {
            let expected = format!("[{{\"prefix\":\"{prefix}\"}},\"2026/b.csv\",\"a \\\"\"]");
            assert_eq!(written(uri, &["a \"", "2026/b.csv"]), Some(expected));
            assert_eq!(written(uri, &["a", ""]), None);
            assert_eq!(written(uri, &[]), None);
        }
    }
}
