//! [`SplitPoints`]: where a range of keys may be split so that both parts have some, guessed from the keys seen so far.
//!
//! A guess costs at most a request that finds nothing: any text splits a range without missing or doubling a key.

use std::collections::BTreeSet;

use crate::aws::s3_uri::LONGEST_KEY;

/// Characters of a key that are looked at, from the prefix of the listing on.
const PLACES: usize = 96;
/// Different characters that are kept for a place.
const MOST_CHARACTERS: usize = 128;
/// The smallest distance between two points: a double is no finer.
const FINEST: f64 = 1e-13;

/// Which characters keys have at which place.
#[derive(Debug)]
pub(super) struct SplitPoints {
    prefix: String,
    places: Vec<BTreeSet<char>>,
}

impl SplitPoints {
    /// For keys that begin with a prefix.
    pub(super) fn below(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            places: Vec::new(),
        }
    }

    pub(super) fn learn(&mut self, key: &str) {
        let Some(rest) = key.strip_prefix(&self.prefix) else {
            return;
        };
        for (place, character) in rest.chars().take(PLACES).enumerate() {
            if place == self.places.len() {
                self.places.push(BTreeSet::new());
            }
            let seen = &mut self.places[place];
            if seen.len() < MOST_CHARACTERS {
                seen.insert(character);
            }
        }
    }

    /// At most so many texts in order, each after `after` and before `until`, that share the keys between them evenly as far as
    /// is known. Without `until` the range has no end.
    pub(super) fn between(&self, after: &str, until: Option<&str>, count: usize) -> Vec<String> {
        let Some(low) = after.strip_prefix(&self.prefix) else {
            return Vec::new();
        };
        let high = until.and_then(|until| until.strip_prefix(&self.prefix));
        let shared = high.map_or(0, |high| {
            let same = low.chars().zip(high.chars()).take_while(|(a, b)| a == b);
            same.count()
        });
        let alphabets: Vec<Vec<char>> = self.places.iter().skip(shared).map(closed).collect();
        let beginning: String = (self.prefix.chars())
            .chain(low.chars().take(shared))
            .collect();
        let low = position(low.chars().skip(shared), &alphabets);
        let high = high.map_or(1.0, |high| position(high.chars().skip(shared), &alphabets));
        #[expect(clippy::cast_precision_loss, reason = "a few points")]
        let step = (high - low) / (count + 1) as f64;
        if step < FINEST {
            return Vec::new();
        }
        let mut points: Vec<String> = Vec::with_capacity(count);
        for index in 1..=count {
            #[expect(clippy::cast_precision_loss, reason = "a few points")]
            let at = low + step * index as f64;
            let point = beginning.clone() + &text_at(at, step, &alphabets);
            let is_inside = point.as_str() > points.last().map_or(after, String::as_str)
                && until.is_none_or(|until| point.as_str() < until);
            if is_inside && point.len() <= LONGEST_KEY {
                points.push(point);
            }
        }
        points
    }
}

/// What may stand at a place: what did, all digits beside one, and all letters of a case beside two.
fn closed(seen: &BTreeSet<char>) -> Vec<char> {
    let mut all = seen.clone();
    for (class, least) in [('0'..='9', 1), ('a'..='z', 2), ('A'..='Z', 2)] {
        if seen.range(class.clone()).count() >= least {
            all.extend(class);
        }
    }
    all.into_iter().collect()
}

/// Where a text lies among all that the alphabets can write, from 0 to 1.
fn position(text: impl Iterator<Item = char>, alphabets: &[Vec<char>]) -> f64 {
    let (mut at, mut width) = (0.0, 1.0);
    for (character, alphabet) in text.zip(alphabets) {
        let digit = alphabet.partition_point(|known| *known < character);
        #[expect(clippy::cast_precision_loss, reason = "a few characters")]
        let (digit_at, characters) = (digit as f64, alphabet.len() as f64);
        width /= characters;
        at += digit_at * width;
        if alphabet.get(digit) != Some(&character) {
            break;
        }
    }
    at
}

/// The shortest text at a position that differs from the texts one step away.
fn text_at(mut at: f64, step: f64, alphabets: &[Vec<char>]) -> String {
    let mut text = String::new();
    let mut width = 1.0;
    for alphabet in alphabets {
        #[expect(clippy::cast_precision_loss, reason = "a few characters")]
        let characters = alphabet.len() as f64;
        let scaled = at * characters;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the index of a character; a cast saturates"
        )]
        let digit = (scaled as usize).min(alphabet.len() - 1);
        text.push(alphabet[digit]);
        #[expect(clippy::cast_precision_loss, reason = "a few characters")]
        let whole = digit as f64;
        at = (scaled - whole).clamp(0.0, 1.0);
        width /= characters;
        if width < step / 16.0 {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(prefix: &str, keys: &[&str]) -> SplitPoints {
        let mut points = SplitPoints::below(prefix);
        keys.iter().for_each(|key| points.learn(key));
        points
    }

    #[test]
    fn numbers_are_split_by_their_digits() {
        let points = of("t/", &["t/part-000000", "t/part-000999"]);
        assert_eq!(
            points.between("t/part-000999", None, 3),
            ["t/part-25", "t/part-50", "t/part-75"]
        );
        assert_eq!(
            points.between("t/part-000999", Some("t/part-01"), 2),
            ["t/part-0039", "t/part-0069"]
        );
    }

    #[test]
    fn where_nothing_is_known_nothing_is_guessed() {
        assert!(of("t/", &[]).between("t/", None, 3).is_empty());
        assert!(of("t/", &["t/a"]).between("t/a", None, 3).is_empty());
        assert!(of("t/", &["t/a"]).between("", None, 3).is_empty());
    }

    proptest! {
        #[test]
        fn points_lie_in_order_within_the_range(
            keys in prop::collection::btree_set("t/[a-c0-2/é🦀]{0,6}", 2..20),
            count in 1_usize..20,
            is_open in any::<bool>(),
        ) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let points = of("t/", &keys);
            let (after, last) = (keys[0], keys[keys.len() - 1]);
            let until = (!is_open).then_some(last);
            let found = points.between(after, until, count);
            prop_assert!(found.len() <= count);
            prop_assert!(found.is_sorted_by(|a, b| a < b));
            prop_assert!(found.iter().all(|point| point.as_str() > after));
            prop_assert!(found.iter().all(|point| until.is_none_or(|until| point.as_str() < until)));
        }
    }
}
