//! The experiments that the seed library publishes, forecast from tables in its own format.
//!
//! Published are predictions and outcomes, in the library's documentation and example notebooks
//! (aws-samples/amazon-sagemaker-predict-training-resource-usage); of the canaries only a few figures are. Each test says
//! which of its numbers are published. The other canary rows are constructed: from them the library's method, as
//! `core/benches/accuracy` re-makes it, gives the published prediction, wherever a prediction is named here.

mod shown;

use std::fmt::Write as _;

use serde_json::Value;

use crate::accuracy::comparison::seed;
use crate::project::{Finished, Project};

/// What a canary of the seed's table says here: share of the files, seconds, memory in percent.
#[derive(Clone, Copy)]
struct Canary {
    share: f64,
    seconds: f64,
    memory: f64,
}

/// Three canaries for each share, 1 % apart, whose means lie on the lines that `seconds` and `memory` draw.
fn canaries(
    shares: [f64; 3],
    seconds: impl Fn(f64) -> f64,
    memory: impl Fn(f64) -> f64,
) -> Vec<Canary> {
    let run_to_run = [0.99, 1.01, 1.0];
    let of_share = |share| {
        run_to_run.map(|factor| Canary {
            share,
            seconds: seconds(share) * factor,
            memory: memory(share) * factor,
        })
    };
    shares.into_iter().flat_map(of_share).collect()
}

/// A line by its intercept and its value at the whole data, where the library's method reads off 1.1 times as much.
fn line_predicted(intercept: f64, prediction: f64) -> impl Fn(f64) -> f64 {
    let whole = prediction / 1.1;
    move |share| intercept + (whole - intercept) * share
}

/// The canaries as the library writes them, all completed.
fn table(job: &str, instance: &str, canaries: &[Canary]) -> String {
    let mut text = "TrainingJobStatus,TrainingTimeInSeconds,InstanceType,ManifestLocation,job_name,PercentageDataTrainedOn,\
                    CPUUtilization,I/OWaitPercentage,MemoryUsedPercent,GPUUtilization,GPUMemoryUtilization\n"
        .to_owned();
    for Canary {
        share,
        seconds,
        memory,
    } in canaries
    {
        let _ = writeln!(
            text,
            "Completed,{seconds:.0},{instance},,{job},{share},-1,-1,{memory:.4},-1.0,-1"
        );
    }
    text
}

