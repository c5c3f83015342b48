//! A pull request is compared with its own base.

use std::fmt::Write as _;

use serde_json::Value;

use crate::project::{Finished, Project};

/// Nine recorded canaries of a training that takes `fixed` seconds and `rate` more for all of its data, a few per cent off.
pub(crate) fn recording(fixed: f64, rate: f64) -> String {
    let mut text = "workload,fraction_requested,wall_seconds\n".to_owned();
    let noise = [1.01, 0.98, 1.02, 0.99, 1.03, 0.97, 1.0, 1.02, 0.99];
    for (index, noise) in noise.into_iter().enumerate() {
        let percent = [1.0, 2.0, 3.0][index / 3];
        let seconds = (fixed + rate * percent / 100.0) * noise;
        let _ = writeln!(text, "sums,{percent}%,{seconds:.3}");
    }
    text
}

/// The same on an instance that is named.
pub(crate) fn recording_on(instance: &str, rate: f64) -> String {
    let table = recording(2.0, rate);
    let rows = table.lines().skip(1).enumerate();
    let line = |(index, row): (usize, &str)| {
        let mut cells = row.split(',').skip(1);
        let percent = cells.next().unwrap().trim_end_matches('%');
        let fraction = percent.parse::<f64>().unwrap() / 100.0;
        let (seconds, replicate) = (cells.next().unwrap(), index % 3);
        format!(
            "{{\"schema_version\":1,\"job\":\"sums\",\"instance\":\"{instance}\",\"fraction\":{fraction},\"replicate\":{replicate},\"outcome\":{{\"kind\":\"completed\"}},\"training_seconds\":{seconds}}}\n"
        )
    };
    rows.map(line).collect()
}

pub(crate) fn spec(budget: &str) -> String {
    format!(
        "\
version: 1
backend: replay
recording: runs.csv
prices: {{local: 36 USD/h}}
jobs:
  sums:
    paths: [train.py]
    training: {{command: [python3, train.py], channels: {{train: {{uri: data}}}}}}
    instance: local
    canary: {{design: fixed, max_share: 10000%, max_runtime: 1h, spend_limit: 900 USD}}
    budget: {budget}
"
    )
}

/// A project on a new branch whose base has these runs, and was measured.
fn measured(spec: &str, runs: &str) -> Project {
    let name = if spec.contains("runs.jsonl") {
        "runs.jsonl"
    } else {
        "runs.csv"
    };
    let project = Project::empty()
        .file("canary-gate.yml", spec)
        .file("train.py", "fit()")
        .file(name, runs)
        .file(".gitignore", ".canary-gate/\n")
        .committed();
    project.run(&["run", "--all", "--quiet"]);
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project
}

/// The training of the base takes a thousand seconds for all of its data, that of the change `rate`.
fn changed(budget: &str, rate: f64) -> Project {
    let project = measured(&spec(budget), &recording(2.0, 1000.0));
    project.write("train.py", "fit(slowly)");
    project.write("runs.csv", &recording(2.0, rate));
    project.commit("change");
    project
}

fn against_main(project: &Project, more: &[&str]) -> Finished {
    project.run(&[&["run", "--base", "main", "--quiet"], more].concat())
}

fn row<'a>(report: &'a Value, line: &str) -> &'a Value {
    let rows = report["jobs"][0]["forecasts"][0]["budget"]
        .as_array()
        .unwrap();
    rows.iter().find(|row| row["line"] == line).unwrap()
}

#[test]
fn the_table_says_how_a_change_stands_against_its_base() {
    let project = changed("{cost: 50 USD}", 1500.0);
    insta::assert_snapshot!(
        against_main(&project, &[])
            .ended_with(0)
            .stdout_without_times()
    );
}

#[test]
fn a_change_within_noise_is_called_so() {
    let project = changed("{cost: 50 USD}", 1010.0);
    against_main(&project, &[])
        .ended_with(0)
        .reported("within noise");
}

#[test]
fn an_increase_that_is_certain_and_large_fails_the_check() {
    for (line, rate, code) in [
        ("{cost_increase: 20%}", 1500.0, 10),
        ("{time_increase: 20%}", 1500.0, 10),
        ("{cost_increase: 20%}", 1100.0, 0),
        ("{cost_increase: {max: 20%, at_least: 50 USD}}", 1500.0, 0),
        ("{cost_increase: {max: 20%, level: warn}}", 1500.0, 0),
        ("{cost_increase: 100%}", 1500.0, 0),
    ] {
        let project = changed(line, rate);
        against_main(&project, &[]).ended_with(code);
    }
}

