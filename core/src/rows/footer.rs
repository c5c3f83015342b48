//! Draws row groups of a Parquet file. Column chunks are copied as they are, never decoded; the footer is written again with
//! their new places. Page indexes and Bloom filters are left out: readers do without.

use std::ops::Range;
use std::sync::Arc;

use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::statistics::Statistics;

use super::output::{Copied, RowOutput};
use super::problem::{CopyError, RowsProblem};
use super::thrift;
use super::{RangeSource, RowFile, RowLayout, RowSink};
use crate::grammar::count;
use crate::units::Bytes;

const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED: &[u8] = b"PARE";
/// The length of the footer, and the magic bytes.
const TAIL: u64 = 8;
/// Read with the tail at once: the footer of most files.
const USUAL_FOOTER: u64 = 64 * Bytes::KIB;
/// Longer footers are not read: memory holds one, and its parsed form.
const LARGEST_FOOTER: u64 = 32 * Bytes::MIB;
/// Read at once.
const PIECE: u64 = 2 * Bytes::MIB;
/// A row group that is so many times another is uneven.
const UNEVEN: u64 = 4;
/// Fewer row groups say nothing of their order.
const SORTED: usize = 4;
/// Sorted columns that are named.
const NAMED: usize = 3;

/// Row groups of a file by its footer, with what they may do to a draw.
pub(super) async fn inspect_parquet<S: RangeSource>(
    size: u64,
    source: &mut S,
    cautions: &mut Vec<String>,
    columns: &mut Vec<String>,
) -> Result<RowLayout, CopyError<S::Error>> {
    let metadata = read_footer(size, source).await?;
    if metadata.row_groups().iter().all(is_empty) {
        return Err(RowsProblem::Empty.into());
    }
    let groups: Vec<u64> = (metadata.row_groups().iter())
        .map(|group| chunks(group, size).map(|chunks| total(&chunks)))
        .collect::<Result<_, RowsProblem>>()?;
    if groups.iter().sum::<u64>() > size {
        let what = "its row groups share their bytes".to_owned();
        return Err(RowsProblem::NotParquet(what).into());
    }
    let described = metadata.file_metadata().schema_descr().columns().iter();
    columns.extend(described.map(|column| column.path().string()));
    cautions.extend(uneven(&groups));
    cautions.extend(sorted(&metadata));
    Ok(RowLayout::Parquet { groups })
}

async fn read_footer<S: RangeSource>(
    size: u64,
    source: &mut S,
) -> Result<ParquetMetaData, CopyError<S::Error>> {
    let not = |what: &str| CopyError::Rows(RowsProblem::NotParquet(what.to_owned()));
    if size < TAIL + MAGIC.len() as u64 {
        return Err(not("it is shorter than the shortest file"));
    }
    let start = size.saturating_sub(USUAL_FOOTER);
    let mut read = source.read(start..size).await.map_err(CopyError::Io)?;
    let tail = read.split_off(read.len() - 8);
    let (length, magic) = tail.split_at(4);
    if magic == ENCRYPTED {
        return Err(RowsProblem::Encrypted.into());
    }
    if magic != MAGIC {
        return Err(not("it does not end with `PAR1`"));
    }
    let length = length
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    if length > size - TAIL - MAGIC.len() as u64 {
        return Err(not("its footer is longer than the file"));
    }
    if length > LARGEST_FOOTER {
        return Err(CopyError::Rows(RowsProblem::NotParquet(format!(
            "its footer has {}, and at most {} are read",
            Bytes(length),
            Bytes(LARGEST_FOOTER)
        ))));
    }
    let first = size - TAIL - length;
    if first < start {
        let mut whole = source.read(first..start).await.map_err(CopyError::Io)?;
        whole.append(&mut read);
        read = whole;
    }
    let footer = &read[read.len() - usize::try_from(length).unwrap_or(usize::MAX)..];
    if thrift::is_encrypted(footer) == Some(true) {
        return Err(RowsProblem::Encrypted.into());
    }
    ParquetMetaDataReader::decode_metadata(footer).map_err(|_| not("its footer cannot be read"))
}

/// Writers leave row groups without rows, whose chunks lie nowhere.
fn is_empty(group: &RowGroupMetaData) -> bool {
    group.num_rows() == 0
}

