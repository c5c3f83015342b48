//! Draws row groups of a Parquet file. They are copied as they are, never decoded; the footer is written again with their new
//! places. Page indexes and Bloom filters are left out: readers do without.

use std::io::Write;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};

use super::problem::{CopyError, Rows, RowsProblem};
use super::{Copied, READS, RangeSource, RowFile, RowLayout};
use crate::units::Bytes;

const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED: &[u8] = b"PARE";
/// The length of the footer, and the magic bytes.
const TAIL: u64 = 8;
/// Behind a plain footer of encrypted columns: a nonce and a tag.
/// <https://github.com/apache/parquet-format/blob/master/Encryption.md#55-plaintext-footer-mode>
const SIGNATURE: usize = 12 + 16;
/// Read with the tail at once: the footer of most files.
const USUAL_FOOTER: u64 = 64 * Bytes::KIB;
/// Longer footers are not read: memory holds one, and its parsed form.
const LARGEST_FOOTER: u64 = 32 * Bytes::MIB;
/// Read at once.
const PIECE: u64 = 2 * Bytes::MIB;

/// Row groups of a file by its footer.
pub(super) async fn inspect<S: RangeSource>(source: &S, file: &mut RowFile) -> Rows<(), S> {
    let size = file.bytes.0;
    let metadata = read_footer(size, source).await?;
    if metadata.row_groups().iter().all(is_empty) {
        return Err(RowsProblem::Empty.into());
    }
    let groups: Vec<u64> = (metadata.row_groups().iter())
        .map(|group| place_of(group, size).map(|place| place.end - place.start))
        .collect::<Result<_, RowsProblem>>()?;
    if groups.iter().sum::<u64>() > size {
        return Err(not_parquet("its row groups share their bytes").into());
    }
    let described = metadata.file_metadata().schema_descr().columns().iter();
    file.columns = described.map(|column| column.path().string()).collect();
    file.layout = RowLayout::Parquet { groups };
    Ok(())
}

fn not_parquet(what: impl Into<String>) -> RowsProblem {
    RowsProblem::NotParquet(what.into())
}

/// What cannot be written again.
impl From<ParquetError> for RowsProblem {
    fn from(error: ParquetError) -> Self {
        not_parquet(error.to_string())
    }
}

async fn read_footer<S: RangeSource>(size: u64, source: &S) -> Rows<ParquetMetaData, S> {
    if size < TAIL + MAGIC.len() as u64 {
        return Err(not_parquet("it is shorter than the shortest file").into());
    }
    let start = size.saturating_sub(USUAL_FOOTER);
    let mut read = source.read(start..size).await.map_err(CopyError::Read)?;
    let tail = read.split_off(read.len() - 8);
    let (length, magic) = tail.split_at(4);
    if magic == ENCRYPTED {
        return Err(RowsProblem::Encrypted.into());
    }
    if magic != MAGIC {
        return Err(not_parquet("it does not end with `PAR1`").into());
    }
    let length = (length.iter().rev()).fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    if length > size - TAIL - MAGIC.len() as u64 {
        return Err(not_parquet("its footer is longer than the file").into());
    }
    if length > LARGEST_FOOTER {
        let (length, most) = (Bytes(length), Bytes(LARGEST_FOOTER));
        let what = format!("its footer has {length}, and at most {most} are read");
        return Err(not_parquet(what).into());
    }
    let first = size - TAIL - length;
    if first < start {
        let whole = source.read(first..start).await.map_err(CopyError::Read)?;
        read.splice(..0, whole);
    }
    let footer = &read[read.len() - usize::try_from(length).unwrap_or(usize::MAX)..];
    let decoded = ParquetMetaDataReader::decode_metadata;
    // The reader passes over what says so in a footer that is plain itself.
    let unsigned = footer
        .len()
        .checked_sub(SIGNATURE)
        .map(|end| &footer[..end]);
    if unsigned.is_some_and(|footer| decoded(footer).is_ok()) {
        return Err(RowsProblem::Encrypted.into());
    }
    decoded(footer).map_err(|_| not_parquet("its footer cannot be read").into())
}

/// Writers leave row groups without rows, whose chunks lie nowhere.
fn is_empty(group: &RowGroupMetaData) -> bool {
    group.num_rows() == 0
}

