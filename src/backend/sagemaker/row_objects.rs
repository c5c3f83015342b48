//! Rows of objects in S3: read by ranges, put below a canary's stage.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart, ServerSideEncryption};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesOrdered, FuturesUnordered, StreamExt};
use jiff::Timestamp;

use super::staging::{self, Existing, patient};
use crate::aws::s3_error::{Request, User, is_denied};
use crate::aws::s3_uri::{S3Uri, shown};
use crate::backend::{BackendError, rows};
use crate::canary::Objects;
use crate::rows::{Copied, RangeSource, RowBlocks, RowSink, RowsProblem, copy_rows, inspect};
use crate::units::Bytes;

/// Ranges that are read ahead.
const READS: usize = 4;
/// Parts that are put at a time.
const PUTS: usize = 2;
/// The first parts of an upload; S3 takes 10,000 of 5 MiB or more, so later ones are larger.
pub(super) const PART: u64 = 5 * Bytes::MIB;
const PARTS_OF_A_SIZE: usize = 2000;
/// The object has another `ETag` by now.
const IS_ANOTHER: &str = "PreconditionFailed";

/// Unfinished multipart uploads of this gate, by their id. S3 bills their parts until they are aborted.
#[derive(Debug, Default)]
pub(super) struct OpenUploads(RefCell<BTreeMap<String, S3Uri>>);

impl OpenUploads {
    /// Aborts those below a folder.
    pub(super) async fn abort_below(&self, s3: &Client, folder: &S3Uri) {
        let is_below =
            |place: &S3Uri| place.bucket == folder.bucket && place.key.starts_with(&folder.key);
        let open: Vec<(String, S3Uri)> = {
            let all = self.0.borrow();
            let below = all.iter().filter(|(_, place)| is_below(place));
            below
                .map(|(id, place)| (id.clone(), place.clone()))
                .collect()
        };
        for (id, place) in open {
            let upload = UnfinishedUpload {
                place,
                id,
                begun: None,
            };
            match upload.abort(s3).await {
                Ok(()) => drop(self.0.borrow_mut().remove(&upload.id)),
                Err(error) => tracing::warn!(
                    "{}; S3 bills its parts until `canary-gate sweep` has aborted it; {}",
                    error.what,
                    error.help
                ),
            }
        }
    }
}

/// A multipart upload that was neither completed nor aborted.
pub(super) struct UnfinishedUpload {
    pub(super) place: S3Uri,
    id: String,
    pub(super) begun: Option<Timestamp>,
}

/// What a look for unfinished uploads found.
pub(super) enum UploadListing {
    Found(Vec<UnfinishedUpload>),
    /// They may not be listed.
    Denied(BackendError),
}

/// The unfinished uploads in a folder, of any gate: one page of the listing.
pub(super) async fn unfinished(s3: &Client, folder: &S3Uri) -> Result<UploadListing, BackendError> {
    let region = s3.config().region().map(ToString::to_string);
    let permissions = format!(
        "s3:ListBucketMultipartUploads on arn:aws:s3:::{}",
        shown(&folder.bucket)
    );
    let request = Request {
        field: "output",
        place: folder,
        doing: "list unfinished uploads in",
        permissions: &permissions,
        region: region.as_deref(),
        user: User::TrainingJobs,
    };
    let listed = s3
        .list_multipart_uploads()
        .bucket(&folder.bucket)
        .prefix(&folder.key)
        .send()
        .await;
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => {
            let refused = request.refused(&error).into();
            return match is_denied(&error) {
                true => Ok(UploadListing::Denied(refused)),
                false => Err(refused),
            };
        }
    };
    let uploads = listed.uploads().iter().filter_map(|upload| {
        let key = upload.key().filter(|key| key.starts_with(&folder.key))?;
        Some(UnfinishedUpload {
            place: S3Uri {
                bucket: folder.bucket.clone(),
                key: key.to_owned(),
            },
            id: upload.upload_id()?.to_owned(),
            begun: upload
                .initiated()
                .and_then(|time| Timestamp::from_second(time.secs()).ok()),
        })
    });
    Ok(UploadListing::Found(uploads.collect()))
}

