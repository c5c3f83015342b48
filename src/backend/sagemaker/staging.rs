//! Puts things on S3 for canaries, and takes them away: samples of channels that no manifest can name, manifests, archives.

use std::cell::Cell;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    Delete, EncodingType, ObjectIdentifier, ServerSideEncryption, TaggingDirective,
};
use futures_util::future::ready;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;

use super::listing::key_of;
use crate::aws::s3_error::Request;
use crate::aws::s3_uri::{LONGEST_KEY, S3Uri, encoded, shown};
use crate::backend::BackendError;
use crate::canary::{DataObject, Objects};
use crate::units::Bytes;

/// Copies at a time.
const COPIES: usize = 16;
/// For one copy or upload, attempts together: S3 answers when the last byte is in its place.
const LONGEST_TRANSFER: Duration = Duration::from_mins(15);
/// CopyObject's limit, which AWS calls 5 GB.
pub(super) const LARGEST_COPY: Bytes = Bytes(5 * Bytes::GIB);
/// Below a job's output: what is staged for its canaries.
pub(super) const STAGES: &str = "cg-stage/";

/// The place of one canary's samples: `<output>/cg-stage/<canary's job>/`. Nothing else is written below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StagedSample(S3Uri);

impl StagedSample {
    /// `name` is the canary's job name, which has neither slash nor dot.
    pub(super) fn of(output: &S3Uri, name: &str) -> Self {
        Self(output.below(&format!("{STAGES}{name}/")))
    }

    /// Where a channel's sample lies, a folder.
    pub(super) fn channel(&self, name: &str) -> S3Uri {
        self.0.below(&format!("{name}/"))
    }

    /// Copies a sample of the objects below `base` to a channel's folder here, with their names, inside S3.
    ///
    /// On an error nothing stays behind. The future must be driven to its end, or [`StagedSample::remove`] called after it: a copy
    /// that S3 has begun is not stopped by forgetting it. `field` is where the spec names the channel.
    pub(super) async fn place(
        &self,
        s3: &Client,
        field: &str,
        channel: &str,
        base: &S3Uri,
        sample: &Objects,
        kms_key: Option<&str>,
    ) -> Result<(), BackendError> {
        let folder = self.channel(channel);
        check(field, base, sample, &folder)?;
        let permissions = format!(
            "s3:GetObject on {} and s3:PutObject on {}{}",
            arn_below(base),
            arn_below(&folder),
            kms_permission(kms_key),
        );
        let copy = async |name: String| {
            let from = base.below(&name);
            let copied = s3
                .copy_object()
                .copy_source(encoded(&format!("{}/{}", from.bucket, from.key)))
                .bucket(&folder.bucket)
                .key(folder.below(&name).key)
                // Else it reads and writes the tags too, which takes two more permissions.
                .tagging_directive(TaggingDirective::Replace)
                .set_server_side_encryption(kms_key.map(|_| ServerSideEncryption::AwsKms))
                .set_ssekms_key_id(kms_key.map(str::to_owned))
                .customize()
                .config_override(patient())
                .send()
                .await;
            copied.map_err(|error| {
                let request = Request::of_jobs(
                    s3,
                    field,
                    &from,
                    "copy, for a FastFile canary,",
                    &permissions,
                );
                BackendError::from(request.refused(&error))
            })
        };
        // Those that are begun go on to their end.
        let has_failed = Cell::new(false);
        let goes_on = |_: &&DataObject| ready(!has_failed.get());
        let mut copies = stream::iter(sample.iter())
            .take_while(goes_on)
            .map(|object| copy(object.key.clone()))
            .buffer_unordered(COPIES);
        let mut failed = None;
        while let Some(copied) = copies.next().await {
            if let Err(error) = copied {
                has_failed.set(true);
                failed.get_or_insert(error);
            }
        }
        let Some(mut error) = failed else {
            return Ok(());
        };
        if let Err(left) = self.remove(s3).await {
            error.help = format!("{}; {}: {}", error.help, left.what, left.help);
        }
        Err(error)
    }

    /// All that lies here lies below it.
    pub(super) fn folder(self) -> S3Uri {
        self.0
    }

