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
/// Two records of zeros.
const END_MARK: usize = 1024;
/// Read around a header: it is small, and the member behind it is often small too.
const AROUND: u64 = 16 * Bytes::KIB;
/// A longer name is passed over.
const LONGEST_NAME: u64 = 64 * Bytes::KIB;

pub(super) struct TarDraw<'a> {
    pub(super) block: u64,
    /// Ascending.
    pub(super) drawn: &'a [u32],
}

/// Before a member is found, so much is read in vain; or a block, where that is longer.
const LONGEST_SCAN: u64 = 64 * Bytes::MIB;
const NO_HEADER: RowsProblem = RowsProblem::NotTar("no header is where one should be");

/// One member with the headers that extend its own.
#[derive(Debug, PartialEq, Eq)]
struct TarMember {
    stem: String,
    /// Where the next one begins.
    end: u64,
}

/// What stands where a member may begin.
#[derive(Debug, PartialEq, Eq)]
enum TarPlace {
    Member(TarMember),
    /// The archive ends here, with its mark or because it was cut.
    End,
    /// No header.
    Other,
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
            TarPlace::Member(member) => {
                at = member.end;
                members += 1;
                if last.as_ref() != Some(&member.stem) {
                    samples += 1;
                    last = Some(member.stem);
                }
            }
            TarPlace::End if members > 0 => break,
            TarPlace::End | TarPlace::Other => return Err(NO_HEADER.into()),
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
                _ => boundary(window, cut, self.block).await?,
            };
            let next = cut + self.block;
            let end = boundary(window, next, self.block).await?;
            known = Some((next, end));
            let mut at = start;
            while at < end {
                let piece = at..(at + PIECE).min(end);
                at = piece.end;
                out.piece(window.read_apart(piece).await?).await?;
            }
            copied.bytes = copied.bytes + Bytes(end.saturating_sub(start));
        }
        out.piece(vec![0; END_MARK]).await?;
        Ok(copied)
    }
}

/// Where the samples of a cut begin: 0 for 0, the end of the file where none does.
async fn boundary<S: RangeSource>(
    window: &mut Window<'_, S>,
    cut: u64,
    block: u64,
) -> Result<u64, CopyError<S::Error>> {
    if cut == 0 {
        return Ok(0);
    }
    let longest = LONGEST_SCAN.max(block);
    // A header found there may be the second of its member's, whose name it then lacks: the one after it is whole.
    let mut at = match after_first_header(window, cut, longest).await? {
        TarScan::Found(behind) => behind,
        TarScan::End => return Ok(window.size()),
        TarScan::TooLong => return Err(RowsProblem::LongMember(Bytes(longest)).into()),
    };
    let mut last: Option<String> = None;
    loop {
        match member(window, at).await? {
            TarPlace::Member(next) if last.as_ref().is_some_and(|last| *last != next.stem) => {
                return Ok(at);
            }
            TarPlace::Member(next) => {
                at = next.end;
                last = Some(next.stem);
            }
            TarPlace::End => {
                // Readers end at the mark, and a block that reached over it would hold those of others.
                let goes_on = after_first_header(window, at, longest).await?;
                return match goes_on {
                    TarScan::Found(_) => Err(RowsProblem::NotTar(
                        "members follow its end mark, as where archives were joined",
                    )
                    .into()),
                    // With the end mark, which is written again.
                    TarScan::End | TarScan::TooLong => Ok(window.size()),
                };
            }
            TarPlace::Other => return Err(NO_HEADER.into()),
        }
    }
}

/// What a search for a header found.
enum TarScan {
    /// Behind the first member whose header lies there.
    Found(u64),
    /// No header up to the end of the file.
    End,
    /// No header in what may be read in vain.
    TooLong,
}

/// Looks for the first member whose header lies at or after a cut.
async fn after_first_header<S: RangeSource>(
    window: &mut Window<'_, S>,
    cut: u64,
    longest: u64,
) -> Result<TarScan, CopyError<S::Error>> {
    const SCANNED: u64 = 64 * Bytes::KIB;
    let mut at = cut.next_multiple_of(RECORD);
    while at + RECORD <= window.size() {
        if at - cut > longest {
            return Ok(TarScan::TooLong);
        }
        let record = window.at(at..at + RECORD, SCANNED).await?;
        if !matches!(header(record), TarRecord::Member { .. }) {
            at += RECORD;
            continue;
        }
        // What only looks like a header has none behind it.
        if let TarPlace::Member(found) = member(window, at).await?
            && is_header_or_end(window, found.end).await?
        {
            return Ok(TarScan::Found(found.end));
        }
        at += RECORD;
    }
    Ok(TarScan::End)
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

/// The member whose headers begin here.
async fn member<S: RangeSource>(
    window: &mut Window<'_, S>,
    start: u64,
) -> Result<TarPlace, CopyError<S::Error>> {
    let mut at = start;
    let (mut long_name, mut long_size) = (None, None);
    while at + RECORD <= window.size() {
        let record = window.at(at..at + RECORD, AROUND).await?;
        let (name, kind, size) = match header(record) {
            TarRecord::Member { name, kind, size } => (name, kind, size),
            TarRecord::End => return Ok(TarPlace::End),
            TarRecord::Not => return Ok(TarPlace::Other),
        };
        let is_extension = is_extension(kind);
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
            return Ok(TarPlace::End);
        };
        if !is_extension {
            let name = long_name.unwrap_or(name);
            let stem = stem(&name).to_owned();
            return Ok(TarPlace::Member(TarMember { stem, end }));
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
    Ok(TarPlace::End)
}

/// Whether a header is about the one that follows.
fn is_extension(kind: u8) -> bool {
    matches!(kind, b'x' | b'g' | b'L' | b'K')
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
        let Some(rest) = text.get(length..) else {
            break;
        };
        text = rest;
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
    let kind = record[156];
    // Some writers give PAX headers no name.
    if written != sum || record[0] == 0 && !is_extension(kind) {
        return TarRecord::Not;
    }
    let mut name = text_of(&record[..100]);
    let prefix = text_of(&record[345..500]);
    if &record[257..263] == b"ustar\0" && !prefix.is_empty() {
        name = format!("{prefix}/{name}");
    }
    TarRecord::Member { name, kind, size }
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
