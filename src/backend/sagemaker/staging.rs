//! Puts things on S3 for canaries, and takes them away: samples of channels that no manifest can name, manifests, archives.

use std::cell::Cell;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ServerSideEncryption, TaggingDirective};
use futures_util::future::ready;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;

use crate::aws::s3::{Request, key_of, list_permission, permission};
use crate::aws::s3_uri::{S3Uri, encoded, shown};
use crate::canary::{DataObject, Objects};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::{Channel, Job};
use crate::units::Bytes;

/// Copies at a time.
const COPIES: usize = 16;
/// Objects that are removed at a time. After a signal there are seconds for all of them.
const REMOVALS: usize = 64;
/// For one copy or upload, attempts together: S3 answers when the last byte is in its place.
const LONGEST_TRANSFER: Duration = Duration::from_mins(15);
/// CopyObject's limit, which AWS calls 5 GB.
pub(super) const LARGEST_COPY: Bytes = Bytes(5 * Bytes::GIB);
/// Below a job's output: what is staged for its canaries.
pub(super) const STAGES: &str = "cg-stage/";
/// The field of a spec that names where canaries write, in errors about a place that no one job has.
const OUTPUT: &str = "output";

/// The folder of one canary's samples: `<output>/cg-stage/<canary's job>/`. Nothing else is written below it.
pub(super) fn stage(output: &S3Uri, name: &str) -> S3Uri {
    output.below(&format!("{STAGES}{name}/"))
}

/// Objects of a job in S3, as a field of its spec names them.
#[derive(Debug, Clone)]
pub(super) struct JobObjects<'a> {
    pub(super) s3: Client,
    pub(super) field: String,
    /// Encrypts what is written.
    kms_key: Option<&'a str>,
}

impl<'a> JobObjects<'a> {
    fn of(s3: Client, job: &'a Job, field: &str) -> Self {
        Self {
            s3,
            field: format!("jobs.{}.training.{field}", job.name),
            kms_key: job.training.sagemaker.output_kms_key.as_deref(),
        }
    }

    pub(super) fn of_output(s3: Client, job: &'a Job) -> Self {
        Self::of(s3, job, OUTPUT)
    }

    pub(super) fn of_channel(s3: Client, job: &'a Job, channel: &Channel) -> Self {
        Self::of(s3, job, &format!("channels.{}", channel.name))
    }

    fn request<'r>(&'r self, place: &'r S3Uri, doing: &'r str, permissions: String) -> Request<'r> {
        Request::new(&self.s3, &self.field, place, doing, permissions)
    }

    /// The permissions that writing to a place needs, as words.
    fn write_permission(&self, place: &S3Uri) -> String {
        let put = permission("s3:PutObject", place);
        match self.kms_key {
            None => put,
            Some(key) => format!("{put}, and kms:GenerateDataKey on {}", shown(key)),
        }
    }

    /// Copies a sample of the objects below `base` to a folder, with their names, inside S3.
    ///
    /// What lies in the folder after an error is left there. The future must be driven to its end: a copy that S3 has begun is not
    /// stopped by forgetting it.
    pub(super) async fn copy(
        &self,
        base: &S3Uri,
        sample: &Objects,
        folder: &S3Uri,
    ) -> OutsideResult<()> {
        let permissions = format!(
            "{} and {}",
            permission("s3:GetObject", base),
            self.write_permission(folder)
        );
        let copy = async |name: String| {
            let from = base.below(&name);
            let place = format!("{}/{}", from.bucket, from.key);
            let copy = self.s3.copy_object().copy_source(encoded(&place));
            let copy = copy.bucket(&folder.bucket).key(folder.below(&name).key);
            // Else it reads and writes the tags too, which takes two more permissions.
            let copy = copy.tagging_directive(TaggingDirective::Replace);
            let copy = copy.set_server_side_encryption(self.encryption());
            let copy = copy.set_ssekms_key_id(self.kms_key.map(str::to_owned));
            let copied = copy.customize().config_override(patient()).send().await;
            copied.map(drop).map_err(|error| {
                let doing = "copy, for a FastFile canary,";
                let request = self.request(&from, doing, permissions.clone());
                request.refused(&error)
            })
        };
        // Those that are begun go on to their end.
        let has_failed = Cell::new(false);
        let goes_on = |_: &&DataObject| ready(!has_failed.get());
        let mut copies = stream::iter(sample.iter())
            .take_while(goes_on)
            .map(|object| copy(object.key.clone()))
            .buffer_unordered(COPIES);
        let mut all = Ok(());
        while let Some(copied) = copies.next().await {
            has_failed.set(has_failed.get() || copied.is_err());
            all = all.and(copied);
        }
        all
    }

    /// Fails where S3 would not copy one of the objects.
    pub(super) fn check_sizes(&self, objects: &Objects) -> OutsideResult<()> {
        match objects.sizes().find(|bytes| *bytes > LARGEST_COPY) {
            None => Ok(()),
            Some(large) => Err(OutsideError::of(format!(
                "{}: an object has {large}; S3 copies at most {LARGEST_COPY} at once, and a FastFile canary needs a copy",
                self.field
            ))
            .help("use `mode: File`, whose canaries read a manifest, or split the data into smaller objects")),
        }
    }

    fn encryption(&self) -> Option<ServerSideEncryption> {
        self.kms_key.map(|_| ServerSideEncryption::AwsKms)
    }

    /// Puts an object in place of what is there.
    ///
    /// With a KMS key, SageMaker's role needs `kms:Decrypt` on it to read the object; the role is not ours to check.
    pub(super) async fn put(
        &self,
        to: &S3Uri,
        content: impl Into<ByteStream>,
        content_type: &str,
    ) -> OutsideResult<()> {
        let put = self.s3.put_object().bucket(&to.bucket).key(&to.key);
        let put = put.content_type(content_type).body(content.into());
        let put = put.set_server_side_encryption(self.encryption());
        let put = put.set_ssekms_key_id(self.kms_key.map(str::to_owned));
        let put = put.customize().config_override(patient()).send().await;
        let request = self.request(to, "write", self.write_permission(to));
        put.map(drop).map_err(|error| request.refused(&error))
    }

    /// Puts an object whose name is a hash of its content, unless it is there.
    pub(super) async fn keep(
        &self,
        to: &S3Uri,
        content: Vec<u8>,
        content_type: &str,
    ) -> OutsideResult<()> {
        let head = self.s3.head_object().bucket(&to.bucket).key(&to.key);
        // Without s3:ListBucket an absent object is "forbidden", so any refusal means: try to put it.
        match head.send().await {
            Ok(_) => Ok(()),
            Err(_) => self.put(to, content, content_type).await,
        }
    }
}

