//! Draws members of a tar archive. Those of one stem, `000017.jpg` and `000017.cls`, are one sample and stay together.
//!
//! A block's samples are those between two boundaries. The boundary of a cut is the first change of the stem after the first
//! header at or after the cut; so it depends on the cut alone, and neighbours agree on it.

use std::ops::Range;

use super::output::{Copied, RowOutput};
use super::problem::{CopyError, RowsProblem};
use super::window::{PIECE, Window};
use super::{RangeSource, RowLayout, RowSink};
use crate::units::Bytes;

const RECORD: u64 = 512;
/// Read around a header: it is small, and the member behind it is often small too.
const AROUND: u64 = 16 * Bytes::KIB;
/// Longer names of members are none.
const LONGEST_NAME: u64 = 64 * Bytes::KIB;

pub(super) struct TarDraw<'a> {
    pub(super) block: u64,
    /// Ascending.
    pub(super) drawn: &'a [u32],
}

/// One member with the headers that extend its own.
#[derive(Debug, PartialEq, Eq)]
struct TarMember {
    stem: String,
    /// Where the next one begins.
    end: u64,
}

/// What stands where a header may.
enum TarRecord {
    Member {
        name: String,
        kind: u8,
        size: u64,
    },
    /// Zeros: the archive ends.
    End,
    /// Something else.
    Not,
}

pub(super) async fn inspect_tar<S: RangeSource>(
    window: &mut Window<'_, S>,
    cautions: &mut Vec<String>,
) -> Result<RowLayout, CopyError<S::Error>> {
    const FIRST: u64 = 20;
    let (mut at, mut samples, mut last) = (0, 0, None);
    let mut members = 0;
    while members < FIRST {
        match member(window, at).await? {
            Some(member) => {
                at = member.end;
                members += 1;
                if last.as_ref() != Some(&member.stem) {
                    samples += 1;
                    last = Some(member.stem);
                }
            }
            None if members == 0 => {
                return Err(RowsProblem::NotTar("no header is where one should be").into());
            }
            None => break,
        }
    }
    let end = window.size().saturating_sub(RECORD)..window.size();
    if window.read_apart(end).await?.iter().any(|byte| *byte != 0) {
        cautions.push("it does not end as archives do, so it may have been cut".to_owned());
    }
    Ok(RowLayout::Tar {
        sample: at / samples,
    })
}

impl TarDraw<'_> {
    pub(super) async fn copy<S, K>(
        &self,
        window: &mut Window<'_, S>,
        out: &mut RowOutput<'_, K>,
    ) -> Result<Copied, CopyError<S::Error>>
    where
        S: RangeSource,
        K: RowSink<Error = S::Error>,
    {
        let mut copied = Copied::default();
        let mut known: Option<(u64, u64)> = None;
        for block in self.drawn {
            let cut = self.block * u64::from(*block);
            let start = match known {
                Some((of, boundary)) if of == cut => boundary,
                _ => boundary(window, cut).await?,
            };
            let next = cut + self.block;
            let end = boundary(window, next).await?;
            known = Some((next, end));
            let mut at = start;
            while at < end {
                let piece = at..(at + PIECE).min(end);
                at = piece.end;
                out.piece(window.read_apart(piece).await?).await?;
            }
            copied.bytes = copied.bytes + Bytes(end.saturating_sub(start));
        }
        out.piece(vec![0; 2 * 512]).await?;
        Ok(copied)
    }
}

/// Where the samples of a cut begin: 0 for 0, the end of the last member beyond it.
async fn boundary<S: RangeSource>(
    window: &mut Window<'_, S>,
    cut: u64,
) -> Result<u64, CopyError<S::Error>> {
    if cut == 0 {
        return Ok(0);
    }
    // A header found there may be the second of its member's, whose name it then lacks: the one after it is whole.
    let Some(mut at) = after_first_header(window, cut).await? else {
        return Ok(window.size());
    };
    let mut last: Option<String> = None;
    loop {
        match member(window, at).await? {
            Some(next) if last.as_ref().is_some_and(|last| *last != next.stem) => return Ok(at),
            Some(next) => {
                at = next.end;
                last = Some(next.stem);
            }
            // With the end mark, which is written again.
            None => return Ok(window.size()),
        }
    }
}

/// Behind the first member whose header lies at or after a cut; `None` where no header does.
async fn after_first_header<S: RangeSource>(
    window: &mut Window<'_, S>,
    cut: u64,
) -> Result<Option<u64>, CopyError<S::Error>> {
    const SCANNED: u64 = 64 * Bytes::KIB;
    let mut at = cut.next_multiple_of(RECORD);
    while at + RECORD <= window.size() {
        let record = window.at(at..at + RECORD, SCANNED).await?;
        if !matches!(header(record), TarRecord::Member { .. }) {
            at += RECORD;
            continue;
        }
        // What only looks like a header has none behind it.
        if let Some(found) = member(window, at).await?
            && is_header_or_end(window, found.end).await?
        {
            return Ok(Some(found.end));
        }
        at += RECORD;
    }
    Ok(None)
}

