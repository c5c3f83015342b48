//! What lies in a channel on S3: every object whose key begins as its uri says, as SageMaker takes them.
//!
//! A prefix is not a folder: `s3://bucket/train` also matches `train-old/part-0`. SageMaker would read that too, so where
//! both are there the listing ends with an error that says what to write, and no other data than was meant is measured.

mod key_ranges;
mod keys_in_order;
mod packed_page;
mod split_points;

pub use keys_in_order::ListedChannel;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::types::EncodingType;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::named_keys::NamedKeys;
use crate::aws::s3_error::{Request, User};
use crate::aws::s3_uri::{S3Uri, shown};
use crate::backend::BackendError;
use crate::spec::{Channel, DataType};
use key_ranges::{Ask, KeyRanges};
use keys_in_order::KeysInOrder;

/// Lists a channel on S3; holds some pages and the keys in their compact form. What is more than a page is asked for side by
/// side.
///
/// `field` is where the spec names the channel. Fails where nothing is there, where the uri says less than was meant, and
/// where S3 refuses; throttling is left to the client's retries, and answered by fewer requests at once.
pub async fn list(
    s3: &Client,
    field: &str,
    channel: &Channel,
) -> Result<ListedChannel, BackendError> {
    let field = format!("{field}.uri");
    let uri = S3Uri::read(&channel.uri, &field)?;
    let (uri, named) = match channel.data_type {
        DataType::Manifest => {
            let manifest = NamedKeys::read(s3, &field, &uri).await?;
            (manifest.prefix, Some(manifest.keys))
        }
        DataType::Prefix | DataType::AugmentedManifest => (uri, None),
    };
    let permissions = format!(
        "s3:ListBucket on arn:aws:s3:::{} with the prefix `{}`",
        shown(&uri.bucket),
        shown(&uri.key)
    );
    let region = s3.config().region().map(ToString::to_string);
    let request = Request {
        field: &field,
        place: &uri,
        doing: "list",
        permissions: &permissions,
        region: region.as_deref(),
        user: User::TrainingJobs,
    };
    let keys = KeysInOrder::of(&uri, &field, channel.mode, named);
    let mut ranges = KeyRanges::of(keys);
    let mut requests = FuturesUnordered::new();
    loop {
        while let Some(ask) = ranges.next() {
            let call = s3
                .list_objects_v2()
                .bucket(&uri.bucket)
                .encoding_type(EncodingType::Url);
            let call = match &ask {
                Ask::Page { after, token, .. } => call
                    .prefix(&uri.key)
                    .set_start_after(after.clone())
                    .set_continuation_token(token.clone()),
                Ask::Folders { folder, after } => {
                    call.prefix(folder).delimiter("/").start_after(after)
                }
            };
            requests.push(async move { (ask, call.send().await) });
        }
        let Some((ask, answer)) = requests.next().await else {
            return ranges.finish();
        };
        match answer {
            Ok(answer) => ranges.take(&ask, &answer)?,
            Err(error) if is_throttled(error.code()) && ranges.slow_down(&ask) => {}
            Err(_) if matches!(ask, Ask::Folders { .. }) => ranges.give_up_looking(),
            Err(error) => return Err(request.refused(&error).into()),
        }
    }
}

/// S3's words for too many requests.
fn is_throttled(code: Option<&str>) -> bool {
    matches!(code, Some("SlowDown" | "ServiceUnavailable"))
}

#[cfg(test)]
mod tests;
