//! `history show`: one record.

use std::fmt::Write;

use crate::cli::{HistoryShowArguments, RecordFormat};
use crate::console::{AppError, print, printable};
use crate::history::record::{Content, Record};
use crate::history::{Damaged, Entry, History, Listing};
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::report::escape::{LINE_LIMIT, NAME_LIMIT, for_json, for_terminal};
use crate::report::words::{self, Quantity, UNKNOWN};
use crate::report::{InstanceForecast, omit_nulls};

use super::{facts, table};

/// Suggestions for an unknown id.
const SUGGESTIONS: usize = 3;
/// A longer text is not a misspelt id.
const LONGEST_ID: usize = 100;
/// The similarity of a suggestion to the given id, from 0 to 1.
const NEAR: f64 = 0.7;
/// The width of the column of names.
const LABEL_WIDTH: usize = 10;
const INDENT: &str = "  ";

pub(super) async fn show(
    history: &History,
    arguments: &HistoryShowArguments,
) -> Result<u8, AppError> {
    let listing = history.list(None).await?;
    let entry = find(&listing, &arguments.id)?;
    let mut loaded = history.load(std::slice::from_ref(entry)).await?;
    let Some((entry, record)) = loaded.records.pop() else {
        let unreadable = loaded.damaged.pop().unwrap_or_else(|| Damaged {
            place: entry.path(),
            why: "nothing was read".to_owned(),
        });
        return Err(damaged(&unreadable));
    };
    print(&match arguments.format {
        RecordFormat::Json => json(&record),
        RecordFormat::Terminal => page(&entry, &record),
    })?;
    Ok(0)
}

/// The one record of this id, or of this name with or without its extension and its folders.
fn find<'a>(listing: &'a Listing, wanted: &str) -> Result<&'a Entry, AppError> {
    let named = as_name(wanted);
    let is_it = |entry: &&Entry| entry.id == wanted || is_place(as_name(&entry.path()), named);
    let found: Vec<&Entry> = listing.entries.iter().filter(is_it).collect();
    match found[..] {
        [entry] => Ok(entry),
        [] => {
            if let Some(broken) = listing
                .damaged
                .iter()
                .find(|damaged| is_place(as_name(&damaged.place), named))
            {
                return Err(damaged(broken));
            }
            Err(
                AppError::usage(format!("there is no record `{}`", printable(wanted)))
                    .help(suggestion(listing, wanted)),
            )
        }
        _ => {
            let names: Vec<String> = found
                .iter()
                .map(|entry| entry.path())
                .take(SUGGESTIONS)
                .collect();
            Err(AppError::usage(format!(
                "several records are called `{}`",
                printable(wanted)
            ))
            .help(format!("name one by its path: {}", names.join(", "))))
        }
    }
}

/// A path without its extension and a leading `./` or `/`.
fn as_name(path: &str) -> &str {
    let mut name = path.strip_suffix(".json").unwrap_or(path);
    while let Some(rest) = name.strip_prefix("./").or_else(|| name.strip_prefix("../")) {
        name = rest;
    }
    name
}

