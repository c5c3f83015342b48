//! What lies in a channel on S3: every object whose key begins as its uri says, as SageMaker takes them.
//!
//! A prefix is not a folder: `s3://bucket/train` also matches `train-old/part-0`. SageMaker would read that too, so where
//! both are there the listing ends with an error that says what to write, and no other data than was meant is measured.

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::types::{EncodingType, Object};

use crate::aws::s3_error::{Request, User};
use crate::aws::s3_uri::{LONGEST_KEY, S3Uri, decoded, shown};
use crate::backend::BackendError;
use crate::canary::{Objects, ObjectsBuilder};
use crate::spec::{Channel, DataType, InputMode};
use std::collections::BTreeSet;

use crate::units::Bytes;

use super::named_keys::{self, NamedKeys};

/// So many `ETags` are kept; more objects are never read in part.
const MOST_TAGS: usize = 256;
/// S3 may give pages without keys, but not for ever.
const MOST_EMPTY_PAGES: u32 = 1000;

/// The objects of a channel, and what their keys are below.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedChannel {
    /// The folder that all keys share: whole keys are this and the object's own, one after the other.
    pub base: S3Uri,
    pub objects: Objects,
    /// The `ETag` of each of the first objects, empty where the store gives none.
    pub tags: Vec<String>,
}

/// Lists a channel on S3, page by page; holds one page and the keys in their compact form.
///
/// `field` is where the spec names the channel. Fails where nothing is there, where the uri says less than was meant, and
/// where S3 refuses; throttling is left to the client's retries.
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
    let mut pages = Pages::of(&uri, &field, channel.mode, named);
    let mut token = None;
    loop {
        let page = s3
            .list_objects_v2()
            .bucket(&uri.bucket)
            .prefix(&uri.key)
            .encoding_type(EncodingType::Url)
            .set_continuation_token(token.take())
            .send()
            .await
            .map_err(|error| request.refused(&error))?;
        token = pages.take(&page)?;
        if token.is_none() {
            return pages.finish();
        }
    }
}

/// How a key lies to the prefix it was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kinship {
    /// The prefix is the key: `s3://bucket/data.csv`.
    Itself,
    /// The prefix is a folder, and the key in it.
    Inside,
    /// The prefix ends within a name, and the name goes on.
    Beside,
}

/// Takes in the pages of a listing.
struct Pages<'a> {
    uri: &'a S3Uri,
    field: &'a str,
    mode: InputMode,
    /// Below the uri, those of a manifest that were not listed yet; absent: all keys count.
    named: Option<BTreeSet<String>>,
    objects: ObjectsBuilder,
    tags: Vec<String>,
    /// Of the first object, which all others must share; with its key, for whoever reads that one does not.
    kinship: Option<(Kinship, String)>,
    last_key: Option<String>,
    token: Option<String>,
    empty_pages: u32,
}

impl<'a> Pages<'a> {
    fn of(
        uri: &'a S3Uri,
        field: &'a str,
        mode: InputMode,
        named: Option<BTreeSet<String>>,
    ) -> Self {
        Self {
            uri,
            field,
            mode,
            named,
            objects: ObjectsBuilder::default(),
            tags: Vec::new(),
            kinship: None,
            last_key: None,
            token: None,
            empty_pages: 0,
        }
    }

    /// Gives what to ask for the next page with; `None` after the last.
    fn take(&mut self, page: &ListObjectsV2Output) -> Result<Option<String>, BackendError> {
        // An endpoint that does not know of encoding says so by not naming it.
        let is_encoded = page.encoding_type() == Some(&EncodingType::Url);
        for object in page.contents() {
            let written = object.key().unwrap_or_default();
            if is_encoded {
                let key = decoded(written);
                let key = key.ok_or_else(|| self.nonsense("a key that is not text"))?;
                self.object(key, object)?;
            } else {
                self.object(written.to_owned(), object)?;
            }
        }
        if !page.is_truncated().unwrap_or(false) {
            return Ok(None);
        }
        let next = page.next_continuation_token().unwrap_or_default();
        if next.is_empty() {
            return Err(self.nonsense("more keys without a token to get them by"));
        }
        if self.token.as_deref() == Some(next) {
            return Err(self.nonsense("the same page again"));
        }
        self.empty_pages = match page.contents() {
            [] => self.empty_pages + 1,
            _ => 0,
        };
        if self.empty_pages > MOST_EMPTY_PAGES {
            return Err(self.nonsense("page after page without keys"));
        }
        self.token = Some(next.to_owned());
        Ok(self.token.clone())
    }

