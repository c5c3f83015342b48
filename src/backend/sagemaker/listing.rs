//! What lies in a channel on S3: every object whose key begins as its uri says, as SageMaker takes them.
//!
//! A prefix is not a folder: `s3://bucket/train` also matches `train-old/part-0`. SageMaker would read that too, so where
//! both are there the listing ends with an error that says what to write, and no other data than was meant is measured.

mod keys_in_order;

pub use keys_in_order::ListedChannel;

use std::collections::BTreeSet;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::list_objects_v2::builders::ListObjectsV2FluentBuilder;
use aws_sdk_s3::operation::list_objects_v2::{ListObjectsV2Error, ListObjectsV2Output};
use aws_sdk_s3::types::EncodingType;
use futures_util::future::try_join_all;
use futures_util::{StreamExt, stream};

use super::named_keys::NamedKeys;
use crate::aws::s3_error::Request;
use crate::aws::s3_uri::{LONGEST_KEY, S3Uri, decoded, shown};
use crate::backend::BackendError;
use crate::spec::{Channel, DataType};
use crate::units::Bytes;
use keys_in_order::{KeysInOrder, ListedPlace};

/// Pages that are asked for one after the other before folders are listed side by side: a small listing takes few requests.
const PAGES_ALONE: usize = 8;
/// Folders at once. A prefix serves 5,500 requests a second; what is gained beyond is less than what a page takes to be read.
const AT_ONCE: usize = 16;
/// Parts that the rest is cut into, at folders.
const MOST_RANGES: usize = 64;
/// Levels of folders that are looked at until there are as many as may be listed at once.
const DEEPEST: usize = 4;
/// S3 may give pages without keys, but not for ever.
const MOST_EMPTY_PAGES: u32 = 1000;

/// Lists a channel on S3: some pages one after the other, then its folders side by side, which it holds until their turn.
///
/// `field` is where the spec names the channel. Fails where nothing is there, where the uri says less than was meant, and
/// where S3 refuses; throttling is left to the client's retries, and answered by one request at a time.
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
    let request = Request::of_jobs(s3, &field, &uri, "list", &permissions);
    let place = ListedPlace {
        uri: &uri,
        field: &field,
    };
    let lister = Lister { s3, place };
    let refused = |error: ListingError| match error {
        ListingError::Refused(error) => request.refused(&error).into(),
        ListingError::Nonsense(error) => error,
    };
    let mut keys = KeysInOrder::of(place, channel.mode, named);
    let mut walk = Walk::default();
    let mut goes_on = lister
        .walk(&mut walk, PAGES_ALONE, &mut |object| keys.object(object))
        .await;
    if matches!(goes_on, Ok(true)) {
        let points = lister.folders_after(&walk.last).await;
        let ranges = ranges(&walk.last, &points).into_iter();
        let mut listed = stream::iter(ranges.map(|range| lister.whole(range))).buffered(AT_ONCE);
        goes_on = Ok(points.is_empty());
        while let Some(of_range) = listed.next().await {
            match of_range {
                Ok(objects) => objects
                    .into_iter()
                    .try_for_each(|object| keys.object(object))?,
                Err(ListingError::Refused(error)) if is_throttled(error.code()) => {
                    goes_on = Ok(true);
                    break;
                }
                Err(error) => return Err(refused(error)),
            }
        }
    }
    if goes_on.map_err(refused)? {
        let mut rest = Walk::after(keys.last());
        let rest = lister
            .walk(&mut rest, usize::MAX, &mut |object| keys.object(object))
            .await;
        rest.map_err(refused)?;
    }
    keys.finish()
}

/// An object as it is listed.
struct Listed {
    key: String,
    bytes: Bytes,
    /// Empty where the store gives none.
    tag: String,
}

/// Why a listing stopped.
enum ListingError {
    Refused(Box<SdkError<ListObjectsV2Error>>),
    /// It was read, and is no listing, or not of what was meant.
    Nonsense(BackendError),
}

/// Keys after one text, up to another and that one too; pages are taken one after the other.
#[derive(Debug, Default)]
struct Walk {
    /// The last key, at first where the range begins; empty: at the first key.
    last: String,
    until: Option<String>,
    token: Option<String>,
    empty_pages: u32,
}

impl Walk {
    fn after(last: &str) -> Self {
        Self {
            last: last.to_owned(),
            ..Self::default()
        }
    }

