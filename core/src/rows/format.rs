//! The formats whose rows can be drawn; a file's name says which it has, or its beginning.

use super::problem::RowsProblem;

/// A format whose rows can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum RowFormat {
    #[display("CSV")]
    Csv,
    #[display("lines")]
    Lines,
    Parquet,
}

const BY_EXTENSION: [(&str, RowFormat); 7] = [
    (".csv", RowFormat::Csv),
    (".tsv", RowFormat::Csv),
    (".jsonl", RowFormat::Lines),
    (".ndjson", RowFormat::Lines),
    (".json-lines", RowFormat::Lines),
    (".txt", RowFormat::Lines),
    (".parquet", RowFormat::Parquet),
];

/// How a compressed file's name ends, how its content begins, and how it was made.
const COMPRESSED: [(&str, &[u8], &str); 8] = [
    (".gz", b"\x1f\x8b", "gzip"),
    (".tgz", b"\x1f\x8b", "gzip"),
    (".zst", b"\x28\xb5\x2f\xfd", "zstd"),
    (".bz2", b"BZh", "bzip2"),
    (".xz", b"\xfd7zXZ\0", "xz"),
    (".lz4", b"\x04\x22\x4d\x18", "lz4"),
    (".zip", b"PK\x03\x04", "zip"),
    (".7z", b"7z\xbc\xaf\x27\x1c", "7z"),
];

impl RowFormat {
    /// By the end of a name.
    pub fn of_name(name: &str) -> Result<Self, RowsProblem> {
        let lower = name.to_ascii_lowercase();
        if let Some((end, ..)) = COMPRESSED.iter().find(|(end, ..)| lower.ends_with(end)) {
            return Err(RowsProblem::Compressed(end.trim_start_matches('.').into()));
        }
        let found = BY_EXTENSION.iter().find(|(end, _)| lower.ends_with(end));
        found.map(|(_, format)| *format).ok_or(RowsProblem::NotRows)
    }

    /// Whether a file begins with lines of text, or of JSON: for one whose name says nothing. A document in several lines has none.
    pub fn has_lines(beginning: &[u8]) -> bool {
        let end = beginning.iter().rposition(|byte| *byte == b'\n');
        let text = str::from_utf8(&beginning[..end.unwrap_or_default()]).unwrap_or_default();
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let is_json = |line: &str| serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
        let are_several = lines.clone().nth(1).is_some();
        are_several
            && match text.trim_start().as_bytes()[0] {
                b'{' | b'[' => lines.all(is_json),
                first => first != b'<' && !text.contains('\0'),
            }
    }

    /// Fails where a file that its name calls plain is not.
    pub(super) fn check_plain(beginning: &[u8]) -> Result<(), RowsProblem> {
        for (_, magic, name) in COMPRESSED {
            if beginning.starts_with(magic) {
                return Err(RowsProblem::Compressed(name.into()));
            }
        }
        if beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff") {
            return Err(RowsProblem::Utf16);
        }
        if beginning.starts_with(b"Salted__") || beginning.starts_with(b"age-encryption.org") {
            return Err(RowsProblem::Encrypted);
        }
        Ok(())
    }
}
