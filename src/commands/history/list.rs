//! `history list`: a line for each record.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::cli::{HistoryListArguments, RecordFormat};
use crate::console::{AppError, print, terminal};
use crate::history::record::{Content, Record};
use crate::history::{Entry, History, Loaded, RecordUse};
use crate::metric::Metric;
use crate::report::escape::for_json;
use crate::report::omit_nulls;
use crate::report::words::{self, UNKNOWN};
use crate::spec::Spec;

use super::listing::{BATCH, list_of, nothing, warn_of};
use super::{facts, table};

/// Longest text of a cell, in characters.
const CELL_LIMIT: usize = 40;
const COLUMNS: [&str; 10] = [
    "When (UTC)",
    "Job",
    "Where",
    "Branch",
    "What",
    "Commit",
    "Time",
    "Cost",
    "Verdict",
    "Id",
];

/// The column that is omitted if all records are of one branch.
const BRANCH: usize = 3;
/// Columns that a narrow terminal has no room for, the first first. The id names the record to `history show`.
const EXPENDABLE: [&str; 6] = ["Where", "Commit", "Branch", "Cost", "Time", "What"];

pub(super) async fn list(
    history: &History,
    arguments: &HistoryListArguments,
    spec: &Spec,
) -> Result<u8, AppError> {
    let job = arguments.job.as_deref();
    let listing = list_of(history, job, spec).await?;
    let count = listing.entries.len();
    let mut loaded = newest(history, &listing.entries, arguments.limit).await?;
    let more = count - loaded.records.len() - loaded.damaged.len();
    loaded.damaged.splice(0..0, listing.damaged);
    print(&match arguments.format {
        RecordFormat::Json => json(&loaded, count),
        RecordFormat::Terminal if loaded.records.is_empty() && more == 0 => {
            match loaded.damaged.is_empty() {
                true => format!("{}\n", nothing(history, job)),
                false => "none of the records can be read\n".to_owned(),
            }
        }
        RecordFormat::Terminal => table_of(&loaded, more, count),
    })?;
    warn_of(&loaded.damaged);
    Ok(0)
}

/// The newest readable records, at most `limit`, and the unreadable ones among them.
async fn newest(history: &History, entries: &[Entry], limit: usize) -> Result<Loaded, AppError> {
    let mut left = limit;
    let look = |_: &Record| {
        left -= 1;
        match left {
            0 => RecordUse::Last,
            _ => RecordUse::Keep,
        }
    };
    // Unreadable records are replaced by older ones.
    let newest = entries.iter().rev();
    let (loaded, _) = history.load_until(newest, limit.min(BATCH), look).await?;
    Ok(loaded)
}

/// The note that `more` of `count` records are not shown.
fn table_of(loaded: &Loaded, more: usize, count: usize) -> String {
    let mut text = String::new();
    if !loaded.records.is_empty() {
        let branches = loaded
            .records
            .iter()
            .map(|(_, record)| &record.writer.branch);
        let has_branches = branches.collect::<HashSet<_>>().len() > 1;
        let rows = loaded.records.iter();
        let rows: Vec<_> = rows.map(|(entry, record)| row(entry, record)).collect();
        let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
        shown.retain(|column| *column != BRANCH || has_branches);
        text = fitted(&rows, shown, terminal::stdout_width());
        text.push_str(if more > 0 { "\n" } else { "" });
    }
    if more > 0 {
        let more = words::count(more, "more record");
        text.push_str(&format!("{more} not shown; `--limit {count}` shows all\n"));
    }
    text
}

/// The table with as many of its columns as the width has room for; first the intervals go. What is left out is said.
fn fitted(rows: &[[String; COLUMNS.len()]], mut shown: Vec<usize>, width: Option<u16>) -> String {
    let lines = |shown: &[usize], cell: fn(&str) -> &str| {
        let row = |row: &[String; COLUMNS.len()]| -> Vec<String> {
            let cells = shown.iter().map(|column| cell(&row[*column]).to_owned());
            cells.collect()
        };
        let header = shown.iter().map(|column| COLUMNS[*column]);
        table::lines(header, rows.iter().map(row), CELL_LIMIT, "")
    };
    let fits = |text: &str| {
        let widest = text.lines().map(|line| line.chars().count()).max();
        width.is_none_or(|width| widest <= Some(width.into()))
    };
    let whole = lines(&shown, |cell| cell);
    if fits(&whole) {
        return whole;
    }
    let bare: fn(&str) -> &str = |cell| cell.split(" (").next().unwrap_or(cell);
    let mut left_out = vec!["intervals"];
    let mut text = lines(&shown, bare);
    for name in EXPENDABLE {
        if fits(&text) {
            break;
        }
        let before = shown.len();
        shown.retain(|column| COLUMNS[*column] != name);
        if shown.len() < before {
            left_out.push(name);
            text = lines(&shown, bare);
        }
    }
    format!(
        "{text}\nin a wider terminal also: {}\n",
        left_out.join(", ")
    )
}