    /// Removes whatever lies here.
    pub(super) async fn remove(&self, s3: &Client) -> Result<(), BackendError> {
        remove(s3, &self.0).await
    }
}

/// When the youngest of the first objects in a folder was written; `None` where nothing is there.
pub(super) async fn youngest(
    s3: &Client,
    place: &S3Uri,
) -> Result<Option<Timestamp>, BackendError> {
    let permissions = format!("s3:ListBucket on arn:aws:s3:::{}", shown(&place.bucket));
    let page = s3
        .list_objects_v2()
        .bucket(&place.bucket)
        .prefix(&place.key)
        .encoding_type(EncodingType::Url)
        .send()
        .await
        .map_err(|error| {
            Request::of_jobs(s3, "output", place, "list", &permissions).refused(&error)
        })?;
    Ok(page
        .contents()
        .iter()
        .filter_map(|object| Timestamp::from_second(object.last_modified()?.secs()).ok())
        .max())
}

/// The folders that lie directly in one.
pub(super) async fn folders(s3: &Client, place: &S3Uri) -> Result<Vec<S3Uri>, BackendError> {
    let permissions = format!("s3:ListBucket on arn:aws:s3:::{}", shown(&place.bucket));
    let request = Request::of_jobs(s3, "output", place, "list", &permissions);
    let mut found = Vec::new();
    let mut pages = s3
        .list_objects_v2()
        .bucket(&place.bucket)
        .prefix(&place.key)
        .delimiter("/")
        .encoding_type(EncodingType::Url)
        .into_paginator()
        .send();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| request.refused(&error))?;
        found.extend(page.common_prefixes().iter().filter_map(|common| {
            Some(S3Uri {
                bucket: place.bucket.clone(),
                key: key_of(&page, common.prefix()?)?,
            })
        }));
    }
    Ok(found)
}

/// Removes whatever lies in a folder. Finding nothing is fine, so it can be called again.
pub(super) async fn remove(s3: &Client, place: &S3Uri) -> Result<(), BackendError> {
    // The beginning of a name, or none at all, is more than anybody staged.
    if !place.key.ends_with('/') {
        return Err(BackendError::new(
            format!("{place} is not a folder, so nothing below it is removed"),
            "this is a bug of canary-gate; please report it",
        ));
    }
    let permissions = format!(
        "s3:ListBucket on arn:aws:s3:::{} and s3:DeleteObject on {}",
        shown(&place.bucket),
        arn_below(place)
    );
    let request = Request::of_jobs(s3, "output", place, "remove what lies in", &permissions);
    let mut kept = Vec::new();
    let call = s3
        .list_objects_v2()
        .bucket(&place.bucket)
        .prefix(&place.key);
    let call = call.encoding_type(EncodingType::Url);
    let mut pages = call.into_paginator().send();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| request.refused(&error))?;
        let written = page.contents().iter().filter_map(|object| object.key());
        let keys = written.filter_map(|key| key_of(&page, key));
        // Whatever an endpoint lists, nothing else is removed.
        let keys = keys.filter(|key| key.starts_with(&place.key)).collect();
        kept.extend(delete(s3, &request, keys).await?);
    }
    let Some(first) = kept.first() else {
        return Ok(());
    };
    let (place, count) = (shown(&place.to_string()), kept.len());
    Err(BackendError::new(
        format!("{count} staged objects in {place} could not be removed: {first}"),
        format!("remove them: `aws s3 rm --recursive {place}`"),
    ))
}

/// Removes the keys of one page, at most 1,000. Returns those that S3 would not remove.
async fn delete(
    s3: &Client,
    request: &Request<'_>,
    keys: Vec<String>,
) -> Result<Vec<String>, BackendError> {
    let bucket = &request.place.bucket;
    // The many are named in XML, which cannot hold most control characters.
    let (odd, plain): (Vec<_>, Vec<_>) =
        (keys.into_iter()).partition(|key| key.chars().any(is_not_for_xml));
    for key in odd {
        let removed = s3.delete_object().bucket(bucket).key(key).send().await;
        removed.map_err(|error| request.refused(&error))?;
    }
    if plain.is_empty() {
        return Ok(Vec::new());
    }
    let named = plain.into_iter().filter_map(|key| {
        // The one thing it needs is the key.
        ObjectIdentifier::builder().key(key).build().ok()
    });
    let all = Delete::builder()
        .quiet(true)
        .set_objects(Some(named.collect()));
    let removed = s3
        .delete_objects()
        .bucket(bucket)
        .set_delete(all.build().ok())
        .send()
        .await
        .map_err(|error| request.refused(&error))?;
    let kept = removed.errors().iter().map(|error| {
        let (key, code) = (error.key().unwrap_or_default(), error.code());
        shown(&format!("{key}: {}", code.unwrap_or_default()))
    });
    Ok(kept.collect())
}