/// Where each column chunk of a row group lies; of one without rows, none. Fails where they lie nowhere in the file.
fn chunks(group: &RowGroupMetaData, size: u64) -> Result<Vec<Range<u64>>, RowsProblem> {
    if is_empty(group) {
        return Ok(Vec::new());
    }
    let chunk = |column: &ColumnChunkMetaData| {
        let wrong = || {
            let name = column.column_path().string();
            RowsProblem::NotParquet(format!("its column {name} lies outside the file"))
        };
        if column.file_path().is_some() {
            return Err(wrong());
        }
        let pages = [
            // Old writers wrote 0 where there is none.
            column.dictionary_page_offset().filter(|offset| *offset > 0),
            Some(column.data_page_offset()),
        ];
        let start = pages.into_iter().flatten().min();
        let start = start.and_then(|start| u64::try_from(start).ok());
        let length = u64::try_from(column.compressed_size()).ok();
        let (start, length) = start.zip(length).ok_or_else(wrong)?;
        let end = start.checked_add(length).ok_or_else(wrong)?;
        let is_inside = start >= MAGIC.len() as u64 && end <= size - TAIL;
        is_inside.then_some(start..end).ok_or_else(wrong)
    };
    group.columns().iter().map(chunk).collect()
}

fn total(chunks: &[Range<u64>]) -> u64 {
    chunks.iter().map(|chunk| chunk.end - chunk.start).sum()
}

/// Copies row groups with a footer of their own.
pub(super) async fn copy_groups<S, K>(
    file: &RowFile,
    drawn: &[u32],
    source: &mut S,
    out: &mut RowOutput<'_, K>,
) -> Result<Copied, CopyError<S::Error>>
where
    S: RangeSource,
    K: RowSink<Error = S::Error>,
{
    let RowLayout::Parquet { groups } = &file.layout else {
        return Err(RowsProblem::Changed.into());
    };
    let size = file.bytes.0;
    let metadata = read_footer(size, source).await?;
    let mut copies = Vec::with_capacity(drawn.len());
    for index in drawn {
        let index = *index as usize;
        let group = metadata.row_groups().get(index);
        let group = group.ok_or(RowsProblem::Changed)?;
        let chunks = chunks(group, size)?;
        if groups.get(index) != Some(&total(&chunks)) {
            return Err(RowsProblem::Changed.into());
        }
        if !is_empty(group) {
            copies.push((group, chunks));
        }
    }
    let pieces = copies.iter().flat_map(|(_, chunks)| pieces(chunks));
    source.expect(pieces.collect());
    out.bytes(MAGIC).await?;
    let mut kept = Vec::with_capacity(copies.len());
    let mut copied = Copied::default();
    for (group, chunks) in copies {
        let starts = copy_chunks(&chunks, source, out).await?;
        copied.bytes = copied.bytes + Bytes(total(&chunks));
        let group = moved(group, &chunks, &starts, kept.len());
        kept.push(group.map_err(|error| RowsProblem::NotParquet(error.to_string()))?);
    }
    let footer = footer(metadata.file_metadata(), kept);
    let footer = footer.map_err(|error| RowsProblem::NotParquet(error.to_string()))?;
    out.bytes(&footer).await?;
    out.flush().await?;
    Ok(copied)
}

/// What is read at once: neighbours together, in the order in which they lie.
fn pieces(chunks: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted = chunks.to_vec();
    sorted.sort_by_key(|chunk| (chunk.start, chunk.end));
    let mut pieces: Vec<Range<u64>> = Vec::new();
    for chunk in sorted.into_iter().filter(|chunk| !chunk.is_empty()) {
        let mut at = chunk.start;
        if let Some(last) = pieces.last_mut()
            && last.end == at
        {
            let end = chunk.end.min(last.start + PIECE);
            last.end = end;
            at = end;
        }
        while at < chunk.end {
            let end = chunk.end.min(at + PIECE);
            pieces.push(at..end);
            at = end;
        }
    }
    pieces
}

/// Copies a row group's chunks; gives the new start of each.
async fn copy_chunks<S, K>(
    chunks: &[Range<u64>],
    source: &mut S,
    out: &mut RowOutput<'_, K>,
) -> Result<Vec<u64>, CopyError<S::Error>>
where
    S: RangeSource,
    K: RowSink<Error = S::Error>,
{
    let mut starts = vec![out.written(); chunks.len()];
    for piece in pieces(chunks) {
        for (chunk, start) in chunks.iter().zip(&mut starts) {
            if piece.contains(&chunk.start) {
                *start = out.written() + (chunk.start - piece.start);
            }
        }
        let bytes = source.read(piece).await.map_err(CopyError::Io)?;
        out.piece(bytes).await?;
    }
    Ok(starts)
}

