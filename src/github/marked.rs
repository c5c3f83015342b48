//! What we write on GitHub and find again by its marker, a comment or an issue: which is ours, and which of ours stays.
//!
//! All workflows of a repository write as one bot, and one of them may repeat what a pull request's author wrote. So a marker
//! counts only in what we wrote, and a marker from the future does not count: it would silence every run until then.

use jiff::Timestamp;

use super::identity::{Author, Identity};
use super::order::{CLOCKS_DIFFER, MarkerState, Order};

/// A comment or an issue.
pub trait Marked: Clone {
    type Marker: MarkerOf;

    /// Grows with time: of two, the smaller was there first.
    fn number(&self) -> u64;
    /// `None` for an account that is gone.
    fn author(&self) -> Option<&Author>;
    /// Where a person reads it.
    fn url(&self) -> &str;
    /// That of its first line.
    fn marker(&self) -> Option<Self::Marker>;
    /// Whether it says what the other does, so that nothing is to be copied.
    fn says_as(&self, other: &Self) -> bool;
}

/// What a marker says.
pub trait MarkerOf: Clone {
    /// The spec's path in the repository, compared whole.
    fn spec(&self) -> &str;
    fn order(&self) -> Order;
    /// What decides which of two about one spec is the newer.
    fn age(&self) -> (Order, MarkerState);
}

/// With its marker.
pub type OwnItem<'a, T> = (&'a T, <T as Marked>::Marker);

/// Our own about `spec` as of `now`, oldest first.
pub fn own<'a, T: Marked>(
    items: &'a [T],
    identity: &Identity,
    spec: &str,
    now: Timestamp,
) -> Vec<OwnItem<'a, T>> {
    let is_ours = |item: &&T| item.author().is_some_and(|author| identity.is(author));
    let mut own: Vec<OwnItem<'a, T>> = items
        .iter()
        .filter(is_ours)
        .filter_map(|item| Some((item, item.marker()?)))
        .filter(|(_, marker)| marker.spec() == spec)
        .filter(|(_, marker)| marker.order().time.duration_since(now) <= CLOCKS_DIFFER)
        .collect();
    own.sort_by_key(|(item, _)| item.number());
    own.dedup_by_key(|(item, _)| item.number());
    own
}

/// What to do with our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeeperChoice<'a, T> {
    /// There is none about this spec.
    Create,
    /// A newer run has written already: its word stays.
    Superseded { by: &'a T, order: Order },
    /// To be written over: the oldest, to which links may exist.
    Update { kept: &'a T },
}

/// What to do in order to say what belongs under `marker`, given our own about its spec, oldest first.
///
/// The stub of an older run is written over, whether that run is at work or dead; a newer run's is not.
pub fn choose<'a, T: Marked>(own: &[OwnItem<'a, T>], marker: &T::Marker) -> KeeperChoice<'a, T> {
    let Some((kept, _)) = own.first() else {
        return KeeperChoice::Create;
    };
    match newest(own) {
        Some((newest, theirs)) if theirs.age() > marker.age() => KeeperChoice::Superseded {
            by: newest,
            order: theirs.order(),
        },
        _ => KeeperChoice::Update { kept },
    }
}

/// How several about one spec, which two runs may have written at once, become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folding<'a, T> {
    /// The oldest stays.
    pub kept: &'a T,
    /// What it is to say: the word of the newest run. `None` where it says that already.
    pub word: Option<&'a T>,
    /// All others, which are to go.
    pub duplicates: Vec<&'a T>,
}

/// `None` where there is none; the same for each run that looks, so that all of them may try at once.
pub fn fold<'a, T: Marked>(own: &[OwnItem<'a, T>]) -> Option<Folding<'a, T>> {
    let ((kept, _), others) = own.split_first()?;
    let (newest, _) = newest(own)?;
    let is_said = newest.number() == kept.number() || kept.says_as(newest);
    Some(Folding {
        kept,
        word: (!is_said).then_some(newest),
        duplicates: others.iter().map(|(item, _)| *item).collect(),
    })
}

/// The first of the newest.
pub fn newest<'a, 'b, T: Marked>(own: &'b [OwnItem<'a, T>]) -> Option<&'b OwnItem<'a, T>> {
    own.iter().rev().max_by_key(|(_, marker)| marker.age())
}
