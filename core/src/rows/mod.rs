//! **Rows** of one or a few objects: which blocks a file has, and how the drawn ones become a smaller file of the same format.
//!
//! A block is a range of the file. Where its rows begin and end is found when it is read, from the two cuts alone: a row
//! belongs to the block in which its first byte lies. So blocks are disjoint, none is read for another, and a file of any size
//! needs no index. A Parquet file's blocks are its row groups, which its footer lists.
//!
//! | format | rows | kept beside them |
//! |---|---|---|
//! | CSV, TSV | records, with line ends in quotes | the header |
//! | JSON lines, text, by name or by the first bytes | lines | |
//! | Parquet | row groups, copied as they are | a footer that is written again |
//!
//! Pure: bytes come from a [`RangeSource`] and go where the caller says; memory holds a few blocks, a footer, or a small file at a time.

mod blocks;
mod csv;
mod format;
mod inspect;
mod problem;
mod row_groups;
mod text;

pub use blocks::{BlockPlace, RowBlocks};
pub use format::RowFormat;
pub use inspect::{BEGINNING, inspect};
pub use problem::{CopyError, RowsProblem};
pub use text::TextLayout;

use std::future::Future;
use std::io::Write;
use std::ops::Range;

use crate::units::Bytes;

/// The longest row of a text format, and the longest header.
pub const LONGEST_ROW: u64 = 8 * Bytes::MIB;
/// A file up to this size is read from its beginning to its end, so that its blocks may be single rows; of a larger one only
/// the blocks are read.
pub const READ_THROUGH: u64 = if cfg!(test) { 2 } else { 64 } * Bytes::MIB;
/// Ranges that are read side by side.
const READS: usize = 4;

/// Where the bytes of one file come from.
pub trait RangeSource {
    type Error;

    /// All bytes of a range that lies within the file.
    fn read(&self, range: Range<u64>) -> impl Future<Output = Result<Vec<u8>, Self::Error>>;
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, derive_more::Add)]
pub struct Copied {
    /// Of rows, without header and footer.
    pub bytes: Bytes,
    /// Blocks that were passed over, since their rows could not be recognised.
    pub left: usize,
}

/// A file whose rows are drawn, as it was when it was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFile {
    /// As in the listing of its channel.
    pub key: String,
    pub bytes: Bytes,
    /// What distinguishes this version of the file from another: the `ETag` in S3, on a disk the time of its last writing.
    pub version: String,
    pub layout: RowLayout,
    /// The names of its columns; none where it names none, as lines of text and tables without a header.
    pub columns: Vec<String>,
}

/// How the rows lie in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowLayout {
    /// CSV, TSV and lines.
    Text(TextLayout),
    Parquet {
        /// The size of each row group.
        groups: Vec<u64>,
    },
}

impl RowFile {
    /// The bytes that are rows.
    pub fn row_bytes(&self) -> Bytes {
        match &self.layout {
            RowLayout::Text(text) => Bytes(self.bytes.0 - text.header),
            RowLayout::Parquet { groups } => Bytes(groups.iter().sum()),
        }
    }

    /// Whether all before a drawn row is read too, so that blocks may be single rows.
    pub fn is_read_through(&self) -> bool {
        matches!(self.layout, RowLayout::Text(_)) && self.bytes.0 <= READ_THROUGH
    }

    /// The number of its columns, where there are several without names and the first rows agree.
    pub fn unnamed_columns(&self) -> Option<usize> {
        let RowLayout::Text(text) = &self.layout else {
            return None;
        };
        let [first, second] = text.dialect.fields;
        (self.columns.is_empty() && first == second && first > 1).then_some(first)
    }

    pub fn format(&self) -> RowFormat {
        match &self.layout {
            RowLayout::Text(text) if text.header == 0 => RowFormat::Lines,
            RowLayout::Text(_) => RowFormat::Csv,
            RowLayout::Parquet { .. } => RowFormat::Parquet,
        }
    }
}

/// Copies drawn blocks of one file, ascending, into a file of the same format.
pub async fn copy_rows<S: RangeSource>(
    blocks: &RowBlocks,
    file: usize,
    drawn: &[u32],
    source: &S,
    out: &mut impl Write,
) -> Result<Copied, CopyError<S::Error>> {
    let row_file = &blocks.files[file];
    match &row_file.layout {
        RowLayout::Parquet { groups } => {
            row_groups::copy(row_file.bytes.0, groups, drawn, source, out).await
        }
        RowLayout::Text(layout) => {
            let draw = text::TextDraw {
                source,
                size: row_file.bytes.0,
                layout: *layout,
                block: blocks.block_size(file).0,
            };
            draw.copy(drawn, row_file.is_read_through(), out).await
        }
    }
}

#[cfg(test)]
mod tests;
