//! A history under an S3 prefix.
//!
//! A record is put with `If-None-Match: *`, so that S3 itself decides between writers:
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>. AWS's types stay in this file.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;

use super::{FoundPath, History, LARGEST_RECORD, Placement, Scope, Store, reading};
use crate::aws::s3::{Request, key_of, permission};
use crate::aws::s3_uri::{S3Uri, shown};
use crate::outside_error::{OutsideError, OutsideResult};

/// How often a record is put while another write to its key is in progress.
const CONFLICTS: u32 = 5;
/// The wait before the second time; each later wait is twice as long.
const AFTER_CONFLICT: Duration = Duration::from_millis(250);
/// How often a download that breaks off is repeated; the client itself repeats requests only.
const READ_TRIES: u32 = 3;

impl History {
    /// A history under the prefix `s3://BUCKET/PREFIX/`; sends nothing. `scope` decides what this run writes and reads; `pace`
    /// multiplies every wait and is 1 outside tests.
    ///
    /// # Errors
    ///
    /// When the prefix is not an S3 URI.
    pub fn in_bucket(client: &Client, uri: &str, scope: Scope, pace: f64) -> OutsideResult<Self> {
        let bucket = Bucket {
            client: client.clone(),
            root: S3Uri::read(uri, FIELD)?.as_folder(),
            pace,
        };
        Ok(Self {
            store: Store::Bucket(bucket),
            scope,
        })
    }
}

/// The spec field that names the prefix.
const FIELD: &str = "history";

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

    /// What lies below folders of the history.
    pub(super) async fn list(&self, folders: &[String]) -> OutsideResult<Vec<FoundPath>> {
        let mut found = Vec::new();
        for folder in folders {
            let place = self.root.below(&format!("{folder}/"));
            let request = Request::list(&self.client, FIELD, &place);
            let mut pages = request.listing().into_paginator().send();
            while let Some(page) = pages.next().await {
                let page = page.map_err(|error| request.refused(&error))?;
                let keys = page.contents().iter().filter_map(|object| object.key());
                let keys = keys.filter_map(|key| key_of(&page, key));
                let own = &self.root.key;
                found
                    .extend(keys.filter_map(|key| Some((key.strip_prefix(own)?.to_owned(), None))));
            }
        }
        Ok(found)
    }

    /// The bytes of a record, or why they cannot be read.
    pub(super) async fn read(&self, path: &str) -> OutsideResult<Result<Vec<u8>, String>> {
        let place = self.root.below(path);
        let mut tries = 1;
        loop {
            let get = self.client.get_object();
            let get = get.bucket(&place.bucket).key(&place.key);
            let object = match get.send().await {
                Ok(object) => object,
                Err(error) if error.code() == Some("NoSuchKey") => {
                    return Ok(Err("it was removed after it was listed".to_owned()));
                }
                Err(error) => {
                    let permission = permission("s3:GetObject", &place);
                    let request = Request::new(&self.client, FIELD, &place, "read", permission);
                    return Err(request.refused(&error));
                }
            };
            let length = object.content_length().unwrap_or_default();
            if usize::try_from(length).is_ok_and(|length| length > LARGEST_RECORD) {
                return Ok(Err(reading::too_large()));
            }
            match object.body.collect().await {
                Ok(content) => return Ok(Ok(content.to_vec())),
                Err(_) if tries < READ_TRIES => tries += 1,
                Err(_) => return Ok(Err("its download broke off repeatedly".to_owned())),
            }
        }
    }

    /// Puts an object under a name that is free; `None` while another write to its key is in progress, such as an abandoned
    /// attempt of ours.
    pub(super) async fn put_once(
        &self,
        path: &str,
        content_type: &str,
        content: &[u8],
    ) -> OutsideResult<Option<Placement>> {
        let place = &self.root.below(path);
        let put = self.client.put_object().bucket(&place.bucket);
        let put = put.key(&place.key).content_type(content_type);
        let put = put.body(ByteStream::from(content.to_vec()));
        let Err(error) = put.if_none_match("*").send().await else {
            return Ok(Some(Placement::Whole));
        };
        let status = error.raw_response().map(|answer| answer.status().as_u16());
        match (error.code(), status) {
            (Some("PreconditionFailed"), _) | (_, Some(412)) => Ok(Some(Placement::NameTaken)),
            (Some("ConditionalRequestConflict"), _) | (_, Some(409)) => Ok(None),
            (Some("NotImplemented"), _) | (_, Some(501)) => Err(OutsideError::of(format!(
                "{FIELD}: could not write {}: this store does not support conditional writes, which keep records from being overwritten",
                self.place(path)
            ))
            .help("use a bucket of Amazon S3, or a store that supports `If-None-Match: *`, or let `history` name a folder")),
            _ => {
                let permission = permission("s3:PutObject", place);
                let request = Request::new(&self.client, FIELD, place, "write", permission);
                Err(request.refused(&error))
            }
        }
    }

    /// Puts a record under a name that is free.
    pub(super) async fn put(&self, path: &str, content: &[u8]) -> OutsideResult<Placement> {
        let mut wait = AFTER_CONFLICT.mul_f64(self.pace);
        for _ in 0..CONFLICTS {
            match self.put_once(path, "application/json", content).await? {
                // Possibly written by our own attempt whose answer was lost.
                Some(Placement::NameTaken)
                    if self.read(path).await?.is_ok_and(|there| there == content) =>
                {
                    return Ok(Placement::Whole);
                }
                Some(placement) => return Ok(placement),
                None => {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
            }
        }
        Err(OutsideError::transient(format!(
            "{FIELD}: could not write {}: S3 reported {CONFLICTS} times that another write is in progress there",
            self.place(path)
        ))
        .help("start the check again later; it reuses the canaries that completed"))
    }
}
