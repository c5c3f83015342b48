//! Canaries of 113 s one after another, side by side and in warm pools, by the start-ups of each input mode.

use std::path::Path;

use crate::aws::{FakeAws, Job, Metrics, Polls, Timeline};
use crate::project::Project;
use crate::{HEAD, JOB, check};

/// Start-ups as a job's statuses: a warm one is 8 s of Starting in place of these, and the same download. Together they are the
/// P90 of "Best practices for Amazon SageMaker Training Managed Warm Pools", AWS Machine Learning Blog.
struct Mode {
    name: &'static str,
    starting: f64,
    downloading: f64,
    /// Of the adaptive chain: the most that it takes in a pool, by the same chain cold.
    chain: Option<f64>,
}

const MODES: [Mode; 3] = [
    Mode {
        name: "File",
        starting: 114.0,
        downloading: 62.0,
        chain: Some(0.75),
    },
    Mode {
        name: "FastFile",
        starting: 130.0,
        downloading: 13.0,
        chain: Some(0.65),
    },
    Mode {
        name: "FSx",
        starting: 125.0,
        downloading: 11.0,
        chain: None,
    },
];

const NINE: &str = "design: fixed, fractions: [1%, 2%, 5%], replicates: 3";
const FOUR: &str = "design: fixed, fractions: [1%, 2%, 5%, 10%], replicates: 1";
const COLD: &str = "warm_pool: off";
const WARM: &str = "warm_pool: {keep_alive: 10m}";

/// Minutes for which late metrics are waited for: twelve looks, 15 s apart.
const WAIT: f64 = 11.0 * 15.0 / 60.0;

impl Mode {
    fn timeline(&self, _: &Job) -> Timeline {
        Timeline::completed()
            .span("Starting", self.starting)
            .downloading(self.downloading)
            .training(113.0)
            .uploading(0.0)
    }

    /// Minutes of a check with these keys of `canary`.
    fn minutes(&'static self, binary: &Path, scale: f64, canary: &str) -> f64 {
        self.minutes_on(&crate::account(scale), binary, scale, canary)
    }

    fn minutes_on(&'static self, aws: &FakeAws, binary: &Path, scale: f64, canary: &str) -> f64 {
        let job = JOB.replace("NUMBER", "1").replace(
            "max_runtime: 30m",
            &format!("spend_limit: 50 USD, max_runtime: 30m, {canary}"),
        );
        let project = Project::empty()
            .file("canary-gate.yml", &format!("{HEAD}  job:\n{job}"))
            .file("code/train.py", "print('trained')\n");
        aws.train(|job| self.timeline(job));
        aws.polls(Polls::Clock { scale });
        check(&project, aws, binary, scale).minutes
    }
}

/// One line: how long it took, and what it is held against.
fn row(name: &str, minutes: f64, against: &[(&str, f64, f64)]) {
    let held: Vec<String> = against
        .iter()
        .map(|(what, of, bound)| {
            let ratio = minutes / of;
            let word = if ratio <= *bound { "kept" } else { "missed" };
            format!("{ratio:.2} of {what} ({bound:.2}: {word})")
        })
        .collect();
    println!("  {name:<40}{minutes:>7.1} min  {}", held.join(", "));
}

/// Every way of each mode.
pub(crate) fn print(binary: &Path, scale: f64) {
    for mode in &MODES {
        println!("{}, nine canaries of 113 s", mode.name);
        let minutes = |canary: String| mode.minutes(binary, scale, &canary);
        let sequence = minutes(format!("{NINE}, parallel: 1, {COLD}"));
        row("one after another, cold", sequence, &[]);
        let cold = minutes(format!("{NINE}, parallel: 3, {COLD}"));
        row("three at a time, cold", cold, &[]);
        let one = minutes(format!("{NINE}, parallel: 1, {WARM}"));
        row("one lane, warm", one, &[]);
        let bounds = [
            ("one after another", sequence, 0.26),
            ("side by side", cold, 0.77),
        ];
        let three = minutes(format!("{NINE}, parallel: 3, {WARM}"));
        row("three lanes, warm", three, &bounds);
        if let Some(bound) = mode.chain {
            let cold = minutes(format!("{FOUR}, parallel: 1, {COLD}"));
            row("a chain of four, cold", cold, &[]);
            let late = crate::account(scale);
            late.metrics(Metrics::constant(&[]));
            let canary = format!("{FOUR}, parallel: 1, {WARM}, probe: false");
            let warm = mode.minutes_on(&late, binary, scale, &canary);
            let waiting = cold + 4.0 * WAIT;
            let against = [("it cold, waiting for metrics after each", waiting, bound)];
            row("a chain of four, warm, metrics late", warm, &against);
        }
    }
    let mode = &MODES[0];
    println!(
        "{}, nine canaries of 113 s one after another, cold",
        mode.name
    );
    let with = |metrics: Metrics| {
        let aws = crate::account(scale);
        aws.metrics(metrics);
        let canary = format!("{NINE}, parallel: 1, {COLD}, probe: false");
        mode.minutes_on(&aws, binary, scale, &canary)
    };
    let at_once = with(Metrics::constant(&[
        ("CPUUtilization", 100.0),
        ("MemoryUtilization", 25.0),
        ("DiskUtilization", 1.0),
    ]));
    row("metrics at once", at_once, &[]);
    let late = with(Metrics::constant(&[]));
    row(
        "metrics late, while the next one runs",
        late,
        &[("waiting after each", at_once + 9.0 * WAIT, 1.0)],
    );
}