fn row(entry: &Entry, record: &Record) -> [String; COLUMNS.len()] {
    let [time, cost] = facts::time_and_cost(record);
    [
        facts::when(entry),
        entry.job.clone(),
        entry.scope.to_string(),
        record
            .writer
            .branch
            .clone()
            .unwrap_or_else(|| UNKNOWN.to_owned()),
        facts::what(record),
        facts::short_commit(record),
        time,
        cost,
        facts::ended(record).to_owned(),
        entry.id.clone(),
    ]
}

/// Every record with its identity and main figures: times in seconds, costs in US dollars.
fn json(loaded: &Loaded, count: usize) -> String {
    let records = loaded.records.iter().map(|(entry, record)| {
        let mut value = json!({
            "id": entry.id,
            "name": entry.stem(),
            "recorded_at": entry.recorded_at,
            "job": entry.job,
            "scope": entry.scope.to_string(),
            "kind": entry.kind.to_string(),
            "commit": record.commit,
            "code_key": record.code_key,
            "data_key": record.data_key,
            "writer": record.writer,
        });
        let more = match &record.content {
            Content::Canary {
                canary_key,
                measurement,
                ..
            } => json!({
                "canary_key": canary_key,
                "instance": measurement.instance,
                "fraction": measurement.fraction,
                "outcome": measurement.outcome,
                "time_seconds": measurement.time(),
                "cost_usd": measurement.cost,
            }),
            Content::FullRun { measurement } => json!({
                "instance": measurement.instance,
                "outcome": measurement.outcome,
                "time_seconds": measurement.time(),
                "cost_usd": measurement.cost,
            }),
            Content::Forecast(forecast) => {
                let first = forecast.forecasts.first();
                json!({
                    "verdict": forecast.verdict,
                    "is_baseline": forecast.is_baseline,
                    "drifted": forecast.drifted,
                    "instance": first.map(|first| &first.instance),
                    "time_seconds": first.and_then(|first| first.estimates[Metric::Time]),
                    "cost_usd": first.and_then(|first| first.estimates[Metric::Cost]),
                })
            }
        };
        if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
            fields.extend(more);
        }
        value
    });
    let damaged = loaded.damaged.iter();
    let mut value = json!({
        "count": count,
        "records": records.collect::<Vec<_>>(),
        "damaged": damaged
            .map(|damaged| json!({"place": damaged.place, "why": damaged.why}))
            .collect::<Vec<_>>(),
    });
    omit_nulls(&mut value);
    for_json(&format!("{value:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_loses_intervals_and_then_columns() {
        let row = [
            "2026-11-23 11:24:02",
            "digits",
            "local",
            "main",
            "forecast",
            "fae2238",
            "45s (30s–1m 07s)",
            "0.015 USD (0.0099–0.022)",
            "within budget",
            "c645d2bed1a01b18",
        ];
        let rows = [row.map(str::to_owned)];
        let without_branch = || (0..COLUMNS.len()).filter(|column| *column != BRANCH);
        let texts = [None, Some(120), Some(80)]
            .map(|width| fitted(&rows, without_branch().collect(), width));
        insta::assert_snapshot!(texts.join("---\n"), @"
        When (UTC)           Job     Where  What      Commit   Time              Cost                      Verdict        Id
        2026-11-23 11:24:02  digits  local  forecast  fae2238  45s (30s–1m 07s)  0.015 USD (0.0099–0.022)  within budget  c645d2bed1a01b18
        ---
        When (UTC)           Job     Where  What      Commit   Time  Cost       Verdict        Id
        2026-11-23 11:24:02  digits  local  forecast  fae2238  45s   0.015 USD  within budget  c645d2bed1a01b18

        in a wider terminal also: intervals
        ---
        When (UTC)           Job     What      Time  Verdict        Id
        2026-11-23 11:24:02  digits  forecast  45s   within budget  c645d2bed1a01b18

        in a wider terminal also: intervals, Where, Commit, Cost
        ");
    }
}