    fn object(&mut self, key: String, object: &Object) -> Result<(), BackendError> {
        // A page that came twice is not sorted either, so whatever the tokens say, a listing ends.
        if self.last_key.as_ref().is_some_and(|last| *last >= key) {
            return Err(
                self.nonsense("keys that are not sorted, which S3 does only for directory buckets")
            );
        }
        if !key.starts_with(&self.uri.key) || key.is_empty() || key.len() > LONGEST_KEY {
            return Err(self.nonsense("a key that was not asked for"));
        }
        let Ok(bytes) = u64::try_from(object.size().unwrap_or(0)) else {
            return Err(self.nonsense("an object of negative size"));
        };
        // What a console makes to show an empty folder is no data.
        let is_marker = key.ends_with('/') && bytes == 0;
        let is_named = match &mut self.named {
            Some(named) => named.remove(&key[self.uri.key.len()..]),
            None => true,
        };
        if !is_marker && is_named {
            let base = self.base_of(&key)?;
            let tag = object.e_tag().unwrap_or_default();
            let name = &key[base..];
            if self.tags.len() < MOST_TAGS {
                self.tags.push(tag.to_owned());
            }
            let pushed = match tag {
                "" => self.objects.push(name, Bytes(bytes)),
                tag => self.objects.push_tagged(name, Bytes(bytes), tag),
            };
            pushed.map_err(|too_many| {
                BackendError::new(
                    format!("{}: {too_many} in {}", self.field, self.shown()),
                    "pack the data into fewer and larger objects, or name a smaller prefix",
                )
            })?;
        }
        self.last_key = Some(key);
        Ok(())
    }

    /// How much of a key is that of the folder all keys are below. Fails where the prefix catches what was hardly meant.
    fn base_of(&mut self, key: &str) -> Result<usize, BackendError> {
        let prefix = self.uri.key.as_str();
        let kinship = match &key[prefix.len()..] {
            _ if prefix.is_empty() || prefix.ends_with('/') => Kinship::Inside,
            "" => Kinship::Itself,
            rest if rest.starts_with('/') => Kinship::Inside,
            _ => Kinship::Beside,
        };
        match &self.kinship {
            None => self.kinship = Some((kinship, key.to_owned())),
            Some((first, first_key)) if *first != kinship => {
                return Err(self.ambiguous((*first, first_key), (kinship, key)));
            }
            Some(_) => {}
        }
        if kinship == Kinship::Beside && self.mode == InputMode::FastFile {
            return Err(BackendError::new(
                format!(
                    "{}: `{}` ends within a name (`{}`), and FastFile mode serves whole folders only",
                    self.field,
                    self.shown(),
                    shown(key)
                ),
                "name the folder and end it with `/`, or use `mode: File`",
            ));
        }
        Ok(match kinship {
            Kinship::Inside if prefix.is_empty() || prefix.ends_with('/') => prefix.len(),
            Kinship::Inside => prefix.len() + 1,
            Kinship::Itself | Kinship::Beside => prefix.rfind('/').map_or(0, |slash| slash + 1),
        })
    }

    /// Two keys that the prefix catches, of which hardly both were meant.
    fn ambiguous(&self, one: (Kinship, &str), other: (Kinship, &str)) -> BackendError {
        let (stranger, help) = if one.0 == Kinship::Inside {
            (other.1, format!("end it with `/`: `{}/`", self.shown()))
        } else if other.0 == Kinship::Inside {
            (one.1, format!("end it with `/`: `{}/`", self.shown()))
        } else {
            (
                other.1,
                "give the data a folder of its own and end the uri with `/`: SageMaker takes every key that begins so"
                    .to_owned(),
            )
        };
        BackendError::new(
            format!(
                "{}: `{}` also matches `{}`",
                self.field,
                self.shown(),
                shown(stranger)
            ),
            help,
        )
    }

    fn finish(self) -> Result<ListedChannel, BackendError> {
        let prefix = &self.uri.key;
        if let Some(missing) = self.named.as_ref().filter(|missing| !missing.is_empty()) {
            return Err(named_keys::missing(self.field, self.uri, missing));
        }
        let Some((kinship, _)) = self.kinship else {
            return Err(BackendError::new(
                format!("{}: there are no objects in {}", self.field, self.shown()),
                "check the prefix with `aws s3 ls`; it is case-sensitive and does not begin with `/`",
            ));
        };
        let base = match (kinship, prefix.rfind('/')) {
            (Kinship::Inside, _) => self.uri.below("").key,
            (_, Some(slash)) => prefix[..=slash].to_owned(),
            (_, None) => String::new(),
        };
        Ok(ListedChannel {
            base: S3Uri {
                bucket: self.uri.bucket.clone(),
                key: base,
            },
            objects: self.objects.finish(),
            tags: self.tags,
        })
    }

    fn shown(&self) -> String {
        shown(&self.uri.to_string())
    }

    /// An endpoint that is broken, or that does not serve S3.
    fn nonsense(&self, what: &str) -> BackendError {
        BackendError::new(
            format!("{}: S3 listed {what} in {}", self.field, self.shown()),
            "if AWS_ENDPOINT_URL or AWS_ENDPOINT_URL_S3 is set, check what answers there; directory buckets cannot be listed",
        )
    }
}

#[cfg(test)]
mod tests;
