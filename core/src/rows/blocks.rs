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
/// Samples of an archive per block: about one sample is read in vain.
const SAMPLES: u64 = 16;

/// One block: of which file, and which of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockPlace {
    pub file: u32,
    pub block: u32,
}

/// The blocks of a channel's files, or a draw of them. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowBlocks {
    files: Arc<[RowFile]>,
    /// For each file its blocks' size; unused for Parquet.
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

    pub fn files(&self) -> &[RowFile] {
        &self.files
    }

    /// The size of a file's blocks; for Parquet the mean of its row groups.
    pub fn block_size(&self, file: usize) -> Bytes {
        match &self.files[file].layout {
            RowLayout::Parquet { groups } => {
                Bytes(groups.iter().sum::<u64>() / (groups.len() as u64).max(1))
            }
            _ => Bytes(self.sizes[file]),
        }
    }

    /// How many blocks a file has.
    fn count(&self, file: usize) -> u32 {
        let count = match &self.files[file].layout {
            RowLayout::Parquet { groups } => groups.len() as u64,
            _ => self.files[file].row_bytes().0.div_ceil(self.sizes[file]),
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Whether blocks of a file are about as long as one of its rows, so that in some of them none begins.
    pub fn are_about_a_row(&self) -> bool {
        self.files.iter().any(|file| {
            let is_parquet = matches!(file.layout, RowLayout::Parquet { .. });
            !is_parquet && file.is_small()
        })
    }

    /// The blocks of every file.
    pub fn counts(&self) -> Vec<u32> {
        (0..self.files.len()).map(|file| self.count(file)).collect()
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

    /// The bytes between a block's cuts; its rows have about as many.
    fn bytes_of(&self, place: BlockPlace) -> u64 {
        let (file, block) = (place.file as usize, place.block as usize);
        match &self.files[file].layout {
            RowLayout::Parquet { groups } => groups[block],
            _ => {
                let size = self.sizes[file];
                let before = size * block as u64;
                size.min(self.files[file].row_bytes().0 - before)
            }
        }
    }

    /// Of all its rows, about.
    pub fn bytes(&self) -> Bytes {
        match &self.drawn {
            Some(drawn) => Bytes(drawn.iter().map(|place| self.bytes_of(*place)).sum()),
            None => self.files.iter().map(RowFile::row_bytes).sum(),
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
    let wanted = total / BLOCKS;
    let (row, is_small) = match file.layout {
        RowLayout::Records { row, .. } | RowLayout::Lines { row } => (row, file.is_small()),
        RowLayout::Tar { sample } if file.is_small() => (sample, true),
        RowLayout::Tar { sample } => (sample.saturating_mul(SAMPLES), false),
        RowLayout::Parquet { .. } => return 1,
    };
    let smallest = if is_small { 1 } else { SMALLEST_BLOCK };
    wanted
        .clamp(smallest, LARGEST_BLOCK)
        .max(row)
        .max(total / MOST_BLOCKS)
        .max(1)
}
