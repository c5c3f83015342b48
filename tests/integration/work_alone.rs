//! `work` alone: canaries that hold all of the data, or none, and do less of the work.

use serde_json::Value;

use crate::cases;
use crate::project::Project;

/// Takes its time in proportion to its epochs.
const EPOCHS: &str = r#"import os, sys, time
epochs = int(sys.argv[sys.argv.index("--epochs") + 1])
rows = 0
if "SM_CHANNEL_TRAIN" in os.environ:
    rows = len(os.listdir(os.environ["SM_CHANNEL_TRAIN"]))
end = time.process_time() + 0.02 * epochs
while time.process_time() < end:
    pass
print("epochs", epochs, "files", rows)
"#;

fn project(channels: &str, canary: &str) -> Project {
    Project::empty()
        .data("data", 8)
        .file("train.py", EPOCHS)
        .file(
            "canary-gate.yml",
            &format!(
                "\
version: 1
backend: local
jobs:
  epochs:
    training:
      command: [python3, train.py]
      hyperparameters: {{epochs: 40}}
{channels}    instance: local
    work: {{hyperparameter: epochs, full: 40, canary: [2, 4, 8]}}
    canary: {{{canary}max_share: 10000%}}
    budget: {{time: 10m}}
"
            ),
        )
}

const WHOLE: &str = "      channels: {train: {uri: data, sample: false}}\n";
const FIXED: &str = "design: fixed, replicates: 2, ";

fn measurements(report: &Value) -> Vec<Value> {
    report["jobs"][0]["measurements"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn canaries_with_all_of_the_data_or_without_any_differ_in_their_work() {
    for channels in [WHOLE, ""] {
        let project = project(channels, FIXED);
        let report = project
            .run(&["run", "--all", "--quiet", "--format", "json"])
            .ended_with(0)
            .json();
        let runs = measurements(&report);
        let levels: Vec<(f64, f64)> = runs
            .iter()
            .map(|run| {
                assert_eq!(run["outcome"]["kind"], "completed", "{run}");
                assert_eq!(run["differs_in_work_alone"], true);
                assert_eq!(run["bytes"], Value::Null, "nobody counts what all have");
                assert_eq!(run["work_total"], 40.0);
                let (fraction, work) = (&run["fraction"], &run["work"]);
                (fraction.as_f64().unwrap(), work.as_f64().unwrap())
            })
            .collect();
        let once = [(0.05, 2.0), (0.1, 4.0), (0.2, 8.0)];
        assert_eq!(levels, [once, once].concat());
        // Of a fifth of the work: five times as much is to come, not the square of it.
        let largest = runs.iter().filter(|run| run["work"] == 8.0);
        let times = largest.map(|run| run["training_seconds"].as_f64().unwrap());
        let longest = times.fold(0.0, f64::max);
        let full = &report["jobs"][0]["forecasts"][0]["estimates"]["time_seconds"]["point"];
        let times_as_long = full.as_f64().unwrap() / longest;
        assert!((1.0..15.0).contains(&times_as_long), "{times_as_long}");
    }
}

#[test]
fn the_adaptive_design_chooses_among_the_levels() {
    let project = project(WHOLE, "");
    let ran = project
        .run(&[
            "run",
            "--all",
            "--format",
            "json",
            "--measurements",
            "runs.csv",
        ])
        .ended_with(0);
    assert!(ran.stderr.contains("5% #1, epochs 2"), "{}", ran.seen());
    let runs = measurements(&ran.json());
    assert!(runs.len() >= 3, "{runs:?}");
    // The table of the seed library has one share, and the work is not counted twice.
    let table = project.read("runs.csv");
    assert!(!table.contains("work"), "{table}");
    project.run(&["forecast", "runs.csv"]).ended_with(0);
}

#[test]
fn a_plan_and_a_report_speak_of_the_work() {
    let project = project(WHOLE, FIXED);
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("   5%  epochs 2, twice")
        .reported("full run        epochs 40; every canary has all of the data");
    let report = project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let report = report
        .reported("The largest canary did 20% of the work")
        .reported("8 of 40");
    assert!(!report.stdout.contains("of the data"), "{}", report.stdout);
    project
        .run(&["actuals", "--run"])
        .ended_with(0)
        .complained("100% #1, epochs 40  completed");
}

/// A canary is another one where all of the data are others, or the level is.
#[test]
fn canaries_are_reused_while_data_and_level_are_the_same() {
    let project = project(WHOLE, FIXED)
        .file(".gitignore", ".canary-gate/\n")
        .committed();
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let again = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let reused = |report: &Value| {
        let runs = measurements(report);
        runs.iter()
            .filter(|run| run.get("reused").is_some())
            .count()
    };
    assert_eq!(reused(&again), 6);
    project.write("data/more.csv", "1\n");
    let other = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    assert_eq!(reused(&other), 0);
}

/// Twice the epochs are more work, not more data.
#[test]
fn more_epochs_are_more_work_in_the_comparison() {
    let project = project(WHOLE, FIXED)
        .file(".gitignore", ".canary-gate/\n")
        .committed();
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let main = "refs/remotes/origin/main";
    project.git(&["symbolic-ref", "refs/remotes/origin/HEAD", main]);
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let spec = project.read("canary-gate.yml");
    let spec = spec.replace("epochs: 40", "epochs: 80");
    project.write("canary-gate.yml", &spec.replace("full: 40", "full: 80"));
    project.commit("twice the epochs");
    let report = project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let words: Vec<&str> = report.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("more work to do"), "{words:?}");
}

#[test]
fn what_makes_no_sense_is_said_at_its_line() {
    for case in cases::read(include_str!("cases/work_alone.txt")) {
        let project = project(WHOLE, FIXED);
        let spec = case.edited(&project.read("canary-gate.yml"));
        project.write("canary-gate.yml", &spec);
        case.holds_for(project.run(&["validate"]));
    }
}