impl UnfinishedUpload {
    /// Ends it; one that is gone is as good as aborted.
    pub(super) async fn abort(&self, s3: &Client) -> Result<(), BackendError> {
        let aborted = s3
            .abort_multipart_upload()
            .bucket(&self.place.bucket)
            .key(&self.place.key)
            .upload_id(&self.id)
            .send()
            .await;
        let region = s3.config().region().map(ToString::to_string);
        let permissions = format!(
            "s3:AbortMultipartUpload on {}",
            shown(&format!(
                "arn:aws:s3:::{}/{}",
                self.place.bucket, self.place.key
            ))
        );
        let request = Request {
            field: "output",
            place: &self.place,
            doing: "abort the upload to",
            permissions: &permissions,
            region: region.as_deref(),
            user: User::TrainingJobs,
        };
        match aborted {
            Err(error) if error.code() != Some("NoSuchUpload") => {
                Err(request.refused(&error).into())
            }
            _ => Ok(()),
        }
    }
}

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
        rows::check_names(self.field, objects)?;
        let mut files = Vec::with_capacity(objects.len());
        for (place, object) in objects.iter().enumerate() {
            if rows::is_beside_data(&object.key) {
                continue;
            }
            let tag = tags.get(place).cloned().unwrap_or_default();
            let mut source = self.source(&object.key, &tag);
            let looked = inspect(&object.key, object.bytes, tag, &mut source).await;
            files.push(
                looked.map_err(|error| {
                    rows::explained(self.field, &object.key, error, |error| error)
                })?,
            );
        }
        rows::blocks_of(self.field, files)
    }

    /// Copies the drawn rows of every object that has some to a folder, under the names of the objects.
    pub(super) async fn place(
        &self,
        drawn: &RowBlocks,
        folder: &S3Uri,
        kms_key: Option<&str>,
        uploads: &OpenUploads,
    ) -> Result<Copied, BackendError> {
        let mut all = Copied::default();
        for (index, blocks) in drawn.by_file() {
            let file = &drawn.files()[index];
            let mut source = self.source(&file.key, &file.version);
            let mut sink = S3Upload {
                s3: self.s3,
                field: self.field,
                place: folder.below(&file.key),
                kms_key,
                uploads,
                waiting: Vec::new(),
                id: None,
                parts: 0,
                flying: FuturesUnordered::new(),
                done: Vec::new(),
            };
            let copied = copy_rows(drawn, index, &blocks, &mut source, &mut sink).await;
            let copied = copied
                .map_err(|error| rows::explained(self.field, &file.key, error, |error| error))?;
            sink.finish().await?;
            tracing::info!(
                "Of {} {} were read in {} requests, and {} of rows staged.",
                shown(&source.place.to_string()),
                Bytes(source.read),
                source.requests,
                copied.bytes
            );
            all.bytes = all.bytes + copied.bytes;
            all.left += copied.left;
        }
        rows::check_drawn(self.field, all.bytes.0)?;
        Ok(all)
    }

    fn source(&self, key: &str, tag: &str) -> S3Ranges<'_> {
        S3Ranges {
            s3: self.s3,
            field: self.field,
            key: key.to_owned(),
            place: self.base.below(key),
            tag: tag.to_owned(),
            expected: VecDeque::new(),
            flying: FuturesOrdered::new(),
            order: VecDeque::new(),
            read: 0,
            requests: 0,
        }
    }
}

type ReadRange<'a> = LocalBoxFuture<'a, (Range<u64>, Result<Vec<u8>, BackendError>)>;

