//! A canary's data, put where its training job finds them.

use serde_json::{Value, json};

use super::staging::stage;
use super::{JobName, JobObjects, ReadyJob};
use crate::aws::s3_uri::S3Uri;
use crate::canary::{CanaryRun, ChannelData, Objects};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::rows::{Copied, RowBlocks};
use crate::spec::{Channel, ChannelSample, DataType, InputMode, Job};

/// Where canaries of a job write, a folder.
pub(super) fn output(job: &Job) -> OutsideResult<S3Uri> {
    let written = job.training.sagemaker.output.as_deref().unwrap_or_default();
    Ok(S3Uri::read(written, &format!("jobs.{}.training.output", job.name))?.as_folder())
}

/// How a canary gets its data of a channel.
enum DataWay<'a> {
    /// All of it, where it lies.
    Whole,
    /// Drawn rows, as objects under a prefix of their own.
    Rows(&'a RowBlocks),
    /// Copies of drawn objects under a prefix of their own, for FastFile, which reads no manifest.
    Copies,
    /// A manifest of drawn objects.
    Manifest,
}

impl<'a> DataWay<'a> {
    fn of(channel: &Channel, data: &'a ChannelData) -> Self {
        match data.rows.as_ref().filter(|rows| !rows.is_all()) {
            _ if !channel.sample.is_drawn() => Self::Whole,
            Some(rows) => Self::Rows(rows),
            None if channel.mode == InputMode::FastFile => Self::Copies,
            None => Self::Manifest,
        }
    }
}

/// Whether canaries get copies of a channel's objects, which S3 makes.
pub(super) fn is_copied(channel: &Channel) -> bool {
    channel.sample == ChannelSample::Objects && channel.mode == InputMode::FastFile
}

/// The manifest of a canary's channel, by which it gets some of the objects below the channel's own prefix, so that files lie in the
/// container where they lie in a full run: `[{"prefix": "s3://bucket/churn/train/"}, "part-000.csv", "2026/part-001.csv"]`.
/// Fails where an object has no name of its own, which would stand for all of the folder.
fn manifest(field: &str, base: &S3Uri, objects: &Objects) -> OutsideResult<Vec<u8>> {
    if objects.is_empty() || objects.iter().any(|object| object.key.is_empty()) {
        return Err(OutsideError::of(format!(
            "{field}: no manifest can be written: an object has no name below its prefix"
        ))
        .help("rename the object"));
    }
    // As a bare prefix `train` would take `train-old/` as well.
    let prefix = json!({"prefix": base.as_folder().to_string()});
    let keys = objects
        .iter()
        .map(|object| Value::from(object.key.as_str()));
    let lines: Vec<Value> = [prefix].into_iter().chain(keys).collect();
    Ok(Value::from(lines).to_string().into_bytes())
}

/// Where what is placed of a canary's channel lies: its manifest, or the folder of what is staged.
fn place_of(output: &S3Uri, name: &JobName, channel: &Channel, way: &DataWay<'_>) -> S3Uri {
    let channel = &channel.name;
    match way {
        DataWay::Manifest => output.below(&format!("{name}/canary-gate/{channel}.manifest")),
        _ => stage(output, &name.to_string()).below(&format!("{channel}/")),
    }
}

impl ReadyJob<'_> {
    /// The job's channels with their data where a canary of this name finds them once they are placed, and those that bring its code.
    pub(super) fn inputs(&self, run: &CanaryRun, name: &JobName) -> OutsideResult<Vec<Channel>> {
        let output = output(self.job)?;
        let channels = self.job.training.channels.iter().zip(&run.channels);
        let inputs = channels.map(|(channel, data)| {
            let way = DataWay::of(channel, data);
            let place = || place_of(&output, name, channel, &way).to_string();
            let (uri, data_type) = match way {
                DataWay::Whole => (channel.uri.clone(), channel.data_type),
                DataWay::Manifest => (place(), DataType::Manifest),
                DataWay::Rows(_) | DataWay::Copies => (place(), DataType::Prefix),
            };
            Channel {
                uri,
                data_type,
                ..channel.clone()
            }
        });
        Ok(inputs.chain(self.placed.channels.iter().cloned()).collect())
    }

    /// Places the data of a canary; it may be dropped half-way, and leaves on an error what it had placed. Returns the rows among them.
    pub(super) async fn place(
        &self,
        run: &CanaryRun,
        name: &JobName,
    ) -> OutsideResult<Option<Copied>> {
        let mut rows: Option<Copied> = None;
        let (job, output) = (self.job, output(self.job)?);
        for (channel, data) in job.training.channels.iter().zip(&run.channels) {
            let objects = JobObjects::of_channel(self.backend.aws().s3, job, channel);
            let way = DataWay::of(channel, data);
            let place = place_of(&output, name, channel, &way);
            match way {
                DataWay::Whole => {}
                DataWay::Rows(drawn) => {
                    let base = self.base(channel);
                    let copied = objects.copy_rows(base, drawn, &place).await?;
                    rows = Some(rows.unwrap_or_default() + copied);
                }
                DataWay::Copies => {
                    let base = self.base(channel);
                    objects.copy(base, &data.objects, &place).await?;
                }
                DataWay::Manifest => {
                    let content = manifest(&objects.field, self.base(channel), &data.objects)?;
                    let objects = JobObjects::of_output(objects.s3, job);
                    objects.put(&place, content, "application/json").await?;
                }
            }
        }
        Ok(rows)
    }
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
