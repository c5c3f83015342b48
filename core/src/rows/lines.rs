//! Draws blocks of records or lines.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::csv::{BlockRows, Dialect, RecordEnd, RecordState};
use super::output::{Copied, RowOutput};
use super::problem::{CopyError, RowsProblem};
use super::window::{PIECE, Window};
use super::{LONGEST_ROW, RangeSource, RowSink};
use crate::units::Bytes;

/// Read beyond a block for the end of its last row, in rows.
const ROWS_BEYOND: u64 = 4;
/// So many blocks are tried before too many of them may be left.
const TRIED: usize = 20;

/// A file of records or lines, and which of its blocks are drawn.
pub(super) struct TextDraw<'a> {
    pub(super) dialect: Dialect,
    /// The end of the header.
    pub(super) header: u64,
    pub(super) row: u64,
    pub(super) block: u64,
    /// How many blocks there are.
    pub(super) blocks: u32,
    /// Ascending.
    pub(super) drawn: &'a [u32],
}

impl TextDraw<'_> {
    /// Reads all of the file up to the last drawn block: what stands in quotes is known then.
    pub(super) async fn read_through<S, K>(
        &self,
        window: &mut Window<'_, S>,
        out: &mut RowOutput<'_, K>,
    ) -> Result<Copied, CopyError<S::Error>>
    where
        S: RangeSource,
        K: RowSink<Error = S::Error>,
    {
        let dialect = self.dialect.at_known_place();
        let Some(last) = self.drawn.last() else {
            return Ok(Copied::default());
        };
        let end = self.cuts(*last).end.min(window.size());
        let mut copied = Copied::default();
        window.jump(self.header..self.header + PIECE).await?;
        let mut at = self.header;
        while at < end {
            let rest = window.slice(at..window.end());
            match dialect.record(rest, RecordState::FieldStart, window.is_at_end()) {
                RecordEnd::Ends { next, .. } => {
                    let next = at + next as u64;
                    let block = u32::try_from((at - self.header) / self.block).unwrap_or(u32::MAX);
                    if self.drawn.binary_search(&block).is_ok() {
                        copied.bytes = copied.bytes + Bytes(next - at);
                        out.rows(window.slice(at..next)).await?;
                    }
                    at = next;
                }
                RecordEnd::GoesOn | RecordEnd::Malformed => {
                    if window.end() - at > LONGEST_ROW {
                        return Err(RowsProblem::LongRow.into());
                    }
                    if window.is_at_end() {
                        // A quote that does not close: readers take the rest for a field.
                        let block = u32::try_from((at - self.header) / self.block);
                        if block.is_ok_and(|block| self.drawn.binary_search(&block).is_ok()) {
                            copied.bytes = copied.bytes + Bytes(window.end() - at);
                            out.rows(window.slice(at..window.end())).await?;
                        }
                        break;
                    }
                    window.forget_before(at);
                    window.extend(PIECE).await?;
                }
            }
        }
        Ok(copied)
    }

    /// Reads the drawn blocks. A block whose rows are not recognised is passed over, and the next undrawn one is taken instead.
    pub(super) async fn read_blocks<S, K>(
        &self,
        window: &mut Window<'_, S>,
        out: &mut RowOutput<'_, K>,
    ) -> Result<Copied, CopyError<S::Error>>
    where
        S: RangeSource,
        K: RowSink<Error = S::Error>,
    {
        let expected = self.drawn.iter().map(|block| self.range(*block, window));
        let expected = expected.collect();
        window.expect(expected);
        let mut copied = Copied::default();
        let mut taken: BTreeSet<u32> = self.drawn.iter().copied().collect();
        let mut waiting: VecDeque<u32> = self.drawn.iter().copied().collect();
        let mut tried = 0;
        while let Some(block) = waiting.pop_front() {
            tried += 1;
            if let Some(range) = self.rows(block, window).await? {
                copied.bytes = copied.bytes + Bytes(range.end - range.start);
                out.rows(window.slice(range)).await?;
                continue;
            }
            copied.left += 1;
            let others = (block..self.blocks).chain(0..block);
            let next = others.into_iter().find(|other| !taken.contains(other));
            let is_too_many = tried >= TRIED && copied.left * 2 > tried;
            match next.filter(|_| !is_too_many) {
                Some(next) => {
                    taken.insert(next);
                    waiting.push_back(next);
                }
                None => {
                    return Err(RowsProblem::Ragged {
                        left: copied.left,
                        tried,
                        fields: self.dialect.fields(),
                    }
                    .into());
                }
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
    fn range<S: RangeSource>(&self, block: u32, window: &Window<'_, S>) -> Range<u64> {
        let cuts = self.cuts(block);
        let beyond = self.row.saturating_mul(ROWS_BEYOND).clamp(256, PIECE);
        cuts.start.saturating_sub(1)..(cuts.end + beyond).min(window.size())
    }

    /// The rows that begin in a block, now in the window; `None` where they are not recognised.
    async fn rows<S: RangeSource>(
        &self,
        block: u32,
        window: &mut Window<'_, S>,
    ) -> Result<Option<Range<u64>>, CopyError<S::Error>> {
        let cuts = self.cuts(block);
        let border = cuts.end.min(window.size());
        window.jump(self.range(block, window)).await?;
        let offset = window.start();
        let at = |index: usize| offset + index as u64;
        let mut more = PIECE / 4;
        loop {
            let bytes = window.bytes();
            let border = usize::try_from(border - offset).unwrap_or(usize::MAX);
            let found = match cuts.start {
                // Nothing lies before it.
                0 => self.first_block(bytes, border, window.is_at_end()),
                _ => self.dialect.block(bytes, border, window.is_at_end()),
            };
            match found {
                BlockRows::None => return Ok(Some(offset..offset)),
                BlockRows::Range { start, end } => return Ok(Some(at(start)..at(end))),
                BlockRows::Left => return Ok(None),
                BlockRows::More if window.is_at_end() => return Ok(None),
                BlockRows::More if window.end() > cuts.end + LONGEST_ROW => {
                    return match self.dialect.has_quotes() {
                        true => Ok(None),
                        false => Err(RowsProblem::LongRow.into()),
                    };
                }
                BlockRows::More => window.extend(more).await?,
            }
            more *= 2;
        }
    }

    /// A first block without a header before it.
    fn first_block(&self, bytes: &[u8], border: usize, is_end: bool) -> BlockRows {
        let mut at = 0;
        while at < border {
            let rest = &bytes[at..];
            match self.dialect.record(rest, RecordState::FieldStart, is_end) {
                RecordEnd::Ends { next, .. } => at += next,
                RecordEnd::GoesOn => return BlockRows::More,
                RecordEnd::Malformed => return BlockRows::Left,
            }
        }
        BlockRows::Range { start: 0, end: at }
    }
}
