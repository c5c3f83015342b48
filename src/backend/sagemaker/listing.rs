//! What lies in a channel on S3: every object whose key begins as its uri says, as SageMaker takes them.
//!
//! A prefix is not a folder: `s3://bucket/train` also matches `train-old/part-0`. SageMaker would read that too, so where
//! both are there the listing ends with an error that says what to write, and no other data than was meant is measured.

use std::collections::BTreeSet;

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use futures_util::future::try_join_all;
use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};

use super::named_keys;
use crate::aws::s3::{Request, key_of};
use crate::aws::s3_uri::{LONGEST_KEY, S3Uri, shown};
use crate::canary::{DataObject, Objects};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::{Channel, DataType, InputMode};
use crate::units::Bytes;

/// S3 may give pages without keys, but not for ever.
const MOST_EMPTY_PAGES: u32 = 1000;
/// Pages that are asked for one after the other before folders are listed side by side: a small listing takes few requests.
const PAGES_ALONE: usize = 8;
/// Folders at once. A prefix serves 5,500 requests a second; what is gained beyond is less than what a page takes to be read.
const AT_ONCE: usize = 16;
/// Parts that the rest is cut into, at folders.
const MOST_RANGES: usize = 64;
/// Levels of folders that are looked at until there are as many as may be listed at once.
const DEEPEST: usize = 4;
/// The number of `ETags` that are kept: no more objects than these are ever read in part.
const MOST_TAGS: usize = 256;

/// The objects of a channel, and what their keys are below.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedChannel {
    /// The folder that all keys share: whole keys are this and the object's own, one after the other.
    pub base: S3Uri,
    pub objects: Objects,
    /// The `ETag` of each of the first objects, empty where the store gives none.
    pub tags: Vec<String>,
}

/// Lists a channel on S3: some pages one after the other, then its folders side by side, which it holds until their turn.
///
/// `field` is where the spec names the channel. Fails where nothing is there, where the uri says less than was meant, and
/// where S3 refuses; throttling is left to the client's retries.
pub async fn list(s3: &Client, field: &str, channel: &Channel) -> OutsideResult<ListedChannel> {
    let field = format!("{field}.uri");
    let uri = S3Uri::read(&channel.uri, &field)?;
    let (uri, named) = match channel.data_type {
        DataType::Manifest => {
            let (prefix, keys) = named_keys::read(s3, &field, &uri).await?;
            (prefix, Some(keys))
        }
        DataType::Prefix | DataType::AugmentedManifest => (uri, None),
    };
    let request = &Request::list(s3, &field, &uri);
    let mut found = FoundObjects {
        request,
        mode: channel.mode,
        named,
        listed: Vec::new(),
    };
    let mut begin = KeyRange::default();
    let goes_on = begin.walk(request, PAGES_ALONE).await?;
    found.take_in(begin.objects)?;
    if goes_on {
        let folders = folders_after(request, &begin.last).await;
        let ranges = ranges(&begin.last, &folders).into_iter();
        let whole = async |mut range: KeyRange| {
            let walked = range.walk(request, usize::MAX).await;
            walked.map(|_| range.objects)
        };
        let mut parts = stream::iter(ranges.map(whole)).buffered(AT_ONCE);
        while let Some(objects) = parts.next().await {
            found.take_in(objects?)?;
        }
    }
    found.channel()
}

/// The error of an endpoint that is broken, or that does not serve S3.
fn nonsense(request: &Request<'_>, what: &str) -> OutsideError {
    OutsideError::of(format!("{}: S3 listed {what} in {}", request.field, request.shown()))
        .help("if AWS_ENDPOINT_URL or AWS_ENDPOINT_URL_S3 is set, check what answers there; directory buckets cannot be listed")
}

/// An object as it is listed, by its whole key, and its `ETag`, which is empty where the store gives none.
type Listed = (DataObject, String);

/// Keys after one text, up to another and that one too, as far as they are listed.
#[derive(Debug, Default)]
struct KeyRange {
    objects: Vec<Listed>,
    /// The last key, at first where the range begins; empty: at the first key.
    last: String,
    until: Option<String>,
}

