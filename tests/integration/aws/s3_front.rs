//! S3 on the wire: the operations of `s3s` on the objects in memory.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Bytes;
use s3s::dto::{
    CommonPrefix, CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource,
    DeleteObjectInput, DeleteObjectOutput, ETag, ETagCondition, EncodingType, GetObjectInput,
    GetObjectOutput, HeadObjectInput, HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output,
    Object, PutObjectInput, PutObjectOutput, StreamingBlob, Timestamp,
};
use s3s::{Body, S3, S3Error, S3Request, S3Response, S3Result, s3_error};

use super::s3::{Bucket, Store, Stored};

/// The store as `s3s` wants it.
pub(super) struct Front(pub(super) Arc<Store>);

type Answer<'a, T> = Pin<Box<dyn Future<Output = S3Result<S3Response<T>>> + Send + 'a>>;

/// What `async_trait` makes of an async method, since the crate is no dependency of ours.
macro_rules! operations {
    ($($name:ident($self:ident, $request:ident: $input:ty) -> $output:ty $body:block)+) => {
        impl S3 for Front {
            $(
                fn $name<'life, 'made>(&'life $self, $request: S3Request<$input>) -> Answer<'made, $output>
                where
                    'life: 'made,
                    Self: 'made,
                {
                    Box::pin(async move {
                        let output: S3Result<$output> = async move { $body }.await;
                        output.map(S3Response::new)
                    })
                }
            )+
        }
    };
}

operations! {
    list_objects_v2(self, request: ListObjectsV2Input) -> ListObjectsV2Output {
        let most = self.0.page_size();
        self.0.with(&request.input.bucket, |bucket| Ok(listing(bucket, &request.input, most)))
    }

    get_object(self, request: GetObjectInput) -> GetObjectOutput {
        let stored = self.0.stored(&request.input.bucket, &request.input.key)?;
        condition(Some(&stored), request.input.if_match.as_ref(), request.input.if_none_match.as_ref())?;
        let whole = super::size(stored.content.len());
        let (content, content_range) = match request.input.range {
            None => (stored.content.clone(), None),
            Some(range) => {
                let range = range.check(whole).map_err(S3Error::from)?;
                let index = |position: u64| usize::try_from(position).expect("not above a length");
                let said = format!("bytes {}-{}/{whole}", range.start, range.end - 1);
                (stored.content.slice(index(range.start)..index(range.end)), Some(said))
            }
        };
        Ok(GetObjectOutput {
            content_length: length(&content),
            body: Some(StreamingBlob::from(Body::from(content))),
            content_range,
            e_tag: Some(ETag::Strong(stored.etag)),
            last_modified: Some(Timestamp::from(stored.modified)),
            ..Default::default()
        })
    }

    head_object(self, request: HeadObjectInput) -> HeadObjectOutput {
        let stored = self.0.stored(&request.input.bucket, &request.input.key)?;
        Ok(HeadObjectOutput {
            content_length: length(&stored.content),
            e_tag: Some(ETag::Strong(stored.etag)),
            last_modified: Some(Timestamp::from(stored.modified)),
            ..Default::default()
        })
    }

    put_object(self, request: PutObjectInput) -> PutObjectOutput {
        let input = request.input;
        let content = read_whole(input.body).await?;
        let stored = Stored::new(content);
        let etag = stored.etag.clone();
        self.0.with(&input.bucket, |bucket| {
            let present = bucket.objects.get(&input.key);
            condition(present, input.if_match.as_ref(), input.if_none_match.as_ref())?;
            bucket.objects.insert(input.key, stored);
            Ok(())
        })?;
        Ok(PutObjectOutput { e_tag: Some(ETag::Strong(etag)), ..Default::default() })
    }

    copy_object(self, request: CopyObjectInput) -> CopyObjectOutput {
        let input = request.input;
        let CopySource::Bucket { bucket, key, .. } = &input.copy_source else {
            return Err(s3_error!(NotImplemented));
        };
        let mut stored = self.0.stored(bucket, key)?;
        stored.modified = SystemTime::now();
        let result = CopyObjectResult {
            e_tag: Some(ETag::Strong(stored.etag.clone())),
            last_modified: Some(Timestamp::from(stored.modified)),
            ..Default::default()
        };
        self.0.with(&input.bucket, |bucket| {
            bucket.objects.insert(input.key, stored);
            Ok(())
        })?;
        Ok(CopyObjectOutput { copy_object_result: Some(result), ..Default::default() })
    }

    delete_object(self, request: DeleteObjectInput) -> DeleteObjectOutput {
        self.0.with(&request.input.bucket, |bucket| {
            bucket.objects.remove(&request.input.key);
            Ok(DeleteObjectOutput::default())
        })
    }
}

/// s3s compares the signed hash while the body is read.
async fn read_whole(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let mut body = Body::from(body.ok_or_else(|| s3_error!(IncompleteBody))?);
    body.store_all_limited(usize::MAX)
        .await
        .map_err(|error| s3_error!(BadDigest, "{error}"))
}

fn length(content: &Bytes) -> Option<i64> {
    i64::try_from(content.len()).ok()
}

/// If-Match and If-None-Match against what is there.
fn condition(
    present: Option<&Stored>,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<()> {
    let is = |condition: &ETagCondition| {
        present.is_some_and(|stored| match condition {
            ETagCondition::Any => true,
            ETagCondition::ETag(etag) => etag.strong_cmp(&ETag::Strong(stored.etag.clone())),
        })
    };
    if if_match.is_some_and(|wanted| !is(wanted)) || if_none_match.is_some_and(is) {
        return Err(s3_error!(
            PreconditionFailed,
            "At least one of the pre-conditions you specified did not hold"
        ));
    }
    Ok(())
}

/// A token is opaque, and can be written in XML whatever the key is.
fn to_token(key: &str) -> String {
    key.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn from_token(token: &str) -> String {
    let digits: Vec<char> = token.chars().collect();
    let bytes = digits.chunks(2).filter_map(|pair| {
        let pair: String = pair.iter().collect();
        u8::from_str_radix(&pair, 16).ok()
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

/// A page of keys and common prefixes; the token is the last one shown.
fn listing(bucket: &Bucket, input: &ListObjectsV2Input, most: usize) -> ListObjectsV2Output {
    let prefix = input.prefix.as_deref().unwrap_or_default();
    let asked = input.max_keys.and_then(|keys| usize::try_from(keys).ok());
    let limit = asked.unwrap_or(1000).min(most);
    let token = input.continuation_token.as_deref().map(from_token);
    let after = token.as_deref().or(input.start_after.as_deref());
    let written = |key: &str| match &input.encoding_type {
        Some(kind) if kind.as_str() == EncodingType::URL => url_encoded(key),
        _ => key.to_owned(),
    };
    let mut contents = Vec::new();
    let mut common: Vec<CommonPrefix> = Vec::new();
    let mut last: Option<String> = None;
    let mut is_truncated = false;
    let start = after.unwrap_or_default().max(prefix);
    for (key, stored) in bucket.objects.range(start.to_owned()..) {
        if !key.starts_with(prefix) {
            break;
        }
        let delimiter = input.delimiter.as_deref().filter(|text| !text.is_empty());
        let group = delimiter.and_then(|delimiter| {
            let rest = &key[prefix.len()..];
            let end = rest.find(delimiter)? + delimiter.len();
            Some(key[..prefix.len() + end].to_owned())
        });
        let shown = group.as_deref().unwrap_or(key);
        let is_known = last.as_deref() == Some(shown) && group.is_some();
        if after.is_some_and(|after| shown <= after) || is_known {
            continue;
        }
        if contents.len() + common.len() >= limit {
            is_truncated = true;
            break;
        }
        last = Some(shown.to_owned());
        if group.is_some() {
            common.push(CommonPrefix {
                prefix: Some(written(shown)),
            });
        } else {
            contents.push(Object {
                key: Some(written(key)),
                size: length(&stored.content),
                e_tag: Some(ETag::Strong(stored.etag.clone())),
                last_modified: Some(Timestamp::from(stored.modified)),
                ..Default::default()
            });
        }
    }
    ListObjectsV2Output {
        name: Some(input.bucket.clone()),
        prefix: input.prefix.clone(),
        delimiter: input.delimiter.clone(),
        encoding_type: input.encoding_type.clone(),
        max_keys: input.max_keys.or(Some(1000)),
        key_count: i32::try_from(contents.len() + common.len()).ok(),
        continuation_token: input.continuation_token.clone(),
        next_continuation_token: last.filter(|_| is_truncated).map(|key| to_token(&key)),
        is_truncated: Some(is_truncated),
        contents: Some(contents),
        common_prefixes: Some(common),
        ..Default::default()
    }
}

fn url_encoded(key: &str) -> String {
    let mut text = String::new();
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
