//! A history under an S3 prefix.
//!
//! A record is put on the condition that nothing is there (`If-None-Match: *`), so that S3 itself decides between writers:
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>. AWS's types stop in here.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::EncodingType;
use futures_util::stream::{self, Stream, StreamExt};
use jiff::Timestamp;

use super::entry::{Entry, folder_of};
use super::scope::Scope;
use super::{
    History, HistoryError, LARGEST_RECORD, Listing, ListingRequest, Location, Placement, reading,
};
use crate::aws::AwsError;
use crate::aws::s3_error::{Request, User};
use crate::aws::s3_uri::{S3Uri, decoded, shown};

/// How often a record is put that meets another write at its very place.
const CONFLICTS: u32 = 5;
/// Before the second time; doubles from there.
const AFTER_CONFLICT: Duration = Duration::from_millis(250);
/// Records that are read at the same time.
const READS: usize = 16;
/// How often a record is read whose bytes break off on the way; requests are tried again by the client.
const READ_TRIES: u32 = 3;

impl History {
    /// A history under a prefix, `s3://BUCKET/PREFIX/`, taken as a folder. Nothing is sent. `scope` is whose run this is;
    /// `pace` multiplies every wait, 1 but for tests.
    ///
    /// # Errors
    ///
    /// When it is no place in S3.
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

/// Where in the spec the place stands.
const FIELD: &str = "history";

#[derive(Debug)]
pub(super) struct Bucket {
    client: Client,
    /// A folder.
    root: S3Uri,
    pace: f64,
}

impl Bucket {
    /// For a person.
    pub(super) fn place(&self, path: &str) -> String {
        shown(&self.root.below(path).to_string())
    }

    /// Everything that the run may read, in no order.
    pub(super) async fn list(
        &self,
        reader: Scope,
        job: Option<&str>,
        now: Timestamp,
    ) -> Result<Listing, HistoryError> {
        let mut listing = Listing::default();
        let wanted = ListingRequest { reader, job, now };
        for prefix in prefixes(reader, job) {
            let place = self.root.below(&prefix);
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
                // An endpoint that does not know of encoding says so by not naming it.
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

    /// The bytes of records in the order given, or why they cannot be had; several are read at once.
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
                    return Ok(Err("it is gone since it was listed".to_owned()));
                }
                Err(error) => {
                    let permission = format!("s3:GetObject on {}", arn(&place));
                    return Err(self.refused(&place, "read", &permission, &error));
                }
            };
            match content_of(object).await {
                Err(BrokenOff) if tries < READ_TRIES => tries += 1,
                Err(BrokenOff) => return Ok(Err("its bytes do not arrive".to_owned())),
                Ok(content) => return Ok(content),
            }
        }
    }

    /// Puts a record where nothing is.
    pub(super) async fn keep(
        &self,
        entry: &Entry,
        content: &[u8],
    ) -> Result<Placement, HistoryError> {
        let path = entry.path();
        let place = self.root.below(&path);
        let mut wait = AFTER_CONFLICT.mul_f64(self.pace);
        for _ in 0..CONFLICTS {
            let put = self
                .client
                .put_object()
                .bucket(&place.bucket)
                .key(&place.key)
                .content_type("application/json")
                .if_none_match("*")
                .body(ByteStream::from(content.to_vec()))
                .send()
                .await;
            let Err(error) = put else {
                return Ok(Placement::Whole);
            };
            let status = error.raw_response().map(|answer| answer.status().as_u16());
            match (error.code(), status) {
                // An attempt whose answer was lost has put it.
                (Some("PreconditionFailed"), _) | (_, Some(412)) => {
                    let is_ours = self.read(&path).await?.is_ok_and(|there| there == content);
                    return Ok(if is_ours {
                        Placement::Whole
                    } else {
                        Placement::NameTaken
                    });
                }
                // Another write at this place is under way, such as an attempt that nobody waits for any more.
                (Some("ConditionalRequestConflict"), _) | (_, Some(409)) => {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                (Some("NotImplemented"), _) | (_, Some(501)) => {
                    return Err(HistoryError::new(
                        format!(
                            "{FIELD}: could not write {}: this store does not know conditional writes, which keep records from being written over",
                            self.place(&path)
                        ),
                        "use a bucket of Amazon S3, or a store that knows `If-None-Match: *`, or let `history` name a folder",
                    ));
                }
                _ => {
                    let permission = format!("s3:PutObject on {}", arn(&place));
                    return Err(self.refused(&place, "write", &permission, &error));
                }
            }
        }
        Err(HistoryError {
            is_transient: true,
            ..HistoryError::new(
                format!(
                    "{FIELD}: could not write {}: S3 says {CONFLICTS} times that another write is under way there",
                    self.place(&path)
                ),
                "start the check again later; it goes on with the canaries that are there",
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
            user: User::History,
        };
        request.refused(error).into()
    }
}

fn arn(place: &S3Uri) -> String {
    shown(&format!("arn:aws:s3:::{}/{}", place.bucket, place.key))
}

/// What is listed, relative to the history. Nobody is asked for what the run may not read.
fn prefixes(reader: Scope, job: Option<&str>) -> Vec<String> {
    let folder = job.map_or(String::new(), |job| format!("{}/", folder_of(job)));
    let of = |scope: Scope| format!("{scope}/{folder}");
    match reader {
        Scope::Main => vec![of(Scope::Main)],
        Scope::PullRequest(_) | Scope::Queue => vec![of(Scope::Main), of(reader)],
        // A job's folders of all pull requests have no prefix of their own.
        Scope::Local => vec![
            of(Scope::Main),
            of(Scope::Queue),
            of(Scope::Local),
            "pr/".to_owned(),
        ],
    }
}

/// The answer ended before its time.
struct BrokenOff;

/// The bytes of an object, unless there are too many.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_lists_what_he_may_not_read() {
        assert_eq!(prefixes(Scope::Main, None), ["main/"]);
        assert_eq!(
            prefixes(Scope::PullRequest(7), Some("a b")),
            ["main/a%20b/", "pr/7/a%20b/"]
        );
        assert_eq!(
            prefixes(Scope::Queue, Some("churn")),
            ["main/churn/", "queue/churn/"]
        );
        assert_eq!(
            prefixes(Scope::Local, Some("churn")),
            ["main/churn/", "queue/churn/", "local/churn/", "pr/"]
        );
    }
}