    /// Takes in a page, and says whether more are to come.
    fn take(
        &mut self,
        page: &ListObjectsV2Output,
        place: ListedPlace<'_>,
        visit: &mut impl FnMut(Listed) -> Result<(), BackendError>,
    ) -> Result<bool, BackendError> {
        // An endpoint that does not know of encoding says so by not naming it.
        let is_encoded = page.encoding_type() == Some(&EncodingType::Url);
        for object in page.contents() {
            let written = object.key().unwrap_or_default();
            let key = match is_encoded {
                true => decoded(written).ok_or_else(|| place.nonsense("a key that is not text"))?,
                false => written.to_owned(),
            };
            let Ok(bytes) = u64::try_from(object.size().unwrap_or(0)) else {
                return Err(place.nonsense("an object of negative size"));
            };
            if self.until.as_ref().is_some_and(|until| key > *until) {
                return Ok(false);
            }
            if key <= self.last && !self.last.is_empty() {
                return Err(place.unsorted());
            }
            self.last.clone_from(&key);
            visit(Listed {
                key,
                bytes: Bytes(bytes),
                tag: object.e_tag().unwrap_or_default().to_owned(),
            })?;
        }
        if !page.is_truncated().unwrap_or(false) {
            return Ok(false);
        }
        let next = page.next_continuation_token().unwrap_or_default();
        if next.is_empty() {
            return Err(place.nonsense("more keys without a token to get them by"));
        }
        if self.token.as_deref() == Some(next) {
            return Err(place.nonsense("the same page again"));
        }
        self.empty_pages = match page.contents() {
            [] => self.empty_pages + 1,
            _ => 0,
        };
        if self.empty_pages > MOST_EMPTY_PAGES {
            return Err(place.nonsense("page after page without keys"));
        }
        self.token = Some(next.to_owned());
        Ok(true)
    }
}

/// What asks S3.
#[derive(Clone, Copy)]
struct Lister<'a> {
    s3: &'a Client,
    place: ListedPlace<'a>,
}

impl Lister<'_> {
    fn asking(&self) -> ListObjectsV2FluentBuilder {
        let call = self.s3.list_objects_v2().bucket(&self.place.uri.bucket);
        call.encoding_type(EncodingType::Url)
    }

    /// Takes in at most so many pages, and says whether more are to come.
    async fn walk(
        &self,
        walk: &mut Walk,
        most: usize,
        visit: &mut impl FnMut(Listed) -> Result<(), BackendError>,
    ) -> Result<bool, ListingError> {
        for _ in 0..most {
            let after = (walk.token.is_none() && !walk.last.is_empty()).then(|| walk.last.clone());
            let call = self.asking().prefix(&self.place.uri.key);
            let call = call
                .set_start_after(after)
                .set_continuation_token(walk.token.clone());
            let page = call
                .send()
                .await
                .map_err(|error| ListingError::Refused(Box::new(error)))?;
            if !walk
                .take(&page, self.place, visit)
                .map_err(ListingError::Nonsense)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn whole(self, mut range: Walk) -> Result<Vec<Listed>, ListingError> {
        let mut objects = Vec::new();
        let mut keep = |object| {
            objects.push(object);
            Ok(())
        };
        self.walk(&mut range, usize::MAX, &mut keep).await?;
        Ok(objects)
    }

    /// Folders that begin after a key, level by level; none where S3 does not show them, as a policy may that allows some prefixes only.
    async fn folders_after(&self, key: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut level = vec![self.place.uri.key.clone()];
        for _ in 0..DEEPEST {
            let asked = level.iter().map(|folder| self.folders_of(folder, key));
            let Ok(below) = try_join_all(asked).await else {
                break;
            };
            level = below.concat();
            found.extend(level.iter().filter(|folder| folder.as_str() > key).cloned());
            if level.is_empty() || found.len() >= AT_ONCE {
                break;
            }
        }
        found
    }

    /// The folders of a folder, after a key; of very many the first thousand.
    async fn folders_of(
        &self,
        folder: &str,
        after: &str,
    ) -> Result<Vec<String>, Box<SdkError<ListObjectsV2Error>>> {
        let call = self
            .asking()
            .prefix(folder)
            .delimiter("/")
            .start_after(after);
        let answer = call.send().await.map_err(Box::new)?;
        let is_encoded = answer.encoding_type() == Some(&EncodingType::Url);
        let folders = answer.common_prefixes().iter().filter_map(|one| {
            let written = one.prefix().unwrap_or_default();
            match is_encoded {
                true => decoded(written),
                false => Some(written.to_owned()),
            }
        });
        let is_inside =
            |one: &String| one.starts_with(folder) && one != folder && one.len() <= LONGEST_KEY;
        Ok(folders.filter(is_inside).collect())
    }
}

/// What lies after a key, cut at some of the folders; nothing where there are none. No key is missed or doubled wherever it is cut.
fn ranges(last: &str, folders: &BTreeSet<String>) -> Vec<Walk> {
    let each = folders.len().div_ceil(MOST_RANGES).max(1);
    let mut ranges: Vec<Walk> = Vec::new();
    for point in folders.iter().step_by(each) {
        let begins = ranges.last().and_then(|range| range.until.clone());
        ranges.push(Walk {
            until: Some(point.clone()),
            ..Walk::after(begins.as_deref().unwrap_or(last))
        });
    }
    if let Some(end) = ranges.last().and_then(|range| range.until.clone()) {
        ranges.push(Walk::after(&end));
    }
    ranges
}

/// S3's words for too many requests.
fn is_throttled(code: Option<&str>) -> bool {
    matches!(code, Some("SlowDown" | "ServiceUnavailable"))
}

#[cfg(test)]
mod tests;
