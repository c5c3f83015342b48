//! `backend: replay`: a whole gate on recorded runs, with nothing started.

use std::fs::File;
use std::os::unix::fs::symlink;

use crate::cases;
use crate::project::{Finished, Project};

/// Eighteen runs each of twenty-eight workloads: three of 1, 2 and 3 %, two of 5 and 10 %, one of 20 and 50 %, three in full.
const RUNS: &str = include_str!("../data/training-runs.csv");

/// Three runs of 1 %, two of 2 %; the second took long.
const FEW: &str = "\
workload,fraction_requested,wall_seconds
sums,1%,1
sums,1%,90
sums,1%,1.1
sums,2%,2
sums,2%,2.1
";

const TOP: &str = "\
version: 1
backend: replay
recording: runs.csv
jobs:
";

/// A job whose training could not run: its script and its data are not there.
fn job(name: &str, more: &str) -> String {
    format!(
        "  {name}:
    training: {{command: [python3, train.py], channels: {{train: {{uri: data}}}}}}
    instance: local
    canary: {{design: fixed, max_share: 10000%}}
{more}"
    )
}

fn spec(jobs: &[String]) -> String {
    format!("{TOP}{}", jobs.concat())
}

/// A project that replays `recording` for job `sums`, with `canary` as its policy.
fn sums(recording: &str, canary: &str) -> Project {
    let job = job("sums", "").replace("design: fixed", &format!("design: fixed, {canary}"));
    Project::empty()
        .file("runs.csv", recording)
        .file("canary-gate.yml", &spec(&[job]))
}

fn gate(project: &Project) -> Finished {
    project.run(&["run", "--all", "--quiet"])
}

#[test]
fn a_whole_gate_on_recorded_runs() {
    let project = Project::empty().file("runs.csv", RUNS).file(
        "canary-gate.yml",
        &spec(&[
            job("xgb_reg", "    budget: {time: 10m}\n"),
            job("iforest", "    budget: {time: 1s}\n"),
        ]),
    );
    gate(&project)
        .ended_with(10)
        .reported("✗ iforest over budget")
        .reported("✓ xgb_reg within budget")
        .reported("the runs are replayed from the recording `runs.csv`; nothing is run");
}

/// A full run of ten hours: 5 s and a cube.
#[test]
fn growth_faster_than_any_law_is_not_within_budget() {
    let runs: String = [1, 2, 3, 5, 10, 20, 50]
        .map(|percent| {
            let share = f64::from(percent) / 100.0;
            format!("sums,{percent}%,{}\n", 5.0 + 36_000.0 * share.powi(3))
        })
        .concat();
    let job =
        job("sums", "    budget: {time: 5h}\n").replace("{design: fixed, max_share: 10000%}", "{}");
    Project::empty()
        .file(
            "runs.csv",
            &format!("workload,fraction_requested,wall_seconds\n{runs}"),
        )
        .file("canary-gate.yml", &spec(&[job]))
        .run(&["run", "--all", "--quiet", "--strict"])
        .ended_with(11)
        .reported("growth that no canary could show would pass the limit");
}

