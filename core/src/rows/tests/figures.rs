//! What a draw of a hundredth of a very large object reads and takes, without a network: `cargo nextest run --run-ignored only figures
//! --no-capture`.

use std::ops::Range;

use super::parquet_files::parquet_of;
use super::*;

const GIB: u64 = Bytes::GIB;

/// A large file of which only the bytes that are asked for are made.
struct Made<F> {
    size: u64,
    make: F,
    read: u64,
    requests: u64,
}

impl<F: Fn(Range<u64>) -> Vec<u8>> RangeSource for Made<F> {
    type Error = String;

    async fn read(&mut self, range: Range<u64>) -> Result<Vec<u8>, String> {
        assert!(range.end <= self.size);
        self.read += range.end - range.start;
        self.requests += 1;
        Ok((self.make)(range))
    }
}

/// Counts what it gets.
#[derive(Default)]
struct Counted(u64);

impl RowSink for Counted {
    type Error = String;

    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        self.0 += bytes.len() as u64;
        Ok(())
    }
}

fn draw_a_hundredth(name: &str, size: u64, make: impl Fn(Range<u64>) -> Vec<u8>) {
    let mut source = Made {
        size,
        make,
        read: 0,
        requests: 0,
    };
    let file = inspect(name, Bytes(size), String::new(), &mut source)
        .now_or_never()
        .unwrap()
        .unwrap();
    let blocks = RowBlocks::of(vec![file]);
    let drawn: Vec<u32> = (0..blocks.counts()[0]).step_by(100).collect();
    let mut sink = Counted::default();
    let copied = copy_rows(&blocks, 0, &drawn, &mut source, &mut sink)
        .now_or_never()
        .unwrap()
        .unwrap();
    println!(
        "{name}: {} blocks, {} drawn; read {} in {} requests, {:.3} times the sample; wrote {}",
        blocks.len(),
        copied.bytes,
        Bytes(source.read),
        source.requests,
        Bytes(source.read).as_f64() / copied.bytes.as_f64(),
        Bytes(sink.0)
    );
    assert!(Bytes(source.read).as_f64() <= 1.1 * copied.bytes.as_f64());
}

#[test]
#[ignore = "a figure, not a test"]
fn figures_of_a_csv_of_20_gb() {
    // Rows of 100 bytes, so any range is known.
    let row = format!("{:09},{}\n", 7, "x".repeat(89)).into_bytes();
    assert_eq!(row.len(), 100);
    let header = format!("id,{}\n", "t".repeat(96)).into_bytes();
    draw_a_hundredth("a.csv", 20 * GIB, |range| {
        let mut bytes: Vec<u8> = Vec::new();
        let first = range.start / 100;
        let length = usize::try_from(range.end - range.start).unwrap();
        for index in first..=range.end / 100 {
            bytes.extend_from_slice(if index == 0 { &header } else { &row });
        }
        bytes.drain(..usize::try_from(range.start % 100).unwrap());
        bytes.truncate(length);
        bytes
    });
}

#[test]
#[ignore = "a figure, not a test"]
fn figures_of_a_parquet_file_of_100_gb() {
    let (size, footer) = large_footer();
    draw_a_hundredth("a.parquet", size, |range| {
        let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap()];
        let begin = size - footer.len() as u64;
        if range.end > begin {
            let from = usize::try_from(range.start.max(begin) - begin).unwrap();
            let to = usize::try_from(range.end - begin).unwrap();
            let place = bytes.len() - (to - from);
            bytes[place..].copy_from_slice(&footer[from..to]);
        }
        bytes
    });
}

/// The footer of 800 row groups of 128 MiB each, and the size of their file.
fn large_footer() -> (u64, Vec<u8>) {
    use ::parquet::file::metadata::{
        FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
    };
    const CHUNK: i64 = 64 << 20;
    let small = parquet_of(&[100], |id| id);
    let length = u32::from_le_bytes(small[small.len() - 8..small.len() - 4].try_into().unwrap());
    let footer = &small[small.len() - 8 - length as usize..small.len() - 8];
    let metadata = ParquetMetaDataReader::decode_metadata(footer).unwrap();
    let mut at = 4;
    let groups: Vec<_> = (0..800)
        .map(|_| {
            let group = metadata.row_group(0).clone();
            let columns = group.columns().iter().map(|column| {
                let moved = column
                    .clone()
                    .into_builder()
                    .clear_statistics()
                    .set_dictionary_page_offset(None)
                    .set_data_page_offset(at)
                    .set_total_compressed_size(CHUNK)
                    .build();
                at += CHUNK;
                moved.unwrap()
            });
            let columns = columns.collect();
            group
                .into_builder()
                .set_column_metadata(columns)
                .build()
                .unwrap()
        })
        .collect();
    let of_file = metadata.file_metadata();
    let of_file = FileMetaData::new(
        of_file.version(),
        80_000,
        None,
        None,
        of_file.schema_descr_ptr(),
        None,
    );
    let mut written = Vec::new();
    ParquetMetaDataWriter::new(&mut written, &ParquetMetaData::new(of_file, groups))
        .with_preserve_page_index_locations(false)
        .finish()
        .unwrap();
    (u64::try_from(at).unwrap() + written.len() as u64, written)
}
