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
    let (mut dialect, mut header) = (Dialect::LINES, 0);
    if format == RowFormat::Csv {
        let tabs = key.to_ascii_lowercase().ends_with(".tsv");
        (dialect, header) = dialect_of(&mut window, tabs).await?;
        file.columns = dialect.names(&window.bytes[..header]);
    } else {
        file.columns = keys(&window.bytes);
    }
    if header as u64 == bytes.0 {
        return Err(RowsProblem::Empty.into());
    }
    let row = mean_row(&mut window, dialect.at_known_place(), header).await?;
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

/// How a file of records is written, and where its header ends.
async fn dialect_of<S: RangeSource>(
    window: &mut Window<'_, S>,
    tabs: bool,
) -> Result<(Dialect, usize), CopyError<S::Error>> {
    loop {
        let (bytes, is_end) = (&window.bytes, window.is_at_end());
        if is_end && csv::is_blank(bytes) {
            return Err(RowsProblem::Empty.into());
        }
        let may_end = is_end || bytes.contains(&b'\n');
        match may_end.then(|| Dialect::of_beginning(bytes, is_end, tabs)) {
            Some(Some(found)) => return Ok(found),
            _ => read_on(window).await?,
        }
    }
}

/// The mean length of the first rows.
async fn mean_row<S: RangeSource>(
    window: &mut Window<'_, S>,
    dialect: Dialect,
    first: usize,
) -> Result<u64, CopyError<S::Error>> {
    loop {
        let (bytes, is_end) = (&window.bytes[first..], window.is_at_end());
        let (mut at, mut rows) = (0, 0);
        while let RecordEnd::Ends { next, .. } =
            dialect.record(&bytes[at..], RecordState::FieldStart, is_end)
        {
            at += next;
            rows += 1;
        }
        if let Some(mean) = (at as u64).checked_div(rows) {
            return Ok(mean.max(1));
        }
        if is_end && bytes.len() as u64 <= LONGEST_ROW {
            // A quote that does not close.
            return Ok((bytes.len() as u64).max(1));
        }
        read_on(window).await?;
    }
}

/// Reads as much again, up to the longest row.
async fn read_on<S: RangeSource>(window: &mut Window<'_, S>) -> Result<(), CopyError<S::Error>> {
    let have = window.bytes.len() as u64;
    if have > LONGEST_ROW || window.is_at_end() {
        return Err(RowsProblem::LongRow.into());
    }
    window.extend(have).await
}
