//! Draws blocks of records or lines.

use std::io::{self, Write};
use std::ops::Range;
use std::pin::pin;

use futures_util::stream::{self, StreamExt};

use super::csv::{Dialect, RecordEnd, RecordState, Unread};
use super::problem::{CopyError, RowsProblem};
use super::{Copied, LONGEST_ROW, READS, RangeSource};
use crate::units::Bytes;

/// Read at once where a file is read through.
const PIECE: u64 = 1 << 20;
/// Read beyond a block for the end of its last row, in rows.
const ROWS_BEYOND: u64 = 4;
/// So many blocks are tried before too many of them may be left.
const TRIED: usize = 20;

/// A stretch of a file in memory.
pub(super) struct Window<'a, S> {
    source: &'a S,
    size: u64,
    start: u64,
    pub(super) bytes: Vec<u8>,
}

impl<'a, S: RangeSource> Window<'a, S> {
    pub(super) fn at(start: u64, source: &'a S, size: u64) -> Self {
        Self {
            source,
            size,
            start,
            bytes: Vec::new(),
        }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.end() >= self.size
    }

    /// Reads on, at most to the end of the file.
    pub(super) async fn extend(&mut self, more: u64) -> Result<(), CopyError<S::Error>> {
        let range = self.end()..self.size.min(self.end() + more);
        if !range.is_empty() {
            let read = self.source.read(range).await.map_err(CopyError::Read)?;
            self.bytes.extend_from_slice(&read);
        }
        Ok(())
    }

    /// Forgets the first bytes.
    fn forget(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.start += count as u64;
    }
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

/// A file of records or lines, and which of its blocks are drawn.
pub(super) struct TextDraw<'a> {
    pub(super) dialect: Dialect,
    /// The end of the header.
    pub(super) header: u64,
    pub(super) row: u64,
    pub(super) block: u64,
    /// Ascending.
    pub(super) drawn: &'a [u32],
}

impl TextDraw<'_> {
    /// Copies the header and the drawn rows; `is_read_through`: the file is small.
    pub(super) async fn copy<S: RangeSource>(
        &self,
        source: &S,
        size: u64,
        is_read_through: bool,
        out: &mut impl Write,
    ) -> Result<Copied, CopyError<S::Error>> {
        let mut out = RowLines {
            out,
            is_line_open: false,
        };
        let mut header = Window::at(0, source, self.header);
        header.extend(self.header).await?;
        out.write(&header.bytes)?;
        match is_read_through {
            true => self.read_through(source, size, &mut out).await,
            false => self.read_blocks(source, size, &mut out).await,
        }
    }

    /// Reads all of the file up to the last drawn block: what stands in quotes is known then.
    async fn read_through<S: RangeSource>(
        &self,
        source: &S,
        size: u64,
        out: &mut RowLines<'_, impl Write>,
    ) -> Result<Copied, CopyError<S::Error>> {
        let dialect = self.dialect.at_known_place();
        let mut copied = Copied::default();
        let end = self.drawn.last().map_or(0, |last| self.cuts(*last).end);
        let mut window = Window::at(self.header, source, size);
        let mut at = 0;
        while window.start + (at as u64) < end.min(size) {
            let rest = &window.bytes[at..];
            let is_end = window.is_at_end();
            let length = match dialect.record(rest, RecordState::FieldStart, is_end) {
                RecordEnd::Ends { next, .. } => next,
                _ if rest.len() as u64 > LONGEST_ROW => return Err(RowsProblem::LongRow.into()),
                // A quote that does not close: readers take the rest for a field.
                _ if is_end => rest.len(),
                _ => {
                    window.forget(at);
                    at = 0;
                    window.extend(PIECE).await?;
                    continue;
                }
            };
            let block = (window.start + at as u64 - self.header) / self.block;
            if u32::try_from(block).is_ok_and(|block| self.drawn.binary_search(&block).is_ok()) {
                copied.bytes = copied.bytes + Bytes(length as u64);
                out.write(&rest[..length])?;
            }
            at += length;
        }
        Ok(copied)
    }

    /// Reads the drawn blocks. A block whose rows are not recognised is passed over.
    async fn read_blocks<S: RangeSource>(
        &self,
        source: &S,
        size: u64,
        out: &mut RowLines<'_, impl Write>,
    ) -> Result<Copied, CopyError<S::Error>> {
        let read = |block: &u32| source.read(self.range(*block, size));
        let mut reads = pin!(stream::iter(self.drawn).map(read).buffered(READS));
        let mut copied = Copied::default();
        for (tried, &block) in (1..).zip(self.drawn) {
            let mut window = Window::at(self.range(block, size).start, source, size);
            let bytes = reads.next().await.expect("a read for each block");
            window.bytes = bytes.map_err(CopyError::Read)?;
            if let Some(rows) = self.rows(block, &mut window).await? {
                copied.bytes = copied.bytes + Bytes(rows.len() as u64);
                out.write(&window.bytes[rows])?;
                continue;
            }
            copied.left += 1;
            if tried >= TRIED && copied.left * 2 > tried {
                return Err(RowsProblem::Ragged {
                    left: copied.left,
                    tried,
                    fields: self.dialect.fields(),
                }
                .into());
            }
        }
        Ok(copied)
    }

    /// A block's nominal range.
    fn cuts(&self, block: u32) -> Range<u64> {
        let start = self.header + self.block * u64::from(block);
        start..start + self.block
    }

    /// What is read of a block: from the byte before it to a few rows beyond.
    fn range(&self, block: u32, size: u64) -> Range<u64> {
        let cuts = self.cuts(block);
        let beyond = self.row.saturating_mul(ROWS_BEYOND).clamp(256, PIECE);
        cuts.start.saturating_sub(1)..(cuts.end + beyond).min(size)
    }

    /// The rows that begin in a block, in the window; `None` where they are not recognised.
    async fn rows<S: RangeSource>(
        &self,
        block: u32,
        window: &mut Window<'_, S>,
    ) -> Result<Option<Range<usize>>, CopyError<S::Error>> {
        let cuts = self.cuts(block);
        let border = usize::try_from(cuts.end.min(window.size) - window.start);
        let border = border.unwrap_or(usize::MAX);
        let mut more = PIECE / 4;
        loop {
            let is_end = window.is_at_end();
            let found = match cuts.start {
                // Nothing lies before it.
                0 => self.dialect.rows(&window.bytes, None, border, is_end),
                _ => self.dialect.block(&window.bytes, border, is_end),
            };
            match found {
                Ok(rows) => return Ok(Some(rows)),
                Err(Unread::GoesOn { .. }) if !is_end => {}
                Err(_) => return Ok(None),
            }
            if window.end() > cuts.end + LONGEST_ROW {
                return match self.dialect.has_quotes() {
                    true => Ok(None),
                    false => Err(RowsProblem::LongRow.into()),
                };
            }
            window.extend(more).await?;
            more *= 2;
        }
    }
}