#[test]
fn each_recorded_run_is_measured_as_it_was_recorded() {
    let project = Project::empty().file("runs.csv", RUNS).file(
        "canary-gate.yml",
        &spec(&[job("sgd_stream", "    budget: {time: 1h}\n")]),
    );
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let measurements = report["jobs"][0]["measurements"].as_array().unwrap();
    let bytes: Vec<u64> = measurements
        .iter()
        .map(|run| run["bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(
        bytes,
        [
            8_348_629, 11_108_340, 16_368_451, 7_274_335, 25_740_998, 28_052_671, 4_032_654,
            14_883_282, 20_547_253
        ]
    );
    assert!(measurements.iter().all(|run| run["backend"] == "replay"));
}

#[test]
fn several_at_a_time_are_handed_out_in_the_order_of_the_plan() {
    let measured = |parallel: u32| {
        let job = job("pca_ridge", "").replace(
            "design: fixed",
            &format!("design: fixed, parallel: {parallel}"),
        );
        let project = Project::empty()
            .file("runs.csv", RUNS)
            .file("canary-gate.yml", &spec(&[job]));
        let mut report = project
            .run(&["run", "--all", "--quiet", "--format", "json"])
            .ended_with(0)
            .json();
        let measurements = report["jobs"][0]["measurements"].as_array_mut().unwrap();
        for run in measurements.iter_mut() {
            run["run"].take();
        }
        measurements.clone()
    };
    assert_eq!(measured(1), measured(4));
}

#[test]
fn a_plan_speaks_of_the_recorded_data() {
    let project = sums(RUNS, "replicates: 2").file("canary-gate.yml", &spec(&[job("iforest", "")]));
    insta::assert_snapshot!(project.run(&["plan", "--all"]).ended_with(0).seen());
}

#[test]
fn data_of_unknown_size_is_assumed_and_said() {
    let project = sums(FEW, "fractions: [1%, 2%], replicates: 2");
    insta::assert_snapshot!(project.run(&["plan", "--all"]).ended_with(0).seen());
}

#[test]
fn a_run_that_took_longer_than_its_limit_timed_out() {
    let project = sums(FEW, "fractions: [1%, 2%], replicates: 2, max_runtime: 1m");
    let priced = project
        .read("canary-gate.yml")
        .replace("jobs:\n", "prices: {local: 6 USD/h}\njobs:\n");
    project.write("canary-gate.yml", &priced);
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .json();
    let measurements = report["jobs"][0]["measurements"].as_array().unwrap();
    assert_eq!(measurements.len(), 3, "nothing is launched after it");
    let ended = &measurements[2];
    assert_eq!(ended["outcome"]["kind"], "timed_out");
    assert_eq!(
        (&ended["training_seconds"], &ended["billable_seconds"]),
        (&60.0.into(), &60.0.into())
    );
    // The table has no billed time, so the time that it took is paid for.
    let costs: Vec<f64> = measurements
        .iter()
        .map(|run| run["cost"].as_f64().unwrap())
        .collect();
    assert!((costs[0] - 6.0 / 3600.0).abs() < 1e-12, "{costs:?}");
    assert!((costs[2] - 0.1).abs() < 1e-12, "{costs:?}");
}

/// Code that hangs is not inconclusive.
#[test]
fn canaries_that_all_reach_their_limit_never_pass() {
    let hangs = "workload,fraction_requested,wall_seconds\nsums,1%,3600\nsums,2%,3600\nsums,1%,3600\nsums,2%,3600\n";
    let project = sums(hangs, "fractions: [1%, 2%], replicates: 2, max_runtime: 1m");
    let spec = project.read("canary-gate.yml");
    let judged = format!(
        "{}    budget: {{time: 1h}}\n",
        spec.replace("jobs:\n", "on_inconclusive: pass\njobs:\n")
    );
    project.write("canary-gate.yml", &judged);
    gate(&project).ended_with(14);
}

#[test]
fn a_design_that_asks_for_more_is_refused_before_the_first_run() {
    let project = sums(FEW, "fractions: [1%, 2%, 5%], replicates: 3");
    let refused = gate(&project).ended_with(1);
    insta::assert_snapshot!(refused.seen());
    assert!(project.recorded("canary").is_empty());
    project
        .run(&["plan", "--all"])
        .ended_with(1)
        .complained("has fewer runs of job `sums` on local");
    project
        .run(&["validate"])
        .ended_with(0)
        .complained("warning: recording: `runs.csv` has fewer runs of job `sums` on local");
}

#[test]
fn one_job_that_is_not_recorded_keeps_no_other_from_its_verdict() {
    let project = Project::empty().file("runs.csv", RUNS).file(
        "canary-gate.yml",
        &spec(&[
            job("iforest", "    budget: {time: 1h}\n"),
            job("churn", "    budget: {time: 1h}\n"),
        ]),
    );
    let json = ["run", "--all", "--quiet", "--format", "json"];
    let report = project
        .run(&json)
        .ended_with(1)
        .complained("recording: `runs.csv` holds no run of job `churn`")
        .complained("it holds runs of xgb_reg, sgd_stream")
        .json();
    assert_eq!(report["verdict"], "unknown");
    assert_eq!(report["jobs"][0]["verdict"], "within");
}

#[test]
fn what_the_recording_lacks_or_forbids_is_said() {
    for case in cases::read(include_str!("cases/recordings.txt")) {
        let project = sums(FEW, "fractions: [1%, 2%], replicates: 2");
        let spec = case.edited(&project.read("canary-gate.yml"));
        project.write("canary-gate.yml", &spec);
        let arguments: Vec<&str> = case.one("run").split(' ').collect();
        case.holds_for(project.run(&arguments));
        assert_eq!(project.read("runs.csv"), FEW);
    }
}

#[test]
fn a_recording_belongs_to_the_replay_backend() {
    let project = sums(FEW, "fractions: [1%, 2%], replicates: 2");
    let text = project.read("canary-gate.yml").replace("replay", "local");
    project.write("canary-gate.yml", &text);
    insta::assert_snapshot!(project.run(&["validate"]).ended_with(2).seen());
}

#[test]
fn measurements_of_a_run_are_a_recording() {
    let project = Project::with_script("sleep 0.01\n");
    project
        .run(&["run", "--all", "--quiet", "--measurements", "runs.jsonl"])
        .ended_with(0);
    let replayed = project
        .read("canary-gate.yml")
        .replace("backend: local", "backend: replay\nrecording: runs.jsonl");
    project.write("canary-gate.yml", &replayed);
    std::fs::remove_dir_all(project.path("data")).unwrap();
    std::fs::remove_file(project.path("train.sh")).unwrap();
    // Each gate starts with the whole recording.
    for _ in 0..2 {
        gate(&project)
            .ended_with(0)
            .reported("are replayed from the recording `runs.jsonl`");
    }
}

#[test]
fn a_gate_is_not_fed_its_own_echo() {
    let project = Project::with_script("sleep 0.01\n");
    let keep = |file: &str| {
        let arguments = ["run", "--all", "--measurements", file];
        project.run(&arguments).ended_with(0)
    };
    keep("runs.jsonl");
    let replayed = project
        .read("canary-gate.yml")
        .replace("backend: local", "backend: replay\nrecording: runs.jsonl");
    project.write("canary-gate.yml", &replayed);
    keep("echo.jsonl");
    let both = project.read("runs.jsonl") + &project.read("echo.jsonl");
    project.write("runs.jsonl", &both);
    gate(&project)
        .ended_with(0)
        .reported("6 runs of the recording were themselves replayed and are left out");
}

#[test]
fn a_recording_that_cannot_be_read() {
    let project = sums(FEW, "fractions: [1%, 2%], replicates: 2");
    let file = project.path("runs.csv");
    let refused = |text: &str| gate(&project).ended_with(1).complained(text);

    std::fs::write(&file, FEW.replace("90", "fast")).unwrap();
    let malformed = refused("line 3, column wall_seconds: found `fast`");
    insta::assert_snapshot!(malformed.seen());
    std::fs::write(&file, "a,b\n1,2\n").unwrap();
    refused("the columns are not those of a table of measurements");
    std::fs::write(&file, "").unwrap();
    refused("the table is empty");

    // Sparse: it takes no room on the disk.
    File::create(&file).unwrap().set_len(17 << 20).unwrap();
    refused("it is larger than 16.0 MiB");

    std::fs::remove_file(&file).unwrap();
    let missing = refused("recording: `runs.csv` cannot be read: [PROJECT]/runs.csv");
    insta::assert_snapshot!(missing.seen());
    project
        .run(&["validate"])
        .ended_with(0)
        .complained("warning: recording: `runs.csv` cannot be read");

    std::fs::create_dir(&file).unwrap();
    refused("it is a folder");
}

#[test]
fn a_recording_outside_the_checkout_is_not_read() {
    let project = sums(FEW, "fractions: [1%, 2%], replicates: 2");
    std::fs::remove_file(project.path("runs.csv")).unwrap();
    symlink("/etc/passwd", project.path("runs.csv")).unwrap();
    let refused = gate(&project)
        .ended_with(1)
        .complained("recording: `runs.csv` leads outside the checkout, to /etc/passwd");
    assert!(!refused.stderr.contains("root:"), "{}", refused.seen());
}

/// The error for a file that is no table quotes its first line.
#[test]
fn a_recording_that_is_private_is_not_read() {
    let project = sums(FEW, "fractions: [1%, 2%], replicates: 2").file(".env", "TOKEN=secret\n");
    std::fs::remove_file(project.path("runs.csv")).unwrap();
    std::os::unix::fs::symlink(".env", project.path("runs.csv")).unwrap();
    let run = gate(&project).ended_with(1).complained("which is private");
    assert!(!run.seen().contains("TOKEN"), "{}", run.seen());
}