type ParquetResult<T> = parquet::errors::Result<T>;

/// A row group whose chunks begin elsewhere.
fn moved(
    group: &RowGroupMetaData,
    chunks: &[Range<u64>],
    starts: &[u64],
    place: usize,
) -> ParquetResult<RowGroupMetaData> {
    let columns = group.columns().iter().zip(chunks).zip(starts);
    let columns: Vec<ColumnChunkMetaData> = columns
        .map(|((column, chunk), start)| {
            let shifted = |offset: i64| {
                let shifted = i128::from(offset) - i128::from(chunk.start) + i128::from(*start);
                i64::try_from(shifted).unwrap_or_default()
            };
            let dictionary = column.dictionary_page_offset().filter(|offset| *offset > 0);
            column
                .clone()
                .into_builder()
                .set_data_page_offset(shifted(column.data_page_offset()))
                .set_dictionary_page_offset(dictionary.map(shifted))
                .set_index_page_offset(column.index_page_offset().map(shifted))
                .set_bloom_filter_offset(None)
                .set_bloom_filter_length(None)
                .set_offset_index_offset(None)
                .set_offset_index_length(None)
                .set_column_index_offset(None)
                .set_column_index_length(None)
                .build()
        })
        .collect::<ParquetResult<_>>()?;
    let first = starts.iter().min().copied().unwrap_or_default();
    let mut builder = group
        .clone()
        .into_builder()
        .set_column_metadata(columns)
        .set_file_offset(i64::try_from(first).unwrap_or_default());
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

/// Where a draw depends much on which row groups it takes.
fn uneven(groups: &[u64]) -> Option<String> {
    // The last one is what was left.
    let (_, but_last) = groups.split_last()?;
    let with_rows = || but_last.iter().filter(|bytes| **bytes > 0);
    let (least, most) = (with_rows().min()?, with_rows().max()?);
    (*most > least.saturating_mul(UNEVEN)).then(|| {
        format!(
            "its row groups are uneven, from {} to {}, so a draw of few of them is far from the share asked for",
            Bytes(*least),
            Bytes(*most)
        )
    })
}

/// Where each row group holds a range of a column of its own: then a draw of few of them is no fair sample.
fn sorted(metadata: &ParquetMetaData) -> Option<String> {
    let groups = metadata.row_groups();
    if groups.len() < SORTED {
        return None;
    }
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let names: Vec<String> = (0..columns)
        .filter(|column| is_sorted(groups, *column))
        .filter_map(|column| {
            Some(
                groups
                    .first()?
                    .columns()
                    .get(column)?
                    .column_path()
                    .string(),
            )
        })
        .collect();
    let (named, more) = names.split_at(names.len().min(NAMED));
    let more = match more.len() {
        0 => String::new(),
        more => format!(" and {}", count(more, "more column")),
    };
    (!named.is_empty()).then(|| {
        format!(
            "its rows are sorted by `{}`{more}: each row group holds a range of its own, so a draw of few of them is a draw of few values",
            named.join("`, `")
        )
    })
}

/// Whether no row group's range of a column overlaps that of the one before or after.
fn is_sorted(groups: &[RowGroupMetaData], column: usize) -> bool {
    let statistics: Option<Vec<&Statistics>> = groups
        .iter()
        .map(|group| group.columns().get(column)?.statistics())
        .collect();
    let Some(statistics) = statistics else {
        return false;
    };
    let is_before = |one: &Statistics, other: &Statistics| match (one, other) {
        (Statistics::Int32(a), Statistics::Int32(b)) => {
            a.max_opt() < b.min_opt() && a.max_opt().is_some()
        }
        (Statistics::Int64(a), Statistics::Int64(b)) => {
            a.max_opt() < b.min_opt() && a.max_opt().is_some()
        }
        (Statistics::Float(a), Statistics::Float(b)) => {
            a.max_opt() < b.min_opt() && a.max_opt().is_some()
        }
        (Statistics::Double(a), Statistics::Double(b)) => {
            a.max_opt() < b.min_opt() && a.max_opt().is_some()
        }
        (Statistics::ByteArray(a), Statistics::ByteArray(b)) => {
            let (a, b) = (a.max_opt(), b.min_opt());
            a.zip(b).is_some_and(|(a, b)| a.data() < b.data())
        }
        _ => false,
    };
    let pairs = || statistics.windows(2).map(|pair| (pair[0], pair[1]));
    pairs().all(|(one, other)| is_before(one, other))
        || pairs().all(|(one, other)| is_before(other, one))
}
