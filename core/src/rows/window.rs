//! [`Window`]: what of a file is in memory.

use std::ops::Range;

use super::problem::CopyError;
use super::{RangeSource, RowFile};

/// Read at once where a file is read through, and where much is copied as it is.
pub(super) const PIECE: u64 = 1 << 20;

/// A stretch of a file in memory, over its source.
pub(super) struct Window<'a, S> {
    source: &'a mut S,
    size: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a, S: RangeSource> Window<'a, S> {
    pub(super) fn new(source: &'a mut S, file: &RowFile) -> Self {
        Self::over(source, file.bytes.0)
    }

    pub(super) fn over(source: &'a mut S, size: u64) -> Self {
        Self {
            source,
            size,
            start: 0,
            bytes: Vec::new(),
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.end() >= self.size
    }

    pub(super) fn expect(&mut self, ranges: Vec<Range<u64>>) {
        self.source.expect(ranges);
    }

    /// Forgets all and reads a range.
    pub(super) async fn jump(&mut self, range: Range<u64>) -> Result<(), CopyError<S::Error>> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        self.start = range.start;
        self.bytes.clear();
        self.bytes = self.read(range).await?;
        Ok(())
    }

    /// Reads on, at most to the end of the file.
    pub(super) async fn extend(&mut self, more: u64) -> Result<(), CopyError<S::Error>> {
        let end = self.end();
        let read = self.read(end..(end + more).min(self.size)).await?;
        self.bytes.extend_from_slice(&read);
        Ok(())
    }

    /// Forgets what lies before.
    pub(super) fn forget_before(&mut self, offset: u64) {
        let count = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        self.bytes.drain(..count.min(self.bytes.len()));
        self.start = offset;
    }

    /// A range that is in memory.
    pub(super) fn slice(&self, range: Range<u64>) -> &[u8] {
        let place = |offset: u64| usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        &self.bytes[place(range.start)..place(range.end)]
    }

    /// Bytes of the file, from memory where they are there; else a piece from there on is read.
    pub(super) async fn at(
        &mut self,
        range: Range<u64>,
        piece: u64,
    ) -> Result<&[u8], CopyError<S::Error>> {
        if range.start < self.start || range.end > self.end() {
            let length = (range.end - range.start).max(piece);
            self.jump(range.start..range.start + length).await?;
        }
        Ok(self.slice(range))
    }

    /// Bytes of the file without a copy in memory; those that are there are not read again.
    pub(super) async fn read_apart(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, CopyError<S::Error>> {
        if range.start >= self.start && range.end <= self.end() {
            return Ok(self.slice(range).to_vec());
        }
        self.read(range).await
    }

    async fn read(&mut self, range: Range<u64>) -> Result<Vec<u8>, CopyError<S::Error>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        self.source.read(range).await.map_err(CopyError::Io)
    }
}
