//! A history under an S3 prefix.
//!
//! A record is put with `If-None-Match: *`, so that S3 itself decides between writers:
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>. AWS's types stay in this file.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::EncodingType;
use futures_util::stream::{self, Stream, StreamExt};

use super::entry::Entry;
use super::scope::Scope;
use super::{
    History, HistoryError, LARGEST_RECORD, Listing, ListingRequest, Location, Placement, reading,
};
use crate::aws::AwsError;
use crate::aws::s3_error::Request;
use crate::aws::s3_uri::{S3Uri, decoded, shown};

/// How often a record is put while another write to its key is in progress.
const CONFLICTS: u32 = 5;
/// The wait before the second time; each later wait is twice as long.
const AFTER_CONFLICT: Duration = Duration::from_millis(250);
/// How many records are read at the same time.
const READS: usize = 16;
/// How often a download that breaks off is repeated; the client itself repeats requests only.
const READ_TRIES: u32 = 3;

impl History {
    /// A history under the prefix `s3://BUCKET/PREFIX/`; sends nothing. `scope` decides what this run writes and reads; `pace`
    /// multiplies every wait and is 1 outside tests.
    ///
    /// # Errors
    ///
    /// When the prefix is not an S3 URI.
    pub fn in_bucket(
        client: &Client,
        uri: &str,
        scope: Scope,
        pace: f64,
    ) -> Result<Self, HistoryError> {
        let bucket = Bucket {
            client: client.clone(),
            root: S3Uri::read(uri, FIELD)?.as_folder(),
            pace,
        };
        Ok(Self {
            store: Location::Bucket(bucket),
            scope,
        })
    }
}

impl From<AwsError> for HistoryError {
    fn from(error: AwsError) -> Self {
        Self {
            is_transient: error.is_transient,
            ..Self::new(error.what, error.help)
        }
    }
}

/// What is put to learn whether records could be; no record has a name like it.
const TRY_OUT: &str = ".writable";
const TRY_OUT_TEXT: &[u8] = b"canary-gate may write here\n";

/// The spec field that names the prefix.
const FIELD: &str = "history";

/// What S3 said of an object that was put.
enum PutEnding {
    Done,
    /// Another object has its name.
    NameTaken,
    /// Another write to this key is in progress, such as an abandoned attempt of ours.
    Conflict,
}

#[derive(Debug)]
pub(super) struct Bucket {
    client: Client,
    /// A folder.
    root: S3Uri,
    pace: f64,
}

impl Bucket {
    /// For messages.
    pub(super) fn place(&self, path: &str) -> String {
        shown(&self.root.below(path).to_string())
    }

    /// All wanted records below folders of the history, unordered.
    pub(super) async fn list(
        &self,
        folders: &[String],
        wanted: ListingRequest<'_>,
    ) -> Result<Listing, HistoryError> {
        let mut listing = Listing::default();
        for folder in folders {
            let place = self.root.below(&format!("{folder}/"));
            let mut pages = self
                .client
                .list_objects_v2()
                .bucket(&place.bucket)
                .prefix(&place.key)
                .encoding_type(EncodingType::Url)
                .into_paginator()
                .send();
            while let Some(page) = pages.next().await {
                let page = page.map_err(|error| {
                    let permission = format!(
                        "s3:ListBucket on arn:aws:s3:::{} with the prefix `{}`",
                        shown(&place.bucket),
                        shown(&place.key)
                    );
                    self.refused(&place, "list", &permission, &error)
                })?;
                // An endpoint without support for encoding omits this field.
                let is_encoded = page.encoding_type() == Some(&EncodingType::Url);
                let keys = page.contents().iter().filter_map(|object| object.key());
                let keys = keys.filter_map(|key| {
                    if is_encoded {
                        decoded(key)
                    } else {
                        Some(key.to_owned())
                    }
                });
                for key in keys {
                    if let Some(path) = key.strip_prefix(&self.root.key) {
                        listing.add(path, wanted, |path| self.place(path));
                    }
                }
            }
        }
        Ok(listing)
    }