impl KeyRange {
    /// Takes in at most so many pages, one after the other, and says whether more are to come.
    async fn walk(&mut self, request: &Request<'_>, most: usize) -> OutsideResult<bool> {
        let after = Some(self.last.clone()).filter(|last| !last.is_empty());
        let listing = request.listing().set_start_after(after);
        let mut pages = listing.into_paginator().send();
        let mut empty = 0;
        for _ in 0..most {
            let Some(page) = pages.next().await else {
                return Ok(false);
            };
            let page = page.map_err(|error| request.refused(&error))?;
            empty = (empty + 1) * u32::from(page.contents().is_empty());
            if empty > MOST_EMPTY_PAGES {
                return Err(nonsense(request, "page after page without keys"));
            }
            if !self.take(&page, request)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes in a page, and says whether more are to come.
    fn take(&mut self, page: &ListObjectsV2Output, request: &Request<'_>) -> OutsideResult<bool> {
        for object in page.contents() {
            let key = key_of(page, object.key().unwrap_or_default());
            let (Some(key), Ok(bytes)) = (key, u64::try_from(object.size().unwrap_or(0))) else {
                return Err(nonsense(request, "an object without a key or a size"));
            };
            if self.until.as_ref().is_some_and(|until| key > *until) {
                return Ok(false);
            }
            // A page that came twice is not sorted either, so whatever the tokens say, a listing ends.
            if key <= self.last && !self.last.is_empty() {
                let unsorted = "keys that are not sorted, which S3 does only for directory buckets";
                return Err(nonsense(request, unsorted));
            }
            if !key.starts_with(&request.place.key) || key.is_empty() || key.len() > LONGEST_KEY {
                return Err(nonsense(request, "a key that was not asked for"));
            }
            self.last.clone_from(&key);
            let bytes = Bytes(bytes);
            let tag = object.e_tag().unwrap_or_default().to_owned();
            self.objects.push((DataObject { key, bytes }, tag));
        }
        let goes_on = page.is_truncated().unwrap_or(false);
        let no_token = "more keys without a token to get them by";
        match page.next_continuation_token().unwrap_or_default() {
            "" if goes_on => Err(nonsense(request, no_token)),
            _ => Ok(goes_on),
        }
    }
}

/// Folders that begin after a key, level by level; none where S3 does not show them, as a policy may that allows some prefixes only.
async fn folders_after(request: &Request<'_>, key: &str) -> BTreeSet<String> {
    // The first page is enough: a thousand folders of one folder.
    let folders_of = async |folder: &String| {
        let call = request.listing().prefix(folder).delimiter("/");
        let page = call.start_after(key).send().await.map_err(Box::new)?;
        let folders = page.common_prefixes().iter();
        let folders = folders.filter_map(|one| key_of(&page, one.prefix().unwrap_or_default()));
        let is_inside =
            |one: &String| one.starts_with(folder) && one != folder && one.len() <= LONGEST_KEY;
        Ok::<_, Box<dyn std::error::Error>>(folders.filter(is_inside).collect::<Vec<_>>())
    };
    let mut found = BTreeSet::new();
    let mut level = vec![request.place.key.clone()];
    for _ in 0..DEEPEST {
        let Ok(below) = try_join_all(level.iter().map(folders_of)).await else {
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

/// What lies after a key, cut at some of the folders. No key is missed or doubled wherever it is cut.
fn ranges(last: &str, folders: &BTreeSet<String>) -> Vec<KeyRange> {
    let each = folders.len().div_ceil(MOST_RANGES).max(1);
    let cuts = folders.iter().step_by(each).map(String::as_str);
    let begins = [last].into_iter().chain(cuts.clone());
    let ends = cuts.map(|cut| Some(cut.to_owned())).chain([None]);
    let ranges = begins.zip(ends);
    let range = |(begin, until): (&str, Option<String>)| KeyRange {
        last: begin.to_owned(),
        until,
        ..KeyRange::default()
    };
    ranges.map(range).collect()
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

impl Kinship {
    fn of(prefix: &str, key: &str) -> Self {
        match &key[prefix.len()..] {
            _ if prefix.is_empty() || prefix.ends_with('/') => Self::Inside,
            "" => Self::Itself,
            rest if rest.starts_with('/') => Self::Inside,
            _ => Self::Beside,
        }
    }
}

/// What is listed of a channel.
struct FoundObjects<'a> {
    request: &'a Request<'a>,
    mode: InputMode,
    /// The keys of a manifest, below its prefix, that are still to be found.
    named: Option<BTreeSet<String>>,
    /// Sorted, and all of one kinship to the prefix.
    listed: Vec<Listed>,
}

impl FoundObjects<'_> {
    fn wrong(&self, what: &str, help: &str) -> OutsideError {
        OutsideError::of(format!("{}: {what}", self.request.field)).help(help)
    }

    /// Takes in what was listed next, and fails as soon as the prefix has caught what was hardly meant.
    fn take_in(&mut self, part: Vec<Listed>) -> OutsideResult<()> {
        let prefix = self.request.place.key.as_str();
        for (object, tag) in part {
            // What a console makes to show an empty folder is no data.
            let is_marker = object.key.ends_with('/') && object.bytes == Bytes(0);
            let is_named =
                (self.named.as_mut()).is_none_or(|named| named.remove(&object.key[prefix.len()..]));
            if is_marker || !is_named {
                continue;
            }
            let first = self.listed.first().map_or(&object, |(first, _)| first);
            let [of_first, own] = [first, &object].map(|one| Kinship::of(prefix, &one.key));
            if of_first != own {
                let is_inside = own == Kinship::Inside;
                let stranger = if is_inside { first } else { &object };
                let here = self.request.shown();
                let help = match is_inside || of_first == Kinship::Inside {
                    true => &format!("end it with `/`: `{here}/`"),
                    false => {
                        "give the data a folder of its own and end the uri with `/`: SageMaker takes every key that begins so"
                    }
                };
                let what = format!("`{here}` also matches `{}`", shown(&stranger.key));
                return Err(self.wrong(&what, help));
            }
            self.listed.push((object, tag));
        }
        Ok(())
    }

    /// The channel of all that was listed. Fails where a manifest names what is not there, and where nothing is left.
    fn channel(mut self) -> OutsideResult<ListedChannel> {
        let place = self.request.place;
        let (prefix, here) = (place.key.as_str(), self.request.shown());
        if let Some(missing) = self.named.take().filter(|missing| !missing.is_empty()) {
            return Err(named_keys::missing(self.request.field, place, &missing));
        }
        let Some((first, _)) = self.listed.first() else {
            return Err(self.wrong(
                &format!("there are no objects in {here}"),
                "check the prefix with `aws s3 ls`; it is case-sensitive and does not begin with `/`",
            ));
        };
        let kinship = Kinship::of(prefix, &first.key);
        if kinship == Kinship::Beside && self.mode == InputMode::FastFile {
            return Err(self.wrong(
                &format!(
                    "`{here}` ends within a name (`{}`), and FastFile mode serves whole folders only",
                    shown(&first.key)
                ),
                "name the folder and end it with `/`, or use `mode: File`",
            ));
        }
        let base = match kinship {
            Kinship::Inside => place.as_folder(),
            Kinship::Itself | Kinship::Beside => S3Uri {
                bucket: place.bucket.clone(),
                key: prefix[..prefix.rfind('/').map_or(0, |slash| slash + 1)].to_owned(),
            },
        };
        let mut hash = Sha256::new();
        for (object, tag) in &mut self.listed {
            object.key.drain(..base.key.len());
            // With their lengths, so that different listings give different bytes.
            for text in [&object.key, tag] {
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text);
            }
            hash.update(object.bytes.0.to_be_bytes());
        }
        let has_tags = self.listed.iter().all(|(_, tag)| !tag.is_empty());
        let digest = has_tags.then(|| hash.finalize().into());
        let (objects, mut tags): (Vec<_>, Vec<_>) = self.listed.into_iter().unzip();
        tags.truncate(MOST_TAGS);
        Ok(ListedChannel {
            base,
            objects: Objects::listed(objects, digest),
            tags,
        })
    }
}

#[cfg(test)]
mod tests;