/// Where a row group lies, from its first column chunk to its last; one without rows, nowhere. Fails where a chunk lies outside the
/// file.
fn place_of(group: &RowGroupMetaData, size: u64) -> Result<Range<u64>, RowsProblem> {
    let inside = MAGIC.len() as u64..=size - TAIL;
    let chunk = |column: &ColumnChunkMetaData| {
        let pages = [dictionary_of(column), Some(column.data_page_offset())];
        let start = u64::try_from(pages.into_iter().flatten().min()?).ok()?;
        let end = start.checked_add(u64::try_from(column.compressed_size()).ok()?)?;
        let is_here = column.file_path().is_none();
        (is_here && inside.contains(&start) && inside.contains(&end)).then_some(start..end)
    };
    let mut place: Option<Range<u64>> = None;
    for column in group.columns().iter().filter(|_| !is_empty(group)) {
        let chunk = chunk(column).ok_or_else(|| {
            let name = column.column_path().string();
            not_parquet(format!("its column {name} lies outside the file"))
        })?;
        let known = place.get_or_insert(chunk.clone());
        *known = known.start.min(chunk.start)..known.end.max(chunk.end);
    }
    Ok(place.unwrap_or_default())
}

/// Old writers wrote 0 where there is none.
fn dictionary_of(column: &ColumnChunkMetaData) -> Option<i64> {
    column.dictionary_page_offset().filter(|offset| *offset > 0)
}

/// Copies row groups with a footer of their own.
pub(super) async fn copy<S: RangeSource>(
    size: u64,
    groups: &[u64],
    drawn: &[u32],
    source: &S,
    out: &mut impl Write,
) -> Rows<Copied, S> {
    let metadata = read_footer(size, source).await?;
    let (mut kept, mut places) = (Vec::new(), Vec::new());
    let mut copied = 0;
    for index in drawn {
        let index = *index as usize;
        let group = metadata.row_groups().get(index);
        let group = group.ok_or(RowsProblem::Changed)?;
        let place = place_of(group, size)?;
        if groups.get(index) != Some(&(place.end - place.start)) {
            return Err(RowsProblem::Changed.into());
        }
        if !is_empty(group) {
            let start = MAGIC.len() as u64 + copied;
            copied += place.end - place.start;
            kept.push(moved(group, place.start, start, kept.len()).map_err(RowsProblem::from)?);
            places.push(place);
        }
    }
    let pieces = places.into_iter().flat_map(|place| {
        let count = (place.end - place.start).div_ceil(PIECE);
        let starts = (0..count).map(move |piece| place.start + piece * PIECE);
        starts.map(move |at| at..place.end.min(at + PIECE))
    });
    let reads = stream::iter(pieces).map(|piece| source.read(piece));
    let mut reads = pin!(reads.buffered(READS));
    out.write_all(MAGIC)?;
    while let Some(piece) = reads.next().await {
        out.write_all(&piece.map_err(CopyError::Read)?)?;
    }
    let footer = footer(metadata.file_metadata(), kept).map_err(RowsProblem::from)?;
    out.write_all(&footer)?;
    Ok(Copied {
        bytes: Bytes(copied),
        left: 0,
    })
}

/// A row group that begins at another place.
fn moved(
    group: &RowGroupMetaData,
    from: u64,
    to: u64,
    place: usize,
) -> ParquetResult<RowGroupMetaData> {
    let shifted = |offset: i64| {
        let shifted = i128::from(offset) - i128::from(from) + i128::from(to);
        i64::try_from(shifted).unwrap_or_default()
    };
    let columns = group.columns().iter().map(|column| {
        let builder = column.clone().into_builder();
        builder
            .set_data_page_offset(shifted(column.data_page_offset()))
            .set_dictionary_page_offset(dictionary_of(column).map(shifted))
            .set_index_page_offset(column.index_page_offset().map(shifted))
            .set_bloom_filter_offset(None)
            .set_bloom_filter_length(None)
            .set_offset_index_offset(None)
            .set_offset_index_length(None)
            .set_column_index_offset(None)
            .set_column_index_length(None)
            .build()
    });
    let columns = columns.collect::<ParquetResult<_>>()?;
    let mut builder = group
        .clone()
        .into_builder()
        .set_column_metadata(columns)
        .set_file_offset(i64::try_from(to).unwrap_or_default());
    if group.ordinal().is_some() {
        builder = builder.set_ordinal(i32::try_from(place).unwrap_or(i32::MAX));
    }
    builder.build()
}

fn footer(of_file: &FileMetaData, groups: Vec<RowGroupMetaData>) -> ParquetResult<Vec<u8>> {
    let of_file = FileMetaData::new(
        of_file.version(),
        groups.iter().map(RowGroupMetaData::num_rows).sum(),
        of_file.created_by().map(str::to_owned),
        of_file.key_value_metadata().cloned(),
        Arc::clone(&of_file.schema_descr_ptr()),
        of_file.column_orders().cloned(),
    );
    let metadata = ParquetMetaData::new(of_file, groups);
    let mut written = Vec::new();
    ParquetMetaDataWriter::new(&mut written, &metadata).finish()?;
    Ok(written)
}
