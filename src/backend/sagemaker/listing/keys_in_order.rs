//! [`KeysInOrder`]: takes the keys of a channel one after the other, and knows what lies there once all were.

use std::collections::BTreeSet;

use super::super::named_keys;
use super::Listed;
use crate::aws::s3_uri::{LONGEST_KEY, S3Uri, shown};
use crate::backend::BackendError;
use crate::canary::{Objects, ObjectsBuilder, TooManyObjects};
use crate::spec::InputMode;
use crate::units::Bytes;

/// So many `ETags` are kept; more objects are never read in part.
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

/// What is listed, and where the spec names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedPlace<'a> {
    pub(super) uri: &'a S3Uri,
    pub(super) field: &'a str,
}

impl ListedPlace<'_> {
    pub(super) fn unsorted(self) -> BackendError {
        self.nonsense("keys that are not sorted, which S3 does only for directory buckets")
    }

    /// An endpoint that is broken, or that does not serve S3.
    pub(super) fn nonsense(self, what: &str) -> BackendError {
        BackendError::new(
            format!(
                "{}: S3 listed {what} in {}",
                self.field,
                shown(&self.uri.to_string())
            ),
            "if AWS_ENDPOINT_URL or AWS_ENDPOINT_URL_S3 is set, check what answers there; directory buckets cannot be listed",
        )
    }
}

/// Takes in keys in their order.
pub(super) struct KeysInOrder<'a> {
    place: ListedPlace<'a>,
    mode: InputMode,
    /// Below the uri, those of a manifest that were not listed yet; absent: all keys count.
    named: Option<BTreeSet<String>>,
    objects: ObjectsBuilder,
    tags: Vec<String>,
    /// The kinship of the first object, which all others must share, and the key of that object for the error.
    kinship: Option<(Kinship, String)>,
    last_key: Option<String>,
}

impl<'a> KeysInOrder<'a> {
    pub(super) fn of(
        place: ListedPlace<'a>,
        mode: InputMode,
        named: Option<BTreeSet<String>>,
    ) -> Self {
        Self {
            place,
            mode,
            named,
            objects: ObjectsBuilder::default(),
            tags: Vec::new(),
            kinship: None,
            last_key: None,
        }
    }

    /// The last key that was taken; empty before the first.
    pub(super) fn last(&self) -> &str {
        self.last_key.as_deref().unwrap_or_default()
    }

    /// Takes the next object.
    pub(super) fn object(&mut self, object: Listed) -> Result<(), BackendError> {
        let Listed { key, bytes, tag } = object;
        let key = key.as_str();
        // A page that came twice is not sorted either, so whatever the tokens say, a listing ends.
        if self.last_key.as_deref().is_some_and(|last| last >= key) {
            return Err(self.place.unsorted());
        }
        if !key.starts_with(&self.place.uri.key) || key.is_empty() || key.len() > LONGEST_KEY {
            return Err(self.place.nonsense("a key that was not asked for"));
        }
        // What a console makes to show an empty folder is no data.
        let is_marker = key.ends_with('/') && bytes == Bytes(0);
        let is_named = match &mut self.named {
            Some(named) => named.remove(&key[self.place.uri.key.len()..]),
            None => true,
        };
        if !is_marker && is_named {
            let base = self.base_of(key)?;
            let name = &key[base..];
            if self.tags.len() < MOST_TAGS {
                self.tags.push(tag.clone());
            }
            let pushed = match tag.as_str() {
                "" => self.objects.push(name, bytes),
                tag => self.objects.push_tagged(name, bytes, tag),
            };
            pushed.map_err(|too_many| self.too_many(too_many))?;
        }
        match &mut self.last_key {
            Some(last) => key.clone_into(last),
            None => self.last_key = Some(key.to_owned()),
        }
        Ok(())
    }

    /// How much of a key is that of the folder all keys are below. Fails where the prefix catches what was hardly meant.
    fn base_of(&mut self, key: &str) -> Result<usize, BackendError> {
        let prefix = self.place.uri.key.as_str();
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
                    self.place.field,
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
                self.place.field,
                self.shown(),
                shown(stranger)
            ),
            help,
        )
    }

    pub(super) fn finish(self) -> Result<ListedChannel, BackendError> {
        let prefix = &self.place.uri.key;
        if let Some(missing) = self.named.as_ref().filter(|missing| !missing.is_empty()) {
            return Err(named_keys::missing(
                self.place.field,
                self.place.uri,
                missing,
            ));
        }
        let Some((kinship, _)) = self.kinship else {
            return Err(BackendError::new(
                format!(
                    "{}: there are no objects in {}",
                    self.place.field,
                    self.shown()
                ),
                "check the prefix with `aws s3 ls`; it is case-sensitive and does not begin with `/`",
            ));
        };
        let base = match (kinship, prefix.rfind('/')) {
            (Kinship::Inside, _) => self.place.uri.below("").key,
            (_, Some(slash)) => prefix[..=slash].to_owned(),
            (_, None) => String::new(),
        };
        Ok(ListedChannel {
            base: S3Uri {
                bucket: self.place.uri.bucket.clone(),
                key: base,
            },
            objects: self.objects.finish(),
            tags: self.tags,
        })
    }

    fn shown(&self) -> String {
        shown(&self.place.uri.to_string())
    }

    fn too_many(&self, too_many: TooManyObjects) -> BackendError {
        BackendError::new(
            format!("{}: {too_many} in {}", self.place.field, self.shown()),
            "pack the data into fewer and larger objects, or name a smaller prefix",
        )
    }
}