    /// The bytes of records in the order given, or why one cannot be read; several are read at once.
    pub(super) fn read_all<'a>(
        &'a self,
        entries: &'a [Entry],
        may_read: impl Fn(&Entry) -> Result<(), String> + Copy + 'a,
    ) -> impl Stream<Item = Result<(&'a Entry, Result<Vec<u8>, String>), HistoryError>> + 'a {
        let read = move |entry: &'a Entry| async move {
            match may_read(entry) {
                Ok(()) => Ok((entry, self.read(&entry.path()).await?)),
                Err(why) => Ok((entry, Err(why))),
            }
        };
        stream::iter(entries).map(read).buffered(READS)
    }

    async fn read(&self, path: &str) -> Result<Result<Vec<u8>, String>, HistoryError> {
        let place = self.root.below(path);
        let mut tries = 1;
        loop {
            let got = self
                .client
                .get_object()
                .bucket(&place.bucket)
                .key(&place.key)
                .send()
                .await;
            let object = match got {
                Ok(object) => object,
                Err(error) if error.code() == Some("NoSuchKey") => {
                    return Ok(Err("it was removed after it was listed".to_owned()));
                }
                Err(error) => {
                    let permission = format!("s3:GetObject on {}", arn(&place));
                    return Err(self.refused(&place, "read", &permission, &error));
                }
            };
            match content_of(object).await {
                Err(BrokenOff) if tries < READ_TRIES => tries += 1,
                Err(BrokenOff) => return Ok(Err("its download broke off repeatedly".to_owned())),
                Ok(content) => return Ok(content),
            }
        }
    }

    /// Puts a small object of its own, once for each scope; later S3 refuses it for being there, and only a writer hears that.
    pub(super) async fn try_out(&self, scope: Scope) -> Result<(), HistoryError> {
        let place = self.root.below(&format!("{scope}/{TRY_OUT}"));
        // It may be there, or another gate puts it at this moment.
        let body = ByteStream::from_static(TRY_OUT_TEXT);
        self.put(&place, "text/plain", body).await.map(|_| ())
    }

    /// Puts an object under a name that is free.
    async fn put(
        &self,
        place: &S3Uri,
        content_type: &str,
        body: ByteStream,
    ) -> Result<PutEnding, HistoryError> {
        let put = self
            .client
            .put_object()
            .bucket(&place.bucket)
            .key(&place.key)
            .content_type(content_type)
            .if_none_match("*")
            .body(body)
            .send()
            .await;
        let Err(error) = put else {
            return Ok(PutEnding::Done);
        };
        let status = error.raw_response().map(|answer| answer.status().as_u16());
        match (error.code(), status) {
            (Some("PreconditionFailed"), _) | (_, Some(412)) => Ok(PutEnding::NameTaken),
            (Some("ConditionalRequestConflict"), _) | (_, Some(409)) => Ok(PutEnding::Conflict),
            (Some("NotImplemented"), _) | (_, Some(501)) => {
                Err(self.lacks_conditional_writes(place))
            }
            _ => {
                let permission = format!("s3:PutObject on {}", arn(place));
                Err(self.refused(place, "write", &permission, &error))
            }
        }
    }

    fn lacks_conditional_writes(&self, place: &S3Uri) -> HistoryError {
        HistoryError::new(
            format!(
                "{FIELD}: could not write {}: this store does not support conditional writes, which keep records from being overwritten",
                shown(&place.to_string())
            ),
            "use a bucket of Amazon S3, or a store that supports `If-None-Match: *`, or let `history` name a folder",
        )
    }

    /// Puts a record under a name that is free.
    pub(super) async fn keep(
        &self,
        entry: &Entry,
        content: &[u8],
    ) -> Result<Placement, HistoryError> {
        let path = entry.path();
        let place = self.root.below(&path);
        let mut wait = AFTER_CONFLICT.mul_f64(self.pace);
        for _ in 0..CONFLICTS {
            let body = ByteStream::from(content.to_vec());
            match self.put(&place, "application/json", body).await? {
                PutEnding::Done => return Ok(Placement::Whole),
                PutEnding::NameTaken => {
                    // Possibly written by our own attempt whose answer was lost.
                    let is_ours = self.read(&path).await?.is_ok_and(|there| there == content);
                    return Ok(match is_ours {
                        true => Placement::Whole,
                        false => Placement::NameTaken,
                    });
                }
                PutEnding::Conflict => {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
            }
        }
        Err(HistoryError {
            is_transient: true,
            ..HistoryError::new(
                format!(
                    "{FIELD}: could not write {}: S3 reported {CONFLICTS} times that another write is in progress there",
                    self.place(&path)
                ),
                "start the check again later; it reuses the canaries that completed",
            )
        })
    }

    fn refused<E>(
        &self,
        place: &S3Uri,
        doing: &str,
        permissions: &str,
        error: &SdkError<E>,
    ) -> HistoryError
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let region = self.client.config().region().map(ToString::to_string);
        let request = Request {
            field: FIELD,
            place,
            doing,
            permissions,
            region: region.as_deref(),
        };
        request.refused(error).into()
    }
}

fn arn(place: &S3Uri) -> String {
    shown(&format!("arn:aws:s3:::{}/{}", place.bucket, place.key))
}

/// The download ended early.
struct BrokenOff;

/// The bytes of an object, or a complaint if it is too large.
async fn content_of(object: GetObjectOutput) -> Result<Result<Vec<u8>, String>, BrokenOff> {
    let mut content = Vec::new();
    let mut body = object.body;
    while let Some(bytes) = body.try_next().await.map_err(|_| BrokenOff)? {
        if content.len() + bytes.len() > LARGEST_RECORD {
            return Ok(Err(reading::too_large()));
        }
        content.extend_from_slice(&bytes);
    }
    Ok(Ok(content))
}
