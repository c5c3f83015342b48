//! [`PackedPage`]: the keys of a page that wait for those before them, in little memory.

use crate::canary::{Objects, ObjectsBuilder, TooManyObjects};
use crate::units::Bytes;

/// Before the 16 bytes of a quoted MD5 sum, which most `ETag`s are.
const MD5: u8 = 1;
/// Before the length of a text in two bytes, and the text.
const TEXT: u8 = 0;

/// Keys in their order, with sizes and `ETag`s.
#[derive(Debug, Default)]
pub(super) struct PackedPage {
    objects: Objects,
    tags: Box<[u8]>,
}

/// Builds a [`PackedPage`].
#[derive(Debug, Default)]
pub(super) struct PagePacker {
    objects: ObjectsBuilder,
    tags: Vec<u8>,
}

impl PagePacker {
    /// Keys come in their order.
    pub(super) fn push(
        &mut self,
        key: &str,
        bytes: Bytes,
        tag: &str,
    ) -> Result<(), TooManyObjects> {
        match md5(tag) {
            Some(sum) => {
                self.tags.push(MD5);
                self.tags.extend(sum.to_be_bytes());
            }
            None => {
                // No store has longer ones; what is cut here differs from what is not, and nothing else is asked of it.
                let tag = &tag[..tag.floor_char_boundary(usize::from(u16::MAX))];
                let length = u16::try_from(tag.len()).unwrap_or(u16::MAX);
                self.tags.push(TEXT);
                self.tags.extend(length.to_be_bytes());
                self.tags.extend(tag.as_bytes());
            }
        }
        self.objects.push(key, bytes)
    }

    pub(super) fn finish(self) -> PackedPage {
        PackedPage {
            objects: self.objects.finish(),
            tags: self.tags.into(),
        }
    }
}

impl PackedPage {
    /// Visits every key in order until one is refused.
    pub(super) fn try_for_each<E>(
        &self,
        mut visit: impl FnMut(&str, Bytes, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut tags = &*self.tags;
        let mut ended = Ok(());
        self.objects.for_each(|key, bytes| {
            let tag = next_tag(&mut tags);
            if ended.is_ok() {
                ended = visit(key, bytes, &tag);
            }
        });
        ended
    }
}

/// The sum in a quoted tag of 32 lowercase digits, and in no other.
fn md5(tag: &str) -> Option<u128> {
    let digits = tag.strip_prefix('"')?.strip_suffix('"')?;
    let is_sum = digits.len() == 32
        && (digits.bytes()).all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_sum.then(|| u128::from_str_radix(digits, 16).ok())?
}

fn next_tag(tags: &mut &[u8]) -> String {
    let mut take = |count: usize| {
        let (taken, rest) = tags.split_at(count);
        *tags = rest;
        taken
    };
    if take(1) == [MD5] {
        let sum = take(16).try_into().expect("16 bytes");
        return format!("\"{:032x}\"", u128::from_be_bytes(sum));
    }
    let length = u16::from_be_bytes(take(2).try_into().expect("2 bytes"));
    String::from_utf8_lossy(take(usize::from(length))).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tag() -> impl Strategy<Value = String> {
        prop_oneof![
            "\"[0-9a-f]{32}\"",
            "\"[0-9a-fA-F]{32}\"",
            "\"[0-9a-f]{32}-[0-9]{1,4}\"",
            any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out(
            objects in prop::collection::btree_map(any::<String>(), (0..u64::MAX / 64, tag()), 0..40)
        ) {
            let mut packer = PagePacker::default();
            for (key, (bytes, tag)) in &objects {
                packer.push(key, Bytes(*bytes), tag).unwrap();
            }
            let mut found = Vec::new();
            let visited: Result<(), ()> = packer.finish().try_for_each(|key, bytes, tag| {
                found.push((key.to_owned(), (bytes.0, tag.to_owned())));
                Ok(())
            });
            prop_assert!(visited.is_ok());
            prop_assert_eq!(found, objects.into_iter().collect::<Vec<_>>());
        }
    }
}