/// A spec that asks for nothing but what every job must keep to: the machine's memory and a day.
fn spec(job: &str, instance: &str) -> String {
    format!(
        "\
version: 1
backend: sagemaker
region: us-east-1
jobs:
  {job}:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/xgboost:1
      role: arn:aws:iam::123456789012:role/Training
      output: s3://bucket/output/
      channels:
        train: {{uri: s3://bucket/train/}}
    instance: {instance}
"
    )
}

fn forecast(table: &str) -> Value {
    let project = Project::empty().file("runs.csv", table);
    let report = project
        .run(&["forecast", "runs.csv", "--format", "json"])
        .ended_with(0)
        .json();
    report["jobs"][0].clone()
}

fn judged(table: &str, spec: &str) -> Finished {
    let project = Project::empty()
        .file("runs.csv", table)
        .file("canary-gate.yml", spec);
    project.run(&["forecast", "runs.csv"])
}

/// An estimate of the job's own instance.
fn estimate(job: &Value, name: &str) -> Interval {
    let estimate = &job["forecasts"][0]["estimates"][name];
    let number = |end: &str| estimate[end].as_f64().unwrap();
    assert_eq!(number("level"), 0.9);
    Interval {
        point: number("point"),
        lower: number("lower"),
        upper: number("upper"),
    }
}

#[derive(Debug)]
struct Interval {
    point: f64,
    lower: f64,
    upper: f64,
}

impl Interval {
    #[track_caller]
    fn holds(&self, truth: f64) {
        assert!(
            self.lower <= truth && truth <= self.upper,
            "{truth} is not in {self:?}"
        );
    }
}

/// That the constructed canaries are consistent with what is published: the library's method predicts so much from them.
#[track_caller]
fn the_library_predicts(canaries: &[Canary], value: fn(&Canary) -> f64, published: f64) {
    let points: Vec<(f64, f64)> = canaries
        .iter()
        .map(|canary| (canary.share, value(canary)))
        .collect();
    let predicted = seed::forecast(&points).unwrap().value;
    assert!(
        (predicted / published - 1.0).abs() < 0.03,
        "{predicted} instead of {published}"
    );
}

fn seconds(canary: &Canary) -> f64 {
    canary.seconds
}

fn memory(canary: &Canary) -> f64 {
    canary.memory
}

/// Published: 132 files, ml.m5.24xlarge, 38454 s predicted, 30770 s and 47.25 USD actual, 23000-40000 s from run to run,
/// and a canary of 318 s on one file. Constructed: the other canaries, and all memory.
#[test]
fn taxi_data_with_xgboost() {
    let shares = [1.0, 3.0, 4.0].map(|files| files / 132.0);
    let canaries = canaries(shares, line_predicted(54.0, 38_454.0), |_| 1.34);
    assert!((canaries[2].seconds - 318.0).abs() < 1.0);
    the_library_predicts(&canaries, seconds, 38_454.0);

    let job = forecast(&table("taxi", "ml.m5.24xlarge", &canaries));
    let time = estimate(&job, "time_seconds");
    time.holds(30_770.0);
    assert!((23_000.0..=40_000.0).contains(&time.point), "{time:?}");
    estimate(&job, "cost_usd").holds(47.25);
}

/// Those of the test below that completed.
fn bert() -> Vec<Canary> {
    [
        (0.01, 294.0, 3.42),
        (0.01, 297.0, 3.61),
        (0.01, 301.0, 3.95),
        (0.02, 488.0, 3.58),
        (0.02, 493.0, 3.98),
        (0.03, 679.0, 3.62),
        (0.03, 684.0, 3.91),
        (0.03, 690.0, 4.21),
    ]
    .map(|(share, seconds, memory)| Canary {
        share,
        seconds,
        memory,
    })
    .to_vec()
}

/// Published: ml.p2.xlarge, 200 files, nine canaries of which one was stopped after a second, 24.7 % of memory predicted,
/// 3.99 % actual. Constructed: times and memory of the canaries.
#[test]
fn bert_with_a_canary_that_was_stopped() {
    let stopped = "Stopped,1,ml.p2.xlarge,,bert,0.02,-1,-1,-1,-1,-1";
    let completed = bert();
    the_library_predicts(&completed, memory, 24.7);
    let eight = table("bert", "ml.p2.xlarge", &completed);

    let job = forecast(&format!("{eight}{stopped}\n"));
    let notes = job["notes"].as_array().unwrap();
    let is_said = |note: &Value| {
        let note = note.as_str().unwrap();
        note.contains("left out") && note.contains("stopped")
    };
    assert!(notes.iter().any(is_said), "{notes:#?}");
    assert_eq!(
        job["forecasts"][0]["estimates"],
        forecast(&eight)["forecasts"][0]["estimates"]
    );
    let memory = estimate(&job, "memory_percent");
    memory.holds(3.99);
    assert!(memory.point < 24.7, "{memory:?}");
}

/// Published: ml.m5.2xlarge, 100 files, canaries of 107 to 119 s at 1, 2 and 3 %, of which two at 1 % took 107 and 108 s,
/// about 2000 s actual (1172 s predicted, from canaries that are not all known). Constructed: the other times, and memory.
/// Reading and starting up take most of every canary; what the whole data takes can hardly be seen in them.
///
/// A miss: the interval reaches beyond what the library predicts, and yet not to the truth, which lies in the outer few in
/// a hundred. An interval that held it would be twice as wide for every job (docs/forecasting.md); the adaptive design
/// goes farther out instead.
#[test]
fn ten_gigabytes_of_synthetic_data_are_missed_from_three_percent() {
    let canaries: Vec<Canary> = [
        (0.01, [107.0, 108.0, 107.0]),
        (0.02, [107.0, 113.0, 119.0]),
        (0.03, [119.0, 119.0, 119.0]),
    ]
    .into_iter()
    .flat_map(|(share, times)| {
        times.map(|seconds| Canary {
            share,
            seconds,
            memory: 4.8 + 36.0 * share,
        })
    })
    .collect();

    let job = forecast(&table("synthetic", "ml.m5.2xlarge", &canaries));
    let time = estimate(&job, "time_seconds");
    assert!(time.upper > 1172.0 && time.upper < 2000.0, "{time:?}");
}

/// Published: the library predicts 426 % and 549 % of one machine's memory, and the first did run out of memory on
/// ml.m5.4xlarge. Constructed: the canaries. A number above 100 is not enough said.
#[test]
fn a_memory_of_several_machines_is_said_to_fail() {
    let shares = [1.0, 3.0, 4.0].map(|files| files / 132.0);
    for prediction in [426.0, 549.0] {
        let canaries = canaries(
            shares,
            line_predicted(54.0, 21_654.0),
            line_predicted(1.0, prediction),
        );
        the_library_predicts(&canaries, memory, prediction);

        let runs = table("taxi", "ml.m5.4xlarge", &canaries);
        // The machine's memory is a limit whoever writes a spec.
        let without_spec = Project::empty()
            .file("runs.csv", &runs)
            .run(&["forecast", "runs.csv"]);
        for finished in [judged(&runs, &spec("taxi", "ml.m5.4xlarge")), without_spec] {
            finished
                .ended_with(10)
                .reported("✗ taxi over budget: memory is forecast at")
                .reported("of ml.m5.4xlarge: this fails")
                .reported("Memory would fit on ml.")
                .reported("a budget is exceeded");
        }
    }
}

/// Published: on six ml.m5.4xlarge, 71.013 % of memory, 3609 s and 5.55 USD predicted; 76.47 %, 5176 s and 7.95 USD
/// actual. Constructed: canaries on six machines (the library divides a forecast of one machine by six).
#[test]
fn six_machines_hold_what_one_does_not() {
    let instance = "6x ml.m5.4xlarge";
    let shares = [1.0, 3.0, 4.0].map(|files| files / 132.0);
    let canaries = canaries(
        shares,
        line_predicted(54.0, 3609.0),
        line_predicted(1.0, 71.013),
    );
    the_library_predicts(&canaries, seconds, 3609.0);
    the_library_predicts(&canaries, memory, 71.013);
    let runs = table("taxi", instance, &canaries);

    let job = forecast(&runs);
    let time = estimate(&job, "time_seconds");
    let cost = estimate(&job, "cost_usd");
    time.holds(5176.0);
    cost.holds(7.95);
    estimate(&job, "memory_percent").holds(76.47);
    // All six are paid for.
    let usd_per_hour = cost.point / time.point * 3600.0;
    assert!((usd_per_hour - 6.0 * 0.922).abs() < 1e-9, "{usd_per_hour}");

    judged(&runs, &spec("taxi", instance)).ended_with(0);
}
