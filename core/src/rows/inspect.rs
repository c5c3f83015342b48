//! What a file is: its format by its name, its layout by a first look.

use super::csv::{self, Dialect, RecordEnd, RecordState};
use super::problem::{CopyError, RowsProblem};
use super::text::Window;
use super::{LONGEST_ROW, RangeSource, RowFile, RowFormat, RowLayout, row_groups};
use crate::units::Bytes;

/// What of a file's beginning is read to know it.
const BEGINNING: u64 = 64 * Bytes::KIB;

/// Looks at a file: its beginning, for Parquet its footer. `version` is what distinguishes it from another of that name.
pub async fn inspect<S: RangeSource>(
    key: &str,
    bytes: Bytes,
    version: String,
    source: &S,
) -> Result<RowFile, CopyError<S::Error>> {
    let format = RowFormat::of_name(key)?;
    if bytes.0 == 0 {
        return Err(RowsProblem::Empty.into());
    }
    let mut file = RowFile {
        key: key.to_owned(),
        bytes,
        version,
        layout: RowLayout::Parquet { groups: Vec::new() },
        sorted_by: Vec::new(),
        columns: Vec::new(),
    };
    if format == RowFormat::Parquet {
        row_groups::inspect(source, &mut file).await?;
        return Ok(file);
    }
    let mut window = Window::at(0, source, bytes.0);
    window.extend(BEGINNING).await?;
    RowFormat::check_plain(&window.bytes)?;
    let text = TextFormat {
        is_csv: format == RowFormat::Csv,
        prefers_tabs: key.to_ascii_lowercase().ends_with(".tsv"),
    };
    let (dialect, header, row) = loop {
        if let Some(found) = text.look(&window.bytes, window.is_at_end())? {
            break found;
        }
        // As much again, up to the longest row.
        let have = window.bytes.len() as u64;
        if have > LONGEST_ROW || window.is_at_end() {
            return Err(RowsProblem::LongRow.into());
        }
        window.extend(have).await?;
    };
    file.columns = match text.is_csv {
        true => dialect.names(&window.bytes[..header]),
        false => keys(&window.bytes),
    };
    file.layout = RowLayout::Text {
        header: header as u64,
        dialect,
        row,
    };
    Ok(file)
}

/// The keys of the first line, where that is a JSON object.
fn keys(beginning: &[u8]) -> Vec<String> {
    let line = beginning.split(|byte| *byte == b'\n').next();
    let object = line.and_then(|line| serde_json::from_slice(line).ok());
    object.map_or(Vec::new(), |object: serde_json::Map<_, _>| {
        object.into_iter().map(|(key, _)| key).collect()
    })
}

/// A format of text, by a file's name.
struct TextFormat {
    is_csv: bool,
    prefers_tabs: bool,
}

impl TextFormat {
    /// By a file's beginning how it is written, where its header ends, and the mean length of the first rows; `None` where that shows
    /// in more of it only. `is_end`: it is the whole file.
    fn look(
        &self,
        bytes: &[u8],
        is_end: bool,
    ) -> Result<Option<(Dialect, usize, u64)>, RowsProblem> {
        if self.is_csv && is_end && csv::is_blank(bytes) {
            return Err(RowsProblem::Empty);
        }
        let found = match self.is_csv {
            false => Some((Dialect::LINES, 0)),
            true if is_end || bytes.contains(&b'\n') => {
                Dialect::of_beginning(bytes, is_end, self.prefers_tabs)
            }
            true => None,
        };
        let Some((dialect, header)) = found else {
            return Ok(None);
        };
        let rows = &bytes[header..];
        if is_end && rows.is_empty() {
            return Err(RowsProblem::Empty);
        }
        let known = dialect.at_known_place();
        let (mut at, mut count) = (0, 0);
        while let RecordEnd::Ends { next, .. } =
            known.record(&rows[at..], RecordState::FieldStart, is_end)
        {
            at += next;
            count += 1;
        }
        let length = match at.checked_div(count) {
            Some(mean) => mean,
            // A quote that does not close.
            None if is_end && rows.len() as u64 <= LONGEST_ROW => rows.len(),
            None => return Ok(None),
        };
        Ok(Some((dialect, header, length.max(1) as u64)))
    }
}
