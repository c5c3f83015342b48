//! `history show`: one record.

use crate::cli::{HistoryShowArguments, RecordFormat};
use crate::console::{AppError, AppResult, print, printable};
use crate::history::{Damaged, Entry, History, Listing, Record};
use crate::report::escape::{LINE_LIMIT, for_terminal};
use crate::report::published;

use super::facts::{self, COLUMNS};

/// The width of the column of names.
const LABEL_WIDTH: usize = 10;

pub(super) async fn show(history: &History, arguments: &HistoryShowArguments) -> AppResult<u8> {
    let listing = history.list(None).await?;
    let entry = find(&listing, &arguments.id)?;
    let mut loaded = history.load(std::slice::from_ref(entry)).await?;
    let Some((entry, record)) = loaded.records.pop() else {
        return Err(damaged(loaded.damaged.first().expect("is read or damaged")));
    };
    print(&match arguments.format {
        RecordFormat::Json => json(&record),
        RecordFormat::Terminal => page(&entry, &record),
    })?;
    Ok(0)
}

/// The record of this id, or of this name with or without its extension and its folders.
fn find<'a>(listing: &'a Listing, wanted: &str) -> AppResult<&'a Entry> {
    let name = stem_of(wanted);
    let mut entries = listing.entries.iter();
    if let Some(entry) = entries.find(|entry| entry.id == name || entry.stem() == name) {
        return Ok(entry);
    }
    let mut unreadable = listing.damaged.iter();
    match unreadable.find(|record| stem_of(&record.place) == name) {
        Some(record) => Err(damaged(record)),
        None => Err(
            AppError::usage(format!("there is no record `{}`", printable(wanted)))
                .help("`canary-gate history list` shows the ids"),
        ),
    }
}

fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".json").unwrap_or(name)
}

fn damaged(record: &Damaged) -> AppError {
    let (place, why) = (printable(&record.place), printable(&record.why));
    if record.is_of_newer_version() {
        return AppError::failed(format!("the record {place} cannot be read: {why}")).help(
            "nothing is wrong with the record: leave it, and read it with a newer canary-gate",
        );
    }
    AppError::failed(format!("the record {place} is damaged: {why}"))
        .help("records are never rewritten; where it is of no use, remove its file")
}

fn json(record: &Record) -> String {
    let value = serde_json::to_value(record);
    published(value.expect("a record holds only text, numbers and lists of them"))
}

/// The record's line of the list, from top to bottom, and where it came from.
fn page(entry: &Entry, record: &Record) -> String {
    let row = COLUMNS.into_iter().zip(facts::row(entry, record));
    let last_line = facts::run_of(record).and_then(|run| run.outcome.last_line());
    let more = [
        ("Last line", last_line.map(str::to_owned)),
        ("Run", record.writer.run_url.clone()),
        ("Name", Some(entry.path())),
    ];
    let more = more.into_iter();
    let more = more.filter_map(|(name, text)| Some((name, text?)));
    let line = |(name, text): (&str, String)| {
        let text = for_terminal(&text, LINE_LIMIT);
        format!("{name:LABEL_WIDTH$} {text}\n")
    };
    row.chain(more).map(line).collect()
}
