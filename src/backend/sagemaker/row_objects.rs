//! Rows of objects in S3: read by ranges, written to a folder on this machine, and put below a canary's stage.

use std::ops::Range;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;

use super::staging::{self, Existing, LARGEST_COPY, patient};
use crate::aws::s3_error::Request;
use crate::aws::s3_uri::{S3Uri, shown};
use crate::backend::BackendError;
use crate::backend::rows::{self, OpenFile};
use crate::canary::Objects;
use crate::rows::{Copied, RangeSource, RowBlocks, RowFile, RowsProblem};

/// The object has another `ETag` by now.
const IS_ANOTHER: &str = "PreconditionFailed";

/// Where the spec names a channel, and how its rows are read and put.
pub(super) struct RowCopy<'a> {
    pub(super) s3: &'a Client,
    pub(super) field: &'a str,
    /// The folder that the keys of the channel are relative to.
    pub(super) base: &'a S3Uri,
}

impl RowCopy<'_> {
    /// Looks at the objects of a channel: beginnings, and footers. `tags` are their `ETags`.
    pub(super) async fn blocks(
        &self,
        objects: &Objects,
        tags: &[String],
    ) -> Result<RowBlocks, BackendError> {
        let blocks = rows::blocks(self.field, objects, |place, object| {
            let version = tags.get(place).cloned().unwrap_or_default();
            Ok(OpenFile {
                source: self.source(&object.key, &version),
                bytes: object.bytes,
                version,
            })
        });
        blocks.await
    }

    /// Copies the drawn rows of every object that has some to a folder, under the names of the objects.
    pub(super) async fn place(
        &self,
        drawn: &RowBlocks,
        folder: &S3Uri,
        kms_key: Option<&str>,
    ) -> Result<Copied, BackendError> {
        for (index, blocks) in drawn.by_file() {
            let (bytes, key) = (drawn.bytes_of(index, &blocks), &drawn.files()[index].key);
            if bytes > LARGEST_COPY {
                return Err(BackendError::new(
                    format!(
                        "{}: a canary's rows of {} have {bytes}; S3 takes at most {LARGEST_COPY} at once",
                        self.field,
                        shown(&self.base.below(key).to_string())
                    ),
                    "ask for smaller `canary.fractions`, or split the data into several objects",
                ));
            }
        }
        let here = tempfile::tempdir().map_err(|source| {
            let place = std::env::temp_dir();
            rows::cannot_write(&place, source)
        })?;
        let open = |file: &RowFile| Ok(self.source(&file.key, &file.version));
        let written = |index: usize| here.path().join(index.to_string());
        let copied = rows::copy(self.field, drawn, open, |index, _| written(index)).await?;
        for index in drawn.by_file().into_keys() {
            let (from, to) = (written(index), folder.below(&drawn.files()[index].key));
            let content = ByteStream::read_from().path(&from).build().await;
            let content = content.map_err(|error| {
                BackendError::io(
                    format!("{} cannot be read", from.display()),
                    "leave the folder alone while the gate runs",
                    std::io::Error::other(error),
                )
            })?;
            let kind = "application/octet-stream";
            let existing = Existing::Replace;
            staging::upload(self.s3, self.field, &to, content, kind, existing, kms_key).await?;
        }
        Ok(copied)
    }

    fn source(&self, key: &str, tag: &str) -> S3Ranges<'_> {
        S3Ranges {
            s3: self.s3,
            field: self.field,
            key: key.to_owned(),
            place: self.base.below(key),
            tag: tag.to_owned(),
        }
    }
}

/// An object that is read by ranges, as it was listed.
struct S3Ranges<'a> {
    s3: &'a Client,
    field: &'a str,
    key: String,
    place: S3Uri,
    /// Empty where the store gives none.
    tag: String,
}

impl RangeSource for S3Ranges<'_> {
    type Error = BackendError;

    async fn read(&self, range: Range<u64>) -> Result<Vec<u8>, BackendError> {
        let (place, field) = (&self.place, self.field);
        let changed = || rows::refused(field, &self.key, &RowsProblem::Changed);
        let permissions = format!(
            "s3:GetObject on {}",
            shown(&format!("arn:aws:s3:::{}/{}", place.bucket, place.key))
        );
        let request = Request::of_jobs(self.s3, field, place, "read, for its rows,", &permissions);
        let got = self
            .s3
            .get_object()
            .bucket(&place.bucket)
            .key(&place.key)
            .range(format!("bytes={}-{}", range.start, range.end - 1))
            .set_if_match((!self.tag.is_empty()).then(|| self.tag.clone()))
            .customize()
            .config_override(patient())
            .send()
            .await;
        let got = got.map_err(|error| {
            let response = error.raw_response();
            let status = response.map(|response| response.status().as_u16());
            // Beyond the end of what is there now.
            match error.code() == Some(IS_ANOTHER) || matches!(status, Some(404 | 412 | 416)) {
                true => changed(),
                false => request.refused(&error).into(),
            }
        })?;
        let bytes = got.body.collect().await.map_err(|error| {
            BackendError::transient(
                format!("{field}: {} broke off: {error}", shown(&place.to_string())),
                "run the gate again",
            )
        })?;
        let bytes = bytes.to_vec();
        match bytes.len() as u64 == range.end - range.start {
            true => Ok(bytes),
            false => Err(changed()),
        }
    }
}
