//! [`Objects`]: the objects of a channel, or a canary's selection of them, in little memory.
//!
//! A listing of a million keys is stored once, front-coded: each key holds only its difference from the one before. A
//! selection is a list of positions in it.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::DataObject;
use crate::units::Bytes;

/// Entries per block of a listing; finding a key takes at most so many steps.
const BLOCK: usize = 16;

/// The listing has more objects than a position can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are more than {} objects", u32::MAX)]
pub struct TooManyObjects;

/// Objects sorted by key: a whole listing, or a selection of it. Immutable and cheap to clone.
#[derive(Clone)]
pub struct Objects {
    listing: Arc<PackedListing>,
    /// Positions in the listing, ascending; absent: all of it.
    selected: Option<Arc<[u32]>>,
    bytes: Bytes,
}

impl Objects {
    pub fn len(&self) -> usize {
        self.selected
            .as_ref()
            .map_or(self.listing.len, |places| places.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The total size.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// SHA-256 over key, size and `ETag` of every object of the whole listing, also for a selection. `None` if an object had no
    /// `ETag` or the keys were not added in order.
    pub fn digest(&self) -> Option<[u8; 32]> {
        self.listing.digest
    }

    /// Visits every object in order of the keys, without copying a key.
    pub fn for_each(&self, mut visit: impl FnMut(&str, Bytes)) {
        let mut cursor = Cursor::new(&self.listing);
        let mut position = 0;
        while let Some(bytes) = self.read(&mut cursor, position) {
            visit(&cursor.key, bytes);
            position += 1;
        }
    }

    /// Every object in order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = DataObject> {
        let mut cursor = Cursor::new(&self.listing);
        (0..self.len()).map_while(move |position| {
            let bytes = self.read(&mut cursor, position)?;
            let key = cursor.key.clone();
            Some(DataObject { key, bytes })
        })
    }

    /// Every size, in the order of the keys.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> {
        let mut cursor = Cursor::new(&self.listing);
        (0..self.len()).map_while(move |position| self.read(&mut cursor, position))
    }

    /// The objects at some positions, counted from 0. A position beyond the end selects nothing.
    pub fn select(&self, positions: impl IntoIterator<Item = usize>) -> Self {
        let place = |position: usize| match &self.selected {
            Some(places) => places.get(position).copied(),
            None => (position < self.listing.len).then(|| self.listing.place(position)),
        };
        let mut places: Vec<u32> = positions.into_iter().filter_map(place).collect();
        places.sort_unstable();
        places.dedup();
        let mut selection = Self {
            listing: Arc::clone(&self.listing),
            selected: Some(places.into()),
            bytes: Bytes(0),
        };
        selection.bytes = selection.sizes().sum();
        selection
    }

    /// The objects of both, which are of one listing.
    pub fn in_both(&self, other: &Self) -> Self {
        self.those(other, true)
    }

    /// The objects that another selection of the listing does not have.
    pub fn without(&self, other: &Self) -> Self {
        match other.is_empty() {
            true => self.clone(),
            false => self.those(other, false),
        }
    }

    /// The objects of one or the other of two selections of a listing.
    pub fn or(&self, other: &Self) -> Self {
        match other.is_empty() {
            true => self.clone(),
            false => self.all_of(&[self.clone(), other.clone()]),
        }
    }

    /// All objects of the listing.
    pub fn whole(&self) -> Self {
        Self {
            listing: Arc::clone(&self.listing),
            selected: None,
            bytes: self.listing.bytes,
        }
    }

    /// The objects of any of these selections of this listing.
    pub fn all_of(&self, selections: &[Self]) -> Self {
        let whole = self.whole();
        let places = |objects: &Self| {
            let objects = objects.clone();
            (0..objects.len()).map(move |position| objects.place_at(position))
        };
        whole.select(selections.iter().flat_map(places))
    }

    /// Those objects that are, or are not, among the others.
    fn those(&self, other: &Self, is_among: bool) -> Self {
        let chosen = |position: &usize| other.has_place(self.place_at(*position)) == is_among;
        self.select((0..self.len()).filter(chosen))
    }

