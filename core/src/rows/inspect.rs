//! What a file is: its format by its name, its layout by a first look.

use super::csv::{self, Dialect, RecordEnd, RecordState};
use super::footer::inspect_parquet;
use super::format::RowFormat;
use super::members::inspect_tar;
use super::problem::{CopyError, RowsProblem};
use super::window::Window;
use super::{LONGEST_ROW, RangeSource, RowFile, RowLayout};
use crate::units::Bytes;

/// What of a file's beginning is read to know it.
pub(super) const BEGINNING: u64 = 64 * Bytes::KIB;

/// Looks at a file: its beginning, for Parquet its footer. `version` is what distinguishes it from another of that name.
pub async fn inspect<S: RangeSource>(
    key: &str,
    bytes: Bytes,
    version: String,
    source: &mut S,
) -> Result<RowFile, CopyError<S::Error>> {
    let format = RowFormat::of_name(key)?;
    if bytes.0 == 0 {
        return Err(RowsProblem::Empty.into());
    }
    let (mut cautions, mut columns) = (Vec::new(), Vec::new());
    let layout = match format {
        RowFormat::Parquet => inspect_parquet(bytes.0, source, &mut cautions, &mut columns).await?,
        _ => {
            let mut window = Window::over(source, bytes.0);
            window.jump(0..BEGINNING).await?;
            RowFormat::check_plain(window.bytes())?;
            match format {
                RowFormat::Csv => {
                    let tabs = key.to_ascii_lowercase().ends_with(".tsv");
                    inspect_csv(&mut window, tabs, &mut columns).await?
                }
                RowFormat::Lines => {
                    columns = keys(window.bytes());
                    RowLayout::Lines {
                        row: mean_row(&mut window, Dialect::LINES, 0).await?,
                    }
                }
                RowFormat::Tar => inspect_tar(&mut window, &mut cautions).await?,
                RowFormat::Parquet => unreachable!("read by its footer"),
            }
        }
    };
    Ok(RowFile {
        key: key.to_owned(),
        bytes,
        version,
        layout,
        cautions,
        columns,
    })
}

/// The keys of the first line, where that is a JSON object.
fn keys(beginning: &[u8]) -> Vec<String> {
    let line = beginning.split(|byte| *byte == b'\n').next();
    let object = line.and_then(|line| serde_json::from_slice(line).ok());
    object.map_or(Vec::new(), |object: serde_json::Map<_, _>| {
        object.into_iter().map(|(key, _)| key).collect()
    })
}

async fn inspect_csv<S: RangeSource>(
    window: &mut Window<'_, S>,
    tabs: bool,
    columns: &mut Vec<String>,
) -> Result<RowLayout, CopyError<S::Error>> {
    let (dialect, header) = loop {
        if window.is_at_end() && csv::is_blank(window.bytes()) {
            return Err(RowsProblem::Empty.into());
        }
        let may_end = window.is_at_end() || window.bytes().contains(&b'\n');
        let found =
            may_end.then(|| Dialect::of_beginning(window.bytes(), window.is_at_end(), tabs));
        match found.flatten() {
            Some(found) => break found,
            None => read_on(window).await?,
        }
    };
    let header = header as u64;
    if header == window.size() {
        return Err(RowsProblem::Empty.into());
    }
    *columns = dialect.names(window.slice(0..header));
    let row = mean_row(window, dialect.at_known_place(), header).await?;
    Ok(RowLayout::Records {
        header,
        dialect,
        row,
    })
}

/// The mean length of the first rows.
async fn mean_row<S: RangeSource>(
    window: &mut Window<'_, S>,
    dialect: Dialect,
    first: u64,
) -> Result<u64, CopyError<S::Error>> {
    loop {
        let bytes = window.slice(first..window.end());
        let (mut at, mut rows) = (0, 0);
        while at < bytes.len() {
            match dialect.record(&bytes[at..], RecordState::FieldStart, window.is_at_end()) {
                RecordEnd::Ends { next, .. } => {
                    at += next;
                    rows += 1;
                }
                RecordEnd::GoesOn | RecordEnd::Malformed => break,
            }
        }
        if let Some(mean) = (at as u64).checked_div(rows) {
            return Ok(mean.max(1));
        }
        if window.is_at_end() && bytes.len() as u64 <= LONGEST_ROW {
            // A quote that does not close.
            return Ok((bytes.len() as u64).max(1));
        }
        read_on(window).await?;
    }
}

/// Reads as much again, up to the longest row.
async fn read_on<S: RangeSource>(window: &mut Window<'_, S>) -> Result<(), CopyError<S::Error>> {
    let have = window.bytes().len() as u64;
    if have > LONGEST_ROW || window.is_at_end() {
        return Err(RowsProblem::LongRow.into());
    }
    window.extend(have).await
}
