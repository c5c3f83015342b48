use std::cell::Cell;
use std::ops::Range;

use futures_util::FutureExt;
use proptest::prelude::*;

use super::*;

/// A file in memory, with what was read of it.
struct Memory {
    bytes: Vec<u8>,
    read: Cell<u64>,
}

impl Memory {
    fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            read: Cell::new(0),
        }
    }
}

impl RangeSource for Memory {
    type Error = String;

    async fn read(&self, range: Range<u64>) -> Result<Vec<u8>, String> {
        let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
        self.read.set(self.read.get() + range.len() as u64);
        let bytes = self.bytes.get(range.clone());
        bytes
            .map(<[u8]>::to_vec)
            .ok_or_else(|| format!("{range:?} is outside"))
    }
}

fn problem(error: CopyError<String>) -> RowsProblem {
    match error {
        CopyError::Rows(problem) => problem,
        CopyError::Read(_) | CopyError::Write(_) => panic!("{error:?}"),
    }
}

fn inspected(name: &str, bytes: &[u8]) -> Result<RowFile, RowsProblem> {
    let source = Memory::of(bytes);
    let size = Bytes(bytes.len() as u64);
    let found = inspect(name, size, "1".to_owned(), &source);
    found.now_or_never().unwrap().map_err(problem)
}

fn blocks_of(name: &str, bytes: &[u8]) -> RowBlocks {
    RowBlocks::of(vec![inspected(name, bytes).unwrap()])
}

/// What these blocks of a file become, and how much was read for it.
fn copied(
    blocks: &RowBlocks,
    bytes: &[u8],
    drawn: &[u32],
) -> (Result<Copied, RowsProblem>, Vec<u8>, u64) {
    let source = Memory::of(bytes);
    let mut sink = Vec::new();
    let copied = copy_rows(blocks, 0, drawn, &source, &mut sink).now_or_never();
    let copied = copied.unwrap().map_err(problem);
    (copied, sink, source.read.get())
}

/// Every block of a file.
fn all(blocks: &RowBlocks) -> Vec<u32> {
    (0..blocks.counts()[0]).collect()
}

/// A CSV file's rows after the header.
fn records(text: &[u8]) -> Vec<Vec<String>> {
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(true)
        .from_reader(text);
    let rows = reader.records().map(|row| row.expect("equal fields"));
    rows.map(|row| row.iter().map(str::to_owned).collect())
        .collect()
}

fn csv_of(rows: impl IntoIterator<Item = (String, String)>) -> Vec<u8> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(["id", "text"]).unwrap();
    for (id, text) in rows {
        writer.write_record([id, text]).unwrap();
    }
    writer.into_inner().unwrap()
}

/// Rows whose text is full of what makes CSV hard, more than is read through.
fn large_csv() -> Vec<u8> {
    let texts = [
        "plain",
        "with, comma",
        "two\nlines",
        "said \"so\", and\nthen\n",
        "",
        "1,2\n3,4\n5,6",
        "\"",
        "\n\n\n",
    ];
    let rows = (0_u32..).map(|id| {
        let text = texts[(id % 8) as usize];
        (id.to_string(), text.repeat((id % 61) as usize))
    });
    let mut bytes = 0;
    let wanted = usize::try_from(READ_THROUGH).unwrap() + 8_000_000;
    csv_of(rows.take_while(|(id, text)| {
        bytes += id.len() + text.len() + 2;
        bytes < wanted
    }))
}

#[test]
fn blocks_of_a_large_csv_are_disjoint_and_whole() {
    let file = large_csv();
    let layout = inspected("a.csv", &file).unwrap();
    assert!(layout.bytes.0 > READ_THROUGH);
    let blocks = RowBlocks::of(vec![layout]);
    assert_eq!(blocks.block_size(0), Bytes(64 << 10));
    let all = records(&file);
    let whole: std::collections::HashSet<&Vec<String>> = all.iter().collect();
    let mut seen = std::collections::HashSet::new();
    let drawn: Vec<u32> = (0..blocks.counts()[0]).step_by(10).collect();
    let (result, sample, read) = copied(&blocks, &file, &drawn);
    let result = result.unwrap();
    assert_eq!(result.left, 0);
    for row in records(&sample) {
        assert!(whole.contains(&row), "no row of the file: {row:?}");
        assert!(seen.insert(row[0].clone()), "twice: {row:?}");
    }
    let share = result.bytes.as_f64() / Bytes(file.len() as u64).as_f64();
    assert!((0.095..0.105).contains(&share), "{share}");
    assert!(read < result.bytes.0 * 110 / 100, "{read}");
}

