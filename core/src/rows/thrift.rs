//! Whether a Parquet footer says that columns are encrypted. The footer itself may be plain then, and a reader without keys,
//! as the crate `parquet` is here, passes over that field.
//!
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>

/// `FileMetaData.encryption_algorithm`.
const ENCRYPTION_ALGORITHM: i64 = 8;
/// Structures in one another; a footer has fewer than ten.
const DEEPEST: u32 = 32;

/// `None` where the bytes are no footer.
pub(super) fn is_encrypted(footer: &[u8]) -> Option<bool> {
    let mut compact = Compact(footer);
    let mut last = 0;
    while let Some((field, kind)) = compact.field(&mut last)? {
        if field == ENCRYPTION_ALGORITHM {
            return Some(true);
        }
        compact.skip(kind, DEEPEST)?;
    }
    Some(false)
}

/// What is left to read.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    /// Number and kind of the next field of a structure; `Some(None)` at its end.
    fn field(&mut self, last: &mut i64) -> Option<Option<(i64, u8)>> {
        let header = self.byte()?;
        if header == 0 {
            return Some(None);
        }
        *last = match header >> 4 {
            0 => {
                let zigzag = self.number()?;
                i64::try_from(zigzag >> 1).ok()? ^ -i64::from(zigzag & 1 == 1)
            }
            delta => last.checked_add(i64::from(delta))?,
        };
        Some(Some((*last, header & 0xf)))
    }

    fn skip(&mut self, kind: u8, deepest: u32) -> Option<()> {
        let deepest = deepest.checked_sub(1)?;
        match kind {
            // The kind is the value.
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.number().map(|_| ()),
            7 => self.pass(8),
            8 => {
                let length = self.number()?;
                self.pass(length)
            }
            9 | 10 => {
                let header = self.byte()?;
                let count = match header >> 4 {
                    15 => self.number()?,
                    few => u64::from(few),
                };
                (0..count).try_for_each(|_| self.skip_element(header & 0xf, deepest))
            }
            11 => {
                let count = self.number()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, deepest)?;
                    self.skip_element(kinds & 0xf, deepest)
                })
            }
            12 => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, deepest)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// In a list a truth value has a byte of its own.
    fn skip_element(&mut self, kind: u8, deepest: u32) -> Option<()> {
        match kind {
            1 | 2 => self.pass(1),
            _ => self.skip(kind, deepest),
        }
    }
}
