//! `history list`: a line for each record.

use serde_json::{Value, json};

use crate::cli::{HistoryListArguments, RecordFormat};
use crate::console::{AppError, AppResult, print, printable, terminal};
use crate::gate::open_history::warn_of;
use crate::grammar;
use crate::history::{Content, History, Listing, Loaded, Scope};
use crate::metric::Metric;
use crate::report::published;
use crate::report::terminal::{TerminalStyle, records};
use crate::spec::Spec;

use super::facts::{self, COLUMNS};

/// What a narrow terminal has no room for, the first first. The id names the record to `history show`.
const EXPENDABLE: [&str; 7] = [
    "Branch", "Where", "Commit", "Cost", "Time", "What", "Verdict",
];

pub(super) async fn list(
    history: &History,
    arguments: &HistoryListArguments,
    spec: &Spec,
) -> AppResult<u8> {
    let job = arguments.job.as_deref();
    let listing = list_of(history, job, spec).await?;
    let count = listing.entries.len();
    // Unreadable records are replaced by older ones.
    let newest = listing.entries.iter().rev();
    let newest = newest.filter(|_| arguments.limit > 0);
    let mut loaded = history.choose(newest, arguments.limit, |_| true).await?;
    let more = count - loaded.records.len() - loaded.damaged.len();
    loaded.damaged.splice(0..0, listing.damaged);
    print(&match arguments.format {
        RecordFormat::Json => json(&loaded, count),
        RecordFormat::Terminal if loaded.records.is_empty() && more == 0 => {
            match loaded.damaged.is_empty() {
                true => nothing(history, job),
                false => "none of the records can be read\n".to_owned(),
            }
        }
        RecordFormat::Terminal => table_of(&loaded, more, count),
    })?;
    loaded.damaged.iter().for_each(warn_of);
    Ok(0)
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
        let more = grammar::count(more, "more record");
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
    published(json!({
        "count": count,
        "records": records.collect::<Vec<_>>(),
        "damaged": loaded.damaged,
    }))
}

/// The records that this run may read, of one job or of all.
///
/// # Errors
///
/// A job with neither a record nor an entry in the spec. A job that was removed from the spec may have records.
pub(super) async fn list_of(
    history: &History,
    job: Option<&str>,
    spec: &Spec,
) -> AppResult<Listing> {
    let listing = history.list(job).await?;
    let is_empty = listing.entries.is_empty() && listing.damaged.is_empty();
    if let Some(job) = job.filter(|job| is_empty && spec.job(job).is_none()) {
        let what = format!("there is no record of a job `{}`", printable(job));
        let help = "`canary-gate history list` shows the jobs of all records";
        return Err(AppError::usage(what).help(help));
    }
    Ok(listing)
}

/// The text if there are no records.
fn nothing(history: &History, job: Option<&str>) -> String {
    let of = job.map_or(String::new(), |job| {
        format!(" of the job `{}`", printable(job))
    });
    match history.scope() {
        Scope::Local => format!("there is no record{of} yet\n"),
        scope => format!("there is no record{of} that this run (`{scope}`) may read\n"),
    }
}
