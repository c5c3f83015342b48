//! Rows of objects in S3: read by ranges, written to a folder on this machine, and put below a canary's stage.

use std::ops::Range;

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;

use super::staging::{JobObjects, LARGEST_COPY, patient};
use crate::aws::s3::{Request, permission};
use crate::aws::s3_uri::{S3Uri, shown};
use crate::backend::rows::{self, OpenFile};
use crate::canary::Objects;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::rows::{Copied, RangeSource, RowBlocks, RowFile, RowsProblem};

/// The object has another `ETag` by now.
const IS_ANOTHER: &str = "PreconditionFailed";

impl JobObjects<'_> {
    /// Looks at the objects of a channel below `base`: beginnings, and footers. `tags` are their `ETags`.
    pub(super) async fn row_blocks(
        &self,
        base: &S3Uri,
        objects: &Objects,
        tags: &[String],
    ) -> OutsideResult<RowBlocks> {
        let blocks = rows::blocks(&self.field, objects, |place, object| {
            let version = tags.get(place).cloned().unwrap_or_default();
            Ok(OpenFile {
                source: self.ranges(base, &object.key, &version),
                bytes: object.bytes,
                version,
            })
        });
        blocks.await
    }

    /// Copies the drawn rows of every object that has some to a folder, under the names of the objects.
    pub(super) async fn copy_rows(
        &self,
        base: &S3Uri,
        drawn: &RowBlocks,
        folder: &S3Uri,
    ) -> OutsideResult<Copied> {
        for (index, blocks) in drawn.by_file() {
            let (bytes, key) = (drawn.bytes_of(index, &blocks), &drawn.files[index].key);
            if bytes > LARGEST_COPY {
                return Err(OutsideError::of(format!(
                    "{}: a canary's rows of {} have {bytes}; S3 takes at most {LARGEST_COPY} at once",
                    self.field,
                    shown(&base.below(key).to_string())
                ))
                .help("ask for smaller `canary.fractions`, or split the data into several objects"));
            }
        }
        let here = tempfile::tempdir()
            .map_err(|source| rows::cannot_write(&std::env::temp_dir(), source))?;
        let open = |file: &RowFile| Ok(self.ranges(base, &file.key, &file.version));
        let written = |index: usize| here.path().join(index.to_string());
        let copied = rows::copy(&self.field, drawn, open, |index, _| written(index)).await?;
        for index in drawn.by_file().into_keys() {
            let (from, to) = (written(index), folder.below(&drawn.files[index].key));
            let content = ByteStream::read_from().path(&from).build().await;
            let content = content.map_err(|error| {
                OutsideError::io(
                    format!("{} cannot be read", from.display()),
                    "leave the folder alone while the gate runs",
                    std::io::Error::other(error),
                )
            })?;
            self.put(&to, content, "application/octet-stream").await?;
        }
        Ok(copied)
    }

    fn ranges(&self, base: &S3Uri, key: &str, tag: &str) -> S3Ranges<'_> {
        S3Ranges {
            of: self,
            key: key.to_owned(),
            place: base.below(key),
            tag: tag.to_owned(),
        }
    }
}

/// An object that is read by ranges, as it was listed.
struct S3Ranges<'a> {
    of: &'a JobObjects<'a>,
    key: String,
    place: S3Uri,
    /// Empty where the store gives none.
    tag: String,
}

impl RangeSource for S3Ranges<'_> {
    type Error = OutsideError;

    async fn read(&self, range: Range<u64>) -> OutsideResult<Vec<u8>> {
        let JobObjects { s3, field, .. } = self.of;
        let place = &self.place;
        let changed = || rows::refused(field, &self.key, &RowsProblem::Changed);
        let get = s3.get_object().bucket(&place.bucket).key(&place.key);
        let get = get.range(format!("bytes={}-{}", range.start, range.end - 1));
        let get = get.set_if_match((!self.tag.is_empty()).then(|| self.tag.clone()));
        let got = get.customize().config_override(patient()).send().await;
        let got = got.map_err(|error| {
            let response = error.raw_response();
            let status = response.map(|response| response.status().as_u16());
            // Beyond the end of what is there now.
            if error.code() == Some(IS_ANOTHER) || matches!(status, Some(404 | 412 | 416)) {
                return changed();
            }
            let permissions = permission("s3:GetObject", place);
            let request = Request::new(s3, field, place, "read, for its rows,", permissions);
            request.refused(&error)
        })?;
        let bytes = got.body.collect().await.map_err(|error| {
            OutsideError::transient(format!(
                "{field}: {} broke off: {error}",
                shown(&place.to_string())
            ))
            .help("run the gate again")
        })?;
        let bytes = bytes.to_vec();
        match bytes.len() as u64 == range.end - range.start {
            true => Ok(bytes),
            false => Err(changed()),
        }
    }
}