/// A cell of so many lines, each of which looks like two fields.
fn log_of(lines: usize) -> String {
    (0..lines).map(|line| format!("{line},done\n")).collect()
}

#[test]
fn quotes_are_understood_where_the_first_cell_is_longer_than_a_first_look() {
    for columns in ["id,log\n", "log\n", "\"a\nheader\",log\n"] {
        let mut file = columns.as_bytes().to_vec();
        let id = if columns == "log\n" { "" } else { "7," };
        for lines in [20_000, 3, 5, 12_000, 1] {
            file.extend(format!("{id}\"{}\"\n", log_of(lines)).bytes());
        }
        let blocks = blocks_of("a.csv", &file);
        let rows: usize = (all(&blocks).iter())
            .map(|block| records(&copied(&blocks, &file, &[*block]).1).len())
            .sum();
        assert_eq!(rows, 5, "{columns:?}");
    }
}

#[test]
fn blank_lines_before_the_header_are_no_header() {
    let file = b"\n\r\nid,x\n1,a\n2,b\n3,c\n";
    let blocks = blocks_of("a.csv", file);
    let (_, sample, _) = copied(&blocks, file, &[0, 1]);
    assert!(sample.starts_with(b"\n\r\nid,x\n1,a\n"), "{sample:?}");
    assert_eq!(inspected("a.csv", b"\n\n").unwrap_err(), RowsProblem::Empty);
}

proptest! {
    #[test]
    fn the_blocks_of_a_small_csv_are_its_rows_parted(
        texts in prop::collection::vec("[a,\"\n\r ]{0,12}", 1..60),
        parts in 1_u32..5,
    ) {
        let rows = texts.into_iter().enumerate();
        let file = csv_of(rows.map(|(id, text)| (id.to_string(), text)));
        let blocks = blocks_of("a.csv", &file);
        let mut found = Vec::new();
        let mut bytes = 0;
        for part in 0..parts {
            let drawn: Vec<u32> = (0..blocks.counts()[0]).filter(|one| one % parts == part).collect();
            let (result, sample, _) = copied(&blocks, &file, &drawn);
            bytes += result.unwrap().bytes.0;
            found.extend(records(&sample));
        }
        found.sort();
        let mut all = records(&file);
        all.sort();
        prop_assert_eq!(found, all);
        prop_assert_eq!(bytes, blocks.bytes().0);
    }

    #[test]
    fn lines_are_parted_wherever_the_cuts_fall(
        lines in prop::collection::vec("[a-c]{0,9}", 1..60),
        block in 1_u64..40,
        ends in any::<bool>(),
    ) {
        let mut file = lines.join("\n").into_bytes();
        if ends || file.is_empty() {
            file.push(b'\n');
        }
        let count = u32::try_from((file.len() as u64).div_ceil(block)).unwrap();
        let mut found = Vec::new();
        let layout = TextLayout { header: 0, dialect: csv::Dialect::LINES, row: 1 };
        for drawn in 0..count {
            let (source, mut sink) = (&Memory::of(&file), Vec::new());
            let draw = text::TextDraw { source, size: file.len() as u64, layout, block };
            let copied = draw.copy(&[drawn], false, &mut sink).now_or_never();
            prop_assert_eq!(copied.unwrap().unwrap().left, 0);
            found.append(&mut sink);
        }
        prop_assert_eq!(found, file);
    }

    #[test]
    fn whatever_a_file_holds_it_is_read_or_refused(
        content in prop::collection::vec(any::<u8>(), 0..2000),
        name in prop::sample::select(vec!["a.csv", "a.tsv", "a.jsonl", "a.parquet"]),
    ) {
        if let Ok(file) = inspected(name, &content) {
            let blocks = RowBlocks::of(vec![file]);
            let _ = copied(&blocks, &content, &all(&blocks));
        }
    }
}

#[test]
fn a_small_file_is_drawn_row_by_row() {
    let file = csv_of((0..100).map(|id| (id.to_string(), "some text".to_owned())));
    let blocks = blocks_of("a.csv", &file);
    assert!((90..=110).contains(&blocks.len()), "{}", blocks.len());
    let (result, sample, _) = copied(&blocks, &file, &[3, 50]);
    assert_eq!(result.unwrap().left, 0);
    let rows = records(&sample).len();
    assert!((1..=4).contains(&rows), "{rows}");
}