fn is_not_for_xml(c: char) -> bool {
    c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Fails where S3 would not copy one of the objects.
pub(super) fn check_sizes(field: &str, objects: &Objects) -> Result<(), BackendError> {
    match objects.sizes().find(|bytes| *bytes > LARGEST_COPY) {
        None => Ok(()),
        Some(large) => Err(BackendError::new(
            format!(
                "{field}: an object has {large}; S3 copies at most {LARGEST_COPY} at once, and a FastFile canary needs a copy"
            ),
            "use `mode: File`, whose canaries read a manifest, or split the data into smaller objects",
        )),
    }
}

/// Fails before anything is copied where one of the copies would.
fn check(field: &str, base: &S3Uri, sample: &Objects, folder: &S3Uri) -> Result<(), BackendError> {
    let is_too_long = |one: &&DataObject| folder.key.len() + one.key.len() > LONGEST_KEY;
    match sample.iter().find(is_too_long) {
        None => Ok(()),
        Some(long) => Err(BackendError::new(
            format!(
                "{field}: the key of {} is too long for a copy below {}, which a FastFile canary needs",
                shown(&base.below(&long.key).to_string()),
                shown(&folder.to_string())
            ),
            "use `mode: File`, whose canaries read a manifest, or a shorter `output`",
        )),
    }
}

/// What happens to an object that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    /// It stays: its name is a hash of its content.
    Keep,
    Replace,
}

/// Puts an object. `field` is where the spec names the place.
///
/// With a KMS key, SageMaker's role needs `kms:Decrypt` on it to read the object; the role is not ours to check.
pub(super) async fn upload(
    s3: &Client,
    field: &str,
    to: &S3Uri,
    content: impl Into<ByteStream>,
    content_type: &str,
    existing: Existing,
    kms_key: Option<&str>,
) -> Result<(), BackendError> {
    if existing == Existing::Keep {
        // Without s3:ListBucket an absent object is "forbidden", so any refusal means: try to put it.
        let head = s3
            .head_object()
            .bucket(&to.bucket)
            .key(&to.key)
            .send()
            .await;
        if head.is_ok() {
            return Ok(());
        }
    }
    let put = s3
        .put_object()
        .bucket(&to.bucket)
        .key(&to.key)
        .content_type(content_type)
        .set_server_side_encryption(kms_key.map(|_| ServerSideEncryption::AwsKms))
        .set_ssekms_key_id(kms_key.map(str::to_owned))
        .body(content.into())
        .customize()
        .config_override(patient())
        .send()
        .await;
    let permissions = format!(
        "s3:PutObject on {}{}",
        shown(&format!("arn:aws:s3:::{}/{}", to.bucket, to.key)),
        kms_permission(kms_key)
    );
    let request = Request::of_jobs(s3, field, to, "write", &permissions);
    put.map_err(|error| request.refused(&error))?;
    Ok(())
}

/// The client's own limit is for short answers.
pub(super) fn patient() -> aws_sdk_s3::config::Builder {
    let limits = TimeoutConfig::builder()
        .operation_attempt_timeout(LONGEST_TRANSFER)
        .operation_timeout(LONGEST_TRANSFER);
    aws_sdk_s3::Config::builder().timeout_config(limits.build())
}

fn arn_below(folder: &S3Uri) -> String {
    shown(&format!("arn:aws:s3:::{}/{}*", folder.bucket, folder.key))
}

fn kms_permission(kms_key: Option<&str>) -> String {
    kms_key.map_or(String::new(), |key| {
        format!(", and kms:GenerateDataKey on {}", shown(key))
    })
}

#[cfg(test)]
mod tests;
