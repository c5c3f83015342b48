//! `work`: canaries that also do less work per datum.

use serde_json::Value;

use crate::cases;
use crate::project::Project;

/// Works in proportion to data and rounds, and prints the rounds in each way in which it received them.
const SCRIPT: &str = r#"import json, os, sys, time

rounds = sys.argv[sys.argv.index("--num_round") + 1]
with open(os.path.join(os.environ["SM_INPUT_CONFIG_DIR"], "hyperparameters.json")) as file:
    written = json.load(file)["num_round"]
assert rounds == written == os.environ["SM_HP_NUM_ROUND"], (rounds, written)
assert json.loads(os.environ["SM_HPS"])["num_round"] == int(rounds)
folder = os.environ["SM_CHANNEL_TRAIN"]
names = sorted(os.listdir(folder))
time.sleep(0.002 * int(rounds) * len(names))
print("objects", " ".join(names))
"#;

/// The project with `work` and more in its spec.
fn project(work: &str) -> Project {
    let spec = Project::SPEC
        .replace("[sh, train.sh]", "[python3, train.py]")
        .replace(
            "      channels",
            "      hyperparameters: {num_round: 8, depth: 3}\n      channels",
        )
        .replace(
            "fractions: [1%, 2%, 3%], replicates: 2",
            "fractions: [1%, 3%], replicates: 2",
        );
    Project::empty()
        .file("train.py", &format!("{}{SCRIPT}", Project::READS_IN_PYTHON))
        .data("data", 100)
        .file("canary-gate.yml", &format!("{spec}    work: {work}\n"))
}

fn measurements(project: &Project, file: &str) -> Vec<Value> {
    let text = project.read(file);
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_plan_shows_every_fraction_at_every_level() {
    let project = project("{hyperparameter: num_round, full: 8, canary: [2, 4]}");
    let plan = project.run(&["plan", "--all"]).ended_with(0);
    insta::assert_snapshot!(plan.seen());
    project.run(&["validate"]).ended_with(0);
}

#[test]
fn levels_reach_the_script_and_the_measurements() {
    let project = project("{hyperparameter: num_round, full: 8, canary: [2, 8]}");
    let run = project.run(&[
        "run",
        "--all",
        "--measurements",
        "runs.jsonl",
        "--output",
        "report.md",
    ]);
    let run = run.complained("8/8  3% #2, num_round 8  completed");
    assert!(run.stderr.contains("1% #1, num_round 2"), "{}", run.seen());
    let runs = measurements(&project, "runs.jsonl");
    let rounds: Vec<(u64, f64)> = runs
        .iter()
        .map(|run| {
            assert_eq!(run["outcome"]["kind"], "completed", "{run}");
            assert_eq!(run["work_total"], 8.0);
            (
                run["objects"].as_u64().unwrap(),
                run["work"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rounds,
        [
            (1, 2.0),
            (1, 8.0),
            (3, 2.0),
            (3, 8.0),
            (1, 2.0),
            (1, 8.0),
            (3, 2.0),
            (3, 8.0)
        ]
    );
    // The level has no part in the drawing.
    for (less, more) in [(0, 1), (2, 3), (4, 5), (6, 7)] {
        assert_eq!(runs[less]["bytes"], runs[more]["bytes"]);
    }
    run.reported("8 runs, ");
    let report = project.read("report.md");
    assert!(report.contains("| Work |"), "{report}");
    assert!(report.contains("| 2\u{a0}of\u{a0}8 |"), "{report}");
    // The full run does the full work.
    let actuals = project.run(&["actuals", "--run"]).ended_with(0);
    actuals.complained("100% #1, num_round 8  completed");
    let full = project.recorded("fullrun");
    assert_eq!(
        (&full[0]["work"], &full[0]["work_total"]),
        (&8.0.into(), &8.0.into())
    );
    // And read again, offline; the table of the seed library keeps the levels too.
    project.run(&["run", "--all", "--quiet", "--measurements", "runs.csv"]);
    let table = project.read("runs.csv");
    assert!(table.lines().nth(1).unwrap().ends_with(",2,8"), "{table}");
    for file in ["runs.jsonl", "runs.csv"] {
        let read = project.run(&["forecast", file]);
        read.reported("8 runs, ");
    }
}

#[test]
fn a_level_that_is_not_a_whole_number_stays_one() {
    let project =
        Project::with_script("test \"$SM_HP_EPOCHS\" = 0.5 -o \"$SM_HP_EPOCHS\" = 1.0 || exit 1\n");
    let spec = Project::SPEC.replace(
        "      channels",
        "      hyperparameters: {epochs: 1.0}\n      channels",
    );
    project.write(
        "canary-gate.yml",
        &format!("{spec}    work: {{hyperparameter: epochs, full: 1, canary: [0.5, 1]}}\n"),
    );
    project.run(&["run", "--all", "--measurements", "runs.jsonl"]);
    let runs = measurements(&project, "runs.jsonl");
    assert_eq!(runs.len(), 12);
    assert!(runs.iter().all(|run| run["outcome"]["kind"] == "completed"));
}

#[test]
fn wrong_levels_are_said_with_their_place() {
    for case in cases::read(include_str!("cases/work.txt")) {
        case.holds_for(project(case.one("work")).run(&["plan", "--all"]));
    }
}

#[test]
fn a_hostile_name_of_a_hyperparameter_does_not_reach_the_terminal_raw() {
    let spec = Project::SPEC.replace(
        "      channels",
        "      hyperparameters: {\"\\e[31mred\\n::error::x\": 8}\n      channels",
    );
    let project = Project::with_script("true\n");
    project.write(
        "canary-gate.yml",
        &format!(
            "{spec}    work: {{hyperparameter: \"\\e[31mred\\n::error::x\", full: 8, canary: [2, 8]}}\n"
        ),
    );
    for command in ["plan", "run"] {
        let said = project.run(&[command, "--all"]);
        for text in [&said.stdout, &said.stderr] {
            assert!(!text.contains('\u{1b}'), "{}", said.seen());
            assert!(
                !text.lines().any(|line| line.starts_with("::")),
                "{}",
                said.seen()
            );
        }
    }
}
