//! [`KeyRanges`]: a channel's keys, listed in ranges that are asked for side by side and taken in order.
//!
//! A range is asked for page after page, from a key of its own up to a text that the next range begins after. So no key is missed
//! or doubled wherever a range is split: at a folder that a delimiter showed, else at a guess.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;

use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::types::EncodingType;

use super::keys_in_order::{KeysInOrder, ListedChannel};
use super::packed_page::{PackedPage, PagePacker};
use super::split_points::SplitPoints;
use crate::aws::s3_uri::{LONGEST_KEY, decoded};
use crate::backend::BackendError;
use crate::units::Bytes;

/// Requests at once. A prefix serves 5,500 a second; what is gained beyond is less than what a page takes to be read.
pub(super) const MOST_AT_ONCE: usize = 16;
/// After so many pages without a complaint one more request is sent at once.
const PAGES_UNTIL_MORE: usize = 16;
/// S3 may give pages without keys, but not for ever.
const MOST_EMPTY_PAGES: u32 = 1000;
/// Folders that are looked into; where more would help, guesses do as well.
const MOST_LOOKS: usize = 64;
/// Of a page, one key of so many is learned from.
const LEARNED: usize = 50;

/// A request that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    /// The next page of a range, by its token, else after a key.
    Page {
        range: u64,
        after: Option<String>,
        token: Option<String>,
    },
    /// The folders of a folder, after a key.
    Folders { folder: String, after: String },
}

/// Keys after one text up to another.
#[derive(Debug)]
struct KeyRange {
    id: u64,
    /// The last key that was taken, at first where the range begins; empty: at the first key.
    after: String,
    /// The first key of the last page.
    first_of_page: String,
    /// The last that may be taken; absent: there is no end.
    until: Option<String>,
    token: Option<String>,
    is_asked: bool,
    is_done: bool,
    empty_pages: u32,
    /// Pages since it was split last, or made.
    pages: u32,
    /// Taken before the keys of the ranges before it.
    packed: VecDeque<PackedPage>,
}

impl KeyRange {
    fn new(id: u64, after: String, until: Option<String>) -> Self {
        Self {
            id,
            after,
            first_of_page: String::new(),
            until,
            token: None,
            is_asked: false,
            is_done: false,
            empty_pages: 0,
            pages: 0,
            packed: VecDeque::new(),
        }
    }
}

/// The ranges of one listing. It sends nothing: [`Self::next`] says what to ask, and is given the answers in any order.
pub(super) struct KeyRanges<'a> {
    keys: KeysInOrder<'a>,
    /// In order of the keys; those whose keys were all taken are gone from the front.
    ranges: VecDeque<KeyRange>,
    next_id: u64,
    asked: usize,
    /// Whether the last request was sent with nothing beside it, after S3 had asked for that.
    is_sent_alone: bool,
    /// Less where S3 wants less.
    most_at_once: usize,
    /// Pages with keys.
    pages: usize,
    points: SplitPoints,
    /// That were seen, and may begin a range.
    folders: BTreeSet<String>,
    looked_into: BTreeSet<String>,
    looks: VecDeque<Ask>,
    looks_left: usize,
}

impl<'a> KeyRanges<'a> {
    pub(super) fn of(keys: KeysInOrder<'a>) -> Self {
        let points = SplitPoints::below(&keys.uri.key);
        Self {
            keys,
            ranges: [KeyRange::new(0, String::new(), None)].into(),
            next_id: 1,
            asked: 0,
            is_sent_alone: false,
            most_at_once: MOST_AT_ONCE,
            pages: 0,
            points,
            folders: BTreeSet::new(),
            looked_into: BTreeSet::new(),
            looks: VecDeque::new(),
            looks_left: MOST_LOOKS,
        }
    }

    /// What to ask now, beside what was asked; `None` where an answer is to be waited for, or nothing is left.
    pub(super) fn next(&mut self) -> Option<Ask> {
        if self.asked >= self.at_once() {
            return None;
        }
        let ask = self.waiting().or_else(|| {
            self.split();
            self.waiting()
        })?;
        self.is_sent_alone = self.asked == 0 && self.at_once() == 1;
        self.asked += 1;
        Some(ask)
    }

    /// Twice as many requests as pages that were worth one: a small listing takes few.
    fn at_once(&self) -> usize {
        (2 * self.pages).clamp(1, self.most_at_once)
    }