#[test]
fn the_last_row_may_lack_its_line_end_and_a_quote_that_does_not_close_ends_with_the_file() {
    for file in [
        &b"id,text\n1,a\n2,b\n3,c"[..],
        b"id,text\n1,a\n2,\"never\nclosed\n",
        b"id,text\n1,\"never\n",
    ] {
        let blocks = blocks_of("a.csv", file);
        let (result, sample, _) = copied(&blocks, file, &all(&blocks));
        assert_eq!(result.unwrap().bytes, blocks.bytes());
        assert_eq!(sample, file);
    }
}

#[test]
fn lines_are_known_by_their_beginning_where_the_name_says_nothing() {
    let is_known = |beginning: &&[u8]| inspected("a.train", beginning).is_ok();
    let rows = [
        &b"EU B-ORG\n\nPeter B-P"[..],
        b"a\nb\n",
        b"[1]\n[2]\n[",
        b"{}\n{\"a\": 2}\n",
    ];
    assert!(rows[1..].iter().all(is_known) && !is_known(&rows[0]));
    let none = [
        &b"{\n\"a\": 1\n}\n"[..],
        b"{}\n",
        b"<a>\n<b/>\n",
        b"a\0\nb\nc\n",
        b"\xff\nb\nc\n",
        b"a",
        b"",
    ];
    assert!(!none.iter().any(is_known));
}

#[test]
fn what_cannot_be_drawn_is_refused_with_its_reason() {
    let text = |name, content: &[u8]| inspected(name, content).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            text("a.npy", b"x"),
            text("a.csv.gz", b"x"),
            text("a.csv", b"\x1f\x8b123"),
            text("a.jsonl", b"Salted__123"),
            text("a.csv", b"\xff\xfea\0"),
            text("a.csv", b""),
            text("a.csv", b"id,text\n"),
            text("a.csv", &vec![b'x'; 20_000_000]),
            text("a.jsonl", &vec![b'x'; 20_000_000]),
            text("a.parquet", b"PAR1 and nothing more"),
            text("a.parquet", b"PAR1\xff\xff\xff\x7fPAR1"),
            text("a.parquet", b"PAR1\x02\0\0\0\x02\0\0\0PAR1"),
            text("a.parquet", b"PARE\x02\0\0\0\x02\0\0\0PARE"),
        ]
        .join("\n"),
        @r"
    no format with rows ends so (.csv, .tsv, .jsonl, .ndjson, .json-lines, .txt and .parquet do), nor does it begin with lines of text or of JSON
    it is compressed (gz), so no row can be found without reading all before it
    it is compressed (gzip), so no row can be found without reading all before it
    it is encrypted, so its rows cannot be read
    it is UTF-16, in which no line end is found by its byte
    it has no rows
    it has no rows
    a row is longer than 8.00 MiB
    a row is longer than 8.00 MiB
    it is not Parquet: it does not end with `PAR1`
    it is not Parquet: its footer is longer than the file
    it is not Parquet: its footer cannot be read
    it is encrypted, so its rows cannot be read
    "
    );
}

#[test]
fn the_delimiter_and_the_quotes_are_those_of_the_first_rows() {
    let header_of = |name, content: &[u8]| match inspected(name, content).unwrap().layout {
        RowLayout::Text(text) => (text.header, format!("{:?}", text.dialect)),
        other => panic!("{other:?}"),
    };
    let semicolons = header_of("a.csv", b"a;b;c\n1,5;2;3\n");
    assert!(semicolons.1.contains("fields: [3, 3]"), "{semicolons:?}");
    // Not one of them is closed.
    let tabs = header_of("a.tsv", b"a\tb\n\"said\tx\nnever closed\ty\n");
    assert!(tabs.1.contains("Literal"), "{tabs:?}");
    let stray = header_of("a.csv", b"a,b\n5\" pipe,y\n\"x\ny\",z\n");
    assert!(stray.1.contains("Lenient"), "{stray:?}");
    let in_header = header_of("a.csv", b"\"a\nb\",c\n1,2\n");
    assert_eq!(in_header.0, 8);
    // Spreadsheets begin UTF-8 with its mark.
    let marked = header_of("a.csv", b"\xef\xbb\xbf\"a\nb\",c\n1,2\n");
    assert!(marked.0 == 11 && marked.1.contains("Strict"), "{marked:?}");
}

#[test]
fn rows_that_are_none_end_with_their_count() {
    let mut file = b"id,text\n1,a\n".to_vec();
    while file.len() as u64 <= READ_THROUGH + 1_000_000 {
        file.extend_from_slice(b"1,2,3\n");
    }
    let blocks = blocks_of("a.csv", &file);
    let drawn: Vec<u32> = (1..30).collect();
    let (result, _, _) = copied(&blocks, &file, &drawn);
    // The second row fits the header and the first may not.
    assert!(
        matches!(result, Err(RowsProblem::Ragged { fields: 2, .. })),
        "{result:?}"
    );
}

