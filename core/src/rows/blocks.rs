//! [`RowBlocks`]: the blocks of a channel's files, or a canary's draw of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{RowFile, RowLayout};
use crate::units::Bytes;

/// So many blocks a channel has, where its rows and its size allow: 50 of them are half a percent.
const BLOCKS: u64 = 10_000;
/// Of a file that is not read through. Large enough that a wrong guess of what lies in quotes shows within it, and that the
/// part of a row that is read in vain is small.
const SMALLEST_BLOCK: u64 = 64 * Bytes::KIB;
/// Memory holds a few.
const LARGEST_BLOCK: u64 = Bytes::MIB;
/// More blocks would take more memory than larger ones do.
const MOST_BLOCKS: u64 = 1_000_000;

/// One block: of which file, and which of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockPlace {
    pub file: u32,
    pub block: u32,
}

/// The blocks of a channel's files, or a draw of them. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowBlocks {
    pub files: Arc<[RowFile]>,
    /// For each file its blocks' size; for Parquet the mean of its row groups.
    sizes: Arc<[u64]>,
    /// Ascending; absent: all of them.
    drawn: Option<Arc<[BlockPlace]>>,
}

impl RowBlocks {
    /// All blocks of these files.
    pub fn of(files: Vec<RowFile>) -> Self {
        let total: u64 = files.iter().map(|file| file.row_bytes().0).sum();
        let sizes = files.iter().map(|file| block_size(file, total)).collect();
        Self {
            files: files.into(),
            sizes,
            drawn: None,
        }
    }

    /// The size of a file's blocks; for Parquet the mean of its row groups.
    pub fn block_size(&self, file: usize) -> Bytes {
        Bytes(self.sizes[file])
    }

    /// Whether blocks of a file are about as long as one of its rows, so that in some of them none begins.
    pub fn are_about_a_row(&self) -> bool {
        self.files.iter().any(RowFile::is_read_through)
    }

    /// The blocks of every file.
    pub fn counts(&self) -> Vec<u32> {
        let count = |(file, size): (&RowFile, &u64)| match &file.layout {
            RowLayout::Parquet { groups } => groups.len() as u64,
            RowLayout::Text(_) => file.row_bytes().0.div_ceil(*size),
        };
        (self.files.iter().zip(&*self.sizes))
            .map(|file| u32::try_from(count(file)).unwrap_or(u32::MAX))
            .collect()
    }

    pub fn len(&self) -> usize {
        match &self.drawn {
            Some(drawn) => drawn.len(),
            None => self.counts().iter().map(|count| *count as usize).sum(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.drawn.is_none()
    }

    /// Every block, ascending.
    pub fn places(&self) -> impl Iterator<Item = BlockPlace> {
        let all = self.drawn.is_none().then(|| {
            (0_u32..)
                .zip(self.counts())
                .flat_map(|(file, count)| (0..count).map(move |block| BlockPlace { file, block }))
        });
        let drawn = self.drawn.as_deref().unwrap_or_default();
        drawn.iter().copied().chain(all.into_iter().flatten())
    }

    /// The bytes between the cuts of some blocks of a file; their rows have about as many.
    pub fn bytes_of(&self, file: usize, blocks: &[u32]) -> Bytes {
        let (size, all) = (self.sizes[file], self.files[file].row_bytes().0);
        let of_block = |block: &u32| match &self.files[file].layout {
            RowLayout::Parquet { groups } => groups[*block as usize],
            RowLayout::Text(_) => size.min(all - size * u64::from(*block)),
        };
        Bytes(blocks.iter().map(of_block).sum())
    }

    /// Of all its rows, about.
    pub fn bytes(&self) -> Bytes {
        match self.is_all() {
            true => self.files.iter().map(RowFile::row_bytes).sum(),
            false => (self.by_file().iter())
                .map(|(file, blocks)| self.bytes_of(*file, blocks))
                .sum(),
        }
    }

    /// All blocks, of which this may be a draw.
    pub fn whole(&self) -> Self {
        Self {
            drawn: None,
            ..self.clone()
        }
    }

    /// These blocks only; all of them are no draw.
    pub fn draw(&self, mut places: Vec<BlockPlace>) -> Self {
        let all = self.whole();
        places.sort_unstable();
        places.dedup();
        match places.len() == all.len() {
            true => all,
            false => Self {
                drawn: Some(places.into()),
                ..all
            },
        }
    }

    /// The drawn blocks of each file that has any, ascending.
    pub fn by_file(&self) -> BTreeMap<usize, Vec<u32>> {
        let mut blocks: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for place in self.places() {
            blocks
                .entry(place.file as usize)
                .or_default()
                .push(place.block);
        }
        blocks
    }
}

/// Small enough for many, large enough to hold a row.
fn block_size(file: &RowFile, total: u64) -> u64 {
    let row = match &file.layout {
        RowLayout::Text(text) => text.row,
        RowLayout::Parquet { groups } => {
            return groups.iter().sum::<u64>() / (groups.len() as u64).max(1);
        }
    };
    let smallest = if file.is_read_through() {
        1
    } else {
        SMALLEST_BLOCK
    };
    (total / BLOCKS)
        .clamp(smallest, LARGEST_BLOCK)
        .max(row)
        .max(total / MOST_BLOCKS)
        .max(1)
}
