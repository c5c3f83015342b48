//! What a copy writes, gathered into pieces, and what is counted of it.

use super::RowSink;
use super::problem::CopyError;
use crate::units::Bytes;

/// Written at once.
const FLUSHED: usize = 1 << 20;

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// Of rows, without header and footer.
    pub bytes: Bytes,
    /// Blocks that were passed over, since their rows could not be recognised; others took their place.
    pub left: usize,
}

/// Gathers what is written.
pub(super) struct RowOutput<'a, K> {
    sink: &'a mut K,
    waiting: Vec<u8>,
    /// Of all that was written.
    last: Option<u8>,
    written: u64,
}

impl<'a, K: RowSink> RowOutput<'a, K> {
    pub(super) fn new(sink: &'a mut K) -> Self {
        Self {
            sink,
            waiting: Vec::new(),
            last: None,
            written: 0,
        }
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Writes rows, each on a line of its own.
    pub(super) async fn rows(&mut self, bytes: &[u8]) -> Result<(), CopyError<K::Error>> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.last.is_some_and(|last| last != b'\n') {
            self.bytes(b"\n").await?;
        }
        self.bytes(bytes).await
    }

    pub(super) async fn bytes(&mut self, bytes: &[u8]) -> Result<(), CopyError<K::Error>> {
        self.last = bytes.last().copied().or(self.last);
        self.written += bytes.len() as u64;
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= FLUSHED {
            self.flush().await?;
        }
        Ok(())
    }

    /// Writes bytes that are in memory already.
    pub(super) async fn piece(&mut self, bytes: Vec<u8>) -> Result<(), CopyError<K::Error>> {
        self.flush().await?;
        self.last = bytes.last().copied().or(self.last);
        self.written += bytes.len() as u64;
        self.sink.write(bytes).await.map_err(CopyError::Io)
    }

    pub(super) async fn flush(&mut self) -> Result<(), CopyError<K::Error>> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.waiting);
        self.sink.write(bytes).await.map_err(CopyError::Io)
    }
}