    fn waiting(&mut self) -> Option<Ask> {
        if let Some(look) = self.looks.pop_front() {
            return Some(look);
        }
        let mut ranges = self.ranges.iter_mut();
        let range = ranges.find(|range| !range.is_asked && !range.is_done)?;
        range.is_asked = true;
        let after = (range.token.is_none() && !range.after.is_empty()).then(|| range.after.clone());
        Some(Ask::Page {
            range: range.id,
            after,
            token: range.token.clone(),
        })
    }

    /// Splits the ranges that have given most pages, so that every free request has something to ask.
    fn split(&mut self) {
        let free = self.at_once() - self.asked;
        let mut longest: Vec<(u32, u64)> = (self.ranges.iter())
            .filter(|range| !range.is_done && range.pages > 0)
            .map(|range| (range.pages, range.id))
            .collect();
        longest.sort_unstable_by(|one, other| other.cmp(one));
        let share = (free / longest.len().max(1)).max(1);
        for (_, id) in longest.into_iter().take(free) {
            self.split_range(id, share);
        }
    }

    fn split_range(&mut self, id: u64, count: usize) {
        let Some(place) = self.ranges.iter().position(|range| range.id == id) else {
            return;
        };
        let range = &mut self.ranges[place];
        // It is split again once it has given another page.
        range.pages = 0;
        let (after, until) = (range.after.clone(), range.until.clone());
        let first = range.first_of_page.clone();
        let end = until
            .as_ref()
            .map_or(Bound::Unbounded, |until| Bound::Excluded(until.clone()));
        let inside = (Bound::Excluded(after.clone()), end);
        let folders: Vec<&String> = self.folders.range(inside).collect();
        let points: Vec<String> = if !folders.is_empty() {
            let most = count.min(folders.len());
            let spread = (1..=most).map(|index| (index * folders.len()) / (most + 1));
            spread.map(|index| folders[index].clone()).collect()
        } else if self.look_above(&first, &after) {
            return;
        } else {
            self.points.between(&after, until.as_deref(), count)
        };
        for (before, point) in (place..).zip(points) {
            let end = self.ranges[before].until.replace(point.clone());
            let range = KeyRange::new(self.next_id, point, end);
            self.next_id += 1;
            self.ranges.insert(before + 1, range);
        }
    }

    /// Looks into the folders that all of a page lies in and that were not looked into; says whether there are any. A folder
    /// that ends within a page is smaller than what a request lists.
    fn look_above(&mut self, first: &str, key: &str) -> bool {
        let prefix = &self.keys.uri.key;
        let Some(below) = key.strip_prefix(prefix.as_str()) else {
            return false;
        };
        let slashes = below.match_indices('/').map(|(at, _)| &below[..=at]);
        for folder in [""].into_iter().chain(slashes) {
            let folder = format!("{prefix}{folder}");
            if !first.starts_with(&folder) {
                break;
            }
            if self.looks_left > 0 && self.looked_into.insert(folder.clone()) {
                self.looks_left -= 1;
                let after = key.to_owned();
                self.looks.push_back(Ask::Folders { folder, after });
            }
        }
        !self.looks.is_empty()
    }

    /// Takes the answer to what was asked.
    pub(super) fn take(
        &mut self,
        ask: &Ask,
        answer: &ListObjectsV2Output,
    ) -> Result<(), BackendError> {
        self.asked -= 1;
        match ask {
            Ask::Page { range, .. } => self.take_page(*range, answer),
            Ask::Folders { .. } => {
                self.take_folders(answer);
                Ok(())
            }
        }
    }

    /// S3 wanted fewer requests: this is asked again, with nothing beside it. `false` where nothing was beside it when it was sent.
    pub(super) fn slow_down(&mut self, ask: &Ask) -> bool {
        if self.is_sent_alone {
            return false;
        }
        self.asked -= 1;
        self.most_at_once = 1;
        match ask {
            Ask::Page { range, .. } => {
                let mut ranges = self.ranges.iter_mut();
                if let Some(range) = ranges.find(|one| one.id == *range) {
                    range.is_asked = false;
                }
            }
            Ask::Folders { .. } => self.looks.push_back(ask.clone()),
        }
        true
    }

    /// A look was refused, as a policy may that allows some prefixes only: guesses do without.
    pub(super) fn give_up_looking(&mut self) {
        self.asked -= 1;
        self.looks.clear();
        self.looks_left = 0;
    }

