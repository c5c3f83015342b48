//! The adaptive design: canaries chosen one by one or in rounds, on recorded runs and on real ones.

use serde_json::{Value, json};

use crate::cases;
use crate::project::{Finished, Project};

/// Eighteen runs each of twenty-eight workloads: three of 1, 2 and 3 %, two of 5 and 10 %, one of 20 and 50 %, three in full.
const RUNS: &str = include_str!("../data/training-runs.csv");

/// A project that replays the recorded runs of `job` at 1.20 USD/h, with `more` at the end of its spec.
fn recorded(job: &str, more: &str) -> Project {
    let spec = format!(
        "\
version: 1
backend: replay
recording: runs.csv
prices: {{local: 1.20 USD/h}}
jobs:
  {job}:
    training: {{command: [python3, train.py], channels: {{train: {{uri: data}}}}}}
    instance: local
{more}"
    );
    Project::empty()
        .file("runs.csv", RUNS)
        .file("canary-gate.yml", &spec)
}

/// A project whose script counts the files it gets, and `more` in the job.
fn real(more: &str) -> Project {
    real_with("{max_runtime: 1m}", more)
}

fn real_with(canary: &str, more: &str) -> Project {
    let spec = Project::SPEC.replace(
        "canary: {design: fixed, max_share: 10000%, fractions: [1%, 2%, 3%], replicates: 2, max_runtime: 1m}",
        &format!("canary: {canary}"),
    );
    Project::empty()
        .file("train.sh", "ls \"$SM_CHANNEL_TRAIN\" | wc -l\n")
        .data("data", 100)
        .file("canary-gate.yml", &format!("{spec}{more}"))
}

/// Runs the gate; returns what it printed, and the percentages of its canaries in the order in which they ran.
fn gate(project: &Project) -> (Finished, Vec<f64>) {
    let measured = "measured.jsonl";
    let finished = project.run(&["run", "--all", "--quiet", "--measurements", measured]);
    let lines = if project.path(measured).exists() {
        project.read(measured)
    } else {
        String::new()
    };
    let percentages = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|run| (run["fraction"].as_f64().unwrap() * 100.0).round())
        .collect();
    (finished, percentages)
}

/// Runs of `a + b * share^c` seconds on every rung, three each.
fn made(law: &str, more: &str) -> Project {
    let [a, b, c] = law
        .split(' ')
        .map(|number| number.parse::<f64>().unwrap())
        .collect::<Vec<_>>()[..]
    else {
        panic!("a law has three numbers: {law}");
    };
    let mut table = "workload,fraction_requested,wall_seconds\n".to_owned();
    for percent in [1, 2, 3, 5, 10, 20, 50] {
        let seconds = a + b * (f64::from(percent) / 100.0).powf(c);
        table.push_str(&format!("made,{percent}%,{seconds}\n").repeat(3));
    }
    recorded("made", more).file("runs.csv", &table)
}

/// Whether canaries of these percentages ran as a case says.
fn is_so(ran: &str, found: &[f64]) -> bool {
    let numbers = || ran.split(' ').filter_map(|word| word.parse::<f64>().ok());
    let number = || numbers().next().unwrap();
    match ran.split(' ').next().unwrap() {
        "fewest" => found.len() >= 3 && number() == 3.0,
        "at" => found.iter().all(|percent| *percent <= number()),
        "also" => found.contains(&number()),
        "third" if ran.ends_with("smaller") => found[2] < found[1],
        "third" if ran.ends_with("larger") => found[2] >= found[1],
        "third" => found[2] == number(),
        _ if ran.ends_with("...") => found.starts_with(&numbers().collect::<Vec<_>>()),
        _ => numbers().eq(found.iter().copied()),
    }
}

#[test]
fn designs_by_example() {
    for case in cases::read(include_str!("cases/designs.txt")) {
        let more: String = ["canary", "budget"]
            .into_iter()
            .flat_map(|key| {
                case.all(key)
                    .map(move |value| format!("    {key}: {value}\n"))
            })
            .collect();
        let project = match case.one("runs") {
            "" => made(case.one("made"), &more),
            job => recorded(job, &more),
        };
        let (finished, percentages) = gate(&project);
        for ran in case.all("ran") {
            assert!(is_so(ran, &percentages), "{}: {percentages:?}", case.name);
        }
        for count in case.all("canaries") {
            assert_eq!(percentages.len().to_string(), count, "{}", case.name);
        }
        case.holds_for(finished);
    }
}

/// 0.05 USD are 150 s, of which 120 s are kept for stopping the last canary.
#[test]
fn no_canary_is_started_that_could_pass_the_spend_limit() {
    let project = recorded(
        "xgb_reg",
        "    canary: {spend_limit: 0.05 USD, max_share: 200%}\n    budget: {time: 45s}\n",
    );
    let finished = project.run(&["run", "--all", "--quiet", "--format", "json"]);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    let spend = &report["jobs"][0]["spend"];
    assert!(spend["canary_seconds"].as_f64().unwrap() <= 30.0, "{spend}");
    assert_eq!(spend["worst_case_usd"], 0.05);
    let notes = report["jobs"][0]["notes"].to_string();
    assert!(notes.contains("canary.spend_limit"), "{notes}");
}

