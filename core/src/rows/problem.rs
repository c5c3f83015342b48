//! Why the rows of a file cannot be drawn, and what to do.

use super::LONGEST_ROW;
use crate::units::Bytes;

/// Why the rows of a file cannot be drawn; each follows the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowsProblem {
    #[error(
        "no format with rows ends so (.csv, .tsv, .jsonl, .ndjson, .json-lines, .txt and .parquet do), nor does it begin with lines of text or of JSON"
    )]
    NotRows,
    #[error("it is compressed ({0}), so no row can be found without reading all before it")]
    Compressed(String),
    #[error("it is encrypted, so its rows cannot be read")]
    Encrypted,
    #[error("it is UTF-16, in which no line end is found by its byte")]
    Utf16,
    #[error("it has no rows")]
    Empty,
    #[error("a row is longer than {}", Bytes(LONGEST_ROW))]
    LongRow,
    #[error(
        "{left} of the first {tried} blocks have rows without the {fields} fields of its header, or quotes that do not close"
    )]
    Ragged {
        left: usize,
        tried: usize,
        fields: usize,
    },
    #[error("it is not Parquet: {0}")]
    NotParquet(String),
    #[error("it has one row")]
    OneRow,
    #[error("it has one row group, and a row group is the least that can be drawn")]
    OneRowGroup,
    #[error("it has changed since it was listed")]
    Changed,
}

impl RowsProblem {
    pub fn help(&self) -> String {
        const SHARE: &str = "let the script draw its own share with the job's key `share`";
        let way_out = match self {
            Self::NotRows => {
                return format!(
                    "rename it, or put it into a channel of its own with `sample: false`; for other formats {SHARE}"
                );
            }
            Self::Encrypted => return SHARE.to_owned(),
            Self::Empty | Self::OneRow => {
                return "put the data there, or give it a channel of its own with `sample: false`"
                    .to_owned();
            }
            Self::NotParquet(_) => {
                return "store it as Parquet again, or name it for what it is".to_owned();
            }
            Self::Changed => {
                return "keep the data unchanged while canaries run, and run the gate again"
                    .to_owned();
            }
            Self::Compressed(_) => {
                "store it uncompressed, or as Parquet, whose compression is inside"
            }
            Self::Utf16 => "store it as UTF-8",
            Self::LongRow => "end rows with line ends, or store the data as Parquet",
            Self::Ragged { .. } => {
                "give every row the fields of the header, and quote fields that hold the delimiter, a quote or a line end"
            }
            Self::OneRowGroup => {
                "write it with smaller row groups, as `pyarrow.parquet.write_table(table, path, row_group_size=100_000)` does, 100 or more of them"
            }
        };
        format!("{way_out}; or {SHARE}")
    }
}

/// Why a file could not be read, written, or understood.
#[derive(Debug, thiserror::Error)]
pub enum CopyError<E> {
    #[error("{0}")]
    Read(E),
    #[error(transparent)]
    Write(#[from] std::io::Error),
    #[error(transparent)]
    Rows(#[from] RowsProblem),
}

/// What comes of reading a source.
pub(super) type Rows<T, S> = Result<T, CopyError<<S as super::RangeSource>::Error>>;