    /// Where an object of this selection stands in the listing.
    fn place_at(&self, position: usize) -> usize {
        let place = self.selected.as_ref().map(|places| places[position]);
        place.map_or(position, |place| place as usize)
    }

    fn has_place(&self, place: usize) -> bool {
        match &self.selected {
            Some(places) => {
                u32::try_from(place).is_ok_and(|place| places.binary_search(&place).is_ok())
            }
            None => place < self.listing.len,
        }
    }

    /// Whether the listing has an object of this key that is not selected.
    pub fn leaves_out(&self, key: &str) -> bool {
        let Some(selected) = &self.selected else {
            return false;
        };
        let mut cursor = Cursor::new(&self.listing);
        let is_it = |place: &usize| cursor.read(*place).is_some() && cursor.key == key;
        let found = (0..self.listing.len).find(is_it);
        found.is_some_and(|place| selected.binary_search(&self.listing.place(place)).is_err())
    }

    /// Moves the cursor to a position of this selection; `None` beyond the last.
    fn read(&self, cursor: &mut Cursor<'_>, position: usize) -> Option<Bytes> {
        let place = match &self.selected {
            Some(places) => usize::try_from(*places.get(position)?).ok()?,
            None => position,
        };
        cursor.read(place)
    }
}

impl Default for Objects {
    fn default() -> Self {
        ObjectsBuilder::default().finish()
    }
}

impl PartialEq for Objects {
    /// Compares keys and sizes, not the listings that they are from.
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.listing, &other.listing) && self.selected == other.selected {
            return true;
        }
        self.len() == other.len() && self.bytes == other.bytes && self.iter().eq(other.iter())
    }
}

impl Eq for Objects {}

impl fmt::Debug for Objects {
    /// Shows only the first few of possibly millions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} objects of {}: ", self.len(), self.bytes)?;
        f.debug_list().entries(self.iter().take(3)).finish()
    }
}

impl FromIterator<DataObject> for Objects {
    /// In any order. Panics above `u32::MAX` objects; [`ObjectsBuilder`] returns an error instead.
    fn from_iter<T: IntoIterator<Item = DataObject>>(objects: T) -> Self {
        let mut builder = ObjectsBuilder::default();
        for DataObject { key, bytes } in objects {
            builder.push(&key, bytes).expect("far fewer than 2^32");
        }
        builder.finish()
    }
}

/// Builds a listing, object by object.
#[derive(Debug)]
pub struct ObjectsBuilder {
    listing: PackedListing,
    last: String,
    is_sorted: bool,
    /// Absent once an object had no `ETag`.
    hash: Option<Sha256>,
}

impl Default for ObjectsBuilder {
    fn default() -> Self {
        Self {
            listing: PackedListing::default(),
            last: String::new(),
            is_sorted: true,
            hash: Some(Sha256::new()),
        }
    }
}

impl ObjectsBuilder {
    /// Adds an object without an `ETag`. Any order is allowed; unsorted objects need more memory at the end.
    pub fn push(&mut self, key: &str, bytes: Bytes) -> Result<(), TooManyObjects> {
        self.hash = None;
        self.append(key, bytes)
    }

    /// Adds an object with its `ETag`, which identifies its content.
    pub fn push_tagged(
        &mut self,
        key: &str,
        bytes: Bytes,
        etag: &str,
    ) -> Result<(), TooManyObjects> {
        if let Some(hash) = &mut self.hash {
            // With their lengths, so that different listings give different bytes.
            for text in [key, etag] {
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text);
            }
            hash.update(bytes.0.to_be_bytes());
        }
        self.append(key, bytes)
    }

    fn append(&mut self, key: &str, bytes: Bytes) -> Result<(), TooManyObjects> {
        self.is_sorted &= self.listing.len == 0 || self.last.as_str() < key;
        self.listing.append(&self.last, key, bytes)?;
        key.clone_into(&mut self.last);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.listing.len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn finish(self) -> Objects {
        let mut listing = if self.is_sorted {
            self.listing
        } else {
            self.listing.sorted()
        };
        let hash = self.hash.filter(|_| self.is_sorted && listing.len > 0);
        listing.digest = hash.map(|hash| hash.finalize().into());
        listing.entries.shrink_to_fit();
        listing.blocks.shrink_to_fit();
        Objects {
            bytes: listing.bytes,
            listing: Arc::new(listing),
            selected: None,
        }
    }
}

