//! S3: the objects, in memory. The wire is that of `s3s`, with checked signatures ([`super::s3_front`]).
//!
//! `s3s-fs` would do for plain reads and writes, but its listings have no ETags, keys that end with `/` are folders there
//! and are not listed, and its If-None-Match looks first and writes later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Uri};
use s3s::auth::SimpleAuth;
use s3s::crypto::{Checksum as _, Md5};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{S3Result, s3_error};

use super::s3_front::Front;
use super::sessions::{MOST_SESSIONS, key_pair};
use super::{ACCESS_KEY, REGION, SECRET_KEY};

/// All buckets.
#[derive(Debug, Default)]
pub(super) struct Store {
    buckets: Mutex<BTreeMap<String, Bucket>>,
    /// The most keys of one listing.
    page: Mutex<Option<usize>>,
}

#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) region: String,
    pub(super) objects: BTreeMap<String, Stored>,
}

#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) content: Bytes,
    pub(super) etag: String,
    pub(super) modified: SystemTime,
}

impl Stored {
    pub(super) fn new(content: Bytes) -> Self {
        let mut md5 = Md5::new();
        md5.update(&content);
        let digest = md5.finalize();
        Self {
            content,
            etag: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            modified: SystemTime::now(),
        }
    }
}

impl Store {
    pub(super) fn service(self: &Arc<Self>) -> S3Service {
        let mut builder = S3ServiceBuilder::new(Front(self.clone()));
        let mut keys = SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY);
        for (key, secret) in (0..MOST_SESSIONS).map(key_pair) {
            keys.register(key, secret.into());
        }
        builder.set_auth(keys);
        builder.build()
    }

    pub(super) fn make_bucket(&self, name: &str, region: &str) {
        let bucket = Bucket {
            region: region.to_owned(),
            objects: BTreeMap::new(),
        };
        self.buckets
            .lock()
            .unwrap()
            .entry(name.to_owned())
            .or_insert(bucket);
    }

    /// Puts an object; its bucket is made where there is none.
    pub(super) fn put(&self, bucket: &str, key: &str, content: Bytes) {
        self.make_bucket(bucket, REGION);
        let mut buckets = self.buckets.lock().unwrap();
        let bucket = buckets.get_mut(bucket).expect("made above");
        bucket.objects.insert(key.to_owned(), Stored::new(content));
    }

    pub(super) fn get(&self, bucket: &str, key: &str) -> Option<Bytes> {
        let buckets = self.buckets.lock().unwrap();
        let stored = buckets.get(bucket)?.objects.get(key)?;
        Some(stored.content.clone())
    }

    /// Key and size of every object whose key starts with a prefix, in the order of keys.
    pub(super) fn list(&self, bucket: &str, prefix: &str) -> Vec<(String, u64)> {
        let buckets = self.buckets.lock().unwrap();
        let Some(bucket) = buckets.get(bucket) else {
            return Vec::new();
        };
        bucket
            .objects
            .iter()
            .filter(|(key, _)| key.starts_with(prefix))
            .map(|(key, stored)| (key.clone(), super::size(stored.content.len())))
            .collect()
    }

    pub(super) fn page_size(&self) -> usize {
        self.page.lock().unwrap().unwrap_or(1000)
    }

    pub(super) fn set_page_size(&self, keys: usize) {
        *self.page.lock().unwrap() = Some(keys);
    }

    /// The region of the bucket that a request is for, where the request was signed for another one.
    pub(super) fn other_region(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Option<String> {
        let path = uri.path().trim_start_matches('/');
        let name = path.split('/').next()?;
        let region = self.buckets.lock().unwrap().get(name)?.region.clone();
        // AKIA/20260101/us-east-1/s3/aws4_request
        let signature = headers.get("authorization")?.to_str().ok()?;
        let scope = signature.split("Credential=").nth(1)?;
        let signed = scope.split('/').nth(2)?;
        let asks_where = method == Method::GET && uri.query() == Some("location");
        (region != signed && !asks_where).then_some(region)
    }

    pub(super) fn region(&self, uri: &Uri) -> Option<String> {
        let path = uri.path().trim_start_matches('/');
        let name = path.split('/').next()?;
        Some(self.buckets.lock().unwrap().get(name)?.region.clone())
    }

    /// Does something with a bucket that is there; nothing else touches any bucket meanwhile.
    pub(super) fn with<T>(
        &self,
        bucket: &str,
        act: impl FnOnce(&mut Bucket) -> S3Result<T>,
    ) -> S3Result<T> {
        let mut buckets = self.buckets.lock().unwrap();
        let bucket = buckets
            .get_mut(bucket)
            .ok_or_else(|| s3_error!(NoSuchBucket, "The specified bucket does not exist"))?;
        act(bucket)
    }

    pub(super) fn stored(&self, bucket: &str, key: &str) -> S3Result<Stored> {
        self.with(bucket, |bucket| {
            let stored = bucket.objects.get(key).cloned();
            stored.ok_or_else(|| s3_error!(NoSuchKey, "The specified key does not exist."))
        })
    }
}
