//! What it takes to list and load a history of 10,000 records from a folder, beside reading the same files' bytes alone, and to make
//! its page.
//!
//! `cargo bench --bench history`. The aim: under 2 s, and for the page 3 s and 1 MB. It asserts nothing. `HISTORY_RECORDS` changes the number. The files
//! were just written, so both are read from memory; what is compared is the work, not the disk.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench writes and reads files and reads the clock"
)]

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use canary_gate::history::export::Export;
use canary_gate::history::record::Record;
use canary_gate::history::{History, Scope};
use canary_gate::units::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const RECORDS: u64 = 10_000;
const JOBS: u64 = 4;
/// What a fixed design of three sizes with three replicates gives.
const CANARIES: u32 = 9;
const TIMES: u32 = 3;

fn main() {
    let asked = env::var("HISTORY_RECORDS").ok();
    let count = asked.map_or(RECORDS, |asked| asked.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let root = folder.path().join("records");
    write(&root, count);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime starts");
    for _ in 0..TIMES {
        let started = Instant::now();
        let bytes = bytes_of(&root);
        let plain = started.elapsed().as_secs_f64();

        let history = History::in_folder(root.clone(), Scope::Local);
        let started = Instant::now();
        let listing = runtime.block_on(history.list(None)).expect("it is there");
        let listed = started.elapsed().as_secs_f64();
        let loaded = runtime
            .block_on(history.load(&listing.entries))
            .expect("it is there");
        let whole = started.elapsed().as_secs_f64();
        println!(
            "{} records, {:.1} MB, {} damaged: listed in {listed:.3} s, listed and loaded in {whole:.3} s; their bytes alone in {plain:.3} s; {:.1} times as long",
            loaded.records.len(),
            bytes.as_f64() / 1e6,
            listing.damaged.len() + loaded.damaged.len(),
            whole / plain
        );
        let started = Instant::now();
        let page = runtime.block_on(page_of(&history));
        let made = started.elapsed().as_secs_f64();
        println!("their page of {} KB in {made:.3} s", page.len() / 1000);
    }
}

/// As `history export` makes it: some records at a time.
async fn page_of(history: &History) -> String {
    let listing = history.list(None).await.expect("it is there");
    let mut export = Export::page();
    for batch in listing.entries.chunks(200) {
        let loaded = history.load(batch).await.expect("it is there");
        for (entry, record) in loaded.records {
            export.add(&entry, &record);
        }
    }
    export.finish(&listing.damaged, Timestamp::now(), &[])
}

/// Forecasts and canaries of some jobs, half of each, an hour apart. Written as files, since keeping so many, each made
/// durable, would take minutes on some disks.
fn write(root: &Path, count: u64) {
    let now = Timestamp::now();
    for number in 0..count {
        let job = format!("job-{}", number % JOBS);
        let hours = i64::try_from(count - number).expect("hours fit");
        let at = now - SignedDuration::from_hours(hours);
        let record = record(&job, number, at);
        let key = if number % 2 == 0 {
            "forecast"
        } else {
            "canary"
        };
        let name = format!(
            "{}-{key}-{number:016x}-{number:016x}.json",
            at.strftime("%Y%m%dT%H%M%S%.3fZ")
        );
        let folder = root.join("main").join(&job);
        fs::create_dir_all(&folder).expect("a folder can be made");
        let text = serde_json::to_string(&record).expect("a record is JSON");
        fs::write(folder.join(name), text).expect("a file can be written");
    }
}

fn record(job: &str, number: u64, at: Timestamp) -> Record {
    let key = format!("{number:016x}").repeat(4);
    let content = if number.is_multiple_of(2) {
        let measurements: Vec<Value> = (0..CANARIES).map(|run| measurement(job, run)).collect();
        let forecasts = [forecast("ml.m5.2xlarge"), forecast("ml.c5.4xlarge")];
        json!({"kind": "forecast", "verdict": "within", "forecasts": forecasts, "measurements": measurements})
    } else {
        json!({"kind": "canary", "canary_key": key, "measurement": measurement(job, 0)})
    };
    let record = json!({
        "schema_version": 1,
        "tool_version": "0.1.0",
        "recorded_at": at,
        "job": job,
        "writer": {"event": "schedule", "command": "drift", "branch": "main", "run_url": "https://github.com/example/models/actions/runs/4821"},
        "commit": "3f9c2e1d8a7054b6c1f2e3d4a5b6c7d8e9f0a1b2",
        "code_key": key,
        "data_key": key,
        "content": content,
    });
    serde_json::from_value(record).expect("it has the form of a record")
}

fn measurement(job: &str, run: u32) -> Value {
    let fraction = [0.01, 0.02, 0.03][usize::try_from(run % 3).expect("below 3")];
    let utilization = json!({"mean": 71.25, "p99": 98.5, "source": "CloudWatch, one minute"});
    json!({
        "schema_version": 1,
        "run": "2026-11-21T05:30:00Z/4711",
        "job": job,
        "instance": "ml.m5.2xlarge",
        "backend": "sagemaker",
        "fraction": fraction,
        "objects": 12,
        "objects_total": 1200,
        "bytes": 434_865_766_u64,
        "bytes_total": 43_486_576_640_u64,
        "replicate": run / 3,
        "outcome": {"kind": "completed"},
        "phases": {"startup": 93.5, "download": 12.25, "training": 61.5, "upload": 3.125},
        "training_seconds": 76.875,
        "billable_seconds": 77,
        "usage": {"memory": {"bytes": 4_294_967_296_u64, "percent": 13.5, "source": "cgroup v2 memory.stat"}, "cpu_percent": utilization, "io_wait_percent": utilization},
        "price": {"usd_per_hour": 0.461, "source": "us-east-1, on demand", "as_of": "2026-11-02", "evidence": "price-list"},
        "cost": 0.0098,
        "training_job": "cg-churn-3f9c2e1d8a7054b6-0",
        "ended_at": "2026-11-21T05:41:12Z",
    })
}

fn forecast(instance: &str) -> Value {
    let estimate = json!({"point": 15_120.5, "lower": 14_010.25, "upper": 16_400.75, "level": 0.9});
    json!({
        "instance": instance,
        "verdict": "within",
        "estimates": {
            "time_seconds": estimate, "cost_usd": estimate, "memory_percent": estimate,
            "memory_bytes": estimate, "cpu_percent": estimate, "io_wait_percent": estimate,
        },
        "phases": {"startup": estimate, "download": estimate, "training": estimate, "upload": estimate},
        "budget": [
            {"line": "cost", "limit": 50.0, "bound": "max", "level": "fail", "chance_of_breach": 0.01, "verdict": "within"},
            {"line": "time", "limit": 28800.0, "bound": "max", "level": "fail", "chance_of_breach": 0.01, "verdict": "within"},
            {"line": "memory", "limit": 90.0, "bound": "max", "level": "fail", "chance_of_breach": 0.01, "verdict": "within"},
        ],
    })
}

/// Reads every file below a folder and nothing else; gives their bytes.
fn bytes_of(folder: &Path) -> Bytes {
    let paths = fs::read_dir(folder).expect("it is there");
    let paths: Vec<PathBuf> = paths
        .map(|entry| entry.expect("it is there").path())
        .collect();
    let read = |path: &PathBuf| {
        if path.is_dir() {
            bytes_of(path)
        } else {
            let bytes = fs::read(path).expect("it can be read").len();
            Bytes(u64::try_from(bytes).expect("bytes fit"))
        }
    };
    paths.iter().map(read).sum()
}