/// Keys and sizes, front-coded.
#[derive(Debug, Default)]
struct PackedListing {
    /// For each object the length of the prefix shared with the key before, the length of the rest and the object's size, each
    /// as a LEB128 number; then the rest of the key. Both parts of a key are valid UTF-8.
    entries: Vec<u8>,
    /// The offset in `entries` of every [`BLOCK`]th object, whose key is stored whole.
    blocks: Vec<usize>,
    /// At most `u32::MAX`.
    len: usize,
    bytes: Bytes,
    digest: Option<[u8; 32]>,
}

impl PackedListing {
    fn append(&mut self, last: &str, key: &str, bytes: Bytes) -> Result<(), TooManyObjects> {
        u32::try_from(self.len + 1).map_err(|_| TooManyObjects)?;
        let shared = if self.len.is_multiple_of(BLOCK) {
            self.blocks.push(self.entries.len());
            0
        } else {
            shared_beginning(last, key)
        };
        let rest = &key[shared..];
        for number in [shared as u64, rest.len() as u64, bytes.0] {
            write_number(&mut self.entries, number);
        }
        self.entries.extend_from_slice(rest.as_bytes());
        self.len += 1;
        self.bytes = self.bytes + bytes;
        Ok(())
    }

    fn place(&self, position: usize) -> u32 {
        u32::try_from(position).expect("a listing has at most 2^32 objects")
    }

    /// The same objects in order of the keys. Holds all keys at once.
    fn sorted(self) -> Self {
        let mut keys = String::new();
        let mut objects: Vec<(usize, usize, Bytes)> = Vec::with_capacity(self.len);
        let mut cursor = Cursor::new(&self);
        while let Some(bytes) = cursor.read(objects.len()) {
            let start = keys.len();
            keys.push_str(&cursor.key);
            objects.push((start, keys.len(), bytes));
        }
        drop(self);
        objects.sort_unstable_by_key(|&(start, end, bytes)| (&keys[start..end], bytes));
        let mut sorted = Self::default();
        let mut last = "";
        for (start, end, bytes) in objects {
            let key = &keys[start..end];
            sorted
                .append(last, key, bytes)
                .expect("as many as there were");
            last = key;
        }
        sorted
    }
}

/// Reads a listing: sequentially, or from the start of any block.
struct Cursor<'a> {
    listing: &'a PackedListing,
    /// The index of the object to read next, and its offset.
    next: usize,
    at: usize,
    /// Of the object read last.
    key: String,
}

impl<'a> Cursor<'a> {
    fn new(listing: &'a PackedListing) -> Self {
        Self {
            listing,
            next: 0,
            at: 0,
            key: String::new(),
        }
    }

    /// Stores the key at a position in `key` and returns the object's size; `None` beyond the last.
    fn read(&mut self, place: usize) -> Option<Bytes> {
        if place >= self.listing.len {
            return None;
        }
        let block = place / BLOCK;
        if place < self.next || block > self.next / BLOCK {
            self.next = block * BLOCK;
            self.at = *self.listing.blocks.get(block)?;
        }
        while self.next < place {
            self.step()?;
        }
        self.step()
    }

    fn step(&mut self) -> Option<Bytes> {
        let shared = usize::try_from(self.number()?).ok()?;
        let rest = usize::try_from(self.number()?).ok()?;
        let bytes = Bytes(self.number()?);
        let text = self.listing.entries.get(self.at..self.at + rest)?;
        self.key.truncate(shared);
        self.key.push_str(str::from_utf8(text).ok()?);
        self.at += rest;
        self.next += 1;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        let mut shift = 0;
        loop {
            let byte = *self.listing.entries.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
    }
}

fn write_number(entries: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        entries.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    entries.push(low_bits(number));
}

fn low_bits(number: u64) -> u8 {
    u8::try_from(number & 0x7f).expect("seven bits")
}

/// The length in bytes of the longest common prefix of two texts, whole characters only.
fn shared_beginning(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
    other.floor_char_boundary(same.count())
}

#[cfg(test)]
mod tests;