async fn is_header_or_end<S: RangeSource>(
    window: &mut Window<'_, S>,
    at: u64,
) -> Result<bool, CopyError<S::Error>> {
    if at + RECORD > window.size() {
        return Ok(at <= window.size());
    }
    let record = window.at(at..at + RECORD, AROUND).await?;
    Ok(!matches!(header(record), TarRecord::Not))
}

/// The member whose headers begin here; `None` at the end of the archive.
async fn member<S: RangeSource>(
    window: &mut Window<'_, S>,
    start: u64,
) -> Result<Option<TarMember>, CopyError<S::Error>> {
    let mut at = start;
    let (mut long_name, mut long_size) = (None, None);
    while at + RECORD <= window.size() {
        let record = window.at(at..at + RECORD, AROUND).await?;
        let TarRecord::Member { name, kind, size } = header(record) else {
            return Ok(None);
        };
        let is_extension = matches!(kind, b'x' | b'g' | b'L' | b'K');
        let size = match kind {
            // Links, devices and folders have no content.
            b'1'..=b'6' => 0,
            _ if is_extension => size,
            _ => long_size.unwrap_or(size),
        };
        let content = at + RECORD;
        let Some(end) = content
            .checked_add(size)
            .and_then(|end| end.checked_next_multiple_of(RECORD))
            .filter(|end| *end <= window.size())
        else {
            return Ok(None);
        };
        if !is_extension {
            let name = long_name.unwrap_or(name);
            let stem = stem(&name).to_owned();
            return Ok(Some(TarMember { stem, end }));
        }
        if matches!(kind, b'x' | b'L') && size <= LONGEST_NAME {
            let text = window.at(content..content + size, 0).await?;
            if kind == b'L' {
                long_name = Some(text_of(text));
            } else {
                let (path, size) = extended(text);
                long_name = path.or(long_name);
                long_size = size.or(long_size);
            }
        }
        at = end;
    }
    Ok(None)
}

/// Path and size in a PAX header: records `LENGTH KEY=VALUE\n`.
fn extended(mut text: &[u8]) -> (Option<String>, Option<u64>) {
    let (mut path, mut size) = (None, None);
    while let Some(space) = text.iter().position(|byte| *byte == b' ') {
        let length = str::from_utf8(&text[..space]).ok();
        let Some(length) = length.and_then(|text| text.parse::<usize>().ok()) else {
            break;
        };
        let Some(record) = text.get(space + 1..length.saturating_sub(1)) else {
            break;
        };
        if let Some(value) = record.strip_prefix(b"path=") {
            path = Some(String::from_utf8_lossy(value).into_owned());
        } else if let Some(value) = record.strip_prefix(b"size=") {
            size = str::from_utf8(value)
                .ok()
                .and_then(|text| text.parse().ok());
        }
        text = &text[length..];
    }
    (path, size)
}

/// Folder and name up to the first dot of the name, as `WebDataset` groups members.
fn stem(name: &str) -> &str {
    let of_name = name.rfind('/').map_or(0, |slash| slash + 1);
    match name[of_name..].find('.') {
        Some(dot) => &name[..of_name + dot],
        None => name,
    }
}

/// What a record is, by its checksum.
fn header(record: &[u8]) -> TarRecord {
    const CHECKSUM: Range<usize> = 148..156;
    if record.iter().all(|byte| *byte == 0) {
        return TarRecord::End;
    }
    let as_summed = |(place, byte): (usize, &u8)| match CHECKSUM.contains(&place) {
        true => u64::from(b' '),
        false => u64::from(*byte),
    };
    let sum: u64 = record.iter().enumerate().map(as_summed).sum();
    let (Some(written), Some(size)) = (octal(&record[CHECKSUM]), octal(&record[124..136])) else {
        return TarRecord::Not;
    };
    if written != sum || record[0] == 0 {
        return TarRecord::Not;
    }
    let mut name = text_of(&record[..100]);
    let prefix = text_of(&record[345..500]);
    if &record[257..263] == b"ustar\0" && !prefix.is_empty() {
        name = format!("{prefix}/{name}");
    }
    TarRecord::Member {
        name,
        kind: record[156],
        size,
    }
}

/// Up to the first NUL.
fn text_of(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

/// A number in octal digits, or with its first bit set in binary ones.
fn octal(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        if field.len() <= 8 {
            return None;
        }
        let (beginning, low) = field.split_at(field.len() - 8);
        let is_small = beginning[1..].iter().all(|byte| *byte == 0) && beginning[0] == 0x80;
        return is_small.then(|| low.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    }
    let text = text_of(field);
    u64::from_str_radix(text.trim(), 8).ok()
}
