//! **Rows** of one or a few objects: which blocks a file has, and how the drawn ones become a smaller file of the same format.
//!
//! A block is a range of the file. Where its rows begin and end is found when it is read, from the two cuts alone: a row
//! belongs to the block in which its first byte lies. So blocks are disjoint, none is read for another, and a file of any size
//! needs no index. A Parquet file's blocks are its row groups, which its footer lists.
//!
//! | format | rows | kept beside them |
//! |---|---|---|
//! | CSV, TSV | records, with line ends in quotes | the header |
//! | JSON lines, text | lines | |
//! | Parquet | row groups, copied as they are | a footer that is written again |
//! | tar | members; those of one stem together, as `WebDataset` has them | the end mark |
//!
//! Pure: bytes come from a [`RangeSource`] and go into a [`RowSink`]; memory holds a block, or a footer, at a time.

mod blocks;
mod copy;
mod csv;
mod footer;
mod format;
mod inspect;
mod lines;
mod members;
mod output;
mod problem;
mod thrift;
mod window;

pub use blocks::{BlockPlace, RowBlocks};
pub use copy::copy_rows;
pub use format::RowFormat;
pub use inspect::inspect;
pub use output::Copied;
pub use problem::{CopyError, RowsProblem};

use std::future::Future;
use std::ops::Range;

use crate::units::Bytes;
use csv::Dialect;

/// The longest row of a text format, and the longest header.
pub const LONGEST_ROW: u64 = 8 * Bytes::MIB;
/// A file up to this size is read from its beginning to its end, so that its blocks may be single rows; of a larger one only
/// the blocks are read.
pub const READ_THROUGH: u64 = 64 * Bytes::MIB;

/// Where the bytes of one file come from.
pub trait RangeSource {
    type Error;

    /// All bytes of a range that lies within the file.
    fn read(&mut self, range: Range<u64>) -> impl Future<Output = Result<Vec<u8>, Self::Error>>;

    /// What will be read, in this order; a reader over a network may begin with it. Others may be read in between.
    fn expect(&mut self, _: Vec<Range<u64>>) {}
}

/// Where the bytes of a smaller file go, in their order.
pub trait RowSink {
    type Error;

    fn write(&mut self, bytes: Vec<u8>) -> impl Future<Output = Result<(), Self::Error>>;
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
    /// What a reader should know of a draw of its rows, as sentences without a capital.
    pub cautions: Vec<String>,
    /// The names of its columns; none where it names none, as lines of text and tables without a header.
    pub columns: Vec<String>,
}

/// How the rows lie in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowLayout {
    /// CSV and TSV.
    Records {
        /// The end of the header.
        header: u64,
        dialect: Dialect,
        /// The mean length of a row, as the first ones have it.
        row: u64,
    },
    /// One row a line.
    Lines { row: u64 },
    Parquet {
        /// The size of each row group.
        groups: Vec<u64>,
    },
    Tar {
        /// The mean size of a sample, with its headers, as the first ones have it.
        sample: u64,
    },
}

impl RowFile {
    /// The bytes that are rows.
    pub fn row_bytes(&self) -> Bytes {
        match &self.layout {
            RowLayout::Records { header, .. } => Bytes(self.bytes.0 - header),
            RowLayout::Lines { .. } | RowLayout::Tar { .. } => self.bytes,
            RowLayout::Parquet { groups } => Bytes(groups.iter().sum()),
        }
    }

    /// Where the first row begins.
    fn first_row(&self) -> u64 {
        match self.layout {
            RowLayout::Records { header, .. } => header,
            _ => 0,
        }
    }

    /// Whether its blocks may be single rows.
    fn is_small(&self) -> bool {
        self.bytes.0 <= READ_THROUGH
    }

    /// Whether all before a drawn row is read too.
    pub fn is_read_through(&self) -> bool {
        let is_text = matches!(self.format(), RowFormat::Csv | RowFormat::Lines);
        is_text && self.is_small()
    }

    pub fn format(&self) -> RowFormat {
        match self.layout {
            RowLayout::Records { .. } => RowFormat::Csv,
            RowLayout::Lines { .. } => RowFormat::Lines,
            RowLayout::Parquet { .. } => RowFormat::Parquet,
            RowLayout::Tar { .. } => RowFormat::Tar,
        }
    }
}

#[cfg(test)]
mod tests;
