//! Draws blocks of records or lines.

use std::io::{self, Write};
use std::ops::Range;
use std::pin::pin;

use futures_util::stream::{self, StreamExt};

use super::csv::{Dialect, RecordState, Unread};
use super::problem::{CopyError, Rows, RowsProblem};
use super::{Copied, LONGEST_ROW, READS, RangeSource};
use crate::units::Bytes;

/// The most that is read beyond a block at once.
const PIECE: u64 = 1 << 20;
/// Read beyond a block for the end of its last row, in rows.
const ROWS_BEYOND: u64 = 4;
/// So many blocks are tried before too many of them may be left.
const TRIED: usize = 20;

/// How records or lines lie in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLayout {
    /// The end of the header; 0 in a file of lines, which has none.
    pub(super) header: u64,
    pub(super) dialect: Dialect,
    /// The mean length of a row, as the first ones have it.
    pub(super) row: u64,
}

/// Writes rows, each on a line of its own.
struct RowLines<'a, W> {
    out: &'a mut W,
    is_line_open: bool,
}

impl<W: Write> RowLines<'_, W> {
    fn write(&mut self, rows: &[u8]) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.is_line_open {
            self.out.write_all(b"\n")?;
        }
        self.is_line_open = !rows.ends_with(b"\n");
        self.out.write_all(rows)
    }
}

/// A file of records or lines, of which blocks are drawn.
pub(super) struct TextDraw<'a, S> {
    pub(super) source: &'a S,
    pub(super) size: u64,
    pub(super) layout: TextLayout,
    pub(super) block: u64,
}

impl<S: RangeSource> TextDraw<'_, S> {
    /// Copies the header and the drawn rows; `drawn` ascends. `is_read_through`: the file is small.
    pub(super) async fn copy(
        &self,
        drawn: &[u32],
        is_read_through: bool,
        out: &mut impl Write,
    ) -> Rows<Copied, S> {
        let mut out = RowLines {
            out,
            is_line_open: false,
        };
        if self.layout.header > 0 {
            let header = self.source.read(0..self.layout.header).await;
            out.write(&header.map_err(CopyError::Read)?)?;
        }
        match is_read_through {
            true => self.read_through(drawn, &mut out).await,
            false => self.read_blocks(drawn, &mut out).await,
        }
    }

    /// Reads all of the file, and looks at it up to the last drawn block: what stands in quotes is known then.
    async fn read_through(
        &self,
        drawn: &[u32],
        out: &mut RowLines<'_, impl Write>,
    ) -> Rows<Copied, S> {
        let dialect = self.layout.dialect.at_known_place();
        let read = self.source.read(self.layout.header..self.size).await;
        let (bytes, mut at) = (read.map_err(CopyError::Read)?, 0);
        let end = drawn
            .last()
            .map_or(0, |last| (u64::from(*last) + 1) * self.block);
        let mut copied = Copied::default();
        while at < bytes.len() && (at as u64) < end {
            let rest = &bytes[at..];
            // Where a quote does not close, readers take the rest for a field.
            let row = dialect.record(rest, RecordState::FieldStart, true);
            let length = row.map_or(rest.len(), |row| row.next);
            if length as u64 > LONGEST_ROW {
                return Err(RowsProblem::LongRow.into());
            }
            let block = u32::try_from(at as u64 / self.block);
            if block.is_ok_and(|block| drawn.binary_search(&block).is_ok()) {
                copied.bytes = copied.bytes + Bytes(length as u64);
                out.write(&rest[..length])?;
            }
            at += length;
        }
        Ok(copied)
    }

    /// Reads the drawn blocks. A block whose rows are not recognised is passed over.
    async fn read_blocks(
        &self,
        drawn: &[u32],
        out: &mut RowLines<'_, impl Write>,
    ) -> Rows<Copied, S> {
        let read = |block: &u32| self.source.read(self.range(*block));
        let mut reads = pin!(stream::iter(drawn).map(read).buffered(READS));
        let mut copied = Copied::default();
        for (tried, &block) in (1..).zip(drawn) {
            let bytes = reads.next().await.expect("a read for each block");
            let mut bytes = bytes.map_err(CopyError::Read)?;
            if let Some(rows) = self.rows(block, &mut bytes).await? {
                copied.bytes = copied.bytes + Bytes(rows.len() as u64);
                out.write(&bytes[rows])?;
                continue;
            }
            copied.left += 1;
            if tried >= TRIED && copied.left * 2 > tried {
                return Err(RowsProblem::Ragged {
                    left: copied.left,
                    tried,
                    fields: self.layout.dialect.fields[0],
                }
                .into());
            }
        }
        Ok(copied)
    }

    /// A block's nominal range.
    fn cuts(&self, block: u32) -> Range<u64> {
        let start = self.layout.header + self.block * u64::from(block);
        start..start + self.block
    }

    /// What is read of a block: from the byte before it to a few rows beyond.
    fn range(&self, block: u32) -> Range<u64> {
        let cuts = self.cuts(block);
        let beyond = self.layout.row.saturating_mul(ROWS_BEYOND);
        let end = cuts.end + beyond.clamp(256, PIECE);
        cuts.start.saturating_sub(1)..end.min(self.size)
    }

    /// The rows that begin in a block, in its bytes, of which more are read where they are needed; `None` where rows are not
    /// recognised.
    async fn rows(&self, block: u32, bytes: &mut Vec<u8>) -> Rows<Option<Range<usize>>, S> {
        let (cuts, start) = (self.cuts(block), self.range(block).start);
        let border = usize::try_from(cuts.end.min(self.size) - start).unwrap_or(usize::MAX);
        let dialect = self.layout.dialect;
        let mut more = PIECE / 4;
        loop {
            let end = start + bytes.len() as u64;
            let is_end = end >= self.size;
            let found = match cuts.start {
                // Nothing lies before it.
                0 => dialect.rows(bytes, None, border, is_end),
                _ => dialect.block(bytes, border, is_end),
            };
            match found {
                Ok(rows) => return Ok(Some(rows)),
                Err(Unread::GoesOn { .. }) if !is_end => {}
                Err(_) => return Ok(None),
            }
            if end > cuts.end + LONGEST_ROW {
                return match dialect.has_quotes() {
                    true => Ok(None),
                    false => Err(RowsProblem::LongRow.into()),
                };
            }
            let next = self.source.read(end..self.size.min(end + more)).await;
            bytes.extend(next.map_err(CopyError::Read)?);
            more *= 2;
        }
    }
}
