//! S3 for a test: any bucket, keys in memory, and refusals on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, Response, StatusCode};

use crate::aws::s3_uri::{decoded, encoded};

/// Requests whose `METHOD /bucket/key?query` holds `part`.
pub(super) struct S3Refusal {
    pub(super) part: &'static str,
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// After the code, in the text of the error.
    pub(super) more: &'static str,
}

impl S3Refusal {
    pub(super) fn new(part: &'static str, status: u16, code: &'static str) -> Self {
        Self {
            part,
            status,
            code,
            headers: &[],
            more: "",
        }
    }
}

#[derive(Default)]
pub(super) struct Buckets {
    /// `bucket/key` and size.
    pub(super) objects: BTreeMap<String, u64>,
    /// `METHOD /bucket/key?query`, and headers of interest.
    pub(super) requests: Vec<String>,
    pub(super) refusals: Vec<S3Refusal>,
    /// Keys that a DeleteObjects keeps.
    pub(super) kept: Vec<String>,
    /// Keys on a page.
    pub(super) page: usize,
}

pub(super) struct FakeS3 {
    buckets: Arc<Mutex<Buckets>>,
    pub(super) client: Client,
}

impl FakeS3 {
    pub(super) async fn with(objects: &[(&str, u64)]) -> Self {
        let buckets = Arc::new(Mutex::new(Buckets {
            objects: objects
                .iter()
                .map(|(key, bytes)| ((*key).to_owned(), *bytes))
                .collect(),
            page: 2,
            ..Buckets::default()
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&buckets));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .retry_config(RetryConfig::disabled())
            .endpoint_url(endpoint)
            .force_path_style(true)
            .build();
        Self {
            buckets,
            client: Client::from_conf(config),
        }
    }

    pub(super) fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap()
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.buckets().objects.keys().cloned().collect()
    }
}

async fn answer(State(buckets): State<Arc<Mutex<Buckets>>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let path = decoded(&parts.uri.path().replace('+', "%2B")).unwrap();
    let query = parts.uri.query().unwrap_or_default();
    let header = |name: &str| {
        let value = parts.headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    let mut line = format!("{} {path}?{query}", parts.method);
    for name in [
        "x-amz-copy-source",
        "x-amz-server-side-encryption-aws-kms-key-id",
        "content-type",
    ] {
        if let Some(value) = header(name) {
            write!(line, " {name}={value}").unwrap();
        }
    }
    let mut buckets = buckets.lock().unwrap();
    buckets.requests.push(line.clone());
    if let Some(refusal) = (buckets.refusals.iter()).find(|one| line.contains(one.part)) {
        let text = format!(
            "<Error><Code>{}</Code><Message>no</Message>{}</Error>",
            refusal.code, refusal.more
        );
        let mut response = xml(refusal.status, text);
        for (name, value) in refusal.headers {
            response.headers_mut().insert(*name, value.parse().unwrap());
        }
        return response;
    }
    let name = path.trim_start_matches('/').to_owned();
    match parts.method {
        Method::GET => list(&buckets, &name, query),
        Method::HEAD if buckets.objects.contains_key(&name) => xml(200, String::new()),
        Method::HEAD => xml(404, String::new()),
        Method::PUT => match header("x-amz-copy-source") {
            Some(source) => match buckets.objects.get(&decoded(&source).unwrap()).copied() {
                Some(bytes) => {
                    buckets.objects.insert(name, bytes);
                    xml(200, "<CopyObjectResult/>".to_owned())
                }
                None => xml(404, "<Error><Code>NoSuchKey</Code></Error>".to_owned()),
            },
            None => {
                buckets.objects.insert(name, body.len() as u64);
                xml(200, String::new())
            }
        },
        Method::POST => {
            let text = str::from_utf8(&body).unwrap();
            let bucket = name.trim_end_matches('/').to_owned();
            let mut errors = String::new();
            for part in text.split("<Key>").skip(1) {
                let key = part.split_once("</Key>").unwrap().0;
                if buckets.kept.iter().any(|kept| kept == key) {
                    write!(
                        errors,
                        "<Error><Key>{key}</Key><Code>AccessDenied</Code></Error>"
                    )
                    .unwrap();
                } else {
                    buckets.objects.remove(&format!("{bucket}/{key}"));
                }
            }
            xml(200, format!("<DeleteResult>{errors}</DeleteResult>"))
        }
        Method::DELETE => {
            buckets.objects.remove(&name);
            xml(204, String::new())
        }
        _ => xml(400, String::new()),
    }
}

/// A page of a bucket, keys encoded as S3 does it.
fn list(buckets: &Buckets, bucket: &str, query: &str) -> Response<Body> {
    let parameter = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(key, _)| *key == name)?;
        decoded(value)
    };
    assert_eq!(parameter("encoding-type").as_deref(), Some("url"));
    let bucket = bucket.trim_end_matches('/');
    let prefix = parameter("prefix").unwrap_or_default();
    let token = parameter("continuation-token").map(|token| decoded(&token).unwrap());
    let after = token.or_else(|| parameter("start-after"));
    let after = after.unwrap_or_default();
    if parameter("delimiter").is_some() {
        return folders(buckets, bucket, &prefix, &after);
    }
    let mut found = buckets
        .objects
        .iter()
        .filter_map(|(name, bytes)| Some((name.strip_prefix(bucket)?.strip_prefix('/')?, bytes)))
        .filter(|(key, _)| key.starts_with(&prefix) && *key > after.as_str())
        .peekable();
    let mut text = "<ListBucketResult><EncodingType>url</EncodingType>".to_owned();
    let mut last = String::new();
    for (key, bytes) in found.by_ref().take(buckets.page) {
        let key_text = encoded(key).replace("%20", "+");
        write!(
            text,
            "<Contents><Key>{key_text}</Key><Size>{bytes}</Size><ETag>\"{bytes}\"</ETag></Contents>"
        )
        .unwrap();
        key.clone_into(&mut last);
    }
    let more = found.peek().is_some();
    write!(
        text,
        "<IsTruncated>{more}</IsTruncated><NextContinuationToken>{}</NextContinuationToken></ListBucketResult>",
        if more { encoded(&last) } else { String::new() }
    )
    .unwrap();
    xml(200, text)
}

/// The folders of a folder after a key, all on one page, without its own objects.
fn folders(buckets: &Buckets, bucket: &str, prefix: &str, after: &str) -> Response<Body> {
    let keys = (buckets.objects.keys())
        .filter_map(|name| name.strip_prefix(bucket)?.strip_prefix('/'))
        .filter_map(|key| Some(key.strip_prefix(prefix)?.split_once('/')?.0));
    let folders: BTreeSet<String> = keys.map(|name| format!("{prefix}{name}/")).collect();
    let mut text = "<ListBucketResult><EncodingType>url</EncodingType>".to_owned();
    for folder in folders.iter().filter(|folder| folder.as_str() > after) {
        let folder = encoded(folder).replace("%20", "+");
        write!(
            text,
            "<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"
        )
        .unwrap();
    }
    text.push_str("<IsTruncated>false</IsTruncated></ListBucketResult>");
    xml(200, text)
}

fn xml(status: u16, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}