#[test]
fn without_a_base_an_increase_does_not_apply_and_the_report_says_so() {
    let project = Project::empty()
        .file("canary-gate.yml", &spec("{cost_increase: 20%}"))
        .file("train.py", "fit()")
        .file("runs.csv", &recording(2.0, 1000.0))
        .committed();
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.write("train.py", "fit(slowly)");
    project.commit("change");
    let report = against_main(&project, &["--format", "json"])
        .ended_with(0)
        .json();
    assert_eq!(row(&report, "cost_increase")["verdict"], "not_applicable");
    // Once, and not of each line again.
    let notes = report["jobs"][0]["notes"].as_array().unwrap();
    let of_the_line = |note: &&Value| note.as_str().unwrap().starts_with("cost increase");
    assert_eq!(notes.iter().find(of_the_line), None);
    against_main(&project, &[])
        .ended_with(0)
        .reported("There is no base yet to compare with");
}

#[test]
fn a_budget_that_the_base_had_passed_already_does_not_fail_what_does_not_make_it_worse() {
    let breach = "{cost: 5 USD}";
    let same = changed(breach, 1000.0);
    against_main(&same, &[])
        .ended_with(0)
        .reported("but the base was over already");
    let worse = changed(breach, 1500.0);
    against_main(&worse, &[]).ended_with(10);
    let strict = changed("{cost: 5 USD, existing_breach: fail}", 1000.0);
    against_main(&strict, &[]).ended_with(10);
}

#[test]
fn the_newest_record_with_the_bases_code_counts() {
    let project = changed("{cost: 50 USD}", 1500.0);
    // A later record of other code on the same machine is not the base.
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let report = against_main(&project, &["--format", "json"])
        .ended_with(0)
        .json();
    let job = &report["jobs"][0];
    assert_eq!(job["baseline"]["is_same_code"], true);
    let change = job["forecasts"][0]["delta"]["cost_percent"]["point"]
        .as_f64()
        .unwrap();
    assert!((40.0..55.0).contains(&change), "{change}");
}

/// The second check of a change finds the first one's record: it is no base, though the code is the same.
#[test]
fn a_change_of_the_instance_is_not_its_own_base_the_next_time() {
    let runs = recording_on("local", 1000.0) + &recording_on("2x local", 1000.0);
    let spec = spec("{cost_increase: 20%}").replace("runs.csv", "runs.jsonl");
    let project = measured(&spec, &runs);
    project.write(
        "canary-gate.yml",
        &spec.replace("instance: local", "instance: 2x local"),
    );
    project.commit("two machines");
    for _ in 0..2 {
        against_main(&project, &[]).ended_with(10);
    }
}

#[test]
fn a_limit_that_the_change_itself_lowers_is_no_old_breach() {
    let project = changed("{cost: 50 USD}", 1000.0);
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("training: {", "training: {max_runtime: 5m, "),
    );
    against_main(&project, &[]).ended_with(10).reported("time");
}

/// Whoever may push a tag must not choose what a change is compared with.
#[test]
fn a_tag_that_is_named_like_the_base_is_refused() {
    let project = changed("{cost: 50 USD}", 1500.0);
    project.git(&["tag", "main"]);
    against_main(&project, &[])
        .ended_with(1)
        .complained("refs/heads/main and refs/tags/main");
    project
        .run(&["run", "--base", "refs/heads/main", "--quiet"])
        .ended_with(0);
}

#[test]
fn a_run_of_the_base_that_broke_off_hides_no_good_one() {
    let project = changed("{cost_increase: 20%}", 1500.0);
    project.git(&["checkout", "--quiet", "main"]);
    let runs = recording(2.0, 1000.0);
    let few: Vec<&str> = runs.lines().take(3).collect();
    project.write("runs.csv", &few.join("\n"));
    project.run(&["run", "--all", "--quiet"]).ended_with(1);
    project.git(&["checkout", "--quiet", "--force", "change"]);
    against_main(&project, &[]).ended_with(10);
}

#[test]
fn what_is_over_its_limits_is_never_recommended_whatever_the_base_took() {
    let runs = recording_on("local", 1000.0) + &recording_on("2x local", 1000.0);
    let spec = spec("{cost: 5 USD, time: 9h}")
        .replace("runs.csv", "runs.jsonl")
        .replace("900 USD", "9000 USD")
        .replace(
            "instance: local",
            "instance: local\n    alternatives: [2x local]",
        );
    let project = measured(&spec, &runs);
    project.write("train.py", "fit(differently)");
    project.commit("change");
    let report = against_main(&project, &["--format", "json"]).ended_with(0);
    let report = report.json();
    assert_eq!(row(&report, "cost")["existing_breach"]["counts_as"], "warn");
    let found = &report["jobs"][0]["recommendation"];
    assert_eq!(found.get("cheapest"), None, "{found}");
    assert_eq!(found["closest"]["instance"], "local", "{found}");
}