/// An object that is read by ranges, as it was listed.
struct S3Ranges<'a> {
    s3: &'a Client,
    field: &'a str,
    key: String,
    place: S3Uri,
    /// Empty where the store gives none.
    tag: String,
    expected: VecDeque<Range<u64>>,
    flying: FuturesOrdered<ReadRange<'a>>,
    /// What is in flight.
    order: VecDeque<Range<u64>>,
    read: u64,
    requests: u64,
}

impl<'a> S3Ranges<'a> {
    fn get(&mut self, range: Range<u64>) -> ReadRange<'a> {
        self.requests += 1;
        self.read += range.end - range.start;
        let (s3, field) = (self.s3, self.field);
        let (key, place, tag) = (self.key.clone(), self.place.clone(), self.tag.clone());
        Box::pin(async move {
            let read = get_range(s3, field, &key, &place, &tag, &range).await;
            (range, read)
        })
    }

    fn read_ahead(&mut self) {
        while self.flying.len() < READS
            && let Some(next) = self.expected.pop_front()
        {
            self.order.push_back(next.clone());
            let get = self.get(next);
            self.flying.push_back(get);
        }
    }
}

async fn get_range(
    s3: &Client,
    field: &str,
    key: &str,
    place: &S3Uri,
    tag: &str,
    range: &Range<u64>,
) -> Result<Vec<u8>, BackendError> {
    let changed = || rows::refused(field, key, &RowsProblem::Changed);
    let region = s3.config().region().map(ToString::to_string);
    let permissions = format!(
        "s3:GetObject on {}",
        shown(&format!("arn:aws:s3:::{}/{}", place.bucket, place.key))
    );
    let request = Request {
        field,
        place,
        doing: "read, for its rows,",
        permissions: &permissions,
        region: region.as_deref(),
        user: User::TrainingJobs,
    };
    let got = s3
        .get_object()
        .bucket(&place.bucket)
        .key(&place.key)
        .range(format!("bytes={}-{}", range.start, range.end - 1))
        .set_if_match((!tag.is_empty()).then(|| tag.to_owned()))
        .customize()
        .config_override(patient())
        .send()
        .await;
    let got = got.map_err(|error| {
        let code = aws_sdk_s3::error::ProvideErrorMetadata::code(&error).unwrap_or_default();
        let status = error
            .raw_response()
            .map(|response| response.status().as_u16());
        // Beyond the end of what is there now.
        match code == IS_ANOTHER || matches!(status, Some(404 | 412 | 416)) {
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

impl RangeSource for S3Ranges<'_> {
    type Error = BackendError;

    fn expect(&mut self, ranges: Vec<Range<u64>>) {
        self.expected.extend(ranges);
    }

    async fn read(&mut self, range: Range<u64>) -> Result<Vec<u8>, BackendError> {
        self.read_ahead();
        // What is in flight was expected in this order; others are read in between.
        if self.order.front() != Some(&range) {
            return self.get(range).await.1;
        }
        self.order.pop_front();
        let read = self.flying.next().await;
        self.read_ahead();
        read.map_or_else(|| Ok(Vec::new()), |(_, read)| read)
    }
}

/// An object that is written piece by piece: put at once where it is small, else in parts.
struct S3Upload<'a> {
    s3: &'a Client,
    field: &'a str,
    place: S3Uri,
    kms_key: Option<&'a str>,
    uploads: &'a OpenUploads,
    waiting: Vec<u8>,
    /// Of the multipart upload, once there is one.
    id: Option<String>,
    parts: usize,
    flying: FuturesUnordered<LocalBoxFuture<'a, Result<CompletedPart, BackendError>>>,
    done: Vec<CompletedPart>,
}

impl<'a> S3Upload<'a> {
    fn part_bytes(&self) -> usize {
        usize::try_from(PART << (self.parts / PARTS_OF_A_SIZE)).unwrap_or(usize::MAX)
    }

    async fn put_part(&mut self, bytes: Vec<u8>) -> Result<(), BackendError> {
        let id = match &self.id {
            Some(id) => id.clone(),
            None => self.begin().await?,
        };
        while self.flying.len() >= PUTS {
            self.land().await?;
        }
        self.parts += 1;
        let number = i32::try_from(self.parts).unwrap_or(i32::MAX);
        let (s3, field, place) = (self.s3, self.field, self.place.clone());
        let kms_key = self.kms_key.map(str::to_owned);
        self.flying.push(Box::pin(async move {
            let put = s3
                .upload_part()
                .bucket(&place.bucket)
                .key(&place.key)
                .upload_id(id)
                .part_number(number)
                .body(ByteStream::from(bytes))
                .customize()
                .config_override(patient())
                .send()
                .await;
            let put = put.map_err(|error| {
                staging::write_refused(s3, field, &place, kms_key.as_deref(), &error)
            })?;
            Ok(CompletedPart::builder()
                .part_number(number)
                .set_e_tag(put.e_tag().map(str::to_owned))
                .set_checksum_crc32(put.checksum_crc32().map(str::to_owned))
                .set_checksum_crc64_nvme(put.checksum_crc64_nvme().map(str::to_owned))
                .build())
        }));
        Ok(())
    }

    async fn begin(&mut self) -> Result<String, BackendError> {
        let Self { s3, place, .. } = self;
        let begun = s3
            .create_multipart_upload()
            .bucket(&place.bucket)
            .key(&place.key)
            .set_server_side_encryption(self.kms_key.map(|_| ServerSideEncryption::AwsKms))
            .set_ssekms_key_id(self.kms_key.map(str::to_owned))
            .send()
            .await
            .map_err(|error| staging::write_refused(s3, self.field, place, self.kms_key, &error))?;
        let id = begun.upload_id().unwrap_or_default().to_owned();
        self.uploads
            .0
            .borrow_mut()
            .insert(id.clone(), self.place.clone());
        self.id = Some(id.clone());
        Ok(id)
    }

    async fn land(&mut self) -> Result<(), BackendError> {
        if let Some(part) = self.flying.next().await {
            self.done.push(part?);
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<(), BackendError> {
        let rest = std::mem::take(&mut self.waiting);
        if self.id.is_none() {
            let kind = "application/octet-stream";
            let (s3, field) = (self.s3, self.field);
            let existing = Existing::Replace;
            return staging::upload(s3, field, &self.place, rest, kind, existing, self.kms_key)
                .await;
        }
        if !rest.is_empty() {
            self.put_part(rest).await?;
        }
        while !self.flying.is_empty() {
            self.land().await?;
        }
        self.done.sort_by_key(CompletedPart::part_number);
        let parts = CompletedMultipartUpload::builder().set_parts(Some(self.done));
        let id = self.id.unwrap_or_default();
        self.s3
            .complete_multipart_upload()
            .bucket(&self.place.bucket)
            .key(&self.place.key)
            .upload_id(&id)
            .multipart_upload(parts.build())
            .customize()
            .config_override(patient())
            .send()
            .await
            .map_err(|error| {
                staging::write_refused(self.s3, self.field, &self.place, self.kms_key, &error)
            })?;
        self.uploads.0.borrow_mut().remove(&id);
        Ok(())
    }
}

impl RowSink for S3Upload<'_> {
    type Error = BackendError;

    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), BackendError> {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let room = self.part_bytes().saturating_sub(self.waiting.len());
            if room == 0 {
                let part = std::mem::take(&mut self.waiting);
                self.put_part(part).await?;
                continue;
            }
            let (now, later) = rest.split_at(room.min(rest.len()));
            // No more than a part: what is not used of a larger one is held while it is put.
            if self.waiting.capacity() < self.waiting.len() + now.len() {
                self.waiting.reserve_exact(room);
            }
            self.waiting.extend_from_slice(now);
            rest = later;
        }
        Ok(())
    }
}