/// Whether one path equals the other or is its end.
fn is_place(one: &str, other: &str) -> bool {
    let ends_with = |path: &str, end: &str| {
        let above = path.strip_suffix(end);
        !end.is_empty() && above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    ends_with(one, other) || ends_with(other, one)
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

fn suggestion(listing: &Listing, wanted: &str) -> String {
    let mut near: Vec<(f64, &Entry)> = Vec::new();
    if wanted.len() <= LONGEST_ID {
        let likeness = |entry: &Entry| {
            if entry.id.starts_with(wanted) {
                return 1.0;
            }
            strsim::normalized_damerau_levenshtein(&entry.id, wanted)
        };
        let entries = listing.entries.iter().rev();
        near.extend(entries.map(|entry| (likeness(entry), entry)));
        near.retain(|(likeness, _)| *likeness >= NEAR && !wanted.is_empty());
        near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    }
    let names: Vec<&str> = near
        .iter()
        .map(|(_, entry)| entry.id.as_str())
        .take(SUGGESTIONS)
        .collect();
    match names[..] {
        [] => "`canary-gate history list` shows the ids".to_owned(),
        _ => format!("is it {}?", names.join(", or ")),
    }
}

fn json(record: &Record) -> String {
    let mut value =
        serde_json::to_value(record).expect("a record holds only text, numbers and lists of them");
    omit_nulls(&mut value);
    for_json(&format!("{value:#}\n"))
}

/// The record as a page to read.
fn page(entry: &Entry, record: &Record) -> String {
    let mut text = format!(
        "{} of {}\n\n",
        words::capitalized(&facts::what(record)),
        for_terminal(&entry.job, NAME_LIMIT)
    );
    let mut line = |label: &str, value: &str| {
        let value = for_terminal(value, LINE_LIMIT);
        let _ = writeln!(text, "{INDENT}{label:LABEL_WIDTH$} {value}");
    };
    line("recorded", &format!("{} UTC", facts::when(entry)));
    line("by", &facts::writer(record));
    if let Some(url) = &record.writer.run_url {
        line("run", url);
    }
    line("commit", record.commit.as_deref().unwrap_or(UNKNOWN));
    line("code key", record.code_key.as_deref().unwrap_or(UNKNOWN));
    line("data key", record.data_key.as_deref().unwrap_or(UNKNOWN));
    line("name", &entry.path());
    match &record.content {
        Content::Canary {
            canary_key,
            measurement,
            ..
        } => {
            line("canary key", canary_key.as_deref().unwrap_or(UNKNOWN));
            if let Some(said) = measurement.outcome.last_line() {
                line("last line", said);
            }
        }
        Content::FullRun { measurement } => {
            if let Some(said) = measurement.outcome.last_line() {
                line("last line", said);
            }
        }
        Content::Forecast(forecast) => {
            line("verdict", words::phrase(forecast.verdict));
            text.push('\n');
            text.push_str(&forecasts(&forecast.forecasts));
        }
    }
    text.push('\n');
    text.push_str(&canaries(record.measurements()));
    text
}

fn forecasts(forecasts: &[InstanceForecast]) -> String {
    table::lines(
        ["Instance", "Time", "Cost", "Memory", "CPU", "Verdict"],
        forecasts.iter().map(|forecast| {
            let estimates = &forecast.estimates;
            let shown = |quantity: Quantity, estimate: Option<_>| {
                estimate.map_or(UNKNOWN.to_owned(), |estimate| {
                    quantity.with_interval(&estimate)
                })
            };
            [
                forecast.instance.to_string(),
                shown(Quantity::Time, estimates[Metric::Time]),
                shown(Quantity::Money, estimates[Metric::Cost]),
                shown(Quantity::Percent, estimates[Metric::Memory]),
                shown(Quantity::Percent, estimates[Metric::CpuUtilization]),
                match &forecast.not_measured {
                    Some(why) => format!("not measured: {why}"),
                    None => words::phrase(forecast.verdict).to_owned(),
                },
            ]
        }),
        NAME_LIMIT,
        INDENT,
    )
}

fn canaries(runs: &[Measurement]) -> String {
    table::lines(
        [
            "Canary", "Instance", "Work", "Outcome", "Time", "Memory", "Cost",
        ],
        runs.iter().map(|run| {
            let or_unknown = |figure: Option<String>| figure.unwrap_or_else(|| UNKNOWN.to_owned());
            let memory = run.usage.memory.as_ref().and_then(|memory| memory.percent);
            let reused = if run.reused.is_some() { ", reused" } else { "" };
            [
                format!("{} #{}", run.fraction, u64::from(run.replicate) + 1),
                run.instance.to_string(),
                or_unknown(run.work.map(|work| work.to_string())),
                format!("{}{reused}", run.outcome),
                or_unknown(run.time().map(|time| Quantity::Time.figure(time.0))),
                or_unknown(memory.map(|percent| Quantity::Percent.figure(percent.0))),
                or_unknown(run.cost.map(|cost| Quantity::Money.figure(cost.0))),
            ]
        }),
        NAME_LIMIT,
        INDENT,
    )
}
