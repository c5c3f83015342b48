//! `history list`: a line for each record.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use crate::cli::{HistoryListArguments, RecordFormat};
use crate::console::{AppError, print, terminal};
use crate::gate::open_history::warn_of;
use crate::history::record::Content;
use crate::history::{Entry, History, Loaded};
use crate::metric::Metric;
use crate::report::terminal::{TerminalStyle, records};
use crate::report::{published, words};
use crate::spec::Spec;

use super::facts::{self, COLUMNS};
use super::listing::{list_of, nothing};

/// What a narrow terminal has no room for, the first first. The id names the record to `history show`.
const EXPENDABLE: [&str; 7] = [
    "Branch", "Where", "Commit", "Cost", "Time", "What", "Verdict",
];

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
    loaded.damaged.iter().for_each(warn_of);
    Ok(0)
}

/// The newest readable records, at most `limit`, and the unreadable ones among them.
async fn newest(history: &History, entries: &[Entry], limit: usize) -> Result<Loaded, AppError> {
    let mut records = Vec::new();
    let look = |entry: &Entry, record| {
        records.push((entry.clone(), record));
        match records.len() < limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    // Unreadable records are replaced by older ones.
    let newest = entries.iter().rev().filter(|_| limit > 0);
    let damaged = history.read(newest, look).await?;
    Ok(Loaded { records, damaged })
}

/// The note that `more` of `count` records are not shown.
fn table_of(loaded: &Loaded, more: usize, count: usize) -> String {
    let mut text = String::new();
    if !loaded.records.is_empty() {
        let rows = loaded.records.iter();
        let rows = rows.map(|(entry, record)| facts::row(entry, record).to_vec());
        let style = TerminalStyle {
            width: terminal::stdout_width(),
            ..TerminalStyle::default()
        };
        text = records(&COLUMNS, rows, &EXPENDABLE, style);
    }
    if more > 0 {
        let more = words::count(more, "more record");
        text.push_str(&format!("{more} not shown; `--limit {count}` shows all\n"));
    }
    text
}

/// Every record with its identity and main figures: times in seconds, costs in US dollars.
fn json(loaded: &Loaded, count: usize) -> String {
    let records = loaded.records.iter().map(|(entry, record)| {
        let canary_key = match &record.content {
            Content::Canary { canary_key, .. } => Some(canary_key),
            Content::FullRun { .. } | Content::Forecast(_) => None,
        };
        let (run, forecast) = (facts::run_of(record), record.forecast());
        let row = forecast.and_then(|forecast| forecast.forecasts.first());
        let either = |of_run: Option<Value>, metric| {
            of_run.unwrap_or_else(|| json!(row.and_then(|row| row.estimates[metric])))
        };
        json!({
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
            "canary_key": canary_key,
            "verdict": forecast.map(|forecast| &forecast.verdict),
            "is_baseline": forecast.map(|forecast| forecast.is_baseline),
            "drifted": forecast.and_then(|forecast| forecast.drifted),
            "instance": run.map(|run| &run.instance).or(row.map(|row| &row.instance)),
            "fraction": run.filter(|_| canary_key.is_some()).map(|run| &run.fraction),
            "outcome": run.map(|run| &run.outcome),
            "time_seconds": either(run.map(|run| json!(run.time())), Metric::Time),
            "cost_usd": either(run.map(|run| json!(run.cost)), Metric::Cost),
        })
    });
    let damaged = loaded.damaged.iter();
    published(json!({
        "count": count,
        "records": records.collect::<Vec<_>>(),
        "damaged": damaged
            .map(|damaged| json!({"place": damaged.place, "why": damaged.why}))
            .collect::<Vec<_>>(),
    }))
}
