//! Plan and comment of the published experiments, as texts, and the figures of docs/machines.md.

use canary_gate::units::Bytes;
use serde_json::json;

use super::{Canary, bert, canaries, line_predicted, table};
use crate::project::Project;

const MACHINES: &str = include_str!("../../../docs/machines.md");

/// A job with the number of its files, its machines and its canaries.
struct Experiment {
    job: &'static str,
    instance: &'static str,
    files: u32,
    bytes_of_a_file: u64,
    budget: &'static str,
    canaries: Vec<Canary>,
}

fn taxi(time: f64, memory: impl Fn(f64) -> f64) -> Vec<Canary> {
    let shares = [1.0, 3.0, 4.0].map(|files| files / 132.0);
    canaries(shares, line_predicted(54.0, time), memory)
}

/// Of single machines, then that of six.
fn experiments() -> [Experiment; 4] {
    [
        Experiment {
            job: "taxi",
            instance: "ml.m5.24xlarge",
            files: 132,
            bytes_of_a_file: 303_030_303,
            budget: "time: 12h",
            canaries: taxi(38_454.0, |_| 1.34),
        },
        Experiment {
            job: "bert",
            instance: "ml.p2.xlarge",
            files: 200,
            bytes_of_a_file: 15_000,
            budget: "memory: 90%",
            canaries: bert(),
        },
        Experiment {
            job: "synthetic",
            instance: "ml.m5.2xlarge",
            files: 100,
            bytes_of_a_file: 100_000_000,
            budget: "time: 40m",
            canaries: canaries(
                [0.01, 0.02, 0.03],
                |share| 101.0 + 600.0 * share,
                |share| 4.8 + 36.0 * share,
            ),
        },
        Experiment {
            job: "taxi-sharded",
            instance: "6x ml.m5.4xlarge",
            files: 132,
            bytes_of_a_file: 303_030_303,
            budget: "time: 2h",
            canaries: taxi(3609.0, line_predicted(1.0, 71.013)),
        },
    ]
}

/// As measurements; the sizes are those asked for as 1, 2 and 3 %.
fn recording(experiments: &[Experiment]) -> String {
    let mut lines = Vec::new();
    for experiment in experiments {
        let sizes = experiment.canaries.chunk_by(|a, b| a.share == b.share);
        let sizes = [0.01, 0.02, 0.03].into_iter().zip(sizes);
        let runs = sizes.flat_map(|(asked, of_size)| {
            let replicates = (0..).zip(of_size);
            replicates.map(move |(replicate, canary)| (asked, replicate, canary))
        });
        for (asked, replicate, canary) in runs {
            let Bytes(objects) = Bytes::from_f64(canary.share * f64::from(experiment.files));
            let bytes = experiment.bytes_of_a_file;
            let run = json!({
                "schema_version": 1,
                "job": experiment.job,
                "instance": experiment.instance,
                "fraction": asked,
                "objects": objects,
                "objects_total": experiment.files,
                "bytes": bytes * objects,
                "bytes_total": bytes * u64::from(experiment.files),
                "replicate": replicate,
                "outcome": {"kind": "completed"},
                "training_seconds": canary.seconds.round(),
                "usage": {"memory": {"percent": canary.memory, "source": "published"}},
            });
            lines.push(format!("{run}\n"));
        }
    }
    // The ninth of bert was stopped after a second.
    let stopped = json!({
        "schema_version": 1,
        "job": "bert",
        "instance": "ml.p2.xlarge",
        "fraction": 0.02,
        "replicate": 2,
        "outcome": {"kind": "stopped"},
        "training_seconds": 1,
    });
    format!("{}{stopped}\n", lines.concat())
}

fn project(experiments: &[Experiment]) -> Project {
    let job = |one: &Experiment| {
        format!(
            "  {}:
    training: {{channels: {{train: {{uri: data}}}}}}
    instance: {}
    canary: {{design: fixed, max_share: 10000%, spend_limit: 100 USD}}
    budget: {{{}}}
",
            one.job, one.instance, one.budget
        )
    };
    let jobs: String = experiments.iter().map(job).collect();
    let top = "version: 1\nbackend: replay\nrecording: runs.jsonl\njobs:\n";
    Project::empty()
        .file("runs.jsonl", &recording(experiments))
        .file("canary-gate.yml", &format!("{top}{jobs}"))
}

#[test]
fn the_plan_of_the_experiments_on_one_machine() {
    let [taxi, bert, synthetic, _] = experiments();
    let plan = project(&[taxi, bert, synthetic]).run(&["plan", "--all"]);
    insta::assert_snapshot!(plan.ended_with(0).seen());
}

#[test]
fn the_comment_of_all_experiments() {
    let project = project(&experiments());
    let shown = project.run(&["forecast", "runs.jsonl", "--format", "markdown"]);
    insta::assert_snapshot!(shown.ended_with(0).stdout_without_times());
}

/// What the documentation says beside the published figures is what this program says.
#[test]
fn the_documented_forecasts_are_those_of_this_program() {
    let [taxi, .., sharded] = experiments();
    for (one, figures) in [
        (taxi, ["9h 36m (4h 48m–17h 24m)", "53 USD (27–96)"]),
        (
            sharded,
            ["53m 42s (23m 53s–1h 41m)", "4.95 USD (2.20–9.31)"],
        ),
    ] {
        let runs = table("taxi", one.instance, &one.canaries);
        let project = Project::empty().file("runs.csv", &runs);
        let mut said = project.run(&["forecast", "runs.csv"]).ended_with(0);
        for figure in figures {
            said = said.reported(figure);
            assert!(MACHINES.contains(figure), "{figure}");
        }
    }
}