mod parquet_files {
    use std::io::Write;
    use std::sync::{Arc, LazyLock};

    use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    /// A column of numbers and one of texts, in row groups of these many rows.
    fn parquet_of(groups: &[usize], id: impl Fn(i64) -> i64) -> Vec<u8> {
        const SCHEMA: &str =
            "message rows { REQUIRED INT64 id; REQUIRED BYTE_ARRAY text (STRING); }";
        let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
        let properties = WriterProperties::builder().set_bloom_filter_enabled(true);
        let properties = Arc::new(properties.build());
        let mut file = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut file, schema, properties).unwrap();
        let mut next = 0;
        for rows in groups {
            let ids = next..next + *rows as i64;
            next = ids.end;
            let numbers: Vec<i64> = ids.clone().map(&id).collect();
            let texts = ids.map(|id| format!("row {}", id % 100));
            let texts: Vec<ByteArray> = texts.map(|text| text.as_str().into()).collect();
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let typed = column.typed::<Int64Type>();
            typed.write_batch(&numbers, None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let typed = column.typed::<ByteArrayType>();
            typed.write_batch(&texts, None, None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
        file
    }

    fn rows_of(file: &[u8]) -> Vec<String> {
        let mut on_disk = tempfile::tempfile().unwrap();
        on_disk.write_all(file).unwrap();
        let reader = SerializedFileReader::new(on_disk).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().to_string()).collect()
    }

    /// Those without rows are passed over.
    #[test]
    fn row_groups_are_parted_and_read_as_before() {
        let file = parquet_of(&[100, 50, 200, 0, 1, 70], |id| id * 7919 % 421);
        let blocks = blocks_of("a.parquet", &file);
        assert_eq!(blocks.len(), 6);
        let mut found = Vec::new();
        let mut bytes = 0;
        for drawn in [&[1, 5][..], &[0, 2, 3], &[4]] {
            let (result, sample, _) = copied(&blocks, &file, drawn);
            bytes += result.unwrap().bytes.0;
            found.extend(rows_of(&sample));
        }
        assert_eq!(bytes, blocks.bytes().0);
        found.sort();
        let mut all = rows_of(&file);
        all.sort();
        assert_eq!(found, all);
        for nothing in [&[][..], &[0], &[0, 0]] {
            let problem = inspected("a.parquet", &parquet_of(nothing, |id| id));
            assert_eq!(problem.unwrap_err(), RowsProblem::Empty);
        }
    }

    #[test]
    fn a_draw_reads_its_row_groups_and_the_footer_and_notices_another_file_of_the_same_size() {
        let file = parquet_of(&[20_000; 20], |id| id * 7919 % 100_003);
        let blocks = blocks_of("a.parquet", &file);
        let (result, _, read) = copied(&blocks, &file, &[3, 11]);
        assert_eq!(read - (64 << 10), result.unwrap().bytes.0);
        let mut other = parquet_of(&[10_000; 40], |id| id * 7919 % 100_003);
        other.resize(file.len(), 0);
        let (result, _, _) = copied(&blocks, &other, &[1]);
        assert!(result.is_err());
    }

    /// As writers with keys leave them where the footer stays plain: a nonce and a tag follow it.
    #[test]
    fn a_plain_footer_that_is_signed_is_of_encrypted_columns() {
        let file = parquet_of(&[100, 50], |id| id);
        let (body, tail) = file.split_at(file.len() - 8);
        let length = u32::from_le_bytes(tail[..4].try_into().unwrap()) + 28;
        let mut signed = body.to_vec();
        signed.extend((0..28).map(|byte| byte * 7));
        signed.extend(length.to_le_bytes());
        signed.extend(b"PAR1");
        let problem = inspected("a.parquet", &signed).unwrap_err();
        assert_eq!(problem, RowsProblem::Encrypted);
    }

    proptest! {
        #[test]
        fn a_damaged_footer_is_read_or_refused(
            place in 0_usize..3000,
            byte in any::<u8>(),
        ) {
            static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| parquet_of(&[100, 50], |id| id));
            let mut file = WHOLE.clone();
            let end = file.len() - 1 - place % file.len();
            file[end] = byte;
            if let Ok(layout) = inspected("a.parquet", &file) {
                let blocks = RowBlocks::of(vec![layout]);
                let _ = copied(&blocks, &file, &[0]);
            }
        }
    }
}
