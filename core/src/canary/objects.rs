//! [`Objects`]: the objects of a channel, or a canary's selection of them. A listing is stored once; a selection is a list of
//! positions in it.

use std::fmt;
use std::sync::Arc;

use super::DataObject;
use crate::units::Bytes;

/// Objects sorted by key: a whole listing, or a selection of it. Immutable and cheap to clone.
#[derive(Clone)]
pub struct Objects {
    listing: Arc<StoredObjects>,
    /// Positions in the listing, ascending; absent: all of it.
    selected: Option<Arc<[usize]>>,
    bytes: Bytes,
}

#[derive(Debug)]
struct StoredObjects {
    objects: Vec<DataObject>,
    bytes: Bytes,
    digest: Option<[u8; 32]>,
}

impl Objects {
    /// A listing, sorted by key, and the digest of what it says.
    pub fn listed(objects: Vec<DataObject>, digest: Option<[u8; 32]>) -> Self {
        let bytes = objects.iter().map(|object| object.bytes).sum();
        Self {
            listing: Arc::new(StoredObjects {
                objects,
                bytes,
                digest,
            }),
            selected: None,
            bytes,
        }
    }

    pub fn len(&self) -> usize {
        let all = self.listing.objects.len();
        self.selected.as_ref().map_or(all, |places| places.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The total size.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// SHA-256 over key, size and `ETag` of every object of the whole listing, also for a selection. `None` if an object had no
    /// `ETag`.
    pub fn digest(&self) -> Option<[u8; 32]> {
        self.listing.digest
    }

    /// Every object in order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = &DataObject> {
        self.places().map(|place| &self.listing.objects[place])
    }

    /// Every size, in the order of the keys.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> {
        self.iter().map(|object| object.bytes)
    }

    /// The objects at some positions, counted from 0. A position beyond the end selects nothing.
    pub fn select(&self, positions: impl IntoIterator<Item = usize>) -> Self {
        let inside = |position: &usize| *position < self.len();
        let positions = positions.into_iter().filter(inside);
        let mut places: Vec<usize> = positions.map(|position| self.place_at(position)).collect();
        places.sort_unstable();
        places.dedup();
        let mut selection = Self {
            selected: Some(places.into()),
            ..self.clone()
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
            selected: None,
            bytes: self.listing.bytes,
            ..self.clone()
        }
    }

    /// The objects of any of these selections of this listing.
    pub fn all_of(&self, selections: &[Self]) -> Self {
        self.whole()
            .select(selections.iter().flat_map(Self::places))
    }

    /// Whether the listing has an object of this key that is not selected.
    pub fn leaves_out(&self, key: &str) -> bool {
        let all = &self.listing.objects;
        let found = all.binary_search_by(|object| object.key.as_str().cmp(key));
        found.is_ok_and(|place| !self.has_place(place))
    }

    /// Those objects that are, or are not, among the others.
    fn those(&self, other: &Self, is_among: bool) -> Self {
        let chosen = |position: &usize| other.has_place(self.place_at(*position)) == is_among;
        self.select((0..self.len()).filter(chosen))
    }

    /// Where the objects of this selection stand in the listing.
    fn places(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(|position| self.place_at(position))
    }

    fn place_at(&self, position: usize) -> usize {
        (self.selected.as_ref()).map_or(position, |places| places[position])
    }

    fn has_place(&self, place: usize) -> bool {
        (self.selected.as_ref()).is_none_or(|places| places.binary_search(&place).is_ok())
    }
}

impl Default for Objects {
    fn default() -> Self {
        Self::listed(Vec::new(), None)
    }
}

impl PartialEq for Objects {
    /// Compares keys and sizes, not the listings that they are from.
    fn eq(&self, other: &Self) -> bool {
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
    /// In any order.
    fn from_iter<T: IntoIterator<Item = DataObject>>(objects: T) -> Self {
        let mut objects: Vec<DataObject> = objects.into_iter().collect();
        objects.sort_unstable();
        Self::listed(objects, None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(count: u64) -> Objects {
        let object = |index| DataObject {
            key: format!("day/part-{index:05}.csv"),
            bytes: Bytes(1000 + index),
        };
        (0..count).rev().map(object).collect()
    }

    #[test]
    fn a_selection_of_a_selection_shares_the_listing() {
        let all = parts(100);
        assert_eq!((all.len(), all.bytes()), (100, Bytes(104_950)));
        let odd = all.select((1..100).step_by(2));
        assert_eq!((odd.len(), odd.bytes()), (50, Bytes(52_500)));
        let few = odd.select([49, 0, 20, 20, 50]);
        let sizes: Vec<Bytes> = few.sizes().collect();
        assert_eq!(sizes, [1001, 1041, 1099].map(Bytes));
        assert_eq!(few.bytes(), Bytes(3141));
        assert!(Arc::ptr_eq(&all.listing, &few.listing));
        let alone: Objects = few.iter().cloned().collect();
        assert_eq!(alone, few);
        assert_ne!(alone, all.select([1, 41, 98]));
        assert_eq!(few.whole(), all);
        assert!(all.select([]).is_empty() && Objects::default().is_empty());
        for (number, is_left_out) in [(40, true), (41, false), (100, false)] {
            let key = format!("day/part-{number:05}.csv");
            assert_eq!(few.leaves_out(&key), is_left_out, "{key}");
            assert!(!all.leaves_out(&key));
        }
    }

    #[test]
    fn made_up_sizes_do_not_overflow() {
        let object = |(key, bytes): (&str, u64)| DataObject {
            key: key.to_owned(),
            bytes: Bytes(bytes),
        };
        let all: Objects = [("a", u64::MAX), ("b", 1)]
            .map(object)
            .into_iter()
            .collect();
        assert_eq!(all.bytes(), Bytes(u64::MAX));
        assert_eq!(all.select([0, 1]).bytes(), Bytes(u64::MAX));
        assert_eq!(all.select([1]).bytes(), Bytes(1));
    }

    proptest! {
        #[test]
        fn selections_are_sets(one in prop::collection::btree_set(0_usize..30, 0..20), other in prop::collection::btree_set(0_usize..30, 0..20)) {
            let all = parts(30);
            let of = |places: &std::collections::BTreeSet<usize>| all.select(places.iter().copied());
            let (first, second) = (of(&one), of(&other));
            prop_assert_eq!(first.in_both(&second), of(&(&one & &other)));
            prop_assert_eq!(first.without(&second), of(&(&one - &other)));
            prop_assert_eq!(first.or(&second), of(&(&one | &other)));
            prop_assert_eq!(all.all_of(&[first, second]), of(&(&one | &other)));
        }
    }
}