    /// Only all folders of a folder are of use: the first of too many would split off little.
    fn take_folders(&mut self, answer: &ListObjectsV2Output) {
        if answer.is_truncated().unwrap_or(false) {
            return;
        }
        let is_encoded = answer.encoding_type() == Some(&EncodingType::Url);
        for folder in answer.common_prefixes() {
            let written = folder.prefix().unwrap_or_default();
            let folder = match is_encoded {
                true => decoded(written),
                false => Some(written.to_owned()),
            };
            let of_listing = |folder: &String| folder.starts_with(&self.keys.uri.key);
            if let Some(folder) = folder.filter(of_listing)
                && folder.len() <= LONGEST_KEY
            {
                self.folders.insert(folder);
            }
        }
    }

    fn take_page(&mut self, id: u64, page: &ListObjectsV2Output) -> Result<(), BackendError> {
        let place = self.ranges.iter().position(|range| range.id == id);
        let place = place.expect("a range stays until its last page was taken");
        // An endpoint that does not know of encoding says so by not naming it.
        let is_encoded = page.encoding_type() == Some(&EncodingType::Url);
        let Self {
            keys,
            ranges,
            points,
            ..
        } = self;
        let range = &mut ranges[place];
        range.is_asked = false;
        let mut packer = (place > 0).then(PagePacker::default);
        let mut is_over = false;
        for (index, object) in page.contents().iter().enumerate() {
            let written = object.key().unwrap_or_default();
            let key = match is_encoded {
                true => decoded(written).ok_or_else(|| keys.nonsense("a key that is not text"))?,
                false => written.to_owned(),
            };
            let Ok(bytes) = u64::try_from(object.size().unwrap_or(0)) else {
                return Err(keys.nonsense("an object of negative size"));
            };
            if key <= range.after && !range.after.is_empty() {
                return Err(keys.unsorted());
            }
            if index == 0 {
                range.first_of_page.clone_from(&key);
            }
            if range.until.as_ref().is_some_and(|until| key > *until) {
                is_over = true;
                break;
            }
            if index % LEARNED == 0 || index + 1 == page.contents().len() {
                points.learn(&key);
            }
            let tag = object.e_tag().unwrap_or_default();
            match &mut packer {
                Some(packer) => (packer.push(&key, Bytes(bytes), tag))
                    .map_err(|too_many| keys.too_many(too_many))?,
                None => keys.object(&key, Bytes(bytes), tag)?,
            }
            range.after = key;
        }
        if let Some(packer) = packer {
            range.packed.push_back(packer.finish());
        }
        if !page.contents().is_empty() && !is_over {
            self.pages += 1;
            range.pages += 1;
            if self.pages.is_multiple_of(PAGES_UNTIL_MORE) {
                self.most_at_once = (self.most_at_once + 1).min(MOST_AT_ONCE);
            }
        }
        range.is_done = is_over || !range.goes_on(keys, page)?;
        self.drain()
    }

    /// Takes in what waited for the keys before it.
    fn drain(&mut self) -> Result<(), BackendError> {
        while let Some(range) = self.ranges.front_mut() {
            while let Some(page) = range.packed.pop_front() {
                let keys = &mut self.keys;
                page.try_for_each(|key, bytes, tag| keys.object(key, bytes, tag))?;
            }
            if !range.is_done {
                break;
            }
            self.ranges.pop_front();
        }
        Ok(())
    }

    /// What was found, once there is nothing to ask and nothing to wait for.
    pub(super) fn finish(self) -> Result<ListedChannel, BackendError> {
        self.keys.finish()
    }
}

impl KeyRange {
    /// Whether there are more pages after this one.
    fn goes_on(
        &mut self,
        keys: &KeysInOrder<'_>,
        page: &ListObjectsV2Output,
    ) -> Result<bool, BackendError> {
        if !page.is_truncated().unwrap_or(false) {
            return Ok(false);
        }
        let next = page.next_continuation_token().unwrap_or_default();
        if next.is_empty() {
            return Err(keys.nonsense("more keys without a token to get them by"));
        }
        if self.token.as_deref() == Some(next) {
            return Err(keys.nonsense("the same page again"));
        }
        self.empty_pages = match page.contents() {
            [] => self.empty_pages + 1,
            _ => 0,
        };
        if self.empty_pages > MOST_EMPTY_PAGES {
            return Err(keys.nonsense("page after page without keys"));
        }
        self.token = Some(next.to_owned());
        Ok(self.until.as_ref().is_none_or(|until| self.after < *until))
    }
}

#[cfg(test)]
mod tests;