/// When the youngest of the first objects in a folder was written; `None` where nothing is there.
pub(super) async fn youngest(s3: &Client, place: &S3Uri) -> OutsideResult<Option<Timestamp>> {
    let request = Request::list(s3, OUTPUT, place);
    let page = request.listing().send().await;
    let page = page.map_err(|error| request.refused(&error))?;
    let written = page.contents().iter().filter_map(|object| {
        let written = object.last_modified()?.secs();
        Timestamp::from_second(written).ok()
    });
    Ok(written.max())
}

/// The folders that lie directly in one.
pub(super) async fn folders(s3: &Client, place: &S3Uri) -> OutsideResult<Vec<S3Uri>> {
    let request = Request::list(s3, OUTPUT, place);
    let mut found = Vec::new();
    let mut pages = request.listing().delimiter("/").into_paginator().send();
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

/// Removes whatever lies in a folder, as far as it may. Finding nothing is fine, so it can be called again.
pub(super) async fn remove(s3: &Client, place: &S3Uri) -> OutsideResult<()> {
    // The beginning of a name, or none at all, is more than anybody staged.
    if !place.key.ends_with('/') {
        return Err(OutsideError::of(format!(
            "{place} is not a folder, so nothing below it is removed"
        ))
        .help("this is a bug of canary-gate; please report it"));
    }
    let permissions = format!(
        "{} and {}",
        list_permission(place),
        permission("s3:DeleteObject", place)
    );
    let request = Request::new(s3, OUTPUT, place, "remove what lies in", permissions);
    let mut all = Ok(());
    let mut pages = request.listing().into_paginator().send();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| request.refused(&error))?;
        let written = page.contents().iter().filter_map(|object| object.key());
        let keys = written.filter_map(|key| key_of(&page, key));
        // Whatever an endpoint lists, nothing else is removed.
        let keys = keys.filter(|key| key.starts_with(&place.key));
        let remove = async |key: String| {
            let removed = s3.delete_object().bucket(&place.bucket).key(key);
            removed.send().await.map(drop)
        };
        let removals = stream::iter(keys).map(remove).buffer_unordered(REMOVALS);
        let removed: Vec<Result<(), _>> = removals.collect().await;
        all = removed.into_iter().fold(all, Result::and);
    }
    all.map_err(|error| request.refused(&error))
}

/// The client's own limit is for short answers.
pub(super) fn patient() -> aws_sdk_s3::config::Builder {
    let limits = TimeoutConfig::builder()
        .operation_attempt_timeout(LONGEST_TRANSFER)
        .operation_timeout(LONGEST_TRANSFER);
    aws_sdk_s3::Config::builder().timeout_config(limits.build())
}