#[test]
fn a_recording_with_too_few_sizes_is_refused_before_anything_is_taken() {
    let project = recorded("few", "").file(
        "runs.csv",
        "workload,fraction_requested,wall_seconds\nfew,1%,1\nfew,1%,1\nfew,4%,2\n",
    );
    let (finished, percentages) = gate(&project);
    assert!(percentages.is_empty());
    finished
        .ended_with(1)
        .complained("too few runs of job `few`")
        .complained("2 on 1 of the design's fractions");
}

#[test]
fn a_plan_shows_what_may_be_run_and_spends_nothing() {
    let project = real("");
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("sums · canaries chosen one by one on local")
        .reported("1%  1 of 100 objects")
        .reported("50%  50 of 100 objects");
    assert!(project.recorded("canary").is_empty());
}

#[test]
fn real_canaries_forecast_a_real_run() {
    let canary = "{max_runtime: 1m, max_share: 10000%}";
    let report = real_with(
        canary,
        "    alternatives: [2x local]\n    budget: {time: 1h}\n",
    )
    .run(&["run", "--all", "--quiet", "--format", "json"])
    .ended_with(0)
    .json();
    let forecasts = &report["jobs"][0]["forecasts"];
    assert!(forecasts[0]["estimates"]["time_seconds"].is_object());
    // An alternative is measured after it, by the same design.
    assert_eq!(forecasts[1]["instance"], "2x local");
    assert!(forecasts[1]["estimates"]["time_seconds"].is_object());
    assert!(forecasts[1].get("not_measured").is_none());
}

/// Rounds of 10 ms for each file: the full run does ten of them on 100 files, which takes 10.1 s.
#[test]
fn work_levels_are_taken_in_turn_and_the_full_work_is_forecast() {
    let mut runs = String::new();
    for percent in [1, 2, 3, 5, 10, 20, 50] {
        for rounds in [1, 4] {
            let run = json!({
                "schema_version": 1,
                "job": "rounds",
                "instance": "local",
                "fraction": f64::from(percent) / 100.0,
                "replicate": 0,
                "work": rounds,
                "work_total": 10,
                "outcome": {"kind": "completed"},
                "training_seconds": 0.1 + f64::from(percent * rounds) * 0.01,
            });
            runs.push_str(&format!("{run}\n").repeat(3));
        }
    }
    let project = recorded(
        "rounds",
        "    work: {hyperparameter: rounds, full: 10, canary: [1, 4]}\n    budget: {time: 1h}\n",
    )
    .file("runs.jsonl", &runs);
    let spec = project
        .read("canary-gate.yml")
        .replace("runs.csv", "runs.jsonl")
        .replace("train.py],", "train.py], hyperparameters: {rounds: 10},");
    project.write("canary-gate.yml", &spec);
    let finished = project.run(&["run", "--all", "--quiet", "--format", "json"]);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    let levels: Vec<f64> = report["jobs"][0]["measurements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["work"].as_f64().unwrap())
        .collect();
    assert_eq!(levels[..3], [1.0, 4.0, 1.0]);
    let time = &report["jobs"][0]["forecasts"][0]["estimates"]["time_seconds"];
    let end = |name: &str| time[name].as_f64().unwrap();
    assert!(end("lower") < 10.1 && 10.1 < end("upper"), "{time}");
}

#[test]
fn a_script_that_fails_is_run_once() {
    let project = real("");
    project.write("train.sh", "echo no such column >&2; exit 3\n");
    let (finished, percentages) = gate(&project);
    assert_eq!(percentages, [1.0]);
    finished.ended_with(13).reported("no such column");
}

#[test]
fn replicates_without_a_design_mean_the_fixed_one() {
    let project = real("");
    let spec = project
        .read("canary-gate.yml")
        .replace("{max_runtime: 1m}", "{replicates: 2, fractions: [1%, 2%]}");
    project.write("canary-gate.yml", &spec);
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("sums · 4 canaries on local");
}

#[test]
fn alternatives_have_shares_of_their_own_and_three_canaries_in_any_case() {
    // Three canaries of the same time are more than any share of one.
    let project = real("    alternatives: [2x local, 3x local]\n    budget: {time: 1h}\n");
    let report = project
        .file("train.sh", "sleep 0.5\n")
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let forecasts = report["jobs"][0]["forecasts"].as_array().unwrap();
    assert_eq!(forecasts.len(), 3);
    for row in forecasts {
        assert!(row.get("not_measured").is_none(), "{row:#}");
    }
}

/// The first two wait until both have begun: they end only side by side.
#[test]
fn the_canaries_of_a_round_run_at_the_same_time() {
    let project = real_with(
        "{parallel: 3, max_runtime: 1m, fractions: [1%, 2%, 5%]}",
        "",
    )
    .file(
        "train.sh",
        "\
files=$(ls \"$SM_CHANNEL_TRAIN\" | wc -l)
meet=MEET
touch \"$meet/$files\"
while [ \"$(ls \"$meet\" | wc -l)\" -lt 2 ]; do sleep 0.05; done
",
    );
    let meet = project.path("meet");
    std::fs::create_dir(&meet).unwrap();
    let script = project
        .read("train.sh")
        .replace("MEET", meet.to_str().unwrap());
    let project = project.file("train.sh", &script);
    let (finished, mut percentages) = gate(&project);
    finished.ended_with(0);
    percentages.sort_by(f64::total_cmp);
    assert_eq!(percentages, [1.0, 2.0, 5.0]);
}
