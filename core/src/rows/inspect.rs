//! What a file is: its format by its name or its beginning, its layout by a first look.

use std::collections::BTreeMap;

use super::csv::{self, Dialect, RecordState};
use super::problem::{CopyError, RowsProblem};
use super::text::TextLayout;
use super::{LONGEST_ROW, RangeSource, RowFile, RowFormat, RowLayout, row_groups};
use crate::units::Bytes;

/// What of a file's beginning is read to know it.
pub const BEGINNING: u64 = 64 * Bytes::KIB;

/// Looks at a file: its beginning, for Parquet its footer. `version` is what distinguishes it from another of that name.
pub async fn inspect<S: RangeSource>(
    key: &str,
    bytes: Bytes,
    version: String,
    source: &S,
) -> Result<RowFile, CopyError<S::Error>> {
    let format = match RowFormat::of_name(key) {
        Err(RowsProblem::NotRows) => {
            let beginning = source.read(0..bytes.0.min(BEGINNING)).await;
            let has_lines = RowFormat::has_lines(&beginning.map_err(CopyError::Read)?);
            (has_lines.then_some(RowFormat::Lines)).ok_or(RowsProblem::NotRows)?
        }
        named => named?,
    };
    if bytes.0 == 0 {
        return Err(RowsProblem::Empty.into());
    }
    let mut file = RowFile {
        key: key.to_owned(),
        bytes,
        version,
        layout: RowLayout::Parquet { groups: Vec::new() },
        columns: Vec::new(),
    };
    if format == RowFormat::Parquet {
        row_groups::inspect(source, &mut file).await?;
        return Ok(file);
    }
    let mut beginning = Vec::new();
    let layout = loop {
        let have = beginning.len() as u64;
        // As much again, up to the longest row.
        let more = source.read(have..bytes.0.min(BEGINNING.max(2 * have)));
        beginning.extend(more.await.map_err(CopyError::Read)?);
        RowFormat::check_plain(&beginning)?;
        let is_end = beginning.len() as u64 >= bytes.0;
        if let Some(layout) = layout(format, key, &beginning, is_end)? {
            break layout;
        }
        if is_end || beginning.len() as u64 > LONGEST_ROW {
            return Err(RowsProblem::LongRow.into());
        }
    };
    file.columns = match format {
        RowFormat::Lines => keys(&beginning),
        _ => {
            let header = usize::try_from(layout.header).unwrap_or_default();
            layout.dialect.names(&beginning[..header])
        }
    };
    file.layout = RowLayout::Text(layout);
    Ok(file)
}

/// The keys that most lines have, of those that are JSON objects.
fn keys(beginning: &[u8]) -> Vec<String> {
    let lines = beginning.split(|byte| *byte == b'\n');
    let objects = lines.filter_map(|line| serde_json::from_slice(line).ok());
    let objects: Vec<serde_json::Map<_, _>> = objects.collect();
    let mut lines_with: BTreeMap<&str, usize> = BTreeMap::new();
    for key in objects.iter().flat_map(serde_json::Map::keys) {
        *lines_with.entry(key).or_default() += 1;
    }
    lines_with.retain(|_, lines| 2 * *lines > objects.len());
    lines_with.into_keys().map(str::to_owned).collect()
}

/// By a file's beginning how its rows lie in it; `None` where that shows in more of it only. `is_end`: it is the whole file.
fn layout(
    format: RowFormat,
    name: &str,
    bytes: &[u8],
    is_end: bool,
) -> Result<Option<TextLayout>, RowsProblem> {
    let is_csv = format == RowFormat::Csv;
    if is_csv && is_end && csv::is_blank(bytes) {
        return Err(RowsProblem::Empty);
    }
    let prefers_tabs = name.to_ascii_lowercase().ends_with(".tsv");
    let found = match is_csv {
        false => Some((Dialect::LINES, 0)),
        true if is_end || bytes.contains(&b'\n') => {
            Dialect::of_beginning(bytes, is_end, prefers_tabs)
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
    while let Ok(row) = known.record(&rows[at..], RecordState::FieldStart, is_end) {
        at += row.next;
        count += 1;
    }
    let length = match at.checked_div(count) {
        Some(mean) => mean,
        // A quote that does not close.
        None if is_end && rows.len() as u64 <= LONGEST_ROW => rows.len(),
        None => return Ok(None),
    };
    Ok(Some(TextLayout {
        header: header as u64,
        dialect,
        row: length.max(1) as u64,
    }))
}
